"""Precheck: what will run and for how long, how far it is, and who is named."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.widgets import Static

from backends.inventory.nodesets import ranked_nodeset
from profiles.errors import DlperfError
from tui.clipboard import hand_over
from tui.key_bindings import bindings
from tui.messages import Said
from tui.precheck_at_work import PrecheckAtWork
from tui.screens.dialogs import Answer, Choice, Dialog, Pages
from tui.screens.precheck_text import (
    at_work_text,
    ended_words,
    found_text,
    nothing_measured,
    precheck_plan_text,
    proposal,
    why_no_proposal,
)
from tui.session import Session
from tui.text import problem
from tui.theme import MUTED

if TYPE_CHECKING:
    from backends.precheck.plan_precheck import PrecheckPlan
    from backends.precheck.record import Precheck

LOOKING = "looking at the hosts …"
LOOK_EVERY_S = 0.25


def ends_with_the_console() -> Choice:
    """Whether to leave while one is at work."""
    return Choice(
        "Quit",
        "A precheck is at work, and ends with the console. What was measured is kept.",
        (Answer("q", "End it and quit", "quit"),),
    )


async def _see_out(app: App[str], session: Session, precheck: PrecheckAtWork) -> None:
    """Say how it ended where its dialog is closed, and ask its hosts anew."""
    await precheck.ended()
    closed = not any(isinstance(screen, PrecheckDialog) for screen in app.screen_stack)
    if closed and (said := ended_words(precheck)):
        app.post_message(Said(said, ended="Precheck"))
    await session.ask_after(precheck)


class PrecheckDialog(Dialog[None]):
    """While one is at work it is shown, and goes on when this is left; else the last one that was
    found, and what the next would do."""

    PANEL = "precheck"
    BINDINGS = bindings("precheck")
    AHEAD = Dialog.AHEAD | {"copy"}

    def __init__(self, session: Session) -> None:
        super().__init__("Precheck")
        self._session = session
        self._plan: PrecheckPlan | None = None
        self._last: Precheck | None = None
        self._shown: object = None

    def compose(self) -> ComposeResult:
        with self.box(wide=True), Pages():
            yield Static(Text(LOOKING, MUTED), id="precheck", markup=False)

    def on_mount(self) -> None:
        self.set_interval(LOOK_EVERY_S, self._pull)
        found = self._found
        if found is not None and nothing_measured(found.ranking):
            self.action_plan()
        elif self._at_work is not None:
            self._pull()
        else:
            self.look()

    @property
    def _at_work(self) -> PrecheckAtWork | None:
        return self._session.precheck

    @property
    def _found(self) -> Precheck | None:
        """What is shown, where it is a result."""
        work = self._at_work
        if work is not None:
            return work.found
        return self._last if self._shown == "last" else None

    def able(self, action: str) -> bool:
        work = self._at_work
        busy = work is not None and not work.over
        if action == "stop":
            return busy and work is not None and not work.stopped
        if action == "start":
            return not busy and self._shown == "plan" and not self._session.readonly
        if action == "plan":
            return not busy and (work is not None or self._shown == "last")
        if action == "last":
            return self._shown == "plan" and self._last is not None
        if action in ("copy", "use"):
            return bool(self._proposal() if action == "copy" else self._left())
        return True

    def not_now(self, action: str) -> str:
        """In the order in which the reasons would have to go."""
        if action in ("copy", "use") and self._found is not None:
            return why_no_proposal(self._found.ranking) or "no host is left"
        work = self._at_work
        if work is not None and not work.over:
            ends = "it is being stopped" if work.stopped else "a precheck is at work; x stops it"
            return "no result is shown yet" if action in ("copy", "use") else ends
        if action == "stop":
            return "no precheck is at work"
        if self._shown == "looking":
            return "the hosts are being looked at"
        if self._shown == "problem":
            return "it cannot be planned; what is shown says why"
        found = self._found is not None or self._last is not None
        return {
            "start": "a result is shown; p shows what another one would do",
            "plan": "what it would do is shown already",
            "last": "it is shown already" if found else "no precheck was made yet",
            **dict.fromkeys(
                ("copy", "use"), "a plan is shown, and no result; l shows the last one"
            ),
        }.get(action, "")

    def never(self, action: str) -> str:
        only_looks = self._session.readonly and action == "start"
        return "this console is read-only" if only_looks else ""

    @work(exclusive=True, group="precheck-plan", description="what a precheck would do")
    async def look(self) -> None:
        """Plan anew: who is free now, and what is installed there."""
        self._shown = "looking"
        self._say(Text(LOOKING, MUTED))
        prechecks = self._session.workspace.prechecks
        try:
            self._last = next(iter(await asyncio.to_thread(prechecks.latest, 1)), None)
            self._plan = await prechecks.plan("", probe=False)
        except DlperfError as error:
            self._shown = "problem"
            self._say(problem(error))
        else:
            self._shown = "plan"
            self._say(precheck_plan_text(self._plan))

    def _pull(self) -> None:
        work = self._at_work
        if work is None:
            return
        found = work.found
        if found is not None:
            if self._shown != "found":
                self._shown = "found"
                self._say(found_text(found))
            return
        state = (work.now, len(work.lines), work.stopped, work.over)
        if state != self._shown:
            self._shown = state
            text = at_work_text(work)
            if work.over and work.stopped:
                text = Text("stopped; what was measured is kept, marked as stopped", MUTED)
            self._say(text)

    def _say(self, text: Text) -> None:
        self.query_one("#precheck", Static).update(text)
        self.sight.renew()
        self.refresh_bindings()

    def _proposal(self) -> str:
        return "" if self._found is None else proposal(self._found.ranking)

    def _left(self) -> list[str]:
        """Of the hosts that the Matrix uses those that are not to be left out, of all where none
        is; empty where nobody is to be left out."""
        out = () if self._found is None else self._found.ranking.to_leave_out
        every = [host.name for host in self._session.hosts]
        used = set(self._session.hosts_to_use.split(",")).intersection(every) or {*every}
        left = [name for name in every if name not in out]
        return ([name for name in left if name in used] or left) if out else []

    # Keys --------------------------------------------------------------------------------------

    def action_start(self) -> None:
        if self._plan is not None:
            work = PrecheckAtWork(self._session.workspace.prechecks, self._plan)
            self._session.precheck = work
            self.app.run_worker(
                _see_out(self.app, self._session, work),
                group="after a precheck",
                description="say its end, and ask its hosts",
            )
            self._shown = None
            self._pull()

    def action_stop(self) -> None:
        self.stop()

    @work(group="precheck-stop", description="end the precheck")
    async def stop(self) -> None:
        if (work := self._at_work) is not None:
            await work.stop()

    def action_plan(self) -> None:
        self._session.precheck = None
        self.look()

    def action_last(self) -> None:
        if self._last is not None:
            self._shown = "last"
            self._say(found_text(self._last, self._session.now))

    def action_use(self) -> None:
        """As ``o`` of the Matrix would be answered."""
        if self._found is not None:
            names = self._left()
            self._session.hosts_to_use = ",".join(names)
            unjudged = [name for name in names if name not in self._found.ranking.keep]
            more = f", of which {ranked_nodeset(unjudged)} not judged" if unjudged else ""
            said = f"Matrix uses {ranked_nodeset(names)}{more}: o changes that"
            self.app.notify(said, markup=False)

    def action_copy(self) -> None:
        said = hand_over(self.app, self._proposal())
        self.app.notify(f"{said}: {self._proposal()}", markup=False)
