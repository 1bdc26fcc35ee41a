"""Progress on stderr: a bar on a terminal, one line per change elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from backends.campaign.plan.does_not_fit import NOT_RUN
from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.nodesets import ranked_nodeset
from backends.results.numbers import fixed
from backends.transports.transport import Prompter
from profiles.cleantext import clean_text
from profiles.counted import counted
from profiles.logs.failures import REMEDIES, without_host
from tui.cli.shared.output import say
from tui.cli.shared.ssh_prompt import TerminalPrompter

EVERY_S = 0.25
STARTING, RUNNING = RunState.STARTING, RunState.RUNNING
_NTH = {state: max(1, number) for number, state in enumerate(RunState)}
"""The order of states; a run that waits is planned or queued, one as the other."""


async def show_progress(
    snapshot: Callable[[], CampaignSnapshot],
    prompter: Prompter | None = None,
    before: Collection[str] = (),
) -> None:
    """Until cancelled. While ``prompter`` asks something at the terminal, the bar is away.
    ``before``: runs that had ended when this began."""
    if sys.stderr.isatty():
        await _bar(snapshot, prompter, before)
    else:
        await _lines(snapshot, before)


async def _lines(snapshot: Callable[[], CampaignSnapshot], before: Collection[str]) -> None:
    changes = Changes(before=before)
    try:
        while True:
            changes.tell(snapshot(), say)
            await asyncio.sleep(EVERY_S)
    finally:
        changes.tell(snapshot(), say)


class Changes:
    """What changed between two looks at a campaign, as one line each, also the states that a run
    passed through between them; runs that end are counted, and where one failed a line says what
    helps most often, once for each reason. Repeats that are not run since their case does not fit
    into memory share a line.

    ``ends_only``: of runs, only how they ended; what they do is shown otherwise. ``before``: runs
    that had ended before all this, of which nothing is told any more but how many they are.
    """

    def __init__(self, *, ends_only: bool = False, before: Collection[str] = ()) -> None:
        self._before = frozenset(before)
        self._ends_only = ends_only
        self._shown: dict[str, str] = {}
        self._were: dict[str, RunState] | None = None  # at the last look
        self._ended = set(before)  # runs of which that was told
        self._helped: set[str] = set()  # reasons of which it was told what helps
        self._held = False
        self._notes = 0

    def tell(self, now: CampaignSnapshot, out: Callable[[str], None]) -> None:
        """Since the last call; at the first, everything that has happened."""
        mark = "SIMULATED " * now.simulated
        in_vain: dict[str, list[RunView]] = {}
        were, self._were = self._were, {view.run_id: view.state for view in now.runs}
        if self._before and not self._shown:
            self._tell_before(now, out, mark)
        for view in now.runs:
            if view.run_id in self._before:
                continue
            state = _state_of(view, now)
            if self._ends_only and not view.state.ended:
                continue
            if self._shown.get(view.run_id, "planned") == state:
                continue
            self._shown[view.run_id] = state
            if view.state.ended:
                self._ended.add(view.run_id)
            if view.reason == NOT_RUN:
                in_vain.setdefault(f"{view.profile} {view.case.label}", []).append(view)
                continue
            was = None if were is None else were.get(view.run_id, RunState.PLANNED)
            for one in (*self._passed(was, view, now), view):
                number = self._number(now) if one.state.ended else ""
                out(clean_text(f"{mark}{number}{_line(one, now)}"))
            self._say_what_helps(view, out)
        for called, views in in_vain.items():
            which = ", ".join(f"#{view.repeat}" for view in views)
            out(clean_text(f"{mark}{self._number(now)}{called} {which} – {NOT_RUN}"))
        if now.held and not self._held:
            runs = counted(now.paused, "run")
            out(f"all that is left is paused, {runs}: nothing starts before they are unpaused")
        self._held = now.held
        for _t, level, text in now.notes[self._notes :]:
            out(clean_text(f"{level}: {text}"))
        self._notes = len(now.notes)

    def _passed(
        self, was: RunState | None, view: RunView, now: CampaignSnapshot
    ) -> Iterator[RunView]:
        """The run as it was between two looks; ``was``: at the first of them, None: there is none,
        and what happened before is told by what is so now."""
        if was is None or self._ends_only:
            return
        run = now.state.runs[view.run_id]
        as_then = replace(view, throughput=None, reason="", skipped=False)
        for state, since in ((STARTING, run.started_at), (RUNNING, run.launched_at)):
            if since is not None and _NTH[was] < _NTH[state] < _NTH[view.state]:
                yield replace(as_then, state=state, state_text=str(state))

    def _say_what_helps(self, view: RunView, out: Callable[[str], None]) -> None:
        named = without_host(view.reason)
        if view.state is RunState.FAILED and named not in self._helped:
            self._helped.add(named)
            if named in REMEDIES:
                out(f"  → {REMEDIES[named]}")

    def _tell_before(self, now: CampaignSnapshot, out: Callable[[str], None], mark: str) -> None:
        self._shown = dict.fromkeys(self._before, "")
        if ended := len(self._ended & _latest(now)):
            out(f"{mark}{ended} of {now.total} had ended before")

    def _number(self, now: CampaignSnapshot) -> str:
        return f"[{len(self._ended & _latest(now))}/{now.total}] "


def _latest(now: CampaignSnapshot) -> set[str]:
    return {run.run_id for run in now.state.latest_attempts()}


def _state_of(view: RunView, now: CampaignSnapshot) -> str:
    state = view.state_text if view.paused else str(view.state)
    if view.state.active and now.deserted:
        state = f"{state} (when last seen)"
    silent = " (silent)" * (view.silent_s is not None)
    return f"{state} (connection lost)" if view.out_of_reach else f"{state}{silent}"


def _line(view: RunView, now: CampaignSnapshot) -> str:
    plain = (view.doing or view.collecting) and not now.deserted
    state = "skipped" if view.skipped else str(view.state) if plain else view.state_text
    parts = [view.profile, view.label, state]
    if view.hosts:
        parts.append(f"on {ranked_nodeset(view.hosts)}")
    if view.throughput is not None:
        parts.append(f"{fixed(view.throughput)} {view.unit}")
    if view.reason:
        parts.append(f"– {view.reason}")
    return " ".join(parts)


async def _bar(
    snapshot: Callable[[], CampaignSnapshot], prompter: Prompter | None, before: Collection[str]
) -> None:
    # Rich comes with Textual; the bar needs only this corner of it.
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)
    changes = Changes(ends_only=True, before=before)

    def out(line: str) -> None:
        live.console.print(Text(line), overflow="fold")  # goes on in the next line between words

    with Live(console=console, refresh_per_second=4, transient=True) as live:
        if isinstance(prompter, TerminalPrompter):
            prompter.before, prompter.after = live.stop, live.start
        try:
            while True:
                now = snapshot()
                changes.tell(now, out)
                live.update(Text(bar_text(now, console.width)))
                await asyncio.sleep(EVERY_S)
        finally:
            changes.tell(snapshot(), out)


def bar_text(now: CampaignSnapshot, width: int) -> str:
    """The bar of all runs, and a line for each that is at work, in ``width`` columns."""
    at_work = (view for view in now.runs if not view.state.ended)
    shares = ((view.progress, view.outlived) for view in at_work)
    part = sum(float(outlived) if share is None else share for share, outlived in shares)
    fraction = min(1.0, (now.done + part) / max(1, now.total))
    cells = max(10, min(40, width - 40))
    filled = round(fraction * cells)
    bar = "━" * filled + "╌" * (cells - filled)
    eta = f" · {now.eta_text}" if now.eta_text else ""
    paused = f" · {now.paused} paused" if now.paused else ""
    mark = "SIMULATED " * now.simulated
    lines = [f"{mark}{bar} {now.ended}/{now.total} runs ended{paused}{eta}"]
    for view in now.runs:
        if view.state.active:
            figure = ""
            if view.throughput_now is not None:
                figure = f" {fixed(view.throughput_now, 1)} {view.unit}"
            lines.append(f"  {view.profile} {view.label} {view.state_text}{figure}"[: width - 1])
    return "\n".join(lines[:8])
