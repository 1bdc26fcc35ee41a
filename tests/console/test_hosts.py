from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from getpass import getuser
from operator import is_
from pathlib import Path

import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

from backends.campaign.plan.selection import Selection
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import RunView
from backends.campaign.record.status_view import CampaignSnapshot
from backends.engines.slurm.gres import Gpus
from backends.engines.slurm.node_hosts import node_snapshot
from backends.engines.slurm.nodes import Node
from backends.hosts.host_condition import concerns, host_findings
from backends.hosts.host_facts import GpuProcess, HostSnapshot, HostState
from backends.hosts.same_machine import with_same_machines
from backends.inventory.host_entry import Host
from backends.precheck.judged import Judged
from backends.precheck.naming import UNNAMED, RankedHost, Verdict
from backends.precheck.ranking import rank
from backends.precheck.record import Precheck
from backends.remote.lease import Lease
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    SMALL,
    console,
    screen_text,
    shows,
    tick,
    until,
)
from tests.console.fake_prechecks import STARTED_AT, of_four_hosts
from tests.console.fakes import START, FakeWorkspace, facts, known_host, v100_hosts
from tests.support.past_campaigns import past_campaign
from tui.own_leases import LATELY_S, OwnLeases, left_since
from tui.screens.hosts_page import HostRows, HostsPage, devices, note, summary
from tui.text import host_state, ranges
from tui.widgets.header import cluster_words
from tui.widgets.host_detail import HostDetail
from tui.widgets.host_text import host_text
from tui.widgets.keyed_table import KeyedTable


async def test_the_list_tells_state_in_words_devices_and_who_uses_them(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, _):
        shown = screen_text(app)
        for words in ("● ready", "◐ busy", "8 × V100-SXM2-16GB", "alice GPU 0-3"):
            assert words in shown
        assert "2 ready · 1 busy · 1 degraded" in shown


