"""The torch-allreduce workload under torchrun on loopback, and as a campaign on this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.torch_python import torchrun_beside, under_torchrun

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
PLANTED = ROOT / "tests" / "support" / "planted_torch_allreduce.py"
LINE = re.compile(
    r"^all-reduce: group (?P<group>\w+), ranks (?P<ranks>\d+), bytes (?P<bytes>\d+), "
    r"trials (?P<trials>\d+), median (?P<median>[\d.]+) us, p99 (?P<p99>[\d.]+) us, "
    r"algbw (?P<algbw>[\d.]+) GB/s, busbw (?P<busbw>[\d.]+) GB/s, "
    r"straggler rank (?P<rank>\d+) host (?P<host>\d+), late (?P<late>-?[\d.]+) us, "
    r"last in (?P<last>\d+)$",
    re.MULTILINE,
)
TRIAL = re.compile(
    r"^trial: group all, bytes (\d+), trial (\d+), time [\d.]+ us, busbw [\d.]+ GB/s$", re.MULTILINE
)
SMALL = ("--device", "cpu", "--min-size", "4K", "--max-size", "64K", "--trials", "12")
SIZES = [4096 * 2**n for n in range(5)]


@pytest.mark.parametrize(
    ("nodes", "devices", "groups"),
    [
        (1, 2, {"all": 2}),
        (1, 4, {"all": 4}),
        (2, 1, {"all": 2}),
        (2, 2, {"all": 4, "host0": 2, "host1": 2, "across0": 2, "across1": 2}),
    ],
)
def test_every_group_is_measured_at_every_size(
    nodes: int, devices: int, groups: dict[str, int]
) -> None:
    out, *others = under_torchrun("torch_allreduce", nodes, devices, *SMALL)
    assert others == [""] * (nodes - 1)  # rank 0 alone prints
    assert f"world size {nodes * devices}," in out
    assert f"hosts {nodes}, fp32" in out
    found = list(LINE.finditer(out))
    for group, ranks in groups.items():
        lines = [match for match in found if match["group"] == group]
        assert [int(match["bytes"]) for match in lines] == SIZES
        assert {(match["ranks"], match["trials"]) for match in lines} == {(str(ranks), "12")}
    assert len(found) == len(groups) * len(SIZES)
    for match in found:
        ranks, seconds = int(match["ranks"]), float(match["median"]) / 1e6
        expected = int(match["bytes"]) / seconds / 1e9 * 2 * (ranks - 1) / ranks
        assert float(match["busbw"]) == pytest.approx(expected, abs=1e-4)
        assert float(match["p99"]) >= float(match["median"])
    assert TRIAL.findall(out) == [(str(SIZES[-1]), str(trial)) for trial in range(1, 13)]
    (largest,) = (m for m in found if m["group"] == "all" and int(m["bytes"]) == SIZES[-1])
    last = out.splitlines()[-1]
    beginning = f"result: group all, ranks {nodes * devices}, bytes {SIZES[-1]}, "
    assert last.startswith(beginning + f"busbw {largest['busbw']} GB/s (")


def test_sums_stay_numbers_however_many_trials() -> None:
    """Sums of two equal numbers that nobody divides are infinite in fp16 after 16 additions."""
    small = (*SMALL, "--dtype", "fp16", "--max-size", "4K", "--trials", "60")
    out = under_torchrun(str(PLANTED.with_suffix("")), 1, 2, *small, PLANT="watch")[0]
    assert "trials 60" in out


LATE_S = 0.05


@pytest.mark.parametrize(("nodes", "devices", "rank"), [(1, 2, 0), (1, 4, 2), (2, 2, 3)])
def test_a_rank_that_enters_late_is_the_straggler_by_as_much(
    nodes: int, devices: int, rank: int
) -> None:
    plant = {"PLANT": "slow_rank", "PLANT_RANK": str(rank), "PLANT_S": str(LATE_S)}
    small = (*SMALL, "--max-size", "8K")
    out = under_torchrun(str(PLANTED.with_suffix("")), nodes, devices, *small, **plant)[0]
    with_it = ("all", f"host{rank // devices}", f"across{rank % devices}")
    for match in LINE.finditer(out):
        if match["group"] in with_it:
            assert (int(match["rank"]), int(match["host"])) == (rank, rank // devices)
            assert float(match["late"]) / 1e6 == pytest.approx(LATE_S, rel=0.4)
            assert int(match["last"]) >= 10
            assert float(match["median"]) / 1e6 > 0.9 * LATE_S  # what a step would lose
        else:
            assert float(match["late"]) / 1e6 < 0.4 * LATE_S


def planted_run(
    directory: Path, environment: str, *words: str
) -> tuple[int, dict[str, Any], list[str]]:
    """A run of two devices on this machine of the planted workload, and its log."""
    shutil.copy(PLANTED, directory)
    text = (ROOT / "profiles" / "library" / "torch-allreduce.toml").read_text()
    for before, after in (
        ("stage = [", f'stage = ["{PLANTED.name}", '),
        ("\ntorch_allreduce.py ", f"\n{PLANTED.name} "),
        ("environment = {", f"environment = {{ {environment},"),
        ('settle = "5s"', 'settle = "0s"'),
    ):
        assert before in text
        text = text.replace(before, after, 1)
    (directory / "planted.toml").write_text(text)
    (directory / "hosts.toml").write_text(
        f'[[hosts]]\nname = "here"\ntransport = "local"\nslots = 2\n'
        f'lease_dir = "{directory}/leases"\n'  # other tests may have this machine
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tui.cli", "--inventory", str(directory / "hosts.toml")),
            *("--campaigns", str(directory / "campaigns"), "run", "--json", "--repeats", "1"),
            *("--profile", str(directory / "planted.toml"), "--case", "1n2g"),
            *("--set", f"torchrun={torchrun_beside()}", "precision=fp32", *words),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    document = json.loads(done.stdout)
    (run,) = document["runs"]
    log = Path(document["path"]) / run["log"]
    return done.returncode, run, log.read_text().splitlines()


def test_sizes_that_do_not_fit_are_left_out_and_said(tmp_path: Path) -> None:
    environment = 'PLANT = "little_memory", PLANT_BYTES = "10000"'
    status, run, log = planted_run(tmp_path, environment, "max_size=32K")
    assert (status, run["state"], run["metrics"]["size_bytes"]) == (0, "succeeded", 8192)
    smallest = LINE.search("\n".join(log))
    assert smallest is not None
    assert run["metrics"]["latency_us"] == float(smallest["median"])
    assert "left out: bytes 16384, 32768: the device with least has 10000 free" in log


def test_a_device_without_memory_for_any_size_fails_in_one_line(tmp_path: Path) -> None:
    environment = 'PLANT = "little_memory", PLANT_BYTES = "4095"'
    status, run, log = planted_run(tmp_path, environment, "max_size=8K")
    assert (status, run["state"]) == (1, "failed")
    assert run["reason"] == "the smallest size does not fit into the memory that is free"
    said = [line for line in log if line.startswith("torch_allreduce: ")]
    assert said == [
        "torch_allreduce: no size fits: bytes 4096, 8192: the device with least has 4095 free"
    ]


def test_an_all_reduce_that_adds_nothing_up_fails(tmp_path: Path) -> None:
    status, run, _log = planted_run(tmp_path, 'PLANT = "deaf"')
    assert (status, run["state"]) == (1, "failed")
    assert run["reason"] == "the all-reduce gives wrong sums"
