"""Rank 0's log as readings in the journal: parsed as bytes come, thinned, sent in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_record import RunRecord, stride_of
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.logs.readings import Readings
from profiles.throughput.all_node_logs import with_all_logs
from profiles.throughput.measure_run import Measurement, global_throughput, measure_run
from profiles.throughput.run_facts import Facts
from profiles.throughput.tally import Tally
from profiles.throughput.window import warm_up

if TYPE_CHECKING:
    from backends.campaign.record.event_values import JournaledReading

EVERY_S = 0.2  # at most


class ReadingFeed:
    """Parses a log and hands its readings on. What the journal has from before is left out.

    All readings are measured; the journal gets evenly thinned ones and their exact number.

    ``came``: told when readings came, ones that the journal has or not.
    """

    def __init__(
        self,
        run: RunRecord,
        profile: Profile,
        recorder: Recorder,
        clock: Callable[[], float],
        came: Callable[[], None],
    ) -> None:
        self._run = run
        self._case = run.case
        self._profile = profile
        self._recorder = recorder
        self._clock = clock
        self._came = came
        self._sent = run.reading_count
        self._warmup = run.warmup
        self._new = asyncio.Event()  # set before pump waits for it, or on the event loop
        self._begin()

    def _begin(self) -> None:
        self.parser = LogParser(self._profile, self._case, keep=False)
        self._tally = Tally(self.parser.rule)
        self._points: list[tuple[int, JournaledReading]] = []
        self.last: JournaledReading | None = None
        """The last reading; None before the first."""
        self.untold_since: float | None = None
        """When the first came that was not sent yet; None: all were."""

    @property
    def count(self) -> int:
        """Readings of the log so far."""
        return self._tally.count

    def take(self, data: bytes) -> None:
        self._note(self.parser.feed(data))

    def finish(self) -> None:
        """The log has ended."""
        self._note(self.parser.finish())
        self.send()

    def measured(self, logs: Sequence[Path]) -> Measurement:
        """What the whole log, after its end, comes to; ``logs``: of all hosts, on this disk."""
        measured = measure_run(self._profile, self._case, self.parser, self._tally)
        return with_all_logs(self._profile, self._case, measured, logs, profiled=self._run.profiled)

    def restart(self, why: str) -> None:
        """The log is read anew from its first byte; what was sent of it does not count."""
        self._begin()
        self._sent = self._warmup = 0
        self._recorder.note(ev.ReadingsRestarted(t=self._clock(), run_id=self._run.run_id, why=why))

    def _note(self, readings: Readings) -> None:
        if not readings:
            return
        self._tally.take(readings)
        now = round(self._clock(), 3)
        self._came()
        self._new.set()
        facts = Facts(self._case, self.parser.stated, self._profile.measure.computed)
        self.last = self._journaled(readings, readings.stop - 1, facts, now)
        new = readings[max(0, self._sent - readings.start) :]
        if not new:
            return
        if self.untold_since is None:
            self.untold_since = now
        self._warmup = warm_up(self.parser.rule.window, new, self._warmup)
        stride = stride_of(new.stop)
        self._points = [point for point in self._points if point[0] % stride == 0]
        first = new.start + -new.start % stride
        self._points += [
            (number, self._journaled(new, number, facts, now))
            for number in range(first, new.stop, stride)
        ]

    def _journaled(
        self, readings: Readings, number: int, facts: Facts, now: float
    ) -> JournaledReading:
        reading = readings[number - readings.start]
        value = round(global_throughput(self.parser.rule, self._case, reading.value, facts), 3)
        step = reading.step
        # Short numbers: a journal is read again and again.
        return int(step) if step is not None and step.is_integer() else step, value, now

    async def pump(self) -> None:
        """Send readings soon after they came, several at once; until cancelled."""
        while True:
            await self._new.wait()
            self._new.clear()
            self.send()
            await asyncio.sleep(EVERY_S)

    def send(self) -> None:
        if self.count <= self._sent or self.last is None:
            return
        points, self._points = self._points, []
        self.untold_since = None
        self._recorder.note(
            ev.ReadingsSampled(
                t=self.last[2],
                run_id=self._run.run_id,
                first=self._sent,
                count=self.count - self._sent,
                stride=stride_of(self.count),
                points=tuple(reading for _, reading in points),
                last=(self.last,),
                warmup=self._warmup,
                told_at_end=self.parser.rule.window.last is not None,
                summed_up=bool(self.parser.rule.summary),
                offset=self.parser.offset,
            )
        )
        self._sent = self.count
