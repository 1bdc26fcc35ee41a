from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from backends.campaign.plan.plan import Plan
from backends.hosts.host_facts import GpuProcess
from profiles.errors import DlperfError
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
    words,
)
from tests.console.fakes import FakeFinding, FakeWorkspace, known_host, v100_hosts
from tui.app import DlperfApp
from tui.matrix_marks import Cell
from tui.plan_words import PLACES_IN_PLAN, hosts_text
from tui.screens.dialogs import Prompt
from tui.screens.dry_run import DryRunView
from tui.screens.editors import HostPicker, ParameterEditor, SettingsEditor
from tui.screens.matrix_page import MatrixPage
from tui.screens.start_dialog import StartDialog
from tui.widgets.filter_table import TablePanel
from tui.widgets.grid import MatrixGrid
from tui.widgets.keybar import offered


async def open_matrix(app: DlperfApp, pilot: Pilot[str]) -> MatrixPage:
    await pilot.press("2")
    await until(pilot, lambda: isinstance(app.screen, MatrixPage) and app.screen.is_mounted)
    tick(app)
    await until(pilot, partial(shows, app, "[x]"))
    assert isinstance(app.screen, MatrixPage)
    return app.screen


def current(page: MatrixPage) -> Cell:
    cell = page.query_one(MatrixGrid).current
    assert cell is not None
    return cell


async def test_the_first_profile_that_can_run_is_marked_so_that_enter_has_a_meaning(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        shown = screen_text(app)
        assert "Matrix · cpu-smoke" in shown
        assert "6 cases × 1 = 6 runs · ≈2m00s with" in shown
        assert "GPU-minutes; node3 busy" in shown.replace(" ││", " ")


async def test_before_a_queue_has_told_its_hosts_any_case_may_be_marked_and_waits(
    workspace: FakeWorkspace,
) -> None:
    """Which nodes a Slurm has is known when its controller has answered."""
    async with console(workspace, LARGE) as (app, pilot):
        told, inventory = workspace._hosts, workspace.inventory
        workspace._hosts = ()
        workspace.inventory = replace(inventory, login=inventory.hosts[0], engine="slurm")
        await pilot.press("2")
        page = app.screen
        assert isinstance(page, MatrixPage)
        cells = [cell for row in page.query_one(MatrixGrid).cells for cell in row]
        assert {cell.case.nodes for cell in cells} > {1}
        assert all(cell.awaits for cell in cells)
        shown = screen_text(app)
        assert "waits for the answer of the queue" in shown
        assert "asking the hosts what they have" in shown
        assert "no hosts yet" in shown
        await pilot.press("enter")
        assert not app._notifications
        workspace._hosts = told
        await until(pilot, lambda: isinstance(app.screen, StartDialog))  # what is marked by itself
        assert page._asked.plan is not None


async def test_on_one_host_with_two_slots_the_cases_1n1g_and_1n2g_are_marked(
    workspace: FakeWorkspace,
) -> None:
    host = v100_hosts()[0]
    assert host.facts is not None
    small = replace(host, facts=replace(host.facts, gpus=()), slots=2)
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=[small])
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        shown = screen_text(app)
        assert "2 cases × 1 = 2 runs" in shown
        assert "needs 2 hosts, there is 1" in shown
        await pilot.press("j", "j")
        await until(pilot, partial(shows, app, "needs 4 devices per host, 2 at most"))


