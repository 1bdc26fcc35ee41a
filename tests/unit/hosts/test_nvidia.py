"""nvidia-smi's CSV answers: units, gaps, errors and strangers' processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts import nvidia
from backends.hosts.environment import gpu_settings

GPUS = """\
index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], \
utilization.gpu [%], power.draw [W], power.limit [W], temperature.gpu, \
clocks.current.sm [MHz], mig.mode.current, ecc.errors.uncorrected.volatile.total, \
clocks_event_reasons.active
0, NVIDIA A100, GPU-aa, 00000000:07:00.0, 535.104.05, 81920 MiB, 3 MiB, 0 %, 61.50 W, \
400.00 W, 31, 210 MHz, Disabled, 0, 0x0000000000000001
1, NVIDIA A100, GPU-bb, 00000000:0A:00.0, 535.104.05, 81920 MiB, 40211 MiB, 100 %, [N/A], \
400.00 W, ERR!, 1410 MHz, Enabled, [Not Supported], 0x0000000000000028
"""

# Field values as an old driver leaves them: no MIG, no ECC, no power sensor.
OLD = """\
index, name, memory.total [MiB], power.draw [W], ecc.errors.uncorrected.volatile.total
0, GeForce GTX 1080, 8119 MiB, [Unknown Error], [N/A]
"""


def test_values_come_with_their_units_and_gaps_become_none() -> None:
    idle, busy = nvidia.parse_gpus(GPUS)
    assert (idle.name, idle.uuid, idle.bus_id) == ("NVIDIA A100", "GPU-aa", "00000000:07:00.0")
    assert (idle.memory_total_mib, idle.memory_used_mib) == (81920, 3)
    assert (idle.power_w, idle.power_limit_w, idle.temperature_c) == (61.5, 400.0, 31)
    assert (idle.mig_enabled, idle.ecc_uncorrected, idle.throttle_reasons) == (False, 0, ())
    assert (busy.power_w, busy.temperature_c, busy.ecc_uncorrected) == (None, None, None)
    assert busy.mig_enabled is True
    assert busy.throttle_reasons == ("hardware slowdown", "software thermal slowdown")
    assert nvidia.driver_version(GPUS) == "535.104.05"


def test_an_old_driver_leaves_gaps() -> None:
    (gpu,) = nvidia.parse_gpus(OLD)
    assert gpu.memory_total_mib == 8119
    assert (gpu.power_w, gpu.mig_enabled, gpu.uuid) == (None, None, "")
    assert nvidia.driver_version(OLD) is None


def test_an_error_text_is_no_gpu() -> None:
    assert nvidia.parse_gpus('Field "mig.mode.current" is not a valid field to query.\n') == ()
    assert nvidia.parse_gpus("NVIDIA-SMI has failed because it couldn't communicate\n") == ()
    assert nvidia.parse_gpus("") == ()


def test_the_h200_capture(captures: Path) -> None:
    text = (captures / "query.csv").read_text()
    gpus = nvidia.parse_gpus(text)
    assert [gpu.index for gpu in gpus] == list(range(8))
    assert {gpu.name for gpu in gpus} == {"NVIDIA H200"}
    assert {gpu.memory_total_mib for gpu in gpus} == {143771}
    assert gpus[0].power_w == 79.21
    assert (gpus[7].sm_clock_mhz, gpus[7].mig_enabled, gpus[7].ecc_uncorrected) == (345, False, 0)
    assert nvidia.driver_version(text) == "580.159.04"


def test_processes_have_their_gpu_user_command_and_our_run() -> None:
    processes = nvidia.parse_processes(
        "gpu_uuid, pid, used_gpu_memory [MiB], process_name\n"
        "GPU-bb, 4242, 40208 MiB, /usr/bin/python3\n"
        "GPU-aa, 77, [N/A], python3\n"
        "GPU-aa, 5, 10 MiB, [Insufficient Permissions]\n"
        "GPU-zz, 6, 10 MiB, x\n",
        "4242 - alice python3 train.py --lr 0.1\n77 r-0123 bench python3 x\x1b[31m.py\nnonsense\n",
        nvidia.parse_gpus(GPUS),
    )
    alice, ours, unknown = processes
    assert (alice.gpu_index, alice.pid, alice.user) == (1, 4242, "alice")
    assert (alice.command, alice.memory_mib, alice.run_id) == (
        "python3 train.py --lr 0.1",
        40208,
        "",
    )
    assert (ours.gpu_index, ours.run_id, ours.memory_mib) == (0, "r-0123", None)
    assert ours.command == "python3 x.py"
    assert (unknown.user, unknown.command) == ("?", "[Insufficient Permissions]")


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_text_parses(text: str, owners: str) -> None:
    nvidia.parse_gpus("index, name, uuid\n" + text)
    nvidia.parse_gpus(text)
    nvidia.parse_processes("gpu_uuid, pid\nGPU-aa," + text, owners, nvidia.parse_gpus(GPUS))


SETTINGS = """\
index, name, power.limit [W], ecc.mode.current, persistence_mode, \
clocks.applications.graphics [MHz], clocks.applications.memory [MHz], mig.mode.current
"""


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        pytest.param(
            "0, NVIDIA H100 80GB HBM3, 700.00 W, Enabled, Enabled, 1980 MHz, 2619 MHz, Disabled\n",
            ["700 W", "1980/2619 MHz", "on", "on", "off"],
            id="H100, driver 580",
        ),
        pytest.param(
            "0, NVIDIA A100-SXM4-40GB, 400.00 W, Enabled, Disabled, 1095 MHz, 1215 MHz, Enabled\n",
            ["400 W", "1095/1215 MHz", "off", "on", "on"],
            id="A100, MIG on",
        ),
        pytest.param(
            "0, Tesla V100-SXM2-16GB, 300.00 W, Enabled, Enabled, 1312 MHz, 877 MHz, [N/A]\n",
            ["300 W", "1312/877 MHz", "on", "on", "unknown"],
            id="V100, no MIG",
        ),
        pytest.param(
            "0, GeForce RTX 2080 Ti, 250.00 W, [N/A], Disabled, [N/A], [N/A], [N/A]\n",
            ["250 W", "unknown", "off", "unknown", "unknown"],
            id="GeForce, no ECC",
        ),
        pytest.param(
            "0, GRID V100, [Not Supported], [Unknown Error], ERR!, [Insufficient Permissions], "
            "877 MHz, [N/A]\n",
            ["unknown"] * 5,
            id="a virtual one that tells nothing",
        ),
        pytest.param(
            "0, H200, 700.00 W, Enabled, Enabled, 1980 MHz, 3201 MHz, Disabled\n"
            "1, H200, 350.00 W, [N/A], Disabled, 1980 MHz, 3201 MHz, Disabled\n",
            ["350 W + 700 W", "1980/3201 MHz", "off + on", "unknown", "off"],
            id="two that differ",
        ),
    ],
)
def test_how_gpus_are_set_or_that_they_do_not_say(rows: str, settings: list[str]) -> None:
    names = ("power limit", "application clocks", "persistence", "ECC", "MIG")
    told = gpu_settings(nvidia.parse_gpus(SETTINGS + rows))
    assert told == dict(zip(names, settings, strict=True))


def test_no_gpus_have_no_settings() -> None:
    assert gpu_settings(()) == {}
