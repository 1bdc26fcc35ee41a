"""Campaigns side by side in the console; what is found is that of ``dlperf-tui compare``."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input

from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.selection import Selection
from backends.campaign.record.run_results import run_results
from backends.hosts.fingerprint import fingerprint_text
from backends.results.compared_environments import Apart
from backends.results.comparison import ComparedCase, Ground, Verdict, compare
from backends.results.comparison_files import comparison_document
from backends.results.comparison_report import comparison_markdown, reason
from profiles.errors import DlperfError
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    console,
    screen_text,
    settled,
    shows,
    type_ahead,
    until,
    words,
)
from tests.console.fakes import START, FakeController, FakeSummary, FakeWorkspace
from tests.console.test_bursts import BURSTS, SEED, key_event
from tui.app import DlperfApp
from tui.backend_protocols import CampaignSummary
from tui.key_bindings import PANELS, hints
from tui.screens import compare_screen
from tui.screens.across_dialog import AcrossList
from tui.screens.campaign_list import CampaignList
from tui.screens.compare_panels import environments_text, figures_text, verdict_panel
from tui.screens.compare_screen import READING_AGAIN, Compare
from tui.screens.compare_text import VERDICTS, title_words
from tui.screens.dialogs import Choice, Prompt
from tui.screens.repeats import Repeats
from tui.side_by_side import Side, SideBySide
from tui.text import cell, number, problem_line
from tui.widgets.chart import Chart
from tui.widgets.details import Details
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import KeyedTable, Row
from tui.widgets.scaling_plot import Quantity

TAGS = ("1n1g", "1n8g", "2n8g")
OLD_DRIVER = "v100, driver 450.80; ECC: on"
NEW_DRIVER = "v100, driver 470.10; ECC: on"


async def measured(
    workspace: FakeWorkspace,
    name: str,
    *,
    speed: float = 1.0,
    environment: str = OLD_DRIVER,
    tags: tuple[str, ...] = TAGS,
    days: int = 0,
    about: About | None = None,
    choice: Mapping[str, tuple[str, ...]] | None = None,
    profiles: tuple[str, ...] = ("oneflow-resnet50",),
) -> FakeController:
    """A campaign that is over, so many days after the first one."""
    if not workspace.probed:
        await workspace.probe()
    chosen = {**ONEFLOW, **(choice or {})}
    plan = workspace.plan(Selection(profiles, tags, chosen, 7))
    controller = workspace.controller(plan, name)
    controller.speed, controller.environment = speed, environment
    for _ in range(100):
        workspace.clock.tick(20)
        controller.advance()
    assert controller.state.finished
    total = len(controller.state.runs)
    workspace.summaries.append(
        FakeSummary(
            name,
            controller.path,
            "finished",
            total,
            total,
            START + 86400 * days,
            about=about or About(),
            measures="oneflow-resnet50 1n1g 1n8g 2n8g",
        )
    )
    return controller


async def three(workspace: FakeWorkspace, driver: str = NEW_DRIVER) -> None:
    """The newest is listed first; the one in the middle is slower, and on another driver."""
    await measured(
        workspace, "c-again", days=2, about=About(("nightly",), "after the driver went back")
    )
    await measured(
        workspace, "b-driver", speed=0.95, environment=driver, days=1, about=About(("bad",))
    )
    await measured(workspace, "a-before", about=About(("release", "h200"), "what we promised"))
    workspace.probed.clear()


async def open_compare(app: DlperfApp, pilot: Pilot[str], marks: int) -> Compare:
    await pilot.press("O")
    await until(pilot, lambda: isinstance(app.screen, CampaignList))
    await until(pilot, partial(shows, app, "✓ finished"))
    await pilot.press(*["space", "j"] * marks, "c")
    await until(pilot, lambda: isinstance(app.screen, Compare))
    assert isinstance(app.screen, Compare)
    await until(pilot, partial(shows, app, "threshold"))
    return app.screen


def with_cases(
    found: SideBySide, changed: Callable[[ComparedCase], Sequence[ComparedCase]]
) -> SideBySide:
    """Of two campaigns, as if these were their cases; ``changed``: the first of those they have."""
    [other] = found.others
    assert other.comparison is not None
    cases = tuple(changed(other.comparison.cases[0]))
    return replace(
        found, others=(replace(other, comparison=replace(other.comparison, cases=cases)),)
    )


async def test_two_marked_campaigns_are_compared_and_esc_leads_back_to_their_marks(
    workspace: FakeWorkspace,
) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("c")
        assert isinstance(app.screen, CampaignList), "nothing is marked"
        await pilot.press("down", "space")
        assert shows(app, "Campaigns · 1 marked")
        await pilot.press("down", "space", "c")
        await until(pilot, partial(shows, app, "Against 1 a-before"))
        row = next(line for line in screen_text(app).splitlines() if "1n8g" in line)
        assert "0.950" in row
        assert "✗ slower" in row
        assert shows(app, "✗ slower, in another")
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "Campaigns · 2 marked"))
        assert screen_text(app).count("[x]") == 2
        await pilot.press("space")
        assert shows(app, "Campaigns · 1 marked")


@pytest.mark.parametrize("marks", [2, 3])
async def test_the_console_finds_what_the_command_finds(
    workspace: FakeWorkspace, marks: int
) -> None:
    await three(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        found = screen._found
        assert found is not None
        names = [side.about.name for side in found.sides]
        assert names == ["a-before", "b-driver", "c-again"][-marks:]
        states = {c.path.name: run_results(c.state) for c in workspace.controllers.values()}
        for other in found.others:
            expected = compare(states[names[0]], states[names[other.place]])
            expected = expected.started_from(None, None)  # they froze nothing
            assert other.comparison is not None
            assert comparison_document(other.comparison) == comparison_document(expected)
        assert len(screen.query_one(KeyedTable).shown_keys) == len(TAGS) * (marks - 1)


async def test_b_holds_all_against_the_next_campaign_and_t_sets_what_counts(
    workspace: FakeWorkspace,
) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await open_compare(app, pilot, 3)
        assert shows(app, "3 slower · 3 same · threshold 2%")
        await pilot.press("b")
        await until(pilot, partial(shows, app, "Against 2 b-driver"))
        assert shows(app, "6 faster · threshold 2%")
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = "lots"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "is no percentage"))
        app.screen.query_one(Input).value = "10%"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "6 same · threshold 10%"))
        assert shows(app, "Against 2 b-driver")


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_curves_verdict_and_campaigns_are_in_sight_at_once_or_in_turn(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    await three(workspace)
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        await pilot.press("G")
        seen = screen_text(app)
        shown = [tuple(p.id for p in screen.query("#compare-lower > *") if p.display)]
        for _ in range(2):
            await pilot.press("v")
            seen += screen_text(app)
            shown.append(tuple(p.id for p in screen.query("#compare-lower > *") if p.display))
        together = {SMALL: 1, LARGE: 2, HUGE: 3}[size]
        assert {len(one) for one in shown} == {together}
        assert {view for one in shown for view in one} == {"curves", "verdict", "campaigns"}
        for words in ("▸ Speedup over GPUs", "against 1: ", "each repeat"):
            assert words in seen, words
        if size != SMALL:  # all of it without scrolling
            for words in ("#release #h200", "what we promised", "#bad", "1 difference"):
                assert words in seen, words
            assert "1: v100, driver 450.80" in seen
            assert "2: v100, driver 470.10" in seen
            assert "alike: ECC on" in seen


async def test_enter_shows_every_repeat_of_the_campaign_that_is_compared(
    workspace: FakeWorkspace,
) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        found = screen._found
        assert found is not None
        slower = found.cases()[0][1].candidate
        assert slower is not None
        for speed in slower.throughputs:
            assert shows(app, f"{speed:,.1f}")
        place = found.cases()[0][0]
        assert shows(app, f"of {place + 1} {found.sides[place].name}")
        await pilot.press("escape")
        assert app.screen is screen


async def test_ages_go_on_while_campaigns_are_compared(workspace: FakeWorkspace) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        await three(workspace)
        await open_compare(app, pilot, 2)
        told = re.compile(r"begun .*?(\w+ ago|now)")
        await until(pilot, lambda: told.search(screen_text(app)) is not None)
        before = told.findall(screen_text(app))
        workspace.clock.tick(7 * 86400.0)
        await until(pilot, lambda: told.findall(screen_text(app)) != before)


async def test_c_goes_through_the_curves_of_every_campaign(workspace: FakeWorkspace) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        seen = set()
        for _ in Quantity:
            seen.add(screen._quantity)
            lines = screen.query_one(Chart)._plot.lines
            assert [line.label for line in lines if line.label] == [
                *("a-before", "b-driver", "c-again", "ideal")
            ]
            assert [line.tag for line in lines if line.label][:3] == ["1", "2", "3"]
            relative = screen._quantity is not Quantity.PER_DEVICE
            assert shows(app, ", base 1n1g") == relative
            for panel in screen.query("*"):  # else nobody sees it
                framed = panel.styles.border_bottom[0] not in ("", "none")
                assert framed or not panel.border_subtitle, panel
            await pilot.press("c")
        assert seen == set(Quantity)


async def test_the_curves_of_the_row_and_of_the_baseline_are_drawn_however_many_there_are(
    workspace: FakeWorkspace,
) -> None:
    names = [f"{letter}-day" for letter in "abcdef"]
    for days, name in reversed(list(enumerate(names))):
        await measured(workspace, name, days=days)
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, len(names))
        for baseline in (0, 1, 2, 3, 4, 5):
            await until(pilot, partial(shows, app, f"Against {baseline + 1} {names[baseline]}"))
            for _ in names[1:]:
                assert screen._selected is not None
                place, _case = screen._selected
                drawn = {line.label for line in screen.query_one(Chart)._plot.lines}
                assert {names[baseline], names[place]} <= drawn
                await pilot.press("down")
            await pilot.press("g", "b")


async def test_a_campaign_that_shares_no_case_says_so_beside_the_others(
    workspace: FakeWorkspace,
) -> None:
    await measured(workspace, "elsewhere", tags=("1n2g",), days=1)
    await measured(workspace, "here")
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 2)
        await until(pilot, partial(shows, app, "no case in common"))
        assert shows(app, "compare campaigns of the same profiles")
        assert screen_text(app).count("no case in common") == 1
        assert "\N{REPLACEMENT CHARACTER}" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))


async def test_a_campaign_without_results_says_so_beside_the_others(
    workspace: FakeWorkspace,
) -> None:
    await measured(workspace, "here")
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n2g",), ONEFLOW, 2))
    begun = workspace.controller(plan, "begun")
    later = START + 86400
    workspace.summaries.insert(0, FakeSummary("begun", begun.path, "unfinished", 0, 2, later))
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("escape")
        await open_compare(app, pilot, 2)
        await until(pilot, partial(shows, app, "the candidate has no results yet"))
        assert not shows(app, "in common")
        await pilot.press("b")
        await until(pilot, partial(shows, app, "the baseline has no results yet"))


async def test_the_title_has_the_baseline_and_the_threshold_whatever_else_there_is_to_say(
    workspace: FakeWorkspace,
) -> None:
    name = "2026-11-21-resnet50-with-a-name-as-long-as-any-that-somebody-may-give-it"
    await measured(workspace, "b", speed=0.9, days=1)
    await measured(workspace, name)
    workspace.probed.clear()
    async with console(workspace) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        assert screen._found is not None
        for room, verdicts in product(range(74, 200, 9), range(1, 6)):
            kinds = tuple(Verdict)[:verdicts]
            several = with_cases(
                screen._found,
                lambda case, kinds=kinds: [replace(case, verdict=kind) for kind in kinds * 20],
            )
            for across in ((), ("precision",), ("graphs", "precision", "batch_size")):
                title = title_words(replace(several, across=across), room)
                assert len(title) <= room
                assert title.startswith("Against 1 2026-")
                assert "give-it · " in title
                assert ("· across " in title) == bool(across)
                assert title.endswith("· threshold 2%")
                told = [f"20 {VERDICTS[v][0]}" in title or f"20 {v}" in title for v in kinds]
                assert all(told) or across


@pytest.mark.parametrize("marks", [2, 3])
@pytest.mark.parametrize(
    ("label", "counts"),
    [("1n8g", "3"), ("1n8g", "12/14, 11/14"), ("1n8g b128→160", "6, 7"), ("1n8g b160", "6/7, 7")],
)
async def test_case_and_verdict_are_whole_at_80_columns_and_figures_are_so_or_left_out(
    workspace: FakeWorkspace, marks: int, label: str, counts: str
) -> None:
    await three(workspace, OLD_DRIVER)
    async with console(workspace) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        figures = ["12,345.6", "12,345.7", counts, "0.998", "0.945…0.985"]
        said = [label, *["2"] * (marks > 2), *figures, "? inconclusive"]
        screen.query_one(KeyedTable).refill([Row("a", tuple(map(cell, said)))])
        await pilot.pause()
        row = next(line for line in screen_text(app).splitlines() if "12,345.6" in line)
        assert label in row
        assert " ? inconclusive " in row
        assert "…" not in row.replace("0.945…0.985", "")
        assert " 12,345.7  " in row


async def test_a_campaign_that_cannot_be_read_is_told_in_place(workspace: FakeWorkspace) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        workspace.load = unreadable  # type: ignore[method-assign]
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("space", "j", "space", "c")
        await until(pilot, partial(shows, app, "the journal is damaged"))
        await until(pilot, partial(shows, app, "mend it"))
        del workspace.load  # type: ignore[method-assign]
        await pilot.press("r")
        await until(pilot, partial(shows, app, "Against 1 b-driver"))


def go_on(workspace: FakeWorkspace) -> None:
    """The newest has not ended."""
    newest = replace(workspace.summaries[0], state="unfinished", done=9, total=24)
    workspace.summaries[0] = newest


async def test_figures_of_before_stay_with_a_word_when_reading_again_fails(
    workspace: FakeWorkspace,
) -> None:
    await three(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        go_on(workspace)
        screen = await open_compare(app, pilot, 2)
        workspace.load = unreadable  # type: ignore[method-assign]
        await pilot.press("r")
        await until(pilot, partial(shows, app, "the journal is damaged"))
        assert shows(app, "mend it")
        assert shows(app, "Against 1 b-driver")
        await pilot.press("b")
        await until(pilot, partial(shows, app, "Against 2 c-again"))
        del workspace.load  # type: ignore[method-assign]
        await pilot.press("r")
        await until(pilot, lambda: screen._problem is None)
        assert shows(app, "Against 2 c-again")


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_how_far_an_unfinished_one_is_stands_in_the_title_whatever_is_in_sight(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    await three(workspace)
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        assert screen._found is not None
        assert "unfinished" not in screen_text(app)
        [other] = screen._found.others
        assert other.comparison is not None
        going = replace(other.comparison, unfinished=(None, (7, 9)))
        screen._found = replace(screen._found, others=(replace(other, comparison=going),))
        for keys in ("", "v", "v", "z"):
            await pilot.press(*keys)
            screen._fill()
            await pilot.pause()
            first = screen_text(app).splitlines()[0]
            assert f"{other.place + 1} unfinished: 7 of 9 runs ended" in first


async def test_that_the_campaigns_are_read_again_is_said_until_they_are(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three(workspace)
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        read, sides = asyncio.Event(), app.session.sides

        async def slow(campaigns: Sequence[CampaignSummary]) -> tuple[Side, ...]:
            await read.wait()
            return await sides(campaigns)

        monkeypatch.setattr(app.session, "sides", slow)
        await type_ahead(app, pilot, "r")
        await until(pilot, partial(shows, app, READING_AGAIN))
        read.set()
        await until(pilot, lambda: not shows(app, READING_AGAIN))
        assert screen._problem is None
        workspace.load = unreadable  # type: ignore[method-assign]
        await pilot.press("r")
        await until(pilot, partial(shows, app, "the journal is damaged"))
        assert not shows(app, READING_AGAIN)


async def test_r_reads_anew_how_far_each_campaign_is(workspace: FakeWorkspace) -> None:
    """Each time by the runs that the table is of, whatever its row in the list said."""
    await three(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        go_on(workspace)
        screen = await open_compare(app, pilot, 2)
        ended = len(workspace.controllers[workspace.summaries[0].path].state.runs)
        assert shows(app, f"{ended} of 24 runs succeeded")
        workspace.clock.tick(7200)
        workspace.summaries[0] = replace(workspace.summaries[0], done=12, total=25)
        workspace.summaries.reverse()
        before = screen._now
        await pilot.press("r")
        await until(pilot, partial(shows, app, f"{ended} of 25 runs succeeded"))
        assert screen._now >= before + 7200
        names = [one.about.name for one in screen._found.sides] if screen._found else []
        assert names == ["b-driver", "c-again"], "each keeps its number"
        workspace.summaries[-1] = replace(workspace.summaries[-1], state="finished", done=24)
        await pilot.press("r")
        await until(pilot, lambda: all(one.state == "finished" for one in screen._campaigns))
        await until(pilot, lambda: screen.able("read"))
        reads: list[object] = []
        read = workspace.runs_together
        workspace.runs_together = lambda paths: (reads.append(paths), read(paths))[1]  # type: ignore[method-assign]
        await pilot.press("r")  # their logs may have been changed
        await until(pilot, lambda: bool(reads))


async def test_what_is_asked_for_while_it_reads_or_compares_counts(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three(workspace)
    go, reads = threading.Event(), []
    read, hold = workspace.runs_together, compare_screen.held_against

    def reads_slowly(paths):  # type: ignore[no-untyped-def]
        assert go.wait(10)
        reads.append(paths)
        return read(paths)

    def holds_slowly(*asked):  # type: ignore[no-untyped-def]
        assert go.wait(10)
        return hold(*asked)

    async with console(workspace, HUGE) as (app, pilot):
        go_on(workspace)
        screen = await open_compare(app, pilot, 3)
        before = screen._found
        assert before is not None
        monkeypatch.setattr(workspace, "runs_together", reads_slowly)
        monkeypatch.setattr(compare_screen, "held_against", holds_slowly)
        for key in ("r", "b", "b"):
            app.post_message(key_event(key))
        await until(pilot, lambda: screen._baseline == 2)
        go.set()
        await until(pilot, partial(shows, app, "Against 3 c-again"))
        await until(pilot, lambda: screen._found and screen._found.sides is not before.sides)
        assert reads, "it was not given up"
        assert shows(app, "Against 3 c-again")


def unreadable(path: Path) -> object:
    raise DlperfError("the journal is damaged", where=path.name, remedy="mend it")


def read_when_told(workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Runs to be compared are read once this is set."""
    go, read = threading.Event(), workspace.runs_together

    def slowly(paths):  # type: ignore[no-untyped-def]
        assert go.wait(20)
        return read(paths)

    monkeypatch.setattr(workspace, "runs_together", slowly)
    return go


