"""What stands beside the pages' names for a while."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.notifications import Notification, Notifications
from textual.widgets import Input

from backends.campaign.folder.tags_and_note import About, write_about
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.lock import Role
from backends.campaign.record.run_record import ENDS, LEFT, NOT_BEGUN, SKIPPED
from backends.campaign.record.state import fold
from backends.hangs.diagnosis import Diagnosis, Finding, Sign, Suspect
from backends.hangs.verdict_words import verdict_line
from profiles.counted import counted, first_of
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tests.console.conftest import (
    LARGE,
    ONEFLOW,
    SMALL,
    begin,
    console,
    screen_text,
    settled,
    shows,
    type_ahead,
    until,
)
from tests.console.fakes import FakeFinding, FakeSummary, FakeWorkspace
from tests.console.test_matrix import open_matrix
from tui.app import DlperfApp
from tui.command_palette import Palette
from tui.happened import (
    ADDED,
    CAME,
    DIAGNOSED,
    ENDED,
    LET_GO,
    PAUSED,
    STARTED,
    UNPAUSED,
    WENT_ON,
    happened,
)
from tui.messages import MOST_AT_ONCE, NoMore, Problem, Said, let_pass, make_room
from tui.refused_keys import UNSEEN
from tui.screens.campaign_list import Unfinished
from tui.screens.dialogs import Choice, Dialog, Notes
from tui.screens.export_sheet import ExportSheet
from tui.widgets.told import told_text

SEVERITIES = st.sampled_from(["information", "warning", "error"])
SAID = st.builds(
    Notification,
    message=st.sampled_from(["a", "b", "c", "d"]),
    title=st.sampled_from(["", "Export"]),
    severity=SEVERITIES,
    timeout=st.just(900.0),
)


@given(st.lists(SAID, max_size=12))
def test_one_word_of_the_last_action_and_a_few_problems_each_once(said: list[Notification]) -> None:
    shown = Notifications()
    for new in said:
        make_room(shown, new)
        shown.add(new)
        now = list(shown)
        assert now[-1] is new
        assert len(now) <= MOST_AT_ONCE
        assert len({(one.title, one.message) for one in now}) == len(now)
        assert sum(one.severity == "information" and not one.title for one in now) <= 1
    let_pass(shown)
    assert all(one.severity != "information" or one.title for one in shown)


@given(
    st.lists(
        st.builds(
            Notification,
            st.text("ab ", min_size=1, max_size=300).filter(str.strip),
            severity=SEVERITIES,
        ),
        max_size=4,
    ),
    st.integers(1, 90),
    st.integers(1, 2),
)
def test_words_that_pass_keep_to_their_lines_and_problems_are_whole(
    said: list[Notification], width: int, lines: int
) -> None:
    told = told_text(said, width, lines).plain.splitlines()
    assert all(cell_len(line) <= width for line in told)
    grave = [one for one in said if one.severity != "information"]
    below = told_text(grave, width, lines).plain.splitlines()
    assert told[len(told) - len(below) :] == below
    assert len(told) - len(below) <= lines
    assert "".join("".join(below).split()) == "".join("".join(one.message.split()) for one in grave)


def told(app: DlperfApp) -> list[str]:
    return [one.message for one in app._notifications]


async def test_what_is_said_of_a_page_goes_with_it_and_a_problem_stays(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("2")
        app.screen.post_message(Said("one"))
        app.screen.post_message(Said("two"))
        await until(pilot, lambda: told(app) == ["two"])
        for _ in range(2):
            app.screen.post_message(Problem(DlperfError("no answer", where="node1")))
        await until(pilot, lambda: told(app) == ["two", "no answer"])
        await pilot.press("1")
        await until(pilot, lambda: told(app) == ["no answer"])
        await until(pilot, lambda: "no answer" in screen_text(app))


LONG = "six more are marked; " + " ".join(f"word{number}" for number in range(60))


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_words_of_a_page_stand_beside_its_names_and_cover_no_title_of_a_panel(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: "reading past results" not in screen_text(app))
        before = screen_text(app).splitlines()
        for words in ("begun", LONG, "done"):
            app.screen.post_message(Said(words))
            await until(pilot, lambda words=words: words[:20] in screen_text(app))
            now = screen_text(app).splitlines()
            differs = [
                at for at, pair in enumerate(zip(before, now, strict=True)) if len(set(pair)) > 1
            ]
            assert differs == ([0, 1] if words is LONG else [1])
            names = before[1].index("Results") + len("Results ")
            assert all(now[at][:names].rstrip() == before[at][:names].rstrip() for at in differs)


NOTE = "It began without node3: GPU2 has 3 uncorrected memory errors since its last reset"


@pytest.mark.parametrize("width", [80, 100, 120, 140, 160, 200, 240])
@pytest.mark.parametrize(
    "words", ["begun", "15 runs paused: those at work go on; P starts them again"]
)
async def test_a_note_is_read_beside_words_that_pass_and_is_never_cut_by_them(
    workspace: FakeWorkspace, width: int, words: str
) -> None:
    async with console(workspace, (width, 40)) as (app, pilot):
        begin(app, workspace).note(NOTE, "warn")
        await pilot.press("3")
        await until(pilot, lambda: "▲ It began" in screen_text(app))
        before = screen_text(app).splitlines()[1]
        app.screen.post_message(Said(words))
        await until(pilot, lambda: words[:5] in screen_text(app))
        noted = screen_text(app).splitlines()[1].partition("▌")[0].partition("▲ ")[2].strip()
        assert noted in ("", NOTE) or noted.endswith("… · N"), noted
        assert noted == NOTE or width < 200, noted
        app.clear_notifications()
        await until(pilot, lambda: screen_text(app).splitlines()[1] == before)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_problem_and_its_remedy_cover_neither_a_title_nor_a_row_nor_the_foot(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        await until(pilot, lambda: "─ Runs" in screen_text(app))
        error = DlperfError("connection refused by its port 22", remedy="start sshd", where="node1")
        app.screen.post_message(Problem(error))
        await until(pilot, lambda: "connection refused" in screen_text(app))
        shown = screen_text(app).splitlines()
        rows = [at for at, line in enumerate(shown) if "▌" in line or "→ start sshd" in line]
        assert rows
        assert max(rows) < 2, shown


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_words_go_with_the_dialog_that_comes_or_leaves_and_a_problem_stands_once(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: "reading past results" not in screen_text(app))
        app.screen.post_message(Said("six marked"))
        app.screen.post_message(Problem(DlperfError("no answer")))
        await until(pilot, lambda: "no answer" in screen_text(app))
        assert "six marked" in screen_text(app)
        await pilot.press("question_mark")
        await until(pilot, lambda: "no answer" in screen_text(app))
        assert screen_text(app).count("no answer") == 1
        assert "six marked" not in screen_text(app)
        shown = screen_text(app).splitlines()
        await pilot.press("O")
        await until(pilot, lambda: "Help has no such key" in screen_text(app))
        assert screen_text(app).splitlines()[:-2] == shown[:-2], "only the last lines"
        await pilot.press("escape")
        await until(pilot, lambda: "Help has no such key" not in screen_text(app))
        assert screen_text(app).count("no answer") == 1


async def test_notes_have_what_was_cut_beside_the_pages_names_and_what_the_operator_noted(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        path = app.session.viewed_path
        assert path is not None
        path.mkdir(parents=True, exist_ok=True)
        write_about(path, About(note="on the old switch"))
        await pilot.press("2")
        app.screen.post_message(Said(LONG))
        await until(pilot, lambda: "six more" in screen_text(app))
        assert "word59" not in screen_text(app)
        await pilot.press("N")
        await until(pilot, lambda: "word59" in screen_text(app))
        assert "your note  on the old switch" in screen_text(app)


def told_of(words: str) -> int:
    """Of how many runs a note is."""
    many = re.match(r"(\d+) runs", words)
    return int(many[1]) if many else 1


@given(
    kinds=st.lists(st.sampled_from(["pause", "unpause", "skip"]), min_size=1, max_size=3),
    many=st.integers(1, 30),
    apart_s=st.sampled_from([0.0, 0.01, 5.0]),
)
def test_what_happens_to_many_runs_at_once_is_one_note_with_their_number(
    kinds: list[str], many: int, apart_s: float
) -> None:
    runs = [planned_run(n + 1, 0.0) for n in range(many)]
    events: list[ev.Event] = [*runs]
    now, paused, left, expected = 0.0, False, True, []
    for kind in kinds:
        now += 100.0
        does = {"pause": left and not paused, "unpause": left and paused, "skip": left}[kind]
        for n, run in enumerate(runs):
            t = now + n * apart_s
            if kind == "pause":
                events.append(ev.RunPaused(t=t, run_id=run.run_id, by="alice"))
            elif kind == "unpause":
                events.append(ev.RunUnpaused(t=t, run_id=run.run_id))
            else:
                events.append(ev.RunCancelled(t=t, run_id=run.run_id))
        if does:
            expected.append({"pause": PAUSED, "unpause": UNPAUSED, "skip": SKIPPED}[kind])
        now += many * apart_s
        paused, left = kind == "pause" if left else paused, left and kind != "skip"
    notes = [note for note in happened(fold(events)) if note[1] in (PAUSED, UNPAUSED, SKIPPED)]
    each = many if apart_s > 1 else 1
    assert [how for _, how, _ in notes] == [how for how in expected for _ in range(each)]
    for _, how, words in notes:
        assert told_of(words) == many // each
        assert "#1" in words or each > 1
        assert ("alice" in words) is (how == PAUSED)
        assert len(words) < 80


async def test_notes_have_each_start_and_end_of_a_run_and_that_of_the_campaign_the_last_first(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        for _ in range(200):
            workspace.clock.tick(30)
            state = app.session.viewed.state  # type: ignore[union-attr]
            notes = happened(state)
            runs = state.runs.values()
            levels = Counter({level: 0 for _, level, _ in notes})
            for _, level, said in notes:
                levels[level] += told_of(said)
            assert levels.pop(ENDED, 0) == state.finished
            assert levels.pop(STARTED, 0) == sum(run.started_at is not None for run in runs)
            assert levels == Counter(str(run.state) for run in runs if run.state.ended)
            assert notes == sorted(notes, key=lambda note: note[0])
        assert state.finished
        await pilot.press("N")
        await until(pilot, partial(shows, app, "the campaign, the last first"))
        lines = [line for line in screen_text(app).splitlines() if " +" in line]
        assert f"  {ENDED}" in lines[0]
        assert any(STARTED in line for line in lines[1:])


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 500)), min_size=1, max_size=4))
def test_notes_tell_each_end_of_a_campaign_and_what_it_went_on_with(
    batches: list[tuple[int, int]],
) -> None:
    number, now, told, events = 0, 0.0, [], []
    for batch, (runs, gap_s) in enumerate(batches):
        now += gap_s
        if batch:
            events.append(ev.CampaignReopened(t=now))
            told.append((now, WENT_ON, f"{format_duration(gap_s)} after its end"))
            names = first_of([f"1n1g #{number + n + 1}" for n in range(runs)])
            told.append((now, ADDED, f"{counted(runs, 'run')}: {names}"))
        planned = [planned_run(number + n + 1, now) for n in range(runs)]
        events += planned
        for run in planned:
            now += 1
            events += launched(run, now)
            events.append(ev.RunFailed(t=now, run_id=run.run_id, reason="none"))
        number += runs
        events.append(ev.CampaignFinished(t=now))
        told.append((now, ENDED, f"{number} failed"))
    own = (ENDED, ADDED, WENT_ON)
    assert [note for note in happened(fold(events)) if note[1] in own] == told


@given(
    st.sampled_from(["", Cause.EXIT, Cause.STALLED, Cause.LEFT]),
    st.booleans(),
    st.dictionaries(st.sampled_from(["checkpointing", "compile"]), st.integers(1, 9)),
)
def test_notes_tell_of_a_run_what_was_so_at_that_time_by_the_name_that_the_list_has(
    category: str, again: bool, shared: dict[str, int]
) -> None:
    first = replace(planned_run(1, 0.0), parameters=shared)
    found = Diagnosis((Suspect("n1", 1, None, None, (Finding(Sign.STOPPED),)),), ranks=2)
    events: list[ev.Event] = [
        first,
        ev.RunAssigned(
            t=1.0, run_id=first.run_id, hosts=("n1",), commands=("",), port=1, log="a.log"
        ),
        ev.RunDiagnosed(t=1.5, run_id=first.run_id, diagnosis=Diagnosis()),
        ev.RunDiagnosed(t=2.0, run_id=first.run_id, diagnosis=found),
        ev.RunFailed(t=3.0, run_id=first.run_id, reason="none", category=category),
    ]
    if again:
        events.append(replace(first, t=9.0, run_id="a-0001-a2", attempt=2, retry_of=first.run_id))
    assert happened(fold(events)) == [
        (1.0, STARTED, "1n1g #1"),
        (1.5, DIAGNOSED, f"1n1g #1: {verdict_line(Diagnosis())}"),
        (2.0, DIAGNOSED, f"1n1g #1: {verdict_line(found)}"),
        (3.0, LEFT if category == Cause.LEFT else "failed", "1n1g #1: none"),
    ]


@given(st.lists(st.sampled_from(["alice", "bob", ""]), max_size=8))
def test_notes_tell_each_pause_of_a_run_and_whose_it_was(pauses: list[str]) -> None:
    """``""``: it might start again."""
    run = planned_run(1, 0.0)
    events: list[ev.Event] = [run]
    told, paused = [], False
    for t, by in enumerate(pauses, 1):
        if by:
            events.append(ev.RunPaused(t=float(t), run_id=run.run_id, by=by))
            told += [(float(t), PAUSED, f"1n1g #1 by {by}")] * (not paused)
        else:
            events.append(ev.RunUnpaused(t=float(t), run_id=run.run_id))
            told += [(float(t), UNPAUSED, "1n1g #1")] * paused
        paused = bool(by)
    assert happened(fold(events)) == told


@given(st.lists(st.tuples(st.sampled_from(Role), st.booleans()), max_size=8))
def test_notes_tell_who_went_on_with_a_campaign_and_who_let_go_of_it(
    changes: list[tuple[Role, bool]],
) -> None:
    events = [
        ev.WriterChanged(t=float(t), role=role, user="bob", host="login1", pid=t, left=left)
        for t, (role, left) in enumerate(changes)
    ]
    notes = happened(fold(events))
    assert [how for _, how, _ in notes] == [LET_GO if left else CAME for _, left in changes]
    for (t, _, words), (role, _) in zip(notes, changes, strict=True):
        assert str(role) in words
        assert words.endswith(f" of bob on login1 (pid {t:.0f})")


@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=8))
def test_notes_call_the_end_of_a_run_what_the_lists_call_it(ends: list[str]) -> None:
    planned = [planned_run(n + 1, 0.0) for n in range(len(ends))]
    events: list[ev.Event] = [*planned]
    for run, how in zip(planned, ends, strict=True):
        if how not in (SKIPPED, NOT_BEGUN):
            events += launched(run, 1.0)
        category = {NOT_BEGUN: Cause.IN_VAIN, LEFT: Cause.LEFT}.get(how, Cause.EXIT)
        failed = ev.RunFailed(t=2.0, run_id=run.run_id, reason="none", category=category)
        of_its_own = {
            "succeeded": ev.RunSucceeded(
                t=2.0,
                run_id=run.run_id,
                throughput=1.0,
                readings=1,
                used=1,
                window="all",
                statistic="median",
                log="a.log",
            ),
            "cancelled": ev.RunCancelled(t=2.0, run_id=run.run_id),
            SKIPPED: ev.RunCancelled(t=2.0, run_id=run.run_id),
        }
        events.append(of_its_own.get(how, failed))
    state = fold([*events, ev.CampaignFinished(t=3.0)])
    notes = [note for note in happened(state) if note[1] != STARTED]
    levels = Counter({how: 0 for _, how, _ in notes})
    for _, how, words in notes:
        levels[how] += 1 if how == ENDED else told_of(words)
    assert levels == Counter([*ends, ENDED])
    [told] = (words for _, how, words in notes if how == ENDED)
    assert Counter(ends) == {
        word: int(count) for count, word in (part.split(" ", 1) for part in told.split(", "))
    }


def launched(run: ev.RunPlanned, now: float) -> list[ev.Event]:
    on_n1 = ev.RunAssigned(
        t=now, run_id=run.run_id, hosts=("n1",), commands=("",), port=1, log="a.log"
    )
    return [on_n1, ev.RunLaunched(t=now, run_id=run.run_id, boot_ids=("b",))]


def planned_run(number: int, now: float) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=now,
        run_id=f"a-{number:04d}-a1",
        profile="p",
        framework="f",
        model="m",
        unit="images/s",
        nodes=1,
        gpus_per_node=1,
        parameters={},
        repeat=number,
    )


@pytest.mark.parametrize("page", ["", "1", "2", "3", "4"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_notes_open_on_every_page_before_anything_was_said_or_a_campaign_is_there(
    workspace: FakeWorkspace, page: str, at_once: bool
) -> None:
    async with console(workspace) as (app, pilot):
        if not at_once:
            await type_ahead(app, pilot, *page)
            await pilot.pause()
        await type_ahead(app, pilot, *(page if at_once else ""), "N")
        assert isinstance(app.screen, Notes)
        assert "No campaign is open" in screen_text(app)
        assert not told(app)


async def test_a_key_of_what_lies_directly_below_a_dialog_is_said_to_be_none_of_its_own(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O", "question_mark", "s")
        said = "s Sort: Help has no such key; Esc closes it"
        await until(pilot, lambda: said in screen_text(app))


@pytest.mark.parametrize("key", ["ctrl+p", ":"])
@pytest.mark.parametrize("way", ["O", "?", "2p", "2d", "2s", "N"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_the_palette_opens_over_a_dialog_and_has_what_is_typed_behind_it(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, way: str, key: str, at_once: bool
) -> None:
    workspace.summaries = [FakeSummary(n, Path(f"/c/{n}"), "finished", 1, 1) for n in ("a", "b")]
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        if not at_once:
            await type_ahead(app, pilot, *way)
            assert isinstance(app.screen, Dialog)
        await type_ahead(app, pilot, *(way if at_once else ""), key, *"dnpex")
        assert isinstance(app.screen, Palette)
        assert app.screen.query_one(Input).value == "dnpex"
        assert isinstance(app.screen_stack[-2], Dialog)
        await pilot.press("escape")
        assert isinstance(app.screen, Dialog)


async def test_a_palette_typed_ahead_of_a_dialog_does_nothing_there_that_has_to_be_seen_first(
    workspace: FakeWorkspace,
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 1))
    path = workspace.controller(plan, "left").path
    workspace.summaries = [FakeSummary("left", path, "unfinished", 0, 1)]
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape")
        for word, key in (("resume", "r"), ("keeper", "b")):
            await type_ahead(app, pilot, "O", ":", *word)
            assert isinstance(app.screen, Palette)
            assert f"({key})" not in screen_text(app)
            await type_ahead(app, pilot, "enter")
            assert not workspace.resumed
            await pilot.press("escape", "escape")
        await type_ahead(app, pilot, "O", ":", *"remove", "enter")
        await settled(app)
        assert len(workspace.summaries) == 1, "it asks first"
        await pilot.press("escape", "escape", "escape")
        await type_ahead(app, pilot, "O", ":")
        await pilot.press(*"resume")
        await until(pilot, lambda: "Resume  " in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: workspace.resumed)


async def test_what_is_chosen_in_a_palette_over_a_dialog_is_done_there_and_nothing_else_is_offered(
    workspace: FakeWorkspace,
) -> None:
    workspace.summaries = [FakeSummary(n, Path(f"/c/{n}"), "finished", 1, 1) for n in ("a", "b")]
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O", "j", "colon")
        palette = app.screen
        assert isinstance(palette, Palette)
        await until(pilot, lambda: "Replay  " in screen_text(app))
        assert "Matrix" not in screen_text(app).partition("Replay  ")[2]
        await type_ahead(app, pilot, *"remove", "enter")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "Remove b, " in screen_text(app)


@given(st.integers(30, 120), st.integers(0, 120))
def test_a_message_of_a_file_ends_with_its_name(width: int, deep: int) -> None:
    path = f"/home/{'d' * deep}/speedup.md"
    said = Notification(f"written to {path}", title="Export")
    shown = told_text([said], width, 1).plain
    assert shown.endswith("/speedup.md")
    assert set(shown.split()[:-1]) <= {"Export:", "written", "to"}, "words are whole"
    assert cell_len(shown) <= width


async def test_nothing_that_two_lines_have_room_for_is_cut_over_a_dialog(
    workspace: FakeWorkspace,
) -> None:
    said = " ".join(f"word{number}" for number in range(19))
    async with console(workspace) as (app, pilot):
        await pilot.press("question_mark")
        for whole in (False, True):
            if whole:
                await pilot.press("escape")
                app.push_screen(ExportSheet(begin(app, workspace).snapshot(), ()))
                await until(pilot, lambda: isinstance(app.screen, ExportSheet))
            app.screen.post_message(Said(said))
            await until(pilot, lambda: "word0" in screen_text(app))
            lines = screen_text(app).splitlines()
            keys = lines.pop() if whole else ""
            assert ("Esc q Close" in keys) == whole, "its keys stay in sight"
            assert " ".join("".join(lines[-2:]).replace("▌", " ").split()) == said


async def test_why_a_key_does_nothing_is_said_for_as_long_as_it_is_so(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = asyncio.Event()

    async def preflight(*_: object) -> tuple[FakeFinding, ...]:
        await over.wait()
        return ()

    monkeypatch.setattr(workspace, "preflight", preflight)
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await type_ahead(app, pilot, "enter")
        await type_ahead(app, pilot, "enter")
        said = "preflight is still at work"
        await until(pilot, lambda: f"Start: {said}" in screen_text(app))
        over.set()
        await until(pilot, lambda: f"Start: {said}" not in screen_text(app))
        await until(pilot, lambda: f"Start: {UNSEEN}" in screen_text(app))
        assert isinstance(app.screen, Dialog)


@pytest.mark.parametrize("how", ["key", "resize"])
async def test_why_a_key_does_nothing_goes_with_the_next_key_and_with_a_resize(
    workspace: FakeWorkspace, how: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("3", "d")
        await until(pilot, lambda: app._notifications)
        [said] = [one.message for one in app._notifications]
        if how == "key":
            await pilot.press("tab")
        else:
            await pilot.resize_terminal(*SMALL)
        await until(pilot, lambda: said not in screen_text(app) and not app._notifications)


async def test_that_no_row_has_the_words_of_a_filter_goes_with_the_filter(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("slash", "z", "q", "z", "q", "enter")
        said = "no row has these words"
        await until(pilot, lambda: said in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: said not in screen_text(app))


async def test_what_is_over_at_once_does_not_stand_there_afterwards(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        app.screen.post_message(Said("the hosts are asked"))
        app.screen.post_message(NoMore("the hosts are asked"))
        await pilot.pause()
        await pilot.pause()
        assert not shows(app, "the hosts are asked")
        assert not list(app._notifications)
