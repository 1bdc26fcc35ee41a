"""The dialog of a case's repeats."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.app import App, ComposeResult
from textual.widget import Widget

from backends.campaign.record.run_state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.layouts.cells import count_cell
from backends.results.run_result import RunResult
from backends.results.steady_words import disturbance_text
from backends.results.summary import summarise
from profiles.gpu_models import short_model
from profiles.throughput.steady import Disturbance, Shape
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    until,
    words,
)
from tests.console.fakes import FakeWorkspace
from tests.console.test_results import open_results
from tui.screens.repeats import REPEAT_COLUMNS, Repeats, repeat_rows
from tui.widgets.keyed_table import KeyedTable, Row


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
async def test_repeats_are_in_order_and_the_whole_note_of_one_stands_below(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    why = "NCCL error: unhandled system error on a link of which nobody knows that it is the end"
    workspace.fails = {"1n1g": why}
    async with console(workspace, size) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=3)
        await open_results(workspace, app, pilot)
        controller.fails = {}
        for run in controller.snapshot().runs:
            controller.retry(run.run_id)
        await open_results(workspace, app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        assert isinstance(app.screen, Repeats)
        table = app.screen.query_one(KeyedTable)
        case = app.screen._case
        runs = {run.run_id: run for run in (*case.runs, *case.superseded)}
        order = [(runs[key].repeat, runs[key].attempt) for key in table.shown_keys]
        assert order == [(repeat, attempt) for repeat in (1, 2, 3) for attempt in (1, 2)]
        for key in table.shown_keys:
            assert table.current_key == key
            below = " ".join(words(app.screen.query_one("#note")).split())
            assert (why in below) is (runs[key].attempt == 1)
            assert ("replaced by a later attempt" in below) is (runs[key].attempt == 1)
            await pilot.press("j")
        await pilot.press("y")
        await until(pilot, lambda: "its repeats: handed to the terminal" in screen_text(app))
        copied = [line for line in app.clipboard.splitlines() if line.startswith("| ")][2:]
        assert [why in line for line in copied] == [attempt == 1 for _, attempt in order]
        assert [line.split()[1] for line in copied] == [str(repeat) for repeat, _ in order]
        assert app.screen.query_one(".dialog").outer_size.width > size[0] * 0.96 - 4


def lines_of(widget: Widget) -> list[str]:
    """What one widget shows, those in it included, without its scroll bar."""
    place = widget.region
    lines = screen_text(widget.app).splitlines()[place.y : place.bottom]
    return [line[place.x : place.right].strip("▁▂▃▄▅▆▇█ ") for line in lines]


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE], ids=str)
@pytest.mark.parametrize("long", [0, 1, 10, 90], ids=str)
@pytest.mark.parametrize("names", [(3, 4, 1, 2), (5,), tuple(range(64, 0, -3))], ids=len)
async def test_every_word_of_a_repeat_can_be_read_and_help_names_no_key_that_does_nothing(
    workspace: FakeWorkspace, size: tuple[int, int], long: int, names: tuple[int, ...]
) -> None:
    hosts = tuple(f"sim{n}" for n in names)
    reason = " ".join(f"w{n}-why" for n in range(long))
    one = RunResult("r", "p", "F", "M", "4n8g", 4, 8, {}, 1, throughput=14409.6, hosts=hosts)
    failed = replace(one, run_id="s", repeat=2, throughput=None, state="failed", reason=reason)
    devices = {hosts[0]: tuple(range(8))}
    (group,) = summarise([one, replace(failed, devices=devices, started_at=1e9)])
    async with console(workspace, size) as (app, pilot):
        app.push_screen(Repeats(group.cases[0]))
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        await pilot.press("j")
        await pilot.pause()
        table, below = app.screen.query_one(KeyedTable), app.screen.query_one("#whole-note")
        assert app.screen.query_one(".dialog").max_scroll_y == 0
        lines = dict.fromkeys([*lines_of(table), *lines_of(below)])
        await pilot.press("tab")
        for _ in range(int(below.max_scroll_y)):
            await pilot.press("down")
            await pilot.pause()
            lines.update(dict.fromkeys(lines_of(below)))
        read = "".join("".join(lines).split())
        row = next(row for row in table._rows if row.key == "s")
        for cell in row.cells:
            assert all(word in read for word in cell.plain.split()), screen_text(app)
        await pilot.press("tab", "question_mark")
        await until(pilot, lambda: not isinstance(app.screen, Repeats))
        assert "↓ j" in screen_text(app)
        assert ("→ l" in screen_text(app)) is bool(table.max_scroll_x)


async def test_every_planned_repeat_is_listed_with_its_state_and_counted_as_in_the_list(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=12)
        controller.pause(controller.snapshot().runs[-1].run_id)
        await open_results(workspace, app, pilot, seconds=60)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        assert isinstance(app.screen, Repeats)
        case, table = app.screen._case, app.screen.query_one(KeyedTable)
        assert 0 < case.repeats < 12
        shown = {run.run_id: run for run in controller.snapshot().runs}
        assert set(table.shown_keys) == set(shown)
        states = {row.key: row.cells[1].plain for row in table._rows}
        for key, run in shown.items():
            assert states[key].endswith("paused" if run.paused else str(run.state))
        assert "‖ paused" in states.values()
        assert f"{case.succeeded} of 12 repeats succeeded" in screen_text(app)
        assert count_cell(case) == f"{case.succeeded}/12"


MODELS = {
    "h200a": "NVIDIA H200, driver 580.1",
    "v100a": "Tesla V100-SXM2-16GB, driver 440.33",
    "v100a,h200a": "NVIDIA H200, driver 580.1 + Tesla V100-SXM2-16GB, driver 440.33",
}


@pytest.mark.parametrize(("width", "hosts"), [(120, [*MODELS]), (80, [*MODELS])])
@pytest.mark.parametrize("reason", ["", "preflight warned: " + "of this and that, " * 5])
async def test_hosts_and_models_of_repeats_are_whole_beside_any_note(
    width: int, hosts: list[str], reason: str
) -> None:
    one = RunResult("r", "p", "F", "M", "1n8g", 1, 8, {}, 1, throughput=14409.6)
    runs = [
        replace(one, run_id=f"r{n}", repeat=n, hosts=tuple(name.split(",")), reason=reason)
        for n, name in enumerate(hosts, 1)
    ]
    runs = [replace(run, fingerprint=MODELS[",".join(run.hosts)]) for run in runs]
    (group,) = summarise(runs)
    async with Shown(repeat_rows(group.cases[0])).run_test(size=(width * 96 // 100, 24)) as pilot:
        await pilot.pause()
        text = screen_text(pilot.app)
        for name in hosts:
            models = " + ".join(short_model(m.split(", ")[0]) for m in MODELS[name].split(" + "))
            (line,) = (row for row in text.splitlines() if f" {name} " in row)
            assert f" {models} " in f"{line} "


class Shown(App[None]):
    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        yield KeyedTable(REPEAT_COLUMNS)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).refill(self._rows)


async def test_what_was_not_steady_is_a_sentence_below_the_repeats(
    workspace: FakeWorkspace,
) -> None:
    found = Disturbance(Shape.STEP, -0.25, 0.1, 1347)
    one = RunResult("r", "p", "F", "M", "1n8g", 1, 8, {}, 1, throughput=14409.6, steady=(found,))
    (group,) = summarise([one, replace(one, run_id="s", repeat=2)])
    async with console(workspace, LARGE) as (app, pilot):
        app.push_screen(Repeats(group.cases[0]))
        await pilot.pause()
        await until(pilot, lambda: disturbance_text(found) in screen_text(app))


@pytest.mark.parametrize("quiet_s", [0.0, 240.0])
async def test_a_repeat_at_work_is_said_to_be_what_runs_calls_it(
    workspace: FakeWorkspace, quiet_s: float
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=2)
        await open_results(workspace, app, pilot)
        taken = controller.snapshot

        def quiet() -> CampaignSnapshot:
            shown = taken()
            runs = tuple(
                replace(run, state=RunState.RUNNING, silent_s=quiet_s or None) for run in shown.runs
            )
            state = replace(
                shown.state,
                runs={
                    key: replace(run, state=RunState.RUNNING)
                    for key, run in shown.state.runs.items()
                },
            )
            return replace(shown, runs=runs, state=state)

        controller.snapshot = quiet  # type: ignore[method-assign]
        word = "▲ silent 4m" if quiet_s else "▶ running"
        await until(pilot, lambda: screen_text(app).count(word) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Repeats))
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: screen_text(app).count(word) >= 2)
        assert len(table.shown_keys) == 2
        quiet_s = 300.0
        await until(pilot, lambda: screen_text(app).count("▲ silent 5m") >= 2)