async def compare_two(app: DlperfApp, pilot: Pilot[str]) -> None:
    """Until they are being read."""
    await pilot.press("O")
    await until(pilot, partial(shows, app, "✓ finished"))
    await pilot.press("space", "j", "space", "c")
    await until(pilot, partial(shows, app, "reading the campaigns"))


async def test_while_they_are_read_the_screen_says_so_and_can_be_left(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three(workspace)
    go = read_when_told(workspace, monkeypatch)
    async with console(workspace, LARGE) as (app, pilot):
        await compare_two(app, pilot)
        await pilot.press("v")
        assert not shows(app, "are being read")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        go.set()
        await asyncio.sleep(0)
        await pilot.pause()
        assert app._exception is None


async def test_what_must_be_known_of_a_campaign_stands_beside_it(workspace: FakeWorkspace) -> None:
    await three(workspace)
    path = next(path for path in workspace.controllers if path.name == "b-driver")
    workspace.remarked[path] = ("it goes on elsewhere",)
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 2)
        await until(pilot, partial(shows, app, "▲ it goes on elsewhere"))


async def test_the_filter_goes_with_esc_before_the_screen_does(workspace: FakeWorkspace) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await pilot.press("/", "2", "n", "enter")
        assert len(screen.query_one(KeyedTable).shown_keys) == 1
        await pilot.press("escape")
        assert app.screen is screen
        assert len(screen.query_one(KeyedTable).shown_keys) == 3
        await pilot.press("/", "z", "z", "z", "enter")
        await until(pilot, partial(shows, app, "No case matches"))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))