@given(
    host=st.sampled_from([*v100_hosts(), HostSnapshot("gone", "", HostState.UNREACHABLE, "away")]),
    verdicts=st.lists(st.sampled_from([None, *Verdict]), min_size=2, max_size=3),
)
def test_a_row_says_what_a_precheck_holds_against_its_host_behind_all_that_is_so_now(
    host: HostSnapshot, verdicts: list[Verdict | None]
) -> None:
    rows = HostRows()
    [plain] = HostRows().of([host], {}, START)
    for verdict in verdicts:
        known = {host.name: Judged(RankedHost(host.name, verdict), START, START)} if verdict else {}
        [row] = rows.of([host], {}, START, judged=known)
        *before, remarks, age = (one.plain for one in row.cells)
        *same, told, same_age = (one.plain for one in plain.cells)
        assert (before, age) == (same, same_age)
        if verdict is None or verdict in UNNAMED:
            assert remarks == told
        else:
            assert remarks == f"{told} · precheck: {verdict}".removeprefix("– · ")


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_what_a_precheck_holds_against_a_host_stands_in_its_row_where_it_has_room(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    measured = of_four_hosts()
    workspace.prechecks.kept = [
        Precheck("p", Path("p"), STARTED_AT, 60.0, measured, rank(measured))
    ]
    async with console(workspace, size) as (app, pilot):
        await until(pilot, partial(shows, app, "precheck: slow"))
        table = app.screen.query_one("#hosts", KeyedTable)
        for host in v100_hosts():
            [row] = [line for line in screen_text(app).splitlines() if f" {host.name} " in line][:1]
            assert host_state(host).plain in row
            assert ("precheck: slow" in row) == (host.name == "node2")
        assert table.row_count == 4


async def test_before_the_first_answer_hosts_are_unknown() -> None:
    rows = HostRows().of([HostSnapshot("node1", "10.0.0.1", HostState.UNKNOWN)], {}, None)
    assert rows[0].cells[0].plain == "○ unknown"
    assert rows[0].cells[3].plain == "–"


def test_a_row_is_made_anew_only_where_it_says_something_else() -> None:
    rows, (first, second, *_) = HostRows(), v100_hosts()
    before = rows.of([first, second], {}, START)
    same = replace(first)
    assert all(map(is_, before, rows.of([same, second], {}, START + 1)))
    older = rows.of([same, second], {}, START + 60)
    assert [cell.plain for cell in older[0].cells[:-1]] == [c.plain for c in before[0].cells[:-1]]
    assert (before[0].cells[-1].plain, older[0].cells[-1].plain) == ("25s", "1m00s")
    gone = replace(second, state=HostState.UNREACHABLE, reason="connection refused")
    later = rows.of([same, gone], {}, START + 60)
    assert later[0] is older[0]
    assert later[1].cells[0].plain == "✗ unreachable"
    busy = v100_hosts()[2]
    assert busy.facts is not None
    used = replace(busy.facts.gpu_processes[0], run_id="r-1")
    ours = replace(busy, facts=replace(busy.facts, gpu_processes=(used,)))
    told = [rows.of([ours], own, START)[0].cells[6].plain for own in ({}, {"r-1": "2n8g #1"})]
    assert told == ["our run r-1 GPU 0", "our run 2n8g #1 GPU 0"]


SOMEBODY = Lease("somebody who left no note", owner="root", by_a_run=False)


@given(passed=st.floats(0.0, 200.0), old=st.floats(0.0, 60.0), noted=st.booleans())
@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
def test_whatever_a_probe_met_a_host_that_has_a_run_of_ours_says_so_and_no_other_does(
    passed: float, old: float, noted: bool
) -> None:
    """A probe is up to a minute old: the run that it met may have ended, another have begun."""
    with tempfile.TemporaryDirectory() as directory:
        workspace = FakeWorkspace(Path(directory))
        plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g", "2n8g"), ONEFLOW, 3))
        controller = workspace.controller(plan)
        workspace.clock.tick(max(0.0, passed - old))
        then = {run.run_id: run for run in controller.snapshot().runs if run.state.active}
        probed = [
            _met(host, [r for r in then.values() if host.name in r.hosts], workspace, noted=noted)
            for host in v100_hosts()
        ]
        workspace.clock.tick(min(passed, old))
        live = controller.snapshot()
    labels = {run.run_id: run.label for run in live.runs}
    shown = OwnLeases().of(probed, [live])
    for before, host in zip(probed, shown, strict=True):
        ours = [run for run in live.runs if run.state.active and host.name in run.hosts]
        words = f"{note(host, labels).plain}\n{host_text(host, own=labels).plain}"
        assert len(ours) <= 1
        if host.outdated:  # by a run of ours that began or ended since
            words = " ".join(words.split()).replace(host.outdated, "")
        assert ("our run" in words) == bool(ours), (words, before)
        assert all(f"held by our run {run.label}" in words for run in ours)
        assert "is on its GPUs" not in words
        if host.name not in ("node3", "node4"):  # alice is on one, the other's clock is off
            assert host.state_word == ("in use" if ours else "ready")
            assert "somebody" not in words
    used = sum(host.in_use for host in shown)
    assert (f"{used} in use" in summary(shown)) == bool(used)


@given(
    asked=st.floats(0.0, 100.0),
    later=st.floats(0.0, 60.0),
    tag=st.sampled_from(["1n1g", "1n8g"]),
    noted=st.booleans(),
)
@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
def test_what_a_run_of_ours_does_is_never_told_as_somebody_elses(
    asked: float, later: float, tag: str, noted: bool
) -> None:
    """Whose processes cannot be seen, as where they are in a container, and whenever it ends."""
    with tempfile.TemporaryDirectory() as directory:
        workspace = FakeWorkspace(Path(directory))
        plan = workspace.plan(Selection(("oneflow-resnet50",), (tag,), ONEFLOW, 2))
        controller = workspace.controller(plan)
        workspace.clock.tick(asked)
        then = _on(controller.snapshot(), "node1")
        at_work = [run for run in then if run.state is RunState.RUNNING]
        gpus = [gpu for run in at_work for gpu in run.devices_on("node1")]
        found = replace(facts(busy=gpus), gpu_processes=())
        if noted and then:
            lease = Lease(f"bench@login01, run {then[0].run_id}", run_id=then[0].run_id)
            found = replace(found, lease=lease)
        probed = replace(known_host("node1", "", found), probed_at=workspace.clock())
        workspace.clock.tick(later)
        live = controller.snapshot()
    [host] = OwnLeases().of([probed], [live])
    labels = {run.run_id: run.label for run in live.runs}
    words = f"{note(host, labels).plain}\n{host_text(host, own=labels, now=START).plain}"
    assert "cannot be seen" not in words
    assert host.state is HostState.READY
    active = {run.run_id for run in _on(live, "node1")}
    gone = bool({run.run_id for run in at_work} - active)
    assert (host.outdated != "") >= gone
    assert host.outdated in words
    if host.outdated:
        assert not host.recorded
        assert "97%" not in words
        assert "0%" not in words
        assert "load" not in words
    left = left_since([probed], [live])
    assert not (left and active)
    assert left or active or not gone


@pytest.mark.parametrize("later_s", [2.0, 60.0])
def test_what_is_wrong_with_a_host_is_not_forgotten_with_the_load(
    workspace: FakeWorkspace, later_s: float
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n8g",), ONEFLOW, 1))
    controller = workspace.controller(plan)
    workspace.clock.tick(10.0 if later_s > 40 else 1.0)
    hot, *others = facts().gpus
    found = replace(facts(), gpus=(replace(hot, temperature_c=88), *others))
    probed = replace(known_host("node1", "", found), probed_at=workspace.clock())
    workspace.clock.tick(later_s)
    [host] = OwnLeases().of([probed], [controller.snapshot()])
    assert host.outdated
    assert host.state is HostState.DEGRADED
    assert "GPU0 is hot: 88 °C" in note(host).plain


@pytest.mark.parametrize("after_s", [1.0, 3600.0])
def test_what_a_hosts_own_facts_do_not_tell_stays_while_our_run_is_there_and_after(
    workspace: FakeWorkspace, after_s: float
) -> None:
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n8g",), ONEFLOW, 1))
    controller = workspace.controller(plan)
    asked = workspace.clock()
    workspace.clock.tick(after_s)
    alone = known_host("node1", "", facts())
    known = [replace(alone, name=name, probed_at=asked) for name in ("node1", "node2")]
    for host in OwnLeases().of(with_same_machines(known), [controller.snapshot()]):
        assert [what for what in host.warnings if "same machine" in what] == [
            "node[1-2] are the same machine"
        ]


def ended_on_node1(directory: str) -> tuple[CampaignSnapshot, RunRecord, float]:
    """A campaign that is over, its run there, and when that ended."""
    workspace = FakeWorkspace(Path(directory))
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n8g",), ONEFLOW, 1))
    controller = workspace.controller(plan)
    workspace.clock.tick(3600.0)
    live = controller.snapshot()
    (run,) = (run for run in live.state.runs.values() if "node1" in run.hosts)
    assert run.ended_at is not None
    return live, run, run.ended_at


@given(after_s=st.floats(0.0, 600.0))
@settings(deadline=None)
def test_a_load_that_our_run_may_have_left_there_is_no_strangers(after_s: float) -> None:
    """The load of a minute, two minutes after its end at most."""
    with tempfile.TemporaryDirectory() as directory:
        live, _, end = ended_on_node1(directory)
        found = known_host("node1", "", replace(facts(), load1=90.0))
        (host,) = OwnLeases().of([replace(found, probed_at=end + 1e-3 + after_s)], [live])
        assert "load 90.0 on 48 CPUs" in said(host)
        assert ("what of ours has just ended there" in said(host)) == (after_s < 119.9)
        assert ("something computes there" in said(host)) == (after_s >= 119.9)


@given(after_s=st.floats(-1.0, 600.0), at_work=st.booleans())
@settings(deadline=None)
def test_whose_a_load_may_be_is_said_alike_of_all_names_of_a_machine_and_wherever_it_is_said(
    after_s: float, at_work: bool
) -> None:
    """By the details of Hosts and by what a start warns of."""
    with tempfile.TemporaryDirectory() as directory:
        live, run, end = ended_on_node1(directory)
        if at_work:
            run = replace(run, state=RunState.RUNNING, ended_at=None)
            live = replace(live, state=replace(live.state, runs={run.run_id: run}))
        seen = {}
        for name, boot_id in (("node1", "one"), ("node2", "one"), ("node3", "three")):
            found = replace(facts(), load1=90.0, boot_id=boot_id)
            own = replace(known_host(name, "", found), facts=found)
            seen[name] = replace(own, probed_at=end + after_s, concerns=concerns(found))
        hosts = OwnLeases().of(seen.values(), [live])
        told = {}
        for host in hosts:
            assert host.facts is not None
            both = (*host.concerns, *host_findings(host.name, host.facts, gpus_needed=True))
            said = [one.remedy for one in both if one.what.startswith("load 90.0")]
            assert said == said[:1] * 2 or (not said and host.outdated)
            told[host.name] = said and said[0]
        ours = "a run has the host" if at_work else "what of ours has just ended"
        assert (ours in told["node2"]) == (at_work or after_s < 120.0)
        assert told["node1"] == told["node2"] or hosts[0].outdated
        assert "something computes there" in told["node3"]
        assert hosts[2] is seen["node3"], "it is the same as long as it says the same"


@given(before_s=st.floats(-60.0, 240.0), left=st.booleans())
@settings(deadline=None)
def test_a_lease_that_a_probe_met_on_its_way_out_is_nobodys_use_of_the_host(
    before_s: float, left: bool
) -> None:
    """What a run left there is no matter of a moment."""
    assume(abs(before_s) > 1e-3 and abs(before_s - LATELY_S) > 1e-3)
    with tempfile.TemporaryDirectory() as directory:
        live, run, end = ended_on_node1(directory)
        doubts = (Doubt("node1", Why.DEAF, "1"),) if left else ()
        known = replace(run, cleanup=Cleanup(True, doubts))
        live = replace(live, state=replace(live.state, runs={**live.state.runs, run.run_id: known}))
        lease = Lease(f"bench@login01, run {run.run_id}", run_id=run.run_id)
        host = known_host("node1", "", replace(facts(), lease=lease))
        (shown,) = OwnLeases().of([replace(host, probed_at=end + before_s)], [live])
        assert shown.in_use == (before_s > 0 and (left or before_s > LATELY_S))


def _on(live: CampaignSnapshot, host: str) -> list[RunRecord]:
    return [run for run in live.state.runs.values() if run.state.active and host in run.hosts]


def _met(
    host: HostSnapshot, runs: Sequence[RunView], workspace: FakeWorkspace, *, noted: bool
) -> HostSnapshot:
    """What a probe finds while these runs are there; ``noted``: their lease says whose it is."""
    assert host.facts is not None
    found = host.facts
    for run in runs:
        lease: Lease | None = Lease(f"bench@login01, run {run.run_id}", run_id=run.run_id)
        if not noted:
            lease = None if run.state is RunState.STARTING else SOMEBODY
        process = GpuProcess(7, 4711, "bench", "python train.py", 900, run_id=run.run_id)
        found = replace(found, lease=lease, gpu_processes=(*found.gpu_processes, process))
    return replace(known_host(host.name, host.address, found), probed_at=workspace.clock())


async def test_a_thousand_hosts_are_found_by_words_and_left_alone_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = facts()
    hosts = [known_host(f"node{n:04}", f"10.0.{n // 250}.{n % 250}", known) for n in range(1000)]
    workspace = FakeWorkspace(tmp_path, hosts=hosts)
    async with console(workspace, LARGE) as (app, pilot):
        table = app.screen.query_one(KeyedTable)
        await until(pilot, lambda: "1000 ready" in screen_text(app))
        for _ in range(2):  # the scroll bar has come: all is laid out
            tick(app)
            await pilot.pause()
        refills: list[int] = []
        monkeypatch.setattr(table, "refill", lambda rows: refills.append(len(rows)))
        asked: list[int] = []
        snapshots = workspace.cluster.snapshots
        monkeypatch.setattr(
            FakeWorkspace, "snapshots", lambda self: (asked.append(1), snapshots())[1]
        )
        tick(app)
        assert refills == []
        assert len(asked) == 2, "the header and the list"
        monkeypatch.undo()
        await pilot.press("end")
        assert table.current_key == "node0999"
        await pilot.press("slash", *"node05", "enter")
        assert len(table.shown_keys) == 100
        await pilot.press("escape")
        assert len(table.shown_keys) == 1000


@pytest.mark.parametrize("speed", [None, 1.0, 30.0, 60.0])
async def test_how_old_it_is_goes_by_the_time_of_the_hosts_and_of_their_runs(
    workspace: FakeWorkspace, speed: float | None
) -> None:
    """That of simulated hosts passes faster; they are asked as often as others, as far as that is
    not oftener than every ten seconds of ours."""
    workspace.simulated, workspace.simulated_speed = speed is not None, speed
    async with console(workspace, HUGE) as (app, pilot):
        page = app.screen
        assert isinstance(page, HostsPage)
        workspace.clock.tick(600.0 * (speed or 1.0))
        tick(app)
        await pilot.pause()
        shown = {row.key: row.cells[-1].plain for row in page._shown}
        said = {None: "10m00s", 1.0: "10m00s", 30.0: "5h00m", 60.0: "10h00m"}[speed]
        assert set(shown.values()) == {said}
        assert f"as of {said} ago" in screen_text(app)
        assert ("ages in simulated time" in screen_text(app)) is (speed is not None)
        page._ask_again()
        await until(pilot, lambda: workspace.refreshed)
        assert workspace.refreshed[-1] == max(60.0, 10.0 * (speed or 1.0))


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_columns_stand_still_whatever_befalls_the_hosts(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        table = app.screen.query_one("#hosts", KeyedTable)
        known, seen = v100_hosts(), []
        gone = "connection refused, and so it was the last eleven times that somebody asked"
        for change in (
            {},
            {"state": HostState.UNREACHABLE, "reason": gone},
            {"facts": replace(facts(), lease=SOMEBODY)},
            {"state": HostState.PROBING},
            {},
        ):
            workspace.answer(*(replace(host, **change) for host in known))
            await pilot.press("R")
            tick(app)
            await pilot.pause()
            seen.append({column.key: width for column, width in table._layout()})
        assert all(one == seen[0] for one in seen), seen


def test_an_unreachable_host_says_why_in_the_list_and_what_to_do_in_the_details() -> None:
    host = HostSnapshot("n", "10.0.0.1", HostState.UNREACHABLE, reason="host key has CHANGED")
    assert note(host).plain == "host key has CHANGED"
    text = host_text(host).plain
    assert "✗ unreachable" in text
    assert "host key has CHANGED" in text
    assert "r asks again" in text
    assert "it had" not in text
    before = replace(known_host("n", "", facts()), probed_at=1000.0)
    text = host_text(replace(host, seen=before, probed_at=1290.0), now=1300.0).plain
    assert "it had 8 × Tesla V100-SXM2-16GB when it last told, 5m00s ago" in text


def test_a_clock_that_is_off_is_a_warning() -> None:
    host = known_host("n", "", facts(offset=-3.4))
    assert "▲ its clock is 3.4 s behind this machine's" in note(host).plain
    assert "▲ clock -3.40 s" in host_text(host).plain
    fine = known_host("n", "", facts(offset=0.2))
    assert "▲" not in note(fine).plain
    assert "▲" not in host_text(fine).plain
    assert "clock +0.00 s" in host_text(known_host("n", "", facts(offset=-0.004))).plain


def test_a_lease_is_shown_with_its_holder() -> None:
    since = time.mktime((2026, 11, 21, 2, 10, 0, 0, 0, -1))
    lease = Lease("bob@login02 resnet, run r", since, "mallory", "/tmp/note")
    host = HostSnapshot("n", "", HostState.BUSY, facts=replace(facts(), lease=lease))
    assert "bob@login02" in note(host).plain
    assert "held by bob@login02 resnet, run r (user mallory), since 2026-11-21 02:10" in said(host)
    stuck = replace(host, facts=replace(facts(), lease=replace(lease, by_a_run=False)))
    assert "/tmp/note belongs to mallory: ask them" in said(stuck)


@pytest.mark.parametrize("user", ["me", "somebody"])
@pytest.mark.parametrize("here", [True, False])
async def test_a_run_of_the_same_user_that_no_campaign_here_has_is_another_consoles(
    workspace: FakeWorkspace, user: str, *, here: bool
) -> None:
    """Whatever its campaign is called: one of that name is here."""
    name = "2026-11-21-smoke"
    source = Catalog.load().source("cpu-smoke")
    [case] = expand(source.profile, ["1n1g"], {})
    past_campaign(workspace.campaigns_dir / name, source, {case: [1.0]}, at=START)
    run = "r000-a2" if here else "s000-a1"
    person = f"{getuser() if user == 'me' else user}@login01"
    holder = f"{person}, campaign {name}, run {run}"
    lease = Lease(holder, START, person.partition("@")[0], "/tmp/note", run_id=run)
    found = known_host("node1", "", replace(facts(), lease=lease))
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=[found])
    async with console(workspace, HUGE) as (app, pilot):
        others = user == "me" and not here
        said = f"{person}, another console's campaign {name}, run {run}" if others else holder
        await until(pilot, partial(shows, app, f"held by {said}"))
        await pilot.pause()
        row = next(line for line in screen_text(app).splitlines() if " node1 " in line)
        assert ("another console's campaign" in row) == others
        assert ("another console" in screen_text(app)) == others


def test_a_lease_of_today_is_told_with_its_hour_alone() -> None:
    since = time.time()
    host = replace(v100_hosts()[0], facts=replace(facts(), lease=Lease("bob@login02", since)))
    assert f"bob@login02, since {time.strftime('%H:%M', time.localtime(since))}" in said(host)


def said(host: HostSnapshot) -> str:
    """What is told of a host, as one line: where it breaks is its width's."""
    return " ".join(host_text(host).plain.split())


def test_whether_there_is_a_lease_is_told_only_of_a_host_that_answered() -> None:
    assert "no lease" in host_text(HostSnapshot("n", "", HostState.READY, facts=facts())).plain
    for state in (HostState.UNKNOWN, HostState.PROBING, HostState.UNREACHABLE):
        assert "lease" not in host_text(HostSnapshot("n", "", state)).plain


async def test_that_topology_is_below_what_is_seen_is_in_the_foot_of_the_details(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await until(pilot, partial(shows, app, "more lines, Topology among them: ⏎, then ↓"))
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "more lines, Topology among them: ↓"))
        await pilot.press(*["j"] * 12)
        await until(pilot, lambda: "Topology among them" not in screen_text(app))
        assert shows(app, "more lines: ↓")


async def test_a_host_that_is_asked_first_of_all_is_not_said_to_wait_for_a_key(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first paint on, before anything of the probe is loaded."""

    async def never(names: Sequence[str] | None = None) -> None:
        workspace.probed.append(None)
        await asyncio.Event().wait()

    monkeypatch.setattr(workspace, "probe", never)
    async with console(workspace) as (app, pilot):
        await until(pilot, partial(shows, app, "asking it now …"))
        assert not shows(app, "r asks it")


def test_no_two_empty_lines_stand_together_at_any_width() -> None:
    for width in range(60, 210, 10):
        for host in v100_hosts():
            assert "\n\n\n" not in host_text(host, width=width).plain


def test_the_topology_is_shown_as_a_matrix_with_the_legend_of_what_occurs() -> None:
    text = host_text(v100_hosts()[0]).plain
    lines = text.splitlines()
    header = next(i for i, line in enumerate(lines) if "GPU0 GPU1" in line)
    assert lines[header].split()[-2:] == ["CPUs", "NUMA"]
    assert lines[header + 1].split() == [
        *("GPU0", "·", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS", "NODE"),
        *("0-11,24-35", "0"),
    ]
    assert lines[header + 9].split()[0] == "mlx5_0"
    assert "NV2 2 NVLinks bonded" in text
    assert "SYS between NUMA nodes" in text
    assert "PXB" not in text


def test_gpu_rows_tell_memory_utilisation_temperature_power_and_users() -> None:
    for width in (76, 200):
        shown = host_text(v100_hosts()[2], width=width).plain
        line = next(row for row in shown.splitlines() if row.startswith("  0 "))
        for words in ("13.9/15.8", "97%", "61°C", "262/300", "alice"):
            assert words in line
        assert "python" in shown
        assert "41200" in shown


@pytest.mark.parametrize("down", range(4))
async def test_every_gpu_is_in_sight_on_the_smallest_terminal(
    workspace: FakeWorkspace, down: int
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        await pilot.press(*"j" * down)
        gpus = [line for line in screen_text(app).splitlines() if re.match(r"│ +\d  .*°C", line)]
        assert [line.split()[1] for line in gpus] == [str(index) for index in range(len(gpus))]
        assert len(gpus) >= (7 if down == 3 else 8), "node4 has a clock to mend, which comes first"


@given(width=st.integers(60, 220), label=st.integers(1, 60), wired=st.booleans())
@example(width=105, label=1, wired=True)
@settings(max_examples=200, deadline=None)
def test_who_uses_a_gpu_is_said_in_whole_words_at_every_width(
    width: int, label: int, wired: bool
) -> None:
    found = facts(busy=range(0, 8, 2))
    ours = tuple(replace(p, run_id="r-1") for p in found.gpu_processes)
    found = replace(found, gpu_processes=ours, topology=found.topology if wired else None)
    name = "x" * label
    text = host_text(known_host("n", "10.0.0.1", found), width=width, own={"r-1": name}).plain
    gpus = [line for line in text.splitlines() if re.match(r" +\d  .*°C", line)]
    assert len(gpus) == 8
    for index, line in enumerate(gpus):
        words = line.split("  ")
        assert "…" not in line
        told = "ours" in line or f"our run {name}" in line
        assert told == (index % 2 == 0), words
    assert f"our run {name}" in text
    assert text.index("°C") < text.index("Ubuntu")


LONG = "Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.30GHz, in a rack far away"
REASON = "connection lost: no answer from the gateway within the 15 s that its login may take"


@given(
    width=st.integers(74, 220),
    cpus=st.sampled_from(("0-11", "0-55,112-167")),
    busy=st.integers(0, 8),
    away=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_no_line_about_a_host_is_wider_than_the_panel(
    width: int, cpus: str, busy: int, away: bool
) -> None:
    """So that nothing is cut, nor a row lost to a bar to scroll with."""
    found = facts(busy=range(busy))
    wired = found.topology
    assert wired is not None
    nics = {f"NIC{number}": f"mlx5_{number}" for number in range(12)}
    wired = replace(wired, cpu_affinity=(cpus,) * 8, nic_names=nics)
    words = [process.command * 9 for process in found.gpu_processes]
    processes = tuple(
        replace(one, command=command)
        for one, command in zip(found.gpu_processes, words, strict=True)
    )
    found = replace(found, cpu_model=LONG, topology=wired, gpu_processes=processes)
    host = known_host("n", "10.0.0.1", found)
    if away:
        host = replace(
            host, state=HostState.UNREACHABLE, reason=REASON, remedy=f"try: {REASON}", facts=None
        )
    lines = host_text(host, width=width).plain.splitlines()
    assert max(map(len, lines)) <= width, max(lines, key=len)
    told = " ".join(" ".join(lines).split())
    expected = (REASON, f"try: {REASON}") if away else (LONG, cpus, *nics.values())
    assert all(words in told for words in expected)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_host_with_a_long_name_of_its_cpu_loses_no_row_to_a_scroll_bar(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    found = replace(facts(), cpu_model=LONG)
    workspace = FakeWorkspace(tmp_path, hosts=[known_host("node1", "10.0.0.1", found)])
    async with console(workspace, size) as (app, pilot):
        await pilot.pause()
        detail = app.screen.query_one(HostDetail)
        assert not detail.show_horizontal_scrollbar
        assert detail.max_scroll_x == 0


def test_unknown_figures_are_dashes_not_zeros() -> None:
    base = facts()
    gpu = replace(
        base.gpus[0], memory_used_mib=None, utilization_pct=None, temperature_c=None, power_w=None
    )
    host = HostSnapshot("n", "", HostState.READY, facts=replace(base, gpus=(gpu,)))
    line = next(row for row in host_text(host).plain.splitlines() if row.startswith("  0 "))
    assert "–/15.8" in line
    assert "0%" not in line


def test_devices_without_gpus_are_slots() -> None:
    host = HostSnapshot("n", "", HostState.READY, facts=replace(facts(), gpus=()), slots=24)
    assert devices(host) == "24 slots"


@pytest.mark.parametrize("state", [HostState.UNREACHABLE, HostState.UNKNOWN, HostState.PROBING])
def test_slots_of_the_inventory_are_no_devices_that_a_host_has_told(state: HostState) -> None:
    assert devices(HostSnapshot("n", "", state, slots=8)) == "–"


@pytest.mark.parametrize("size", [LARGE, HUGE])
async def test_when_hosts_were_asked_and_how_many_problems_they_have_has_room(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    gpus = list(facts().gpus)
    gpus[3] = replace(gpus[3], throttle_reasons=("hardware thermal slowdown",), ecc_uncorrected=2)
    ill = known_host("node1", "10.0.0.1", replace(facts(), gpus=tuple(gpus), load1=90.0))
    workspace.answer(ill, *v100_hosts()[1:])
    async with console(workspace, size) as (app, pilot):
        await until(pilot, lambda: tick(app) or shows(app, "▲ 2 problems: "))
        assert re.search(r"State +Host .* Remarks +Asked", screen_text(app))
        workspace.clock.tick(30)
        await pilot.press("2", "o")
        await until(pilot, lambda: tick(app) or shows(app, "2 problems: "))
        (row,) = [line for line in screen_text(app).splitlines() if "2 problems: " in line]
        assert re.search(r"node1 .* \d+s ago", row), row


@pytest.mark.parametrize("columns", [120, 160, 180, 200, 240])
@pytest.mark.parametrize("long", [20, 60, 90, 110, 150])
async def test_no_remark_is_cut_while_another_column_has_air(
    workspace: FakeWorkspace, columns: int, long: int
) -> None:
    remark = "x" * long
    away = HostSnapshot("node1", "10.0.0.1", HostState.UNREACHABLE, remark, probed_at=START)
    workspace.answer(away, *v100_hosts()[1:])
    async with console(workspace, (columns, 40)) as (app, pilot):
        await until(pilot, lambda: tick(app) or shows(app, "✗ unreachable"))
        table = app.screen.query_one(KeyedTable)
        shown = {str(key.value): column for key, column in table.columns.items()}
        longest = {
            name: max(len(str(table.get_cell(row, name))) for row in table.shown_keys)
            for name in shown
        }
        if shown["note"].width < long:
            for name in ("name", "address", "devices"):
                assert shown[name].width <= max(longest[name], len(str(shown[name].label))), name


async def test_what_slows_a_gpu_is_read_whole_beside_the_links(workspace: FakeWorkspace) -> None:
    hot = [replace(gpu, throttle_reasons=("software thermal slowdown",)) for gpu in facts().gpus]
    workspace.answer(known_host("node1", "", replace(facts(), gpus=tuple(hot))), *v100_hosts()[1:])
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: tick(app) or shows(app, " slow: heat "))
        assert shows(app, "mlx5_0"), "and the links as well"


@pytest.mark.parametrize("width", [76, 116, 156, 196])
@given(
    why=st.lists(
        st.sampled_from(
            [f"{made} thermal slowdown" for made in ("hardware", "software")]
            + ["power cap", "sync boost"]
        ),
        min_size=1,
        unique=True,
    ),
    user=st.text("abc", max_size=30),
)
def test_what_is_wrong_with_a_gpu_is_whole_at_any_width(
    width: int, why: list[str], user: str
) -> None:
    gpus = list(facts().gpus)
    gpus[3] = replace(gpus[3], throttle_reasons=tuple(why), ecc_uncorrected=2)
    ill = replace(facts(busy=[3] if user else [], user=user), gpus=tuple(gpus))
    said = host_text(known_host("node1", "", ill), width=width).plain
    (row,) = (line for line in said.splitlines() if "slow: " in line or "slowed by" in line)
    brief = ", ".join(why).replace("software ", "").replace("thermal slowdown", "heat")
    assert f"slow: {brief}  " in row or f"slowed by {', '.join(why)}  " in row
    assert re.search("▲ 2 (uncorrected )?ECC errors", row)


def test_a_gpu_that_is_hot_and_has_errors_takes_no_line_for_a_scroll_bar() -> None:
    """Of a list that is eighty columns wide."""
    gpus = list(facts().gpus)
    slowed = ("software thermal slowdown",)
    gpus[5] = replace(gpus[5], throttle_reasons=slowed, ecc_uncorrected=12, temperature_c=88)
    host = known_host("node1", "", replace(facts(), gpus=tuple(gpus)))
    assert max(map(len, host_text(host, width=75, now=START).plain.splitlines())) <= 75


async def test_the_details_take_the_whole_width_before_anything_is_cut(
    workspace: FakeWorkspace,
) -> None:
    used = facts(busy=range(8), user="x" * 40)
    workspace.answer(known_host("node1", "", used), *v100_hosts()[1:])
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: tick(app) or shows(app, "xxx…"))
        head = next(row for row in screen_text(app).splitlines() if "GPUs memory GiB" in row)
        assert "in use by " in head
        assert head.endswith("mlx5_0   │"), "a column is kept for the scroll bar"


def test_gpus_that_the_driver_does_not_tell_are_unknown_and_not_none() -> None:
    problem = "nvidia-smi did not answer within 5 s"
    silent = replace(facts(), gpus=(), gpu_problem=problem)
    host = known_host("node2", "", silent)
    assert devices(host) == "GPUs unknown"
    said = host_text(host).plain
    assert f"GPUs unknown: {problem}" in said
    assert "No GPU" not in said
    well = known_host("node1", "", facts())
    assert cluster_words([well, host]) == "2 hosts 8 GPUs (GPUs of node2 unknown)"
    assert host.capacity.gpu_problem == problem
    assert "GPUs unknown" not in host_text(well).plain
    assert cluster_words([well]) == "1 host 8 GPUs"


def test_index_ranges_read_like_nodesets() -> None:
    assert ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8"
    assert ranges((12, 0, 9, 1, 11), ", ") == "0-1, 9, 11-12"


async def test_r_asks_the_host_under_the_cursor_again_and_R_asks_all(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        answered = list(v100_hosts())
        answered[1] = HostSnapshot(
            "node2", "10.11.0.3", HostState.UNREACHABLE, reason="connection refused"
        )
        workspace.answer(*answered)
        await pilot.press("j", "r")
        await until(pilot, lambda: workspace.probed[-1] == ("node2",))
        await until(pilot, lambda: "✗ unreachable" in screen_text(app))
        assert "connection refused" in screen_text(app)
        await pilot.press("R")
        await until(pilot, lambda: workspace.probed[-1] is None and len(workspace.probed) == 3)


async def test_the_details_follow_the_cursor_and_scroll(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        detail = app.screen.query_one(HostDetail)
        await pilot.press("j", "j")
        await until(pilot, lambda: "node3" in str(detail.border_title))
        await pilot.press("enter")
        assert app.focused is detail
        await pilot.press("G")
        await until(pilot, lambda: "SYS between NUMA nodes" in screen_text(app))
        await pilot.press("escape")
        assert isinstance(app.focused, KeyedTable)


async def test_slash_filters_and_escape_takes_the_filter_away(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        table = app.screen.query_one(KeyedTable)
        await pilot.press("slash", *"alice")
        await until(pilot, lambda: table.shown_keys == ("node3",))
        await pilot.press("enter")
        assert app.focused is table
        tick(app)
        await pilot.pause()
        assert "Hosts · /alice" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(table.shown_keys) == 4)


async def test_without_a_host_no_key_offers_anything_of_one(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, partial(shows, app, "⏎ Details"))
        await pilot.press("slash", *"zzz", "enter")
        await until(pilot, lambda: tick(app) or "No host matches" in screen_text(app))
        await until(pilot, lambda: tick(app) or "z Zoom" not in screen_text(app))
        shown = screen_text(app)
        assert not any(key in shown for key in ("⏎ Details", "r Re-probe", "s Log in"))
        assert "R Re-probe all" in shown
        await pilot.press("z")
        assert not app.screen.has_class("-zoomed")
        await pilot.press("escape")
        await until(pilot, lambda: tick(app) or "z Zoom" in screen_text(app))


async def test_a_filter_that_matches_nothing_says_how_to_go_back(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("slash", *"zzz")
        tick(app)
        await until(pilot, lambda: "Esc takes the filter away" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "node1" in screen_text(app))


H200 = (Gpus("h200", 8),)
GIVEN = Node(
    "node1",
    ("gpu", "short"),
    "mixed",
    cpus=96,
    load=3.5,
    memory_mib=2048,
    gpus=H200,
    used=(0, 1, 4),
    gpus_used=3,
    users=("alice", "bob"),
)
DRAINED = Node("node2", ("gpu",), "idle", ("drain",), reason="bad fan", cpus=96, gpus=H200)
RESERVED = Node("node3", ("gpu",), "idle", ("reserved",), gpus=H200, reservation="course")


async def test_nodes_of_a_queue_tell_partitions_reasons_and_who_has_their_devices(
    tmp_path: Path,
) -> None:
    nodes = [node_snapshot(node) for node in (GIVEN, DRAINED, RESERVED)]
    workspace = FakeWorkspace(tmp_path, hosts=nodes)
    workspace.inventory = replace(
        workspace.inventory, engine="slurm", login=Host("login01", transport="local")
    )
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: "1 ready · 1 busy · 1 offline" in screen_text(app))
        assert "Partitions" in screen_text(app)
        assert "Address" not in screen_text(app)
        lines = [line for line in screen_text(app).splitlines() if "8 × h200  " in line]
        for line, told in zip(
            lines,
            (
                ("● ready", "gpu, short", "alice, bob GPU 0-1,4"),
                ("✗ offline", "gpu", "▲ drain: bad fan"),
                ("◐ busy", "gpu", "reserved: course"),
            ),
            strict=True,
        ):
            assert all(words in line for words in told), line
        assert "8 GPUs, h200; jobs have 0, 1, 4" in screen_text(app)
        assert "Log in" not in screen_text(app)  # nobody logs in to them


async def test_a_queue_that_does_not_answer_is_told_where_its_hosts_would_be(
    tmp_path: Path,
) -> None:
    workspace = FakeWorkspace(tmp_path, hosts=())
    login = Host("login01", transport="local")
    workspace.inventory = replace(workspace.inventory, engine="slurm", login=login)
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: "Asking slurm which hosts there are" in screen_text(app))
        workspace.problem = "Slurm's controller does not answer"
        await until(pilot, lambda: screen_text(app).count(workspace.problem) == 2)


def test_the_summary_says_each_word_once() -> None:
    recorded = [
        replace(host, facts=replace(host.facts, load1=float("nan")))
        for host in v100_hosts()
        if host.facts is not None
    ]
    fit = sum(host.state is HostState.READY for host in recorded)
    assert 1 < fit < len(recorded)
    words = [part.partition(" ")[2] for part in summary(recorded).split(" · ")]
    assert summary(recorded).startswith(f"{fit} recorded · ")
    assert sorted(words) == sorted({host.state_word for host in recorded})


@given(
    width=st.integers(76, 160),
    outdated=st.sampled_from(["", "before our run began", "before our run ended", "recorded"]),
    old_s=st.integers(6, 9000),
    metered=st.booleans(),
)
def test_nobody_uses_a_gpu_only_where_that_was_asked_since(
    width: int, outdated: str, old_s: int, metered: bool
) -> None:
    idle = replace(facts(), gpu_processes=())
    if outdated == "recorded":
        outdated, idle = "", idle.without_load()
    host = replace(known_host("node1", "n1", idle), outdated=outdated, probed_at=START)
    unknown = bool(outdated) or host.recorded
    text = host_text(host, width=width, now=START + old_s, metered=metered).plain
    gpus = [line for line in text.splitlines() if re.match(r" +\d  .*°C", line)]
    assert gpus
    assert all(("not known" in line) is unknown for line in gpus)
    why = f"not known, as it was asked {outdated}; r asks it again"
    assert (why in " ".join(text.split())) is bool(outdated)


@given(
    width=st.integers(40, 160),
    outdated=st.sampled_from(["", "before our run began", "before our run ended"]),
    old_s=st.integers(6, 9000),
    metered=st.booleans(),
)
def test_what_stands_first_of_a_host_is_whole_at_every_width(
    width: int, outdated: str, old_s: int, metered: bool
) -> None:
    lease = Lease("alice@login02, campaign 2026-11-21-a-long-name, since 14:18", run_id="")
    found = replace(known_host("node1", "node1.cluster.example", facts()), outdated=outdated)
    for host in (found, replace(found, facts=replace(facts(), lease=lease))):
        asked = replace(host, probed_at=START)
        shown = host_text(asked, width=width, now=START + old_s, own={}, metered=metered).plain
        head = shown.partition("\nGPUs memory")[0].partition("\n\n")[0].splitlines()
        assert max(map(len, head)) <= width
        said = " ".join(" ".join(head).split())
        assert ("GPUs and load as of now" in said) is metered
        assert outdated in said
        assert ("held by alice@login02" in said) is (host is not found)


@pytest.mark.parametrize("end", ["escape", "enter"])
async def test_what_is_below_a_list_stays_where_it_is_while_a_filter_is_typed(
    workspace: FakeWorkspace, end: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        detail = app.screen.query_one(HostDetail)
        await until(pilot, lambda: "2 ready" in screen_text(app))
        before = detail.region
        await pilot.press("slash")
        await pilot.pause()
        typing = detail.region
        assert before.y <= typing.y <= before.y + 1
        for key in ("n", "o", "d", "e", "2", "x", "backspace"):
            await pilot.press(key)
            tick(app)
            await pilot.pause()
            assert detail.region == typing
        await pilot.press(*["backspace"] * 5 * (end == "enter"), end)
        await until(pilot, lambda: detail.region == before)