async def test_space_marks_and_unmarks_the_cell_under_the_cursor(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        assert current(page).state == "marked"
        await pilot.press("space")
        assert current(page).state == "free"
        await pilot.press("j", "l", "space")
        assert current(page).case.label.startswith("1n2g b64")
        assert current(page).state == "marked"
        assert "6 cases" in screen_text(app)


async def test_the_keys_of_tables_move_on_the_grid_too(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        page = await open_matrix(app, pilot)
        rows = [row[0].case.tag for row in page.query_one(MatrixGrid).cells]
        for last, first in (("G", "g"), ("end", "home")):
            await pilot.press(last)
            assert current(page).case.tag == rows[-1]
            await pilot.press(first)
            assert current(page).case.tag == rows[0]
        seen = {rows[0]}
        for _ in rows:
            await pilot.press("pagedown")
            seen.add(current(page).case.tag)
        assert current(page).case.tag == rows[-1]
        assert len(seen) > 1
        for _ in rows:
            await pilot.press("pageup")
        assert current(page).case.tag == rows[0]


async def test_a_marks_all_that_can_run_and_n_takes_all_marks_away(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("a")
        await until(pilot, partial(shows, app, "24 cases × 1 = 24 runs"))
        await pilot.press("n")
        await until(pilot, partial(shows, app, "nothing marked"))


async def test_x_marks_a_row(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("x")
        await until(pilot, partial(shows, app, "9 cases"))


async def test_an_impossible_cell_is_not_marked_and_says_why(workspace: FakeWorkspace) -> None:
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=v100_hosts()[:1])
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press(*"jjj", "space")
        assert current(page).state == "impossible"
        assert screen_text(app).count("needs 2 hosts, there is 1") >= 2
        assert "3 cases" in screen_text(app)


@pytest.mark.parametrize("key", ["plus", "minus"])
async def test_of_unlike_profiles_each_gets_one_repeat_more_or_fewer_which_is_said_and_planned(
    workspace: FakeWorkspace, key: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("tab", "j")
        await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
        await pilot.press("space")
        own = {one.profile.name: one.profile.matrix.repeats for one in page._asked.taking_part}
        assert len({*own.values()}) == 2
        change = 1 if key == "plus" else -1
        wanted = {name: max(1, repeats + change) for name, repeats in own.items()}
        await pilot.press(key)
        asked = page._asked
        assert {one.profile.name: asked.repeats_of(one) for one in asked.taking_part} == wanted
        said = ", ".join(f"{name} {repeats}" for name, repeats in wanted.items())
        assert len({*wanted.values()}) == 1 or shows(app, f"repeats of each case: {said}")
        assert asked.plan is not None
        assert {one.case.profile: one.repeats for one in asked.plan.cases} == wanted


async def test_plus_and_minus_change_the_repeats(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("plus", "plus")
        await until(pilot, partial(shows, app, "6 cases × 3 = 18 runs"))
        await pilot.press("minus", "minus", "minus", "minus")
        await until(pilot, partial(shows, app, "6 cases × 1 = 6 runs"))


async def test_repeats_until_it_is_known_are_asked_for_and_shown_before_they_start(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("u")
        await until(pilot, partial(shows, app, "6 cases until ±1%, 36 runs first"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "× 6 to 50"))
        assert shows(app, "repeats go on until the 95%")
        await pilot.press("escape")
        await pilot.press("plus")
        await until(pilot, partial(shows, app, "6 cases × 2 repeats = 12 runs"))
        await pilot.press("u", "u")
        await until(pilot, partial(shows, app, "6 cases × 2 repeats = 12 runs"))


async def test_repeats_until_it_is_known_are_said_where_the_foot_has_no_runs(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("n", "u")
        await until(pilot, partial(shows, app, "each case until ±1%"))
        await pilot.press("u")
        await until(pilot, partial(shows, app, "no more until ±1%"))


async def test_a_profile_is_taken_in_and_out_with_space(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("tab", "space")
        await until(pilot, partial(shows, app, "nothing marked"))
        await pilot.press("space")
        await until(pilot, partial(shows, app, "6 cases"))
        assert page.main_panel().table.current_key == "cpu-smoke"


async def test_where_no_case_can_run_the_keys_that_mark_say_why(workspace: FakeWorkspace) -> None:
    host = v100_hosts()[0]
    assert host.facts is not None
    none = replace(host, facts=replace(host.facts, gpus=()), slots=0)
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=[none])
    async with console(workspace) as (app, pilot):
        await pilot.press("2", "tab")
        page = app.screen
        assert isinstance(page, MatrixPage)
        tick(app)
        page.main_panel().table.select("oneflow-resnet50")
        await pilot.press("a")
        await until(pilot, partial(shows, app, "a All: no case can run here: needs"))
        await pilot.press("n")
        await until(pilot, partial(shows, app, "n None: no case of it is marked"))
        assert not page._asked.taking_part


async def test_what_most_plans_need_is_in_the_foot_of_80_columns(workspace: FakeWorkspace) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await open_matrix(app, pilot)
        foot = screen_text(app).splitlines()[-1]
        for key in ("⏎ Start", "space Mark", "d Dry-run", "a All", "+ More"):
            assert key in foot


async def test_a_profile_that_lacks_settings_says_which_in_one_line_of_80_columns(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        page = await open_matrix(app, pilot)
        page.main_panel().table.select("oneflow-resnet50")
        line = "s sets benchmark_root, data_root, on every host"
        await until(pilot, partial(shows, app, line))
        await pilot.press("tab", "i")
        await until(pilot, partial(shows, app, "DATA_ROOT stands for the setting data_root"))


async def test_missing_settings_are_told_and_can_be_given(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("n", "tab")
        page.main_panel().table.select("oneflow-resnet50")
        await pilot.press("space")
        await until(
            pilot,
            partial(shows, app, "oneflow-resnet50 needs benchmark_root, data_root"),
        )
        assert shows(app, "not ready to start · 6 cases × 7 repeats = 42 runs")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "→ s sets"))
        for name, path in (("benchmark_root", "/opt/cnns"), ("data_root", "/data")):
            await pilot.press("s")
            await until(pilot, lambda: isinstance(app.screen, SettingsEditor))
            app.screen.query_one("KeyedTable").select(name)  # type: ignore[attr-defined]
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Prompt))
            await pilot.press(*path.replace("/", " ").replace(" ", "/"), "enter")
            await until(pilot, lambda: isinstance(app.screen, SettingsEditor))
            assert shows(app, path)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await until(pilot, partial(shows, app, "6 cases × 7 repeats = 42 runs"))


async def test_what_was_missing_is_not_said_of_what_lacks_nothing(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("n", "tab")
        page.main_panel().table.select("oneflow-resnet50")
        await pilot.press("space", "d")
        await until(pilot, partial(shows, app, "→ s sets"))
        await pilot.press("space")
        page.main_panel().table.select("cpu-smoke")
        await pilot.press("space", "d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        await until(pilot, lambda: not shows(app, "→ s sets"))
        await settled(app)
        assert not shows(app, "needs benchmark_root")


async def open_parameters(app: DlperfApp, pilot: Pilot[Any]) -> ParameterEditor:
    await open_matrix(app, pilot)
    await pilot.press("p")
    await until(pilot, lambda: isinstance(app.screen, ParameterEditor))
    assert isinstance(app.screen, ParameterEditor)
    return app.screen


async def test_parameters_choose_the_columns(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_parameters(app, pilot)
        await pilot.press("space", "enter")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        heading = screen_text(app).splitlines()[3]
        assert "b16" not in heading
        assert "b64" in heading


async def test_a_parameter_without_a_value_is_refused_in_the_dialog(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_parameters(app, pilot)
        await pilot.press("n", "enter")
        await until(pilot, partial(shows, app, "needs at least one value"))
        assert isinstance(app.screen, ParameterEditor)
        assert app.screen.not_now("none") == "none is marked"
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "6 cases"))


async def test_values_alone_are_of_the_selected_parameter_and_an_error_goes_with_the_next_key(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        editor = await open_parameters(app, pilot)
        [selected, *_] = editor._values
        assert selected == "batch_size"
        for typed in ("96 many", "colour=red"):
            await pilot.press("i", *typed, "enter")
            await until(pilot, partial(shows, app, "✗"))
            await pilot.press("space")
            assert not shows(app, "✗")
            await pilot.press("escape")
            app.screen.query_one(Input).value = ""
        await pilot.press("i", *"64 16,128", "enter")
        marked = {f"batch_size={value}" for value in (64, 16, 128)}
        await until(pilot, lambda: marked <= editor.marked)


async def test_hosts_are_chosen_by_marks_or_by_a_nodeset(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        await pilot.press("i", *"node[1-2]", "enter")
        await until(pilot, lambda: not app.screen.query_one(Input).display)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "needs 4 hosts, there are 2"))
        assert "2 hosts" in screen_text(app)


async def test_a_nodeset_that_names_nobody_is_told_in_the_dialog(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        await pilot.press("i", *"node9", "enter")
        await until(pilot, partial(shows, app, "✗"))
        assert "node9" in screen_text(app)


async def test_a_case_can_be_added(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert shows(app, "e.g. 2n4g")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "✗ type a case, e.g. 2n4g"))
        await pilot.press(*"2n")
        assert not shows(app, "✗")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "is not a case"))
        await pilot.press(*"4g", "enter")
        await until(pilot, partial(shows, app, "7 cases"))


@pytest.mark.parametrize("tag", ["4n2g", "2N4G", "1n1g"])
async def test_the_cursor_goes_to_the_case_that_was_added_in_its_column(
    workspace: FakeWorkspace, tag: str
) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("j", "l")
        column = page.query_one(MatrixGrid)._column
        assert column
        await type_ahead(app, pilot, "c", *tag, "enter", "x")
        grid = page.query_one(MatrixGrid)
        assert current(page).case.tag == tag.lower()
        assert grid._column == column
        assert all(cell.state != "free" for cell in grid.row)


async def open_dry_run(app: DlperfApp, pilot: Pilot[str]) -> TextArea:
    """Of what is marked on Matrix; its text."""
    await pilot.press("d")
    await until(pilot, lambda: isinstance(app.screen, DryRunView))
    return app.screen.query_one(TextArea)


async def test_the_dry_run_shows_every_command_and_starts_nothing(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        text = (await open_dry_run(app, pilot)).text
        assert text.count("python3 of_cnn_train_val.py") == 1 + 1 + 1 + 2 + 2 + 4
        assert "# 6/6  4n1g b32 #1  on node1, node2, node3, node4" in text
        await pilot.press("y")
        assert app.clipboard == text
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        assert not workspace.started


async def test_a_dry_run_begins_with_its_schedule_and_a_key_goes_from_run_to_run(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await open_matrix(app, pilot)
        area = await open_dry_run(app, pilot)
        lines = area.text.split("\n")
        heads = [at for at, line in enumerate(lines) if line.startswith("# ") and "/6  " in line]
        notes = lines.index("# notes:")
        assert len(heads) == 6 < heads[-1] < notes
        assert all(line.startswith("# ") for line in lines[notes:] if line)
        assert f"# {len([*filter(None, lines[notes + 1 :])])} notes at the end" == lines[1]
        assert f"# {PLACES_IN_PLAN}" in lines[: heads[0]], "what their numbers count"
        assert not any("stands for" in line for line in lines[:notes])
        at = -1
        for key in "]" * 8 + "[" * 7:
            await pilot.press(key)
            at = (at + (1 if key == "]" else -1)) % len(heads)
            assert area.cursor_location[0] == heads[at]
        await pilot.press("G")
        await until(pilot, lambda: area.scroll_y == area.max_scroll_y)
        await pilot.press("[")
        assert heads[0] < area.cursor_location[0] < notes, "from what is in sight"


async def test_a_dry_run_says_nothing_of_a_host_that_it_leaves_out(tmp_path: Path) -> None:
    first, other, *_ = v100_hosts()
    assert other.facts is not None
    told = replace(other.facts, gpus=tuple(replace(g, name="H200") for g in other.facts.gpus))
    busy = GpuProcess(0, 4711, "alice", "python", 900)
    for used, said in (((busy,), False), ((), True)):
        odd = known_host(other.name, other.address, replace(told, gpu_processes=used))
        workspace = FakeWorkspace(tmp_path, hosts=[first, odd])
        async with console(workspace, LARGE) as (app, pilot):
            await open_matrix(app, pilot)
            await pilot.press("n", "space")
            await until(pilot, partial(shows, app, "1 case ×"))
            text = (await open_dry_run(app, pilot)).text
            assert ("GPU model differs" in text) is said
            assert ("leave out" in text) is not said


async def test_a_dry_run_says_what_preflight_warns_of_each_host_that_it_shows(
    tmp_path: Path,
) -> None:
    hosts = []
    for host, load1 in zip(v100_hosts(), (40.0, 40.0, 0.5, 0.5), strict=True):
        assert host.facts is not None
        hosts.append(known_host(host.name, host.address, replace(host.facts, load1=load1)))
    workspace = FakeWorkspace(tmp_path, hosts=hosts)
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("a")
        text = (await open_dry_run(app, pilot)).text
    warned = [line for line in text.splitlines() if "load 40.0 on 48 CPUs" in line]
    assert [line.split(":")[0] for line in warned] == ["# node[1-2]"]


def small_workspace(workspace: FakeWorkspace, slots: int = 2) -> FakeWorkspace:
    """This machine alone, without a GPU."""
    host = v100_hosts()[0]
    assert host.facts is not None
    small = replace(host, facts=replace(host.facts, gpus=()), slots=slots)
    return FakeWorkspace(workspace.campaigns_dir, hosts=[small], alone=True)


async def one_case_marked(app: DlperfApp, pilot: Pilot[str]) -> None:
    """A plan of 40 seconds."""
    await open_matrix(app, pilot)
    await pilot.press("n", "space")
    await until(pilot, partial(shows, app, "1 case × 1"))


async def test_enter_in_the_dry_run_starts_what_was_read_there(workspace: FakeWorkspace) -> None:
    small = small_workspace(workspace)
    async with console(small, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await open_dry_run(app, pilot)
        read = app.screen
        assert isinstance(read, DryRunView)
        await until(pilot, lambda: read.sight.since < monotonic())
        await pilot.press("enter")
        await until(pilot, lambda: small.started or isinstance(app.screen, StartDialog))
        assert small.started, screen_text(app)


async def test_the_dry_run_of_a_start_leads_back_to_it_or_starts_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog) and app.screen.able("start"))
        for _ in range(2):
            await open_dry_run(app, pilot)
            assert shows(app, "1n1g")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await open_dry_run(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started)
        assert len(workspace.started) == 1
        await until(pilot, lambda: app.current_mode == "runs")


async def test_what_is_looked_for_in_a_dry_run_is_found_and_its_enter_starts_nothing(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        before = -1
        for first, again in (("d", False), ("n", True), ("N", True)):
            if again:
                await pilot.press(first)
            else:
                await type_ahead(app, pilot, first, "/", *"2N", "enter")
            await until(pilot, lambda: isinstance(app.screen, DryRunView))
            area = app.screen.query_one(TextArea)
            assert area.selected_text == "2n"
            assert shows(app, "n Next  N Before")
            assert area.region.width > 100, "as wide as the terminal lets it"
            row = area.cursor_location[0]
            having = [n for n, line in enumerate(area.text.split("\n")) if "2n" in line.casefold()]
            place = f"2N · {having.index(row) + 1} of {len(having)}"
            assert f"Dry-run · {place}" in screen_text(app), "which of all lines that have it"
            assert row != before
            before = row
        assert not workspace.started
        await pilot.press("/", *"zzz", "enter")
        await until(pilot, partial(shows, app, "nothing has: zzz"))
        assert not shows(app, "n Next")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        assert not workspace.started


async def test_a_dry_run_of_what_preflight_stops_starts_nothing(workspace: FakeWorkspace) -> None:
    workspace.findings = (FakeFinding("stop", "no disk left", "remove something", "node1"),)
    async with console(workspace, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "no disk left"))
        await open_dry_run(app, pilot)
        assert not shows(app, "⏎ Start")
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "preflight says stop"))
        await pilot.press("escape")
        await until(pilot, partial(shows, app, "no disk left"))
        assert not workspace.started


async def test_this_machine_alone_opens_on_the_matrix_with_two_small_cases_marked(
    workspace: FakeWorkspace,
) -> None:
    async with console(small_workspace(workspace, slots=64)) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await until(pilot, partial(shows, app, "2 cases × 1 = 2 runs"))
        assert screen_text(app).count("[x]") == 3  # and the profile


async def test_where_this_machine_is_all_there_is_the_matrix_is_the_first_page(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    new_page = DlperfApp.new_page
    monkeypatch.setattr(
        DlperfApp, "new_page", lambda app, name: opened.append(name) or new_page(app, name)
    )
    async with console(small_workspace(workspace)) as (app, _):
        assert app.current_mode == "matrix"
        assert opened == ["matrix"], "and no other stood there before"


async def test_a_console_that_only_looks_and_one_with_an_inventory_open_on_hosts(
    workspace: FakeWorkspace,
) -> None:
    async with console(small_workspace(workspace), readonly=True) as (app, pilot):
        await pilot.pause(0.1)
        assert app.current_mode == "hosts"
    async with console(workspace) as (app, pilot):
        await pilot.pause(0.1)
        assert app.current_mode == "hosts"


class Unanswered(FakeWorkspace):
    """Its hosts take their time."""

    def __init__(self, campaigns_dir: Path, **more: Any) -> None:
        super().__init__(campaigns_dir, **more)
        self.answered = asyncio.Event()

    async def probe(self, names: Sequence[str] | None = None) -> None:
        self.probed.append(None)
        await self.answered.wait()
        await super().probe(names)


async def test_enter_before_the_hosts_have_answered_waits_for_them(
    workspace: FakeWorkspace,
) -> None:
    small = small_workspace(workspace)
    slow = Unanswered(workspace.campaigns_dir, hosts=small._answers, alone=True)
    async with console(slow) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "asking the hosts what they have"))
        assert not slow.started
        slow.answered.set()
        await until(pilot, lambda: isinstance(app.screen, StartDialog))


async def test_before_the_first_look_the_page_says_so_and_enter_waits_for_what_it_marks(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = small_workspace(workspace)
    monkeypatch.setattr(MatrixPage, "tick", lambda self: None)  # a machine that has no time yet
    async with console(small) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        assert shows(app, "Reading the profiles …")
        assert not shows(app, "no hosts yet")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        assert not small.started


async def test_before_the_hosts_have_answered_the_grid_is_there_and_takes_wishes(
    workspace: FakeWorkspace,
) -> None:
    slow = Unanswered(workspace.campaigns_dir)
    async with console(slow) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        page = app.screen
        assert isinstance(page, MatrixPage)
        page.main_panel().table.select("cpu-smoke")
        await pilot.pause()
        grid = words(page.query_one(MatrixGrid))
        assert "b64" in grid
        assert "?" in grid
        assert "[x]" not in screen_text(app)
        assert shows(app, "waits for the answer of node[1-4]")
        await pilot.press("space")
        assert "[·]" in words(page.query_one(MatrixGrid))
        assert shows(app, "asking the hosts what they have")
        await pilot.press("enter")
        assert not slow.started
        assert not isinstance(app.screen, StartDialog)
        slow.answered.set()
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        assert not slow.started  # what came of the wish was not to be seen when Enter was typed
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        await until(pilot, lambda: "[x]" in words(page.query_one(MatrixGrid)))
        assert "?" not in words(page.query_one(MatrixGrid))


async def test_a_short_plan_without_objections_starts_at_once(workspace: FakeWorkspace) -> None:
    workspace.findings = (FakeFinding("ok", "48 CPUs", "", "node1"),)
    async with console(workspace) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: app.current_mode == "runs")
        assert len(workspace.started) == 1
        assert workspace.forced == [False]


@pytest.mark.parametrize("level", ["ok", "warn", "stop"])
async def test_whatever_the_checks_find_is_shown_before_a_short_plan_starts(
    workspace: FakeWorkspace, level: str
) -> None:
    """A warning may cost the results their grade, and load is one."""
    workspace.findings = (FakeFinding(level, "load 2.6 on 2 CPUs", "look with top", "node1"),)
    async with console(workspace, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter")
        if level == "ok":
            await until(pilot, lambda: app.current_mode == "runs")
            return
        await until(pilot, partial(shows, app, "load 2.6 on 2 CPUs"))
        assert isinstance(app.screen, StartDialog)
        assert not workspace.started


async def test_a_short_plan_with_an_objection_asks_and_checks_only_once(
    workspace: FakeWorkspace,
) -> None:
    checked: list[object] = []

    class Counting(FakeWorkspace):
        async def preflight(self, plan: Plan, say: object = None) -> tuple[FakeFinding, ...]:
            checked.append(plan)
            return (FakeFinding("warn", "clock 9 s ahead", "chrony", "node1"),)

    async with console(Counting(workspace.campaigns_dir), LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await until(pilot, partial(shows, app, "warn clock 9 s ahead"))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        assert len(checked) == 1


async def test_a_short_plan_that_cannot_start_says_why(workspace: FakeWorkspace) -> None:
    workspace.start_error = DlperfError("cannot create a campaign", where="/c", remedy="free space")
    async with console(workspace, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "cannot create a campaign"))
        await until(pilot, partial(shows, app, "1 case × 1 repeat"))
        assert app.current_mode == "matrix"


async def test_enter_checks_the_hosts_and_starts(workspace: FakeWorkspace) -> None:
    workspace.findings = (
        FakeFinding("ok", "python3 is there", "", "node1"),
        FakeFinding("warn", "load 2.6 on 2 CPUs", "look with top", "node1"),
    )
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "python3 is there"))
        lines = [line.strip() for line in words(app.screen.query_one("#checks")).splitlines()]
        here = lines.index("▲ node1")
        assert lines[here + 1 : here + 4] == [
            "warn load 2.6 on 2 CPUs",
            "→ look with top",
            "python3 is there",
        ]
        assert lines[here + 4 : here + 6] == ["✓ node[2-4]", "nothing to object"]
        assert "6 runs · about 2m00s · about 11 GPU-minutes" in screen_text(app)
        assert not workspace.started
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started and app.current_mode == "runs")
        assert workspace.forced == [False]


async def test_a_stop_holds_the_start_back_until_it_is_forced(workspace: FakeWorkspace) -> None:
    workspace.findings = (FakeFinding("stop", "no such file /d", "copy it there", "node2"),)
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "stop no such file /d"))
        await pilot.press("enter")
        await pilot.pause(0.05)
        assert not workspace.started
        await pilot.press("F")
        await until(pilot, lambda: workspace.forced == [True])
        assert workspace.overridden == [["no such file /d"]]