async def test_keys_of_any_haste_leave_it_whole(workspace: FakeWorkspace) -> None:
    """It is left while it reads, holds against another campaign, or fills its panels."""
    await three(workspace)
    random = Random(SEED)
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 3)
        await pilot.press("escape")
        for _ in range(max(8, BURSTS // 3)):
            assert isinstance(app.screen, CampaignList)
            keys = random.choices(["c", "b", "v", "t", "j", "r", "enter"], k=random.randint(1, 7))
            for key in ("c", *keys, "escape"):
                app.post_message(key_event(key))
                await asyncio.sleep(random.choice((0, 0, 0.005, 0.02)))
            await settled(app)
            while not isinstance(app.screen, CampaignList):
                assert app._exception is None, keys
                await pilot.press("escape")


async def test_simulated_campaigns_say_so(workspace: FakeWorkspace) -> None:
    workspace.simulated = True
    await three(workspace)
    workspace.summaries = [replace(one, simulated=True) for one in workspace.summaries]
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 2)
        assert shows(app, "Compare · 2 campaigns · SIMULATED")
        assert shows(app, "SIMULATED: ")


@pytest.mark.parametrize("marks", [2, 3])
async def test_cases_of_several_profiles_and_their_verdicts_are_whole_on_a_narrow_terminal(
    workspace: FakeWorkspace, marks: int
) -> None:
    profiles = ("oneflow-resnet50", "cpu-smoke")
    for days, name in enumerate(("a-before", "b-driver", "c-again")[:marks]):
        await measured(workspace, name, days=days, profiles=profiles)
    workspace.summaries.reverse()
    workspace.probed.clear()
    async with console(workspace, SMALL) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        assert screen._found is not None
        named = {case.profile for _, case in screen._found.cases()}
        assert named == set(profiles)
        table = screen.query_one(KeyedTable)
        for row in table._rows:
            table.select(row.key)
            await pilot.pause()
            seen = screen_text(app).splitlines()
            label, verdict = row.cells[0].plain, row.cells[-1].plain
            assert any(label in line and verdict in line for line in seen), (label, seen)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_of_one_campaign_what_it_has_with_other_parameters_is_compared(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    await measured(workspace, "sizes", choice={"batch_size": ("128", "160")})
    workspace.probed.clear()
    async with console(workspace, size) as (app, pilot):
        await open_compare(app, pilot, 1)
        await until(pilot, partial(shows, app, "across batch_size"))
        screen = app.screen
        assert isinstance(screen, Compare)
        found = screen._found
        assert found is not None
        assert [one.name for one in found.sides] == [
            "sizes, batch_size=128",
            "sizes, batch_size=160",
        ]
        if size != SMALL:  # there is no room for the curves
            await until(pilot, partial(shows, app, "batch_size=128"))
            assert shows(app, "batch_size=160")
        assert {case.differs for _, case in found.cases()} == {(("batch_size", 128),)}
        assert len(found.cases()) == len(TAGS)
        assert shows(app, "1n8g b128→160")
        await pilot.press("b")
        await until(pilot, partial(shows, app, "1n8g b160→128"))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AcrossList))
        await pilot.press("n", "enter")
        await until(pilot, partial(shows, app, "there is nothing else to compare"))


