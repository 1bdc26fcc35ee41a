"""How the pages look, small, usual and huge, dark and light.

A difference is a change to look at, not always a mistake: ``pytest
tests/console/test_snapshots.py --snapshot-update`` accepts what is drawn now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from backends.hangs.diagnosis import (
    Confidence,
    Diagnosis,
    Finding,
    Lacking,
    Sign,
    Source,
    Suspect,
)
from backends.hangs.evidence import Lack
from backends.hangs.slow_rank import SlowRank
from backends.hosts.host_facts import HostSnapshot, HostState
from profiles.errors import DlperfError
from tests.console.conftest import HUGE, LARGE, SMALL, begin, screen_text, settled, tick, until
from tests.console.fake_prechecks import of_four_hosts
from tests.console.fakes import START, FakeFinding, FakeSummary, FakeWorkspace, v100_hosts
from tests.console.test_compare import open_compare, three
from tui.app import DlperfApp
from tui.screens.hosts_page import HostsPage
from tui.screens.precheck_dialog import PrecheckDialog
from tui.theme import DARK, LIGHT

Step = Callable[[Pilot[str]], Awaitable[None]]
Compare = Callable[..., bool]

NAME = Path("campaigns/2026-11-21-resnet50")
SIZES = pytest.mark.parametrize(
    ("size", "colours"),
    [(SMALL, "dark"), (LARGE, "dark"), (HUGE, "dark"), (LARGE, "light")],
    ids=["80x24", "120x40", "200x60", "light"],
)
USUAL_SIZES = pytest.mark.parametrize(
    ("size", "colours"), [(SMALL, "dark"), (LARGE, "dark")], ids=["80x24", "120x40"]
)


@pytest.fixture
def still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeWorkspace:
    """A workspace whose paths say nothing of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)  # it never blinks
    return FakeWorkspace(Path("campaigns"))


def console_of(workspace: FakeWorkspace, colours: str) -> DlperfApp:
    app = DlperfApp(workspace)
    app.theme = {"dark": DARK, "light": LIGHT}[colours].name
    return app


def steps(workspace: FakeWorkspace, *keys: str | float, campaign: bool = False) -> Step:
    """Keys to press; a number lets that many seconds go by."""

    async def go(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, DlperfApp)
        await until(pilot, lambda: workspace.probed)
        tick(app)
        await settled(app)
        if campaign:
            begin(app, workspace)
        for key in keys:
            if isinstance(key, str):
                await pilot.press(key)
            else:
                for _ in range(10):
                    workspace.clock.tick(key / 10)
                    tick(app)
            await pilot.pause()
            tick(app)
            await until(pilot, lambda: not projecting(app))  # before something lies over it
            tick(app)
        tick(app)
        await pilot.pause()
        tick(app)
        await until(pilot, lambda: not projecting(app))
        await settled(app)
        tick(app)
        await settled(app)

    return go


def projecting(app: DlperfApp) -> bool:
    """Whether it works out or reads what it will then show."""
    shown_then = ("projection", "past")
    return any(w.group in shown_then and not w.is_finished for w in app.workers)


@SIZES
@pytest.mark.parametrize(
    ("keys", "campaign"),
    [
        pytest.param(("j", "j"), False, id="hosts"),
        pytest.param(("2",), False, id="matrix"),
        pytest.param(("3",), False, id="runs-empty"),
        pytest.param(("3", 20.0), True, id="runs"),
        pytest.param(("3", 20.0, "enter"), True, id="run-log"),
        pytest.param(("3", 60.0, "s"), True, id="schedule"),
        pytest.param(("4", 600.0, "j"), True, id="results"),
        pytest.param(("4", 600.0, "enter"), True, id="repeats"),
        pytest.param(("4", 600.0, "c", "j", "s"), True, id="results-efficiency"),
        pytest.param(("4", 600.0, "e"), True, id="export"),
        pytest.param(("3", "question_mark"), True, id="help"),
        pytest.param(("3", 20.0, "q"), True, id="quit"),
        pytest.param(("2", "enter"), False, id="start"),
        pytest.param(("2", "d"), False, id="dry-run"),
        pytest.param(("2", "p"), False, id="parameters"),
        pytest.param(("2", "tab", "G", "k", "s"), False, id="settings"),
        pytest.param(("2", "o"), False, id="hosts-to-use"),
    ],
)
def test_page(
    snap_compare: Compare,
    still: FakeWorkspace,
    size: tuple[int, int],
    colours: str,
    keys: tuple[str | float, ...],
    campaign: bool,
) -> None:
    still.findings = (
        FakeFinding("ok", "python3 is there", "", "node1"),
        FakeFinding("warn", "load 9.7 on 48 CPUs", "something computes there", "node3"),
    )
    assert snap_compare(
        console_of(still, colours),
        terminal_size=size,
        run_before=steps(still, *keys, campaign=campaign),
    )


def plans_or_measures(app: DlperfApp) -> bool:
    return isinstance(app.screen, PrecheckDialog) and "looking" not in screen_text(app)


@SIZES
@pytest.mark.parametrize("after", ["plan", "at-work", "found"])
def test_a_precheck(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str, after: str
) -> None:
    still.prechecks.measured = of_four_hosts()
    if after == "found":
        still.prechecks.go.set()
    keys = ("p",) if after == "plan" else ("p", "enter")
    words = {"plan": "left out", "at-work": "gpus 1/3", "found": "✗ broken"}[after]

    async def go(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, DlperfApp)
        await until(pilot, lambda: still.probed)
        tick(app)
        await until(pilot, lambda: "node4" in screen_text(app))  # and not only asked
        for key in keys:  # what Enter starts has to be drawn before it
            await pilot.press(key)
            await settled(app, at_work=lambda: not plans_or_measures(app))
        await until(pilot, lambda: words in screen_text(app))
        page = app.screen_stack[0]
        assert isinstance(page, HostsPage)
        page.tick()  # what it says of the host behind the dialog is there at any time
        await settled(app, at_work=lambda: any(w.group == "judgements" for w in page.workers))

    assert snap_compare(console_of(still, colours), terminal_size=size, run_before=go)


