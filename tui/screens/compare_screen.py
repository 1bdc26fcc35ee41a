"""Campaigns side by side: ratios and verdicts, their curves, what was different, what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from backends.results.compared_labels import compared_label
from backends.results.comparison import THRESHOLD, ComparedCase
from profiles.counted import counted
from profiles.errors import DlperfError
from profiles.format.case_labels import CaseLabels
from tui.backend_protocols import CampaignSummary
from tui.clipboard import hand_over
from tui.key_bindings import PANELS, bindings
from tui.messages import NoMore, Problem, Said
from tui.row_order import AS_THE_CASES, OUT_OF_SIGHT, RowOrder
from tui.screens.across_dialog import AcrossList
from tui.screens.campaign_text import AGE_S, ages
from tui.screens.compare_curves import curves_of
from tui.screens.compare_file import copied_text, file_of, written_as
from tui.screens.compare_panels import campaigns_panel, figures_text, in_side, verdict_panel
from tui.screens.compare_text import (
    BY_PAIR,
    COLUMNS,
    Pair,
    below_rows,
    columns_of,
    compared_rows,
    labels_of,
    none_compared,
    row_key,
    title_words,
    unfinished_words,
)
from tui.screens.dialogs import Dialog, Prompt
from tui.screens.named_file import destination, meant, whole, write_named
from tui.screens.repeats import Repeats
from tui.session import Session
from tui.side_by_side import Side, SideBySide, held_against, varying_parameters
from tui.text import plain, problem_line
from tui.threshold import parse_threshold
from tui.typed_ahead import typed_ahead
from tui.widgets.case_bars import case_bars, is_curve
from tui.widgets.chart import AXIS_ROWS, MIN_HEIGHT, Chart
from tui.widgets.details import Details
from tui.widgets.filter_table import CORNERS, TablePanel, set_frame
from tui.widgets.keyed_table import KeyedTable, current_key
from tui.widgets.scaling_plot import Quantity, quantity_label

READING = "reading the campaigns …"
READING_AGAIN = "reading the campaigns again"
VIEWS = {"curves": "Curves", "verdict": "Verdict", "campaigns": "Campaigns"}
BESIDE = {"-wide": ("curves",), "-huge": tuple(VIEWS)}
"""By width: what is always in sight."""
WIDE = 120
"""Columns with which a row has room for which way a verdict in doubt points."""
FRAME, LEAST_ROWS = 2, 4
MOST_SAID, MOST_SAID_WHERE_LOW = 6, 2
CHART = 1 + 2 + MIN_HEIGHT
"""Lines of the page's frame; of the rows with what stands above them, at least; of what is said
below them, at most; and of a chart with its title and its legend."""


class Compare(Dialog[None]):
    """Two campaigns or more against one of them, the oldest at first; of one alone, each of its
    settings against the first.

    Without a terminal it is ``dlperf-tui compare``, which says the same.
    """

    PANEL = "compare"
    BINDINGS = bindings("compare")
    AHEAD = Dialog.AHEAD | {key.action.partition("(")[0] for key in PANELS["compare"].keys}

    def __init__(self, session: Session, campaigns: Sequence[CampaignSummary]) -> None:
        simulated = any(one.simulated for one in campaigns)
        mark = " · SIMULATED" * simulated  # the page that says so is covered
        super().__init__(f"Compare · {counted(len(campaigns), 'campaign')}{mark}")
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-huge")]
        self._session = session
        self._again = False
        self._campaigns = sorted(campaigns, key=lambda one: (one.created_at or 0.0, one.name))
        self._now = session.now
        self._sides: tuple[Side, ...] = ()
        self._varying: tuple[str, ...] = ()  # parameters, over all of them
        self._across: tuple[str, ...] | None = None
        self._baseline, self._threshold = 0, THRESHOLD  # as asked for; found a moment later
        self._found: SideBySide | None = None
        self._panel = TablePanel(KeyedTable(COLUMNS), "Cases", id="compared")
        self._settled = asyncio.Event()  # what is shown is what was asked for last
        self._labels = CaseLabels()
        self._pairs: Mapping[str, tuple[int, ComparedCase]] = {}
        self._said_of_campaigns = Text()
        self._problem: DlperfError | None = None
        self._order = BY_PAIR
        self._quantity = Quantity.SPEEDUP
        self._view = "curves"
        self._alone = ""  # the view that has all of the page
        self._curved = True  # else bars, which have one quantity
        self._filled: tuple[Size, ...] = ()  # for which sizes
        self._no_base = ""  # why there is nothing for a speedup to refer to

    def compose(self) -> ComposeResult:
        with self.box(whole=True):
            yield self._panel
            yield Static(id="below-compared", markup=False)
            with Horizontal(id="compare-lower"):
                yield Chart(id="curves")
                yield Details("Verdict", id="verdict")
                yield Details("Campaigns", id="campaigns", keys="⇧Tab")

    @property
    def heading(self) -> str:
        unfinished = unfinished_words(self._found) if self._found is not None else ""
        return " · ".join(filter(None, (self._title, unfinished)))

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self.screen_layout_refresh_signal.subscribe(self, self._laid_out, immediate=True)
        self.set_interval(AGE_S, self._tell_ages)
        self._fill()
        self.read()

    def _tell_ages(self) -> None:
        """Anew where they are others in words."""
        now = self._session.now
        if self._found is None or ages(self._campaigns, now) == ages(self._campaigns, self._now):
            return
        self._now = now
        self._said_of_campaigns = campaigns_panel(self._found, now)
        self._fill()

    @work(exclusive=True, group="read-campaigns", description="read the campaigns to compare")
    async def read(self, *, again: bool = False) -> None:
        """``again``: what is known of them, too; each keeps its number."""
        try:
            if again:
                known = {one.path: one for one in await self._session.campaigns()}
                self._campaigns = [known.get(one.path, one) for one in self._campaigns]
                self._now = self._session.now
            self._sides = await self._session.sides(self._campaigns)
            self._varying = varying_parameters(self._sides)
        except DlperfError as error:
            self._problem = error
            if self._found is not None:  # the figures of before stay
                self.post_message(Problem(error))
            self._show_read()
            return
        self._problem = None
        self._hold()

    @work(exclusive=True, group="compare", description="hold the campaigns against one of them")
    async def _hold(self) -> None:
        """In a thread: an interval of medians is enumerated."""
        self._settled.clear()
        try:
            self._found = await asyncio.to_thread(
                held_against, self._sides, self._baseline, self._threshold, self._across
            )
        except DlperfError as error:
            self._problem = error
            self._show_read()
            return
        self._labels = labels_of(self._found)
        self._said_of_campaigns = campaigns_panel(self._found, self._now)
        self._show_read()

    def _show_read(self) -> None:
        self.app.post_message(NoMore(READING_AGAIN))
        if self._again and self._problem is None:
            self.app.notify("the campaigns were read again", markup=False)
        self._again = False
        self._fill()

    # What is shown -----------------------------------------------------------------------------

    def _fill(self) -> None:
        """All of it anew; nothing once it was left."""
        if self._found is not None or self._problem is not None:
            self._settled.set()
        if not self.here:
            return
        found, panel = self._found, self._panel
        wide = self.size.width >= WIDE
        rows = [] if found is None else compared_rows(found, self._labels, self._order, wide=wide)
        pairs = () if found is None else found.cases()
        self._pairs = {row_key(place, case): (place, case) for place, case in pairs}
        panel.table.refill(rows, None if found is None else columns_of(found, wide=wide))
        panel.say_when_empty(self._why_empty())
        self._show_selected()
        self.sight.renew()
        self.refresh_bindings()

    def _why_empty(self) -> str:
        if self._panel.filter_text:
            return "No case matches; Esc takes the filter away"
        if self._problem is not None:
            return problem_line(self._problem)
        if self._found is None:
            return READING
        return none_compared(self._found)

    @on(KeyedTable.Moved)
    def _other_row(self) -> None:
        self.sight.changed()
        self._panel.say_when_empty(self._why_empty())
        self._show_selected()
        self.refresh_bindings()

    @property
    def _selected(self) -> tuple[int, ComparedCase] | None:
        return self._pairs.get(current_key(self) or "")

    def _in_sight(self) -> Iterator[str]:
        if self._selected is None:
            yield "campaigns"
            return
        if self._alone:
            yield self._alone
            return
        beside = next((BESIDE[name] for name in reversed(BESIDE) if self.has_class(name)), ())
        yield from beside
        if len(beside) < len(VIEWS):
            others = [view for view in VIEWS if view not in beside]
            yield self._view if self._view in others else others[0]

    def _laid_out(self, _: Screen[object]) -> None:
        """What came into sight, or has another size, is filled for that."""
        if self.here and self._sizes != self._filled:
            self._show_selected()

    @property
    def _sizes(self) -> tuple[Size, ...]:
        """Of all that is filled by its size."""
        panels = (self._panel, *(self.query_one(f"#{view}") for view in VIEWS))
        return (self.size, *(panel.content_size for panel in panels))

    def _show_selected(self) -> None:
        if not self.here:
            return
        self._filled = self._sizes
        shown, found, selected = set(self._in_sight()), self._found, self._selected
        for view in VIEWS:
            self.query_one(f"#{view}").display = view in shown and found is not None
        if found is None:
            return
        below = below_rows(found, self._labels, None if "verdict" in shown else selected)
        self.query_one("#below-compared", Static).update(below)
        self.query_one("#below-compared").display = bool(below) and not self._alone
        self._panel.display = not self._alone
        self.set_class(bool(self._alone), "-zoomed")
        self._share_lines()
        if width := self._panel.size.width:  # else it is out of sight
            self._panel.retitle(title_words(found, width - CORNERS, self._order))
        if "campaigns" in shown:
            room = self.has_class("-huge")
            said = Text.assemble(self._said_of_campaigns, figures_text(found) if room else "")
            self.query_one("#campaigns", Details).show("Campaigns", said)
        details = self.query_one("#verdict", Details)
        if "verdict" in shown:
            width = details.content_size.width
            called = selected and compared_label(selected[1], self._labels)
            title = f"Verdict · {called}" if called else "Verdict"
            words = verdict_panel(selected[1], selected[0], found, width) if selected else Text()
            details.show(title, words)
        if "curves" in shown:
            self._show_curves(found, selected)

    def _share_lines(self) -> None:
        """The rows have nearly half of the lines, as far as a chart can be drawn below them; all
        but what is said below them where none can be."""
        room, below = self.size.height - FRAME, self.query_one("#below-compared")
        low = room < LEAST_ROWS + MOST_SAID_WHERE_LOW + CHART
        below.styles.max_height = MOST_SAID_WHERE_LOW if low else MOST_SAID
        charted = "curves" in self._in_sight() and not self._alone
        most = room - below.outer_size.height
        if not (low and charted):
            most = min(room * 45 // 100, most - CHART)
        self._panel.styles.max_height = max(LEAST_ROWS, most)
        if low and charted:
            self.query_one("#curves").display = False

    def _show_curves(self, found: SideBySide, selected: tuple[int, ComparedCase] | None) -> None:
        chart = self.query_one("#curves", Chart)
        if selected is None:
            return
        place, case = selected
        groups = [side.group_of(case) for side in found.sides]
        held = [
            (f"{place + 1} {side.called}", there[0], None)
            for place, side in enumerate(found.sides)
            if (there := in_side(side, case)) is not None
        ]
        self._curved = is_curve([one for one in groups if one is not None], case.unit) or not held
        if not self._curved:
            on = case.candidate or held[0][1]
            room = chart.content_size.height - AXIS_ROWS - 1
            chart.show(case_bars(held, on, width=chart.content_size.width, rows=room))
            set_frame(chart, f"{plain(case.unit)} of {compared_label(case, self._labels)}")
            return
        wanted, width = self._quantity, chart.content_size.width
        shown = curves_of(found, place, case, groups, wanted, width=width)
        self._no_base = shown.why_per_device
        chart.show(shown.plot)
        set_frame(chart, shown.title)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fill)

    # Keys --------------------------------------------------------------------------------------

    def able(self, action: str) -> bool:
        refused = self._found is None and self._problem is not None
        listed, selected = len(self._pairs) > 1 and not self._alone, self._selected is not None
        able = {
            "leave": True,
            "help": True,
            "threshold": not refused,  # to ask takes longer than to read
            "write": not refused,
            "read": refused or self._found is not None,
            "filter": bool(self._pairs),
            "across": bool(self._varying),
            "sort": listed,
            "reverse": listed and not self._order.given,
            "open": selected,
            "view": (selected or self._reading) and not self._all_in_sight,
        }
        if action in able:
            return able[action]
        if action in ("move", "quantity"):
            needed = self._alone if action == "move" else self._curved
            unable = action == "quantity" and self._no_base
            return "curves" in self._in_sight() and bool(needed) and not unable
        return self._found is not None

    @property
    def _reading(self) -> bool:
        """For the first time."""
        return self._found is None and self._problem is None

    def not_now(self, action: str) -> str:
        if self._found is None:
            nothing = "there is nothing to compare, for the reason that is shown"
            return "the campaigns are being read" if self._problem is None else nothing
        if action in ("view", "open", "quantity") and self._selected is None:
            return "no case is in the list"
        if action == "view" and self._all_in_sight:
            return "all of it is in sight"
        if action == "quantity" and "curves" in self._in_sight() and self._no_base:
            return self._no_base
        if action in ("sort", "reverse") and self._alone:
            return OUT_OF_SIGHT
        return {
            "sort": "there is one row",
            "reverse": AS_THE_CASES,
            "across": "no parameter differs between these runs",
            "quantity": "the curves are not in sight; v leads to them",
        }.get(action, "")

    @property
    def _all_in_sight(self) -> bool:
        return self.has_class("-huge") and not self._alone

    @property
    def labels_now(self) -> Mapping[str, str]:
        beside = self.has_class("-wide") and not self._alone
        others = [v for v in VIEWS if not (beside and v == "curves")]
        here = self._alone or (self._view if self._view in others else others[0])
        view = others[(others.index(here) + 1) % len(others)]
        labels = {"view": VIEWS[view], "quantity": quantity_label(self._quantity.next)}
        if self._alone:
            return labels | {"zoom": "All panels", "leave": "Back"}
        return labels | ({"leave": "All"} if self._panel.filter_text else {})

    @property
    def urgent_now(self) -> Collection[str]:
        return ("zoom", "leave") * bool(self._alone)

    def action_view(self) -> None:
        label = self.labels_now["view"]
        self._view = next(view for view, said in VIEWS.items() if said == label)
        if self._alone:
            self._zoom(self._view)
        else:
            self._rearrange()
            if self._focused_view is not None:
                self.set_focus(self.query_one(f"#{self._view}"))

    @property
    def _focused_view(self) -> str | None:
        focused = self.focused.id if self.focused is not None else None
        return focused if focused in VIEWS else None

    def action_zoom(self) -> None:
        """The panel with the focus alone, from the list what v led to; again: all."""
        below = tuple(self._in_sight())
        led_to = self._view if self._view in below else below[0]
        self._zoom("" if self._alone else self._focused_view or led_to)

    def action_move(self, step: int) -> None:
        """The list, which has this key itself, is out of sight behind the curves."""
        table = self.query_one(KeyedTable)
        table.move_cursor(row=table.cursor_row + step)

    def _zoom(self, view: str) -> None:
        """``view``: has the page and the keys; empty: all panels, and the list has the keys."""
        self._alone = view
        self._rearrange()
        self.set_focus(self.query_one(f"#{view}" if view else KeyedTable))

    def _rearrange(self) -> None:
        self._show_selected()
        self.refresh_bindings()

    def action_sort(self) -> None:
        self._reorder(self._order.next)

    def action_reverse(self) -> None:
        self._reorder(self._order.reversed)

    def _reorder(self, order: RowOrder[Pair]) -> None:
        """The cursor stays on its case."""
        self._order = order
        self._fill()
        self.call_after_refresh(self._panel.table.show_cursor_row)

    def action_quantity(self) -> None:
        self._quantity = self._quantity.next
        self._show_selected()
        self.refresh_bindings()

    def action_open(self) -> None:
        if self._selected is not None and self._found is not None:
            place, case = self._selected
            place = self._found.baseline if case.candidate is None else place
            if (known := case.candidate or case.baseline) is not None:
                whose = f"{place + 1} {self._found.sides[place].name}"
                pairs = ((one.baseline, one.candidate) for _, one in self._pairs.values())
                profiles = {one.profile for pair in pairs for one in pair if one is not None}
                self.app.push_screen(Repeats(known, whose, several=len(profiles) > 1))

    def action_baseline(self) -> None:
        if self._found is not None:
            self._baseline = (self._baseline + 1) % len(self._found.sides)
            self._hold()

    def action_across(self) -> None:
        """Of what differs between their cases, what the two of a pair may differ in."""
        if self._found is None:
            return

        def answered(answer: tuple[str, ...] | None) -> None:
            if answer is None or answer == asked:
                return
            self._across = answer
            if len(self._sides) == 1:  # its settings are others now
                self._baseline = 0
            self._hold()

        dialog = AcrossList(self._sides, self._found.across)
        asked = dialog.outcome() if self._found.across else ()
        self.app.push_screen(dialog, answered)

    def action_copy(self) -> None:
        if self._found is not None:
            self.app.notify(hand_over(self.app, copied_text(self._found)), markup=False)

    def action_write(self) -> None:
        def answered(answer: str | None) -> None:
            if answer:
                self._ask_and_write(answer)

        value = str(self._session.workspace.campaigns_dir / "comparison.md")
        words = "Write the comparison to this file; .csv and .json have every digit:"
        self.app.push_screen(
            Prompt(
                "Write",
                words,
                value=value,
                meaning=lambda text: whole(text, written_as),
                check=lambda text: written_as(meant(text)),
                does="Write",
            ),
            answered,
        )

    @work(exclusive=True, group="write", description="ask before writing over a file")
    async def _ask_and_write(self, answer: str) -> None:
        with typed_ahead(self).held():
            path, question = await asyncio.to_thread(destination, answer, "Write")
            await self._settled.wait()

            def answered(said: str | None) -> None:
                if said == "yes" and self._found is not None:
                    self.app.run_worker(
                        self._write(self._found, path), group="write", description="write it"
                    )

            if question is None:
                answered("yes")
            else:
                self.app.push_screen(question, answered)

    async def _write(self, found: SideBySide, path: Path) -> None:
        try:
            await asyncio.to_thread(write_named, path, file_of(found, path))
        except DlperfError as error:
            self.app.post_message(Problem(error))
        else:
            self.app.post_message(Said(f"written to {path}", ended="Compare"))

    def action_threshold(self) -> None:
        def answered(answer: str | None) -> None:
            if answer:
                self._threshold = parse_threshold(answer)
                if self._sides:
                    self._hold()

        words = "By how much does a case have to change before it counts?"
        value = f"{self._threshold * 100:g}%"
        prompt = Prompt("Threshold", words, value=value, check=partial(parse_threshold, where=""))
        self.app.push_screen(prompt, answered)

    def action_read(self) -> None:
        self._again = True
        self.app.notify(READING_AGAIN, markup=False)
        self.read(again=True)

    def action_filter(self) -> None:
        if self._alone:
            self._zoom("")
        self._panel.start_filter()

    def action_leave(self) -> None:
        if self._alone:
            self._zoom("")
        elif not (self._panel.filter_text and self._panel.clear_filter()):
            super().action_leave()
