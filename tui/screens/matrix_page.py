"""Matrix: what to run. Marks on a grid per profile, and everything else that a plan needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import on, work
from textual.app import App
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from profiles.case_tag import format_tag, parse_tag
from profiles.counted import counted
from profiles.errors import DlperfError
from tui.hosts_now import HostsNow
from tui.kept_marks import document, keep, restore
from tui.key_bindings import bindings
from tui.matrix_below import OtherGrid, below_text, case_lines, others_lines, profiles_lines
from tui.matrix_history import MarksHistory, Repeats, restored_words
from tui.matrix_labels import column_kinds, column_labels
from tui.matrix_marks import Marks
from tui.matrix_request import Able, Asked, parse_rule
from tui.messages import Problem, Said
from tui.plan_words import READING_PAST, least, same_runs
from tui.screens import matrix_dialogs
from tui.screens.matrix_start import PROBING, Starting
from tui.screens.matrix_text import (
    NOTHING_MARKED,
    cell_text,
    devices_words,
    fill_words,
    marked_words,
    plan_footer,
    preset_remarks,
    preset_words,
    profile_legend,
    profile_row,
    profile_text,
    repeats_words,
    unexplained_words,
    until_text,
    why_not,
)
from tui.screens.page import Page
from tui.session import Session
from tui.text import fitting
from tui.theme import ACCENT, MUTED, WARN
from tui.typed_ahead import Sight, typed_ahead
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.grid import MatrixGrid
from tui.widgets.keyed_table import Column, KeyedTable
from tui.widgets.shown_text import ShownText

if TYPE_CHECKING:
    from pathlib import Path

    from profiles.format.presets import Preset

COLUMNS = (Column("name", "    Profile", None, ends=True),)

READING = "Reading the profiles …"
NO_PROFILE = "No profile matches; Esc takes the filter away"
CHANGING = ("mark_all", "mark_none", "scaling", "parameters", "settings")
"""What is done to the profile on the grid alone."""
KEPT = "marked as last time; n takes it away"
NOT_READY = "not ready to start"
LEAST_BELOW = 5
"""Free lines, from which on they say what a run is."""


class ProfileTable(KeyedTable):
    """The catalogue; space takes a profile into the campaign or out of it."""

    PANEL = "profiles"
    BINDINGS = bindings("profiles")

    def action_mark(self) -> None:
        page = self.screen
        if isinstance(page, MatrixPage):
            page.toggle_profile()


class MatrixPage(Page):
    PANEL = "matrix"
    AUTO_FOCUS = "MatrixGrid"
    BINDINGS = bindings("matrix")
    hosts_now: HostsNow

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.hosts_now = HostsNow(session, spare_ours=True)
        self._asked = Asked(session, self.hosts_now)
        self._history = MarksHistory()
        self._doing = ""  # what the operator waits for
        self._able: object = None  # what the keys that work depend on
        self._listed: object = None  # what the profiles' rows show
        self._able_there: frozenset[Able] = frozenset()  # what their marks say
        self._offered: object = None  # what there is to mark: profiles, and hosts to run them
        self._offer = Sight(self, self.paint)  # since when that is shown
        self._offer.since = -inf  # who goes here means what there is when it comes
        self._below: list[Text] = []  # of other profiles, and what it was made of
        self._below_of: object = None
        self._marked_at_first: dict[str, object] | None = None  # by itself; None: not yet
        self._filling: Marks | None = None  # the holes of which are marked once they were read
        self._starting = Starting(
            self, self._asked, self.hosts_now, lambda: self.focused_marks, self._do
        )

    @property
    def labels_now(self) -> Mapping[str, str]:
        return {} if self.session.why_no_start is None else {"start": "Preflight"}

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            with Vertical(id="grid-panel", classes="panel"):
                yield MatrixGrid()
                yield ShownText(id="below")
                yield ShownText(id="cell")
            with Vertical(id="matrix-side"):
                yield TablePanel(ProfileTable(COLUMNS), "Profiles", id="profiles-panel")
                yield ShownText(id="about", classes="panel")

    def on_mount(self) -> None:
        self.query_one("#cell", ShownText).show(Text(READING, MUTED))

    @property
    def asks_hosts(self) -> bool:
        """The dialogs over it show hosts, too."""
        stack = self.app.screen_stack
        return stack[0] is self and all(screen.is_modal for screen in stack[1:])

    def main_panel(self) -> TablePanel:
        return self.query_one("#profiles-panel", TablePanel)

    # What is shown -----------------------------------------------------------------------------

    @property
    def focused_marks(self) -> Marks | None:
        table = self.query_one_optional(ProfileTable)  # none before it is composed, and later
        name = None if table is None else table.current_key
        return None if name is None else self._asked.marks(name)

    def pull(self) -> None:
        self.hosts_now.of(self.viewed)
        panel = self.main_panel()
        names = self.session.workspace.catalog.names
        offered = (names, self._asked.able)
        if offered != self._offered:
            self._offered = offered
            if self.sight.drawn:  # else nobody has seen anything else here
                self._offer.changed()
        if (first := self._begin(names)) is not None:
            self.query_one(MatrixGrid).forget_cursor()
            self.call_after_refresh(panel.table.select, first)
        self._list(panel.table, names)
        if self._asked.past_reading.is_due(self.viewed):
            self.read_past()
        self._tell_marks()
        panel.say_when_empty(NO_PROFILE)
        self._show_grid()
        self._fill_if_read()

    def _begin(self, names: Sequence[str]) -> str | None:
        """Mark what was marked when the last console was left, else what these hosts can run; the
        profile that is shown first."""
        if self._marked_at_first is None:
            self._marked_at_first = {}
            if self._marks_kept is not None and restore(*self._marks_kept, self._asked):
                self._marked_at_first = document(self._asked)
                self.post_message(Said(KEPT, until_key=True))
                return self._asked.taking_part[0].profile.name
        if (first := self._asked.begin(names)) is not None:
            self._marked_at_first = document(self._asked)
        return first

    @property
    def _marks_kept(self) -> tuple[Path, str] | None:
        """Where, and of which inventory."""
        file, inventory = self.session.marks_file, self.session.workspace.cluster.inventory.path
        if file is None or self.session.simulated:
            return None
        return file, "" if inventory is None else str(inventory.absolute())

    def _keep_marks(self) -> None:
        """What an operator changed."""
        if self._marks_kept is None or self.session.readonly or not self._asked.begun:
            return
        if (now := document(self._asked)) != self._marked_at_first:
            keep(*self._marks_kept, now)

    def _list(self, table: KeyedTable, names: Sequence[str]) -> None:
        hosts = self._asked.snapshots
        parts = tuple(map(self._asked.known, names))
        listed = (names, hosts, parts)
        if listed != self._listed:
            self._listed = listed
            rows = [profile_row(name, self._asked) for name in names]
            self._able_there = frozenset(map(self._asked.able_to_run, names))
            table.refill(rows)

    @on(KeyedTable.Moved)
    def _tell_marks(self) -> None:
        panel = self.main_panel()
        problems = len(self.session.workspace.catalog.problems)
        notes = [f"▲ {counted(problems, 'file')} with mistakes"] if problems else []
        name = panel.table.current_key
        here = None if name is None else self._asked.able_to_run(name)
        words = [*notes, *profile_legend(self._able_there, here)]
        panel.retitle("Profiles", fitting(words, panel.size.width - 6, ", "))

    @on(KeyedTable.Moved)
    @on(MatrixGrid.Moved)
    def _show_grid(self) -> None:
        part = self.focused_marks
        panel = self.query_one("#grid-panel")
        grid = self.query_one(MatrixGrid)
        if part is None:
            set_frame(panel, "Matrix · no profile matches")
            grid.show("", (), ())
            self.query_one("#below", ShownText).show(Text())
            self.query_one("#cell", ShownText).show(Text(NO_PROFILE, MUTED))
            self.query_one("#about").visible = False
            return
        cells, past = self._asked.cells(part), self._asked.past(part)
        grid.show(part.profile.name, column_labels(part), cells, column_kinds(part), past.figures)
        planned = self._asked.plan
        self._asked.make_plan()
        if not same_runs(planned, self._asked.plan):
            self.sight.changed()
        repeats, name = self._asked.repeats, part.profile.name
        able = (
            self._asked.explainable,
            repeats,
            len(self._asked.taking_part),
            name,
            grid.markable,
            self._some_can_run(part),
            bool(part.wanted),
            self._takes_back,
        )
        if able != self._able:
            self._able = able
            self.refresh_bindings()
        set_frame(panel, f"Matrix · {part.profile.name}", self._footer())
        self.query_one("#cell", ShownText).show(self._cell_text(grid, part))
        self._show_below(grid, part)
        about = self.query_one("#about", ShownText)
        about.visible = True
        set_frame(about, part.profile.name)
        here = grid.current
        about.show(profile_text(part.profile, here.case if here is not None else None))

    def _cell_text(self, grid: MatrixGrid, part: Marks) -> Text:
        now = self.session.now
        room = self.query_one("#cell").content_size.width
        whole = (grid.row, grid.column, chain(*grid.cells))
        others = dict(zip(("whole row", "column", "matrix"), whole, strict=True))
        named = not self.query_one("#below").display  # else they stand there
        return cell_text(grid.current, part, self._asked, others, now, room, named=named)

    def _show_below(self, grid: MatrixGrid, part: Marks) -> None:
        """Where there is room: the profiles that take part beside this one, which are named with
        the case where there is none, then what a run is and what the case measured; on a tall
        terminal their grids."""
        below, tall = self.query_one("#below", ShownText), self.has_class("-tall")
        free = self.query_one("#grid-panel").content_size.height - grid.lines
        free -= self.query_one("#cell").outer_size.height
        if (shown_here := tall or free >= LEAST_BELOW) != below.display:
            below.display = shown_here
            self.call_after_refresh(self._show_grid)
        grid.styles.height = grid.lines if shown_here else "1fr"
        grid.styles.min_height = grid.least_lines  # before what is said below it
        width, height = below.size
        if not shown_here or not height:
            return
        others = tuple(
            OtherGrid(one, self._asked.cells(one), self._asked.past(one).figures)
            for one in self._asked.taking_part
            if tall and one is not part
        )
        of = (others, width, height)
        if of != self._below_of:
            self._below_of, self._below = of, others_lines(others, width, height)
        shown = self._below or profiles_lines(self._asked, width, height)
        if (here := grid.current) is not None:
            now = self.session.now
            left = height - len(shown)
            shown = [*shown, *case_lines(part, here.case, self._asked, now, width, left)]
        below.show(below_text(shown, width, height))

    def _footer(self) -> Text:
        plan = self._asked.plan
        if self._doing:
            return Text(self._doing, ACCENT)
        if plan is None and self._asked.problem is not None:
            return Text(NOT_READY, WARN)
        if plan is None or not plan.cases:
            words = PROBING if self._asked.undecided else "nothing marked"
            asked = self._asked
            return Text(words + devices_words(pack=asked.pack, linked=asked.linked), MUTED)
        room = self.query_one("#grid-panel").size.width - 2
        taken = self._asked.takes(plan)
        takes = f"{least(plan)}≈{taken}" if taken else ""
        if not self._asked.past_reading.known:
            takes = READING_PAST
        states, why = self._asked.states_for(plan), self._starting.stopped(plan)
        why = NOT_READY if self._asked.problem is not None else why
        before = f"{why} · " if why else ""
        foot = plan_footer(plan, states, room - len(before), takes, wide=self.has_class("-wide"))
        return Text.assemble((before, WARN), foot)

    # Marking -----------------------------------------------------------------------------------

    @property
    def _markable(self) -> Marks | None:
        """What a mark is for; None, which is said, where something else was shown when its key was
        typed: hosts have answered since, and that may mark by itself."""
        if self._offer.seen:
            return self.focused_marks
        self.app.bell()
        self.post_message(Said("not marked: hosts have answered since the key was typed"))
        typed_ahead(self).drop_unseen(self._offer)
        return None

    def _put(self, part: Marks, repeats: Repeats | None = None) -> None:
        """``repeats``: those before, where they were changed with the marks."""
        self._history.add(self._asked.marks(part.profile.name), part, repeats)
        self._asked.put(part)
        self.pull()

    @property
    def _takes_back(self) -> bool:
        part = self.focused_marks
        return part is not None and (self._fills(part) or part.profile.name in self._history)

    def action_undo(self) -> None:
        """The last change of this profile; a fill that waits for past results is the last one."""
        if (part := self._markable) is None:
            return
        if self._fills(part):
            self._filling = None
            self._do("")
            return
        step = self._history.pop(part.profile.name)
        asked_since = self._asked.repeats or self._asked.auto  # which stay
        repeats = None if asked_since else step.repeats
        if repeats is not None:
            self._asked.repeats, self._asked.auto = repeats
        self._asked.put(step.part)
        self.pull()
        restored = restored_words(step, part, repeats=repeats is not None)
        self.post_message(Said(f"{restored}; {marked_words(step.part, self._asked)}"))

    @on(MatrixGrid.Toggled)
    def _toggled(self, event: MatrixGrid.Toggled) -> None:
        part = self._markable
        if part is None:
            return
        if all(c.state == "impossible" for c in event.cells):
            self.app.bell()
            return
        self._put(part.toggled(event.cells))

    def toggle_profile(self) -> None:
        if (part := self._markable) is not None:
            self._asked.toggle(part)
            self._history.add(part, self._asked.marks(part.profile.name))
            self.pull()

    def action_mark_all(self) -> None:
        if (part := self._markable) is not None:
            self._put(part.with_all(self._asked.snapshots))

    def action_mark_none(self) -> None:
        if (part := self._markable) is not None:
            self._put(replace(part, wanted=frozenset()))

    def action_repeats(self, change: int) -> None:
        if (part := self.focused_marks) is not None:
            self._asked.repeats, self._asked.auto = self._asked.repeats_changed(change, part), False
            self._show_grid()
            if len(parts := self._asked.taking_part) > 1:
                of = {one.profile.name: self._asked.repeats_of(one) for one in parts}
                self.post_message(Said(repeats_words(of)))

    def action_until_known(self) -> None:
        self._asked.auto = not self._asked.auto
        self._show_grid()
        if self._asked.problem is not None or not (self._asked.plan and self._asked.plan.cases):
            rule = until_text(self._asked.rule)
            self.post_message(Said(f"each case {rule}" if self._asked.auto else f"no more {rule}"))

    def action_explain(self) -> None:
        self._asked.explain = not self._asked.explain
        self._show_grid()

    def action_pack(self) -> None:
        self._asked.pack = not self._asked.pack
        self._show_grid()

    def action_link(self) -> None:
        self._asked.linked = not self._asked.linked
        self._show_grid()

    def not_now(self, action: str) -> str:
        if (part := self.focused_marks) is None:
            return "there is no profile under the cursor"
        if action == "explain":
            if self._asked.unexplained:
                return f"nothing is profiled: {unexplained_words(self._asked)}"
            return "what is marked cannot start yet" if self._asked.problem else NOTHING_MARKED
        return why_not(action, part.profile, self.query_one(MatrixGrid).current)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "back":
            return bool(self.main_panel().filter_text)
        if action in ("start", "dry_run", "explain", "undo"):
            return self._able_at_all(action)
        part = self.focused_marks
        if action in CHANGING:
            return part is not None and self._changes(action, part)
        if action == "repeats" and part is not None:
            return parameters != (-1,) or self._asked.can_be_fewer(part)
        return super().check_action(action, parameters)

    def _changes(self, action: str, part: Marks) -> bool:
        """Whether there is something of the profile to change."""
        match action:
            case "mark_all":
                return self._some_can_run(part)
            case "mark_none":
                return bool(part.wanted)
            case "scaling":
                return "batch_size" in part.profile.parameters
        return bool(getattr(part.profile, action))

    def _some_can_run(self, part: Marks) -> bool:
        return any(cell.state != "impossible" for row in self._asked.cells(part) for cell in row)

    def _able_at_all(self, action: str) -> bool:
        """Of what is about all that is marked, or was. To start: something is, or may be once more
        is known."""
        if action in ("explain", "undo"):
            return self._asked.explainable if action == "explain" else self._takes_back
        to_come = self._filling is not None or self._asked.undecided or not self._asked.begun
        return to_come or bool(self._asked.taking_part)

    # Dialogs -----------------------------------------------------------------------------------

    def _over(self, dialog: Callable[[App[Any], Marks, matrix_dialogs.Take], None]) -> None:
        if (part := self.focused_marks) is not None:
            dialog(self.app, part, self._put)

    def action_add_case(self) -> None:
        if (part := self.focused_marks) is not None:
            matrix_dialogs.add_case(self.app, part, partial(self._add_case, part))

    def _add_case(self, part: Marks, tag: str) -> None:
        self._put(part.with_case(tag))
        self.query_one(MatrixGrid).to_row(format_tag(*parse_tag(tag)))

    def action_parameters(self) -> None:
        self._over(matrix_dialogs.edit_parameters)

    def action_scaling(self) -> None:
        self._over(matrix_dialogs.edit_scaling)

    def action_settings(self) -> None:
        self._over(matrix_dialogs.edit_settings)

    def action_about(self) -> None:
        from tui.matrix_about import about_case  # noqa: PLC0415 - seldom needed
        from tui.screens.dialogs import Reading  # noqa: PLC0415

        part, here = self.focused_marks, self.query_one(MatrixGrid).current
        if part is None or here is None:
            return
        workspace, now = self.session.workspace, self.session.now
        text = about_case(part, here.case, self._asked, workspace, now)
        title = f"{part.profile.name} {here.case.label}"
        self.app.push_screen(Reading(title, text, wide=True))

    def action_hosts(self) -> None:
        matrix_dialogs.pick_hosts(
            self.app, self.session, self.hosts_now, self._asked.hosts, self._use_hosts
        )

    def _use_hosts(self, chosen: str | None) -> None:
        if chosen is not None:
            self._asked.hosts = chosen
            self.pull()

    def action_target(self) -> None:
        matrix_dialogs.ask_target(self.app, self._asked.rule, self._set_target)

    def _set_target(self, text: str | None) -> None:
        if text is not None:
            self._asked.rule, self._asked.auto = parse_rule(text), True
            self._show_grid()

    # What was measured before, and what a source measured ----------------------------------------

    @work(group="past", description="read what was measured before")
    async def read_past(self) -> None:
        await self._asked.past_reading.read()

    def on_unmount(self) -> None:
        self._keep_marks()
        self._asked.past_reading.stop()

    def action_fill(self) -> None:
        if (part := self._markable) is None:
            return
        if self._reading:
            self._filling = part
            self._do(READING_PAST)
        else:
            self._fill(part)

    @property
    def _reading(self) -> bool:
        return not self._asked.past_reading.complete

    def _fill_if_read(self) -> None:
        """Of the same marks only: others may have been made meanwhile."""
        if (part := self._filling) is None or self._reading:
            return
        self._filling = None
        self._do("")
        now = self.focused_marks
        if now is not None and _same_but_rows(part, now):
            self._fill(now)

    def _fills(self, part: Marks) -> bool:
        return self._filling is not None and _same_but_rows(self._filling, part)

    def _fill(self, part: Marks) -> None:
        cells = [cell for row in self._asked.cells(part) for cell in row]
        found = self._asked.holes(part)
        repeats, target = self._asked.repeats_of(part), self._asked.target
        self.post_message(Said(fill_words(cells, found, repeats, target)))
        if found:
            self._put(replace(part, wanted=frozenset(cell.case.key for cell in found)))

    def action_preset(self) -> None:
        part = self._markable
        if part is None:
            return
        offered = self._asked.presets(part)
        if not offered:
            self.post_message(Said(f"{part.profile.name} has no cases as its source had them"))
        elif len(offered) == 1:
            self._use_preset(offered[0])
        else:
            words = [(one, preset_words(part, one, self._asked.snapshots)) for one in offered]
            matrix_dialogs.pick_preset(self.app, part, words, self._use_preset)

    def _use_preset(self, preset: Preset) -> None:
        if (part := self.focused_marks) is None or part.profile.name != preset.cases[0].profile:
            return
        try:
            changed = part.with_preset(preset)
        except DlperfError as error:
            self.post_message(Problem(error))
            return
        before, own = (self._asked.repeats, self._asked.auto), (None, False)
        self._asked.repeats, self._asked.auto = own
        self._put(changed, before if before != own else None)
        words = [marked_words(changed, self._asked)]
        words += preset_remarks(changed, preset, self._asked.snapshots)
        times = changed.profile.matrix.repeats
        self.post_message(Said(f"as {preset.name}, × {times}: {'; '.join(words)}"))

    # Starting ------------------------------------------------------------------------------------

    def action_dry_run(self) -> None:
        self._starting.dry_run()

    def action_start(self) -> None:
        if not self._doing:
            self._starting.start()

    def _do(self, doing: str) -> None:
        self._doing = doing
        self._show_grid()


def _same_but_rows(before: Marks, now: Marks) -> bool:
    """Rows come by themselves, of what was measured."""
    return replace(before, tags=now.tags) == now
