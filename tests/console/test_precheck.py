"""Precheck on Hosts: said before, shown while it runs, and who is named with a NODESET to copy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from backends.inventory.nodesets import fold_nodeset
from backends.precheck.figures import METRICS, Figure
from backends.precheck.judged import Judged
from backends.precheck.measure import Progress
from backends.precheck.naming import RankedHost, Verdict
from backends.precheck.plan_precheck import PrecheckPlan
from backends.precheck.ranking import Measured, rank
from backends.precheck.record import Precheck
from backends.precheck.words import UNJUDGED, who_is_named
from backends.results.numbers import significant
from profiles.errors import DlperfError, SelectionError
from tests.console.conftest import LARGE, console, screen_text, tick, type_ahead, until
from tests.console.fake_prechecks import FakePrechecks, of_four_hosts
from tests.console.fakes import FakeWorkspace, facts, known_host, v100_hosts
from tui.app import DlperfApp
from tui.dialog_keys import DIALOGS
from tui.precheck_at_work import PrecheckAtWork
from tui.refused_keys import idle
from tui.screens.precheck_dialog import PrecheckDialog
from tui.screens.precheck_text import found_text, proposal, why_no_proposal
from tui.widgets.host_text import host_text


async def begin(app: DlperfApp, pilot: Pilot[str]) -> None:
    """As far as its first step."""
    await pilot.press("p")
    await until(pilot, lambda: "left out" in screen_text(app))
    await pilot.press("enter")
    await until(pilot, lambda: "gpus 1/3" in screen_text(app))


async def test_what_will_run_where_and_how_long_is_said_and_busy_hosts_are_left_out(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        shown = screen_text(app)
        assert "on node[1-2,4], ≈ " in shown
        assert "hosts two by two by torch, 3 pairs in 3 rounds" in shown
        assert "busy: " in shown
        assert workspace.prechecks.kept == []


async def test_which_hosts_would_not_be_judged_is_said_before_it_is_started(
    workspace: FakeWorkspace,
) -> None:
    first, *others = v100_hosts()
    workspace.answer(known_host(first.name, first.address, replace(facts(), load1=90.0)), *others)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        told = " ".join(screen_text(app).replace("│", " ").split())
        assert f"{UNJUDGED}: node1: load 90.0 on 48 CPUs" in told
        assert "is named" not in told


async def test_who_is_left_out_and_what_becomes_of_the_slow_are_no_contradiction(
    workspace: FakeWorkspace,
) -> None:
    """``left out`` is said of hosts that cannot be measured, and of no others."""
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        shown = " ".join(screen_text(app).split())
        assert "then named. Whether to use it is up to you." in shown
        assert shown.count("left out") == 1


async def test_it_goes_on_while_other_pages_are_looked_at_and_is_found_again(
    workspace: FakeWorkspace,
) -> None:
    workspace.prechecks.measured = of_four_hosts()
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PrecheckDialog))
        await pilot.press("2", "1")
        workspace.prechecks.go.set()
        tick(app)
        await pilot.press("p")
        await until(pilot, lambda: "✗ broken  node4" in screen_text(app))
        shown = screen_text(app)
        assert "▼ slow  node2" in shown
        assert "GPU5: matrix products 78.2 TFLOP/s, 30.2% below the median of 32" in shown
        assert "node1 and node5: all-reduce of two hosts 2.1 GB/s" in shown
        assert "○ not measured  node3" in shown
        dialog = app.screen
        assert isinstance(dialog, PrecheckDialog)
        assert dialog.not_now("last") == "it is shown already"
        await pilot.press("y")
        assert app.clipboard == "--hosts 'node[1,6]'"
        await pilot.press("o")
        said = "Matrix uses node[1,3], of which node3 not judged: o changes that"
        assert said in screen_text(app)
        assert app.session.hosts_to_use == "node1,node3"
        await pilot.press("p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        await pilot.press("l")
        await until(pilot, lambda: "✗ broken  node4" in screen_text(app))


async def test_it_is_stopped_by_a_key_and_by_leaving_the_console(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await pilot.press("x")
        await until(pilot, lambda: "stopped; what was measured is kept" in screen_text(app))
        assert workspace.prechecks.ended == ["stopped"]
        await begin(app, pilot)
        await app.session.close()
        assert workspace.prechecks.ended == ["stopped", "stopped"]


@pytest.mark.parametrize("closed", [True, False])
async def test_its_end_is_said_with_who_is_named_where_its_dialog_is_closed(
    workspace: FakeWorkspace, *, closed: bool
) -> None:
    workspace.prechecks.measured = of_four_hosts()
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        if closed:
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, PrecheckDialog))
            await pilot.press("3")
        workspace.prechecks.go.set()
        await until(pilot, lambda: app.session.precheck is not None and app.session.precheck.over)
        named = f"ended, named: {who_is_named(workspace.prechecks.kept[0].ranking)}."
        if closed:
            await until(pilot, lambda: tick(app) or named in screen_text(app))
        else:
            await until(pilot, lambda: tick(app) or "✗ broken  node4" in screen_text(app))
            assert named not in screen_text(app)


@pytest.mark.parametrize("page", ["1", "2", "3", "4"])
@pytest.mark.parametrize("end", ["well", "failed", "stopped"])
async def test_once_it_is_over_the_hosts_that_it_had_are_asked_again(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, end: str, page: str
) -> None:
    def asked() -> int:
        told = zip(workspace.refreshed, workspace.refreshed_among, strict=True)
        return [*told].count((0.0, ["node1", "node2", "node4"]))

    if end == "failed":
        error = DlperfError("cannot keep it")
        monkeypatch.setattr("tests.console.fake_prechecks.rank", Mock(side_effect=error))
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await pilot.press("escape", page)
        work = app.session.precheck
        assert work is not None
        assert not asked()
        if end == "stopped":
            await work.stop()
        else:
            workspace.prechecks.go.set()
        await until(pilot, asked)
        assert work.over
        assert (work.found is not None, work.problem is not None, work.stopped) == (
            end == "well",
            end == "failed",
            end == "stopped",
        )
        assert asked() == 1


async def test_leaving_the_console_ends_it_and_asks_no_host(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await app.session.close()
        await pilot.pause()
        assert 0.0 not in workspace.refreshed


async def test_quitting_says_that_it_ends_with_the_console(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PrecheckDialog))
        await pilot.press("q")
        await until(pilot, lambda: "ends with the console" in screen_text(app))
        await pilot.press("escape")
        assert workspace.prechecks.ended == []
        await pilot.press("q")
        await until(pilot, lambda: "ends with the console" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: workspace.prechecks.ended)


async def test_where_nothing_can_be_measured_it_says_why_and_starts_nothing(
    workspace: FakeWorkspace,
) -> None:
    workspace.prechecks.error = SelectionError("no host can be measured: node1: held by bob")
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "held by bob" in screen_text(app))
        await pilot.press("enter")
        assert app.session.precheck is None


async def test_readonly_shows_and_starts_nothing(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path)
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "left out" in screen_text(app))
        await pilot.press("enter")
        assert app.session.precheck is None


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_what_a_host_says_is_text(workspace: FakeWorkspace, size: tuple[int, int]) -> None:
    workspace.prechecks.error = SelectionError("[bold]x[/nope] \x1b]52;c;aGk=\x07")
    async with console(workspace, size) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "[bold]x[/nope]" in screen_text(app))


async def test_who_asked_for_its_end_may_go_and_may_ask_again(workspace: FakeWorkspace) -> None:
    """Its tidying up is not ended by that: else something were left on the hosts."""
    begun, tidy, tidied = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow(FakePrechecks):
        async def measure(
            self, plan: PrecheckPlan, say: Callable[[Progress], None] = lambda progress: None
        ) -> Precheck:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await tidy.wait()
                tidied.set()
            raise AssertionError

    await workspace.probe()
    plan = await workspace.prechecks.plan("")
    work = PrecheckAtWork(Slow(tuple), plan)
    await begun.wait()
    asking = asyncio.create_task(work.stop())
    await asyncio.sleep(0)
    asking.cancel()
    again = asyncio.create_task(work.stop())
    await asyncio.sleep(0)
    assert not work.over
    tidy.set()
    await again
    assert tidied.is_set()
    assert work.over


@given(
    well=st.integers(0, 3),
    slow=st.integers(0, 1),
    busy=st.integers(0, 3),
    gpus=st.lists(st.floats(90.0, 110.0), min_size=1, max_size=8),
    disk=st.booleans(),
    network=st.lists(st.floats(1.0, 12.0), max_size=6),
)
@settings(deadline=None)
def test_a_result_has_main_figures_of_each_host_and_whose_machine_is_the_same(
    well: int, slow: int, busy: int, gpus: list[float], disk: bool, network: list[float]
) -> None:
    names = tuple(f"node{number}" for number in range(1, well + slow + busy + 1))
    if not names:
        return
    rates = {name: [r * (0.2 if n < slow else 1.0) for r in gpus] for n, name in enumerate(names)}
    figures = tuple(
        Figure("gemm", rate, "TFLOP/s", (name,), (gpu,))
        for name, of_host in rates.items()
        for gpu, rate in enumerate(of_host)
    )
    figures += tuple(
        Figure(f"disk_{way}", 500.0, "MB/s", (name,))
        for name in names * disk
        for way in ("write", "read")
    )
    figures += tuple(Figure("exchange", rate, "GB/s", (names[0], names[-1])) for rate in network)
    what = Measured(
        names,
        figures,
        busy=dict.fromkeys(names[slow + well :], "load 9 on 2 CPUs"),
        shared=dict.fromkeys(names, "another"),
    )
    ranking = rank(what)
    shown = found_text(
        Precheck("p", Path("p"), 0.0, 1.0, what, ranking, ("how it was done",))
    ).plain
    for of_host in rates.values():
        ends = dict.fromkeys(significant(end(of_host), 4) for end in (min, max))
        assert f"matrix products {' to '.join(ends)} TFLOP/s" in shown
    assert ("disk, written 500 MB/s · disk, read 500 MB/s" in shown) == disk
    between = dict.fromkeys(significant(end(network), 4) for end in (min, max) if network)
    told = f"together: TCP between two hosts {' to '.join(between)} GB/s\n"
    assert (told in shown) == ("together: " in shown) == bool(network)
    judged = {one.metric for one in figures if METRICS[one.metric].judged}
    for metric in METRICS.values():
        told = f"{metric.tolerance:.0%} ({metric.title})"
        assert (told in shown) == (metric in [METRICS[name] for name in judged])
    assert ("Expected: the median of its like" in shown) == bool(judged)
    assert shown.endswith("every figure: p/precheck.md")
    verdicts = [line for line in shown.splitlines() if line[:1] in ("✗", "▼", "?", "●")]
    assert len(verdicts) == len(names)
    assert shown.count("Busy when measured: ") == (busy > 0)
    assert shown.count("load 9 on 2 CPUs") == (busy > 0)
    for name in names:
        machine = fold_nodeset([name, "another"])
        assert f"{machine} are one machine: they share what is measured." in shown
    if ranking.exclude:
        assert shown.index("Proposed to leave out") < shown.index(verdicts[0])
    assert "how it was done" not in shown
    assert bool(why_no_proposal(ranking)) != bool(proposal(ranking))
    reasons = {
        "": bool(ranking.proposed),
        "no host is left": bool(ranking.exclude) and not ranking.proposed,
        "nobody is to be left out": not ranking.exclude and bool(ranking.keep),
        "no host was judged": not ranking.exclude and not ranking.keep,
    }
    assert reasons[why_no_proposal(ranking)]


async def test_a_key_that_has_nothing_to_copy_says_why(workspace: FakeWorkspace) -> None:
    measured = of_four_hosts()
    busy = dict.fromkeys(measured.hosts, "load 9 on 2 CPUs")
    workspace.prechecks.measured = replace(measured, figures=(), troubles=(), busy=busy)
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        workspace.prechecks.go.set()
        tick(app)
        await until(pilot, lambda: "? not judged  node4" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "no host was judged" in screen_text(app))


@pytest.mark.parametrize("used", ["", "node1,node2,node4", "node4", "node2,node1"])
async def test_who_is_to_be_left_out_is_left_out_though_the_others_were_busy(
    workspace: FakeWorkspace, used: str
) -> None:
    """node4 is broken; of the others nobody knows, and they are kept."""
    measured = of_four_hosts()
    busy = dict.fromkeys(measured.hosts, "load 9 on 2 CPUs")
    workspace.prechecks.measured = replace(measured, figures=(), busy=busy)
    async with console(workspace, LARGE) as (app, pilot):
        app.session.hosts_to_use = used
        await begin(app, pilot)
        workspace.prechecks.go.set()
        tick(app)
        await until(pilot, lambda: "✗ broken  node4" in screen_text(app))
        option = "--hosts 'node[1-2,5-6],node3'"
        assert f"The rest is not judged: {option}" in screen_text(app)
        await pilot.press("y")
        assert app.clipboard == option
        await pilot.press("o")
        among = used.split(",") if used not in ("", "node4") else ["node1", "node2", "node3"]
        assert app.session.hosts_to_use.split(",") == sorted({*among} - {"node4"})
        assert "not judged: o changes that" in screen_text(app)


async def test_the_key_to_measure_again_comes_first_and_what_measured_nothing_offers_it(
    workspace: FakeWorkspace,
) -> None:
    hosts = ("node1", "node2", "node4")
    workspace.prechecks.measured = of_four_hosts()
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        workspace.prechecks.go.set()
        tick(app)
        await until(pilot, lambda: "✗ broken  node4" in screen_text(app))
        await pilot.press("escape")
        await pilot.press("p")
        await until(pilot, lambda: "─ p Measure again " in screen_text(app))
        assert "✗ broken  node4" in screen_text(app)
        workspace.prechecks.measured = Measured((), (), (), dict.fromkeys(hosts, "it went away"))
        await pilot.press("p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "○ not measured  node4" in screen_text(app))
        await pilot.press("escape", "p")
        await until(pilot, lambda: "left out: node3" in screen_text(app))
        await pilot.press("l")
        await until(pilot, lambda: "○ not measured  node4" in screen_text(app))


def test_every_verdict_that_is_not_well_is_defined_in_the_help_of_the_result() -> None:
    defined = {line.partition(": ")[0] for line in DIALOGS["precheck"].about.splitlines()}
    assert {str(verdict) for verdict in Verdict} - {"well"} <= defined


async def test_every_key_that_does_nothing_now_says_why_whatever_is_shown(
    workspace: FakeWorkspace,
) -> None:
    def reasons(app: DlperfApp) -> list[str]:
        return [why for (panel, _), why in idle(app.screen).items() if panel == "precheck"]

    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PrecheckDialog))
        assert all(reasons(app)), "while it looks"
        await until(pilot, lambda: "left out" in screen_text(app))
        assert len(reasons(app)) == 5
        assert all(reasons(app)), "a plan"
        await pilot.press("enter")
        await until(pilot, lambda: "gpus 1/3" in screen_text(app))
        assert len(reasons(app)) == 5
        assert all(reasons(app)), "at work"
        await pilot.press("x")
        await until(pilot, lambda: "stopped; what was" in screen_text(app))
        assert reasons(app)
        assert all(reasons(app)), "stopped"


async def test_every_key_that_works_is_in_the_frame_whatever_is_shown(
    workspace: FakeWorkspace,
) -> None:
    async def check(text: str) -> None:
        dialog = app.screen
        assert isinstance(dialog, PrecheckDialog)
        await until(pilot, lambda: text in screen_text(app))
        foot = next(line for line in reversed(screen_text(app).splitlines()) if "? Help" in line)
        for key in DIALOGS["precheck"].keys:
            if key.footer:
                assert (f" {key.label}  " in foot or f" {key.label} ─" in foot) == dialog.able(
                    key.action
                ), (text, key.label, foot)

    async with console(workspace, (80, 24)) as (app, pilot):
        await pilot.press("p")
        await check("left out")
        await pilot.press("enter")
        await check("gpus 1/3")
        workspace.prechecks.go.set()
        await check("1m35s")
        await pilot.press("p")
        await check("left out")
        await pilot.press("l")
        await check("1m35s")


async def test_an_enter_that_comes_before_the_plan_starts_nothing_and_says_so(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await type_ahead(app, pilot, "p", "enter")
        await until(pilot, lambda: "⏎ Start: " in screen_text(app))
        await until(pilot, lambda: "left out" in screen_text(app))
        assert app.session.precheck is None


@pytest.mark.parametrize(
    ("ranked", "said"),
    [
        (
            RankedHost("node1", Verdict.NOT_MEASURED, left_out="busy: GPU0 is used"),
            "○ precheck 5m00s ago: not measured: busy: GPU0 is used",
        ),
        (
            RankedHost("node1", Verdict.NOT_JUDGED, busy="load 40"),
            "○ precheck 5m00s ago: not judged: busy when it was measured: load 40",
        ),
        (RankedHost("node1", Verdict.WELL), "● precheck 5m00s ago: well"),
    ],
)
def test_a_host_says_why_a_precheck_did_not_judge_it(ranked: RankedHost, said: str) -> None:
    judged = Judged(ranked, began=0.0, ended=95.0)
    assert said in host_text(known_host("node1", "", facts()), now=395.0, judged=judged).plain


async def test_hosts_says_what_the_latest_precheck_says_of_a_host(
    workspace: FakeWorkspace,
) -> None:
    """From when it was found on, and when the console starts later."""
    workspace.prechecks.measured = of_four_hosts()
    said = " ago: slow: GPU5: matrix products 78.2 TFLOP/s"
    async with console(workspace, LARGE) as (app, pilot):
        await begin(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PrecheckDialog))
        await pilot.press("down")
        assert "▲ precheck" not in screen_text(app)
        workspace.prechecks.go.set()
        tick(app)
        await until(pilot, lambda: said in screen_text(app))
        await pilot.press("up")
        await until(pilot, lambda: "● precheck 3m25s ago: well" in screen_text(app))
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("down")
        await until(pilot, lambda: said in screen_text(app))