async def test_a_start_that_fails_is_told_and_can_be_left(workspace: FakeWorkspace) -> None:
    workspace.start_error = DlperfError(
        "cannot create a campaign: No space left on device", where="/c", remedy="free some space"
    )
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "nothing to object"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "No space left on device"))
        assert "free some space" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))


async def test_a_second_campaign_is_refused_while_one_is_at_work(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        for _ in range(2):
            await pilot.press("2", "enter")
            await until(pilot, lambda: isinstance(app.screen, StartDialog))
            await until(pilot, partial(shows, app, "nothing to object"))
            await pilot.press("enter")
            await until(
                pilot, lambda: app.current_mode == "runs" or shows(app, "a campaign is at work")
            )
        assert len(workspace.started) == 1


async def test_what_cannot_start_beside_a_campaign_is_offered_once_that_has_ended(
    workspace: FakeWorkspace,
) -> None:
    """Nothing is offered that would be refused; the plan and preflight can be read meanwhile."""
    small = small_workspace(workspace)
    async with console(small, LARGE) as (app, pilot):
        begin(app, workspace, ("1n1g",))
        held = "held by another campaign of ops (2026-11-21-resnet50): runs wait for it"
        small.findings = (FakeFinding("warn", held, "wait for its end", "node1"),)
        await open_matrix(app, pilot)
        assert "⏎ Preflight" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "held by another campaign of ops"))
        await settled(app)
        assert shows(app, "a campaign is at work here, and a console has one at a time")
        assert "K Keeper" in screen_text(app)
        assert "⏎ Start" not in screen_text(app)
        await pilot.press("enter", "F")
        await settled(app)
        assert isinstance(app.screen, StartDialog)
        asked, small.findings = small.preflights, ()
        workspace.clock.tick(3600)
        await until(pilot, partial(shows, app, "⏎ Start"))
        assert small.preflights == asked + 1, "what it had is free now"
        assert not shows(app, "held by another campaign of ops")
        assert not shows(app, "K has a keeper start this one")


