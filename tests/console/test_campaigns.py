from __future__ import annotations

import json
import re
import shutil
import threading
import time
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.selection import Selection
from backends.campaign.record.lock import CampaignLockedError
from backends.inventory.host_entry import Inventory
from backends.results.numbers import readable
from backends.results.past_result import fastest
from backends.use_cases import Workspace
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
    tick,
    until,
)
from tests.console.fakes import START, FakeController, FakeSummary, FakeWorkspace
from tui.app import DlperfApp
from tui.cli.program import main
from tui.dialog_keys import DIALOGS
from tui.key_bindings import key_name
from tui.screens.campaign_list import CampaignList, Unfinished
from tui.screens.campaign_text import (
    BY_AGE,
    Listed,
    campaign_rows,
    chosen_words,
    summary_words,
)
from tui.screens.dialogs import Choice
from tui.screens.help import help_of
from tui.text import cell, without_middles
from tui.theme import BAD, GOOD, WARN
from tui.widgets.filter_table import FilterLine
from tui.widgets.keybar import offered
from tui.widgets.keyed_table import KeyedTable


async def prepared(workspace: FakeWorkspace, state: str, name: str = "left") -> FakeController:
    await workspace.probe()
    workspace.probed.clear()
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 2))
    controller = workspace.controller(plan, name)
    workspace.summaries.append(FakeSummary(name, controller.path, state, 1, 2, START))
    return controller


async def test_what_is_at_work_here_is_not_resumed_and_what_is_elsewhere_may_be(
    workspace: FakeWorkspace,
) -> None:
    ours = await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("r")
        await until(pilot, lambda: app.session.controller is ours)
        workspace.summaries[0] = replace(workspace.summaries[0], state="live")
        await prepared(workspace, "live", "other")
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await until(pilot, lambda: app.screen.query_one(KeyedTable).current_key == str(ours.path))
        assert not shows(app, "r Resume")
        await pilot.press("r")
        await until(pilot, partial(shows, app, "r Resume: it is at work here"))
        await pilot.press("j")
        await until(pilot, partial(shows, app, "r Resume"))
        assert workspace.resumed == [(ours.path, False)]


async def test_on_start_unfinished_campaigns_are_offered_and_r_resumes(
    workspace: FakeWorkspace,
) -> None:
    controller = await prepared(workspace, "unfinished")
    await prepared(workspace, "finished", "done")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        shown = screen_text(app)
        assert "re-attaches to runs" in " ".join(shown.split())
        assert "left" in shown
        assert "1/2" in shown
        assert "finished  done" not in shown
        await pilot.press("r")
        await until(pilot, lambda: app.current_mode == "runs")
        assert workspace.resumed == [(controller.path, False)]
        assert app.session.controller is controller


async def test_of_a_demo_that_is_gone_nothing_is_promised_to_go_on(
    workspace: FakeWorkspace,
) -> None:
    workspace.simulated = True
    await prepared(workspace, "unfinished")
    workspace.summaries = [replace(one, simulated=True) for one in workspace.summaries]
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "went with the demo"))
        assert "re-attaches" not in screen_text(app)


@pytest.mark.parametrize("simulated", [False, True])
async def test_what_is_ignored_at_the_start_is_there_again_by_the_key_that_is_named(
    workspace: FakeWorkspace, *, simulated: bool
) -> None:
    await prepared(workspace, "unfinished")
    workspace.simulated = simulated
    workspace.summaries = [replace(one, simulated=simulated) for one in workspace.summaries]
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, lambda: "O has them again" in " ".join(screen_text(app).split()))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Unfinished))
        await pilot.press("O")
        await until(pilot, partial(shows, app, "◌ unfinished"))


@pytest.mark.parametrize("key", ["enter", "o"])
async def test_an_unfinished_campaign_is_opened_to_look_at_by_enter_as_anywhere(
    workspace: FakeWorkspace, key: str
) -> None:
    controller = await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press(key)
        await until(pilot, lambda: app.session.opened is not None)
        assert app.session.opened is not None
        assert app.session.opened.path == controller.path
        assert not workspace.resumed


async def test_of_what_was_left_no_key_does_what_its_help_does_not_name(
    workspace: FakeWorkspace,
) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        named = {name for key in DIALOGS["unfinished"].keys for name in key.keys.split(",")}
        others = {name for key in DIALOGS["campaigns"].keys for name in key.keys.split(",")} - named
        bound = set(app.screen._bindings.key_to_bindings)
        assert "space" in others
        assert not others & bound


