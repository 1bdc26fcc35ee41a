"""From Enter on Matrix to a campaign: at once where nothing is to be asked, or after a look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from backends.campaign.measured_before import WAIT_S
from backends.hosts.preflight_finding import Level
from profiles.counted import first_of
from profiles.errors import DlperfError
from tui.matrix_request import Asked
from tui.messages import CampaignStarted, Mended, Problem, Said
from tui.plan_words import (
    host_lines,
    keys_line,
    objections,
    usable_now,
    why_not_short,
)
from tui.screens.front_screen import REFRESH_S
from tui.screens.page import Page

if TYPE_CHECKING:
    from backends.campaign.plan.plan import Plan
    from backends.campaign.plan.selection import Selection
    from backends.hosts.preflight_finding import Finding
    from tui.hosts_now import HostsNow
    from tui.matrix_marks import Marks
    from tui.screens.start_dialog import StartDialog

PROBING = "asking the hosts what they have …"


class Starting:
    """Starts what is ``asked`` on the page. ``hosts_now``: the page's. ``focused``: the marks that
    it shows; ``do``: says there what the operator waits for, or nothing any more."""

    def __init__(
        self,
        page: Page,
        asked: Asked,
        hosts_now: HostsNow,
        focused: Callable[[], Marks | None],
        do: Callable[[str], None],
    ) -> None:
        self._page = page
        self._session = page.session
        self._asked = asked
        self._hosts_now = hosts_now
        self._focused = focused
        self._show = do
        self._busy = False
        self._lacks: DlperfError | None = None  # what was told when a plan was asked for last
        self._stopped: Selection | None = None  # by preflight, when it was looked at last

    def stopped(self, plan: Plan) -> str:
        """That preflight stopped this one, after the dialog that told why was left; or empty."""
        return "preflight said stop" * (plan.selection == self._stopped)

    def start(self, read: Selection | None = None) -> None:
        """``read``: what Enter was typed for, where that was not this page."""
        if self._busy:
            return
        if not self._asked.begun:
            self._page.pull()  # what is marked by itself is so from the first one on
        if self._asked.undecided:
            self._do(PROBING)
            self._work(self._start_when_known(), "wait for marks, then start")
        elif (plan := self._ready_plan()) is not None:
            self._begin(plan, read)

    def dry_run(self) -> None:
        """Every run of what is marked, to read; Enter there starts it."""
        from tui.screens.dry_run import DryRunView  # noqa: PLC0415 - seldom needed

        plan = self._ready_plan()
        if plan is None:
            return
        found = self._session.workspace.foreseen(plan)
        hosts = self._hosts_now.of(self._session.viewed)
        usable, narrowed = usable_now(plan, hosts, found)
        try:
            runs = self._session.workspace.dry_run(usable)
        except DlperfError as error:
            self._page.post_message(Problem(error))
            return
        answered = partial(self._after_dry_run, plan.selection)
        of_used = self._session.workspace.foreseen(usable)
        unfit = host_lines(plan, hosts, found, narrowed, of_used, self._hosts_now.age_s)
        if any(finding.level == Level.STOP for finding in found):
            without = self._session.workspace.without_stopped(plan, found)
            unfit.append(keys_line(plan, without, usable))
        self._page.app.push_screen(DryRunView(usable, runs, unfit), answered)

    def _after_dry_run(self, read: Selection, answer: str | None) -> None:
        if answer == "start":
            self.start(read)

    def _ready_plan(self) -> Plan | None:
        """The plan of what is marked; says what is missing otherwise."""
        if self._lacks is not None:
            self._page.post_message(Mended(self._lacks))
            self._lacks = None
        try:
            return self._asked.ready()
        except DlperfError as error:
            self._lacks = error
            self._page.post_message(Problem(error))
            return None

    def _do(self, doing: str) -> None:
        self._busy = bool(doing)
        self._show(doing)

    def _work(self, doing: Coroutine[object, object, None], description: str) -> None:
        """Not exclusive: a second Enter would end a start half way."""
        self._page.run_worker(doing, group="start", description=description)

    async def _start_when_known(self) -> None:
        """Until there are marks, or every host has answered and there are none."""
        while self._asked.undecided:
            await asyncio.sleep(REFRESH_S)
            self._page.pull()
        self._do("")
        if (plan := self._ready_plan()) is not None:
            self._ask(plan)

    def _begin(self, plan: Plan, read: Selection | None) -> None:
        from tui.screens.start_dialog import CHECKING  # noqa: PLC0415 - seldom needed

        why = why_not_short(plan)
        if why is None and not self._in_sight(plan):
            why = self._out_of_sight(plan)
        elif why is None and plan.selection != read and not self._page.sight.seen:
            why = "Enter was typed before this plan was shown"
        if why is None and self._session.why_no_start is None:
            self._do(CHECKING)
            self._work(self._start_at_once(plan), "preflight of the hosts, then start")
        else:
            self._ask(plan, why=why or "")

    def _in_sight(self, plan: Plan) -> bool:
        """All of it is on the grid that is shown."""
        part = self._focused()
        return part is not None and all(p.profile is part.profile for p in plan.cases)

    def _out_of_sight(self, plan: Plan) -> str:
        """Of a plan that is not all in sight: what else would run, and how to leave that out."""
        part = self._focused()
        names = plan.profile_names
        others = [name for name in names if part is None or name != part.profile.name]
        if len(others) == len(names):
            where = "" if part is None else f", and the cursor is on {part.profile.name}"
            return f"what is marked is of {first_of(others, 3)}{where}"
        return (
            f"cases of {first_of(others, 3)} are marked, too, in grids of their own; "
            "Esc, then space on that profile, leaves them out"
        )

    def _ask(self, plan: Plan, findings: Sequence[Finding] | None = None, why: str = "") -> None:
        from tui.screens.start_dialog import StartDialog  # noqa: PLC0415 - as above

        dialog = StartDialog(self._session, self._hosts_now, plan, self._asked, findings, why)
        self._page.app.push_screen(dialog, partial(self._answered, dialog, plan.selection))

    def _answered(self, dialog: StartDialog, asked: Selection, answer: str | None) -> None:
        self._stopped = asked if dialog.stopped else None
        if answer == "started":
            self._page.post_message(CampaignStarted())
        elif answer == "beside":
            self._page.post_message(Said(dialog.beside))

    async def _start_at_once(self, plan: Plan) -> None:
        """Unless preflight objects, or something else is marked by the time that it is done."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S):
                    await self._asked.past_reading.up_to_date()
            plan = self._asked.timed(plan) or plan
            findings = await self._session.workspace.preflight(plan, self._do)
            now = self._asked.ready()
            if now.selection != plan.selection:
                return self._ask(now, why="the plan changed during preflight")
            if not self._in_sight(now):
                return self._ask(now, why=self._out_of_sight(now))
            if objections(findings):
                return self._ask(plan, findings)
            if (why := why_not_short(plan)) is not None:
                return self._ask(plan, findings, why)
            self._do("starting …")
            await self._session.start(plan, findings)
            self._page.post_message(CampaignStarted())
        except DlperfError as error:
            self._page.post_message(Problem(error))
        finally:
            self._do("")