async def test_a_campaign_in_which_nothing_varies_says_so(workspace: FakeWorkspace) -> None:
    await measured(workspace, "alone")
    workspace.probed.clear()
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("space", "c")
        await until(pilot, partial(shows, app, "no parameter differs between its cases"))
        for key in ("c", "z", "t"):
            await pilot.press(key)
            await until(pilot, partial(shows, app, "there is nothing to compare, for the reason"))
            assert not shows(app, "being read")
        await pilot.press("question_mark")
        await until(pilot, partial(shows, app, "Not now: there is nothing to compare"))
        assert not shows(app, "being read")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))


async def test_two_without_a_common_case_are_compared_across_what_differs_and_it_is_said(
    workspace: FakeWorkspace,
) -> None:
    await measured(workspace, "b-larger", choice={"batch_size": ("160",)}, days=1)
    await measured(workspace, "a-smaller", choice={"batch_size": ("128",)})
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        assert shows(app, "across batch_size")
        assert shows(app, "across batch_size: nothing else is common; a changes it")
        assert shows(app, "1n8g b128→160")
        assert shows(app, "batch_size is 128 in the")
        assert shows(app, "not the same case on both sides: batch_size")
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AcrossList))
        assert shows(app, "128, 160")
        await pilot.press("n", "enter")
        await until(pilot, partial(shows, app, "no case in common"))
        assert screen._found is not None
        assert not screen._found.cases()
        assert shows(app, "a compares them across batch_size")
        assert "--across" not in screen_text(app)
        for action in ("view", "open", "quantity"):
            assert screen.not_now(action) == "no case is in the list", action
        await pilot.press("a", "a", "enter")
        await until(pilot, partial(shows, app, "1n8g b128→160"))
        assert not shows(app, "nothing else is common"), "it was asked for"


