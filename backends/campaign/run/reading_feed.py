"""Rank 0's log as readings in the journal: parsed as bytes come, sent in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.state import RunRecord
from profiles.format.profile import Profile
from profiles.logs.parser import LogParser, Reading
from profiles.throughput.measure import is_warmup, reading_throughput

EVERY_S = 0.5


class ReadingFeed:
    """Parses a log and hands its readings on. What the journal has from before is left out.

    ``came``: told when a reading came, one that the journal has or not.
    """

    def __init__(
        self,
        run: RunRecord,
        profile: Profile,
        recorder: Recorder,
        clock: Callable[[], float],
        came: Callable[[float], None],
    ) -> None:
        self._run = run
        self._case = run.case
        self._profile = profile
        self._recorder = recorder
        self._clock = clock
        self._came = came
        self.parser = LogParser(profile, self._case)
        self._unsent: list[ev.JournaledReading] = []
        self._sent = run.reading_count
        self._warmup = run.warmup

    def take(self, data: bytes) -> None:
        self._note(self.parser.feed(data))

    def finish(self) -> None:
        """The log has ended."""
        self._note(self.parser.finish())
        self.send()

    def restart(self) -> None:
        """The log is read anew from its first byte; what was sent of it does not count."""
        self.parser = LogParser(self._profile, self._case)
        self._unsent = []
        self._sent = self._warmup = 0
        self._recorder.note(ev.ReadingsRestarted(t=self._clock(), run_id=self._run.run_id))

    def _note(self, readings: Iterable[Reading]) -> None:
        now = round(self._clock(), 3)
        known = self._sent + len(self._unsent)
        for reading in readings:
            self._came(now)
            if reading.index < known:
                continue
            value = round(reading_throughput(self._profile, self._case, reading), 3)
            step = reading.step
            # Short numbers: a journal of a million readings is read in a second or two.
            whole = int(step) if step is not None and step.is_integer() else step
            self._unsent.append((whole, value, now))
            if is_warmup(self._profile, self._case, reading.index, step):
                self._warmup = max(self._warmup, reading.index + 1)

    async def pump(self) -> None:
        """Send now and then; until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            self.send()

    def send(self) -> None:
        if not self._unsent:
            return
        batch, self._unsent = tuple(self._unsent), []
        self._recorder.note(
            ev.ReadingsArrived(
                t=batch[-1][2],
                run_id=self._run.run_id,
                first=self._sent,
                readings=batch,
                warmup=self._warmup,
            )
        )
        self._sent += len(batch)