async def test_a_campaign_of_another_console_is_followed_live_and_its_loss_is_said_once(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.FOLLOW_S", 0.02)
    controller = await prepared(workspace, "live")
    async with console(workspace, HUGE) as (app, pilot):  # a long path and its problem in one line
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        await until(pilot, partial(shows, app, "nobody at work on it"))
        assert shows(app, "0/2 runs")
        workspace.clock.tick(20)
        await until(pilot, partial(shows, app, "50%"))
        del workspace.controllers[controller.path]
        await until(pilot, partial(shows, app, "no campaign here"))
        assert shows(app, "50%")


async def test_no_campaign_is_said_only_once_all_were_looked_at(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def campaigns() -> tuple[FakeSummary, ...]:
        go_on.wait(10)
        return ()

    monkeypatch.setattr(workspace, "campaigns", campaigns)
    async with console(workspace) as (app, pilot):
        first = screen_text(app).splitlines()[0]
        go_on.set()
        assert "looking for a campaign …" in first
        await until(pilot, lambda: "no campaign" in screen_text(app).splitlines()[0])


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_what_was_left_is_let_be_by_the_keys_that_close_any_question(
    workspace: FakeWorkspace, key: str
) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press(key)
        await until(pilot, partial(shows, app, "no campaign, 1 unfinished: O"))
        assert not workspace.resumed
        assert not isinstance(app.screen, Unfinished)


async def test_a_read_only_console_offers_nothing(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace, readonly=True) as (app, pilot):
        await pilot.pause(0.1)
        assert not isinstance(app.screen, Unfinished)


@pytest.mark.parametrize(("key", "taken"), [("t", True), ("escape", False)])
async def test_a_campaign_of_another_console_is_taken_over_only_after_a_question(
    workspace: FakeWorkspace, key: str, taken: bool
) -> None:
    controller = await prepared(workspace, "unfinished")
    workspace.resume_errors.append(CampaignLockedError(controller.path, None, 12.0, True))
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "last sign 12 s ago" in screen_text(app)
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        assert ((controller.path, True) in workspace.resumed) is taken


async def test_a_resume_that_fails_is_told(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    workspace.resume_errors.append(DlperfError("the journal is empty", remedy="remove it"))
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await until(pilot, partial(shows, app, "◌ unfinished"))
        await pilot.press("r")
        await until(pilot, partial(shows, app, "the journal is empty"))
        await until(pilot, partial(shows, app, "→ remove it"))


async def test_any_campaign_can_be_looked_at_from_every_page(workspace: FakeWorkspace) -> None:
    controller = await prepared(workspace, "finished", "2026-11-01-bert")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("4", "O")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "Results · 2026-11-01-bert"))
        assert app.session.opened is not None
        assert app.session.opened.path == controller.path


async def test_without_campaigns_the_list_says_how_to_get_one(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "No campaigns yet"))


@pytest.mark.parametrize(
    ("failed", "cancelled", "symbol", "colour"),
    [
        (0, 0, "✓", GOOD),
        (1, 0, "▲", WARN),
        (2, 0, "✗", BAD),
        (0, 1, "▲", WARN),
        (1, 1, "✗", BAD),
        (0, 2, "–", WARN),
    ],
)
def test_what_failed_or_was_cancelled_is_not_green_because_it_is_finished(
    tmp_path: Path, failed: int, cancelled: int, symbol: str, colour: str
) -> None:
    lost = FakeSummary("a", tmp_path, "finished", 2, 2, failed=failed, cancelled=cancelled)
    (row,) = campaign_rows([lost], START)
    state = row.cells[1]
    told = [f"{failed} failed"] * bool(failed) + [f"{cancelled} cancelled"] * bool(cancelled)
    assert str(state) == f"{symbol} {', '.join(told) or 'finished'}"
    assert str(state.style) == colour
    said = summary_words(lost, START).plain
    assert (f"{failed} failed" in said) is bool(failed)
    assert (f"{cancelled} cancelled" in said) is bool(cancelled)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_campaigns_of_one_day_are_told_apart(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    for number, (tag, minutes) in enumerate((("1n1g", 12), ("1n2g", 200))):
        workspace.summaries.append(
            FakeSummary(
                f"2026-11-21-smoke-{number}",
                Path(f"/c/2026-11-21-smoke-{number}"),
                "finished",
                2,
                2,
                START - 60 * minutes,
                measures=f"cpu-smoke {tag}",
            )
        )
    async with console(workspace, size) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, " 12m "))
        assert shows(app, " 3h ")
        assert shows(app, "cpu-smoke 1n1g")
        await pilot.press("j")
        await until(pilot, lambda: about(app).startswith("2026-11-21-smoke-1 · "))
        assert "cpu-smoke 1n2g · 2 of 2 runs succeeded · begun 20" in about(app)


@pytest.mark.parametrize("size", [LARGE, HUGE])
async def test_tags_are_among_what_a_list_shows_first(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    name = "2026-11-21-smoke"
    one = FakeSummary(name, Path("/c") / name, "finished", 2, 2, START)
    said = About(("nightly-h200", "other"), "a note that is long " * 9)
    workspace.summaries.append(one.saying(said))
    async with console(workspace, size) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(in_one_line, app, [name, " 2/2 ", "#nightly-h200"]))


@pytest.mark.parametrize("state", ["unfinished", "live"])
def test_what_failed_in_one_that_goes_on_is_told_beside_its_state(
    tmp_path: Path, state: str
) -> None:
    (row,) = campaign_rows([FakeSummary("a", tmp_path, state, 2, 9, failed=1)], START)
    assert str(row.cells[1]).endswith(f" {state}, 1 failed")


async def test_a_finished_one_with_trouble_is_found_by_its_state(workspace: FakeWorkspace) -> None:
    (row,) = campaign_rows([FakeSummary("a", Path("/c/a"), "finished", 2, 2, failed=1)], START)
    assert row.matches(["finished", "1", "failed"])


def test_a_row_names_a_moved_campaign_by_its_directory_and_is_found_by_either_name() -> None:
    summaries = [
        FakeSummary("old", Path("/c/base"), "finished", 2, 2, simulated=sim)
        for sim in (False, True)
    ]
    rows = campaign_rows(summaries, START)
    assert [row.cells[2].plain for row in rows] == ["base", "base · SIMULATED"]
    assert all(row.matches([name]) for row in rows for name in ("base", "old"))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("state", ["finished", "unfinished", "live"])