async def test_each_that_is_refused_has_a_line_of_its_own(workspace: FakeWorkspace) -> None:
    await measured(workspace, "c-foreign", tags=("1n2g",), days=2)
    await measured(workspace, "b-foreign", tags=("1n8g",), days=1)
    await measured(workspace, "a-own", tags=("1n1g",))
    workspace.probed.clear()
    async with console(workspace, SMALL) as (app, pilot):
        await open_compare(app, pilot, 3)
        await until(pilot, partial(shows, app, "no case in common"))
        lines = [line.strip(" │") for line in screen_text(app).splitlines()]
        for name in ("b-foreign: ✗", "c-foreign: ✗"):
            assert any(line.startswith(name) for line in lines), name
        assert "\N{REPLACEMENT CHARACTER}" not in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_of_what_a_panel_has_below_what_is_seen_its_title_says_how_many_lines(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    names = [f"{letter}-day" for letter in "abcdef"]
    for days, name in reversed(list(enumerate(names))):
        await measured(workspace, name, days=days)
    workspace.probed.clear()
    below = 0
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, len(names))
        for _ in range(3):
            await pilot.press("v")
            for panel in screen.query(Details):
                if not panel.display:
                    continue
                more = int(panel.max_scroll_y - panel.scroll_y)
                keys = "Tab" if panel.id == "verdict" else "⇧Tab"
                assert shows(app, f"{more} more line") is (more > 0)
                assert shows(app, f": {keys}, then ↓") or not more
                below += more
                if more:
                    await pilot.press(keys.lower().replace("⇧", "shift+"))
                    assert panel.has_focus
                    await pilot.press("end", "escape")
                    assert not panel.has_focus
        assert below or size != SMALL


