"""What was measured before, on the matrix: figures in the cells, holes, times, presets."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from backends.campaign.folder.past_index import PastIndex
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.planner import make_plan
from backends.campaign.plan.selection import Selection
from backends.hosts import environment
from profiles.case_tag import parse_tag
from profiles.format.case import Case
from profiles.format.catalog import Catalog, read_source
from profiles.format.launch_section import LAUNCHERS
from profiles.references.reference_tables import bundled_references
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    console,
    screen_text,
    settled,
    shows,
    tick,
    type_ahead,
    until,
    words,
)
from tests.console.fakes import START, FakeWorkspace, facts, v100_hosts
from tests.console.test_matrix import current, open_matrix
from tests.support.past_campaigns import RUN_S, past_campaign
from tui import matrix_marks
from tui.app import DlperfApp
from tui.key_bindings import PANELS
from tui.matrix_below import _few_lines, published_lines, run_lines
from tui.matrix_marks import new_marks
from tui.matrix_past import brief
from tui.matrix_request import Able, Asked
from tui.past_reading import AGAIN_S
from tui.screens.dialogs import Choice, Reading
from tui.screens.matrix_page import MatrixPage, ProfileTable
from tui.screens.matrix_text import profile_legend
from tui.widgets.grid import MatrixGrid

SMOKE = read_source(Path(__file__).parent / "profiles" / "cpu-smoke.toml")
DAY = 86400


def smoke(tag: str, batch: int = 32) -> Case:
    return Case("cpu-smoke", *parse_tag(tag), {"batch_size": batch})


def measured(
    workspace: FakeWorkspace,
    values: Mapping[Case, Sequence[float | None]],
    name: str = "0012-v100",
    *,
    at: float = START - 2 * DAY,
    simulated: bool = False,
    settings: Mapping[str, str] | None = None,
) -> None:
    past_campaign(
        workspace.campaigns_dir / name,
        SMOKE,
        values,
        at=at,
        simulated=simulated,
        settings=settings,
    )


async def read(app: DlperfApp, pilot: Pilot[str]) -> MatrixPage:
    """The matrix, once all past campaigns were read."""
    page = await open_matrix(app, pilot)
    await until(pilot, lambda: page._asked.past_reading.complete)
    tick(app)
    await pilot.pause()
    return page


@pytest.fixture
def let(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set nothing is read."""
    let = threading.Event()
    reading = PastIndex.read

    def held(index: PastIndex, go_on: Callable[[], bool] = lambda: True) -> None:
        while go_on() and not let.wait(0.01):
            pass
        reading(index, go_on)

    monkeypatch.setattr(PastIndex, "read", held)
    return let


def said(app: DlperfApp) -> str:
    return "\n".join(notification.message for notification in app._notifications)


def row(app: DlperfApp, tag: str) -> str:
    return next(line for line in screen_text(app).splitlines() if f"│  {tag}  " in line)


