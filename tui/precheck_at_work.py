"""A precheck that the console has begun: it goes on while other pages are looked at."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from profiles.errors import DlperfError

if TYPE_CHECKING:
    from backends.precheck.measure import Progress
    from backends.precheck.plan_precheck import PrecheckPlan
    from backends.precheck.record import Precheck
    from tui.backend_protocols import Prechecks

MOST_LINES = 200


class PrecheckAtWork:
    """``lines``: what was said; ``found``: the result, once it is there."""

    def __init__(self, prechecks: Prechecks, plan: PrecheckPlan) -> None:
        self.plan = plan
        self.now: Progress | None = None
        self.lines: list[str] = []
        self.found: Precheck | None = None
        self.problem: DlperfError | None = None
        self.stopped = False
        self._task = asyncio.create_task(self._measure(prechecks), name="precheck")

    @property
    def over(self) -> bool:
        return self._task.done()

    async def _measure(self, prechecks: Prechecks) -> None:
        try:
            self.found = await prechecks.measure(self.plan, self._say)
        except DlperfError as error:
            self.problem = error
        except OSError as error:
            self.problem = DlperfError(f"cannot keep it: {error.strerror}")

    def _say(self, progress: Progress) -> None:
        before, self.now = self.now, progress
        if before is None or progress.stage != before.stage or not progress.total:
            self.lines.append(f"{progress.stage}: {progress.text}".rstrip(": "))
            del self.lines[:-MOST_LINES]

    async def stop(self) -> None:
        """End it; nothing of it is left on the hosts when this returns."""
        if not self.over and not self.stopped:  # once: a second time would end its tidying up
            self.stopped = True
            self._task.cancel()
        await self.ended()

    async def ended(self) -> None:
        """Wait until it is over, however it ends."""
        await asyncio.wait({self._task})  # who waits may go; that ends nothing
