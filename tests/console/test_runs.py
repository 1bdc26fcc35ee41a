from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from backends.campaign.record import events as ev
from backends.campaign.record.journal import read_events
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.campaign.run.end_events import failed
from backends.campaign.run.end_reason import judge_end
from backends.hangs.diagnosis import Diagnosis, Finding, Sign, Suspect
from backends.hangs.verdict_words import verdict_line
from backends.hosts.telemetry_summary import GpuUse, Telemetry
from backends.remote.wrapper_messages import RunPhase, RunStatus
from backends.results.numbers import readable
from profiles.throughput.steady import Disturbance, Shape
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    hints_shown,
    screen_text,
    shows,
    tick,
    type_ahead,
    until,
    words,
)
from tests.console.fakes import FakeController, FakeWorkspace
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import HOSTS, assigned, succeeded
from tui.app import DlperfApp
from tui.key_bindings import PANELS
from tui.screens.dialogs import Choice, Prompt
from tui.screens.possible_changes import NONE_FAILED
from tui.screens.results_page import ResultsPage
from tui.screens.run_details import details_text, throttled_words
from tui.screens.run_text import (
    BAR,
    BEHIND_BAR,
    PROGRESS,
    RunRows,
    _progress,
    flagged_runs,
    in_trouble,
    named_series,
    run_columns,
    said_of,
    summary,
    troubled_runs,
)
from tui.screens.runs_page import GOES_ALONG, RunsPage, around
from tui.theme import BAD, MUTED, WARN
from tui.widgets.chart import Chart
from tui.widgets.chart_scale import AXIS_ABOVE_0
from tui.widgets.details import Details
from tui.widgets.filter_table import FilterLine
from tui.widgets.keybar import KeyBar, offered
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.log_panel import LogPanel


async def open_runs(app: DlperfApp, pilot: Pilot[str]) -> RunsPage:
    await pilot.press("3")
    await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
    assert isinstance(app.screen, RunsPage)
    return app.screen


async def pass_time(workspace: FakeWorkspace, app: DlperfApp, pilot: Pilot[str], s: float) -> None:
    workspace.clock.tick(s)
    tick(app)
    await pilot.pause()


