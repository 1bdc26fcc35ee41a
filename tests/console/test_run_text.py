"""The list of runs, as it stands while a campaign goes on."""

from __future__ import annotations

import re
from array import array
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from backends.campaign.record import run_view
from backends.campaign.record.run_record import Series
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import ChartSeries
from backends.campaign.record.status_view import CampaignSnapshot
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    tick,
    until,
)
from tests.console.fakes import FakeWorkspace
from tui.cli.shared.campaign_rows import run_rows
from tui.screens.run_panels import units_of
from tui.screens.run_text import COLUMNS, RunRows, latest_figures, no_log, run_columns
from tui.screens.runs_page import RunsPage
from tui.text import Hanging, begun_in, cell, shorten, without_middle
from tui.theme import MUTED
from tui.widgets.keyed_table import KeyedTable


@pytest.mark.parametrize("readings", [0, 9])
@pytest.mark.parametrize("logged", [True, False])
async def test_a_log_that_was_removed_is_not_said_to_have_never_been(
    workspace: FakeWorkspace, tmp_path: Path, readings: int, *, logged: bool
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3")
        tick(app)
        assert app.session.viewed is not None
        run = replace(
            app.session.viewed.runs[0],
            state=RunState.SUCCEEDED,
            readings=readings,
            log=tmp_path / "gone.log" if logged else None,
        )
        assert ("missing" in no_log(run)) is bool(logged and readings)
        assert ("left no log" in no_log(run)) is not bool(logged and readings)


SIZES = (SMALL, LARGE, HUGE)
PROFILES = (
    "ngc-pytorch-resnet50",
    "ngc-tensorflow-resnet50",
    "oneflow-resnet50",
    "paddle-resnet50",
)
REASON = "stalled: no reading for 10m"
LONG_REASON = "CUDA out of memory: tried to allocate 2.00 GiB on GPU 3 of sim2, 61 MiB of it free"


def of_several_profiles(viewed: CampaignSnapshot, reason: str = REASON) -> CampaignSnapshot:
    runs = [replace(run, profile=PROFILES[n % len(PROFILES)]) for n, run in enumerate(viewed.runs)]
    runs[1] = replace(
        runs[1],
        state=RunState.FAILED,
        state_text="failed",
        reason=reason,
        throughput=None,
        throughput_now=None,
        progress=None,
        eta_s=None,
        elapsed_s=99.0,
        hosts=("sim2",),
    )
    return replace(viewed, runs=tuple(runs))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("size", SIZES)
async def test_columns_stand_still_from_the_first_run_to_the_last(
    workspace: FakeWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    several: bool,
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        if several:
            of_one = controller.snapshot
            monkeypatch.setattr(controller, "snapshot", lambda: of_several_profiles(of_one()))
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        table = app.screen.query_one("#runs", KeyedTable)
        seen: list[dict[str, int]] = []
        while True:
            viewed = controller.snapshot()
            tick(app)
            await pilot.pause()
            seen.append({column.key: width for column, width in table._layout()})
            if viewed.finished:
                break
            workspace.clock.tick(7)
        assert len(seen) > 10
        *before, over = seen
        assert all(one == seen[0] for one in before), seen
        assert over.keys() >= seen[0].keys() - {"eta"}, "nothing is estimated of what is over"
        assert "eta" not in over


@pytest.mark.parametrize("size", SIZES)
async def test_rows_of_several_profiles_tell_repeat_and_reason_whole(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(20)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        viewed = of_several_profiles(controller.snapshot(), REASON)
        table = app.screen.query_one("#runs", KeyedTable)
        table.refill(RunRows()(viewed), run_columns(viewed))
        table.move_cursor(row=0)
        await pilot.pause()
        region = table.region
        lines = screen_text(app).splitlines()[region.y + 1 : region.bottom]
        shown = "\n".join(line[: region.right] for line in lines)
        numbers = [run.label.partition("#")[2] for run in viewed.runs]
        assert re.findall(r" \dn\dg b128 \w+ #(\d+) ", shown) == numbers[: region.height - 1]
        assert REASON in shown
        assert "resnet50" not in shown
        assert RunRows().shared(viewed) == "profile names without …-resnet50"


@pytest.mark.parametrize("width", [80, 90, 100, 120, 160, 200])
@pytest.mark.parametrize("words", [REASON, LONG_REASON, "node2: connection lost 12s ago, retrying"])
async def test_a_reason_is_cut_only_where_its_row_has_no_blank_left(
    workspace: FakeWorkspace, width: int, words: str
) -> None:
    async with console(workspace, (width, 24)) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(20)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        viewed = of_several_profiles(controller.snapshot(), words)
        if "lost" in words:
            first, failed, *rest = viewed.runs
            lost = replace(first, state_text=words, doing="", brief=words)
            assert lost.throughput_now is not None
            viewed = replace(viewed, runs=(failed, lost, *rest))
        table = app.screen.query_one("#runs", KeyedTable)
        table.refill(RunRows()(viewed), run_columns(viewed))
        await pilot.pause()
        line = next(one for one in screen_text(app).splitlines() if words[:9] in one)
        begins = line.index(words[:9])
        room = cell_len(line) - 2 - begins
        assert words in line or (room - 4 <= cell_len(words) and "  " not in line[begins:-4])


@pytest.mark.parametrize("width", [80, 84, 90, 100, 110, 120, 160])
async def test_another_attempt_takes_no_column_away(workspace: FakeWorkspace, width: int) -> None:
    async with console(workspace, (width, 24)) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(20)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        page, viewed = app.screen, controller.snapshot()
        assert isinstance(page, RunsPage)
        table = app.screen.query_one("#runs", KeyedTable)
        before = table.shown_columns
        assert "elapsed" in before
        first, *others = viewed.runs
        again = replace(first, attempt=2, run_id="again", label=f"{first.label} attempt 2")
        page._fill(replace(viewed, runs=(first, again, *others)))
        await pilot.pause()
        assert table.shown_columns == before
        called = re.compile(r"1n1g.*#1 (attempt 2|a2) ")
        (line,) = (one for one in screen_text(app).splitlines() if called.search(one))
        assert re.search(r"[━╸┄] ≈\d+%", line)


@given(st.integers(8, 40), st.integers(2, 30))
def test_the_word_attempt_goes_before_anything_of_a_name(width: int, number: int) -> None:
    name = "1n8g b256 fp32 #1"
    shown = without_middle(cell(f"{name} attempt {number}"), width).plain
    whole, short = f"{name} attempt {number}", f"{name} a{number}"
    fits = next((one for one in (whole, short) if cell_len(one) <= width), None)
    assert cell_len(shown) <= width
    assert shown == fits or (fits is None and "…" in shown and shown.endswith(f"a{number}"))


@pytest.mark.parametrize("longer", [1, 2, 4, 6, 8, 12])
async def test_words_behind_a_bar_are_whole_where_names_have_become_shorter(
    workspace: FakeWorkspace, longer: int
) -> None:
    """Their column stands still, and what it leaves is less than they need."""
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(20)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        table, rows = app.screen.query_one("#runs", KeyedTable), RunRows()
        viewed = controller.snapshot()
        first, *others = viewed.runs
        done = replace(first, state=RunState.SUCCEEDED, state_text="succeeded", progress=1.0)
        runs = (done, *others)
        named = tuple(
            replace(run, profile="p" * longer + "ab"[n % 2] + "x") for n, run in enumerate(runs)
        )
        for shown in (named, runs[:-1]):
            at = replace(viewed, runs=shown)
            table.refill(rows(at, SMALL[0]), run_columns(at, rows.enough))
            await pilot.pause()
            lines = screen_text(app).splitlines()
            bars = [line for line in lines if re.search("[━┄]{3}", line)]
            assert bars
            assert all(re.search(r"[━╸┄] (done|≈\d+%|0%) ", line) for line in bars), bars


def test_the_units_of_many_curves_cost_none_of_their_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cursor that moves asks for them, and a chart draws the points of five."""

    def spread(times: array[float], start: float) -> list[float]:
        raise AssertionError("the points of a curve are made")

    monkeypatch.setattr(run_view, "spread", spread)
    begun, none_yet = Series(1, array("d", [1.0]), array("d", [385.1])), Series()
    curves = [ChartSeries(f"r{n}", "", "images/s", begun) for n in range(64)]
    last = ChartSeries("last", "", "tokens/s", begun)
    waits = ChartSeries("waits", "", "sentences/s", none_yet)
    assert units_of([*curves, waits, last], "r3") == ["images/s", "tokens/s"]
    assert units_of([*curves, waits, last], "last") == ["tokens/s", "images/s"]
    assert units_of([waits], "waits") == []


@given(st.text("a/_ 漢\u0301", max_size=60), st.integers(1, 30), st.integers(0, 3))
def test_words_of_any_cells_are_laid_out_in_any_width_and_none_is_lost(
    words: str, width: int, deeper: int
) -> None:
    """One of two cells in a column of one as well: the console waited for ever."""
    out = Console(width=width, file=StringIO())
    out.print(Hanging(Text(words), deeper), soft_wrap=False)
    shown = "".join(out.file.getvalue().split())  # type: ignore[attr-defined]
    assert [*shown] == [*"".join(words.split())] or width <= deeper + 2


@given(st.lists(st.integers(0, 99_999) | st.sampled_from(["for", "GPU", "9.5", "1,204"])))
def test_no_part_of_a_number_is_left_of_words_that_are_cut(words: list[str | int]) -> None:
    text = " ".join(map(str, words))
    whole = set(re.findall(r"[\d.,]+", text))
    for width in range(1, len(text) + 2):
        shown = shorten(text, width)
        assert cell_len(shown) <= width
        assert (shown == text) is (cell_len(text) <= width)
        assert text.startswith(shown.removesuffix("…"))
        assert set(re.findall(r"[\d.,]+", shown)) <= whole


@pytest.mark.parametrize("width", range(80, 130, 3))
async def test_a_reason_that_is_cut_keeps_no_part_of_a_figure(
    workspace: FakeWorkspace, width: int
) -> None:
    reason = "stalled at 123456789 of 987654321, no reading for 1234567 s after 7654321 others"
    async with console(workspace, (width, 24)) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage) and app.screen.viewed)
        viewed = of_several_profiles(controller.snapshot(), reason)
        app.screen.query_one("#runs", KeyedTable).refill(RunRows()(viewed), run_columns(viewed))
        await pilot.pause()
        line = next(one for one in screen_text(app).splitlines() if "stalled at" in one)
        shown = re.findall(r"\d+", line.partition("stalled at")[2])
        assert set(shown) <= set(re.findall(r"\d+", reason))


async def test_the_figure_of_a_run_is_faint_until_it_is_measured_and_is_said_to_be_the_last(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, _):
        controller = begin(app, workspace)
        rate = next(n for n, one in enumerate(COLUMNS) if one.key == "rate")
        seen = set()
        for _ in range(12):
            workspace.clock.tick(15)
            viewed = controller.snapshot()
            latest = latest_figures(viewed)
            for run, row in zip(viewed.runs, RunRows()(viewed), strict=True):
                if (figure := row.cells[rate]).plain[:1].isdigit():
                    seen.add(run.state.active)
                    assert (str(figure.style) == MUTED) is (run.throughput is None)
                    assert not run.state.active or latest[run.run_id] == f"last {figure.plain}"
                    (told,) = run_rows([run]).rows
                    assert str(told[4]).startswith("last reading ") is run.state.active
        assert seen == {True, False}


@given(
    st.lists(st.text("abcxyz_/", min_size=1, max_size=30), min_size=1, max_size=40),
    st.integers(8, 60),
    st.integers(1, 4),
)
def test_words_beyond_the_lines_that_have_room_are_said_to_go_on(
    words: list[str], width: int, lines: int
) -> None:
    text = " ".join(words)
    shown = begun_in(Text(text), Console(width=200), width, lines).plain
    if shown == text:
        return
    found = shown.split("\n")
    assert len(found) == lines
    assert max(map(len, found)) <= width
    assert shown.endswith("…")
    kept = "".join(shown.removesuffix("…").split())
    assert "".join(text.split()).startswith(kept)
