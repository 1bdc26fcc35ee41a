"""The state of hosts where a plan is made: as it is by now, asked for again, or with its age."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import TextArea

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.remote.lease import Lease
from tests.console.conftest import HUGE, LARGE, begin, console, screen_text, shows, tick, until
from tests.console.fake_prechecks import of_four_hosts
from tests.console.fakes import FakeWorkspace, facts, known_host, v100_hosts
from tests.console.test_matrix import open_matrix
from tui.key_bindings import PAGES, PANELS, sign_of
from tui.plan_words import hosts_text, usable_text
from tui.refused_keys import where_else
from tui.screens.dry_run import DryRunView
from tui.screens.editors import HostPicker
from tui.screens.run_text import _hosts
from tui.screens.start_dialog import StartDialog


def held_host(host: HostSnapshot, run_id: str = "", by: str = "bob, campaign x") -> HostSnapshot:
    found = replace(facts(), lease=Lease(by, run_id=run_id))
    return replace(known_host(host.name, host.address, found), probed_at=host.probed_at)


def held_first(workspace: FakeWorkspace) -> tuple[HostSnapshot, tuple[HostSnapshot, ...]]:
    """The first host held by somebody when it was asked, and what all are by now."""
    free = v100_hosts()
    workspace.answer(held_host(free[0]), *free[1:])
    return free[0], free


@pytest.mark.parametrize("over", ["", "o", "enter"])
async def test_hosts_are_asked_again_while_their_state_is_in_sight(
    workspace: FakeWorkspace, over: str
) -> None:
    """On Matrix, in its sheet of hosts, and in the start dialog."""
    _, free = held_first(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await until(pilot, lambda: shows(app, "node1 held"))
        if over:
            await pilot.press(over)
            opened = {"o": HostPicker, "enter": StartDialog}[over]
            await until(pilot, lambda: isinstance(app.screen, opened))
        held = "in use" if over == "o" else "node1 held"
        await until(pilot, lambda: shows(app, held))
        workspace.answer(*free)
        workspace.refreshed.clear()
        page._ask_again()
        await until(pilot, lambda: workspace.refreshed == [60.0])
        tick(app)
        await until(pilot, lambda: not shows(app, held))


async def test_hosts_are_not_asked_by_a_page_that_nobody_looks_at(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("4")
        await until(pilot, lambda: app.current_mode == "results")
        workspace.refreshed.clear()
        page._ask_again()
        await pilot.pause()
        assert not workspace.refreshed


async def test_a_host_that_measures_for_us_is_not_asked_by_matrix(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=1)
        workspace.clock.tick(1.0)
        page = await open_matrix(app, pilot)
        workspace.refreshed_among.clear()
        page._ask_again()
        await until(pilot, lambda: workspace.refreshed_among)
        (run,) = [run for run in controller.snapshot().runs if run.state.active]
        asked = workspace.refreshed_among[0]
        assert asked is not None
        assert set(asked) == {f"node{n}" for n in range(1, 5)} - set(run.hosts)


async def test_what_our_run_held_is_free_when_it_has_ended(workspace: FakeWorkspace) -> None:
    """Whatever the last look met there."""
    free = v100_hosts()
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=1)
        workspace.clock.tick(1.0)
        (run,) = [run for run in controller.snapshot().runs if run.state.active]
        asked = workspace.clock()
        met = held_host(free[0], run.run_id, f"bench@login01, run {run.run_id}")
        workspace._hosts = (replace(met, probed_at=asked), *free[1:])
        workspace.answer(*workspace._hosts)
        await open_matrix(app, pilot)
        await until(pilot, lambda: shows(app, "node1 held"))
        workspace.clock.tick(3600)
        assert controller.snapshot().finished
        tick(app)
        await until(pilot, lambda: not shows(app, "node1 held"))
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        assert "in use" not in screen_text(app)


@pytest.mark.parametrize(("passed_s", "said"), [(60.0, ""), (200.0, "as of 3m00s ago")])
async def test_a_state_that_should_have_been_asked_for_again_says_how_old_it_is(
    workspace: FakeWorkspace, passed_s: float, said: str
) -> None:
    held_first(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        await open_matrix(app, pilot)
        await until(pilot, lambda: shows(app, "node1 held"))
        workspace.clock.tick(passed_s - 25)
        tick(app)
        await pilot.pause()
        assert ("as of" in screen_text(app)) == bool(said)
        assert shows(app, said)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        assert "Asked" in screen_text(app)


async def test_that_our_run_has_a_host_is_not_as_old_as_the_look_at_it(
    workspace: FakeWorkspace,
) -> None:
    """What was met on another host was; by Matrix, by a dry-run and before a start."""
    free = v100_hosts()
    workspace.answer(free[0], held_host(free[1]), *free[2:])
    async with console(workspace, HUGE) as (app, pilot):
        await open_matrix(app, pilot)
        workspace.clock.tick(600.0)
        controller = begin(app, workspace, ("1n1g",), repeats=1)
        workspace.clock.tick(1.0)
        (run,) = [run for run in controller.snapshot().runs if run.state.active]
        (ours,) = run.hosts
        tick(app)
        said = f"{ours} held; node2 held, node3 busy, as of 10m"
        await until(pilot, lambda: shows(app, said))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        written = app.screen.query_one(TextArea).text
        assert f"{ours} cannot be used now: held by run " in written
        assert re.search(r"node2 cannot be used as of 10m\S+ ago: held by bob", written)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await until(pilot, lambda: shows(app, said))


@pytest.mark.parametrize("speed", [None, 12.0])
async def test_a_dry_run_says_by_the_clock_of_the_matrix_how_old_a_state_is(
    workspace: FakeWorkspace, speed: float | None
) -> None:
    workspace.simulated, workspace.simulated_speed = speed is not None, speed
    held_first(workspace)
    async with console(workspace, HUGE) as (app, pilot):
        await open_matrix(app, pilot)
        await until(pilot, lambda: shows(app, "node1 held"))
        workspace.clock.tick(3600)
        tick(app)
        await until(pilot, lambda: re.search(r"as of \S+ ago", screen_text(app)))
        found = re.search(r"as of \S+ ago", screen_text(app))
        assert found
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        written = app.screen.query_one(TextArea).text
        assert f"node1 cannot be used {found.group()}: held by" in written


@given(st.lists(st.sampled_from(["", "away", "held"]), min_size=1))
def test_how_many_hosts_can_be_used_now_is_said_where_not_all_can(states: list[str]) -> None:
    told = {f"node{number}": state for number, state in enumerate(states)}
    said, usable = usable_text(told), states.count("")
    assert bool(said) == (usable < len(states))
    if said:
        count = hosts_text(told) if usable else "no host"
        assert said == f"{count} can be used now"


async def test_of_a_held_host_that_is_degraded_both_are_said_and_counted(
    workspace: FakeWorkspace,
) -> None:
    first, *others = v100_hosts()
    worn = facts()
    worn = replace(worn, gpus=(replace(worn.gpus[0], ecc_uncorrected=2), *worn.gpus[1:]))
    lease = Lease("root@vm, campaign 20261128-194100-cpu-smoke, since 19:41")
    held = known_host("node1", first.address, replace(worn, lease=lease))
    assert held.state is HostState.DEGRADED
    workspace.answer(held, *others)
    async with console(workspace, (160, 44)) as (app, pilot):
        both = ("root@vm", held.concerns[0].what)
        assert any(all(w in line for w in both) for line in screen_text(app).splitlines())
        assert "1 degraded, in use" in screen_text(app)
        await open_matrix(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        assert shows(app, "root@vm · ▲ GPU0 has 2 uncorrected")


async def test_a_key_of_another_page_says_that_nothing_came_of_it_here(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("y")
        await until(pilot, lambda: shows(app, "y: not here; it is Copy on Runs"))
    assert where_else("z").endswith("it is Zoom on Hosts, Runs, Results")
    assert where_else("v") == "v: not here; it is a key of Runs, Results"


def test_where_else_a_key_is_is_said_by_names_that_pages_and_panels_have_above_them() -> None:
    shown = {page.label for page in PAGES.values()} | {PANELS["log"].title}
    keys = {one for panel in PANELS.values() for key in panel.keys for one in key.keys.split(",")}
    said = [where_else(key, panels=("log",)) for key in keys]
    places = [re.findall(r"(?: on | in | key of )([A-Z][^;]*)", words) for words in said]
    assert {name for one in places for names in one for name in names.split(", ")} == shown


@pytest.mark.parametrize("pressed", ["up", "down", "left", "right"])
def test_no_arrow_is_said_to_be_another_key_elsewhere(pressed: str) -> None:
    words = where_else(pressed, panels=PANELS)
    assert not words or sign_of(pressed) in words.partition(":")[0]


async def test_repeats_that_are_the_operators_choice_are_told_as_such(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        part = page.focused_marks
        assert part is not None
        own = part.profile.matrix.repeats
        assert not shows(app, "your choice")
        await pilot.press("+")
        await until(pilot, lambda: shows(app, f"(your choice; the profile's is {own})"))
        await pilot.press("-")
        await until(pilot, lambda: not shows(app, "your choice"))


@given(st.permutations(["sim1", "sim2", "sim3", "sim4", "gpu7"]))
def test_hosts_of_a_run_are_as_short_in_its_row_in_whatever_order(names: list[str]) -> None:
    assert len(_hosts(names)) == len("sim[1-4],gpu7")


async def test_where_hosts_are_chosen_is_said_which_are_one_machine_and_what_a_precheck_found(
    workspace: FakeWorkspace,
) -> None:
    one, other, *others = (replace(h, facts=replace(facts(), boot_id="b")) for h in v100_hosts())
    others = [replace(h, facts=replace(facts(), boot_id=h.name)) for h in others]
    workspace._hosts = (one, other, *others)
    workspace.answer(one, other, *others)
    prechecks = workspace.prechecks
    prechecks.measured = of_four_hosts()
    prechecks.go.set()
    found = await prechecks.measure(await prechecks.plan(""))
    verdicts = {ranked.host: ranked.verdict for ranked in found.ranking.hosts}
    async with console(workspace, (160, 44)) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, HostPicker))
        await until(pilot, lambda: shows(app, f"precheck: {verdicts['node2']}"))
        assert shows(app, "node[1-2] are the same machine: use one alone.")
