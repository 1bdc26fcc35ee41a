"""What a host tells while it trains, on its way into a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.record import events as ev
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import fold
from backends.campaign.run.host_watch import HostWatch, seen_meanwhile
from backends.engines.engine import AllocatedHost
from backends.hosts.telemetry_summary import HostUse
from backends.remote.wrapper_messages import RunPhase, RunStatus
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned


class Telling:
    """Hands these over, and is then silent for ever."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks
        self.told = asyncio.Event()

    async def stream(
        self, _command: str, on_stdout: Callable[[bytes], None], *, spare: bool
    ) -> None:
        assert spare
        for chunk in self._chunks:
            on_stdout(chunk)
        self.told.set()
        await asyncio.Event().wait()


async def test_empty_lines_are_signs_of_life_and_wake_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_bytes(b"torn by a kill")
    chunks = [b"\n", b"host, 1", b"\n", b"\n", b"host, 2\nhost", b", 3\n", *[b"\n"] * 5]
    transport = Telling(chunks)
    host = cast(AllocatedHost, SimpleNamespace(has_gpus=False, transport=transport))
    following = asyncio.create_task(HostWatch(host, RawLog(path)).follow())
    await transport.told.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert path.read_bytes() == b"torn by a kill\nhost, 1\nhost, 2\nhost, 3\n"


def read_late(first: float, late: float, *, ran_s: float) -> RunRecord:
    """Launched at 100 s, read from ``first`` on; the rest came at once, when it was over."""
    run_id = "r-0001-a1"
    rows = tuple((float(n), 100.0, at) for n, at in enumerate([first, first + 1, *[late] * 5]))
    events = [
        planned(run_id),
        assigned(run_id),
        ev.RunLaunched(t=100.0, run_id=run_id),
        ev.ReadingsArrived(t=late, run_id=run_id, first=0, readings=rows, warmup=0),
        ev.RunOver(t=late, run_id=run_id, ran_s=ran_s),
    ]
    return fold(events).runs[run_id]


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("watched_s", "busy"), [(4, 1.0), (1, None), (0, None)])
async def test_a_sample_that_came_when_a_run_was_over_says_nothing_of_it(
    tmp_path: Path, watched_s: int, busy: float | None, *, told: bool
) -> None:
    """All of its CPUs were busy for 8 s; from then on none was, and nobody looked for a while."""
    path = tmp_path / "host.csv"
    looks = [*range(100, 101 + watched_s), 130, 131]
    ticks = ((at, 200 * (min(at, 108) - 100), 200 * at) for at in looks)
    path.write_text("".join(f"host, {at}, 2, 0.5, {b}, {total}, 0\n" for at, b, total in ticks))
    host = SimpleNamespace(
        name="node1", has_gpus=False, devices=(), snapshot=SimpleNamespace(facts=None)
    )
    watch = HostWatch(cast(AllocatedHost, host), RawLog(path))
    run = read_late(101.0 if watched_s else 130.0, 130.0, ran_s=8.0)
    end = RunStatus(RunPhase.EXITED, started_at=100.0, ended_at=108.0) if told else None
    found = await seen_meanwhile([watch], run, (), {"node1": end})
    (one,) = found.hosts
    assert replace(one, seconds=None) == HostUse("node1", 2, 0.5, busy, 0 if watched_s else None)
    assert one.seconds == max(0, watched_s - 1)
