"""Profiles that compute on CPUs, on hosts with GPUs: those are none of their business."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run
from tests.support.nvidia_smi import V100


@pytest.fixture
async def bench(
    tmp_path: Path, local_host: Host, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    V100.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


@pytest.mark.parametrize("devices", ["any", "cpu"])
async def test_a_run_on_cpus_says_nothing_of_gpus_and_their_energy(
    bench: Bench, devices: str
) -> None:
    path = bench.profiles / "steady.toml"
    path.write_text(path.read_text().replace('source = "tests"', f'devices = "{devices}"'))
    controller = await bench.start(lines=30)
    run = only_run(await finish(controller))
    report = (controller.path / "report.md").read_text()
    watched = (controller.path / f"telemetry/{run.run_id}.{run.hosts[0]}.csv").read_text()
    if devices == "any":
        assert "Tesla V100" in run.fingerprint
        assert "gpu num" in report
        assert "power.draw" in watched
    else:
        assert "Tesla" not in run.fingerprint
        assert "driver" not in run.fingerprint
        assert "device num" in report
        assert "gpu num" not in report
        assert "power.draw" not in watched
        assert "CUDA_VISIBLE_DEVICES" not in run.commands[0]
