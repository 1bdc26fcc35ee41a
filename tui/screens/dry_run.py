"""Dry-run: every run with its hosts and exact commands, to read and to copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from textual.app import ComposeResult
from textual.geometry import Offset
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.remarks import plan_remarks
from profiles.counted import counted
from tui.backend_protocols import DryRun
from tui.clipboard import hand_over
from tui.job_text import asked_for
from tui.key_bindings import bindings
from tui.plan_words import MAY_CHANGE, PLACES_IN_PLAN, plan_totals, stand_in_lines
from tui.screens.dialogs import WIDEST, Findable, Long
from tui.text import plain
from tui.timeline_text import timeline_lines

TIMELINE_COLUMNS = 66
"""In a terminal of 80; in a wider one those that it has more."""
IN_A_BLOCK = "a block of the schedule has number and name of a run, as far as it has room"
HEAD = re.compile(r"# \d+/\d+  ")
"""How the lines of a run begin."""


def dry_run_text(
    plan: Plan,
    runs: Sequence[DryRun],
    unfit: Sequence[str] = (),
    columns: int = TIMELINE_COLUMNS,
) -> str:
    """Plain text, in the order in which runs start; a command is one line, however long, so that it
    can be pasted. Notes come last. ``unfit``: see :func:`tui.plan_words.unfit_lines`; ``columns``:
    of the timeline."""
    timeline = timeline_lines(runs, columns)
    notes = [*unfit, *stand_in_lines(runs), *plan_remarks(plan)]
    notes += [MAY_CHANGE] * (len(runs) > 1) + [IN_A_BLOCK] * bool(timeline)
    lines = [f"# {plain(plan_totals(plan))}"]
    lines += [f"# {counted(len(notes), 'note')} at the end"] * bool(notes)
    lines += [f"# {PLACES_IN_PLAN}"] * (len(runs) > 1)
    lines += [*(f"# {line}".rstrip() for line in timeline), ""]
    if runs and runs[0].of_all:
        lines += ["# all are steps of one job:", f"# {plain(asked_for(runs[0]))}", ""]
    for run in runs:
        lines.append(
            f"# {run.number}/{len(runs)}  {plain(run.label)}  on {plain(', '.join(run.hosts))}"
        )
        if (asked := asked_for(run)) and not run.of_all:
            lines.append(f"# {plain(asked)}")
        for host, command in zip(run.hosts, run.commands, strict=False):
            lines.append(f"# {plain(host)}")
            lines.append(plain(command))
        lines.append("")
    for refused in plan.refused:
        called = f"{refused.profile.name} " * (len(plan.profile_names) > 1) + refused.case.label
        lines.append(f"# left out: {called}: {plain(refused.infeasible)}")
    lines += ["", "# notes:", *(f"# {plain(line)}" for line in notes)] if notes else []
    return "\n".join(lines).rstrip() + "\n"


class Commands(Long, TextArea, inherit_bindings=False):
    """Text to scroll; marked with the mouse, copied as a whole."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")


class DryRunView(Findable[str]):
    """Nothing is started from here but by Enter, which goes on to preflight."""

    PANEL = "dryrun"
    BINDINGS = bindings("dryrun")
    AHEAD = Findable.AHEAD | {"copy"}
    SOUGHT = "A run such as 2n4g b64, a host, or a part of a command:"

    def __init__(
        self, plan: Plan, runs: Sequence[DryRun], unfit: Sequence[str], refused: str = ""
    ) -> None:
        """``unfit``: see :func:`dry_run_text`. ``refused``: why it cannot be started; empty where
        it may be."""
        super().__init__(f"Dry-run · {counted(len(runs), 'run')}, nothing is started")
        self._written = partial(dry_run_text, plan, runs, unfit)
        self._content = self._written()
        self._refused = refused

    def compose(self) -> ComposeResult:
        self._content = self._written(self._columns)
        with self.box(widest=True):
            area = Commands(self._content, read_only=True, soft_wrap=True, compact=True)
            area.show_line_numbers = False
            area.cursor_blink = False
            yield area

    @property
    def _columns(self) -> int:
        """Of the timeline."""
        return TIMELINE_COLUMNS + max(0, self.app.size.width - 80) * WIDEST // 100

    def on_resize(self) -> None:
        super().on_resize()
        if self.here and (content := self._written(self._columns)) != self._content:
            self._content = content
            self.query_one(Commands).text = content

    def action_run(self, step: int) -> None:
        """To the next run, or the one before, from the cursor, where that is in sight; round the
        ends."""
        area = self.query_one(Commands)
        text, top, row = area.wrapped_document, round(area.scroll_y), self.line_now()
        if not 0 <= text.location_to_offset((row, 0)).y - top < area.size.height:
            row, _ = text.offset_to_location(Offset(0, top))
        heads = self._heads[::step]
        found = next((at for at in heads if (at - row) * step > 0), heads[0])
        area.cursor_location = (found, 0)
        area.scroll_to(y=text.location_to_offset((found, 0)).y, animate=False)

    @property
    def _heads(self) -> list[int]:
        """The first lines of the runs."""
        return [at for at, line in enumerate(self.lines()) if HEAD.match(line)]

    def able(self, action: str) -> bool:
        if action == "run":
            return len(self._heads) > 1
        return super().able(action) and (action != "start" or not self._refused)

    def not_now(self, action: str) -> str:
        return self._refused if action == "start" else super().not_now(action)

    def lines(self) -> Sequence[str]:
        return self._content.split("\n")

    def line_now(self) -> int:
        return self.query_one(Commands).cursor_location[0]

    def show_found(self, line: int, start: int, end: int) -> None:
        area = self.query_one(Commands)
        area.selection = Selection((line, end), (line, start))
        area.scroll_cursor_visible(center=True, animate=False)

    def action_copy(self) -> None:
        self.app.notify(hand_over(self.app, self._content), markup=False)

    def action_start(self) -> None:
        self.finish("start")
