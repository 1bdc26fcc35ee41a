"""Before a start: what will run, what preflight found, and one key to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widgets import Static

from backends.campaign.measured_before import WAIT_S
from backends.campaign.plan.plan import Plan
from backends.hosts.preflight_finding import Finding
from profiles.errors import DlperfError
from tui.hosts_now import HostsNow
from tui.key_bindings import bindings
from tui.messages import Problem, Said
from tui.plan_words import (
    READING_PAST,
    able_alone,
    host_lines,
    host_states,
    usable_now,
    why_not_without,
)
from tui.screens.dialogs import Dialog, Pages
from tui.screens.front_screen import REFRESH_S
from tui.screens.start_text import (
    cases_text,
    checklist_text,
    stopped_text,
    totals_text,
    unreachable,
)
from tui.session import Session
from tui.text import Hanging, problem
from tui.theme import MUTED, WARN

if TYPE_CHECKING:
    from tui.matrix_request import Asked

CHECKING = "preflight: checking the hosts …"
FEW_LINES = 3
"""Of cases, which stand before what preflight found: what is to be started is seen first."""
STARTS = ("start", "leave_out", "force", "start_kept", "add")
BESIDE = (
    "K has a keeper start all of it as a campaign of its own: runs of both wait for each other on "
    "a host they share, and 'report' with both names prints one table"
)


class StartDialog(Dialog[str]):
    """The result is ``started``, or ``beside`` where a keeper started it while another campaign
    is at work here; None when nothing was started."""

    PANEL = "start"
    BINDINGS = bindings("start")
    AHEAD = Dialog.AHEAD | {"dry_run"}

    def __init__(
        self,
        session: Session,
        hosts_now: HostsNow,
        plan: Plan,
        asked: Asked,
        findings: Sequence[Finding] | None = None,
        why: str = "",
    ) -> None:
        """``hosts_now``: of the page below, which asks them again.
        ``asked``: what the plan is of; it knows what was measured before.
        ``findings``: of preflight, where it was made already. ``why``: it is asked, where the
        plan and the findings do not tell."""
        super().__init__("Start")
        self.sight.uninvited = findings is not None
        self._session = session
        self._hosts_now = hosts_now
        self._asked = asked
        timed = asked.timed(plan)
        self._plan = timed or plan
        """The one that is shown, and that starts."""
        self._reading = timed is None  # nobody knows how long it takes
        self._waits = True  # for what was measured before now, as for preflight
        self._why = why
        self._hosts = hosts_now.of(session.viewed)
        self._away = unreachable(plan, self._hosts)
        self._findings = findings
        self._without: Plan | None = None  # the plan without what is stopped
        self._refused = session.why_no_start
        self._mattered: object = None  # of what was found, when it was shown last
        self._starting = False
        self.beside = ""
        """Of what a keeper started while another campaign is at work here: who goes on with it."""

    def compose(self) -> ComposeResult:
        with self.box(wide=True), Pages():
            yield Static(self._totals(self._plan), id="plan", markup=False)
            checks = Static(Text(CHECKING, MUTED), id="checks", markup=False)
            text = cases_text(self._plan)
            if first := text.plain.count("\n") <= FEW_LINES:
                yield Static(Hanging(text), id="cases", markup=False)
            yield checks
            if not first:
                yield Static(Hanging(Text.assemble("\n", text)), id="cases", markup=False)

    def on_mount(self) -> None:
        self.set_timer(WAIT_S, self._waited)
        self.read_past()
        self.set_interval(REFRESH_S, self._allowed)
        self.set_interval(REFRESH_S, self.tick)
        if self._findings is None:
            self.check()
        else:
            self._show(self._findings)

    def tick(self) -> None:
        """Hosts are asked again meanwhile, and what was found follows: without another preflight,
        which would disturb whoever measures there, but of a host that it could not ask."""
        if not self.here or self._starting:
            return
        before, self._hosts = self._hosts, self._hosts_now.of(self._session.viewed)
        if self._hosts == before:
            return
        were, self._away = self._away, unreachable(self._plan, self._hosts)
        findings = None if self._findings is None else self._by_now(self._findings)
        if findings is None:
            self.query_one("#plan", Static).update(self._totals(self._plan))
        elif {host.name for host in were} - {host.name for host in self._away}:
            self._check_again()
        elif findings != self._findings or were != self._away:
            self._show(findings)
        else:
            self.query_one("#plan", Static).update(self._totals(self._plan, findings))

    def _by_now(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        return self._session.workspace.renewed(self._plan, findings, self._hosts)

    def _check_again(self) -> None:
        self._findings = None
        self._say(Text(CHECKING, MUTED))
        self.refresh_bindings()
        self.check()

    def _allowed(self) -> None:
        """What is at work here may end while this is read."""
        before, self._refused = self._refused, self._session.why_no_start
        changed = (before is None) != (self._refused is None)
        if not changed or self._findings is None or self._starting:
            return
        if self._refused is None:  # what it had it has let go, and measured
            self.post_message(Said("nothing is at work here any more: ⏎ starts all of these"))
            self._check_again()
            self.read_past()
        else:
            self._show(self._findings)

    def _waited(self) -> None:
        self._waits = False
        self.refresh_bindings()

    @work(exclusive=True, group="past", description="read what was measured before the start")
    async def read_past(self) -> None:
        """Once, and then the plan is by that, whatever the page below reads later."""
        await self._asked.past_reading.up_to_date()
        if not self._starting and (plan := self._asked.timed(self._plan)) is not None:
            if plan != self._plan:
                self.sight.renew()  # what is typed is typed for what was shown
            self._plan, self._reading = plan, False
            if self._findings is not None and self._refused is None and self.stopped:
                self._show(self._findings)
            self.query_one("#plan", Static).update(self._totals(plan, self._findings))
        self._waited()

    @property
    def stopped(self) -> bool:
        """Preflight says that this cannot work."""
        return any(finding.level == "stop" for finding in self._findings or ())

    def able(self, action: str) -> bool:
        if self._starting:  # there is no way back from here
            return False
        if action in STARTS and (self._waits or self._refusal(action) is not None):
            return False
        if action in ("start", "start_kept", "add"):
            return self._findings is not None and not self.stopped
        if action == "leave_out":
            return self._without is not None
        return self.stopped if action == "force" else True

    def _refusal(self, action: str) -> DlperfError | None:
        """Why the action starts nothing from here, whatever preflight finds."""
        if action == "start_kept":
            return self._session.why_not_kept(self._plan)
        if action == "add":
            why = self._session.why_not_added(self._plan, self._findings or ())
            return DlperfError(why) if why else None
        return self._refused

    def not_now(self, action: str) -> str:
        if action in STARTS and (why := self._refusal(action)) is not None:
            return why.what
        if action in ("start", "start_kept", "add") and self.stopped:
            return "preflight says stop"
        if action in STARTS and (self._findings is None or self._waits):
            return "preflight is still at work" if self._findings is None else READING_PAST
        if action in ("force", "leave_out") and not self.stopped:
            return "preflight stops nothing"
        if action == "leave_out" and self._without is None:
            return why_not_without(self._findings or ())
        return ""

    @work(exclusive=True, group="preflight", description="preflight of the hosts of the plan")
    async def check(self) -> None:
        try:
            workspace = self._session.workspace
            findings = await workspace.preflight(self._plan, self._progress)
        except DlperfError as error:
            self._say(problem(error))
            return
        self._hosts = self._hosts_now.of(self._session.viewed)
        self._away = unreachable(self._plan, self._hosts)
        self._show(self._by_now(findings))

    def _progress(self, line: str) -> None:
        self._say(Text(line, MUTED))

    def _show(self, findings: Sequence[Finding]) -> None:
        self._findings = findings
        text = Text(end="")
        self._without = None
        if self._refused is not None:
            text.append(f"{self._beside(self._refused)}\n\n", WARN)
        elif self.stopped:  # what the keys do before what is found: a key works where it is read
            without = self._session.workspace.without_stopped(self._plan, findings)
            self._without = without and (self._asked.timed(without) or without)
            text.append_text(self._keys())
        text.append_text(checklist_text(self._plan, findings, self._away))
        self.query_one("#plan", Static).update(self._totals(self._plan, findings))
        self._say(text)
        if (matters := self._matters(findings)) != self._mattered:
            self._mattered = matters
            self.sight.renew()
        self.refresh_bindings()

    def _matters(self, findings: Sequence[Finding]) -> object:
        """What a key would be typed in spite of, or to: another run of ours on a host is nothing
        new."""
        live = self._session.live
        ours = {host for run in live.runs for host in run.hosts} if live else set()
        told = [
            (one.host, one.what)
            for one in findings
            if one.level == "stop" or (one.level == "warn" and one.host not in ours)
        ]
        refusals = [why and why.what for why in map(self._refusal, ("start", "start_kept", "add"))]
        return told, self._without, refusals, self._away

    def _beside(self, refused: DlperfError) -> str:
        """What can be done with the plan though no campaign can be started here."""
        not_added = self._refusal("add")
        adds = f"A adds {self._session.what_is_added(self._plan)}"
        ways = {adds: not_added is None, BESIDE: self._refusal("start_kept") is None}
        told = [] if self.stopped else [words for words, so in ways.items() if so]
        adds_at_all = self._session.at_work and not self._session.readonly
        why = f". A cannot add these to it: {not_added.what}" if not_added and adds_at_all else ""
        if not told:
            return f"nothing starts from here: {refused}{why}"
        return f"{refused.what}{why}. {'; '.join(told)}"

    def _keys(self) -> Text:
        held = host_states(self._plan, self._hosts, ())
        return stopped_text(self._plan, self._without, held, reading=self._reading)

    def _totals(self, plan: Plan, findings: Sequence[Finding] | None = None) -> Hanging:
        states = host_states(plan, self._hosts, findings)
        text = totals_text(
            plan,
            states,
            host_states(plan, self._hosts),
            reading=self._reading,
            told=self._hosts_now.not_counted,
            alone=able_alone(plan, self._hosts, findings),
        )
        if self._why and not self.stopped:  # which decides alone
            text.append(f"not started at once: {self._why}\n", MUTED)
        return Hanging(text)

    def _say(self, text: Text) -> None:
        text.rstrip()
        self.query_one("#checks", Static).update(Hanging(text))

    def action_start(self) -> None:
        self._go(self._plan, self._findings or (), force=False)

    def action_add(self) -> None:
        try:
            self._session.add(self._plan, self._findings or ())
        except DlperfError as error:
            self._say(problem(error))
        else:
            self.finish("started")

    def action_start_kept(self) -> None:
        self._go(self._plan, self._findings or (), force=False, kept=True)

    def action_leave_out(self) -> None:
        if self._without is None:
            return
        workspace = self._session.workspace
        there, told = {host.name for host in self._without.hosts}, workspace.foreseen(self._plan)
        kept = self._without.profile_names
        found = [one for one in self._findings or () if one.host in there and one.of_any(kept)]
        found += [one for one in self._findings or () if not one.host and one not in told]
        found += [one for one in workspace.foreseen(self._without) if not one.host]  # not of all
        self._go(self._without, found, force=False)

    def action_force(self) -> None:
        self._go(self._plan, self._findings or (), force=True)

    def action_dry_run(self) -> None:
        """On top of this, which is there again when that is left; Enter there starts it. Where
        preflight stops something it is of what goes on without that."""
        from tui.screens.dry_run import DryRunView  # noqa: PLC0415 - seldom needed

        plan, found = self._plan, self._findings or ()
        workspace = self._session.workspace
        if self._without is not None:
            plan, found = self._without, workspace.foreseen(self._without)
        usable, narrowed = usable_now(plan, self._hosts, found)
        try:
            runs = workspace.dry_run(usable)
        except DlperfError as error:
            self.post_message(Problem(error))
            return
        refused = "preflight says stop; Esc leads back to why" if self.stopped else ""
        if self._without is not None:
            refused = "preflight says stop; Esc, then x starts this"
        if self._refused is not None:
            refused = self._refused.what
        lines = [f"left out: {host}" for host in plan.left_out]
        of_used = workspace.renewed(usable, found, self._hosts)
        lines += host_lines(plan, self._hosts, found, narrowed, of_used)
        self.app.push_screen(DryRunView(usable, runs, lines, refused), self._after_dry_run)

    def _after_dry_run(self, answer: str | None) -> None:
        if answer == "start" and self.able("start"):
            self.action_start()

    @work(exclusive=True, group="start", description="start the campaign")
    async def _go(
        self, plan: Plan, findings: Sequence[Finding], *, force: bool, kept: bool = False
    ) -> None:
        self._starting, self._reading = True, False
        self.query_one("#plan", Static).update(self._totals(plan, () if force else findings))
        self._say(Text("starting …", MUTED))
        self.refresh_bindings()
        try:
            if kept:
                await self._start_kept(plan, findings)
            else:
                await self._session.start(plan, findings, force=force)
        except DlperfError as error:
            self._say(problem(error))
            return
        finally:
            self._starting = False
            self.refresh_bindings()
        self.finish("beside" if self.beside else "started")

    async def _start_kept(self, plan: Plan, findings: Sequence[Finding]) -> None:
        path, begun = await self._session.start_kept(plan, findings)
        if self._session.viewed_path != path:  # what is at work here stays in sight
            told = f"O shows {path.name}: a keeper (pid {begun.pid}) goes on with it"
            self.beside = "; ".join([told, *begun.notes])
