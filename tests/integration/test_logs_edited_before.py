"""Logs that were changed before a campaign is gone on with: told while it is, and at its end."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.host_entry import Host
from backends.use_cases import Workspace
from tests.support.campaigns import Bench, finish
from tui.session import Session

FAILS_ONCE = "time.sleep(0.5); sys.exit(os.environ['DLPERF_RUN_ID'].endswith('-0004-a1'))"


def edited(log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b"samples/s: 1", b"samples/s: 91"))


def appended(log: Path) -> None:
    log.write_bytes(log.read_bytes() + b"\na line that no pattern knows\n")


DEEDS: dict[str, Callable[[Path], None]] = {
    "edited": edited,
    "deleted": Path.unlink,
    "appended": appended,
}
ORDERS = [(*[*DEEDS][first:], *[*DEEDS][:first]) for first in range(3)]
"""Each of them at each run."""


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def told(snapshot: CampaignSnapshot, deeds: dict[str, str]) -> None:
    """By one who looks at the campaign: which figures are in doubt, and what became of each log."""
    runs = {run.log: bool(run.log_differs) for run in snapshot.state.runs.values() if run.log}
    for log, deed in deeds.items():
        assert runs[log] is (deed != "appended"), deed
        [note] = [text for _, _, text in snapshot.notes if text.startswith(f"{log}: ")]
        assert ("was changed after its run" in note) is (deed == "appended")


def published(campaign: Path) -> None:
    """What the engine writes says as much as what is asked for then."""
    document = json.loads((campaign / "results.json").read_text())
    assert any("log_changed" in case["flags"] for case in document["results"])
    rows = list(csv.DictReader((campaign / "results.csv").read_text().splitlines()))
    assert any("log_changed" in str(row) for row in rows)
    assert "not as they were when it ended" in (campaign / "report.md").read_text()


@pytest.mark.parametrize("way", ["retry", "repeat"])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
async def test_what_became_of_logs_is_told_while_the_campaign_is_gone_on_with(
    bench: Bench, way: str, order: tuple[str, ...]
) -> None:
    before = bench.workspace()
    state = await finish(await bench.start(lines=4, every=0, repeats=4, after=FAILS_ONCE))
    await before.close()
    path = bench.campaign
    good = [run for run in state.runs.values() if run.state is RunState.SUCCEEDED]
    bad = [run.run_id for run in state.runs.values() if run.state is RunState.FAILED]
    deeds = {run.log: deed for run, deed in zip(good, order, strict=True)}
    for log, deed in deeds.items():
        DEEDS[deed](path / log)

    session = Session(bench.workspace())
    await session.open(path)
    assert session.opened is not None
    while session.opened.logs_unread:
        await asyncio.sleep(0.02)
    told(session.opened, deeds)
    await session.go_on(path, bad if way == "retry" else ())
    assert session.controller is not None
    while not any(session.controller.snapshot().state.run(r.run_id).log_differs for r in good):
        assert session.at_work, "it is told before the end"
        await asyncio.sleep(0.02)
    assert session.live is not None
    told(session.live, deeds)
    watcher = bench.workspace()
    told(watcher.load(path), deeds)
    await session.controller.wait()
    assert session.live.finished
    told(session.live, deeds)
    told(watcher.load(path), deeds)
    published(path)
    told(Workspace.open(campaigns=bench.campaigns).load(path), deeds)