async def test_the_state_of_a_campaign_is_whole_while_another_column_has_room(
    workspace: FakeWorkspace, size: tuple[int, int], state: str
) -> None:
    for number, lost in enumerate(((1, 0, 0), (0, 1, 1), (12, 4, 2))):
        failed, cancelled, skipped = lost
        workspace.summaries.append(
            FakeSummary(
                f"2026-11-21-smoke-{number}",
                Path(f"/c/2026-11-21-smoke-{number}"),
                state,
                20,
                20,
                START,
                failed=failed,
                cancelled=cancelled,
                skipped=skipped,
            )
        )
    async with console(workspace, size, readonly=True) as (app, pilot):
        await pilot.press("O")
        before = "" if state == "finished" else f"{state}, "
        if size == SMALL and state == "unfinished":
            before = ""  # its sign says so
        await until(pilot, partial(shows, app, f" {before}1 failed  "))
        assert shows(app, f" {before}1 skipped  ")
        whole = rf" ({before})?12 failed(, 2 cancelled, 2 skipped|, 2 cancelled(, …)?|, …)  "
        assert re.search(whole, screen_text(app)), "no word is cut, and the gravest stays"
        assert size != LARGE or shows(app, f" {before}12 failed, 2 cancelled, 2 skipped ")


@pytest.mark.parametrize("size", [SMALL, (100, 30), LARGE], ids=str)
async def test_a_state_that_is_cut_ends_so_and_is_whole_before_tags_have_room(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    for number in range(3):
        name = f"2026-11-2{number}-oneflow-resnet50"
        lost = {"failed": 2, "cancelled": 87, "skipped": 85} if number else {}
        about = About(("baseline", "v100-cluster"), "")
        path = Path(f"/c/{name}")
        workspace.summaries.append(
            FakeSummary(name, path, "finished", 100, 100, START, about=about, **lost)
        )
    async with console(workspace, size, readonly=True) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▲ 2 failed"))
        whole = shows(app, "▲ 2 failed, 2 cancelled, 85 skipped ")
        assert whole or shows(app, "▲ 2 failed, … ") or shows(app, "▲ 2 failed, 2 cancelled, … ")
        assert whole or "tags" not in app.screen.query_one(KeyedTable).shown_columns
        assert size != LARGE or whole


async def test_the_keys_of_a_finished_campaign_have_room_at_120_columns(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await list_three(workspace, app, pilot)
        for key in ("d Remove", "m Rename", "t Tag", "n Note"):
            assert shows(app, key)


def test_what_began_in_simulated_time_has_no_date_beside_the_one_in_its_name(
    tmp_path: Path,
) -> None:
    for simulated in (False, True):
        summary = FakeSummary("a", tmp_path, "finished", 2, 2, START, simulated=simulated)
        told = summary_words(summary, START + 120.0).plain
        assert "2m ago" in told
        assert told.endswith("begun 2m ago by your clock") == simulated
        assert ("by your clock" in told) == simulated


def test_a_name_that_says_simulated_says_it_once(tmp_path: Path) -> None:
    for name in ("a", "2026-11-23-SIMULATED-demo"):
        (row,) = campaign_rows([FakeSummary(name, tmp_path, "finished", 2, 2, simulated=True)], 0.0)
        assert row.cells[2].plain.count("SIMULATED") == 1


NAMED = st.lists(
    st.tuples(
        st.sampled_from(["2026-11-29-", "2026-11-29-SIMULATED-", ""]),
        st.sampled_from(["oneflow", "ngc-tensorflow", "ngc-pytorch", "a", "b" * 40]),
        st.sampled_from(["-resnet50", "-resnet50-and-many-others-beside-it", "", "-2", "-21"]),
    ).map("".join),
    min_size=2,
    max_size=9,
    unique=True,
)


@pytest.mark.parametrize("days", [("2026-11-30",), ("2026-11-29", "2026-11-30")])
def test_of_names_what_all_share_is_left_out_before_anything_by_which_they_differ(
    days: tuple[str, ...],
) -> None:
    ends = ("torch-resnet50-2", "pytorch-resnet50", "a")
    names = [f"{day}-SIMULATED-{end}" for day in days for end in ends]
    cut = without_middles([cell(name) for name in names], 22)
    for name, said in cut.items():
        if len(name) <= 22:
            assert said.plain == name
            continue
        assert said.plain.endswith(f"…{name.partition('SIMULATED-')[2]}")
        assert len(days) == 1 or said.plain.startswith(f"…{name[8:10]}…")


@given(st.lists(st.text("abc-", min_size=1, max_size=30), min_size=2, max_size=9, unique=True))
def test_a_name_without_room_loses_the_date_that_it_begins_with_before_anything_else(
    ends: list[str],
) -> None:
    ends = [f"x{end}y" for end in ends]
    names = [f"2026-11-{day:02}-{end}" for day, end in enumerate(ends, 1)]
    width = max(map(len, ends)) + 1
    cut = without_middles([cell(name) for name in (*names, "two-cores")], width)
    for name, end in zip(names, ends, strict=True):
        assert cut[name].plain == (name if len(name) <= width else f"…{end}")


@pytest.mark.parametrize("keeper", [False, True])
@pytest.mark.parametrize("ours", [False, True])
def test_of_a_live_campaign_it_is_said_who_goes_on_with_it(keeper: bool, ours: bool) -> None:
    live = FakeSummary("a", Path("a"), "live", 1, 2, keeper=keeper)
    said = chosen_words(live, START, ours=ours).plain
    who = ("another console, or a command, goes on with it", "at work here")[ours]
    assert ("a keeper goes on with it" if keeper else who) in said
    over = replace(live, state="unfinished")
    assert "goes on with it" not in chosen_words(over, START).plain


@given(NAMED, st.integers(12, 60))
@example(["…", "a…"], 12)
def test_no_two_names_are_cut_to_the_same(names: list[str], width: int) -> None:
    texts = [cell(name, "bold") for name in names]
    cut = without_middles(texts, width)
    assert len({cut[name].plain for name in names}) == len(names)
    assert all(cut[name].cell_len <= width for name in names)
    if all(cell_len(name) <= width for name in names):
        assert all(cut[name].plain == name for name in names)


def test_names_that_are_cut_keep_what_they_differ_in() -> None:
    names = [f"2026-11-29-SIMULATED-{which}-resnet50-again" for which in ("oneflow", "paddle")]
    cut = without_middles([cell(name) for name in names], 27)
    for name in names:
        begin, *rest = cut[name].plain.split("…")
        assert name.startswith(begin)
        assert rest[0].startswith(("oneflow"[:5], "paddle"[:5])), cut[name]
        assert name.endswith(rest[-1])


@pytest.mark.parametrize("width", [80, 90, 104, 120, 150])
async def test_the_list_tells_campaigns_apart_and_what_is_simulated_whatever_the_state_of_one(
    workspace: FakeWorkspace, width: int
) -> None:
    names = [
        f"2026-11-29-SIMULATED-{which}-resnet50{again}"
        for which in ("oneflow", "paddle", "ngc-tensorflow", "ngc-pytorch")
        for again in ("", "-2")
    ]
    names += [f"2026-11-29-SIMULATED-of-a-{many}-and-more-behind-resnet50" for many in ("1", "2")]
    for number, name in enumerate((*names, "2026-11-29-of-a-name-that-says-nothing-of-it-at-all")):
        path = Path(f"/c/{name}")
        lost = {"cancelled": 2, "skipped": 1, "failed": 1} if number == 1 else {}
        workspace.summaries.append(
            FakeSummary(name, path, "finished", 9, 9, START, simulated=True, **lost)
        )
    async with console(workspace, (width, 24)) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        table = app.screen.query_one(KeyedTable)
        shown = [str(table.get_row(key)[2]) for key in table.shown_keys]
        assert len(set(shown)) == len(shown)
        if width == 80:
            whole = {name[11:] for name in names if len(name) <= 40}
            assert len(whole) == 4
            told = {one.removeprefix("2026-11-29-").removeprefix("…") for one in shown}
            assert whole <= told, "the state gives way before a name does"
        for summary in workspace.summaries:
            await until(pilot, lambda path=summary.path: table.current_key == str(path))
            await until(pilot, lambda name=summary.name: about(app).startswith(name))
            assert "SIMULATED" in about(app).partition(summary.measures)[0]
            assert "SIMULATED" in screen_text(app)
            await pilot.press("j")


def about(app: DlperfApp) -> str:
    """Below the list, of the campaign under the cursor."""
    return str(app.screen.query_one(".chosen", Static).content)


async def list_three(workspace: FakeWorkspace, app: DlperfApp, pilot: Pilot[str]) -> None:
    """Finished campaigns, in the list: c0, c1, c2."""
    for number in range(3):
        path = Path(f"/c/c{number}")
        workspace.summaries.append(FakeSummary(f"c{number}", path, "finished", 2, 2))
    await pilot.press("O")
    await until(pilot, partial(shows, app, "✓ finished"))


async def test_space_marks_and_stays_as_on_the_matrix(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await list_three(workspace, app, pilot)
        await pilot.press("j", "space")
        await until(pilot, partial(shows, app, "1 marked"))
        assert app.screen.query_one(KeyedTable).current_key == "/c/c1"
        await pilot.press("space")
        await until(pilot, lambda: "1 marked" not in screen_text(app))


async def test_marks_that_a_filter_hides_are_told(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await list_three(workspace, app, pilot)
        await pilot.press("space", "j", "space", "j", "space")
        await until(pilot, partial(shows, app, "3 marked"))
        await pilot.press(*"/c1", "enter")
        await until(pilot, partial(shows, app, "3 marked, 2 of them hidden"))
        await pilot.press("escape")
        await until(pilot, lambda: "hidden" not in screen_text(app))
        assert shows(app, "3 marked")


@pytest.mark.parametrize("sought", ["", "c1", "none"])
async def test_a_key_marks_all_that_the_filter_leaves_and_takes_these_marks_away_again(
    workspace: FakeWorkspace, sought: str
) -> None:
    path = Path("/c/c1-empty")  # which nothing can be compared with
    workspace.summaries.append(FakeSummary("c1-empty", path, "finished", 0, 0))
    async with console(workspace) as (app, pilot):
        await list_three(workspace, app, pilot)
        await pilot.press("G", "space")
        hidden = {app.screen.query_one(KeyedTable).current_key}
        if sought:
            await pilot.press("slash", *sought, "enter")
        matching = {f"/c/c{number}" for number in range(3) if sought in f"c{number}"}
        marked = app.session.marked
        await pilot.press("asterisk")
        assert {*map(str, marked)} == hidden | matching
        await until(pilot, partial(shows, app, f"{len(hidden | matching)} marked"))
        await pilot.press("asterisk")
        assert {*map(str, marked)} == (hidden | matching) - matching


EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.mark.parametrize("size", [LARGE, HUGE])
async def test_a_list_has_the_fastest_case_of_each_as_its_results_have_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    workspace = Workspace(Inventory(()), None, EXAMPLES)
    workspace.past.read()
    summaries = workspace.campaigns()
    async with console(FakeWorkspace(EXAMPLES), size) as (app, pilot):
        fake = app.session.workspace
        fake.summaries += summaries  # type: ignore[attr-defined]
        await pilot.press("O")
        for summary in summaries:
            told = json.loads((summary.path / "results.json").read_text())["results"]
            best = max(told, key=lambda case: case["throughput"] or 0.0)
            figure = f"{best['case']} {readable(best['throughput'])} {best['unit']}"
            base = best["case"] == best["base"] or best["speedup"] is None
            speedup = "–" if base else f"{best['speedup']:.2f}"
            words = [figure, *([] if base else [speedup]), best["grade"]]
            await until(pilot, partial(in_one_line, app, [summary.path.name, *words]))
            below = summary_words(summary, START, workspace.past.by_campaign).plain
            assert f"fastest {best['case']}" in below
            assert all(str(value) in below for value in best["parameters"].values())
    await workspace.close()


@pytest.mark.parametrize("length", range(36, 54, 3))
async def test_what_columns_there_are_is_the_same_whatever_the_state_of_one(length: int) -> None:
    workspace = Workspace(Inventory(()), None, EXAMPLES)
    workspace.past.read()
    summaries = [one for one in workspace.campaigns() if len(one.path.name) < 32]
    path = Path(f"/c/{'a' * length}")
    shown = {}
    for failed in (0, 1):
        one = FakeSummary(path.name, path, "live", 4, 6, START, failed=failed)
        async with console(FakeWorkspace(EXAMPLES), LARGE, readonly=True) as (app, pilot):
            fake = app.session.workspace
            fake.summaries += [one, *summaries]  # type: ignore[attr-defined]
            await pilot.press("O")
            await until(pilot, partial(shows, app, "✓ finished"))
            await until(pilot, partial(shows, app, "1 failed  " if failed else "▶ live  "))
            await until(pilot, partial(shows, app, " B "))
            columns = app.screen.query_one(KeyedTable).ordered_columns
            shown[failed] = [str(column.label) for column in columns]
    assert shown[0] == shown[1]
    await workspace.close()


def in_one_line(app: DlperfApp, words: list[str]) -> bool:
    return any(all(word in line for word in words) for line in screen_text(app).splitlines())


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_figures_have_no_columns_where_nothing_was_measured(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    workspace.summaries.append(FakeSummary("c", Path("/c"), "unfinished", 0, 2))
    async with console(workspace, size) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape", "O")
        await until(pilot, partial(shows, app, "◌ unfinished"))
        columns = app.screen.query_one(KeyedTable).ordered_columns
        shown = {str(column.label) for column in columns} - {""}
        assert shown <= {"State", "Campaign", "Runs", "Measures", "Age"}


async def test_every_key_that_works_is_named_at_80_columns(workspace: FakeWorkspace) -> None:
    await prepared(workspace, "unfinished")
    async with console(workspace, SMALL) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        await pilot.press("escape", "O")
        await until(pilot, partial(shows, app, "b Keeper"))
        (foot,) = (line for line in screen_text(app).splitlines() if "b Keeper" in line)
        assert "? Help ─╯" in foot, "one line, on the frame"
        assert "S Reverse" not in screen_text(app), "nor another above it"
        paper = Console(width=100)
        with paper.capture() as told:
            paper.print(help_of(app.screen))
        explained = "".join(told.get().split())
        for key in offered(app.screen):
            there = f"{key_name(key)} {key.label}" in foot
            assert there or "".join(key.help.split()) in explained, key.label


async def test_at_80_columns_names_are_whole_and_the_grade_is_told(
    tmp_path: Path,
) -> None:
    workspace = Workspace(Inventory(()), None, EXAMPLES)
    workspace.past.read()
    summaries = workspace.campaigns()
    async with console(FakeWorkspace(EXAMPLES), SMALL) as (app, pilot):
        app.session.workspace.summaries += summaries  # type: ignore[attr-defined]
        await pilot.press("O")
        for one in summaries[:9]:
            best = fastest(workspace.past.by_campaign[one.path])
            assert best is not None
            await until(pilot, partial(in_one_line, app, [one.path.name, f" {best.grade} "]))
        about = app.screen.query_one(".chosen", Static)
        for one in summaries:
            await until(pilot, partial(told_of, app, about, one.path.name))
            await pilot.pause()
            assert app.screen.find_widget(about).visible_region.height == about.region.height
            await pilot.press("down")
    await workspace.close()


def told_of(app: DlperfApp, about: Static, name: str) -> bool:
    return str(about.content).startswith(f"{name} ·") and name in screen_text(app)


def words_of(app: DlperfApp) -> str:
    return " ".join(screen_text(app).replace("│", " ").split())


async def test_a_list_says_of_which_campaigns_logs_were_removed(tmp_path: Path) -> None:
    workspace = Workspace(Inventory(()), None, tmp_path)
    shutil.copytree(EXAMPLES / "h200-x2-auto", tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "logs")
    fake = FakeWorkspace(tmp_path)
    fake.past = workspace.past
    fake.summaries += workspace.campaigns()  # type: ignore[arg-type]
    async with console(fake, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, lambda: "logs changed" in words_of(app))
    await workspace.close()


@pytest.mark.parametrize("state", ["unfinished", "live", "finished"])
async def test_a_console_that_only_looks_offers_to_look_and_nothing_else(
    workspace: FakeWorkspace, state: str
) -> None:
    controller = await prepared(workspace, state)
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "⏎ Open"))
        assert not any(words in screen_text(app) for words in ("Resume", "Keeper", "resumed"))
        await pilot.press("r", "b")
        assert isinstance(app.screen, CampaignList)
        await pilot.press("enter")
        await until(pilot, lambda: app.session.viewed_path == controller.path)
        assert not workspace.resumed


@pytest.mark.parametrize("speed", [None, 1.0, 10.0, 60.0])
async def test_ages_of_campaigns_go_by_the_time_of_who_reads_them(
    workspace: FakeWorkspace, speed: float | None
) -> None:
    """Whatever was measured before or meanwhile, and however fast simulated time flies here."""
    workspace.simulated, workspace.simulated_speed = speed is not None, speed
    workspace.summaries.append(
        FakeSummary("before", workspace.campaigns_dir / "before", "finished", 2, 2, START)
    )
    async with console(workspace, HUGE) as (app, pilot):
        await pilot.press("3")
        workspace.clock.tick(600.0 * (speed or 1.0))
        tick(app)
        await until(pilot, partial(shows, app, "begun 10m ago"))
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        workspace.clock.tick(600.0 * (speed or 1.0))
        await until(pilot, partial(shows, app, "20m ago"))


@pytest.fixture
def of_alice(workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch) -> FakeSummary:
    """A campaign at work, in a list that looks again at once."""
    monkeypatch.setattr("tui.screens.campaign_list.AGAIN_S", 0.02)
    first = FakeSummary("of-alice", workspace.campaigns_dir / "of-alice", "live", 1, 2, START)
    workspace.summaries.append(first)
    return first


async def test_the_list_shows_what_others_start_and_end_while_it_is_open(
    workspace: FakeWorkspace, of_alice: FakeSummary
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))
        await pilot.press("space")
        await until(pilot, partial(shows, app, "[x]"))
        second = FakeSummary("of-bob", workspace.campaigns_dir / "of-bob", "live", 0, 2, START)
        workspace.summaries[:] = [replace(of_alice, state="finished", done=2), second]
        await until(pilot, partial(shows, app, "✓ finished"))
        assert shows(app, "of-bob")
        assert app.screen.query_one(KeyedTable).current_key == str(of_alice.path)
        assert shows(app, "[x]")  # what is marked stays so
        workspace.summaries[:] = [second]
        await until(pilot, lambda: not shows(app, "of-alice"))
        assert not shows(app, "1 marked")


async def test_the_list_is_renewed_though_reading_it_takes_longer_than_it_waits(
    workspace: FakeWorkspace, of_alice: FakeSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "▶ live"))

        def slow() -> list[FakeSummary]:
            time.sleep(0.2)  # as a disk that is slow, or a machine that is busy
            return [replace(of_alice, state="finished", done=2)]

        monkeypatch.setattr(workspace, "campaigns", slow)
        await until(pilot, partial(shows, app, "✓ finished"))


async def test_a_filter_of_the_list_without_a_hit_says_so_and_escape_takes_it_away(
    workspace: FakeWorkspace,
) -> None:
    await prepared(workspace, "finished")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        await pilot.press("/", *"zzz", "enter")
        assert shows(app, "No campaign has these words")
        assert shows(app, "/zzz · 0 of 1")
        await pilot.press("escape")
        assert isinstance(app.screen, CampaignList)
        assert shows(app, "✓ finished")
        assert not shows(app, "/zzz")
        await pilot.press("escape")
        assert not isinstance(app.screen, CampaignList)


@pytest.mark.parametrize("sought", ["1n1g", "ONEFLOW"])
async def test_what_the_filter_found_stands_out_below_the_list_where_no_column_has_it(
    workspace: FakeWorkspace, sought: str
) -> None:
    await prepared(workspace, "finished")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        about = app.screen.query_one(".chosen", Static)
        await until(pilot, partial(shows, app, "runs succeeded"))
        told = about.visual
        await pilot.press("/", *sought)
        found = about.visual
        assert isinstance(told, Content)
        assert isinstance(found, Content)
        begin = told.plain.index(sought.casefold())
        new = [span for span in found.spans if span not in told.spans]
        assert (begin, begin + len(sought)) in [(span.start, span.end) for span in new]
        await pilot.press("escape")
        assert about.visual.spans == told.spans


@pytest.mark.parametrize(
    ("state", "key", "words"),
    [
        ("finished", "r", "r Resume: it is over"),
        ("live", "b", "b Keeper: somebody is at work on it"),
        ("finished", "c", "c Compare: space marks what is to be compared"),
    ],
)
async def test_what_cannot_be_done_to_a_campaign_says_why(
    workspace: FakeWorkspace, state: str, key: str, words: str
) -> None:
    await prepared(workspace, state)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "left"))
        await pilot.press(key)
        await until(pilot, partial(shows, app, words))


