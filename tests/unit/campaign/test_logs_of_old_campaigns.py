"""A campaign from before journals had stamps of logs: opened at once, and what became of its logs
is shown when they have been read."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder import raw_logs
from backends.campaign.folder.index import CampaignSummary
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.past_result import PastResult, fastest
from backends.results.summary import summarise
from backends.use_cases import Workspace
from tests.unit.results.test_logs_edited_later import FALSE, TRUE, campaign
from tui.campaign_words import figure_words
from tui.cli import main
from tui.log_look import AGAIN_S, LogLook
from tui.screens.campaign_text import Results, summary_words
from tui.session import Session

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def grades(snapshot: CampaignSnapshot) -> dict[str, str]:
    groups = summarise(run_results(snapshot.state))
    return {case.case: str(case.grade) for group in groups for case in group.cases}


def test_what_is_opened_says_of_old_logs_what_a_report_says(tmp_path: Path) -> None:
    async def look() -> None:
        session = Session(Workspace.open(campaigns=tmp_path))
        await session.open(path)
        assert session.opened is not None
        first = session.opened
        assert first.logs_unread
        gone = [run.log for run in first.state.runs.values() if run.log_differs]
        assert gone == [removed]
        while session.opened.logs_unread:
            await asyncio.sleep(0.01)
        known = session.opened
        assert known.revision > first.revision
        told = {run.log for run in known.state.runs.values() if run.log_differs}
        assert told == {removed, edited}
        assert grades(known) == grades(Workspace.open().load(path))
        before = session.opened
        await session.refresh()
        assert session.opened is before
        notes, begun = session.read_notes()
        assert notes is not None
        undated = {text.partition(":")[0] for t, _, text in notes if t is None}
        assert undated == {removed, edited}
        assert begun in {t for t, _, _ in known.notes}, "a document has a number there"
        await session.close()

    path = tmp_path / "old"
    shutil.copytree(EXAMPLES / "h200-x2-resnet50-graphs", path)
    every = read_campaign(path).runs.values()
    runs = [run for run in every if run.throughput and not run.profiled]
    assert not any(run.log_stamps for run in runs)
    removed, edited = runs[0].log, runs[-1].log
    (path / removed).unlink()
    FALSE["changed"][0](path / edited)
    asyncio.run(look())


def test_nothing_waits_until_old_logs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does who leaves: the log that is being read is the last."""
    go_on, reads = threading.Event(), []
    real = raw_logs._doubts

    def slow(run, *rest, **more):
        reads.append(run.run_id)
        go_on.wait(20)
        return real(run, *rest, **more)

    async def look() -> None:
        session = Session(Workspace.open(campaigns=tmp_path))
        for path in paths:
            async with asyncio.timeout(5):
                await session.open(path)
                await session.refresh()
            assert session.opened is not None
            assert session.opened.logs_unread
        while len(reads) < 2:
            await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            await session.close()
        go_on.set()

    monkeypatch.setattr(raw_logs, "_doubts", slow)
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        shutil.copytree(EXAMPLES / "h200-x2-resnet50-graphs", path)
    asyncio.run(look())
    assert len(reads) == 2


@settings(max_examples=8, deadline=None)
@given(deed=st.sampled_from([*FALSE, *TRUE]), stamped=st.booleans())
def test_a_quick_look_says_at_once_what_the_disk_tells_and_all_that_was_read_before(
    deed: str, stamped: bool
) -> None:
    with campaign(stamped=stamped) as path:
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        (TRUE[deed] if deed in TRUE else FALSE[deed][0])(path / run.log)
        workspace = Workspace.open()
        quick = workspace.load(path, quick=True)
        whole = workspace.load(path)
        again = workspace.load(path, quick=True)
        assert (again.state, again.notes) == (whole.state, whole.notes)
        assert not again.logs_unread
        assert quick.logs_unread or (quick.state, quick.notes) == (whole.state, whole.notes)
        if deed == "removed":
            assert quick.state.run(run.run_id).log_differs


def test_status_says_it_of_an_old_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old"
    shutil.copytree(EXAMPLES / "h200-x2-resnet50-graphs", path)
    run = next(run for run in read_campaign(path).runs.values() if run.throughput)
    FALSE["changed"][0](path / run.log)
    assert main(["status", str(path)]) == 0
    assert f"warning: old: {run.log}: gives " in " ".join(capsys.readouterr().err.split())


def listed(workspace: Workspace, path: Path) -> dict[str, str | None]:
    results = workspace.past.by_campaign[path]
    return {past.tag: past.grade for past in results if isinstance(past, PastResult)}


