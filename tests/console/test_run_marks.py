"""Runs: what Space marks, and what is done to all that are marked."""

from __future__ import annotations

from functools import partial
from math import inf
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.message import Message
from textual.pilot import Pilot

from backends.campaign.record import events as ev
from backends.campaign.record.state import RunState, fold
from backends.campaign.record.status_view import take
from backends.keeper.request import Verb
from tests.console.conftest import (
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    settled,
    shows,
    tick,
    type_ahead,
    until,
)
from tests.console.fakes import STARTING_S, FakeWorkspace
from tests.console.test_bursts import key_event
from tests.console.test_runs import open_runs, pass_time
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.app import DlperfApp
from tui.screens.dialogs import Choice
from tui.screens.marked_runs import able, marked_question
from tui.screens.runs_page import NOT_MARKED, RunsPage
from tui.widgets.keyed_table import KeyedTable


async def mark(app: DlperfApp, pilot: Pilot[str], *run_ids: str) -> None:
    """With the cursor, from the list's begin."""
    table = app.screen.query_one(KeyedTable)
    await pilot.press("g")
    for key in table.shown_keys:
        if key in run_ids:
            await until(pilot, lambda key=key: table.current_key == key)
            await pilot.press("space")
        await pilot.press("j")
    await until(pilot, partial(shows, app, f"{len(run_ids)} marked"))


def question(app: DlperfApp) -> str:
    assert isinstance(app.screen, Choice)
    return app.screen.text.plain


ENDS = {
    "waits": [],
    "works": [assigned],
    "failed": [assigned, lambda r: ev.RunFailed(t=3.0, run_id=r, reason="NCCL error")],
    "skipped": [lambda r: ev.RunCancelled(t=3.0, run_id=r)],
    "succeeded": [assigned, succeeded],
    "paused": [lambda r: ev.RunPaused(t=2.0, run_id=r)],
    "ending": [assigned, lambda r: ev.RunCancelling(t=3.0, run_id=r)],
}
CAN = {
    Verb.CANCEL: {"waits", "works", "paused"},
    Verb.RETRY: {"failed", "skipped"},
    Verb.PAUSE: {"waits"},
    Verb.UNPAUSE: {"paused"},
}


@given(
    kinds=st.lists(st.sampled_from([*ENDS]), min_size=1, max_size=24),
    verb=st.sampled_from([*CAN]),
    data=st.data(),
)
def test_a_question_of_marked_runs_is_for_those_it_can_be_done_to_and_says_why_not_for_others(
    kinds: list[str], verb: Verb, data: st.DataObject
) -> None:
    told = []
    for number, kind in enumerate(kinds):
        run_id = f"r-{number:04d}-a1"
        told += [planned(run_id), *(make(run_id) for make in ENDS[kind])]
    viewed = take(fold(told), Path("c"), now=5.0)
    chosen = data.draw(st.sets(st.sampled_from(range(len(kinds))), min_size=1))
    marked = [viewed.runs[n] for n in sorted(chosen)]
    names = {run.run_id: f"<{n}>" for n, run in enumerate(viewed.runs)}
    of = able(verb, viewed, marked)
    can = [n for n in sorted(chosen) if kinds[n] in CAN[verb]]
    assert of.run_ids == [viewed.runs[n].run_id for n in can]
    assert [run.run_id for run, _ in of.others] == [
        viewed.runs[n].run_id for n in sorted(chosen) if n not in can
    ]
    if can:
        asked = marked_question(verb, viewed, marked, names)
        text = asked.text.plain
        assert f" {len(can)} " in text.partition("?")[0]
        assert f"{len(can)} of {len(marked)} marked" in asked._title
        left = len(marked) - len(can)
        assert (f"Not {left} of the {len(marked)} marked: " in text) is bool(left)
        assert all(f"<{n}>" in text or "more" in text for n in chosen)


@given(st.lists(st.booleans(), min_size=2, max_size=6).filter(lambda begun: not all(begun)))
def test_how_those_are_asked_for_that_have_begun_since_is_said_where_there_are_any(
    begun: list[bool],
) -> None:
    run_ids = [f"r-{number:04}-a1" for number in range(len(begun))]
    told = [planned(run_id) for run_id in run_ids]
    asked = take(fold(told), Path("c"), now=5.0).runs
    told_now = [assigned(one) for one, so in zip(run_ids, begun, strict=True) if so]
    now = take(fold([*told, *told_now]), Path("c"), now=5.0)
    names = {run_id: run_id for run_id in run_ids}
    text = marked_question(Verb.CANCEL, now, asked, names).text.plain
    assert ("Esc, then c again asks for " in text) is any(begun)
    again = able(Verb.CANCEL, now, [run for run in now.runs if run.run_id in names])
    assert again.run_ids == run_ids, "which is so"