@SIZES
def test_a_failed_run(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str
) -> None:
    still.fails = {"1n8g": "NCCL error: unhandled system error"}
    assert snap_compare(
        console_of(still, colours),
        terminal_size=size,
        run_before=steps(still, "3", 60.0, "g", "j", campaign=True),
    )


@SIZES
def test_campaigns_side_by_side(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str
) -> None:
    async def go(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, DlperfApp)
        await three(still)
        tick(app)
        await open_compare(app, pilot, 3)
        await pilot.press("j")
        await settled(app)

    assert snap_compare(console_of(still, colours), terminal_size=size, run_before=go)


AWAY = HostSnapshot("node4", "10.11.0.5", HostState.UNREACHABLE, "connection refused")
PAST = (
    FakeSummary("2026-11-20-nightly", NAME / "a", "finished", 48, 48, START - 9e4, failed=2),
    FakeSummary("2026-11-20-bert", NAME / "b", "live", 3, 12, START - 8e4, cancelled=1),
    FakeSummary("2026-11-19-demo", NAME / "c", "finished", 6, 6, START - 2e5, simulated=True),
    FakeSummary("old", NAME / "d", "?", 0, 0, None, problem="line 3 of its journal is no JSON"),
)


@USUAL_SIZES
@pytest.mark.parametrize(
    ("keys", "campaign"),
    [
        pytest.param(("4",), False, id="results-empty"),
        pytest.param(("O",), False, id="no-campaigns"),
        pytest.param(("O",), False, id="campaigns"),
        pytest.param(("O", "G", "enter"), False, id="campaign-unreadable"),
        pytest.param(("3", 60.0, "N"), True, id="notes"),
        pytest.param(("3", 60.0, "enter", "slash", "i"), True, id="log-search"),
        pytest.param(("2", "c"), False, id="add-case"),
        pytest.param(("2", "U"), False, id="target"),
        pytest.param(("2", "b"), False, id="scaling"),
        pytest.param(("2", "enter", "enter"), False, id="start-failed"),
        pytest.param((), False, id="probing"),
        pytest.param(("G",), False, id="host-away"),
    ],
)
def test_nothing_there_or_not_yet_or_it_failed(
    request: pytest.FixtureRequest,
    snap_compare: Compare,
    still: FakeWorkspace,
    size: tuple[int, int],
    colours: str,
    keys: tuple[str | float, ...],
    campaign: bool,
) -> None:
    state: str = request.node.callspec.id
    if "no-campaigns" not in state and "campaign" in state:
        still.summaries = list(PAST)
    if "start-failed" in state:
        still.start_error = DlperfError("no space left", where="campaigns", remedy="make room")
    if "probing" in state:
        still.answer(*(replace(h, state=HostState.PROBING) for h in still.snapshots()))
    if "host-away" in state:
        still.answer(*v100_hosts()[:3], AWAY)
    assert snap_compare(
        console_of(still, colours),
        terminal_size=size,
        run_before=steps(still, *keys, campaign=campaign),
    )


HUNG = Diagnosis(
    suspects=(
        Suspect(
            "node1",
            rank=5,
            device=5,
            pid=2398,
            findings=(
                Finding(Sign.BEHIND, "all_reduce", 1482, 1483, text="started"),
                Finding(
                    Sign.XID,
                    xid=79,
                    at=START + 12.0,
                    text="NVRM: Xid (PCI:0000:86:00): 79, GPU has fallen off the bus.",
                ),
            ),
        ),
    ),
    confidence=Confidence.HIGH,
    ranks=8,
    waiting=7,
    collective="all_reduce",
    number=1483,
    lacking=(Lacking(Source.STACKS, Lack.NOT_INSTALLED, ("node1",)),),
    files=("diagnosis/r1/node1.txt", "diagnosis/r1/flight_5"),
)


@SIZES
def test_a_run_that_hung(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str
) -> None:
    still.fails = {"1n8g": "stalled at step 340: no reading for 10m"}
    still.diagnoses = {"1n8g": HUNG}
    assert snap_compare(
        console_of(still, colours),
        terminal_size=size,
        run_before=steps(still, "3", 60.0, "g", "j", campaign=True),
    )


@SIZES
def test_a_rank_that_the_others_wait_for(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str
) -> None:
    still.slow = {"4n8g": (SlowRank(21, "node3", 5, 0.14, 0.114, 0.1, START + 42.0),)}
    assert snap_compare(
        console_of(still, colours),
        terminal_size=size,
        run_before=steps(still, "3", 60.0, "v", "v", campaign=True),
    )


@SIZES
def test_a_simulated_cluster_with_a_note(
    snap_compare: Compare, still: FakeWorkspace, size: tuple[int, int], colours: str
) -> None:
    still.simulated = True

    async def go(pilot: Pilot[str]) -> None:
        await steps(still, campaign=True)(pilot)
        app = pilot.app
        assert isinstance(app, DlperfApp)
        still.controllers[NAME].note("disk full: waiting for space")
        await steps(still, "3", 30.0)(pilot)

    assert snap_compare(console_of(still, colours), terminal_size=size, run_before=go)
