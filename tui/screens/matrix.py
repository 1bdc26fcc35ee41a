"""Matrix: what to run. Marks on a grid per profile, and everything else that a plan needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from backends.campaign.plan.selection import Plan
from backends.campaign.record.snapshot import format_duration
from backends.hosts.facts import HostSnapshot, HostState
from backends.hosts.finding import Finding
from profiles.errors import DlperfError
from profiles.format.settings import needs_value
from profiles.tags import parse_tag
from tui.keys import bindings
from tui.marks import Marks, column_labels, new_marks, selection
from tui.messages import CampaignStarted, Problem, Said
from tui.screens.page import REFRESH_S, Page
from tui.session import Session
from tui.text import cell, count, join, plain
from tui.theme import ACCENT, BAD, GOOD, MUTED, TEXT, WARN
from tui.widgets.grid import MatrixGrid
from tui.widgets.keyed_table import Column, KeyedTable, Row
from tui.widgets.panel import TablePanel, set_frame

if TYPE_CHECKING:
    from profiles.format.profile import Profile

COLUMNS = (Column("name", "    Profile", None),)

PROBING = "asking the hosts what they have …"
FIRST_LOOK_GPUS = 2
"""On a machine of its own only so small cases are marked by themselves: a minute at most."""


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
        self._marks: dict[str, Marks] = {}
        self._asleep: dict[str, Marks] = {}
        self._repeats: int | None = None
        self._hosts = ""
        self._plan: Plan | None = None
        self._problem: DlperfError | None = None
        self._planned_for: object = None
        self._begun = False
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
    def snapshots(self) -> Sequence[HostSnapshot]:
        """The hosts that may be used."""
        if not self._hosts:
            return self.session.hosts
        names = set(self._hosts.split(","))
        return tuple(host for host in self.session.hosts if host.name in names)

    @property
    def _undecided(self) -> bool:
        """Nothing is marked yet, but that may come of hosts that have not answered."""
        pending = (HostState.UNKNOWN, HostState.PROBING)
        return not self._begun and any(host.state in pending for host in self.session.hosts)

    @property
    def focused_name(self) -> str | None:
        return self.main_panel().table.current_key

    @property
    def focused_marks(self) -> Marks | None:
        name = self.focused_name
        return None if name is None else self.marks(name)

    def marks(self, name: str) -> Marks:
        if name not in self._marks:
            self._marks[name] = new_marks(self.session.workspace.catalog.get(name))
        return self._marks[name]

    def pull(self) -> None:
        panel = self.main_panel()
        names = self.session.workspace.catalog.names
        self._begin(names)
        panel.table.refill([self._profile_row(name) for name in names])
        problems = len(self.session.workspace.catalog.problems)
        panel.retitle("Profiles", f"▲ {count(problems, 'file')} with mistakes" if problems else "")
        panel.say_when_empty("No profile matches; Esc takes the filter away")
        self._show_grid()

    def _begin(self, names: Sequence[str]) -> None:
        """Mark the first profile that these hosts can run, once, so that Enter has a meaning."""
        if self._begun:
            return
        most = FIRST_LOOK_GPUS if self.session.alone else None
        for name in names:
            wanted = self.marks(name).with_defaults(most)
            if wanted.marked(self.snapshots):
                self._marks[name] = wanted
                self._begun = True
                self.query_one(MatrixGrid).forget_cursor()
                self.call_after_refresh(self.main_panel().table.select, name)
                return

    def _profile_row(self, name: str) -> Row:
        part = self._marks.get(name)
        marked = part is not None and bool(part.marked(self.snapshots))
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
        cells = part.cells(self.snapshots)
        grid = self.query_one(MatrixGrid)
        grid.show(part.profile.name, column_labels(part), cells)
        self._make_plan()
        set_frame(panel, f"Matrix · {part.profile.name}", self._footer())
        self._describe(part)
        about = self.query_one("#about", Static)
        set_frame(about, part.profile.name)
        about.update(profile_text(part.profile))

    def _describe(self, part: Marks) -> None:
        """The line under the grid: the cell, or why it cannot be marked, or what start lacks."""
        here = self.query_one(MatrixGrid).current
        text = Text(end="")
        if here is not None:
            text.append(f"{here.case.label}", "bold")
            if here.reason:
                text.append(f"\n{plain(here.reason)}", WARN)
            else:
                size = (
                    f"{count(here.case.nodes, 'host')} × {count(here.case.gpus_per_node, 'device')}"
                )
                mark = "marked" if here.state == "marked" else "not marked"
                text.append(f"  {size}, {mark}", MUTED)
        text.append("\n")
        if self._problem is not None:
            text.append(f"▲ {plain(self._problem.what)}", BAD)
            remedy = plain(self._problem.remedy)
            text.append(f"; {remedy}" if remedy else "", MUTED)
        elif part.settings:
            given = ", ".join(f"{k}={plain(v)}" for k, v in part.settings.items())
            text.append(f"settings: {given}", MUTED)
        self.query_one("#cell", Static).update(text)

    def _footer(self) -> Text:
        plan = self._plan
        if self._doing:
            return Text(self._doing, ACCENT)
        if self._problem is not None:
            return Text("not ready to start", WARN)
        if plan is None or not plan.cases:
            return Text(PROBING if self._undecided else "nothing marked", MUTED)
        repeats = {planned.repeats for planned in plan.cases}
        parts: list[Text | str | tuple[str, str]] = []
        runs = count(plan.run_count, "run")
        if len(repeats) == 1:
            times = count(repeats.pop(), "repeat") if self.has_class("-wide") else repeats.pop()
            parts.append((f"{count(len(plan.cases), 'case')} × {times} = {runs}", TEXT))
        else:
            parts.append((f"{count(len(plan.cases), 'case')}, {runs}", TEXT))
        if plan.expected_s is not None:
            parts.append((f"≈{format_duration(plan.expected_s)}", TEXT))
        parts.append((count(len(plan.hosts), "host"), TEXT))
        return join(parts, " · ")

    def _make_plan(self) -> None:
        """Ask the engine what the marks come to, when they have changed since it was asked."""
        asked = selection(self._marks, self.snapshots, repeats=self._repeats, hosts=self._hosts)
        now = (asked, self.session.hosts)
        if now == self._planned_for:
            return
        self._planned_for, self._plan, self._problem = now, None, None
        if not asked.profiles:
            return
        self._problem = missing_settings([self._marks[name] for name in asked.profiles])
        if self._problem is not None:
            return
        try:
            self._plan = self.session.workspace.plan(asked)
        except DlperfError as error:
            self._problem = error

    # Marking -----------------------------------------------------------------------------------

    def _put(self, part: Marks) -> None:
        self._begun = True
        self._marks[part.profile.name] = part
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
        """In with its marks of before, else its own cases; or out."""
        part = self.focused_marks
        if part is None:
            return
        name = part.profile.name
        if part.wanted:
            self._asleep[name] = part
            self._put(replace(part, wanted=frozenset()))
        else:
            before = self._asleep.pop(name, None)
            self._put(replace(part, wanted=before.wanted) if before else part.with_defaults())

    def action_mark_all(self) -> None:
        part = self.focused_marks
        if part is not None:
            cells = [c for row in part.cells(self.snapshots) for c in row]
            keys = {c.case.key for c in cells if c.state != "impossible"}
            self._put(replace(part, wanted=part.wanted | keys))

    def action_mark_none(self) -> None:
        part = self.focused_marks
        if part is not None:
            self._put(replace(part, wanted=frozenset()))

    def action_repeats(self, change: int) -> None:
        part = self.focused_marks
        if part is not None:
            now = self._repeats or part.profile.matrix.repeats
            self._repeats = max(1, now + change)
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
            check=parse_tag,
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
            self._planned_for = None
            self._put(changed)

    @work(exclusive=True, group="dialog", description="choose hosts")
    async def action_hosts(self) -> None:
        from tui.screens.editors import HostPicker  # noqa: PLC0415 - seldom needed

        workspace = self.session.workspace
        chosen = await self.app.push_screen_wait(
            HostPicker(workspace.inventory, self.session.hosts, self._hosts)
        )
        if chosen is not None:
            self._hosts = chosen
            self.pull()

    def _ready_plan(self) -> Plan | None:
        """The plan of what is marked; says what is missing otherwise."""
        self._make_plan()
        if self._problem is not None:
            self.post_message(Problem(self._problem))
        elif self._plan is None or not self._plan.cases:
            self.post_message(
                Problem(DlperfError("nothing is marked", remedy="mark a case with space"))
            )
        else:
            return self._plan
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
        while self._undecided:
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


def missing_settings(parts: Sequence[Marks]) -> DlperfError | None:
    """What has to be given before these profiles can run, in the console's words."""
    for part in parts:
        profile = part.profile
        missing = [
            name
            for name in profile.settings
            if needs_value(profile, name) and not part.settings.get(name)
        ]
        if missing:
            return DlperfError(
                f"{profile.name} needs {', '.join(missing)}",
                remedy="put the cursor on the profile and press s",
            )
    return None


def profile_text(profile: Profile) -> Text:
    """What a profile is, for the panel beside the grid."""
    text = Text(end="")
    text.append(f"{plain(profile.framework)} {plain(profile.model)}\n", "bold")
    text.append(f"{plain(profile.description)}\n\n")
    launch = profile.launch
    text.append("launcher ", MUTED).append(f"{launch.launcher}\n")
    text.append("unit ", MUTED).append(f"{plain(profile.unit)}\n")
    text.append("measures ", MUTED).append(f"{profile.measure.statistic}\n")
    if profile.source:
        text.append("source ", MUTED).append(plain(profile.source))
    return text
