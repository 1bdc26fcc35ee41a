"""Weak and strong scaling, profiled runs, repeats until it is known: chosen on the matrix."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import TextArea

from backends.campaign.plan.plan import Plan
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.console.conftest import (
    LARGE,
    console,
    hints_shown,
    screen_text,
    shows,
    tick,
    type_ahead,
    until,
)
from tests.console.fakes import FakeController, FakeFinding, FakeWorkspace
from tests.console.test_matrix import current, one_case_marked, open_matrix, small_workspace
from tui.app import DlperfApp
from tui.key_bindings import PANELS, key_name
from tui.matrix_marks import new_marks
from tui.screens.dialogs import Dialog, Prompt
from tui.screens.dry_run import DryRunView
from tui.screens.editors import ParameterEditor, SettingsEditor
from tui.screens.matrix_page import MatrixPage
from tui.screens.scaling_kinds_dialog import ScalingEditor, none_offered
from tui.screens.scaling_kinds_dialog import offered as offered_totals
from tui.screens.start_dialog import StartDialog
from tui.widgets.filter_table import TablePanel
from tui.widgets.keybar import KeyBar, offered
from tui.widgets.keyed_table import KeyedTable

HUGE = (200, 60)


def batches(plan: Plan) -> list[tuple[str, int | None, str]]:
    cases = [planned.case for planned in plan.cases]
    return [(case.tag, case.batch_size, case.text("global_batch")) for case in cases]


async def choose_strong(app: DlperfApp, pilot: Pilot[str], *, weak: bool = False) -> None:
    """A global batch of 64, beside weak scaling or in its place."""
    await pilot.press("b")
    await until(pilot, lambda: isinstance(app.screen, ScalingEditor))
    if not weak:
        await pilot.press("space")
    await pilot.press("j", "j", "space")
    await until(pilot, partial(shows, app, "per device: 1n1g 64, 1n2g 2n1g 32, 1n4g 2n2g 4n1g 16"))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, MatrixPage))


async def test_strong_scaling_is_chosen_with_keys_shown_and_started(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await choose_strong(app, pilot)
        await until(pilot, partial(shows, app, "6 cases × 1 = 6 runs"))
        shown = screen_text(app)
        assert "Σ64" in shown
        for line in ("1n1g    [x] b64", "1n2g    [x] b32", "4n1g    [x] b16"):
            assert line in shown
        await pilot.press("j")
        await until(pilot, partial(shows, app, "strong scaling"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "strong scaling of cpu-smoke: global batch 64,"))
        assert shows(app, "global_batch=64 × 1: 1n1g b64, 1n2g b32, 2n1g b32, 1n4g b16,")
        await until(pilot, partial(shows, app, "nothing to object"))
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started)
        (plan,) = workspace.started
        assert batches(plan) == [
            ("1n1g", 64, "64"),
            ("1n2g", 32, "64"),
            ("2n1g", 32, "64"),
            ("1n4g", 16, "64"),
            ("2n2g", 16, "64"),
            ("4n1g", 16, "64"),
        ]
        assert plan.selection.values == {"global_batch": ("64",)}


async def test_weak_and_strong_scaling_stand_side_by_side(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await choose_strong(app, pilot, weak=True)
        await until(pilot, partial(shows, app, "12 cases × 1 = 12 runs"))
        kinds, labels, first = screen_text(app).splitlines()[3:6]
        assert kinds.index("weak scaling") < kinds.index("strong")
        assert labels.split()[1:6] == ["b16", "b32", "b64", "b128", "Σ64"]
        assert "[x] b64" in first
        await pilot.press("l", "l", "l", "l")
        await until(pilot, partial(shows, app, "1n1g b64 global_batch=64"))
        assert "│  1n1g " in screen_text(app), "the names of the rows stay in sight"
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        text = app.screen.query_one(TextArea).text
        assert "\n# strong scaling of cpu-smoke: global batch 64, 64 per device on" in text
        assert text.count("--batch_size_per_device=64 ") == 1
        assert text.count("--batch_size_per_device=32 ") == 11 + 1 + 2
        assert text.count("--batch_size_per_device=16 ") == 1 + 2 + 4


@pytest.mark.parametrize("name", ["one-size", "any-size", "two-sizes"])
async def test_where_there_is_no_strong_scaling_to_choose_the_dialog_says_why(
    workspace: FakeWorkspace, name: str
) -> None:
    source = Catalog.load((), None).source("oneflow-resnet50")
    parameter = source.profile.parameters["batch_size"]
    choices = {"one-size": (256,), "two-sizes": (256, 128)}.get(name, ())
    one = parameter.model_copy(update={"choices": choices, "default": 256})
    vars(one).pop("by_text", None)  # a copy keeps what was worked out for the original
    parameters = {**source.profile.parameters, "batch_size": one}
    called = {"parameters": parameters, "name": "ngc-pytorch-resnet50-of-2020"}
    profile = source.profile.model_copy(update=called)
    marks = replace(new_marks(profile), tags=("1n1g", "1n8g", "4n8g"))
    words = none_offered(marks)
    assert offered_totals(marks) == []
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        app.push_screen(ScalingEditor(marks))
        await until(pilot, partial(shows, app, "No strong scaling: "))
        assert "with 256" in words or name == "any-size"
        box = app.screen.query_one(".dialog").region
        shown = " ".join(screen_text(app).replace("│", " ").split())
        assert words in shown, "in its order, and to its end"
        assert box.bottom <= app.size.height


async def test_every_value_of_a_parameter_and_that_it_is_the_default_is_read_whole(
    workspace: FakeWorkspace,
) -> None:
    """Of every profile that comes with the program, at 80 columns."""
    async with console(workspace) as (app, pilot):
        catalog = Catalog.load((), None)
        for marks in map(new_marks, map(catalog.get, catalog.names)):
            if not marks.profile.parameters:
                continue
            editor = ParameterEditor(marks)
            await app.push_screen(editor)
            await pilot.pause()
            table = editor.query_one(KeyedTable)
            for place, (_, cells) in enumerate(editor.entries()):
                for column, told in zip(table.ordered_columns[1:3], cells[:2], strict=True):
                    assert told.cell_len <= column.width, (editor.title, place, told.plain)
            editor.dismiss(None)
            await pilot.pause()


async def test_what_cannot_be_shared_out_says_why(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, ScalingEditor))
        await pilot.press("j")
        await until(pilot, partial(shows, app, "left out 1n4g: batch_size=8 is not a choice"))
        await pilot.press("i", *"33", "enter")
        await until(pilot, partial(shows, app, "batch_size=33 is not a choice"))
        await pilot.press("backspace", "backspace", *"32 x", "enter")
        await until(pilot, partial(shows, app, "global_batch=x is no number of samples"))
        await pilot.press("backspace", "backspace", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await until(pilot, partial(shows, app, "9 cases"))
        await pilot.press(*"jj", *"llll")
        await until(pilot, partial(shows, app, "batch_size=8 is not a choice"))
        assert current(page).state == "impossible"
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, ScalingEditor))
        await pilot.press("n", "enter")
        await until(pilot, partial(shows, app, "neither weak nor strong scaling is marked"))


async def test_packing_is_said_wherever_the_plan_is(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("P")
        await until(pilot, partial(shows, app, "6 cases × 1 repeat = 6 runs, packed"))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        assert "what shared a host is marked" in app.screen.query_one(TextArea).text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "what shared a host is marked"))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        await pilot.press("P")
        await until(pilot, partial(shows, app, "6 cases × 1 repeat = 6 runs · "))


async def test_linked_devices_are_asked_for_and_said_wherever_the_plan_is(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        for key, placement in (("L", Placement.LINKED), ("L", Placement.FIRST)):
            await pilot.press(key)
            linked = placement is Placement.LINKED
            await until(pilot, partial(shows, app, "= 6 runs" + ", best linked" * linked + " · "))
            assert page._asked.plan is not None
            assert page._asked.plan.selection.placement is placement
        await pilot.press("n", "L")
        await until(pilot, partial(shows, app, "nothing marked, best linked"))


async def test_profiled_runs_are_offered_where_every_marked_profile_can_explain(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        assert shows(app, "e Explain")
        await pilot.press("e")
        await until(pilot, partial(shows, app, "6 cases × 1 repeat = 6 runs + 6 profiled · ≈4m00s"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "6 runs + 6 profiled"))
        assert shows(app, "6 profiled runs, one per case, when all repeats are done")
        await pilot.press("escape", "d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        assert app.screen.query_one(TextArea).text.count(" profiled  on ") == 6
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is page)
        app.screen.query_one("#profiles-panel", TablePanel).table.select("oneflow-resnet50")
        await pilot.press("s", "enter", *"/o", "enter", "j", "enter", *"/d", "enter", "escape")
        await until(pilot, lambda: app.screen is page)
        await pilot.press("tab", "space")
        await until(pilot, partial(shows, app, "nothing is profiled: oneflow-resnet50 does not"))
        assert not shows(app, "e Explain")
        assert shows(app, "12 cases, 48 runs ·"), "no profiled run is counted"
        await pilot.press("e", "space")
        await until(pilot, partial(shows, app, "6 profiled")), "the wish was kept"
        await pilot.press("e")
        await until(pilot, partial(shows, app, "6 cases × 1 repeat = 6 runs · "))


async def test_the_target_and_the_budget_of_repeats_are_chosen(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("U")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press(*"3 hours", "enter")
        await until(pilot, partial(shows, app, "✗"))
        await pilot.press("escape", "U")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press(*"0.5% speedup 2h", "enter")
        await until(pilot, partial(shows, app, "6 cases until ±0.5% speedup in 2h00m"))
        await pilot.press("e")
        await until(pilot, partial(shows, app, "6 until ±0.5% speedup in 2h00m + 6 profiled"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "nothing to object"))
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started)
        rule = workspace.started[0].selection.auto
        assert rule is not None
        assert str(rule) == "auto:0.5%:speedup"
        assert rule.budget_gpu_s == 7200
        assert workspace.started[0].selection.explain


@pytest.mark.parametrize("size", [LARGE, HUGE], ids=["120x40", "200x60"])
async def test_the_footer_has_every_key_that_there_is_room_for(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_matrix(app, pilot)
        bar = app.screen.query_one(KeyBar)
        chosen = bar.chosen()
        own = [key for panel in ("matrix", "grid") for key in PANELS[panel].keys if key.palette]
        own = [key for key in own if key in offered(app.screen)]
        left_out = [key for key in own if key not in chosen]
        used = sum(len(key_name(key)) + len(key.label) + 3 for key in chosen)
        assert all(used + len(key_name(k)) + len(k.label) + 3 > size[0] for k in left_out)
        assert not left_out or size is LARGE
        hints = [f"{key_name(key)} {key.label}" for key in chosen]
        shown = partial(hints_shown, app)
        await until(pilot, lambda: all(hint in shown() for hint in hints))


# Keys typed ahead --------------------------------------------------------------------------------


async def test_keys_typed_ahead_of_a_dialog_never_act_on_the_page_behind_it(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        marks = page.focused_marks
        for key in "cbpsoU":
            await type_ahead(app, pilot, key, *"4n2g", "a", "space", "e", "x", "1", "3")
            await until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.is_mounted)
            while isinstance(app.screen, Dialog):
                await pilot.press("escape")
            assert app.screen is page, key
            assert page.focused_marks == marks, key
            assert not page._asked.explain
        assert not workspace.started


class Watched(FakeWorkspace):
    """Looks at the screen when something is started."""

    app: DlperfApp

    async def preflight(self, plan: Plan, say: object = None) -> tuple[FakeFinding, ...]:
        await asyncio.sleep(0.01)
        return self.findings

    async def start(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> FakeController:
        screen, shown = self.app.screen, screen_text(self.app)
        if isinstance(screen, StartDialog):
            assert screen._plan is plan
            assert "─ Start " in shown
            assert all(word in shown for word in plan.cases[0].case.label.split())
        else:
            page = next(s for s in self.app.screen_stack if isinstance(s, MatrixPage))
            part = page.focused_marks
            assert part is not None
            marked = {case.key for case in part.marked(page._asked.snapshots)}
            assert marked == {planned.case.key for planned in plan.cases}
        return await super().start(plan, findings, force=force)


KEYS = st.sampled_from(
    ["enter", "space", *"jkxabenuUdcpsohl+-/1iF", "enter", "space", "enter", "escape", "tab"]
)


@settings(max_examples=8)
@given(st.lists(st.lists(KEYS, max_size=8), min_size=1, max_size=6), st.booleans())
async def test_no_burst_of_keys_starts_what_is_not_on_the_screen(
    bursts: list[list[str]], objects: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        host = small_workspace(FakeWorkspace(Path(directory)))._answers
        workspace = Watched(Path(directory), hosts=host)
        workspace.findings = (FakeFinding("warn", "no lease", "", "node1"),) if objects else ()
        async with console(workspace) as (app, pilot):
            workspace.app = app
            await one_case_marked(app, pilot)  # which Enter starts without a question
            for burst in bursts:
                await type_ahead(app, pilot, *burst)
                if workspace.started:
                    break
            await pilot.pause()


async def test_marks_that_change_while_the_hosts_are_checked_are_asked_about(
    workspace: FakeWorkspace,
) -> None:
    checked = asyncio.Event()

    class Slow(FakeWorkspace):
        async def preflight(self, plan: Plan, say: object = None) -> tuple[FakeFinding, ...]:
            await checked.wait()
            return ()

    slow = Slow(workspace.campaigns_dir)
    async with console(slow) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter", "j", "space")
        await until(pilot, partial(shows, app, "checking the hosts"))
        checked.set()
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await until(pilot, partial(shows, app, "b32 × 1: 1n1g 1n2g"))
        assert not slow.started


async def test_what_is_fetched_before_the_start_is_shown_as_it_comes(
    workspace: FakeWorkspace,
) -> None:
    checked = asyncio.Event()

    class Fetching(FakeWorkspace):
        async def preflight(
            self, plan: Plan, say: Callable[[str], None] | None = None
        ) -> tuple[FakeFinding, ...]:
            assert say is not None
            say("node1: Copying blob [/red] 5ab1")
            await checked.wait()
            return ()

    fetching = Fetching(workspace.campaigns_dir)
    async with console(fetching, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "node1: Copying blob [/red] 5ab1"))
        checked.set()
        await until(pilot, lambda: fetching.started)


# Really -------------------------------------------------------------------------------------------


async def test_of_the_bundled_profiles_the_smoke_test_is_marked_first(tmp_path: Path) -> None:
    """Whatever profiles come before it by name: it needs nothing but this machine."""
    here = Host("here", transport="local", slots=2, work_dir=str(tmp_path / "work"))
    workspace = Workspace(Inventory((here,), None), None, tmp_path / "campaigns")
    async with console(workspace) as (app, pilot):
        await until(pilot, partial(shows, app, "Matrix · cpu-smoke"))
        await until(pilot, partial(shows, app, "2 cases × 1 = 2 runs"))
        await app.session.close()


async def test_what_was_chosen_with_keys_is_run_profiled_and_reported(tmp_path: Path) -> None:
    """Strong scaling with profiled runs, from the keys to ``status --json``."""
    here = Host("here", transport="local", slots=2, work_dir=str(tmp_path / "work"))
    campaigns = tmp_path / "campaigns"
    workspace = Workspace(Inventory((here,), None), None, campaigns)
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: app.current_mode == "matrix" and shows(app, "2 cases"))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, SettingsEditor))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press("2", "enter")
        await until(pilot, lambda: isinstance(app.screen, SettingsEditor))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await choose_strong(app, pilot)
        await pilot.press("e")
        await until(pilot, partial(shows, app, "2 × 1 = 2 runs + 2 profiled"))
        await pilot.press("enter")
        await until(
            pilot, lambda: app.current_mode == "runs" or isinstance(app.screen, StartDialog)
        )
        if isinstance(app.screen, StartDialog):  # this machine is not at its best
            await pilot.press("enter", "F")
        async with asyncio.timeout(200):
            while not (app.session.live and app.session.live.finished):
                await pilot.pause(0.2)
                tick(app)
        path = app.session.live.path
        await app.session.close()
    assert "explain = true" in (path / "campaign.toml").read_text()
    assert "global_batch" in (path / "campaign.toml").read_text()
    command = [sys.executable, "-m", "tui.cli", "--campaigns", str(campaigns), "status"]
    done = subprocess.run([*command, str(path), "--json"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = [
        (run["case"], run["parameters"], run["profiled"], run["state"]) for run in document["runs"]
    ]
    one = {"batch_size": 64, "global_batch": 64}
    two = {"batch_size": 32, "global_batch": 64}
    assert found == [
        ("1n1g", one, False, "succeeded"),
        ("1n2g", two, False, "succeeded"),
        ("1n1g", one, True, "succeeded"),
        ("1n2g", two, True, "succeeded"),
    ]
    assert [result["scaling"] for result in document["results"]] == ["strong", "strong"]
