"""What happens in a live campaign: written to the journal, and added up, by its one writer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from backends import debug
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, Journal, last_time
from backends.campaign.record.state import CampaignState, apply
from backends.engines.engine import Held

COMMIT_EVERY_S = 2.0
DISK_FULL_RETRY_S = 1.0


_WISHES = (ev.RunPaused, ev.RunUnpaused, ev.CancelAsked, ev.RunPlanned)
"""What nothing but the journal remembers."""


class Recorder:
    """The campaign's state, and the journal that it is on disk.

    Parameters
    ----------
    directory: the campaign's. state: what its journal says.
    owned: see :class:`~backends.campaign.record.journal.Journal`.
    log: is told of each event.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        directory: Path,
        state: CampaignState,
        *,
        owned: Callable[[], bool],
        log: logging.Logger | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._log = log or debug.log()
        self.state = state
        self.revision = 0  # grows with every event
        self.result_due = asyncio.Event()  # set when a run has ended
        self._asked = asyncio.Event()
        self._path = directory / FILE_NAME
        self.left_at = last_time(self._path)
        """When the last happened that was written before; None where nothing was."""
        self._owned = owned
        self._journal = Journal(self._path, owned=owned)

    @property
    def problem(self) -> str:
        """Why the journal cannot be written at the moment; empty when it can."""
        return self._journal.problem

    def note(self, event: ev.Event) -> None:
        """Apply now, write with the next batch."""
        if not isinstance(event, ev.ReadingsSampled):
            self._log.info("%s", _told(event))
        self.state = apply(self.state, event)
        self.revision += 1
        self._journal.append(event)
        if isinstance(event, _WISHES):
            self._asked.set()

    def judge(self, judged: Callable[[CampaignState], CampaignState]) -> None:
        """Have the state say what is known besides; no line of the journal does."""
        self.state = judged(self.state)
        self.revision += 1

    async def record(self, event: ev.Event) -> bool:
        """Apply now, return when it is on disk; False: the disk is full, it is kept until then."""
        self.note(event)
        written = await self._journal.commit()
        if isinstance(event, ev.RunSucceeded | ev.RunFailed | ev.RunCancelled):
            self.result_due.set()
        return written

    async def commit(self) -> bool:
        """Write what is queued; see :meth:`~backends.campaign.record.journal.Journal.commit`."""
        return await self._journal.commit()

    async def written(self) -> None:
        """Return when all that happened is on disk, however long that takes."""
        while True:
            if await self._journal.commit():
                return
            await asyncio.sleep(DISK_FULL_RETRY_S)

    async def held(self, held: Held | None) -> None:
        """For an engine; see :data:`backends.engines.engine.Journal`."""
        event: ev.Event = ev.AllocationOver(t=self._clock())
        if held is not None:
            event = ev.AllocationAsked(t=self._clock(), **asdict(held))
        self.note(event)
        await self.written()

    async def keep(self) -> None:
        """Write what is queued now and then, what somebody asked for at once; until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COMMIT_EVERY_S):
                    await self._asked.wait()
            self._asked.clear()
            await self._journal.commit()

    def reopen(self) -> None:
        """Write again after :meth:`close`."""
        self._journal = Journal(self._path, owned=self._owned)

    def close(self) -> None:
        self._journal.close()


_WORTH_TELLING = (
    *("run_id", "host", "hosts", "job_id", "devices", "port", "attempt", "retry_of", "not_before"),
    *("next_id", "lost", "by", "reason", "category", "exit_status", "retry", "cleanup", "text"),
    *("throughput", "readings", "nodes", "limit_s"),
)
"""Fields of events; the commands are not among them: those may carry what is secret."""


def _told(event: ev.Event) -> str:
    found = ((name, getattr(event, name, None)) for name in _WORTH_TELLING)
    words = [f"{name}={value}" for name, value in found if value or value is False]
    return " ".join([type(event).__name__, *words])
