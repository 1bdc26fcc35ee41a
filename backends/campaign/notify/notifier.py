"""Tells an operator what happens in a campaign: beside the one writer of its journal, whoever that
is.

What is told is journaled first. Who is killed then, goes on without telling it again; and the
command, which was started in the moment after, does not end with us.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from backends.campaign.notify.command import run_command
from backends.campaign.notify.occasions import DISK_LOW, DISK_WELL, Occasion, occasions
from backends.campaign.notify.open_metrics import metrics_path, metrics_text
from backends.campaign.notify.results_so_far import ResultsSoFar
from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.inventory.notify_settings import NotifySettings
from backends.results.result_files import write_atomically
from backends.results.summary import Group

LOOK_S = 1.0
IDLE_LOOKS = 15
"""Looks without an event after which clocks and disks are looked at all the same."""
AT_ONCE = 4
"""Commands."""


class Notifier:
    """What of the campaign in ``path`` is told, by ``settings``.

    ``max_attempts``: of a run, after which its failure is final. ``free_bytes``: of the disk that
    a path is on.
    """

    def __init__(
        self,
        path: Path,
        recorder: Recorder,
        settings: NotifySettings,
        *,
        clock: Callable[[], float],
        max_attempts: int,
        free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        self._path = path
        self._recorder = recorder
        self._settings = settings
        self._clock = clock
        self._max_attempts = max_attempts
        self._free_bytes = free_bytes
        self._looked = -1
        self._results = ResultsSoFar()
        self._low = any(kind == "disk" for _, kind, _ in recorder.state.told.values())
        self._pending: set[str] = set()
        self._deliveries: set[asyncio.Task[None]] = set()
        self._starting: set[asyncio.Task[None] | None] = set()  # journaled, perhaps, and not begun
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._closing = False
        self._problems: set[str] = set()  # said once each

    async def keep(self) -> None:
        """Look now and then, until cancelled."""
        self._closing = False  # the campaign may have been taken up again
        idle = 0
        while True:
            idle = 0 if self._recorder.revision != self._looked else idle + 1
            if idle in (0, IDLE_LOOKS):
                idle = 0
                await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Tell what is new."""
        self._looked = self._recorder.revision
        state, now = self._recorder.state, self._clock()
        free = await asyncio.to_thread(self._free)
        groups = await asyncio.to_thread(self._results.of, state) if self._adds_up else ()
        due = await asyncio.to_thread(
            lambda: [
                one
                for one in occasions(
                    state,
                    self._settings.on,
                    groups,
                    now=now,
                    max_attempts=self._max_attempts,
                    disk_low=self._newly_low(free),
                )
                if one.key not in state.told
            ]
        )
        for one in due:
            if one.key not in self._pending:
                self._tell(one)
        await self._write_metrics(groups, free)

    @property
    def _adds_up(self) -> bool:
        """Something that is told needs the results so far."""
        return bool(self._settings.metrics) or not {"grade", "end"}.isdisjoint(self._settings.on)

    def _free(self) -> int | None:
        try:
            return self._free_bytes(self._path)
        except OSError:
            return None

    def _newly_low(self, free: int | None) -> int | None:
        """``free`` where it is too little, and was not at the last look."""
        before = self._low
        if free is not None:
            self._low = free < (DISK_WELL if before else DISK_LOW)
        return free if self._low and not before else None

    def _tell(self, one: Occasion) -> None:
        self._pending.add(one.key)
        task = asyncio.create_task(self._deliver(one), name=f"notify {one.key}")
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)

    async def _deliver(self, one: Occasion) -> None:
        """Journal that it is told, and tell it; what waits for its turn is not told yet."""
        async with self._turns:
            if self._closing:
                return
            now, task = self._clock(), asyncio.current_task()
            self._starting.add(task)
            problem = ""
            try:
                # Where the disk is full it is told all the same: that most wants telling.
                told = ev.Told(t=now, key=one.key, occasion=one.kind, text=one.text)
                await self._recorder.record(told)
                if self._settings.command:
                    document = one.to_json(self._recorder.state, self._path, now)
                    begun = partial(self._starting.discard, task)
                    problem = await run_command(self._settings.command, document, begun)
            finally:
                self._starting.discard(task)
        if problem:
            self._say(f"the command of [notify] {problem}")

    async def _write_metrics(self, groups: Sequence[Group], free: int | None) -> None:
        if not self._settings.metrics:
            return
        state, now = self._recorder.state, self._clock()
        path = metrics_path(self._settings.metrics, state.campaign)

        def write() -> None:
            write_atomically(path, metrics_text(state, groups, now=now, free_bytes=free))

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            self._say(f"cannot write {path}, the metrics of [notify]: {error.strerror}")

    def _say(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.add(problem)
            self._recorder.note(ev.Noted(t=self._clock(), text=problem))

    async def ended(self) -> None:
        """A last look, and return when all commands have ended; each has its limit of time."""
        await self.look()
        await asyncio.gather(*self._deliveries)

    async def close(self) -> None:
        """Begin nothing more, finish beginning what was; commands at work go on by themselves."""
        self._closing = True
        while starting := [task for task in self._starting if task is not None]:
            await asyncio.wait(starting, timeout=0.05)
        for task in self._deliveries:
            task.cancel()
        await asyncio.gather(*self._deliveries, return_exceptions=True)