async def test_of_several_the_one_that_is_not_compared_is_named(workspace: FakeWorkspace) -> None:
    await measured(workspace, "c-foreign", tags=("1n2g",), days=2)
    await measured(workspace, "b-after", days=1)
    await measured(workspace, "a-before")
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 3)
        await until(pilot, partial(shows, app, "3 c-foreign not compared: the two campaigns have"))


async def test_y_hands_the_terminal_what_the_command_prints(workspace: FakeWorkspace) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        await pilot.press("y")
        await until(pilot, partial(shows, app, "handed to the terminal for its clipboard"))
        found = screen._found
        assert found is not None
        for other, name in zip(found.others, ("b-driver", "c-again"), strict=True):
            assert other.comparison is not None
            names = ("a-before", name)
            assert comparison_markdown(replace(other.comparison, names=names)) in app.clipboard
            assert f"Baseline: a-before. Candidate: {name}. Medians in" in app.clipboard


@pytest.mark.parametrize("panel", ["compare", "export", "campaigns", "start", "precheck"])
@pytest.mark.parametrize("room", [24, 74, 110])
def test_what_explains_the_keys_is_among_them_at_every_width(panel: str, room: int) -> None:
    keys = sorted(PANELS[panel].keys, key=lambda key: key.footer)
    line = hints(keys, room)
    assert line.endswith("? Help")
    assert len(line) <= room
    assert len(hints(keys, room + 40)) >= len(line)


@given(st.text(), st.text(), st.text())
def test_a_problem_on_one_line_has_no_stand_in_for_a_line_break(
    what: str, where: str, remedy: str
) -> None:
    error = DlperfError(what, where=where, remedy=remedy)
    marks = f"{what}{where}{remedy}".count("\N{REPLACEMENT CHARACTER}")
    shown = problem_line(error)
    assert "\n" not in shown
    if f"{what}{where}{remedy}".isprintable():
        assert shown.count("\N{REPLACEMENT CHARACTER}") == marks


def environment(**values: str) -> str:
    return fingerprint_text("v100, driver 1", values)


@given(
    st.dictionaries(st.sampled_from(["driver", "ECC", "MIG"]), st.sampled_from(["a", "b"])),
    st.dictionaries(st.sampled_from(["driver", "ECC", "MIG"]), st.sampled_from(["a", "b"])),
)
def test_alike_is_said_only_where_all_is_known_of_all(
    ours: dict[str, str], theirs: dict[str, str]
) -> None:
    said = environments_text([environment(**ours), environment(**theirs)]).plain
    headline = said.splitlines()[0]
    unknown = {*ours} ^ {*theirs}
    differing = {key for key in {*ours} & {*theirs} if ours[key] != theirs[key]}
    assert ("software and GPU settings alike" in headline) == (not unknown and not differing)
    assert (f"{len(unknown)} not known of all" in headline) == bool(unknown)
    assert ("difference" in headline) == bool(differing)


@given(st.lists(st.sampled_from(["none", "torch 2.11.0"]), min_size=2, max_size=3))
def test_an_interpreter_without_packages_is_told_as_in_a_report(found: list[str]) -> None:
    told = [environment(**{"python": one, "workdir changes": "none"}) for one in found]
    said = environments_text(told).plain
    assert said.count("python packages") == said.count("packages") == 1
    assert "python none" not in said
    assert "workdir changes none" in said


def test_environments_that_are_alike_over_all_runs_and_differ_by_case_are_told_by_case() -> None:
    apart = Apart("V100, driver 1", "H200, driver 2", (), "1 of 2 cases: 1n2g")
    both = "H200, driver 2 + V100, driver 1"
    said = environments_text([both, both], [(0, 1, apart)]).plain
    assert said.splitlines()[0] == "Environments  differ by case"
    assert "  in 1 of 2 cases: 1n2g\n    1: V100, driver 1\n    2: H200, driver 2\n" in said
    of_all = replace(apart, which="")
    assert "  in all cases\n" in environments_text([both, both], [(0, 1, of_all)]).plain
    known = environments_text(["V100, driver 1", "H200, driver 2"], [(0, 1, of_all)]).plain
    assert "cases" not in known, "the whole tells it"