async def test_a_read_only_console_starts_nothing(workspace: FakeWorkspace) -> None:
    async with console(workspace, readonly=True) as (app, pilot):
        await open_matrix(app, pilot)
        assert "⏎ Preflight" in screen_text(app)
        assert "⏎ Start" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "nothing to object"))
        await until(pilot, partial(shows, app, "this console is read-only"))
        await settled(app)
        assert "⏎ Start" not in screen_text(app)
        await pilot.press("enter")
        await settled(app)
        assert isinstance(app.screen, StartDialog)
        assert not workspace.started


async def test_a_read_only_console_offers_no_way_around_a_stop(workspace: FakeWorkspace) -> None:
    workspace.findings = (FakeFinding("stop", "in use: alice", "wait", "node3"),)
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "this console is read-only"))
        await settled(app)
        assert "leaves out" not in screen_text(app)
        assert "F starts anyway" not in screen_text(app)
        await pilot.press("x", "F")
        await settled(app)
        assert isinstance(app.screen, StartDialog)
        assert not workspace.started


async def test_a_move_of_the_cursor_lays_out_nothing(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("j", "k", "j", "k")
        tick(app)
        await pilot.pause()
        layouts: list[object] = []
        original = MatrixPage._refresh_layout

        def noting(self: MatrixPage, *arguments: Any, **options: Any) -> None:
            layouts.append(arguments)
            original(self, *arguments, **options)

        monkeypatch.setattr(MatrixPage, "_refresh_layout", noting)
        for key in ("j", "k", "j", "k"):
            await pilot.press(key)
            tick(app)
            await pilot.pause()
        assert page.query_one("#cell").size.height >= 2
        assert not layouts


async def test_a_filter_that_no_profile_matches_leaves_no_grid_of_another(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("slash", *"oneflow")
        await until(pilot, lambda: shows(app, "Matrix · oneflow-resnet50"))
        await pilot.press("x")
        await until(pilot, lambda: not shows(app, "Matrix · oneflow"))
        assert shows(app, "Matrix · no profile matches")
        assert not shows(app, "1n1g")
        assert not shows(app, "oneflow-resnet50")
        await pilot.press("backspace")
        await until(pilot, lambda: shows(app, "Matrix · oneflow-resnet50"))
        assert shows(app, "1n1g")


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_escape_takes_a_kept_filter_away_and_the_frame_says_of_it_meanwhile(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_matrix(app, pilot)
        panel = app.screen.query_one("#profiles-panel", TablePanel)
        await until(pilot, lambda: panel.table.row_total > 1)
        every = panel.table.row_total
        await pilot.press("slash", *"oneflow", "enter")
        found = len(panel.table.shown_keys)
        assert 0 < found < every
        await until(pilot, lambda: f"/oneflow · {found} of {every}" in screen_text(app))
        await pilot.press("escape")
        assert len(panel.table.shown_keys) == every
        await until(pilot, lambda: "/oneflow" not in screen_text(app))
        focused = app.focused
        await pilot.press("escape")
        assert app.focused is focused


async def test_nothing_marked_offers_no_start_and_says_why(workspace: FakeWorkspace) -> None:
    """Whatever was marked and however it went, Enter and d are offered when they do something."""
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        for keys in ("a", "a", "space", "space", "a", "a"):
            await pilot.press(keys)
            tick(app)
            await settled(app)
            some = bool(page._asked.taking_part)
            shown = {key.action for key in offered(app.screen)}
            assert ({"start", "dry_run"} <= shown) is some, keys
            if not some:
                for key in ("enter", "d"):
                    await pilot.press(key)
                    await until(pilot, partial(shows, app, "nothing is marked: space marks"))
                    assert app.screen is page


@given(st.lists(st.sampled_from(["", "away", "to be stopped by preflight", "held"]), min_size=1))
def test_the_foot_says_of_how_many_chosen_hosts_how_many_can_be_used(states: list[str]) -> None:
    said = hosts_text({f"node{number}": state for number, state in enumerate(states)})
    usable, of = states.count(""), "" if len(states) == 1 else "s"
    some = "" if usable == len(states) else f"{usable} of "
    assert said == f"{some}{len(states)} host{of}"


@pytest.mark.parametrize("size", [(60, 15), (60, 17), (80, 20), (80, 24)], ids=str)
async def test_what_is_said_of_a_case_gives_way_before_the_last_rows_of_cases(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_matrix(app, pilot)
        for key in ("home", *["down"] * 4):
            await pilot.press(key)
            await pilot.pause()
            grid = app.screen.query_one(MatrixGrid)
            panel = app.screen.query_one("#grid-panel")
            assert grid.region.intersection(panel.content_region) == grid.region
            rows = grid.scrollable_content_region.height - grid._grid.head
            assert rows >= min(3, len(grid.cells)), screen_text(app)


async def test_gpus_are_called_so_whether_or_not_cases_are_marked(workspace: FakeWorkspace) -> None:
    await workspace.probe()
    async with console(workspace) as (app, pilot):
        asked = (await open_matrix(app, pilot))._asked
        await until(pilot, lambda: asked.plan is not None and bool(asked.gpus))
        marked = all(asked.gpus)
        asked.plan = None
        assert asked.gpus
        assert all(asked.gpus) == marked
