"""What is said, and asked, before anything starts."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Static, TextArea

from backends.campaign.folder.past_index import PastIndex
from backends.campaign.plan.cost_estimate import plan_price
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.hosts.foreseen import facts_for, foreseen, in_order, renewed, untroubled
from backends.hosts.host_condition import host_findings
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.remote.lease import Lease
from profiles.durations import format_duration, parse_duration
from profiles.format.case import Case
from tests.console.conftest import (
    LARGE,
    ONEFLOW,
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
from tests.console.fakes import (
    START,
    FakeController,
    FakeFinding,
    FakeWorkspace,
    facts,
    frozen_catalog,
    known_host,
    v100_hosts,
)
from tests.console.test_matrix import one_case_marked, open_matrix
from tests.console.test_matrix_past import SMOKE
from tests.support.past_campaigns import past_campaign
from tui.app import DlperfApp
from tui.matrix_marks import Marks, new_marks
from tui.matrix_request import selection
from tui.plan_words import (
    READING_PAST,
    device_word,
    expected_on,
    host_states,
    keys_line,
    not_counted,
    plan_totals,
    price_text,
    time_text,
    unfit_lines,
    usable_now,
)
from tui.screens.dry_run import DryRunView, dry_run_text
from tui.screens.matrix_page import MatrixPage
from tui.screens.matrix_text import plan_footer
from tui.screens.possible_changes import repeat_question
from tui.screens.start_dialog import StartDialog
from tui.screens.start_text import cases_text, checklist_text, totals_text
from tui.text import Hanging, age_text, named_rows


def test_cases_of_the_same_parameters_are_one_line_and_none_is_left_out() -> None:
    workspace = FakeWorkspace(Path("/nowhere"))
    tags = ("1n1g", "1n2g", "1n4g", "2n1g")
    sizes = {"batch_size": ("16", "32")}
    plan = workspace.plan(Selection(("cpu-smoke",), tags, sizes, repeats=3))
    lines = cases_text(plan).plain.strip().splitlines()
    assert lines == [
        "cpu-smoke",
        "  b16 × 3: 1n1g 1n2g 1n4g 2n1g",
        "  b32 × 3: 1n1g 1n2g 1n4g 2n1g",
    ]


@pytest.mark.parametrize("profiles", [1, 2])
async def test_few_cases_stand_before_what_preflight_found(
    workspace: FakeWorkspace, profiles: int
) -> None:
    """Many stand behind it: a STOP stays in sight."""
    names = ("cpu-smoke", "oneflow-resnet50")[:profiles]
    paths = {f"oneflow-resnet50:{name}": ("/x",) for name in ("benchmark_root", "data_root")}
    plan = workspace.plan(Selection(names, ("1n1g",), paths if profiles > 1 else {}, 1))
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        page = app.screen
        assert isinstance(page, MatrixPage)
        asked = page._asked
        for name in names:
            asked.put(asked.marks(name))
        await app.push_screen(StartDialog(app.session, page.hosts_now, plan, asked, []))
        await settled(app)
        order = [one.id for one in app.screen.query("#plan, #checks, #cases").results(Static)]
    assert order == ["plan", *(("cases", "checks") if profiles == 1 else ("checks", "cases"))]


IN_USE = FakeFinding("stop", "in use: alice", "wait, ask, or leave the host out", "node3")


async def test_one_key_leaves_a_profile_out_that_is_stopped_on_every_host(
    workspace: FakeWorkspace,
) -> None:
    """What is found says of which profile it is, and so do the words above it."""
    names = ("cpu-smoke", "oneflow-resnet50")
    paths = {f"oneflow-resnet50:{name}": ("/x",) for name in ("benchmark_root", "data_root")}
    plan = workspace.plan(Selection(names, ("1n1g",), paths, 1))
    resnet = Bearing(("oneflow-resnet50",))
    missing = FakeFinding("stop", "torchrun missing", "install it", "", resnet)
    found = [replace(missing, host=host.name) for host in plan.hosts]
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        page = app.screen
        assert isinstance(page, MatrixPage)
        asked, hosts = page._asked, page.hosts_now
        asked.put(asked.marks(names[1]))
        await app.push_screen(StartDialog(app.session, hosts, plan, asked, found))
        x = "x leaves out oneflow-resnet50 and starts 1 of 2 runs"
        await until(pilot, partial(shows, app, x))
        shown = " ".join(words(app.screen.query_one("#plan")).split())
        assert "cpu-smoke alone could start on node[1-4]: unmark oneflow-resnet50" in shown
        assert "stopped by preflight" not in shown, "they are said to be able to start"
        await settled(app)
        await pilot.press("x")
        await until(pilot, lambda: workspace.started)
        assert {one.profile.name for one in workspace.started[0].cases} == {"cpu-smoke"}
        assert workspace.started[0].left_out == (
            "every case of oneflow-resnet50: torchrun missing",
        )
        assert workspace.overridden == [[]]


async def test_one_key_leaves_the_stopped_hosts_out_and_starts(workspace: FakeWorkspace) -> None:
    workspace.findings = (IN_USE, FakeFinding("warn", "load 9.7", "look with top", "node2"))
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "x leaves out node3"))
        checks = " ".join(words(app.screen.query_one("#checks")).split())
        assert "starts 5 of 6 runs on node[1-2,4], without 4n1g b32" in checks
        shown = screen_text(app)
        assert "x Leave out, start" in shown
        assert "⏎ Start" not in shown.replace("⏎ Start  space", "")
        await settled(app)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DryRunView))
        dry_run = app.screen.query_one(TextArea).text
        assert "# left out: node3: in use: alice" in dry_run
        assert dry_run.count("node3") == 1
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "Esc, then x starts this"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await settled(app)
        await pilot.press("x")
        await until(pilot, lambda: workspace.started)
        assert [host.name for host in workspace.started[0].hosts] == ["node1", "node2", "node4"]
        assert workspace.started[0].left_out == (
            "node3: in use: alice",
            "cpu-smoke 4n1g b32: needs 4 hosts, there are 3",
        )
        assert workspace.forced == [False]
        assert workspace.overridden == [[]]


async def test_a_stop_of_no_host_cannot_be_left_out(workspace: FakeWorkspace) -> None:
    workspace.findings = (FakeFinding("stop", "no license", "ask for one", ""),)
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "no license"))
        await settled(app)
        assert "Leave out" not in screen_text(app)
        await pilot.press("x")
        await settled(app)
        assert not workspace.started


async def test_a_host_that_does_not_answer_is_neither_counted_nor_left_unsaid(
    tmp_path: Path,
) -> None:
    first, second, third, last = v100_hosts()
    away = replace(last, state=HostState.UNREACHABLE, facts=None, reason="connection refused")
    workspace = FakeWorkspace(tmp_path, hosts=(first, second, third, away))
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await until(pilot, partial(shows, app, "· 2 of 4 hosts"))
        assert "node3 busy, node4 away" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "does not answer: connection refused"))
        assert "on any of node[1-3]" in screen_text(app)


async def test_while_it_starts_the_dialog_still_leaves_out_who_does_not_answer(
    tmp_path: Path,
) -> None:
    *there, last = v100_hosts()
    away = replace(last, state=HostState.UNREACHABLE, facts=None, reason="connection refused")
    held = asyncio.Event()

    class Slow(FakeWorkspace):
        async def start(
            self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
        ) -> FakeController:
            await held.wait()
            return await super().start(plan, findings, force=force)

    async with console(Slow(tmp_path, hosts=(*there, away)), LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "does not answer"))
        await settled(app)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "starting …"))
        assert "on any of node[1-3]" in screen_text(app)
        held.set()
        await until(pilot, lambda: app.current_mode == "runs")


@pytest.mark.parametrize(
    ("took", "repeats", "asks"),
    [(0.125, 1, False), (0.125, 2, False), (0.125, 9, True), (500.0, 1, True), (None, 1, False)],
)
async def test_a_past_time_takes_no_question_away(
    workspace: FakeWorkspace, took: float | None, repeats: int, *, asks: bool
) -> None:
    """The profile says 40 s a run; four hosts take one each."""
    if took is not None:
        here = Case("cpu-smoke", 1, 1, {"batch_size": 32})
        path = workspace.campaigns_dir / "made-up"
        past_campaign(path, SMOKE, {here: [1.0]}, at=START, run_s=took)
    async with console(workspace, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        page = app.screen
        assert isinstance(page, MatrixPage)
        await until(pilot, lambda: page._asked.past_reading.complete)
        await type_ahead(app, pilot, *["plus"] * (repeats - 1))
        tick(app)
        await until(pilot, partial(shows, app, f"1 case × {repeats}"))
        known = page._asked.plan
        assert known is not None
        assert [one.measured_s for one in known.cases] == [took]
        await settled(app)
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started or isinstance(app.screen, StartDialog))
        assert isinstance(app.screen, StartDialog) == asks
        assert bool(workspace.started) != asks
        profile_s, measured_s = 40.0 * repeats / 4, (took or 0.0) * repeats / 4
        await settled(app)
        unsaid = measured_s <= 60.0 < profile_s
        assert shows(app, "not started at once: by its profile alone it may take") == unsaid


async def started_from_another_profile(app: DlperfApp, pilot: Pilot[str]) -> None:
    """A case of cpu-smoke is marked, and a filter leads to oneflow-resnet50; then Enter."""
    await one_case_marked(app, pilot)
    await pilot.press("/", *"oneflow", "enter")
    await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
    await until(pilot, partial(shows, app, "cpu-smoke  1 case"))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, StartDialog))


async def test_marks_of_other_profiles_are_named_and_what_a_filter_hides_is_asked_about(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await started_from_another_profile(app, pilot)
        await until(pilot, partial(shows, app, "cpu-smoke"))
        said = "what is marked is of cpu-smoke, and the cursor is"
        await until(pilot, partial(shows, app, said))
        assert "GPU-" in screen_text(app)
        assert "marked, too" not in screen_text(app)
        assert not workspace.started


async def test_what_preflight_stops_is_the_only_reason_that_is_told(
    workspace: FakeWorkspace,
) -> None:
    workspace.findings = (IN_USE,)
    async with console(workspace, LARGE) as (app, pilot):
        await started_from_another_profile(app, pilot)
        await until(pilot, partial(shows, app, "in use: alice"))
        assert not shows(app, "not started at once")
        await pilot.press("enter")
        assert not workspace.started


async def test_the_price_of_a_plan_is_its_device_hours_on_the_cheapest_and_dearest_host(
    workspace: FakeWorkspace,
) -> None:
    await workspace.probe()
    plan = workspace.plan(Selection(("cpu-smoke",), ("1n1g", "2n2g"), {}, 3))
    free = plan_price(plan)
    assert free is not None
    assert free.cost is None
    run_s = parse_duration(plan.cases[0].profile.launch.expected or "")
    assert free.device_hours == 3 * (1 + 4) * run_s / 3600
    prices = zip(plan.hosts, (2.0, 2.0, 3.0, 4.0), strict=True)
    priced = replace(plan, hosts=tuple(replace(h, price_per_hour=p) for h, p in prices))
    found = plan_price(priced)
    assert found is not None
    assert found.cost == (2.0 * free.device_hours, 4.0 * free.device_hours)


@given(
    uses=st.lists(st.sampled_from(["gpu", "any", "cpu"]), min_size=1, max_size=3),
    gpus=st.lists(st.sampled_from([None, 0, 1, 8]), max_size=3),
)
def test_devices_are_called_gpus_where_runs_can_be_on_nothing_else(
    uses: list[str], gpus: list[int | None]
) -> None:
    profile = frozen_catalog().get("oneflow-resnet50")
    of_plan = [profile.model_copy(update={"devices": one}) for one in uses]
    word = device_word(of_plan, gpus)
    every_host = bool(gpus) and all(gpus)
    assert (word == "GPU") == all(one == "gpu" or (one == "any" and every_host) for one in uses)


async def test_the_price_of_a_plan_on_hosts_that_all_have_gpus_is_in_gpu_time(
    workspace: FakeWorkspace,
) -> None:
    await workspace.probe()
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 3))
    anything = [
        replace(one, profile=one.profile.model_copy(update={"devices": "any"}))
        for one in plan.cases
    ]
    assert " GPU-" in price_text(replace(plan, cases=tuple(anything)))
    one, *others = plan.capacities
    mixed = (replace(one, gpus=0), *others)
    assert " device-" in price_text(replace(plan, cases=tuple(anything), capacities=mixed))


@pytest.mark.parametrize(
    ("environment", "word"), [("v100, driver 450.80.02", "GPU-"), ("48 CPUs", "device-")]
)
async def test_more_repeats_of_runs_on_gpus_are_told_in_gpu_time(
    workspace: FakeWorkspace, environment: str, word: str
) -> None:
    await workspace.probe()
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g",), ONEFLOW, 3))
    controller = workspace.controller(plan)
    controller.environment = environment
    workspace.clock.tick(3600)
    assert f" {word}" in repeat_question(controller.snapshot()).text


@pytest.mark.parametrize("beside", ["", "48 CPUs"])
async def test_more_repeats_of_runs_on_gpus_and_on_cpus_are_told_in_device_time(
    workspace: FakeWorkspace, beside: str
) -> None:
    """Also before one on CPUs has ended, which tells what it was on."""
    await workspace.probe()
    plan = workspace.plan(Selection(("oneflow-resnet50", "cpu-smoke"), ("1n1g",), ONEFLOW, 3))
    controller = workspace.controller(plan)
    controller.environment = "v100, driver 450.80.02"
    workspace.clock.tick(3600)
    seen = controller.snapshot()
    runs = {
        run_id: replace(run, fingerprint=beside if run.profile == "cpu-smoke" else run.fingerprint)
        for run_id, run in seen.state.runs.items()
    }
    assert {run.fingerprint for run in runs.values()} == {controller.environment, beside}
    asked = repeat_question(replace(seen, state=replace(seen.state, runs=runs))).text
    assert " device-" in asked


async def test_settings_of_one_name_stay_those_of_their_profile(workspace: FakeWorkspace) -> None:
    await workspace.probe()
    hosts = workspace.snapshots()
    smoke = new_marks(workspace.catalog.get("cpu-smoke")).with_defaults()
    flow = new_marks(workspace.catalog.get("oneflow-resnet50")).with_defaults()
    shared = set(smoke.profile.settings) & set(flow.profile.settings)
    given: dict[str, Marks] = {
        "cpu-smoke": smoke,
        "oneflow-resnet50": replace(
            flow, settings={name: values[0] for name, values in ONEFLOW.items()}
        ),
    }
    marked = {name: part.marked(hosts) for name, part in given.items()}
    asked = selection(given, marked, repeats=None, hosts="")
    assert "oneflow-resnet50:data_root" in asked.values
    plan = workspace.plan(asked)
    by_profile = {planned.profile.name: planned.settings for planned in plan.cases}
    assert by_profile["oneflow-resnet50"]["data_root"] == "/data/ofrecord"
    assert "data_root" not in by_profile["cpu-smoke"] or "data_root" in shared


@given(
    st.sampled_from(["", "  ", "▲ ", "    → ", "    warn ", "    stop "]),
    st.lists(st.text("abcdefgh,:", min_size=1, max_size=9), min_size=1, max_size=30),
    st.integers(24, 80),
)
def test_a_line_goes_on_below_the_words_that_it_began_with(
    lead: str, words: list[str], width: int
) -> None:
    shown = Console(width=width, file=io.StringIO(), color_system=None)
    shown.print(Hanging(Text(lead + " ".join(words))))
    assert isinstance(shown.file, io.StringIO)
    first, *rest = shown.file.getvalue().rstrip("\n").split("\n")
    assert first.startswith(lead)
    for line in rest:
        assert line.startswith(" " * len(lead))
        assert line[len(lead)] != " "
    assert " ".join([first.removeprefix(lead), *rest]).split() == words


WORDS = st.lists(st.text("abcdefgh,:", min_size=1, max_size=9), min_size=1, max_size=9)
NAMES = st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.tuples(NAMES, WORDS), min_size=1), st.integers(30, 80))
def test_the_value_of_a_row_goes_on_below_itself_where_its_name_leaves_it_room(
    rows: list[tuple[str, list[str]]], width: int
) -> None:
    shown = Console(width=width, file=io.StringIO(), color_system=None)
    shown.print(Hanging(named_rows((name, " ".join(values)) for name, values in rows)))
    assert isinstance(shown.file, io.StringIO)
    lines = [line.rstrip() for line in shown.file.getvalue().rstrip("\n").split("\n")]
    assert all(len(line) <= width for line in lines)
    column = max(len(name) for name, _ in rows) + 2
    if width - column < 12:
        every = "".join(name + "".join(values) for name, values in rows)
        assert "".join(lines).replace(" ", "") == every.replace(" ", "")
        return
    told = " ".join(line[column:] for line in lines)
    assert told.split() == [value for _, values in rows for value in values]
    assert [name for line in lines if (name := line[:column].strip())] == [n for n, _ in rows]


def test_hosts_of_a_plan_stand_in_its_order_wherever_they_are_told() -> None:
    plan = _plan(["v1", "v2", "h1"], "gpu")
    there = "v[1-2],h1"
    assert f"on any of {there}" in totals_text(plan, {}).plain
    assert f"any of {there}" in plan_totals(plan)
    assert there in checklist_text(plan, ()).plain
    assert keys_line(plan, plan, plan).startswith(f"Enter asks first: x goes on with {there} alone")
    assert not_counted(dict.fromkeys(["v1", "v2", "h1"], "busy")) == f"{there} busy"
    away = [replace(_host(name, "away"), reason="gone") for name in ("v1", "v2", "h1")]
    assert unfit_lines(plan, away)[0] == f"{there} cannot be used now: gone"


@given(room=st.integers(20, 120), chosen=st.sampled_from(["", "node1,node3"]))
def test_hosts_that_were_chosen_are_named_beside_the_marks(room: int, chosen: str) -> None:
    plan = _plan(["node1", "node3"], "gpu")
    plan = replace(plan, selection=replace(plan.selection, hosts=chosen))
    foot = plan_footer(plan, {"node1": "", "node3": ""}, room, "41s", wide=False).plain
    assert len(foot) <= room
    if chosen and room > 60:
        assert foot.endswith(" · 2 hosts: node1,node3")
    assert ("node" in foot) <= bool(chosen)


def test_a_plan_says_which_of_its_hosts_cannot_be_used_and_what_that_leaves_waiting() -> None:
    plan = _plan([f"node{i}" for i in range(1, 5)], "gpu")
    of_two = replace(plan.cases[0], case=replace(plan.cases[0].case, nodes=2))
    plan = replace(plan, cases=(*plan.cases, of_two))
    well, worn, broken = (_host("node1", "well"), _host("node2", "worn"), _host("node3", "broken"))
    away = replace(_host("node4", "away"), reason="connection refused")
    lines = unfit_lines(plan, (well, worn, broken, away))
    assert lines[0].startswith("node2 cannot be used now: GPU0")
    assert lines[1:] == [
        f"node3 cannot be used now: {_BROKEN}",
        "node4 cannot be used now: connection refused",
        "2n1g needs 2 hosts, 1 can be used now",
    ]
    assert all(f"# {line}\n" in dry_run_text(plan, (), lines) for line in lines)
    everywhere = [_host(f"node{i}", "well") for i in range(1, 5)]
    assert unfit_lines(plan, everywhere) == []


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_a_plan_says_how_old_it_is_that_a_host_cannot_be_used(away_s: float, well_s: float) -> None:
    plan = _plan(["node1", "node2"], "gpu")
    ages = {"node1": well_s, "node2": away_s}
    away = replace(_host("node2", "away"), reason="connection refused")
    hosts = (_host("node1", "well"), away)
    (line, *_) = unfit_lines(plan, hosts, age_s=lambda host: ages[host.name])
    when = "now" if away_s < 30 else f"as of {age_text(away_s)} ago"
    assert line == f"node2 cannot be used {when}: connection refused"


@given(st.floats(30, 1e5), st.booleans(), st.sampled_from(["held", "away", "broken"]))
def test_what_a_campaign_tells_of_a_host_is_as_old_as_the_campaign_and_not_as_the_probe(
    age_s: float, told_now: bool, state: str
) -> None:
    plan = _plan(["node1"], "gpu")
    host = replace(_host("node1", state), reason="gone", told_now=told_now)
    (line, *_) = unfit_lines(plan, [host], age_s=lambda _: age_s)
    now = told_now and state != "broken"
    when = "now" if now else f"as of {age_text(age_s)} ago"
    assert line.startswith(f"node1 cannot be used {when}: ")


@given(
    st.lists(st.sampled_from(["well", "busy", "worn", "away"]), min_size=4, max_size=4),
    st.integers(1, 3),
)
def test_the_schedule_of_a_dry_run_and_its_time_leave_out_what_cannot_be_used_now(
    kinds: list[str], nodes: int
) -> None:
    """One estimate, which is that of the Matrix; where no run could be, of all hosts."""
    hosts = [_host(f"node{i}", kind) for i, kind in enumerate(kinds, 1)]
    plan = _plan([host.name for host in hosts], "gpu")
    one = replace(plan.cases[0], case=replace(plan.cases[0].case, nodes=nodes), repeats=5)
    plan = replace(plan, cases=(one,))
    states = host_states(plan, hosts)
    well = {name for name, why in states.items() if not why}
    usable, said = usable_now(plan, hosts)
    assert bool(said) is (len(well) < 4)
    if len(well) < nodes:
        assert usable is plan
        assert "as if" in said
        return
    assert {name for slot in usable.timeline if slot is not None for name in slot.hosts} <= well
    assert usable.expected_s == expected_on(plan, states)
    assert time_text(plan, states) in plan_totals(usable)
    assert {host.name for host in usable.hosts} == well
    assert usable.selection is plan.selection, "which is what is started"


_BROKEN = "nvidia-smi says nothing"


@given(
    st.lists(st.sampled_from(["well", "busy", "broken", "worn", "away"]), min_size=4, max_size=4),
    st.sampled_from(["cpu", "gpu", "any"]),
)
def test_hosts_are_counted_for_a_plan_just_where_its_checks_will_let_it_run(
    kinds: list[str], devices: str
) -> None:
    hosts = tuple(_host(f"node{i}", kind) for i, kind in enumerate(kinds, 1))
    plan = _plan([host.name for host in hosts], devices)
    own = {
        host.name: host.facts.without_gpus() if devices == "cpu" else host.facts
        for host in hosts
        if host.facts is not None
    }
    stopped = [
        finding
        for name, found in own.items()
        for finding in host_findings(name, found, gpus_needed=devices == "gpu")
        if finding.level is Level.STOP
    ]
    at_first = host_states(plan, hosts)
    found = {name: f"to be {s}" if s.startswith("stopped") else s
             for name, s in host_states(plan, hosts, stopped).items()}  # fmt: skip
    assert at_first == found, "what is foreseen is told apart from what was found"
    names = {finding.host for finding in stopped} | {h.name for h in hosts if h.facts is None}
    assert {name for name, state in at_first.items() if state} == names
    if devices == "cpu":
        assert set(at_first.values()) <= {"", "away"}
    said = not_counted(at_first)
    assert all((word in said) is (word in at_first.values()) for word in ("busy", "away"))
    assert at_first["node1"] in (
        "",
        {"well": "", "worn": "to be stopped by preflight"}.get(kinds[0], kinds[0]),
    )


_KINDS = st.lists(st.sampled_from(["well", "busy", "held", "worn", "away"]), min_size=3, max_size=3)


@given(_KINDS, _KINDS, st.sets(st.sampled_from(["node1", "node2", "node3"])))
def test_what_preflight_found_is_renewed_to_what_it_would_find_by_now(
    then: list[str], now: list[str], checked: set[str]
) -> None:
    names = ["node1", "node2", "node3"]
    plan = _plan(names, "gpu")
    checks = [Finding(name, Level.STOP, "no such file: train.py") for name in sorted(checked)]

    def found(kinds: list[str]) -> tuple[Finding, ...]:
        told = facts_for(plan.cases, map(_host, names, kinds))
        known = [*checks, *foreseen(told, plan.cases)]
        return in_order([*known, *untroubled(told, known)], names)

    told = facts_for(plan.cases, map(_host, names, now))
    assert renewed(found(then), foreseen(told, plan.cases), told, names) == found(now)


async def test_what_preflight_found_is_as_new_as_the_line_of_hosts_above_it(tmp_path: Path) -> None:
    names = ["node1", "node2", "node3"]
    workspace = FakeWorkspace(
        tmp_path, hosts=[_host(*one) for one in zip(names, _FIRST, strict=True)]
    )
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        workspace.findings = workspace.foreseen(
            workspace.plan(Selection(("cpu-smoke",), repeats=1))
        )
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "held by"))
        dialog = app.screen
        assert isinstance(dialog, StartDialog)
        for kinds in (_LATER, _FIRST, ["well"] * 3):
            workspace._answers = workspace._hosts = tuple(map(_host, names, kinds))
            tick(app)
            await pilot.pause()
            head, checks = words(dialog.query_one("#plan")), dialog._findings or ()
            held = [name for name, kind in zip(names, kinds, strict=True) if kind == "held"]
            assert [one.host for one in checks if "held" in one.what] == held
            assert (" held" in head) is bool(held)
            assert ("held by" in words(app.screen.query_one("#checks"))) is bool(held)
        assert workspace.preflights == 1, "which would disturb whoever measures there"


async def test_a_host_that_answers_again_is_asked_by_preflight_too(tmp_path: Path) -> None:
    names = ["node1", "node2"]
    hosts = (_host("node1", "held"), _host("node2", "away"))
    warned = (FakeFinding("warn", "load 9.7", "", "node1"),)
    workspace = FakeWorkspace(tmp_path, hosts=hosts, findings=warned)
    async with console(workspace, LARGE) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "does not answer"))
        workspace._answers = workspace._hosts = tuple(_host(name, "well") for name in names)
        tick(app)
        await until(pilot, lambda: workspace.preflights == 2)
        await until(pilot, lambda: not shows(app, "does not answer"))


_FIRST, _LATER = ["held", "well", "held"], ["well", "held", "held"]


def _host(name: str, kind: str) -> HostSnapshot:
    found = facts(busy=(0, 1) if kind == "busy" else ())
    if kind == "held":
        found = replace(found, lease=Lease("alice@login2, campaign c, run r", START))
    if kind == "broken":
        found = replace(found, gpus=(), gpu_problem=_BROKEN)
    if kind == "worn":
        found = replace(found, gpus=(replace(found.gpus[0], ecc_uncorrected=2), *found.gpus[1:]))
    host = known_host(name, "10.11.0.2", replace(found, disk_free_mib=10**6))
    if kind == "away":
        return replace(host, state=HostState.UNREACHABLE, facts=None)
    return host


def _plan(names: Sequence[str], devices: str) -> Plan:
    workspace = FakeWorkspace(Path("/nowhere"), hosts=[_host(name, "well") for name in names])
    asyncio.run(workspace.probe())
    plan = workspace.plan(Selection(("cpu-smoke",), ("1n1g",), {}, 1))
    profile = plan.cases[0].profile.model_copy(update={"devices": devices})
    return replace(plan, cases=tuple(replace(case, profile=profile) for case in plan.cases))


async def test_what_a_key_would_start_is_in_sight_where_the_key_is_offered(tmp_path: Path) -> None:
    *there, last = v100_hosts()
    away = replace(last, state=HostState.UNREACHABLE, facts=None, reason="connection refused")
    workspace = FakeWorkspace(tmp_path, hosts=(*there, away))
    warned = [FakeFinding("warn", f"warning {i}", "look", f"node{i % 3 + 1}") for i in range(20)]
    workspace.findings = (IN_USE, *warned)
    async with console(workspace, SMALL) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("a", "J", "a", "enter")
        await until(pilot, partial(shows, app, "Leave out, start"))
        shown = screen_text(app)
        assert " GPU-" in shown  # what it takes
        assert "x leaves out node[3-4] and starts" in shown
        assert "F starts anyway" in shown
        assert "in use: alice" in shown  # what stops it, before what is only to be known
        assert "node3 busy, node4 away" in " ".join(shown.split())


@pytest.mark.parametrize("opened", [True, False])
async def test_past_results_change_how_long_a_plan_takes_and_never_what_it_is(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, *, opened: bool
) -> None:
    """Whether they come while the start is asked about or before."""
    here = Case("cpu-smoke", 1, 1, {"batch_size": 32})
    past_campaign(workspace.campaigns_dir / "before", SMOKE, {here: [1.0]}, at=START, run_s=500.0)
    held = threading.Event()
    whole = PastIndex.read
    monkeypatch.setattr(PastIndex, "read", lambda *given: (held.wait(20), whole(*given))[1])
    try:
        async with console(workspace, LARGE) as (app, pilot):
            await one_case_marked(app, pilot)
            page = app.screen
            assert isinstance(page, MatrixPage)
            await type_ahead(app, pilot, *["plus"] * 8)  # by its profile, too, it is not short
            tick(app)
            await until(pilot, partial(shows, app, "1 case × 9"))
            assert shows(app, READING_PAST)
            footer = next(
                x for x in screen_text(app).splitlines() if "1 case × 9" in x and READING_PAST in x
            )
            assert "≈" not in footer
            await settled(app)
            shown_since, planned = page.sight.since, page._asked.plan
            if not opened:
                held.set()
                await until(pilot, lambda: page._asked.past_reading.known)
                tick(app)
                assert page._asked.plan != planned
                assert page.sight.since == shown_since
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, StartDialog))
            await settled(app)
            if opened:
                assert READING_PAST in words(app.screen.query_one("#plan"))
                held.set()
            await until(pilot, lambda: "as measured" in words(app.screen.query_one("#plan")))
            said = words(app.screen.query_one("#plan"))
            assert "not started at once" not in said
            known = page._asked.timed(page._asked.ready())
            assert known is not None
            assert known.expected_s is not None
            assert f"about {format_duration(known.expected_s)} " in " ".join(said.split())
    finally:
        held.set()


@pytest.mark.parametrize("answers", [0, 1, 2, 4])
async def test_the_plan_that_starts_is_the_one_that_is_shown_whenever_past_results_come(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    """A campaign has just ended, and what was read is of before. ``answers``: when the disk
    answers: at Enter (1), beside preflight (2), after the wait (4), or once it starts (0)."""
    held, starting, go = threading.Event(), asyncio.Event(), asyncio.Event()
    whole, start, check = PastIndex.read, workspace.start, workspace.preflight
    checked = asyncio.Event()

    async def slow(*given: Any, **named: Any) -> FakeController:
        starting.set()
        await go.wait()
        return await start(*given, **named)

    async def preflight(*given: Any) -> Any:
        if answers & 2:
            held.set()
        await checked.wait()
        return await check(*given)

    monkeypatch.setattr(workspace, "start", slow)
    monkeypatch.setattr(workspace, "preflight", preflight)
    try:
        async with console(workspace, LARGE) as (app, pilot):
            await one_case_marked(app, pilot)
            page = app.screen
            assert isinstance(page, MatrixPage)
            await until(pilot, lambda: page._asked.past_reading.known)
            await type_ahead(app, pilot, *["plus"] * 8)
            tick(app)
            await until(pilot, partial(shows, app, "1 case × 9"))
            await settled(app)
            here = Case("cpu-smoke", 1, 1, {"batch_size": 32})
            before = workspace.campaigns_dir / "before"
            past_campaign(before, SMOKE, {here: [1.0]}, at=START, run_s=500.0)
            monkeypatch.setattr(PastIndex, "read", lambda *g: (held.wait(20), whole(*g))[1])
            if answers & 1:
                held.set()
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, StartDialog))
            dialog = app.screen
            assert isinstance(dialog, StartDialog)
            checked.set()
            await until(pilot, lambda: dialog.able("start"))
            if answers & 4:
                held.set()
                await page._asked.past_reading.up_to_date()
            await settled(app)
            await pilot.press("enter")
            await until(pilot, starting.is_set)
            held.set()
            await page._asked.past_reading.read()
            tick(app)
            await settled(app)
            shown = " ".join(words(dialog.query_one("#plan")).split())
            go.set()
            await until(pilot, lambda: workspace.started)
            (plan,) = workspace.started
            assert plan.expected_s is not None
            assert f"about {format_duration(plan.expected_s)} " in shown
            in_time = bool(answers & 7)
            assert [one.measured_s for one in plan.cases] == [500.0 if in_time else None]
            assert ("as measured" in shown) == in_time
    finally:
        held.set()


@pytest.mark.parametrize("took", [0.125, 500.0])
async def test_what_ended_just_now_counts_for_a_start_at_once(
    workspace: FakeWorkspace, *, took: float
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await one_case_marked(app, pilot)
        page = app.screen
        assert isinstance(page, MatrixPage)
        await until(pilot, lambda: page._asked.past_reading.known)
        await settled(app)
        here = Case("cpu-smoke", 1, 1, {"batch_size": 32})
        path = workspace.campaigns_dir / "ended"
        past_campaign(path, SMOKE, {here: [1.0]}, at=START, run_s=took)
        await pilot.press("enter")
        await until(pilot, lambda: workspace.started or isinstance(app.screen, StartDialog))
        assert bool(workspace.started) == (took < 1.0)
        if workspace.started:
            assert [one.measured_s for one in workspace.started[0].cases] == [took]