def test_one_that_has_begun_since_it_was_to_be_skipped_is_not_ended() -> None:
    told = [planned("r-0001-a1"), planned("r-0002-a1")]
    asked = take(fold(told), Path("c"), now=5.0).runs
    now = take(fold([*told, assigned("r-0002-a1")]), Path("c"), now=5.0)
    assert able(Verb.CANCEL, now, asked).run_ids == ["r-0001-a1"]
    assert [why for _, why in able(Verb.CANCEL, now, asked).others] == ["has begun by now"]
    assert able(Verb.CANCEL, now, now.runs).run_ids == ["r-0001-a1", "r-0002-a1"]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_what_is_marked_is_cancelled_after_one_question_that_names_what_cannot_be(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 50)  # r00 has ended
        ended = [r.run_id for r in controller.snapshot().runs if r.state.ended]
        works = [r.run_id for r in controller.snapshot().runs if r.state.active]
        assert ended
        assert works
        await mark(app, pilot, ended[0], works[0], "r07")
        assert screen_text(app).count("[x]") == 3 or size == SMALL
        await until(pilot, partial(shows, app, "c Cancel 2"))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        text = question(app)
        assert text.startswith("Cancel 2 runs?")
        assert "To be ended: " in text
        assert "To be skipped: " in text
        assert "Not 1 of the 3 marked: " in text
        assert "has succeeded" in text
        await pilot.press("n")
        await until(pilot, lambda: app.screen is page)
        assert controller.cancelled == []
        assert shows(app, "3 marked"), "a no leaves them"
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: controller.cancelled == [works[0], "r07"])
        await until(pilot, lambda: "marked" not in screen_text(app))
        assert "[x]" not in screen_text(app)


@pytest.mark.parametrize("chosen", [["r00"], ["r00", "r01"], ["r00", "r07"], ["r07"]])
async def test_that_runs_are_being_ended_is_said_until_they_have(
    workspace: FakeWorkspace, chosen: list[str]
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, STARTING_S / 2)
        await mark(app, pilot, *chosen)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: controller.cancelled == chosen)
        await until(pilot, lambda: bool(app._notifications))
        [said] = [one.message for one in app._notifications]
        for seconds in (0, 3 * STARTING_S):
            await pass_time(workspace, app, pilot, seconds)
            page._take_back_ended()
            await settled(app)
            ended = all(controller.state.runs[one].state.ended for one in chosen)
            assert ended or not seconds
            assert shows(app, said) is ("being ended" not in said or not ended)


async def test_marked_runs_are_retried_paused_and_let_start_together(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "NCCL error", "2n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)

        def runs(of: RunState) -> list[str]:
            return [run.run_id for run in controller.snapshot().runs if run.state is of]

        failed, waiting = runs(RunState.FAILED), runs(RunState.PLANNED)
        assert failed
        assert len(waiting) > 1

        async def answer(key: str, expected: str) -> None:
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Choice))
            assert question(app).startswith(expected)
            await pilot.press("y")
            await until(pilot, lambda: not isinstance(app.screen, Choice))
            tick(app)

        await mark(app, pilot, *failed, *waiting)
        await answer("t", f"Retry {len(failed)} run")
        await until(pilot, lambda: controller.retried == failed)
        for paused, expected in ((True, "Pause"), (False, "Let")):
            await mark(app, pilot, *waiting)
            await answer("p", expected)
            shown = {r.run_id: r for r in controller.snapshot().runs}
            assert all(shown[one].paused is paused for one in waiting)


async def test_what_can_be_done_to_no_marked_run_says_why(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 10)
        await mark(app, pilot, "r00", "r01")
        await pilot.press("t")
        await until(pilot, partial(shows, app, "none of the 2 marked: "))
        assert page.not_now("retry").endswith("are running")
        assert app.screen is page


async def test_a_question_of_marked_runs_goes_when_all_of_them_have_ended(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 10)
        await mark(app, pilot, "r00", "r01")
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        while any(controller.state.runs[one].state.active for one in ("r00", "r01")):
            await pass_time(workspace, app, pilot, 10)
        await until(pilot, lambda: app.screen is page)
        await until(pilot, partial(shows, app, "none of the 2 marked by now; nothing was changed"))
        assert controller.cancelled == []