@pytest.mark.parametrize("failed", [0, 1])
@pytest.mark.parametrize("demo", [False, True])
@pytest.mark.parametrize("simulated", [False, True])
async def test_a_finished_campaign_with_failed_runs_says_how_they_are_tried_again(
    workspace: FakeWorkspace, failed: int, *, demo: bool, simulated: bool
) -> None:
    workspace.simulated = demo
    await prepared(workspace, "finished")
    only = replace(workspace.summaries[0], failed=failed, simulated=simulated)
    workspace.summaries = [only]
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "left"))
        dialog = app.screen
        assert isinstance(dialog, CampaignList)
        again = failed and not demo and not simulated
        how = "; t on Runs tries a failed run again" * again
        assert dialog.not_now("resume") == f"it is over{how}"
        assert dialog.not_now("keep") == "it is over"


@pytest.mark.parametrize(
    ("demo", "simulated", "state", "said"),
    [
        *((demo, sim, "finished", "it is over") for demo in (0, 1) for sim in (0, 1)),
        *((demo, not demo, "live", "somebody is at work on it") for demo in (0, 1)),
        (1, 0, "unfinished", "its hosts are real, and a demo has none of them"),
        (0, 1, "unfinished", "its hosts were simulated: 'dlperf-tui demo' goes on with it"),
    ],
)
@pytest.mark.parametrize("action", ["resume", "keep"])
async def test_why_a_campaign_does_not_go_on_here_is_first_what_is_so_of_it(
    workspace: FakeWorkspace, demo: int, simulated: int, state: str, said: str, action: str
) -> None:
    workspace.simulated = bool(demo)
    await prepared(workspace, state)
    workspace.summaries = [replace(one, simulated=bool(simulated)) for one in workspace.summaries]
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, partial(shows, app, "left"))
        dialog = app.screen
        assert isinstance(dialog, CampaignList)
        assert not dialog.able(action)
        assert said in dialog.not_now(action)


