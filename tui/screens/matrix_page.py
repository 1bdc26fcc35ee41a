"""Matrix: what to run. Marks on a grid per profile, and everything else that a plan needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from rich.text import Text
from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from backends.campaign.plan.plan import Plan
from backends.hosts.preflight_finding import Finding
from profiles.errors import DlperfError
from tui.key_bindings import bindings
from tui.matrix_marks import Marks, capacity
from tui.matrix_request import Asked, parse_rule, rule_text
from tui.messages import CampaignStarted, Problem, Said
from tui.plan_words import is_short, objections, remarks
from tui.screens.matrix_text import (
    cell_text,
    column_kinds,
    column_labels,
    plan_footer,
    profile_row,
    profile_text,
)
from tui.screens.page import REFRESH_S, Page
from tui.session import Session
from tui.text import count
from tui.theme import ACCENT, MUTED, WARN
from tui.typed_ahead import Sight
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.grid import MatrixGrid
from tui.widgets.keyed_table import Column, KeyedTable
from tui.widgets.shown_text import ShownText

COLUMNS = (Column("name", "    Profile", None),)

PROBING = "asking the hosts what they have …"
READING = "Reading the profiles …"
NO_PROFILE = "No profile matches; Esc takes the filter away"


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

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._asked = Asked(session)
        self._doing = ""  # what the operator waits for
        self._able: object = None  # what the keys that work depend on
        self._listed: object = None  # what the profiles' rows show
        self._offered: object = None  # what there is to mark: profiles, and hosts to run them
        self._offer = Sight(self, self.paint)  # since when that is shown

    @property
    def labels_now(self) -> Mapping[str, str]:
        return {"start": "Check"} if self.session.readonly else {}

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            with Vertical(id="grid-panel", classes="panel"):
                yield MatrixGrid()
                yield ShownText(id="cell")
            with Vertical(id="matrix-side"):
                yield TablePanel(ProfileTable(COLUMNS), "Profiles", id="profiles-panel")
                yield ShownText(id="about", classes="panel")

    def on_mount(self) -> None:
        self.query_one("#cell", ShownText).show(Text(READING, MUTED))

    def main_panel(self) -> TablePanel:
        return self.query_one("#profiles-panel", TablePanel)

    # What is shown -----------------------------------------------------------------------------

    @property
    def focused_marks(self) -> Marks | None:
        table = self.query_one_optional(ProfileTable)  # none before it is composed, and later
        name = None if table is None else table.current_key
        return None if name is None else self._asked.marks(name)

    def pull(self) -> None:
        panel = self.main_panel()
        names = self.session.workspace.catalog.names
        offered = (names, capacity(self._asked.snapshots))
        if offered != self._offered:
            self._offered = offered
            self._offer.changed()
        if (first := self._asked.begin(names)) is not None:
            self.query_one(MatrixGrid).forget_cursor()
            self.call_after_refresh(panel.table.select, first)
        self._list(panel.table, names)
        problems = len(self.session.workspace.catalog.problems)
        panel.retitle("Profiles", f"▲ {count(problems, 'file')} with mistakes" if problems else "")
        panel.say_when_empty(NO_PROFILE)
        self._show_grid()

    def _list(self, table: KeyedTable, names: Sequence[str]) -> None:
        hosts = self._asked.snapshots
        parts = tuple(map(self._asked.known, names))
        listed = (names, hosts, parts)
        if listed != self._listed:
            self._listed = listed
            table.refill(list(map(profile_row, names, parts, repeat(hosts))))

    @on(KeyedTable.Moved)
    @on(MatrixGrid.Moved)
    def _show_grid(self) -> None:
        part = self.focused_marks
        panel = self.query_one("#grid-panel")
        grid = self.query_one(MatrixGrid)
        if part is None:
            set_frame(panel, "Matrix")
            grid.show("", (), ())
            self.query_one("#cell", ShownText).show(Text(NO_PROFILE, MUTED))
            self.query_one("#about").visible = False
            return
        cells = part.cells(self._asked.snapshots)
        grid.show(part.profile.name, column_labels(part), cells, column_kinds(part))
        planned = self._asked.plan
        self._asked.make_plan()
        if planned is not self._asked.plan:
            self.sight.changed()
        able = (self._asked.explainable, self._asked.repeats, part.profile.name, grid.markable)
        if able != self._able:
            self._able = able
            self.refresh_bindings()
        set_frame(panel, f"Matrix · {part.profile.name}", self._footer())
        self.query_one("#cell", ShownText).show(cell_text(grid.current, part, self._asked))
        about = self.query_one("#about", ShownText)
        about.visible = True
        set_frame(about, part.profile.name)
        about.show(profile_text(part.profile))

    def _footer(self) -> Text:
        plan = self._asked.plan
        if self._doing:
            return Text(self._doing, ACCENT)
        if self._asked.problem is not None:
            return Text("not ready to start", WARN)
        if plan is None or not plan.cases:
            words = PROBING if self._asked.undecided else "nothing marked"
            return Text(f"{words}, packed" if self._asked.pack else words, MUTED)
        room = self.query_one("#grid-panel").size.width - 2
        return plan_footer(plan, self._asked.snapshots, room, wide=self.has_class("-wide"))

    # Marking -----------------------------------------------------------------------------------

    @property
    def _markable(self) -> Marks | None:
        """What a mark is for; None, and the bell, where something else was shown when its key was
        typed: hosts have answered since, and that may mark by itself."""
        if self._offer.seen:
            return self.focused_marks
        self.app.bell()
        return None

    def _put(self, part: Marks) -> None:
        self._asked.put(part)
        self.pull()

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
            self.pull()

    def action_mark_all(self) -> None:
        if (part := self._markable) is not None:
            self._put(part.with_all(self._asked.snapshots))

    def action_mark_none(self) -> None:
        if (part := self._markable) is not None:
            self._put(replace(part, wanted=frozenset()))

    def action_repeats(self, change: int) -> None:
        if (part := self.focused_marks) is not None:
            now = self._asked.repeats or part.profile.matrix.repeats
            self._asked.auto = False
            self._asked.repeats = max(1, now + change)
            self._show_grid()

    def action_until_known(self) -> None:
        self._asked.auto = not self._asked.auto
        self._show_grid()

    def action_explain(self) -> None:
        self._asked.explain = not self._asked.explain
        self._show_grid()

    def action_pack(self) -> None:
        self._asked.pack = not self._asked.pack
        self._show_grid()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "start" and self.session.playing is not None:
            return False
        if action == "explain":
            return self._asked.explainable
        part = self.focused_marks
        if action == "scaling":
            return part is not None and "batch_size" in part.profile.parameters
        if action in ("parameters", "settings"):
            return part is not None and bool(getattr(part.profile, action))
        if action == "repeats" and part is not None:
            now = self._asked.repeats or part.profile.matrix.repeats
            return self._asked.auto or parameters != (-1,) or now > 1
        return super().check_action(action, parameters)

    # Dialogs: each is there when its key has been handled, so that no key behind it comes here ----

    def action_add_case(self) -> None:
        from tui.screens.dialogs import Prompt  # noqa: PLC0415 - seldom needed

        part = self.focused_marks
        if part is None:
            return
        prompt = Prompt(
            f"Add a case to {part.profile.name}",
            "Nodes and devices per node, such as 2n4g.",
            placeholder="2n4g",
            check=part.with_case,
        )
        self.app.push_screen(prompt, lambda tag: self._put(part.with_case(tag)) if tag else None)

    def action_parameters(self) -> None:
        from tui.screens.editors import ParameterEditor  # noqa: PLC0415 - seldom needed

        if (part := self.focused_marks) is not None:
            self.app.push_screen(ParameterEditor(part), self._take)

    def action_scaling(self) -> None:
        from tui.screens.scaling_kinds_dialog import ScalingEditor  # noqa: PLC0415 - seldom needed

        if (part := self.focused_marks) is not None:
            self.app.push_screen(ScalingEditor(part), self._take)

    def action_settings(self) -> None:
        from tui.screens.editors import SettingsEditor  # noqa: PLC0415 - seldom needed

        if (part := self.focused_marks) is not None:
            self.app.push_screen(SettingsEditor(part), self._take)

    def _take(self, changed: Marks | None) -> None:
        if changed is not None:
            self._put(changed)

    def action_hosts(self) -> None:
        from tui.screens.editors import HostPicker  # noqa: PLC0415 - seldom needed

        inventory = self.session.workspace.cluster.inventory
        picker = HostPicker(inventory, self.session.hosts, self._asked.hosts)
        self.app.push_screen(picker, self._use_hosts)

    def _use_hosts(self, chosen: str | None) -> None:
        if chosen is not None:
            self._asked.hosts = chosen
            self.pull()

    def action_target(self) -> None:
        from tui.screens.dialogs import Prompt  # noqa: PLC0415 - seldom needed

        prompt = Prompt(
            "Repeat until it is known",
            'Half of the 95% interval, as a share of the figure; "speedup" where that is to be '
            "known; and a budget of GPU time, where there is one. Such as 0.5% speedup 2h.",
            value=rule_text(self._asked.rule),
            check=parse_rule,
        )
        self.app.push_screen(prompt, self._set_target)

    def _set_target(self, text: str | None) -> None:
        if text is not None:
            self._asked.rule, self._asked.auto = parse_rule(text), True
            self._show_grid()

    def _ready_plan(self) -> Plan | None:
        """The plan of what is marked; says what is missing otherwise."""
        try:
            return self._asked.ready()
        except DlperfError as error:
            self.post_message(Problem(error))
            return None

    def action_dry_run(self) -> None:
        from tui.screens.dry_run import DryRunView  # noqa: PLC0415 - seldom needed

        plan = self._ready_plan()
        if plan is None:
            return
        try:
            runs = self.session.workspace.dry_run(plan)
        except DlperfError as error:
            self.post_message(Problem(error))
            return
        self.app.push_screen(DryRunView(plan, runs), self._after_dry_run)

    def _after_dry_run(self, answer: str | None) -> None:
        if answer == "start":
            self.action_start()

    def action_start(self) -> None:
        if self._doing:
            return
        if not self._asked.begun:
            self.pull()  # what is marked by itself is so from the first one on
        if self._asked.undecided:
            self._do(PROBING)
            self.start_when_known()
        elif (plan := self._ready_plan()) is not None:
            self._begin(plan)

    @work(group="start", description="wait for marks, then start")
    async def start_when_known(self) -> None:
        """Until there are marks, or every host has answered and there are none."""
        while self._asked.undecided:
            await asyncio.sleep(REFRESH_S)
            self.pull()
        self._do("")
        if (plan := self._ready_plan()) is not None:
            self._ask(plan)

    def _begin(self, plan: Plan) -> None:
        from tui.screens.start_dialog import CHECKING  # noqa: PLC0415 - seldom needed

        refused = self.session.readonly or self.session.at_work
        if is_short(plan) and self._in_sight(plan) and self.sight.seen and not refused:
            self._do(CHECKING)
            self.start_at_once(plan)
        else:
            self._ask(plan)

    def _in_sight(self, plan: Plan) -> bool:
        """All of it is on the grid that is shown."""
        part = self.focused_marks
        return part is not None and all(p.profile is part.profile for p in plan.cases)

    def _ask(self, plan: Plan, findings: Sequence[Finding] | None = None) -> None:
        from tui.screens.start_dialog import StartDialog  # noqa: PLC0415 - as above

        self.app.push_screen(StartDialog(self.session, plan, findings), self._answered)

    def _answered(self, answer: str | None) -> None:
        if answer == "dry_run":
            self.action_dry_run()
        elif answer == "started":
            self.post_message(CampaignStarted())

    # Not exclusive: a second Enter would end a start half way.
    @work(group="start", description="check the hosts and start the campaign")
    async def start_at_once(self, plan: Plan) -> None:
        """Unless the checks object, or something else is marked by the time that they are done."""
        try:
            findings = await self.session.workspace.preflight(plan, self._do)
            now = self._asked.ready()
            if now.selection != plan.selection or not self._in_sight(now):
                return self._ask(now)
            if objections(findings):
                return self._ask(plan, findings)
            self._do("starting …")
            await self.session.start(plan, findings)
            self.post_message(CampaignStarted())
            if said := remarks(findings):
                self.post_message(Said(f"started; {'; '.join(said)}"))
        except DlperfError as error:
            self.post_message(Problem(error))
        finally:
            self._do("")

    def _do(self, doing: str) -> None:
        self._doing = doing
        self._show_grid()