@pytest.mark.parametrize("key", ["u", "escape"])
async def test_marks_that_a_filter_hides_count_and_are_taken_away_with_the_others(
    workspace: FakeWorkspace, key: str
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await mark(app, pilot, "r00", "r01", "r02")
        await pilot.press(*"/1n1g", "enter")
        await until(pilot, partial(shows, app, "3 marked, 2 of them hidden"))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "The filter hides 2 of the 3 marked." in question(app)
        await pilot.press("escape", *["escape"] * (key == "escape"))
        await until(pilot, lambda: app.screen is page)
        if key == "escape":
            await until(pilot, lambda: "hidden" not in screen_text(app))
            assert shows(app, "3 marked"), "first the filter goes"
        await pilot.press(key)
        await until(pilot, lambda: "marked" not in screen_text(app))


KEYS = [*"jkgGu", "space", "t", "c", "n", "y", "escape"]


@given(typed=st.lists(st.sampled_from(KEYS), max_size=14), burst=st.booleans())
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_marks_are_what_space_was_pressed_on_and_nothing_ends_by_keys_typed_ahead(
    tmp_path_factory: pytest.TempPathFactory, typed: list[str], burst: bool
) -> None:
    workspace = FakeWorkspace(tmp_path_factory.mktemp("campaigns"))
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pilot.press("g")
        if burst:
            await type_ahead(app, pilot, *typed)
            assert controller.cancelled == [], "y came before the question was drawn"
        expected: set[str] = set(page._marked)
        for key in () if burst else typed:
            on_page, at = app.screen is page, table.current_key
            assert at is not None
            await pilot.press(key)
            await pilot.pause()
            if on_page and key == "space":
                expected ^= {at}
            if on_page and key in ("u", "escape"):
                expected = set()
            if not on_page and key == "y":
                assert set(controller.cancelled) >= expected
                expected = set()
            assert set(page._marked) == expected
        if app.screen is page:
            assert shows(app, f"{len(expected)} marked") is bool(expected)


async def test_a_run_that_the_cursor_went_to_by_itself_is_not_marked_unseen(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        page._select("r02")
        await type_ahead(app, pilot, "space", "c", "y")
        assert shows(app, NOT_MARKED)
        assert not page._marked
        assert app.screen is page
        await pilot.press("space")
        assert [*page._marked] == ["r02"]


def never_seen(page: RunsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has no time to draw where the cursor went by itself."""
    monkeypatch.setattr(page._led, "_drawn", lambda drawing: None)


@pytest.mark.parametrize("by_key", [False, True])
@given(typed=st.lists(st.sampled_from([*"jjkgGu", "space", "space"]), max_size=12))
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_on_a_slow_page_space_marks_where_the_keys_before_it_led_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, typed: list[str], *, by_key: bool
) -> None:
    workspace = FakeWorkspace(tmp_path_factory.mktemp("campaigns"))
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("G")
        shown = page.query_one(KeyedTable).shown_keys
        with pytest.MonkeyPatch.context() as patch:
            never_seen(page, patch)
            if by_key:
                typed = ["a", *typed]
            else:
                page._select("r02")
            await type_ahead(app, pilot, *typed)
        assert page._led.since == inf
        at, led, expected = shown.index("r00" if by_key else "r02"), False, set[str]()
        for key in typed:
            to = {"j": at + 1, "k": at - 1, "g": 0, "G": len(shown) - 1}.get(key)
            if to is not None:
                at, led = min(max(to, 0), len(shown) - 1), True
            elif key == "u":
                expected = set()
            elif key == "space" and not led:
                break
            elif key == "space":
                expected ^= {shown[at]}
        assert set(page._marked) == expected


@pytest.mark.parametrize(("key", "marks"), [("j", None), ("g", "r00")])
async def test_a_key_typed_before_the_cursor_went_by_itself_leads_only_to_an_end(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, key: str, marks: str | None
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        never_seen(page, monkeypatch)
        typed = [key_event(key), key_event("space")]
        page._select("r02")
        page._led_at = Message().time
        for event in typed:
            app.post_message(event)
        await settled(app)
        assert [*page._marked] == ([marks] if marks else [])
        assert shows(app, NOT_MARKED) is (marks is None)


async def test_of_another_campaign_nothing_is_marked(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await mark(app, pilot, "r00", "r02")
        begin(app, workspace).path = Path("/c/another")
        tick(app)
        await until(pilot, lambda: not page._marked)
        assert "marked" not in screen_text(app)


@pytest.mark.parametrize("readonly", [True, False])
async def test_what_nobody_can_change_is_not_marked(
    workspace: FakeWorkspace, readonly: bool
) -> None:
    async with console(workspace, LARGE, readonly=readonly) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("space")
        await pilot.pause()
        assert bool(page._marked) is not readonly
        assert shows(app, "1 marked") is not readonly


@given(
    sought=st.sampled_from(["", "2n", "1n8g", "no run has this"]),
    before=st.sets(st.sampled_from(["r00", "r02", "r05", "r07"])),
)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_a_key_marks_all_that_the_filter_leaves_and_takes_these_marks_away_again(
    workspace: FakeWorkspace, sought: str, before: set[str]
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        page._marked.update(dict.fromkeys(before))
        if sought:
            await pilot.press("slash", *sought, "enter")
        matching = {row.key for row in page.main_panel().table._rows if row.matches([sought])}
        assert bool(matching) is (sought != "no run has this")
        await pilot.press("asterisk")
        assert {*page._marked} == (before - matching if matching <= before else before | matching)
        assert shows(app, "* Mark all: no row has the words of the filter") is (not matching)
        await pilot.press("asterisk")
        after = before | matching if matching <= before else before - matching
        assert {*page._marked} == after