@settings(max_examples=10, deadline=None)
@given(deed=st.sampled_from([*FALSE, *TRUE]), stamped=st.booleans(), later=st.booleans())
def test_a_list_of_campaigns_has_the_grade_of_the_opened_one_as_soon_as_it_is_known(
    deed: str, *, stamped: bool, later: bool
) -> None:
    with campaign(stamped=stamped) as path:
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        workspace = Workspace.open(campaigns=path.parent)
        if later:
            workspace.past.read()
            workspace.past.look_at_logs()
        (TRUE[deed] if deed in TRUE else FALSE[deed][0])(path / run.log)
        workspace.past.read()
        if stamped or deed == "removed":
            workspace.past.look_at_logs()
        else:
            workspace.load(path)
            workspace.past.look_at_logs()
        whole = grades(workspace.load(path))
        assert {tag: str(grade) for tag, grade in listed(workspace, path).items()} == {
            tag: grade for tag, grade in whole.items() if tag in listed(workspace, path)
        }
        assert (run.case.tag in listed(workspace, path)) is True
        before = workspace.past.by_campaign
        workspace.past.look_at_logs()
        assert workspace.past.by_campaign is before


def test_campaigns_ls_has_the_grade_that_a_report_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old"
    shutil.copytree(EXAMPLES / "h200-x2-resnet50-graphs", path)
    words = ["--campaigns", str(tmp_path), "campaigns", "ls", "--json"]
    found = []
    for _ in range(2):
        main(words)
        (one,) = json.loads(capsys.readouterr().out)
        main(words[:-1])
        assert ("logs changed" in capsys.readouterr().out) is one["logs_changed"]
        shown = summary_words(*_of_the_list(tmp_path)).plain
        assert ("logs changed" in shown) is one["logs_changed"]
        found += [(one["fastest"]["grade"], one["logs_changed"])]
        for run in read_campaign(path).runs.values():
            (path / run.log).unlink(missing_ok=True)
    assert found == [("B", False), ("C", True)]


@settings(max_examples=8, deadline=None)
@given(deed=st.sampled_from(["untouched", "commented", "changed"]), stamped=st.booleans())
def test_a_grade_of_a_list_has_a_mark_until_somebody_has_read_its_logs(
    deed: str, stamped: bool
) -> None:
    def mark() -> str:
        workspace.past.read()
        workspace.past.look_at_logs()
        best = fastest(workspace.past.by_campaign[path])
        assert best is not None
        said = summary_words(workspace.campaigns()[0], 0.0, workspace.past.by_campaign).plain
        assert ("⏎ reads them" in said) == best.logs_unread
        return figure_words(best)[2].removeprefix(str(best.grade))

    with campaign(stamped=stamped) as path:
        workspace = Workspace.open(campaigns=path.parent)
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        (TRUE[deed] if deed in TRUE else FALSE[deed][0])(path / run.log)
        assert mark() == "?" * (deed != "untouched" and not stamped)
        workspace.load(path)
        assert mark() == ""


def _of_the_list(campaigns: Path) -> tuple[CampaignSummary, float, Results]:
    workspace = Workspace.open(campaigns=campaigns)
    workspace.past.read()
    workspace.past.look_at_logs()
    return workspace.campaigns()[0], 0.0, workspace.past.by_campaign


@settings(max_examples=8, deadline=None)
@given(deed=st.sampled_from([*FALSE, *TRUE]), stamped=st.booleans())
def test_what_is_open_says_of_logs_changed_since_what_a_report_says(
    deed: str, stamped: bool
) -> None:
    """And nothing is read while nothing is changed."""

    async def look(path: Path) -> None:
        workspace = Workspace.open(campaigns=path.parent)
        session, clock = Session(workspace), [0.0]
        session._log_look = LogLook(workspace, lambda: clock[0])

        async def later() -> CampaignSnapshot:
            for _ in range(3):
                await session.refresh()
                while session.opened is not None and session._reads_logs:
                    await asyncio.sleep(0.01)
                clock[0] += AGAIN_S
            assert session.opened is not None
            return session.opened

        await session.open(path)
        unchanged = await later()
        assert await later() is unchanged
        (TRUE[deed] if deed in TRUE else FALSE[deed][0])(path / run.log)
        now, told = await later(), Workspace.open().load(path)
        assert (now.state, now.notes) == (told.state, told.notes)
        assert bool(now.state.run(run.run_id).log_differs) is (deed in FALSE)
        assert now.revision > unchanged.revision or now.notes == unchanged.notes
        assert await later() is await later()
        await session.close()

    with campaign(stamped=stamped) as path:
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        asyncio.run(look(path))
