"""Full disks, here and there: nothing corrupted, the operator told, everything resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunState, fold
from tests.support.campaigns import Bench, finish, only_run, until_running
from tests.support.waiting import until

pytestmark = pytest.mark.faults


def fill(directory: Path) -> Path:
    """Take every free byte."""
    path = directory / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


async def test_a_full_disk_on_the_login_node_costs_nothing(bench: Bench, small_disk: Path) -> None:
    bench.campaigns = small_disk / "campaigns"
    controller = await bench.start("2n1g", repeats=2, lines=150, every=0.1)
    await until_running(controller, readings=5)
    filler = fill(small_disk)
    await until(lambda: any("No space left" in t for _, _, t in controller.snapshot().notes))
    running = len([r for r in controller.state.runs.values() if r.state is not RunState.PLANNED])
    assert running <= 2
    copies = {path: path.stat().st_size for path in bench.copies.iterdir()}
    await until(lambda: any(p.stat().st_size > n for p, n in copies.items()), what="runs go on")
    filler.unlink()
    state = await finish(controller)
    assert {run.reason for run in state.runs.values()} == {""}
    assert all(run.reading_count == 150 for run in state.runs.values())
    assert bench.logs_are_exact(state, controller.path) == 4
    assert fold(read_events(controller.path / "events.jsonl")) == state
    bench.nothing_is_left()
    await bench.close()


async def test_a_console_that_ends_while_the_disk_is_full_is_resumed(
    bench: Bench, small_disk: Path
) -> None:
    bench.campaigns = small_disk / "campaigns"
    controller = await bench.start("1n1g", lines=100)
    await until_running(controller, readings=5)
    filler = fill(small_disk)
    await until(lambda: any("No space left" in t for _, _, t in controller.snapshot().notes))
    await controller.detach()
    filler.unlink()
    state = await finish(await bench.workspace().resume(controller.path))
    assert only_run(state).reason == ""
    assert bench.logs_are_exact(state, controller.path) == 1
    bench.nothing_is_left()
    await bench.close()


async def test_a_campaign_on_a_full_disk_is_one_clear_line(bench: Bench, small_disk: Path) -> None:
    bench.campaigns = small_disk / "campaigns"
    bench.campaigns.mkdir()
    fill(small_disk)
    process = bench.spawn("run", *bench.steady_words("1n1g", lines=5))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "No space left on device" in err.splitlines()[-1]
    assert "--campaigns DIR" in err
    assert "Traceback" not in err
    assert out == ""
    assert not list(bench.campaigns.iterdir())
    bench.nothing_is_left()


async def test_a_full_disk_on_a_host_is_named(bench: Bench, small_disk: Path) -> None:
    full = replace(bench.hosts[0], work_dir=str(small_disk / "work"))
    bench.hosts = (full,)
    after = "[sys.stdout.buffer.write(bytes(65536)) for _ in range(1000)]"
    controller = await bench.start("1n1g", lines=5, after=after)
    run = only_run(await finish(controller))
    assert run.state is RunState.FAILED
    assert "disk full" in run.reason
    assert run.cleanup.verified
    bench.nothing_is_left()
    await bench.close()