def wanted(page: MatrixPage) -> set[str]:
    part = page.focused_marks
    assert part is not None
    return {key.partition("/")[2].partition(",")[0] for key in part.wanted}


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_past_results_stand_in_the_cells_and_whole_under_the_grid(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    values = {smoke("1n1g"): [7000.0, 7392.0, 7500.0], smoke("1n2g", 128): [11549.53]}
    measured(workspace, values)
    async with console(workspace, size) as (app, pilot):
        await read(app, pilot)
        assert "7392 D" in row(app, "1n1g")
        assert "11.5k D" in row(app, "1n2g")
        assert "7,392.0 samples/s, n=3, grade" in screen_text(app)
        assert "2d ago" in screen_text(app)
        assert "0012-v100" in screen_text(app) or size == SMALL
        await pilot.press("j")
        await until(pilot, partial(shows, app, "no result yet"))


@pytest.mark.parametrize("more", [0, 12])
async def test_cases_that_were_measured_have_a_row_though_the_profile_does_not_list_them(
    workspace: FakeWorkspace, let: threading.Event, more: int
) -> None:
    """Not what cannot run here or was simulated; the latest of many, and the cursor stays on its
    case."""
    own = workspace.catalog.get("cpu-smoke").matrix.cases
    measured(workspace, {smoke("1n3g"): [1.0], smoke("99n1g"): [1.0]})
    measured(workspace, {smoke("2n3g"): [1.0]}, "simulated", simulated=True)
    newer = [
        tag for tag in (f"{n}n{g}g" for n in (3, 4, 2) for g in (5, 6, 7, 8, 3)) if tag not in own
    ]
    for age, tag in enumerate(newer[:more]):
        measured(workspace, {smoke(tag): [1.0]}, tag, at=START - age)
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("G")
        here = current(page)
        assert here.case.tag == own[-1]
        let.set()
        await until(pilot, lambda: page._asked.past_reading.known)
        tick(app)
        await until(pilot, lambda: len(page.query_one(MatrixGrid).cells) > len(own))
        shown = {cells[0].case.tag for cells in page.query_one(MatrixGrid).cells}
        assert shown - {*own} == ({*newer[:more]} if more else {"1n3g"})
        assert current(page).case.tag == here.case.tag
        assert not wanted(page) & {f"{tag}/batch_size=32" for tag in newer}


@pytest.mark.parametrize("speed", [None, 1.0, 60.0])
async def test_how_old_a_result_is_goes_by_the_time_of_who_reads_it(
    workspace: FakeWorkspace, speed: float | None
) -> None:
    workspace.simulated, workspace.simulated_speed = speed is not None, speed
    measured(workspace, {smoke("1n1g"): [7000.0]}, at=START, simulated=speed is not None)
    async with console(workspace, HUGE) as (app, pilot):
        workspace.clock.tick(600.0 * (speed or 1.0))
        await read(app, pilot)
        assert shows(app, "10m ago")


async def test_the_newest_result_counts_and_none_of_what_is_simulated_or_of_other_gpus(
    workspace: FakeWorkspace,
) -> None:
    here = smoke("1n1g")
    measured(workspace, {here: [100.0]}, "older", at=START - 9 * DAY)
    measured(workspace, {here: [222.0]}, "newer", at=START - 3 * DAY)
    measured(workspace, {here: [333.0]}, "made-up", at=START - DAY, simulated=True)
    path = workspace.campaigns_dir / "elsewhere"
    past_campaign(path, SMOKE, {here: [444.0]}, at=START, fingerprint="NVIDIA H200, driver 580")
    async with console(workspace, LARGE) as (app, pilot):
        await read(app, pilot)
        assert "222" in row(app, "1n1g")
        assert "222.0 samples/s, n=1, grade D, 3d ago: newer" in screen_text(app)


async def test_a_profile_that_computes_on_cpus_finds_its_results_on_hosts_with_gpus(
    workspace: FakeWorkspace,
) -> None:
    source = Catalog.load((), None).source("cpu-smoke")
    assert source.profile.on_cpus
    workspace = FakeWorkspace(workspace.campaigns_dir, catalog=Catalog({"cpu-smoke": source}, {}))
    ran_on = [environment.fingerprint(facts().without_gpus()), environment.fingerprint(facts())]
    for x, fingerprint in zip([111.0, 222.0], ran_on, strict=True):
        path = workspace.campaigns_dir / f"of-{x:.0f}"
        past_campaign(path, source, {smoke("1n1g"): [x] * 9}, at=START, fingerprint=fingerprint)
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        assert "111.0 samples/s, n=9" in screen_text(app)
        assert "222" not in row(app, "1n1g"), "it says that a GPU computed"
        await pilot.press("f")
        assert "1n1g/batch_size=32" not in wanted(page)


async def test_a_simulated_console_shows_simulated_results_alone(workspace: FakeWorkspace) -> None:
    workspace.simulated = True
    measured(workspace, {smoke("1n1g"): [100.0]}, "real", at=START)
    measured(workspace, {smoke("1n1g"): [333.0]}, "made-up", at=START - DAY, simulated=True)
    async with console(workspace, LARGE) as (app, pilot):
        await read(app, pilot)
        assert "333" in row(app, "1n1g")
        assert "100" not in row(app, "1n1g")


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_case_that_failed_is_told_from_one_that_was_never_run_until_it_succeeds(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    measured(workspace, {smoke("1n1g"): [7392.0], smoke("1n2g"): [5.0]}, "older", at=START - DAY)
    measured(workspace, {smoke("1n1g"): [None, None]}, "fell", at=START - 7200)
    async with console(workspace, size) as (app, pilot):
        page = await read(app, pilot)
        shown = row(app, "1n1g")
        assert re.search(r"\[x\] +✗ 7392 [A-D] ", shown), "what stands is there all the same"
        assert "✗" not in row(app, "1n2g") + row(app, "1n4g")
        assert "✗ out of memory, 2h ago: fell" in screen_text(app)
        await pilot.press("f")
        assert "1n1g/batch_size=32" not in wanted(page), "it has a result all the same"
        measured(workspace, {smoke("1n1g"): [None, 8123.0]}, "better", at=START)
        page._asked.past_reading._clock = lambda: monotonic() + AGAIN_S
        tick(app)
        await until(pilot, lambda: "8123" in row(app, "1n1g"))
        assert "✗" not in row(app, "1n1g")


async def test_a_result_of_other_settings_is_in_no_cell_and_says_which(
    workspace: FakeWorkspace,
) -> None:
    measured(workspace, {smoke("1n1g"): [555.0]}, settings={"seconds": "60"})
    async with console(workspace, LARGE) as (app, pilot):
        await read(app, pilot)
        assert "555" not in row(app, "1n1g")
        assert "with seconds=60: 555.0 samples/s, n=1" in screen_text(app)


async def test_nothing_is_read_before_the_matrix_is_open_nor_after_the_console_is_closed(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Callable[[], bool]] = []
    begun, gone = threading.Event(), threading.Event()

    def slowly(index: PastIndex, go_on: Callable[[], bool] = lambda: True) -> None:
        asked.append(go_on)
        begun.set()
        while go_on():
            gone.wait(0.01)

    monkeypatch.setattr(PastIndex, "read", slowly)
    async with console(workspace, HUGE) as (app, pilot):
        assert not asked
        await open_matrix(app, pilot)
        await until(pilot, begun.is_set)
        assert "reading past results" in screen_text(app)
        await pilot.press("a")
        await until(pilot, partial(shows, app, "its last result"))
        assert not shows(app, "no result yet"), "nobody knows so far"
        await pilot.press("j")  # the thread holds nothing up
        await until(pilot, partial(shows, app, "1n2g b32"))
    assert not asked[0]()


async def test_f_marks_exactly_what_can_run_and_has_no_result_of_as_many_repeats(
    workspace: FakeWorkspace,
) -> None:
    values: dict[Case, list[float | None]] = {
        smoke("1n1g"): [1.0, 2.0, 3.0],
        smoke("1n2g"): [1.0, 2.0],
        smoke("1n4g"): [None, None, None],
        smoke("2n1g", 64): [5.0] * 9,
    }
    measured(workspace, values)
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("plus", "plus", "f")
        every = {f"{c.case.tag}/batch_size={c.case.batch_size}" for r in grid(page) for c in r}
        assert wanted(page) == every - {"1n1g/batch_size=32", "2n1g/batch_size=64"}
        await until(pilot, partial(shows, app, "22 holes marked; 2 of 24 have a result of 3 repe"))
        await pilot.press("minus", "f")
        assert wanted(page) == every - {f"{tag}" for tag in _enough(values, 2)}


def grid(page: MatrixPage) -> tuple[tuple[object, ...], ...]:
    return page.query_one(MatrixGrid).cells  # type: ignore[return-value]


def _enough(values: Mapping[Case, Sequence[float | None]], repeats: int) -> set[str]:
    return {
        f"{case.tag}/batch_size={case.batch_size}"
        for case, found in values.items()
        if sum(value is not None for value in found) >= repeats
    }


async def test_f_says_how_narrow_a_result_has_to_be_where_repeats_go_on_until_it_is_known(
    workspace: FakeWorkspace,
) -> None:
    wide, narrow = [100.0, 200.0, 300.0] * 2, [100.0, 100.1, 100.2] * 2
    measured(workspace, {smoke("1n1g"): wide, smoke("1n2g"): narrow})
    async with console(workspace, LARGE) as (app, pilot):
        await read(app, pilot)
        await pilot.press("u", "f")
        words = "23 holes marked; 1 of 24 have a result of 6 repeats or more within ±1%"
        await until(pilot, lambda: words in said(app))


async def test_on_several_clusters_the_plan_goes_by_what_was_measured_too(
    workspace: FakeWorkspace,
) -> None:
    class OnTwoClusters(FakeWorkspace):
        def plan(self, selection: Selection) -> Plan:
            hosts = [host.name for host in self.inventory.hosts]
            clusters = {"one": hosts[:2], "two": hosts[2:]}
            return make_plan(
                selection, self.catalog, self.inventory.hosts, self.snapshots(), clusters
            )

    measured(workspace, {smoke("1n1g"): [1.0]})
    async with console(OnTwoClusters(workspace.campaigns_dir), LARGE) as (app, pilot):
        page = await read(app, pilot)
        plan = page._asked.plan
        assert plan is not None
        assert {one.case.cluster for one in plan.cases} == {"one", "two"}
        of_tag = {(one.case.tag, one.measured_s) for one in plan.cases}
        assert {pair for pair in of_tag if pair[0] in ("1n1g", "1n2g")} == {
            ("1n1g", RUN_S),
            ("1n2g", None),
        }


async def test_f_leaves_out_what_cannot_run_and_says_when_there_is_no_hole(
    workspace: FakeWorkspace,
) -> None:
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=v100_hosts()[:1])
    cases = [smoke(tag, size) for tag in ("1n1g", "1n2g", "1n4g") for size in (16, 32, 64, 128)]
    measured(workspace, {case: [1.0] for case in cases[:-1]})
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("f")
        assert wanted(page) == {"1n4g/batch_size=128"}
        measured(workspace, {cases[-1]: [1.0]}, "and-the-last")
        page._asked.past_reading._clock = lambda: monotonic() + AGAIN_S
        tick(app)
        await until(pilot, lambda: page._asked.holes(page.focused_marks) == [])  # type: ignore[arg-type]
        await pilot.press("f")
        await until(pilot, partial(shows, app, "no hole to fill: every case that can run here"))
        assert wanted(page) == {"1n4g/batch_size=128"}, "the marks stay"


async def test_f_waits_until_all_was_read_and_marks_nothing_that_was_changed_meanwhile(
    workspace: FakeWorkspace, let: threading.Event
) -> None:
    measured(workspace, {smoke("1n1g"): [1.0], smoke("1n3g"): [1.0]})  # a row comes of that
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        before = wanted(page)
        await pilot.press("f")
        await until(pilot, partial(shows, app, "reading past results"))
        assert wanted(page) == before
        let.set()
        await until(pilot, lambda: page._asked.past_reading.complete)
        tick(app)
        await until(pilot, lambda: wanted(page) != before)
        assert "1n1g/batch_size=32" not in wanted(page)


async def test_times_are_the_measured_ones_where_there_are_some_and_say_so(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await read(app, pilot)
        assert "≈40s by the profile, × 1: 40 GPU-seconds" in screen_text(app)
        assert "in all about 11 GPU-minutes; node3 busy" in screen_text(app)
    measured(workspace, {smoke("1n1g"): [1.0, 1.0], smoke("1n2g"): [2.0]})
    workspace = FakeWorkspace(workspace.campaigns_dir)
    async with console(workspace, HUGE) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("plus")
        seconds = RUN_S
        assert f"≈{seconds:.0f}s as measured, × 2: 50 GPU-seconds" in screen_text(app)
        row_s = 2 * 4 * seconds  # all took of what the profile says what these took
        assert f"row {row_s / 60:.1f} GPU-minutes" in screen_text(app)
        assert "partly as measured" in screen_text(app)
        plan = page._asked.plan
        assert plan is not None
        took = {planned.case.tag: planned.expected_s for planned in plan.cases}
        assert (took["1n1g"], took["1n2g"], took["1n4g"]) == (seconds, seconds, seconds)
        await pilot.press("l")
        await until(pilot, partial(shows, app, f"≈{seconds:.0f}s by other cases, × 2"))


async def test_x_of_a_column_marks_it_or_takes_its_marks_away(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("l", "X")
        tags = ("1n1g", "1n2g", "1n4g", "2n1g", "2n2g", "4n1g")
        both = {f"{tag}/batch_size={size}" for tag in tags for size in (32, 64)}
        assert wanted(page) == both
        await pilot.press("X")
        assert wanted(page) == {key for key in both if key.endswith("32")}


async def test_a_preset_sets_marks_values_repeats_and_settings_as_its_source_had_them(
    workspace: FakeWorkspace,
) -> None:
    sources = {
        name: Catalog.load((), None).source(name) for name in ("cpu-smoke", "oneflow-resnet50")
    }
    workspace = FakeWorkspace(workspace.campaigns_dir, catalog=Catalog(sources, {}))
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await type_ahead(app, pilot, "tab", "j", "plus")
        await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
        await pilot.press("shift+tab", "a", "A")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert shows(app, "DLPerf, OneFlow 0.1.8: 12 cases × 7")
        assert shows(app, "DLPerf, OneFlow 0.1.9: 4 cases × 7")
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        part = page.focused_marks
        assert part is not None
        assert {key.split("/")[1] for key in part.wanted} == {"1n1g", "1n8g", "2n8g", "4n8g"}
        assert part.shown == {"batch_size": (128,), "precision": ("fp32",)}
        assert page._asked.repeats is None
        await until(
            pilot, lambda: "as DLPerf, OneFlow 0.1.9, × 7: 10 cases marked, 4 of them" in said(app)
        )


async def test_a_preset_names_what_these_hosts_cannot_run(workspace: FakeWorkspace) -> None:
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=v100_hosts()[:1])
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("a", "A")  # one preset alone is taken at once
        await until(pilot, lambda: "2n1g 2n2g 4n1g cannot run here" in said(app))
        tags = ("1n1g", "1n2g", "1n4g", "2n1g", "2n2g", "4n1g")
        assert wanted(page) == {f"{tag}/batch_size=32" for tag in tags}
        assert current(page).state == "marked"


async def test_a_preset_that_is_too_large_for_the_grid_says_so_in_the_list_and_when_it_is_picked(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {
        name: Catalog.load((), None).source(name) for name in ("cpu-smoke", "oneflow-resnet50")
    }
    workspace = FakeWorkspace(workspace.campaigns_dir, catalog=Catalog(sources, {}))
    async with console(workspace, HUGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await type_ahead(app, pilot, "tab", "j")
        await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
        before = wanted(page)
        monkeypatch.setattr(matrix_marks, "MOST_CELLS", 8)
        await pilot.press("shift+tab", "A")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "0.1.8: a grid of 6 × 2 cells is more" in screen_text(app)
        await pilot.press("2")
        await until(pilot, lambda: "is more than the 8 shown here" in said(app))
        assert isinstance(app.screen, MatrixPage)
        assert wanted(page) == before


async def test_a_profile_without_a_preset_says_so_and_asks_nothing(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Asked, "presets", lambda *_: ())
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("A")
        await until(pilot, lambda: "cpu-smoke has no cases as its source had them" in said(app))
        assert isinstance(app.screen, MatrixPage)


@given(st.floats(1e-3, 9e14, allow_nan=False))
def test_a_figure_in_a_cell_is_short_and_right_to_a_percent(value: float) -> None:
    shown = brief(value)
    units = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    size = units.get(shown[-1], 1.0)
    read_back = float(shown.rstrip("kMGT")) * size
    assert abs(read_back / value - 1) <= 0.006
    assert len(shown) <= 5 or value < 0.1
    if value >= 9999.5:
        assert sum(map(str.isdigit, shown)) == 3, "as many as its neighbours"


@pytest.mark.parametrize("size", [LARGE, HUGE])
async def test_other_profiles_that_take_part_are_seen_with_their_marks_below_the_one_in_front(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    measured(workspace, {smoke("1n1g"): [7392.0]})
    async with console(workspace, size) as (app, pilot):
        page = await read(app, pilot)
        await pilot.press("tab", "j", "space")
        await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
        await until(pilot, partial(shows, app, "cpu-smoke  6 cases"))
        below = words(page.query_one("#below"))
        assert "[x]7392" in below.replace(" ", "")
        assert below.count("[x]") == 6
        await pilot.press("space")
        await pilot.press("k")
        await until(pilot, partial(shows, app, "Matrix · cpu-smoke"))
        assert "oneflow-resnet50" not in words(page.query_one("#below"))


async def test_below_the_grid_stands_all_that_the_case_measured_the_newest_first(
    workspace: FakeWorkspace,
) -> None:
    for number in range(1, 31):
        measured(
            workspace,
            {smoke("1n1g"): [1000.0 + number]},
            f"c{number:02d}",
            at=START - number * DAY,
        )
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        lines = words(page.query_one("#below")).splitlines()
        at = lines.index(next(line for line in lines if "1n1g b32 before" in line))
        assert "±: half of its 95% interval, – for n=1" in lines[at]
        found = ("1,001.0 samples/s", "±–", "n=1", "grade D", "1d ago", "c01")
        assert all(word in lines[at + 1] for word in found)
        shown = len([line for line in lines if "samples/s" in line])
        assert f"+{30 - shown} more" in lines[at + 1 + shown]
        height = page.query_one("#below").size.height
        await pilot.press("j")
        await until(pilot, lambda: "before" not in words(page.query_one("#below")))
        assert page.query_one("#below").size.height == height


async def test_a_small_terminal_has_the_grid_alone_and_counts_what_else_is_marked(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("tab", "j", "space")
        await until(pilot, partial(shows, app, "also marked: cpu-smoke (6 cases)"))
        assert not page.query_one("#below").display


async def test_published_figures_of_the_case_stand_below_the_grid(workspace: FakeWorkspace) -> None:
    source = Catalog.load((), None).source("oneflow-resnet50")
    workspace = FakeWorkspace(
        workspace.campaigns_dir, catalog=Catalog({source.profile.name: source}, {})
    )
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("2")
        own = "Tesla V100-SXM2-16GB: 383.8 images/s, b128, OneFlow 0.1.8, DLPerf, 2020"
        await until(pilot, partial(shows, app, own))
        await pilot.press(*"jjjj")
        await until(pilot, partial(shows, app, "5,839.1 images/s, b128, OneFlow 0.1.8"))
        assert not shows(app, "383.8 images/s")


@given(batch=st.sampled_from([16, 64, 128, 256, 1024]))
def test_of_published_figures_the_nearest_batch_size_comes_first(batch: int) -> None:
    rows = bundled_references()
    part = new_marks(SMOKE.profile)
    lines = published_lines(rows, batch, part, (), 400, 10_000)[1:-1]
    told = [re.search(r", b(\d+),", line.plain) for line in lines]
    sizes = [row.batch_size for row in rows if row.batch_size]
    shown = [int(one[1]) for one in told if one]
    assert sorted(shown) == sorted(sizes), "each has its own, the case's too"
    apart = [max(batch, size) / min(batch, size) for size in shown]
    assert apart == sorted(apart)
    assert all(told[: len(sizes)])


@pytest.mark.parametrize("gpu", ["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"])
def test_of_published_figures_as_near_those_of_the_gpu_here_come_first(gpu: str) -> None:
    rows = [row for row in bundled_references() if row.gpu.name.startswith("Tesla V100")]
    part = new_marks(Catalog.load((), None).get("oneflow-resnet50"))
    for batch in {row.batch_size for row in rows if row.batch_size}:
        lines = published_lines(rows, batch, part, [gpu], 400, 10_000)[1:-1]
        there = [gpu in line.plain for line in lines if not re.search(r", b\d+,", line.plain)]
        assert there == sorted(there, reverse=True)
        own = ["OneFlow" in line.plain for line in lines[: sum(there)]]
        assert own == sorted(own, reverse=True)


@pytest.mark.parametrize("name", Catalog.load((), None).names)
def test_what_a_run_is_has_the_values_of_its_case_at_any_width(name: str) -> None:
    profile = Catalog.load((), None).get(name)
    part = new_marks(profile)
    for case in (cell.case for row in part.cells(()) for cell in row):
        for width in (44, 76, 150):
            lines = [line.plain for line in run_lines(part, case, None, width, "GPU")]
            assert all(len(line) <= width for line in lines)
            said = " ".join(" ".join(lines).split())
            assert LAUNCHERS[profile.launch_for(case).launcher] in said
            assert not any(f"{{{value}}}" in " ".join(lines) for value in case.values())
        assert f"{case.nodes} host" in lines[1]
        assert case.batch_size is None or f"{case.batch_size * case.gpus} in all" in lines[1]


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_key_opens_all_that_is_known_of_the_case(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    """Every published figure, and every past one with its interval, grade, day and campaign."""
    for number in range(30):
        measured(workspace, {smoke("1n1g"): [700.0, 701.0, 702.0]}, f"c{number:02}")
    async with console(workspace, size) as (app, pilot):
        page = await read(app, pilot)
        assert page.focused_marks is not None
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        seen = ""
        for _ in range(12):
            seen += " ".join(screen_text(app).replace("│", " ").split())
            await pilot.press("pagedown")
        assert all(f"c{number:02}" in seen for number in range(30))
        assert "±0.35%" in seen
        assert "grade" in seen
        assert "on node1: python3 of_cnn_train_val.py --num_nodes=1" in seen
        assert size == LARGE or "{" not in seen  # there the template is seen behind it
        assert " more" not in re.sub(r"\d+ more lines?: ↓", "", seen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)


def test_a_sign_of_the_legend_is_no_separator_of_it() -> None:
    words = ", ".join(profile_legend(Able))
    assert words.count("·") == sum(one.startswith(("·", "[·]")) for one in words.split(", "))


@given(st.sets(st.sampled_from(Able)), st.sampled_from(Able))
def test_the_legend_begins_with_the_mark_under_the_cursor(there: set[Able], here: Able) -> None:
    words = profile_legend(there, here)
    assert sorted(words) == sorted(profile_legend(there))
    own = profile_legend({here})
    assert here not in there or not own or words[:1] == own


async def test_profiles_say_whether_they_can_run_here(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        page = await open_matrix(app, pilot)
        await until(pilot, partial(shows, app, "[s] oneflow-resnet50"))
        assert shows(app, "[s] settings")
        assert not shows(app, " · · not here")
        about = PANELS["matrix"].about
        assert "[·]: marked, but none of its cases can run here" in about
        part = page._asked.marks("oneflow-resnet50")
        page._asked.put(replace(part, settings=dict.fromkeys(part.profile.settings, "/x")))
        tick(app)
        await until(pilot, partial(shows, app, "[ ] oneflow-resnet50"))
        assert not shows(app, "[s]")
        workspace._hosts = tuple(
            replace(h, facts=h.facts and h.facts.without_gpus()) for h in workspace._hosts
        )
        tick(app)
        await until(pilot, partial(shows, app, "· oneflow-resnet50"))
        assert shows(app, "· not here")


async def test_the_frame_says_what_the_mark_under_the_cursor_means(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no room for the words of all marks."""
    said = {
        "cpu-smoke": (Able.SETTINGS, "[s] settings"),
        "oneflow-resnet50": (Able.NOT_HERE, "· not here"),
    }
    monkeypatch.setattr(Asked, "able_to_run", lambda _, name: said[name][0])
    async with console(workspace, SMALL) as (app, pilot):
        table = (await open_matrix(app, pilot)).main_panel().table
        for name in [*said, *said]:
            table.select(name)
            await settled(app)
            assert [one for _, one in said.values() if shows(app, one)] == [said[name][1]]


@pytest.mark.parametrize("keys", ["", "j", "a"])
async def test_free_lines_below_a_small_grid_say_what_a_run_is(
    workspace: FakeWorkspace, keys: str
) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: "what a run is" in screen_text(app))
        grid, below = page.query_one(MatrixGrid), page.query_one("#below")
        assert grid.size.height == grid.lines, "no row of it gives way"
        lines = [line.split("│")[1] for line in screen_text(app).splitlines() if "│" in line]
        first = below.region.y - page.query_one("#grid-panel").region.y - 1
        text = " ".join(" ".join(lines[first : first + below.size.height]).split())
        assert "without a reading" in text or "i shows all of it" in text


async def test_where_no_lines_are_free_the_grid_has_them(workspace: FakeWorkspace) -> None:
    async with console(workspace, (80, 17)) as (app, pilot):
        page = await open_matrix(app, pilot)
        await settled(app)
        assert "what a run is" not in screen_text(app)
        assert not page.query_one("#below").display


WORDS = st.lists(st.text("ab-_{}.=", min_size=1, max_size=18), min_size=1, max_size=30)


@given(WORDS.map(" ".join), st.integers(20, 120))
def test_a_command_breaks_between_its_words_alone(command: str, width: int) -> None:
    shown = " ".join(_few_lines(command, width))
    whole, _, _ = shown.partition("…")
    assert command.startswith(whole.rstrip())
    assert shown == command or "…" in shown


async def test_what_all_takes_is_said_to_be_of_the_profiles_that_are_marked(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await read(app, pilot)
        [marked] = (part.profile.name for part in page._asked.taking_part)
        assert f"{marked}: in all" not in screen_text(app)
        table = page.query_one(ProfileTable)
        table.select(next(key for key in table.shown_keys if key != marked))
        await until(pilot, partial(shows, app, f"{marked}: in all about "))
