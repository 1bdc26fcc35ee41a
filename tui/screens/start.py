"""Before a start: what will run, what the checks on the hosts found, and one key to go."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from backends.campaign.plan.remarks import plan_remarks
from backends.campaign.plan.selection import Plan
from backends.hosts.finding import Finding
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tui.key_bindings import bindings
from tui.screens.dialogs import Dialog
from tui.session import Session
from tui.text import count, plain, problem
from tui.theme import BAD, GOOD, MUTED, WARN

CHECKING = "checking the hosts …"
SHORT_S = 60.0
"""A plan that takes no longer than this starts without a question when the checks find nothing."""

_LEVELS = {"ok": ("✓", GOOD), "warn": ("▲", WARN), "stop": ("✗", BAD)}


def plan_text(plan: Plan) -> Text:
    """The plan in a few lines."""
    text = Text(end="")
    by_profile: dict[str, list[str]] = {}
    rule = plan.selection.auto
    most = "" if rule is None else f" to {rule.max_repeats}"
    for planned in plan.cases:
        by_profile.setdefault(planned.profile.name, []).append(
            f"{planned.case.label} × {planned.repeats}{most}"
        )
    for name, cases in by_profile.items():
        text.append(f"{plain(name)}\n", "bold")
        shown = cases[:8]
        for words in shown:
            text.append(f"  {plain(words)}\n")
        if len(cases) > len(shown):
            text.append(f"  +{len(cases) - len(shown)} more\n", MUTED)
    hosts = ", ".join(plain(host.name) for host in plan.hosts[:8])
    more = f" +{len(plan.hosts) - 8} more" if len(plan.hosts) > 8 else ""
    text.append("\n")
    text.append(f"{count(plan.run_count, 'run')}{' first' if rule else ''}", "bold")
    if plan.profiled:
        text.append(f" + {len(plan.profiled)} profiled", "bold")
    if plan.expected_s is not None:
        text.append(f" · about {format_duration(plan.expected_s)}")
    text.append(f" · on {hosts}{more}\n", MUTED)
    for remark in plan_remarks(plan):
        text.append(f"▲ {plain(remark)}\n", WARN)
    return text


def findings_text(findings: Sequence[Finding]) -> Text:
    """What the checks found: stops first; what is fine only as a number."""
    text = Text(end="")
    fine = sum(finding.level == "ok" for finding in findings)
    for level in ("stop", "warn"):
        symbol, colour = _LEVELS[level]
        for finding in findings:
            if finding.level != level:
                continue
            text.append(f"{symbol} {level} ", colour)
            where = f"{plain(finding.host)}: " if finding.host else ""
            text.append(f"{where}{plain(finding.what)}\n")
            if finding.remedy:
                text.append(f"  → {plain(finding.remedy)}\n", MUTED)
    if fine or not findings:
        text.append(f"✓ {count(fine, 'check')} passed\n" if fine else "✓ nothing to object\n", GOOD)
    return text


def is_short(plan: Plan) -> bool:
    """So short that it needs no thought."""
    if plan.selection.auto is not None:  # nobody knows how long they will go on
        return False
    return plan.expected_s is not None and plan.expected_s <= SHORT_S


def objections(findings: Sequence[Finding]) -> list[Finding]:
    """What is worth a question; the load of the moment is not."""
    return [f for f in findings if f.level != "ok" and not f.passing]


def remarks(findings: Sequence[Finding]) -> list[str]:
    """What is worth a word, whether it holds the start back or not."""
    return [
        f"{plain(f.host)}: {plain(f.what)}" if f.host else plain(f.what)
        for f in findings
        if f.level != "ok"
    ]


class StartDialog(Dialog[str]):
    """The result is ``started`` or ``dry_run``; None when nothing was started."""

    PANEL = "start"
    BINDINGS = bindings("start")

    def __init__(
        self, session: Session, plan: Plan, findings: Sequence[Finding] | None = None
    ) -> None:
        """``findings``: of the checks, where they were made already."""
        super().__init__("Start")
        self.sight.uninvited = findings is not None
        self._session = session
        self._plan = plan
        self._findings = findings
        self._starting = False

    def compose(self) -> ComposeResult:
        with self.box(without=("force",)), VerticalScroll():
            yield Static(plan_text(self._plan), markup=False)
            yield Static(Text(CHECKING, MUTED), id="checks", markup=False)

    def on_mount(self) -> None:
        if self._findings is None:
            self.check()
        else:
            self._show(self._findings)

    @property
    def stopped(self) -> bool:
        """A check says that this cannot work."""
        return any(finding.level == "stop" for finding in self._findings or ())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._starting:  # there is no way back from here
            return False
        if action == "start" and (self._findings is None or self.stopped):
            return False
        if action == "force" and not self.stopped:
            return False
        return super().check_action(action, parameters)

    @work(exclusive=True, group="preflight", description="check the hosts of the plan")
    async def check(self) -> None:
        try:
            self._findings = await self._session.workspace.preflight(self._plan)
        except DlperfError as error:
            self._say(problem(error))
            return
        self._show(self._findings)

    def _show(self, findings: Sequence[Finding]) -> None:
        text = findings_text(findings)
        if self.stopped:
            text.append("\nF starts anyway; the campaign will say that it was forced", WARN)
        self._say(text)
        self.sight.renew()
        self.refresh_bindings()

    def _say(self, text: Text) -> None:
        self.query_one("#checks", Static).update(text)

    def action_start(self) -> None:
        self._go(force=False)

    def action_force(self) -> None:
        self._go(force=True)

    def action_dry_run(self) -> None:
        self.finish("dry_run")

    @work(exclusive=True, group="start", description="start the campaign")
    async def _go(self, *, force: bool) -> None:
        self._starting = True
        self._say(Text("starting …", MUTED))
        try:
            await self._session.start(self._plan, self._findings or (), force=force)
        except DlperfError as error:
            self._starting = False
            self._say(problem(error))
            return
        self.finish("started")