async def test_a_campaign_is_replayed_in_the_consoles_place_and_the_list_comes_back(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await prepared(workspace, "finished", "done")
    (summary,) = workspace.summaries
    summary.path.mkdir(parents=True, exist_ok=True)
    recorded = Path(__file__).parents[2] / "docs" / "examples" / "h200-x2-resnet50-compile"
    for name in ("events.jsonl", "campaign.toml", "environment.json"):
        (summary.path / name).write_bytes((recorded / name).read_bytes())
    lent: list[list[str]] = []

    async def lend(
        _app: object, command: list[str], *, overhear: bool, leads_back: bool, says: str
    ) -> tuple[int, str]:
        assert says == f"opening the replay of {summary.path.name} …"
        assert overhear, "what it says of a problem is not covered by the console"
        assert leads_back, "and says so"
        lent.append(command)
        return (2, "dlperf-tui: error: its log is gone") if len(lent) > 1 else (0, "")

    monkeypatch.setattr("tui.lent_terminal.lend_terminal", lend)
    async with console(workspace) as (app, pilot):
        await pilot.press("O", "p")  # typed ahead: it starts nothing
        await until(pilot, lambda: bool(lent))
        assert isinstance(app.screen, CampaignList)
        await pilot.press("p")
        await until(pilot, partial(shows, app, "its log is gone"))
        assert isinstance(app.screen, CampaignList)
    assert lent[0] == lent[1]
    assert lent[0][-2:] == ["replay", str(summary.path)]
    words = lent[0][lent[0].index("--campaigns") :]
    del words[(at := words.index("--inventory")) : at + 2]  # there is none
    assert main(words) == 2, "a test has no terminal"
    assert f"dlperf-tui report {summary.path}" in capsys.readouterr().err, "it was found"


async def test_an_order_asked_for_before_the_list_is_there_is_its_order(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    summaries = [FakeSummary(name, tmp_path / name, "finished", 2, 2) for name in "bac"]
    async with console(workspace, LARGE) as (app, pilot):
        await settled(app)
        shown = CampaignList("Campaigns", app.session, summaries)
        app.push_screen(shown)
        shown.action_sort()  # by a key that was typed ahead
        shown.action_reverse()
        await until(pilot, lambda: shown.here)
        await settled(app)
        table = shown.query_one(KeyedTable)
        assert [Path(key).name for key in table._keys] == ["c", "b", "a"]


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_marking_moves_no_column_and_what_is_typed_to_filter_is_in_sight(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    workspace = Workspace(Inventory(()), None, EXAMPLES)
    workspace.past.read()
    async with console(FakeWorkspace(EXAMPLES), size) as (app, pilot):
        fake = app.session.workspace
        fake.summaries += workspace.campaigns()  # type: ignore[attr-defined]
        await pilot.press("O")
        await until(pilot, partial(shows, app, "B  "))
        table = app.screen.query_one(KeyedTable)

        def columns() -> list[tuple[str, int]]:
            return [(str(one.label), one.width) for one in table.ordered_columns]

        before = columns()
        heading = next(line for line in screen_text(app).splitlines() if " Campaign  " in line)
        await pilot.press("space")
        assert columns() == before
        assert heading in screen_text(app)
        assert screen_text(app).count("─ Campaigns") == 1
        await pilot.press("/", "h", "2", "0")
        assert shows(app, "Campaigns · 1 marked, hidden · /h20 · 13 of 17")
        region = app.screen.query_one(FilterLine).region
        assert screen_text(app).splitlines()[region.y][region.x : region.right].strip() == "h20"
        await pilot.press("enter", "end")
        current = table.current_key or ""
        assert shows(app, Path(current).name), "the last row is above it"
    await workspace.close()


@example(tagged={0, 2, 4}, noted={1}, long={1}, sought="even")
@example(tagged={1}, noted={0, 2}, long={3}, sought="even")
@given(
    tagged=st.sets(st.integers(0, 7)),
    noted=st.sets(st.integers(0, 7)),
    long=st.sets(st.integers(0, 7)),
    sought=st.sampled_from(["even", "odd", "campaign", "b0"]),
)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_columns_of_a_filtered_list_are_those_of_what_it_shows_and_none_is_empty(
    tmp_path_factory: pytest.TempPathFactory,
    tagged: set[int],
    noted: set[int],
    long: set[int],
    sought: str,
) -> None:
    def summary(n: int) -> FakeSummary:
        name = f"campaign-b{n}-{'odd' if n % 2 else 'even'}{'-and-more' * 6 * (n in long)}"
        about = About(("baseline",) * (n in tagged), "a note of some words" * (n in noted))
        return FakeSummary(name, Path(f"/c/{name}"), "finished", 2, 2, START, about=about)

    every = [summary(n) for n in range(8)]
    shown = []
    for listed in (every, [one for one in every if sought in one.name]):
        workspace = FakeWorkspace(tmp_path_factory.mktemp("campaigns"))
        workspace.summaries = listed
        async with console(workspace, HUGE) as (app, pilot):
            await pilot.press("O")
            await pilot.press("slash", *sought, "enter")
            table = app.screen.query_one(KeyedTable)
            shown.append([(str(one.label), one.width) for one in table.ordered_columns])
            there = [one for one in listed if str(one.path) in table.shown_keys]
            assert len(there) == len([one for one in every if sought in one.name])
            labels = {label for label, _ in shown[-1]}
            assert any(one.about.tags for one in there) or "Tags" not in labels
            assert any(one.about.note for one in there) or "Remarks" not in labels
    assert shown[0] == shown[1]


async def test_what_was_left_unfinished_stays_all_that_is_asked_about_and_goes_when_none_is(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the list is read again meanwhile."""
    monkeypatch.setattr("tui.screens.campaign_list.AGAIN_S", 0.02)
    left = FakeSummary("left", workspace.campaigns_dir / "left", "unfinished", 1, 2, START)
    others = [
        FakeSummary(name, workspace.campaigns_dir / name, state, 1, 2, START)
        for name, state in (("live-elsewhere", "live"), ("over", "finished"))
    ]
    made_up = replace(left, name="demo", path=workspace.campaigns_dir / "demo", simulated=True)
    workspace.summaries = [others[0], left, others[1], made_up]
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Unfinished))
        asked = app.screen
        assert isinstance(asked, Unfinished)
        for number in range(3):
            workspace.summaries = [*workspace.summaries, replace(others[1], name=f"new{number}")]
            await until(pilot, lambda: asked._summaries == [left])
            await settled(app)
            assert asked.query_one(KeyedTable)._keys == [str(left.path)]
        workspace.summaries = others
        await until(pilot, lambda: app.screen is not asked)


def test_by_state_campaigns_with_the_same_trouble_stand_together(tmp_path: Path) -> None:
    lost = [(f, c) for f in (0, 1, 2) for c in (0, 1)] * 2
    found = [
        FakeSummary(str(n), tmp_path, "finished", 3, 3, failed=failed, cancelled=cancelled)
        for n, (failed, cancelled) in enumerate(lost)
    ]
    by_state = BY_AGE
    while by_state.by != "state":
        by_state = by_state.next
    in_order = [one.summary for one in by_state.of(map(Listed, found))]
    troubles = [(bool(one.failed), bool(one.cancelled)) for one in in_order]
    assert [trouble for trouble, _ in groupby(troubles)] == sorted(set(troubles), reverse=True)


@pytest.mark.parametrize("viewed", [None, 0, 2])
async def test_the_list_begins_at_the_campaign_in_view(
    workspace: FakeWorkspace, viewed: int | None
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 1))
    paths = [workspace.controller(plan, f"2026-11-2{day}-resnet50").path for day in (3, 2, 1)]
    workspace.summaries = [FakeSummary(path.name, path, "finished", 1, 1) for path in paths]
    async with console(workspace, LARGE) as (app, pilot):
        if viewed is not None:
            await app.session.open(paths[viewed])
        await pilot.press("O")
        await until(pilot, partial(shows, app, "✓ finished"))
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: table.current_key == str(paths[viewed or 0]))
        await pilot.press("j")  # and goes where it is moved, whatever is read meanwhile
        moved = str(paths[min(2, (viewed or 0) + 1)])
        app.screen.show(tuple(workspace.summaries))  # type: ignore[attr-defined]
        await until(pilot, lambda: table.current_key == moved)


async def test_what_goes_on_or_ends_here_is_told_in_the_open_list_as_behind_it(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.campaign_list.AGE_S", 0.02)
    controller = await prepared(workspace, "live")
    live = replace(workspace.summaries.pop(), done=0)

    def on_disk() -> list[FakeSummary]:
        now = controller.snapshot()
        return [replace(live, done=now.done, state="finished" if now.finished else "live")]

    monkeypatch.setattr(workspace, "campaigns", on_disk)
    async with console(workspace, LARGE) as (app, pilot):
        app.session.controller = controller
        await pilot.press("O")
        await until(pilot, partial(shows, app, "0 of 2 runs succeeded"))
        while not controller.snapshot().finished:
            workspace.clock.tick(10)
        await until(pilot, partial(shows, app, "2 of 2 runs succeeded"))
        await until(pilot, partial(shows, app, "✓ finished"))