async def test_runs_show_state_progress_rate_and_eta(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        row = next(r for r in screen_text(app).splitlines() if "1n8g b128 fp32 #1" in r)
        for part in ("▶ running", "node2", "50%", "2,930.8", "20s"):
            assert part in row
        assert "▶ 3 at work · 5 to come · 0 succeeded" in screen_text(app)


async def test_a_run_whose_program_has_ended_is_collecting(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        row = next(r for r in screen_text(app).splitlines() if "1n8g b128 fp32 #1" in r)
        assert "▶ running" in row
        [run] = [r for r in controller.snapshot().runs if r.label == "1n8g b128 fp32 #1"]
        controller._apply(ev.RunOver(t=workspace.clock(), run_id=run.run_id))
        tick(app)
        await pilot.pause()
        row = next(r for r in screen_text(app).splitlines() if "1n8g b128 fp32 #1" in r)
        assert "◌ collecting" in row
        assert "running" not in row
        assert row.count("collecting") == 1  # its column says so, and nothing twice
        assert run.throughput_now is not None
        assert readable(run.throughput_now) in row, "the last figure stays"
        page = app.screen
        assert isinstance(page, RunsPage)
        assert page.viewed
        shown = next(r for r in page.viewed.runs if r.run_id == run.run_id)
        told = details_text(shown, page.viewed.state).plain
        assert told.startswith("◌ collecting")
        assert "its program has ended" in told


async def test_the_cursor_stays_on_its_run_while_others_end(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 10)
        await pilot.press("j", "j")
        table = page.query_one(KeyedTable)
        assert table.current_key == "r02"
        await pass_time(workspace, app, pilot, 50)
        await pass_time(workspace, app, pilot, 50)
        assert table.current_key == "r02"


async def test_the_chart_has_one_curve_per_run_at_work_and_marks_the_warm_up(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        chart = words(page.query_one(Chart))
        for label in ("1 1n1g b128 fp32 #1", "2 1n8g b128 fp32 #1", "3 2n8g b128 fp32 #1"):
            assert label in chart
        assert "· warm-up" in chart
        assert 3 <= chart.count("┤") <= 6


async def test_before_the_first_reading_the_chart_says_what_it_waits_for(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 1)
        assert "no reading yet" in screen_text(app)


async def test_a_run_that_has_just_begun_has_no_curve_of_a_run_that_has_ended(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, ("4n8g",))
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pass_time(workspace, app, pilot, 11)
        assert page.selected is not None
        assert page.selected.run_id == "r01"
        chart = page.query_one(Chart)
        assert "no reading yet" in words(chart)
        assert page.selected.label in str(chart.border_title), "whose it will be"


async def test_the_chart_has_the_curve_of_the_run_under_the_cursor_or_names_whose_it_has(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        viewed, chart = controller.snapshot(), page.query_one(Chart)
        assert len(viewed.series) > 1
        for run in viewed.runs:
            page.panels._drawn = None
            page.panels.show(viewed, run, RunRows().names(viewed))
            assert ("of all at work" in str(chart.border_title)) != run.state.ended


async def test_the_log_follows_and_can_be_held_still(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        log = page.query_one(LogPanel)
        assert "iter 180" in words(log)
        assert "following" in str(log.border_subtitle)
        await pilot.press("f")
        await pass_time(workspace, app, pilot, 10)
        assert "iter 280" not in words(log)
        assert "5 new lines · f follows" in str(log.border_subtitle)
        await pilot.press("f")
        assert "iter 280" in words(log)


async def test_at_24_lines_the_lower_panel_shows_chart_log_and_details_in_turn(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        shown = []
        for _ in range(3):
            panels = (page.panels.chart, page.panels.log_panel, page.panels.details)
            shown.append([panel.display for panel in panels])
            await pilot.press("v")
            await pilot.pause()
        assert shown == [[True, False, False], [False, True, False], [False, False, True]]


async def test_enter_reads_the_log_and_escape_comes_back(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, LogPanel))
        await until(pilot, partial(shows, app, "iter 180"))
        await pilot.press("escape")
        assert isinstance(app.focused, KeyedTable)


async def test_a_log_that_is_read_has_more_room(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        log = page.query_one(LogPanel)
        before = log.size.height
        await pilot.press("enter")
        await until(pilot, lambda: log.size.height >= 1.5 * before)
        await pilot.press("escape")
        await until(pilot, lambda: log.size.height == before)


async def test_enter_on_a_run_that_waits_says_that_it_has_no_log_yet(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("G")
        assert page.selected is not None
        assert page.selected.state.waits
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "⏎ Read log: it has no log"))


@given(st.floats(0, 1))
def test_progress_by_the_clock_is_told_as_an_estimate_in_the_columns_that_it_has(
    progress: float,
) -> None:
    text = _progress(RunState.RUNNING, progress, False, BAR).plain
    assert len(text) == BAR + BEHIND_BAR
    assert ("≈" in text) == (progress > 0)
    assert "100%" not in text, "only its end is certain"


async def test_L_switches_to_the_log_of_the_next_host(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("j", "j")
        log = page.query_one(LogPanel)
        await until(pilot, lambda: "node3" in str(log.border_title))
        await pilot.press("L")
        await until(pilot, lambda: "node4" in str(log.border_title))
        assert log.path is not None
        assert log.path.name == "r02.node4.log"
        await pilot.press("L")
        await until(pilot, lambda: "node3" in str(log.border_title))


async def test_a_failed_run_shows_reason_host_evidence_and_the_next_step(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("j")
        await pilot.pause()
        shown = screen_text(app)
        for part in ("node2: NCCL error", "exit status 1", "t tries it again"):
            assert part in shown
        told = app.screen.query_one("#details", Details).text
        assert "│ RuntimeError: NCCL communicator was aborted on rank 3" in told


async def test_what_hosts_said_of_a_run_is_below_the_list_where_its_details_are_not(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "stalled at step 340: no reading for 10m"}
    found = Diagnosis((Suspect("node3", 5, 3, None, (Finding(Sign.XID, xid=79),)),), ranks=8)
    workspace.diagnoses = {"1n8g": found}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 60)
        await pilot.press("g", "j", "v")
        await until(pilot, lambda: not page.panels.told_in_sight)
        await until(pilot, partial(shows, app, f"◆ {verdict_line(found, past=True)}"))


async def test_the_chart_of_a_run_that_stalled_goes_on_to_its_end(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 1)
        for _ in range(2):
            await pass_time(workspace, app, pilot, 10)
        assert page.viewed is not None
        run = page.viewed.runs[0]
        last = max(x for x, _ in page.query_one(Chart)._plot.lines[0].points)
        stalled_at = workspace.clock() + 600
        controller._apply(ev.RunFailed(t=stalled_at, run_id=run.run_id, reason="stalled"))
        tick(app)
        await pilot.press("home", "v")  # its details are there by themselves
        assert last < 60
        await until(pilot, lambda: page.query_one(Chart).axis[1][1] >= 600)


async def test_a_failed_run_says_what_helps_most_often(workspace: FakeWorkspace) -> None:
    workspace.fails = {"1n8g": "out of GPU memory"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("j")
        await pilot.pause()
        assert "→ take a smaller batch" in screen_text(app)


async def test_a_paused_run_says_who_and_since_when_and_the_same_key_lets_it_start(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("end")
        await pilot.pause()
        await pilot.press("p")
        await until(pilot, lambda: controller.state.runs["r07"].paused)
        tick(app)
        await pilot.pause()
        assert "‖ paused" in screen_text(app)
        assert "paused by alice since " in screen_text(app)
        assert "‖ 1 paused" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: not controller.state.runs["r07"].paused)
        await pilot.press("P")
        await until(pilot, lambda: sum(r.paused for r in controller.state.runs.values()) == 5)
        await pass_time(workspace, app, pilot, 60)
        assert "nothing starts before they go on" in screen_text(app)
        await pilot.press("P")
        await until(pilot, lambda: not any(r.paused for r in controller.state.runs.values()))


@given(
    st.lists(
        st.sampled_from(["planned", "at work", "succeeded", "failed", "cancelled", "skipped"]),
        min_size=1,
        max_size=9,
    )
)
def test_what_the_frame_counts_is_each_run_once(ends: list[str]) -> None:
    told = []
    for number, end in enumerate(ends, 1):
        run_id = f"r-{number:04}-a1"
        told.append(planned(run_id))
        if end not in ("planned", "skipped"):
            told.append(assigned(run_id))
        if end == "succeeded":
            told.append(succeeded(run_id))
        if end == "failed":
            told.append(ev.RunFailed(t=3.0, run_id=run_id, reason="x"))
        if end in ("cancelled", "skipped"):
            told.append(ev.RunCancelled(t=3.0, run_id=run_id))
    viewed = take(fold(told), Path("c"), now=5.0)
    for end, row in zip(ends, RunRows()(viewed), strict=True):
        assert (end in row.cells[1].plain) is (end != "at work")
    for end in ("failed", "cancelled", "skipped"):
        assert (f"{ends.count(end)} {end}" in viewed.summary) is (end in ends)
    said = summary(viewed).plain
    counted = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z ]+[a-z])", said)}
    expected = Counter("to come" if end == "planned" else end for end in ends)
    assert {word: number for word, number in counted.items() if number} == dict(expected)
    lost = any(expected[word] for word in ("failed", "cancelled", "skipped"))
    of_all = f"{expected['succeeded']}/{len(ends)} {'succeeded' if lost else 'runs'}"
    assert viewed.summary.startswith(of_all)  # as the header counts


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_the_frame_tells_profiled_runs_from_those_that_count(profiled: list[bool]) -> None:
    told = []
    for number, one in enumerate(profiled, 1):
        run_id = f"r-{number:04}-a1"
        told += [replace(planned(run_id), profiled=one), assigned(run_id), succeeded(run_id)]
    said = summary(take(fold(told), Path("c"), now=5.0)).plain
    uncounted = f", {sum(profiled)} of them profiled" if any(profiled) else ""
    assert f"{len(profiled)} succeeded{uncounted}" in said
    assert ("profiled" in said) is any(profiled)


async def test_cancel_asks_and_only_then_cancels(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "End 1n1g b128 fp32 #1 on node1?" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        assert controller.cancelled == []
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("y")
        await until(pilot, lambda: controller.cancelled == ["r00"])
        await until(pilot, lambda: controller.snapshot().runs[0].state is RunState.CANCELLED)
        await until(pilot, partial(shows, app, "cancelled"))
        await until(pilot, lambda: not shows(app, "is being ended"))


@pytest.mark.parametrize(
    ("opener", "said"),
    [
        ("c", "1n1g b128 fp32 #1 was not cancelled"),
        ("C", "no run was cancelled"),
        ("Gc", "4n8g b128 fp32 #2 was not skipped"),
    ],
)
async def test_after_a_no_it_is_said_what_was_not_done(
    workspace: FakeWorkspace, opener: str, said: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press(*opener)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is page)
        await until(pilot, partial(shows, app, said))
        assert controller.cancelled == []


@pytest.mark.parametrize("left", [1, 3])
async def test_to_cancel_all_where_none_is_at_work_speaks_of_no_run_that_goes_on(
    workspace: FakeWorkspace, left: int
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=4)
        for run_id in [*controller.state.runs][4 - left :]:
            controller.pause(run_id)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 6000)
        assert controller.snapshot().paused == left
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        question = app.screen
        assert isinstance(question, Choice)
        asked = "Never start the one run to come?" if left == 1 else "Start none of the 3 to come?"
        assert question.text.plain.startswith(f"{asked} None is at work.")
        told = " ".join(one.label for one in question._answers)
        assert ("leave it out" if left == 1 else "leave them out") in told
        assert "go on" not in told
        await pilot.press("n")
        await until(pilot, lambda: app.screen is page)
        await until(pilot, partial(shows, app, "no run was skipped"))


async def test_cancel_all_asks(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "End 3 runs at work and start none of the 5 to come?" in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: len(controller.cancelled) == 8)


async def test_retry_is_offered_for_failed_runs_only(workspace: FakeWorkspace) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("t")
        assert controller.retried == []
        await pilot.press("j", "t")
        await until(pilot, lambda: controller.retried == ["r01"])
        table = page.query_one(KeyedTable)
        assert "r01b" in table.shown_keys
        await until(pilot, lambda: table.current_key == "r01b")
        await pilot.press("t")
        assert controller.retried == ["r01"]
        await pilot.press("k")  # and from there it goes where it is moved
        await pass_time(workspace, app, pilot, 5)
        assert table.current_key != "r01b"


@pytest.mark.parametrize("words", ["", "1n8g", "no such run"])
async def test_every_failed_run_of_the_list_is_tried_again_once(
    workspace: FakeWorkspace, words: str
) -> None:
    workspace.fails = {"1n8g": "NCCL error", "2n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g", "2n8g"), repeats=2)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 600)
        failed = {one.run_id for one in controller.snapshot().runs if one.state is RunState.FAILED}
        assert len(failed) == 4
        if words:
            await pilot.press("/", *(key.replace(" ", "space") for key in words), "enter")
            await pass_time(workspace, app, pilot, 0)
        wanted = failed & set(page.query_one(KeyedTable).shown_keys)
        assert page.labels_now["retry_all"] == ("Retry shown" if words else "Retry failed")
        controller.fails = {}
        await pilot.press("R")
        await pass_time(workspace, app, pilot, 0)
        if wanted:  # several: it asks, as t does of those that are marked
            assert shows(app, f"Try {len(wanted)} failed runs again?")
            assert not controller.retried
            await pilot.press("y")
            await pass_time(workspace, app, pilot, 0)
        assert sorted(controller.retried) == sorted(wanted)
        if wanted:
            assert shows(app, f"{len(wanted)} runs tried again")
        await pilot.press("R")
        await pass_time(workspace, app, pilot, 0)
        assert len(controller.retried) == len(wanted), "what was tried again is not once more"
        assert shows(app, NONE_FAILED)


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("simulated", [False, True])
async def test_what_help_says_asks_first_does_so_of_a_campaign_that_has_ended_here_or_before(
    workspace: FakeWorkspace, past: bool, simulated: bool
) -> None:
    """What the header calls a past campaign is what help means by one."""
    workspace.fails, workspace.simulated = {"1n1g": "NCCL error"}, simulated
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, repeats=1)
        workspace.clock.tick(9000)
        if past:
            app.session.controller = None
            await app.session.open(controller.path)
        page = await open_runs(app, pilot)
        tick(app)
        await pilot.pause()
        assert ("past campaign" in screen_text(app)) is past
        (_, said) = PANELS["runs"].about_actions[0]
        assert "c, C, + and R of several ask, as do t and R of a past campaign" in said
        assert ("repeat" in page.urgent_now) is page.check_action("repeat", ())
        for key, action in (("t", "retry"), ("plus", "repeat")):
            able = bool(page.check_action(action, ()))
            asks = able and (action == "repeat" or past)
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, Choice) is asks, key
            if asks:
                await pilot.press("n")
                await until(pilot, lambda: app.screen is page)
        assert bool(controller.retried) is not past
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage) and app.screen.selected)
        assert app.screen._retriable is able, "what it says of keys there is so"