def flat(text: str) -> str:
    """What is read, wherever lines and frames break it."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
@pytest.mark.parametrize("marks", [2, 3])
async def test_no_figure_no_reason_and_nothing_that_all_share_is_cut(
    workspace: FakeWorkspace, size: tuple[int, int], marks: int
) -> None:
    for days, name in enumerate(("a-before", "b-driver", "c-again")):
        await measured(workspace, name, speed=400 * (1 + 0.03 * days), days=days)
    workspace.summaries.reverse()
    workspace.probed.clear()
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        found = screen._found
        assert found is not None
        assert ("#" in [str(c.label) for c in screen.query_one(KeyedTable).columns.values()]) == (
            marks > 2
        )
        for _place, case in found.cases():
            await pilot.pause()
            shown = flat(screen_text(app))
            for side in (case.baseline, case.candidate):
                assert side is not None
                assert side.spread is not None
                assert number(side.spread.median) in shown
            assert f"{case.profile}, {shared(screen)}".rstrip(", ") in shown
            where = "#verdict > *" if "verdict" in screen._in_sight() else "#below-compared"
            assert reason(case, found.threshold) in flat(words(screen.query_one(where)))
            await pilot.press("down")


def shared(screen: Compare) -> str:
    return f"all {screen._labels.shared}" if screen._labels.shared else ""


@pytest.mark.parametrize("marks", [2, 3])
async def test_what_is_said_of_a_pair_names_it_where_there_are_several(
    workspace: FakeWorkspace, marks: int
) -> None:
    await three(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, marks)
        said = screen._said_of_campaigns.plain
        assert "exit code" not in said, "no program has exited"
        lines = [line for line in said.splitlines() if "beyond what chance does" in line]
        assert lines
        assert all(line.startswith("No case") == (marks == 2) for line in lines)
        assert all((" against 1: No case" in line) == (marks > 2) for line in lines)


@pytest.mark.parametrize("read", [True, False])
async def test_what_is_typed_in_one_go_is_written_against_the_baseline_asked_for(
    workspace: FakeWorkspace, tmp_path: Path, read: bool
) -> None:
    """The name of a file is never a command, and what was asked for before counts."""
    await three(workspace)
    target = tmp_path / "test.md"
    async with console(workspace, LARGE) as (app, pilot):
        if read:
            screen = await open_compare(app, pilot, 3)
            await type_ahead(app, pilot, "b", "e", *str(target), "enter")
            second = screen._found.sides[1].name if screen._found else ""
        else:
            await pilot.press("O")
            await until(pilot, partial(shows, app, "✓ finished"))
            await pilot.press("space", "j", "space", "j", "space")
            await type_ahead(app, pilot, "c", "e", *str(target), "enter")
        await until(pilot, target.exists)
        assert not list(tmp_path.glob("*.md.*"))
        await until(pilot, lambda: isinstance(app.screen, Compare))
        assert isinstance(app.screen, Compare)
        assert app.screen._threshold == 0.02
        if read:
            lines = target.read_text(encoding="utf-8").splitlines()
            against = [line for line in lines if line.startswith("Baseline: ")]
            assert against
            assert all(f" {second} " in line for line in against)


@pytest.mark.parametrize("name", ["mine", "mine.txt", "mine.d", "v1.2"])
async def test_a_name_without_a_format_is_refused_in_a_line(
    workspace: FakeWorkspace, tmp_path: Path, name: str
) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await open_compare(app, pilot, 3)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        app.screen.query_one(Input).value = str(tmp_path / name)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "the name says no format"))
        assert isinstance(app.screen, Prompt)
        assert not (tmp_path / name).exists()


async def test_a_regression_says_what_the_command_would_exit_with(
    workspace: FakeWorkspace,
) -> None:
    for days, (name, speed) in enumerate((("a-before", 1.0), ("b-after", 0.5))):
        await measured(workspace, name, speed=speed, days=days)
    workspace.summaries.reverse()
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        said = screen._said_of_campaigns.plain
        assert "so that dlperf-tui compare would exit with 1" in said
        assert "exit code" not in said


async def test_the_command_that_would_exit_so_makes_the_same_comparison(
    workspace: FakeWorkspace,
) -> None:
    for days, (name, batch, speed) in enumerate((("a-128", "128", 1.0), ("b-160", "160", 0.5))):
        await measured(workspace, name, choice={"batch_size": (batch,)}, speed=speed, days=days)
    workspace.summaries.reverse()
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        command = "dlperf-tui compare --across batch_size would exit with 1"
        assert command in screen._said_of_campaigns.plain


async def test_marks_are_kept_until_they_have_been_compared(workspace: FakeWorkspace) -> None:
    await three(workspace)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("space", "j", "space")
        assert shows(app, "2 marked")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CampaignList))
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await until(pilot, partial(shows, app, "2 marked"))
        await pilot.press("c")
        await until(pilot, partial(shows, app, "Compare · 2 campaigns"))
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "Campaigns · 2 marked"))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CampaignList))
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        assert "[x]" not in screen_text(app)


async def test_u_takes_all_marks_away_also_those_that_were_compared(
    workspace: FakeWorkspace,
) -> None:
    await three(workspace)
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        assert not shows(app, "u Unmark")
        await pilot.press("space", "j", "space")
        assert shows(app, "u Unmark")
        await pilot.press("c")
        await until(pilot, partial(shows, app, "Compare · 2 campaigns"))
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "Campaigns · 2 marked"))
        await pilot.press("u")
        assert "[x]" not in screen_text(app)
        await pilot.press("u")
        await until(pilot, partial(shows, app, "u Unmark: none is marked"))
        await pilot.press("space", "escape", "O")  # these were not compared yet
        await until(pilot, partial(shows, app, "1 marked"))


@pytest.mark.parametrize("suffix", [".md", ".csv", ".json"])
async def test_e_writes_what_the_command_prints(
    workspace: FakeWorkspace, tmp_path: Path, suffix: str
) -> None:
    await three(workspace)
    target = tmp_path / f"mine{suffix}"
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        for attempt in range(2):
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, Prompt))
            app.screen.query_one(Input).value = str(target)
            await pilot.press("enter")
            if attempt:
                await until(pilot, lambda: isinstance(app.screen, Choice))
                await pilot.press("n")
            await until(pilot, target.exists)
            await until(pilot, lambda: isinstance(app.screen, Compare))
        found = screen._found
        assert found is not None
        compared = [
            replace(
                other.comparison,
                names=("a-before", found.sides[other.place].name),
                paths=(found.sides[0].about.path, found.sides[other.place].about.path),
            )
            for other in found.others
            if other.comparison is not None
        ]
        text = target.read_text(encoding="utf-8")
        documents = [comparison_document(one) for one in compared]
        if suffix == ".md":
            assert all(comparison_markdown(one) in text for one in compared)
        elif suffix == ".json":
            assert json.loads(text) == documents
        else:
            rows = list(csv.DictReader(text.splitlines()))
            cases = [(one, case) for one in documents for case in one["cases"]]
            assert len(rows) == len(cases)
            for row, (document, case) in zip(rows, cases, strict=True):
                assert row["candidate_campaign"] == document["candidate_campaign"]
                for name in ("baseline", "candidate", "ratio"):
                    assert float(row[name]) == case[name]
                assert [float(row["ratio_low"]), float(row["ratio_high"])] == case["ratio_interval"]
                assert (row["case"], row["verdict"]) == (case["case"], case["verdict"])


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_the_name_of_the_baseline_is_cut_only_where_there_is_no_room(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    await three(workspace)
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await until(pilot, lambda: screen._found is not None)
        found = screen._found
        assert found is not None
        panel = screen.query_one(TablePanel)
        for length in range(16, size[0], 9):
            name = "n" * length
            about = replace(found.sides[0].about, path=Path("/c") / name)
            sides = [replace(one, about=about) for one in found.sides]
            screen._found = replace(found, sides=tuple(sides))
            screen._fill()
            await pilot.pause()
            told, room = str(panel.border_title), panel.size.width - 4
            assert f"{name} · " in told or ("…" in told and len(told) == room)
            assert len(told) <= room


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_of_a_case_on_one_side_the_verdict_is_the_commands_and_the_side_is_named(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    await measured(workspace, "newer", days=1, tags=TAGS[:2])
    await measured(workspace, "older", tags=TAGS[1:])
    workspace.probed.clear()
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        table = screen.query_one(KeyedTable)
        for baseline in (1, 2):
            await until(pilot, partial(shows, app, f"Against {baseline} "))
            for key in table.shown_keys:
                table.select(key)
                await settled(app)
                _, case = screen._pairs[key]
                side = baseline if case.candidate is None else 3 - baseline
                alone = None in (case.baseline, case.candidate)
                for _ in range(2):
                    said = f"only in {side}"
                    assert shows(app, said) or not alone, screen_text(app)
                    assert shows(app, str(case.verdict)) is not alone
                    await pilot.press("v")
            await pilot.press("b")


@pytest.mark.parametrize("size", [SMALL, HUGE])
async def test_where_there_is_room_each_campaign_says_how_sure_its_figures_are(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    for days, name in enumerate(("a-before", "b-driver")):
        await measured(workspace, name, days=days)
    workspace.summaries.reverse()
    workspace.probed.clear()
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        found = screen._found
        assert found is not None
        ((place, case), *_) = found.cases()
        panel = verdict_panel(case, place, found, 100).plain
        assert re.search(r"^median +1: [\d.,]+ +2: [\d.,]+$", panel, re.MULTILINE)
        told = figures_text(found).plain.strip().splitlines()
        assert told[0] == "Figures"
        assert [line[:6] for line in told[1::2]] == ["  1 n ", "  2 n "]
        assert all(line.startswith("    grades ") for line in told[2::2])
        if size == SMALL:
            await pilot.press("v", "v")
        await until(pilot, lambda: "Environments" in screen.query_one("#campaigns", Details).text)
        shown = screen.query_one("#campaigns", Details).text
        assert shown.endswith("\n".join(told)) == (size == HUGE)


async def test_a_help_that_opened_before_they_were_read_says_what_is_so_then(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three(workspace)
    go = read_when_told(workspace, monkeypatch)
    async with console(workspace, HUGE) as (app, pilot):
        await compare_two(app, pilot)
        await pilot.press("question_mark")
        await until(pilot, partial(shows, app, "Not now: the campaigns are being read"))
        go.set()
        await until(pilot, lambda: not shows(app, "the campaigns are being read"))
        assert not shows(app, "Not now: the campaigns")


async def test_the_title_says_in_doubt_in_words_beside_what_one_side_alone_has(
    workspace: FakeWorkspace,
) -> None:
    await measured(workspace, "b", speed=0.9, days=1)
    await measured(workspace, "2026-11-21-resnet50-graphs")
    workspace.probed.clear()
    async with console(workspace) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        assert screen._found is not None
        found = with_cases(
            screen._found,
            lambda case: (
                replace(case, verdict=Verdict.IMPROVEMENT, other_machines=True),
                replace(case, ground=Ground.NOT_IN_CANDIDATE, verdict=Verdict.INSUFFICIENT),
            ),
        )
        title = title_words(found, 74)
        assert "1 in doubt · 1 on one side" in title


async def test_no_row_has_the_sentence_that_the_panel_verdict_tells(
    workspace: FakeWorkspace,
) -> None:
    await measured(workspace, "b", speed=0.9, days=1)
    await measured(workspace, "a")
    workspace.probed.clear()
    async with console(workspace, HUGE) as (app, pilot):
        await open_compare(app, pilot, 2)
        await until(pilot, lambda: shows(app, "the geometric means"))
        table = app.screen.query_one(KeyedTable)
        told = [str(table.get_cell(row, "verdict")) for row in table.shown_keys]
        assert told
        assert not any("geometric" in text for text in told)
