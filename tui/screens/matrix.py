"""Matrix: what to run. Marks on a grid per profile, and everything else that a plan needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.text import Text
from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from backends.campaign.plan.selection import Plan
from backends.hosts.finding import Finding
from backends.results.auto_repeats import AutoRepeats
from profiles.errors import DlperfError
from tui.asked import Asked
from tui.key_bindings import bindings
from tui.marks import Marks, column_labels
from tui.messages import CampaignStarted, Problem, Said
from tui.screens.matrix_text import cell_text, plan_footer, profile_text
from tui.screens.page import REFRESH_S, Page
from tui.session import Session
from tui.text import cell, count, join
from tui.theme import ACCENT, GOOD, MUTED, WARN
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.grid import MatrixGrid
from tui.widgets.keyed_table import Column, KeyedTable, Row

COLUMNS = (Column("name", "    Profile", None),)

PROBING = "asking the hosts what they have …"


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
    BINDINGS = bindings("matrix")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._asked = Asked(session)
        self._doing = ""  # what the operator waits for

    def body(self) -> Iterable[Widget]:
        with Horizontal():
            with Vertical(id="grid-panel", classes="panel"):
                yield MatrixGrid()
                yield Static("", id="cell", markup=False)
            with Vertical(id="matrix-side"):
                yield TablePanel(ProfileTable(COLUMNS), "Profiles", id="profiles-panel")
                yield Static("", id="about", classes="panel", markup=False)

    def main_panel(self) -> TablePanel:
        return self.query_one("#profiles-panel", TablePanel)

    def on_mount(self) -> None:
        self.query_one(MatrixGrid).focus()

    # What is shown -----------------------------------------------------------------------------

    @property
    def focused_marks(self) -> Marks | None:
        name = self.main_panel().table.current_key
        return None if name is None else self._asked.marks(name)

    def pull(self) -> None:
        panel = self.main_panel()
        names = self.session.workspace.catalog.names
        if (first := self._asked.begin(names)) is not None:
            self.query_one(MatrixGrid).forget_cursor()
            self.call_after_refresh(panel.table.select, first)
        panel.table.refill([self._profile_row(name) for name in names])
        problems = len(self.session.workspace.catalog.problems)
        panel.retitle("Profiles", f"▲ {count(problems, 'file')} with mistakes" if problems else "")
        panel.say_when_empty("No profile matches; Esc takes the filter away")
        self._show_grid()

    def _profile_row(self, name: str) -> Row:
        part = self._asked.known(name)
        marked = part is not None and bool(part.marked(self._asked.snapshots))
        waiting = part is not None and bool(part.wanted) and not marked
        mark = cell("[x]", GOOD) if marked else cell("[·]" if waiting else "[ ]", MUTED)
        return Row(name, (join([mark, " ", (name, "bold" if marked else "")]),))

    @on(KeyedTable.Moved)
    @on(MatrixGrid.Moved)
    def _show_grid(self) -> None:
        part = self.focused_marks
        panel = self.query_one("#grid-panel")
        if part is None:
            set_frame(panel, "Matrix")
            return
        grid = self.query_one(MatrixGrid)
        grid.show(part.profile.name, column_labels(part), part.cells(self._asked.snapshots))
        self._asked.make_plan()
        set_frame(panel, f"Matrix · {part.profile.name}", self._footer())
        self.query_one("#cell", Static).update(cell_text(grid.current, part, self._asked.problem))
        about = self.query_one("#about", Static)
        set_frame(about, part.profile.name)
        about.update(profile_text(part.profile))

    def _footer(self) -> Text:
        plan = self._asked.plan
        if self._doing:
            return Text(self._doing, ACCENT)
        if self._asked.problem is not None:
            return Text("not ready to start", WARN)
        if plan is None or not plan.cases:
            return Text(PROBING if self._asked.undecided else "nothing marked", MUTED)
        return plan_footer(plan, wide=self.has_class("-wide"))

    # Marking -----------------------------------------------------------------------------------

    def _put(self, part: Marks) -> None:
        self._asked.put(part)
        self.pull()

    @on(MatrixGrid.Toggled)
    def _toggled(self, event: MatrixGrid.Toggled) -> None:
        part = self.focused_marks
        if part is None:
            return
        if all(c.state == "impossible" for c in event.cells):
            self.app.bell()
            return
        self._put(part.toggled(event.cells))

    def toggle_profile(self) -> None:
        if (part := self.focused_marks) is not None:
            self._asked.toggle(part)
            self.pull()

    def action_mark_all(self) -> None:
        if (part := self.focused_marks) is not None:
            self._put(part.with_all(self._asked.snapshots))

    def action_mark_none(self) -> None:
        if (part := self.focused_marks) is not None:
            self._put(replace(part, wanted=frozenset()))

    def action_repeats(self, change: int) -> None:
        if (part := self.focused_marks) is not None:
            now = self._asked.repeats or part.profile.matrix.repeats
            self._asked.auto = None
            self._asked.repeats = max(1, now + change)
            self._show_grid()

    def action_until_known(self) -> None:
        self._asked.auto = AutoRepeats() if self._asked.auto is None else None
        self._show_grid()

    # Dialogs -----------------------------------------------------------------------------------

    @work(exclusive=True, group="dialog", description="add a case")
    async def action_add_case(self) -> None:
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
        tag = await self.app.push_screen_wait(prompt)
        if tag:
            self._put(part.with_case(tag))

    @work(exclusive=True, group="dialog", description="choose parameter values")
    async def action_parameters(self) -> None:
        from tui.screens.editors import ParameterEditor  # noqa: PLC0415 - seldom needed

        part = self.focused_marks
        if part is None:
            return
        changed = await self.app.push_screen_wait(ParameterEditor(part))
        if changed is not None:
            self._put(changed)

    @work(exclusive=True, group="dialog", description="give settings")
    async def action_settings(self) -> None:
        from tui.screens.editors import SettingsEditor  # noqa: PLC0415 - seldom needed

        part = self.focused_marks
        if part is None:
            return
        changed = await self.app.push_screen_wait(SettingsEditor(part))
        if changed is not None:
            self._put(changed)

    @work(exclusive=True, group="dialog", description="choose hosts")
    async def action_hosts(self) -> None:
        from tui.screens.editors import HostPicker  # noqa: PLC0415 - seldom needed

        workspace = self.session.workspace
        chosen = await self.app.push_screen_wait(
            HostPicker(workspace.cluster.inventory, self.session.hosts, self._asked.hosts)
        )
        if chosen is not None:
            self._asked.hosts = chosen
            self.pull()

    def _ready_plan(self) -> Plan | None:
        """The plan of what is marked; says what is missing otherwise."""
        try:
            return self._asked.ready()
        except DlperfError as error:
            self.post_message(Problem(error))
            return None

    @work(exclusive=True, group="dialog", description="show every command")
    async def action_dry_run(self) -> None:
        from tui.screens.dry_run import DryRunView  # noqa: PLC0415 - seldom needed

        plan = self._ready_plan()
        if plan is None:
            return
        try:
            runs = self.session.workspace.dry_run(plan)
        except DlperfError as error:
            self.post_message(Problem(error))
            return
        if await self.app.push_screen_wait(DryRunView(plan, runs)) == "start":
            self.action_start()

    def action_start(self) -> None:
        # Not a worker that a second Enter replaces: that would end a start half way.
        if not self._doing:
            self.start_marked()

    @work(group="start", description="check the hosts and start the campaign")
    async def start_marked(self) -> None:
        from tui.screens.start import StartDialog, is_short  # noqa: PLC0415 - seldom needed

        self._doing = PROBING
        await self._wait_for_hosts()
        plan = self._ready_plan()
        if plan is None:
            self._do("")
            return
        findings: Sequence[Finding] | None = None
        if is_short(plan) and not self.session.readonly and not self.session.at_work:
            findings = await self._start_at_once(plan)
            if findings is None:
                return
        self._do("")
        answer = await self.app.push_screen_wait(StartDialog(self.session, plan, findings))
        if answer == "dry_run":
            self.action_dry_run()
        elif answer == "started":
            self.post_message(CampaignStarted())

    async def _wait_for_hosts(self) -> None:
        """Until there are marks, or every host has answered and there are none."""
        while self._asked.undecided:
            self._show_grid()
            await asyncio.sleep(REFRESH_S)
            self.pull()

    async def _start_at_once(self, plan: Plan) -> Sequence[Finding] | None:
        """Start unless the checks object; their findings when they do, None when all is done."""
        from tui.screens.start import CHECKING, objections, remarks  # noqa: PLC0415 - as above

        try:
            self._do(CHECKING)
            findings = await self.session.workspace.preflight(plan)
            if objections(findings):
                return findings
            self._do("starting …")
            await self.session.start(plan, findings)
        except DlperfError as error:
            self.post_message(Problem(error))
        else:
            self.post_message(CampaignStarted())
            if said := remarks(findings):
                self.post_message(Said(f"started; {'; '.join(said)}"))
        self._do("")
        return None

    def _do(self, doing: str) -> None:
        self._doing = doing
        self._show_grid()
