"""What the hosts of a run do meanwhile, from their own lines to the result files."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run
from tests.support.waiting import until

SMI = """#!/bin/sh
case "$*" in
*reasons_counters* | *event_reasons*) exit 2 ;; # an older driver
*compute-apps*) echo "GPU-a, BYSTANDER" ;;
*index,uuid*) printf '%s\\n' "0, GPU-a" "1, GPU-b" ;;
*"-l 1"*)
    echo "timestamp, index, memory.used [MiB], utilization.gpu [%], power.draw [W], \
clocks.current.sm [MHz], temperature.gpu, clocks.max.sm [MHz], \
ecc.errors.uncorrected.volatile.total, clocks_throttle_reasons.active"
    while :; do
        now=$(TZ=Asia/Kathmandu date '+%Y/%m/%d %H:%M:%S.%3N')
        echo "$now, 0, 4711, 97, 300.00, 1500, 60, 1980, 0, 0x0000000000000008"
        echo "$now, 1, 99999, 97, 300.00, 1500, 60, 1980, 0, 0x0000000000000000"
        sleep 0.2
    done ;;
esac
"""


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


async def test_telemetry_is_kept_and_stands_with_the_result(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI.replace("BYSTANDER", str(os.getpid())))
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("backends.engines.engine.AllocatedHost.has_gpus", True)
    controller = await bench.start(lines=60)
    run = only_run(await finish(controller))
    [csv] = (controller.path / "telemetry").iterdir()
    assert csv.name == f"{run.run_id}.{bench.hosts[0].name}.csv"
    assert b"\nhost, " in b"\n" + csv.read_bytes()
    assert run.gpu_memory_mib == 4711
    assert run.telemetry is not None
    [use] = run.telemetry.gpus
    assert (use.gpu, use.utilization_mean, use.power_w_mean) == (0, 97.0, pytest.approx(300.0))
    assert 0.5 < use.seconds < 60
    assert use.throttled_s is not None
    assert use.throttled_s["hardware slowdown"] == pytest.approx(use.seconds)
    assert use.other_processes == 1
    written = json.loads((controller.path / "results.json").read_text())["runs"][0]
    assert written["telemetry"][0]["energy_j"] == pytest.approx(use.energy_j)
    assert written["host_load"][0]["host"] == bench.hosts[0].name
    assert written["joules_per_sample"] == pytest.approx(300.0 / (run.throughput or 0))
    report = (controller.path / "report.md").read_text()
    assert "another process was on GPU0" in report
    assert "was throttled for" in report
    await until(lambda: not _running(smi), what="the end of nvidia-smi")


async def test_a_host_without_gpus_tells_its_load(bench: Bench) -> None:
    run = only_run(await finish(await bench.start(lines=20)))
    assert run.telemetry is not None
    assert not run.telemetry.gpus
    [use] = run.telemetry.hosts
    assert use.cpus == len(os.sched_getaffinity(0))
    assert use.load_start >= 0


async def test_telemetry_that_cannot_be_read_fails_no_run(bench: Bench) -> None:
    controller = await bench.start(lines=20)
    run_id = next(iter(controller.state.runs))
    name = f"telemetry/{run_id}.{bench.hosts[0].name}.csv"
    await until((controller.path / name).exists)
    (controller.path / name).unlink()
    (controller.path / name).mkdir()
    run = only_run(await finish(controller))
    assert run.throughput is not None
    assert run.telemetry is not None
    assert run.telemetry.hosts == ()


def _running(program: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(program).encode() in command:
                found.append(int(entry.name))
    return found