async def test_one_more_repeat_is_offered_at_80_columns_once_every_run_has_ended(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        assert "+ More" not in hints_shown(app)
        await pass_time(workspace, app, pilot, 9000)
        await until(pilot, lambda: "+ More" in hints_shown(app))


async def test_the_figure_of_a_young_run_has_its_point_in_the_chart_at_any_moment(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        chart = app.screen.query_one(Chart)
        seen = 0
        for _ in range(60):
            await pass_time(workspace, app, pilot, 0.3)
            rates = {r.run_id: r.throughput_now for r in controller.snapshot().runs if r.readings}
            lasts = {line.key: line.points[-1][1] for line in chart._plot.lines if line.key}
            assert lasts == rates
            seen = max(seen, len(lasts))
        assert seen > 1


@pytest.mark.parametrize("simulated", [False, True])
async def test_nothing_of_a_campaign_that_was_left_is_said_to_be_at_work(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, simulated: bool
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        workspace.simulated = simulated
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 8)
        assert "▶ 3 at work" in screen_text(app)
        left = take(controller.state, controller.path, now=workspace.clock(), read_only=True)
        monkeypatch.setattr(workspace, "load", lambda _path, **_: left)
        app.session.controller = None
        await app.session.open(controller.path)
        tick(app)
        await until(pilot, partial(shows, app, "◌ 3 were at work"))
        await pilot.press("down")
        await pilot.pause()
        assert ("▶ running" in screen_text(app)) is not simulated, "on real hosts it may still be"
        assert ("◌ left" in screen_text(app)) is simulated
        assert "of all that were at work" in screen_text(app)
        assert not re.search("Follow|To work", " ".join(hints_shown(app)))
        for key in ("f", "a"):
            await pilot.press(key)
            await until(pilot, partial(shows, app, "O, then r goes on with it"))


async def test_a_past_campaign_is_read_only(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        app.session.controller = None
        await app.session.open(controller.path)
        await open_runs(app, pilot)
        tick(app)
        await pilot.pause()
        assert "read-only" not in screen_text(app)  # which a console is
        assert "nobody at work on it" in screen_text(app)
        for key in ("c", "C", "t"):
            await pilot.press(key)
            assert not isinstance(app.screen, Choice)
            assert "O, then r goes on with it" in screen_text(app)
        workspace.clock.tick(9000)
        await app.session.open(controller.path)
        tick(app)
        await pilot.pause()
        assert screen_text(app).count("past campaign") == 2


async def test_zoom_shows_the_focused_panel_alone(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("enter", "z")
        await pilot.pause()
        assert page.query_one(LogPanel).size.height > 16
        await pilot.press("z")
        await pilot.pause()
        assert page.query_one(KeyedTable).display
        assert page.query_one("#runs-panel").display


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("", "chart"),
        ("v", "details"),
        ("s", "schedule"),
        ("G", "chart"),
        ("x", "details"),
    ],
)
async def test_zoom_from_the_list_shows_what_is_read_below_it_and_gives_it_the_keys(
    workspace: FakeWorkspace, size: tuple[int, int], keys: str, shown: str
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        while keys == "v" and not page.panels.details.display:
            await pilot.press("v")
        await pilot.press(*(keys if keys != "v" else ""), "z")
        table = page.query_one(KeyedTable)
        for name in ("runs-panel", "chart", "details", "schedule", "log"):
            assert page.query_one(f"#{name}").is_on_screen is (name == shown), name
        assert app.focused is (None if shown == "chart" else page.query_one(f"#{shown}"))
        await pilot.press("z")
        assert table.has_focus
        assert page.query_one("#runs-panel").is_on_screen


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_v_leads_from_what_is_zoomed_to_the_next_zoomed_and_what_leaves_it_to_the_list(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 45)
        table = page.query_one(KeyedTable)
        for first in ((), ("s",), ("enter",), ("s", "tab")):
            await pilot.press(*first)
            await pilot.press(*["z"] * (not page.panels.alone))
            seen = [page.panels.alone]
            for _ in range(4):
                await pilot.press("v")
                (shown,) = (p.id for p in page.query(".panel") if p.is_on_screen)
                assert page.panels.alone == shown
                assert app.focused is (None if shown == "chart" else page.query_one(f"#{shown}"))
                seen.append(shown)
            assert {"chart", "log", "details"} <= set(seen), first
            await pilot.press("z")
            assert table.has_focus, (first, seen)
            await pilot.press("escape")
        for keys in ("szs", "szW", "vzs", "szm"):
            await pilot.press(*keys)
            left = "W" not in keys
            assert (page.panels.alone == "") is (left and "m" not in keys), keys
            if page.panels.alone:
                await pilot.press("z")
            assert table.has_focus, keys
            if page.panels.schedule.display:
                await pilot.press("s")


@pytest.mark.parametrize("zoomed", [False, True])
async def test_two_keys_of_the_schedule_are_not_called_the_same(
    workspace: FakeWorkspace, zoomed: bool
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 45)
        for keys in (("s",), ("enter",)):
            await pilot.press(*keys, *"z" * zoomed)
            labels = [key.label for key in offered(page)]
            assert labels.count("Back") <= 1, keys
            await pilot.press(*"z" * zoomed)


async def test_y_copies_commands_and_the_path_of_the_log(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("y")
        assert app.clipboard.startswith("python3 of_cnn_train_val.py")
        assert app.clipboard.endswith("logs/r00.log")


async def test_the_cursor_goes_with_the_runs_at_work_until_it_is_moved_by_hand(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pilot.press("0")  # which does nothing there
        await pass_time(workspace, app, pilot, 50)
        await until(pilot, lambda: table.current_key == "r03")
        await pilot.press("k")
        await pass_time(workspace, app, pilot, 50)
        assert table.current_key == "r02"
        await pilot.press("a")
        await pass_time(workspace, app, pilot, 5)
        await until(pilot, lambda: page.selected is not None and page.selected.state.active)


async def test_the_cursor_goes_on_also_where_it_was_moved_while_nobody_had_heard_of_it(
    workspace: FakeWorkspace,
) -> None:
    """What the table tells comes late: by then the cursor may have been put elsewhere."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=9)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        for s in (45, 45, 45):  # no message is handled in between
            workspace.clock.tick(s)
            tick(app)
        await pilot.pause()
        await pass_time(workspace, app, pilot, 45)
        active = [r.run_id for r in page.viewed.runs if r.state.active] if page.viewed else []
        assert table.current_key in active


MOVES = ("j", "k", "g", "G", "x", "X", "pagedown")
LOOKS = ("v", "enter", "tab", "z", "W", "m", "s", "L", "f", "y", "t", "c,n", "/,#,#", "a")


@given(st.lists(st.sampled_from([*MOVES, *LOOKS, "escape", *3 * ["time"]]), max_size=10))
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_after_a_key_that_concerns_a_run_the_cursor_stays_there_until_it_is_handed_back(
    tmp_path_factory: pytest.TempPathFactory, keys: list[str]
) -> None:
    workspace = FakeWorkspace(tmp_path_factory.mktemp("campaigns"))
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pass_time(workspace, app, pilot, 30)
        held = False
        for key in keys:
            before = table.current_key
            if key == "time":
                await pass_time(workspace, app, pilot, 13)
                assert not held or table.current_key == before
                continue
            if key == "/,#,#" and isinstance(app.focused, LogPanel):
                continue  # which has a search of its own
            await pilot.press(*key.split(","))
            if key == "/,#,#":
                await until(pilot, lambda: table.current_key is None)
                await pass_time(workspace, app, pilot, 13)
                await pilot.press("escape")
                tick(app)
                await pilot.pause()
            if key == "a":
                held = False
            else:
                held = held or key != "escape"
                if key not in MOVES:
                    goes_on = f"{before}b" if key == "t" else ""  # the attempt that was asked for
                    assert table.current_key in (before, goes_on), key


async def test_a_run_that_was_read_is_still_under_the_cursor_when_the_list_has_the_keys_again(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("x", "enter", "escape")
        assert (table.current_key, table.has_focus) == ("r01", True)
        await pilot.press("escape", "escape")
        await pass_time(workspace, app, pilot, 5)
        assert table.current_key == "r01", "Esc once too often loses no row"
        await until(pilot, lambda: "to_work" in {key.action for key in offered(page)})
        await pilot.press("a")
        assert page.selected is not None
        assert page.selected.state.active


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_escape_takes_a_search_of_the_log_away_and_is_in_the_foot_until_the_list_has_the_keys(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        log = page.panels.log_panel
        assert "Esc Back" not in screen_text(app)
        for zoomed in (True,) if size == LARGE else (False, True):
            await pilot.press("enter")
            await pilot.press(*["z"] * (bool(page.panels.alone) is not zoomed))
            await until(pilot, partial(shows, app, "Esc Back"))
            await pilot.press("/", *"loss", "enter")
            await until(pilot, lambda: log.searched and log.has_focus)
            await until(pilot, partial(shows, app, "Esc Clear"))
            await pilot.press("escape")
            await until(pilot, partial(shows, app, "Esc Back"))
            assert log.has_focus
            assert not log.searched
            assert "loss ·" not in screen_text(app)
            assert bool(page.panels.alone) == zoomed
            await pilot.press("escape")
            await until(pilot, lambda: page.query_one(KeyedTable).has_focus)
            assert not page.panels.alone


async def test_escape_is_called_by_what_it_does_where_a_list_is_filtered(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 600)
        for page, words in (("3", "1n8g"), ("4", "1n8g"), ("1", "node1")):
            await pilot.press(page, "/", *words, "enter")
            await until(pilot, partial(shows, app, "Esc All rows"))
            await pilot.press("escape")
            await until(pilot, lambda: "All rows" not in screen_text(app))


async def test_a_page_that_is_not_composed_yet_has_labels(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, _):
        begin(app, workspace)
        tick(app)
        page = RunsPage(app.session)
        assert page.labels_now["follow"] in ("Follow", "Hold")


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_f_is_about_the_log_whatever_has_the_keys(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table, log = page.query_one(KeyedTable), page.query_one(LogPanel)
        seen = set()
        for key in ("enter", *"ff", "up", "f", "escape", *"ff", "escape", "f", "end", *"ffvf"):
            await pass_time(workspace, app, pilot, 10)
            does, shown, before = page.labels_now["follow"], log.display, log.following
            able = "follow" in {one.action for one in offered(page)}
            assert shown or not able, "only where it is in sight"
            at = table.current_key
            await pilot.press(key)
            await pilot.pause()
            if key != "f" or not able:
                continue
            seen.add(does)
            assert table.current_key == at
            assert log.display
            assert log.following is (does != "Hold")
            assert before is (does == "Hold")
        assert "Hold" in seen
        assert seen <= {"Follow", "Hold", "To the end"}


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)], ids=str)
async def test_enter_gives_the_log_lines_to_read_and_escape_gives_them_back(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 45)
        before = {panel.id for panel in page.query(".panel") if panel.is_on_screen}
        await pilot.press("enter")
        await pilot.pause()
        log = page.query_one(LogPanel)
        assert log.has_focus
        assert log.size.height >= 9
        await pilot.press("escape")
        await pilot.pause()
        assert page.query_one(KeyedTable).has_focus
        after = {panel.id for panel in page.query(".panel") if panel.is_on_screen}
        assert after == (before if size != SMALL else before - {"chart"} | {"log"})


async def test_f_leads_to_the_end_of_the_log_of_a_run_that_is_over_and_is_not_offered_there(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 600)
        over = next(run for run in controller.snapshot().runs if run.state.ended and run.hosts)
        page.query_one(KeyedTable).select(over.run_id)
        await pass_time(workspace, app, pilot, 1)
        log = page.query_one(LogPanel)
        assert "follow" not in {one.action for one in offered(page)}
        await pilot.press("enter", "home")
        await until(pilot, lambda: tick(app) or "held · f to the end" in str(log.border_subtitle))
        assert page.labels_now["follow"] == "To the end"
        await pilot.press("f")
        await until(pilot, lambda: tick(app) or "ended · " in str(log.border_subtitle))
        assert "follow" not in {one.action for one in offered(page)}


async def test_a_log_that_was_held_and_is_back_is_followed_by_f(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        log = page.query_one(LogPanel)
        await pilot.press("enter", "f", "escape", "v")
        tick(app)
        await pilot.pause()
        assert not log.display
        assert not log.following
        await pilot.press("enter", "f")
        await pilot.pause()
        assert log.display
        assert log.following


async def test_a_hands_the_cursor_back_where_its_run_is_at_work_too(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pass_time(workspace, app, pilot, 10)
        await pilot.press("v", "a")
        await pass_time(workspace, app, pilot, 5)
        assert GOES_ALONG in screen_text(app)
        assert "to_work" not in {key.action for key in offered(page)}
        before = table.current_key
        await pass_time(workspace, app, pilot, 60)
        assert table.current_key != before


@pytest.mark.parametrize("how", ["palette", "mouse"])
async def test_what_is_done_from_the_palette_is_done_to_the_run_that_was_in_sight(
    workspace: FakeWorkspace, how: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        if how == "palette":
            await pilot.press("ctrl+p")
        else:
            await pilot.click(LogPanel)
        await pass_time(workspace, app, pilot, 50)
        if how == "palette":
            await pilot.press("escape")
        tick(app)
        assert page.query_one(KeyedTable).current_key == "r00"


async def test_the_run_that_is_read_stays_when_it_matches_a_filter_no_more(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("/", *"running", "enter")
        read = table.current_key
        while page.selected is not None and not page.selected.state.ended:
            await pass_time(workspace, app, pilot, 50)
        tick(app)
        assert table.current_key == read
        assert "1 no longer matches" in screen_text(app)
        await pilot.press("escape")
        assert "no longer matches" not in screen_text(app)


async def test_the_line_of_a_filter_is_there_while_it_has_the_keys_then_the_title_has_its_words(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        line, table = page.query_one(FilterLine), page.query_one(KeyedTable)
        for words, found in (("1n", True), ("zz", False)):
            await pilot.press("/", *words)
            await pilot.pause()
            assert line.display
            assert line.has_focus
            await pilot.press("enter")
            await until(pilot, partial(shows, app, f"/{words} · "))
            assert not line.display
            assert bool(table.found) is found
            await pilot.press("/")
            assert line.has_focus
            await pilot.press("escape")
            assert line.value == ""


@pytest.mark.parametrize("kept", [True, False])
async def test_the_list_has_its_keys_again_when_a_filter_matches_again(
    workspace: FakeWorkspace, kept: bool
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        table, line = page.query_one(KeyedTable), page.query_one(FilterLine)
        words = "running" if kept else "done"
        if kept:
            await pass_time(workspace, app, pilot, 20)
        await pilot.press("/", *words, "enter")
        assert not line.has_focus
        while kept and not table.unmatched:
            await pass_time(workspace, app, pilot, 50)
        await pilot.press("t", "m")
        assert line.value == words
        while not kept and not table.found:
            await pass_time(workspace, app, pilot, 50)
        await pilot.press("escape" if kept else "j")
        await until(pilot, lambda: table.has_focus)
        assert line.value == ("" if kept else words)


async def test_words_of_the_title_which_all_runs_share_match_every_one(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)
        case = controller.snapshot().runs[0].case
        for name in case.parameters:
            table.filter_rows(case.value_label(name))
            assert len(table.shown_keys) == table.row_total == 8


async def test_a_host_is_filtered_for_and_how_many_of_all_are_left_is_said(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("/", *"node3")
        await pass_time(workspace, app, pilot, 1)
        assert page.query_one(KeyedTable).shown_keys == ("r02",)
        assert "/node3 · 1 of 8" in screen_text(app)
        assert "of all: " in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not shows(app, "of all: "))


async def test_r_shows_what_one_rank_printed_and_refuses_a_rank_that_there_is_not(
    workspace: FakeWorkspace,
) -> None:
    workspace.log_line = "[1,0]<stdout>:hello of 0\n[1,5]<stdout>:hello of 5\n"
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "Rank"))
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert "one of 0, 5" in screen_text(app)
        await pilot.press("7", "enter")
        await until(pilot, partial(shows, app, "the log has ranks 0, 5"))
        await pilot.press("backspace", "5", "enter")
        await until(pilot, lambda: not isinstance(app.screen, Prompt))
        log = page.query_one(LogPanel)
        assert words(log).split("\n")[0].strip() == "[1,5]<stdout>:hello of 5"
        assert "hello of 0" not in words(log)
        await pilot.press("r", "enter")
        await until(pilot, lambda: "iter 180" in words(log))


async def test_details_of_a_campaign_that_is_only_looked_at_offer_no_change(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n1g": "NCCL error"}
    async with console(workspace) as (app, _):
        controller = begin(app, workspace)
        workspace.clock.tick(600)
    snapshot = controller.snapshot()
    failed = next(run for run in snapshot.runs if run.reason)
    assert "t tries it again" in details_text(failed, snapshot.state).plain
    looked_at = details_text(failed, snapshot.state, read_only=True).plain
    assert "t tries" not in looked_at
    assert "Enter reads the log" in looked_at


async def look_at_past(
    workspace: FakeWorkspace, app: DlperfApp, pilot: Pilot[str]
) -> tuple[FakeController, RunsPage, CampaignSnapshot]:
    """A campaign that is over and at work nowhere, on Runs."""
    controller = begin(app, workspace)
    app.session.controller = None
    workspace.clock.tick(6000)
    await app.session.open(controller.path)
    page = await open_runs(app, pilot)
    viewed = page.viewed
    assert viewed is not None
    assert viewed.finished
    return controller, page, viewed


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("readonly", [True, False])
async def test_details_of_a_failed_run_of_a_past_campaign_say_how_it_is_done_again(
    workspace: FakeWorkspace, fails: bool, readonly: bool
) -> None:
    workspace.fails = {"1n1g": "NCCL error"} if fails else {}
    async with console(workspace, LARGE, readonly=readonly) as (app, pilot):
        _, page, viewed = await look_at_past(workspace, app, pilot)
        page.panels.view = "details"
        page.query_one(KeyedTable).select(next(r.run_id for r in viewed.runs if "1n1g" in r.label))
        await until(pilot, lambda: page.panels.details.display)
        tick(app)
        said = page.panels.details.text
        assert (f"'dlperf-tui retry {viewed.name}' does it again" in said) is fails


@pytest.mark.parametrize("simulated_here", [False, True])
@pytest.mark.parametrize("answer", ["y", "n", "escape"])
@pytest.mark.parametrize("key", ["t", "plus"])
async def test_a_past_campaign_is_gone_on_with_by_another_attempt_or_repeat_after_a_question(
    workspace: FakeWorkspace, key: str, answer: str, simulated_here: bool
) -> None:
    workspace.fails = {"1n1g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        controller, page, viewed = await look_at_past(workspace, app, pilot)
        failed = next(r.run_id for r in viewed.runs if "1n1g" in r.label)
        page.query_one(KeyedTable).select(failed)
        tick(app)
        await pilot.pause()
        workspace.simulated = simulated_here  # a campaign that was measured, looked at in a demo
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await until(pilot, partial(shows, app, "goes on here"))
        await pilot.press(answer)
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        if answer != "y":
            assert app.session.controller is None
        elif simulated_here:
            await until(pilot, partial(shows, app, "the hosts here are SIMULATED"))
            assert app.session.controller is None
        else:
            await until(pilot, lambda: app.session.controller is controller)
            assert app.session.opened is None
        done = answer == "y" and not simulated_here
        assert controller.retried == ([failed] if done and key == "t" else [])
        assert controller.repeated == int(done and key == "plus")


async def test_what_keeps_a_queued_run_is_told_beside_its_state_and_once(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, _):
        run_id = next(iter(begin(app, workspace).state.runs))
        viewed = app.session.live
        assert viewed is not None
        run = replace(viewed.runs[0], state=RunState.QUEUED, state_text="queued: Resources")
        row = RunRows()(replace(viewed, runs=(run,)))[0]
        assert row.key == run_id
        assert [cell.plain for cell in row.cells[1:3]] == ["· queued", run.label]
        assert row.cells[PROGRESS].plain == "Resources"


async def test_of_several_units_each_figure_has_its_own(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        viewed = controller.snapshot()
        rate = next(n for n, column in enumerate(run_columns(viewed)) if column.key == "rate")
        assert run_columns(viewed)[rate].label == "images/s"
        rows = RunRows()
        assert {row.cells[rate].plain.rpartition(" ")[2] for row in rows(viewed)} != {"images/s"}
        first, *rest = viewed.runs
        mixed = replace(viewed, runs=(replace(first, unit="tokens/s"), *rest))
        assert run_columns(mixed)[rate].label == "throughput"
        for run, row in zip(mixed.runs, rows(mixed), strict=True):
            value, _, unit = row.cells[rate].plain.partition(" ")
            assert unit == ("" if value == "–" else run.unit)
        assert run_columns(None)[rate].label == "throughput"


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_what_was_cancelled_or_skipped_and_planned_again_says_so(begun: bool, again: bool) -> None:
    first = planned("r-0001-a1")
    told: list[ev.Event] = [first, *[assigned("r-0001-a1")] * begun]
    told.append(ev.RunCancelled(t=3.0, run_id="r-0001-a1"))
    if again:
        told.append(replace(first, run_id="r-0001-a2", attempt=2, retry_of="r-0001-a1"))
    row = RunRows()(take(fold(told), Path("c"), now=5.0))[0]
    assert ("planned again" in row.cells[PROGRESS].plain) is again


async def test_a_run_that_waits_is_skipped_by_the_key_that_cancels_and_may_be_done_again(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        assert "c Cancel" in screen_text(app)
        await pilot.press("G")
        await until(pilot, partial(shows, app, "c Skip"))
        await pilot.press("c")
        await until(pilot, partial(shows, app, "Skip 4n8g b128 fp32 #2?"))
        await pilot.press("y")
        await until(pilot, lambda: controller.cancelled == ["r07"])
        tick(app)
        await until(pilot, partial(shows, app, "– skipped"))
        assert "– cancelled" not in screen_text(app)
        await until(pilot, partial(shows, app, "t Retry"))


async def test_a_run_that_begins_while_it_is_asked_whether_to_skip_it_is_not_ended(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n8g", "4n8g"))
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("G")
        await until(pilot, partial(shows, app, "c Skip"))
        await pilot.press("c")
        await until(pilot, partial(shows, app, "Skip 4n8g"))
        run_id = list(controller.state.runs)[-1]
        while controller.state.runs[run_id].state.waits:
            await pass_time(workspace, app, pilot, 4)
        await pilot.press("y")
        await until(pilot, partial(shows, app, "by now;"))
        assert controller.cancelled == []


async def test_a_question_whether_to_end_all_counts_what_there_is_to_end(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        seen = set()
        while not (now := controller.snapshot()).finished:
            left, works = now.total - now.done, now.active
            await until(pilot, partial(shows, app, f"Cancel · {left} run"))
            await until(pilot, partial(shows, app, f"End {works} run"))
            seen.add((left, works))
            await pass_time(workspace, app, pilot, 20)
        assert len(seen) > 2
        assert controller.cancelled == []


@pytest.mark.parametrize("opener", ["c", "C", "marked"])
@pytest.mark.parametrize("passed_s", [0, 1, 22, 60])
async def test_a_yes_that_its_question_was_not_drawn_with_ends_nothing_and_it_can_be_asked_again(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, opener: str, passed_s: float
) -> None:
    monkeypatch.setattr("tui.screens.dialogs.REFRESH_S", 3600.0)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("G")  # one that waits
        if opener == "marked":
            await pilot.press("space", "g", "space")
        keys = opener[0].replace("m", "c")

        def fates() -> dict[str, RunState]:
            runs = controller.snapshot().runs
            meant = runs if opener == "C" else runs[-1:] if opener == "c" else (runs[0], runs[-1])
            return {run.run_id: run.state for run in meant if not run.state.ended}

        def kinds() -> object:
            """What a yes is to: which runs, and how far those are; or all, of which some are at
            work or none."""
            left = fates()
            return any(s.active for s in left.values()) if opener == "C" and left else left

        await pilot.press(keys)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        asked, before = fates(), kinds()
        workspace.clock.tick(passed_s)
        same = kinds() == before
        asked = fates() if same else asked
        await pilot.press("y")
        await until(pilot, lambda: app.screen is page)
        if not same:
            await until(pilot, partial(shows, app, "nothing was changed"))
            assert controller.cancelled == []
            tick(app)
            await pilot.press(keys)
            await until(pilot, lambda: isinstance(app.screen, Choice))
            asked = fates()
            await pilot.press("y")
        await until(pilot, lambda: set(controller.cancelled) == set(asked))


@pytest.mark.parametrize("key", ["y", "enter"])
@pytest.mark.parametrize("opener", ["c", "C"])
async def test_a_question_whether_to_end_what_has_ended_goes_and_leaves_its_keys_nothing_to_do(
    workspace: FakeWorkspace, opener: str, key: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g"), repeats=1)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        title = "Cancel · 2 runs of 2026-11-21-resnet50" if opener == "C" else "Cancel run"
        await pilot.press(opener)
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert title in screen_text(app)
        workspace.clock.tick(300)
        await until(pilot, lambda: app.screen is page)
        await until(pilot, partial(shows, app, "; nothing was changed"))
        before = app.focused
        await pilot.press(key)
        await until(pilot, partial(shows, app, f"▌ {'⏎' if key == 'enter' else key}: "))
        assert (app.clipboard, app.focused) == ("", before)
        tick(app)
        await pilot.press(opener, "y")  # refused, so that there is no question
        assert app.clipboard == ""
        await pilot.press("y")
        assert app.clipboard
        assert controller.cancelled == []


async def test_enter_ends_nothing_that_cannot_be_taken_back(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 10)
        for opener in ("c", "C"):
            await pilot.press(opener)
            await until(pilot, lambda: isinstance(app.screen, Choice))
            await pilot.press("enter")
            assert isinstance(app.screen, RunsPage)
            assert not any(run.state.ended for run in controller.state.runs.values())
        await pilot.press("C", "k", "enter")
        assert all(run.state.ended for run in controller.state.runs.values())


async def test_what_shows_or_seeks_in_the_log_brings_it_into_sight(
    workspace: FakeWorkspace,
) -> None:
    for keys in (("z", "enter"), ("z", "L"), ("v", "z", "enter")):
        async with console(workspace, LARGE) as (app, pilot):
            begin(app, workspace)
            await open_runs(app, pilot)
            await pass_time(workspace, app, pilot, 45)
            await pilot.press("G", *"kkkk")  # on several hosts
            await pilot.press(*keys)
            tick(app)
            await pilot.pause()
            log = app.screen.query_one(LogPanel)
            assert log.is_on_screen, keys
            assert app.focused is log, keys
            await pilot.press("e")  # looks for what is wrong from what is in sight
            assert "looks like an error" in str(log.border_subtitle), keys


async def test_a_campaign_that_is_over_says_where_its_results_are(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("3")
        for _ in range(200):
            tick(app)
            finished = controller.snapshot().finished
            assert ("4 shows the results" in screen_text(app)) <= finished
            if finished:
                break
            workspace.clock.tick(30)
        await until(pilot, lambda: "4 shows the results" in screen_text(app))
        await pilot.press("4")
        await until(pilot, lambda: "Results ·" in screen_text(app))


@pytest.mark.parametrize("kept", ["", "node", "#2", "1n1g"])
async def test_x_goes_round_the_runs_in_trouble_that_the_list_shows_and_X_the_other_way(
    workspace: FakeWorkspace, kept: str
) -> None:
    workspace.fails = {"1n8g": "NCCL error", "2n8g": "out of GPU memory"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=2)
        page = await open_runs(app, pilot)
        for _ in range(9):
            await pass_time(workspace, app, pilot, 30)
        assert page.viewed is not None
        table = page.query_one(KeyedTable)
        table.filter_rows(kept)
        await pilot.press("home")
        await pass_time(workspace, app, pilot, 1)
        shown = table.shown_keys
        wanted = [r.run_id for r in page.viewed.runs if r.state is RunState.FAILED]
        wanted = [key for key in wanted if key in shown]
        assert bool(wanted) is (kept != "1n1g")
        assert ("x Next trouble" in screen_text(app)) is (wanted not in ([], [shown[0]]))
        for key in ("x", "X"):
            start = table.current_key
            seen = []
            for _ in wanted:
                await pilot.press(key)
                await pilot.pause()
                seen.append(table.current_key)
            at = shown.index(str(start))
            ring = [*shown[at + 1 :], *shown[: at + 1]]
            ring = ring if key == "x" else [*reversed(ring[:-1]), ring[-1]]
            assert seen == [one for one in ring if one in wanted]
        if not wanted:
            await pilot.press("x")
            refused = "no run in the list is in trouble"
            await until(pilot, partial(shows, app, refused))


@given(
    kinds=st.lists(st.sampled_from(["", "trouble", "flagged"]), min_size=1, max_size=9),
    at=st.integers(0, 8),
)
def test_x_and_X_go_round_all_others_in_trouble_and_then_the_flagged(
    kinds: list[str], at: int
) -> None:
    keys = [str(n) for n in range(len(kinds))]
    here = keys[at % len(keys)]
    troubled, flagged = (
        [key for key, kind in zip(keys, kinds, strict=True) if kind == which]
        for which in ("trouble", "flagged")
    )
    wanted = {*troubled, *flagged} - {here}
    for step in (0, 1):
        seen, now = [], here
        for _ in wanted:
            now = around(keys, now, (troubled, flagged))[step]
            seen.append(now)
        assert set(seen) - {here} == wanted
    if not wanted:
        assert around(keys, here, (troubled, flagged)) == ()
    elif here in keys and kinds[keys.index(here)] == "":
        assert around(keys, here, (troubled, flagged))[0] in (troubled or flagged)


FLAGS: dict[str, dict[str, object]] = {
    "throttled": {"gpus": {"throttled_s": {"hardware slowdown": 30.0}}},
    "": {"gpus": {"throttled_s": {"power cap": 30.0}}},
    "disturbed": {"gpus": {"other_processes": 1}},
    "GPUs idle": {"gpus": {"utilization_mean": 0.0}},
    "slow readings": {"steady": Disturbance(Shape.STALLS, -0.8, 0.1, 5)},
    "unsteady": {"steady": Disturbance(Shape.STEP, -0.2, 0.1, 5)},
}


@pytest.mark.parametrize("kind", FLAGS)
@pytest.mark.parametrize("columns", [60, 100, 160])
def test_a_run_that_succeeded_and_is_to_be_distrusted_says_so_in_its_row_and_its_details(
    kind: str, columns: int
) -> None:
    of = FLAGS[kind]
    one = cast(dict[str, Any], of.get("gpus", {}))
    gpus = tuple(GpuUse(host, n, 100.0, **one) for host in HOSTS for n in range(2))
    steady = (cast(Disturbance, of["steady"]),) if "steady" in of else ()
    end = succeeded("r-0001-a1", telemetry=Telemetry(gpus=gpus), steady=steady)
    state = fold([planned("r-0001-a1"), assigned("r-0001-a1"), end])
    shown = take(state, Path("c"), now=10.0)
    [run] = shown.runs
    assert run.flags == ((kind,) if kind else ())
    [row] = RunRows()(shown, columns)
    assert row.cells[1].plain == ("✓▲ succeeded" if kind else "✓ succeeded")
    told = row.cells[PROGRESS].plain
    assert "done" in told or kind in told
    if columns == 160:
        assert told.endswith(f"done, {kind}" if kind else "done")
    assert kind in row.find
    assert flagged_runs(shown) == ({"r-0001-a1"} if kind else set())
    assert not troubled_runs(shown)
    details = details_text(run, state).plain
    assert ("▲" in details) is bool(kind)
    words = throttled_words(state.runs[run.run_id], state)
    assert words == f"GPU0 of {HOSTS[0]} throttled 30.0%" * (kind == "throttled")


async def test_P_pauses_what_the_list_shows_and_says_so(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        table = page.query_one(KeyedTable)

        def paused() -> set[str]:
            return {run.run_id for run in controller.snapshot().runs if run.paused}

        waits = {run.run_id for run in controller.snapshot().runs if run.state.waits}
        for kept, called, wanted in (
            ("4n8g #2", "Let shown start", 1),
            ("4n8g #2", "Pause shown", 0),
            ("", "Let all start", len(waits)),
            ("no such run", "", len(waits)),
        ):
            await pilot.press("escape", "escape")
            if kept:
                await pilot.press("/", *(key.replace(" ", "space") for key in kept), "enter")
            await pass_time(workspace, app, pilot, 0)
            listed = set(table.shown_keys)
            await pilot.press("P")
            await pass_time(workspace, app, pilot, 0)
            if called:
                assert page.labels_now["pause_all"] == called
                assert paused() <= listed & waits
            else:
                await until(pilot, partial(shows, app, "no run in the list waits"))
            assert len(paused()) == wanted


@pytest.mark.parametrize("mended", [False, True])
async def test_x_goes_to_every_run_in_trouble_and_to_none_that_was_tried_again(
    workspace: FakeWorkspace, mended: bool
) -> None:
    workspace.fails = fails = {"1n8g": "NCCL error", "2n8g": "out of GPU memory"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=1)
        page = await open_runs(app, pilot)
        for _ in range(6):
            await pass_time(workspace, app, pilot, 30)
        table = page.query_one(KeyedTable)
        await pilot.press("home", "x")
        assert table.current_key == "r01"
        if mended:
            fails.clear()
        await pilot.press("t")
        await pass_time(workspace, app, pilot, 30)
        assert table.shown_keys[-1] == "r01b"
        assert page.viewed is not None
        red = {run.run_id for run in page.viewed.runs if run.state is RunState.FAILED}
        assert "r01" in red, "its row is still in the list"
        assert ("r01b" in red) is not mended
        for key in ("x", "X"):
            table.focus()
            await pilot.press("home", key)
            seen = {table.current_key}
            for _ in red:
                await pilot.press(key)
                seen.add(table.current_key)
            assert seen == red - {"r01"}
        table.filter_rows("1n8g")
        if mended:
            for key in ("r01", "r01b"):
                table.select(key)
                await pilot.press("x")
                assert table.current_key == key
                await until(pilot, partial(shows, app, "no run in the list is in trouble"))


@given(st.booleans(), st.sampled_from(["", "NCCL error"]))
def test_what_was_tried_again_says_so_and_is_not_red(again: bool, reason: str) -> None:
    first = planned("r-0001-a1")
    told: list[ev.Event] = [first, assigned("r-0001-a1")]
    told.append(ev.RunFailed(t=3.0, run_id="r-0001-a1", reason=reason))
    if again:
        told.append(replace(first, run_id="r-0001-a2", attempt=2, retry_of="r-0001-a1"))
    row = RunRows()(take(fold(told), Path("c"), now=5.0))[0]
    words, colours = row.cells[PROGRESS].plain, {str(row.cells[n].style) for n in (1, PROGRESS)}
    assert row.cells[1].plain == "✗ failed"
    assert words.startswith("tried again") is again
    assert reason in words
    assert (colours == {MUTED}) is again
    assert (BAD in colours) is not again


def test_a_run_whose_demo_was_left_has_not_failed_where_it_is_listed() -> None:
    ended = judge_end("sim2", RunStatus(RunPhase.ABSENT), "1h", simulated=True)
    assert ended is not None
    first = planned("r-0001-a1")
    state = fold([first, assigned("r-0001-a1")])
    state = fold([failed(state.runs["r-0001-a1"], ended, 9.0)], state)
    again = replace(first, run_id="r-0001-a2", attempt=2, retry_of="r-0001-a1")
    for more, said in (([], "its demo was left"), ([again], "its demo was left; tried again")):
        viewed = take(fold(more, state), Path("c"), now=9.0)
        cells = RunRows()(viewed)[0].cells
        assert [cells[1].plain, cells[PROGRESS].plain] == ["◌ left", said]
        assert (viewed.runs[0].state_text, said_of(viewed.runs[0])) == ("left", "was left")


@given(
    st.lists(st.sampled_from(["planned", "at work", "silent", "succeeded", "failed"]), max_size=9),
    st.integers(0, 9),
)
def test_the_frame_counts_every_row_and_beside_them_what_the_header_counts_too(
    ends: list[str], explained: int
) -> None:
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", explain=("p",))]
    for number, end in enumerate(ends, 1):
        run_id = f"r-{number:04}-a1"
        profile = "p" if number <= explained else "other"
        told.append(replace(planned(run_id), profile=profile, parameters={"batch_size": number}))
        if end != "planned":
            told += [assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
        if end == "succeeded":
            told.append(succeeded(run_id))
        if end == "failed":
            told.append(ev.RunFailed(t=3.0, run_id=run_id, reason="x"))
    viewed = take(fold(told), Path("c"), now=5.0)
    of = zip(viewed.runs, ends, strict=True)
    viewed = replace(
        viewed,
        runs=tuple(replace(r, silent_s=60.0) if end == "silent" else r for r, end in of),
    )
    counted, silent = counts_of(viewed)
    assert sum(counted.values()) == len(viewed.runs) + viewed.to_come == viewed.total
    assert counted["profiled after the others"] == viewed.to_come
    assert silent == ends.count("silent")


def counts_of(viewed: CampaignSnapshot) -> tuple[Counter[str], int]:
    """As the frame says them; ``silent`` is among what is at work."""
    said = re.sub(r", [0-9]+ of them profiled", "", summary(viewed).plain)
    counted = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z ]+[a-z])", said)}
    counted.pop("shows the results", None)
    silent = counted.pop("of them silent", 0)
    return Counter(counted), silent


@pytest.mark.parametrize("example", ["h200-x2-gpt-124m"])
def test_at_every_moment_of_a_recorded_campaign_the_frame_counts_its_rows(example: str) -> None:
    journal = Path("docs/examples") / example / "events.jsonl"
    state, later = CampaignState(), set[int]()
    for at, event in enumerate(read_events(journal), 1):
        state = fold([event], state)
        if not isinstance(event, ev.ReadingsSampled):
            viewed = take(state, Path("c"), now=event.t)
            counted, _ = counts_of(viewed)
            later.add(viewed.to_come)
            assert sum(counted.values()) == viewed.total, at
            assert viewed.total == len(viewed.runs) + viewed.to_come, at
    assert len(later) > 1, "some are planned later"


def test_a_run_is_in_trouble_where_its_words_are_red_or_amber() -> None:
    state = fold(
        [planned("r-0001-a1"), assigned("r-0001-a1"), ev.RunLaunched(t=2.0, run_id="r-0001-a1")]
    )
    shown = take(state, Path("c"), now=3.0)
    plain = replace(shown.runs[0], doing="", state_text="running")
    told = {
        "it runs": plain,
        "it does something": replace(plain, state_text="running, warming up", doing="warming up"),
        "it is late": replace(
            plain, state_text="running, no reading for 8s", doing="no reading for 8s"
        ),
        "it is fetched": replace(plain, state_text="collecting", collecting=True),
        "it was skipped": replace(plain, state=RunState.CANCELLED),
        "it waits": replace(plain, state=RunState.PLANNED, state_text="waiting for node3"),
        "silent": replace(plain, state_text="running, no reading for 3m", silent_s=180.0),
        "out of reach": replace(plain, state_text="node1: connection lost 12s ago, retrying"),
        "outlived": replace(plain, state_text="running longer than ≈2m", outlived=True),
        "failed": replace(plain, state=RunState.FAILED, reason="NCCL error"),
    }
    good = {case for case, run in told.items() if case.startswith("it ")}
    assert {case for case, run in told.items() if not in_trouble(run)} == good
    for case, run in told.items():
        row = RunRows()(replace(shown, runs=(run,)))[0]
        told_by = row.cells if case == "silent" else row.cells[2:]  # its state is amber itself
        colours = {str(span.style) for text in told_by for span in text.spans}
        colours |= {str(text.style) for text in told_by}
        assert bool(colours & {WARN, BAD}) is (case not in good), case


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_W_shows_the_window_alone_and_again_all_of_the_run(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace, ("1n8g",))
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 1)
        await pilot.press("W")
        await until(pilot, partial(shows, app, "W Window: no reading yet"))
        await pass_time(workspace, app, pilot, 20)
        await pass_time(workspace, app, pilot, 40)
        await pilot.press("home", "v", "W")  # from whatever stood there
        chart = page.query_one(Chart)
        await until(pilot, lambda: "in the window" in str(chart.border_title))
        assert chart.axis[1][0] > 0, "the time before it is not there"
        assert AXIS_ABOVE_0 in words(chart)
        assert ("W", "Whole run") in {(k.keys, k.label) for k in offered(page)}
        await pilot.press("W")
        await until(pilot, lambda: "over time" in str(chart.border_title))
        assert chart.axis[1][0] == 0
        assert AXIS_ABOVE_0 not in words(chart)


async def test_where_several_profiles_run_titles_and_curves_name_that_of_each(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        viewed = controller.snapshot()
        assert viewed.series
        first, *rest = viewed.runs
        mixed = replace(viewed, runs=(replace(first, profile="other"), *rest))
        for shown, named in ((viewed, False), (mixed, True)):
            for run in shown.runs:
                called = RunRows().names(shown)[run.run_id]
                assert called.startswith(f"{run.profile} ") is named
            profiles = {run.run_id: run.profile for run in shown.runs}
            for one in named_series(shown.series, RunRows().names(shown)):
                assert one.label.startswith(f"{profiles[one.run_id]} ") is named
            # The page goes on showing what it reads of the campaign, which has one profile.
            await until(pilot, partial(titled, page, shown, named=named))


def titled(page: RunsPage, viewed: CampaignSnapshot, *, named: bool) -> bool:
    """Whether the profile is named, or is not, in the log's title and beside the curve."""
    page.panels._drawn = None  # a campaign has its profiles from the first
    run = viewed.runs[1]
    page.panels.show(viewed, run, RunRows().names(viewed))
    title = str(page.query_one(LogPanel).border_title)
    beside = words(page.query_one(Chart))
    return (run.profile in title) is named and (f"1 {run.profile}" in beside) is named


@pytest.mark.parametrize("state", RunState)
def test_the_state_of_a_run_is_said_in_a_sentence(state: RunState) -> None:
    said = state.said
    assert said.split()[1] == str(state)
    assert said.split()[0] == {"succeeded": "has", "failed": "has", "cancelled": "was"}.get(
        str(state), "is"
    )


@pytest.mark.parametrize(
    ("silent_s", "said"), [(9.0, "9s"), (99.4, "99s"), (114.0, "2m"), (7300.0, "2h"), (1e6, "12d")]
)
def test_a_silent_run_says_for_how_long_in_its_state_and_why_elsewhere(
    silent_s: float, said: str
) -> None:
    state = fold(
        [planned("r-0001-a1"), assigned("r-0001-a1"), ev.RunLaunched(t=2.0, run_id="r-0001-a1")]
    )
    shown = take(state, Path("c"), now=3.0)
    quiet = replace(
        shown.runs[0], doing="", silent_s=silent_s, state_text="running, no reading for 9s"
    )
    lost = replace(quiet, state_text="node1: connection lost 12s ago, retrying")
    row, of_lost = (RunRows()(replace(shown, runs=(run,)))[0] for run in (quiet, lost))
    assert row.cells[1].plain == f"▲ silent {said}"
    assert row.cells[2].plain.endswith("#1"), "and nothing after it"
    assert "connection lost" in " ".join(cell.plain for cell in of_lost.cells)
    late = replace(quiet, silent_s=None, doing="no reading for 9s")
    of_late = RunRows()(replace(shown, runs=(late,)))[0]
    assert of_late.cells[1].plain == "▶ running"
    assert "no reading for 9s" in " ".join(cell.plain for cell in of_late.cells)


async def test_what_is_counted_behind_a_filter_are_the_rows_in_sight_earlier_attempts_too(
    workspace: FakeWorkspace,
) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=1)
        page = await open_runs(app, pilot)
        for _ in range(6):
            await pass_time(workspace, app, pilot, 30)
        table = page.query_one(KeyedTable)
        await pilot.press("home", "x", "t")
        await pass_time(workspace, app, pilot, 30)
        assert table.shown_keys[-1] == "r01b"
        assert "1 tried again" in screen_text(app)
        await pilot.press("/")
        for typed in ("1n", "2n", "NCCL", "node", "n"):
            await pilot.press(*typed)
            rows = re.findall(r"^│ . \w+ +\dn\dg b", screen_text(app), re.MULTILINE)
            earlier = " · 1 earlier attempt" * ("r01" in table.shown_keys)
            assert f"/{typed} · {len(rows) - table.unmatched} of 5{earlier} " in screen_text(app)
            await pilot.press(*["backspace"] * len(typed))


@pytest.mark.parametrize("key", ["p", "P", "c", "plus"])
@pytest.mark.parametrize("moves", ["G", "Gk", "jGkk"])
async def test_in_one_go_with_a_movement_what_asks_is_taken_and_what_acts_at_once_says_why_not(
    workspace: FakeWorkspace, moves: str, key: str
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("g")
        await type_ahead(app, pilot, *moves, key)
        run, viewed = page.selected, page.viewed
        assert run is not None
        assert viewed is not None
        assert not any(one.paused for one in viewed.runs)
        if key in ("c", "plus"):
            assert isinstance(app.screen, Choice)
            assert key == "plus" or run.label in screen_text(app)
        else:
            assert shows(app, "not taken: ")
            await pilot.press(key)
            await until(pilot, lambda: page.selected is not None and page.selected.paused)
            assert page.selected is not None
            assert page.selected.run_id == run.run_id


@pytest.mark.parametrize("key", ["p", "P"])
@given(after=st.lists(st.sampled_from([*"jkGcv", "enter", "slash", "plus"]), max_size=6))
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_with_a_key_that_is_not_taken_goes_what_was_typed_after_it(
    tmp_path_factory: pytest.TempPathFactory, key: str, after: list[str]
) -> None:
    workspace = FakeWorkspace(tmp_path_factory.mktemp("campaigns"))
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pilot.press("g")
        await type_ahead(app, pilot, "G")
        last = page.selected
        await pilot.press("g")
        await type_ahead(app, pilot, "G", key, *after)
        assert shows(app, "not taken: ")
        assert app.screen is page
        assert page.selected == last
        assert page.query_one(KeyedTable).has_focus
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Choice))


@pytest.mark.parametrize("keys", [("enter",), ("s", "enter"), ("v", "z")], ids=" ".join)
@pytest.mark.parametrize("another", [False, True], ids=["the page's key", "another campaign"])
async def test_the_list_has_the_keys_again_by_the_pages_own_and_with_another_campaign(
    workspace: FakeWorkspace, keys: tuple[str, ...], another: bool
) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press(*keys)
        table = page.query_one(KeyedTable)
        assert not (table.has_focus and table.display)
        if another:
            workspace.clock.tick(1000)
            begin(app, workspace, ("1n1g",))
            await until(pilot, lambda: table.has_focus)
            tick(app)
            await pilot.pause()
        else:
            await pilot.press("3")
            assert table.has_focus
        assert not page.panels.alone


async def test_the_title_of_the_chart_has_the_units_of_its_curves(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        viewed = controller.snapshot()
        at_work = [run.run_id for run in viewed.runs if run.state.active and run.readings]
        waits = next(run for run in viewed.runs if run.state.waits)
        assert len(at_work) > 1
        for units in (("tokens/s", "images/s"), ("tokens/s", "tokens/s")):
            of = dict(zip(at_work, units, strict=False))
            runs = dict(viewed.state.runs)
            runs[waits.run_id] = replace(runs[waits.run_id], unit="samples/s")
            series = tuple(replace(s, unit=of.get(s.run_id, s.unit)) for s in viewed.series)
            drawn = {s.unit for s in series if s.points}
            for run in (waits, *(r for r in viewed.runs if r.run_id in at_work)):
                mixed = replace(viewed, series=series, state=replace(viewed.state, runs=runs))
                page.panels._drawn = None
                page.panels.show(mixed, run, page._rows.names(viewed))
                title = str(page.panels.chart.border_title).strip()
                named = title.partition(" over time")[0].split(", ")
                assert sorted(named) == sorted(drawn)
                if run is not waits:
                    assert named[0] == of.get(run.run_id, run.unit), "its own first"


async def test_p_says_what_became_of_the_run_in_the_place_of_what_was_said_before(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DlperfApp, "NOTIFICATION_TIMEOUT", 600)
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("end", "P")
        await until(pilot, partial(shows, app, "paused; P lets them start"))
        assert page.selected is not None
        label = page.selected.label
        for said in (f"{label} may start", f"{label} paused; p lets it start"):
            tick(app)
            await pilot.pause()
            await pilot.press("p")
            await until(pilot, partial(shows, app, said))
            assert not shows(app, "P lets them start")
            assert len(app._notifications) == 1


async def test_that_its_hosts_are_asked_is_not_said_of_a_run_that_has_ended(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DlperfApp, "NOTIFICATION_TIMEOUT", 600)
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await until(pilot, lambda: page.selected is not None and page.selected.state.active)
        await pilot.press("d")
        await until(pilot, partial(shows, app, "its hosts are asked"))
        assert page.selected is not None
        controller.cancel_run(page.selected.run_id)
        await pass_time(workspace, app, pilot, 20)
        await until(pilot, lambda: not shows(app, "its hosts are asked"))


@pytest.mark.parametrize(("key", "label"), [("r", "Rank"), ("n", "Next"), ("E", "Error before")])
async def test_a_key_of_a_panel_of_this_page_points_there_first(
    workspace: FakeWorkspace, key: str, label: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press(key)
        await until(pilot, partial(shows, app, f"{key}: not here; it is {label} in Log"))


async def test_the_foot_has_what_is_used_most(workspace: FakeWorkspace) -> None:
    workspace.fails = {"1n8g": "NCCL error"}
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 60)
        shown = {"x": ("retry", "pause_all"), "end": ("pause", "pause_all")}
        for key, actions in shown.items():
            await pilot.press(key)
            tick(app)
            await pilot.pause()
            chosen = {one.action for one in page.query_one(KeyBar).chosen()}
            assert chosen >= {"view", *actions}, key
            assert chosen.isdisjoint({"window", "next_log"}) or "zoom" in chosen


async def test_slash_finds_words_in_details_that_are_read_and_filters_no_list(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        page.panels.view = "details"
        page.tick()
        await pilot.pause()
        page.panels.details.focus()
        await until(pilot, lambda: page.panels.details.has_focus)
        assert page.labels_now["filter"] == "Find"
        await pilot.press("/")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press(*"hosts", "enter")
        await until(pilot, lambda: shows(app, "hosts · 1 of "))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        assert page.panels.details.display
        assert page.panels.details.has_focus
        assert not page.main_panel().filter_text


async def test_the_cursor_goes_with_what_is_at_work_again_when_a_campaign_goes_on(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g", "1n8g"), repeats=1)
        page = await open_runs(app, pilot)
        while not controller.snapshot().finished:
            await pass_time(workspace, app, pilot, 5)
        await pilot.press("down", "up")
        tick(app)
        controller.retry(controller.snapshot().runs[0].run_id)
        for _ in range(3):
            await pass_time(workspace, app, pilot, 5)
        assert any(run.state.active for run in controller.snapshot().runs)
        assert page.selected is not None
        assert page.selected.state.active
