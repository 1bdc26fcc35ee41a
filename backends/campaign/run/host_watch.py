"""What the hosts of a run and their GPUs do meanwhile: kept as CSV, and summed up at its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Mapping, Sequence
from itertools import chain

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.folder.regular_file import open_to_read
from backends.campaign.record.run_record import RunRecord
from backends.clocks import sleep
from backends.engines.engine import AllocatedHost
from backends.hosts.telemetry import read_telemetry, telemetry_command
from backends.hosts.telemetry_summary import Span, Telemetry, summarise
from backends.remote.wrapper_messages import RunStatus
from backends.transports.transport import HostUnreachableError
from profiles.throughput.steady import Disturbance, Shape

AGAIN_AFTER_S = 5.0
_NEVER = Span(math.inf, -math.inf)


class DiskFullError(Exception):
    """The local disk takes no telemetry at the moment."""


class HostWatch:
    """One host's telemetry during one run. Best effort: a run never waits for it, or fails by it.

    ``log``: the CSV file, a raw copy of what the host prints but for empty lines, which tell that
    it lives; continued on resume. ``shared``: others' runs watch the other devices.
    """

    def __init__(self, host: AllocatedHost, log: RawLog, *, shared: bool = False) -> None:
        self._host = host
        self._shared = shared
        self._log = log
        self._line_ended = False  # by what came last

    async def follow(self) -> None:
        """Until cancelled."""
        own = self._host.devices if self._shared else ()
        command = telemetry_command(gpus=self._host.has_gpus, devices=own)
        try:
            await self._log.open()
            while True:
                # The run's own log tells of a lost host; a full disk may have room later.
                with contextlib.suppress(HostUnreachableError, DiskFullError):
                    await self._host.transport.stream(command, self._take, spare=True)
                await sleep(AGAIN_AFTER_S)
                await self._log.reopen()
        finally:
            await self._log.close()

    def _take(self, data: bytes) -> None:
        if self._log.problem or self._log.crowded:
            raise DiskFullError
        if not (self._line_ended and data == b"\n"):
            self._log.append(data)
        self._line_ended = data.endswith(b"\n")

    def summary(
        self,
        trained: Span,
        slow: Mapping[int, Span],
        ran: Span,
        ends: Mapping[str, RunStatus | None],
    ) -> Telemetry:
        """Of what is in the file, if there is one; times are those of this machine. Blocking.

        ``ran``: from the run's launch to its end; ``ends``: by host what it said of that itself.
        """
        facts = self._host.snapshot.facts
        ahead = facts.certain_clock_offset_s if facts else 0.0
        if (fd := open_to_read(self._log.path)) is None:
            return Telemetry()
        with os.fdopen(fd, "rb") as file:
            seen = read_telemetry(file)
        return summarise(
            seen,
            self._host.name,
            self._host.devices if self._host.has_gpus else (),
            trained.later(ahead),
            {number: span.later(ahead) for number, span in slow.items()},
            _by_its_clock(ends.get(self._host.name)) or ran.later(ahead),
        )


def _by_its_clock(end: RunStatus | None) -> Span | None:
    if end is None or end.started_at is None or end.ended_at is None:
        return None
    return Span(end.started_at, end.ended_at)


async def seen_meanwhile(
    watches: Sequence[HostWatch],
    run: RunRecord,
    steady: Sequence[Disturbance],
    ends: Mapping[str, RunStatus | None],
) -> Telemetry:
    """What all hosts of a run tell, after its end; nothing of those that tell nothing.

    ``ends``: by host what it said of that.
    """
    ran = Span(run.launched_at or -math.inf, run.over_at or math.inf)
    trained = _between(run, 0, run.reading_count - 1)
    slow = {number: _slow_part(run, found) for number, found in enumerate(steady)}
    found = await asyncio.gather(
        *(asyncio.to_thread(watch.summary, trained, slow, ran, ends) for watch in watches),
        return_exceptions=True,
    )
    for error in found:
        if isinstance(error, BaseException):
            logging.getLogger(__name__).warning("no telemetry of %s: %r", run.run_id, error)
    known = [one for one in found if isinstance(one, Telemetry)]
    return Telemetry(
        tuple(chain.from_iterable(one.gpus for one in known)),
        tuple(chain.from_iterable(one.hosts for one in known)),
        tuple(chain.from_iterable(one.meanwhile for one in known)),
    )


def _between(run: RunRecord, first: int, last: int) -> Span:
    """From one reading to another, by their numbers, as exactly as the journal knows it."""
    times = run.series.times
    if not times:
        return _NEVER
    start, end = (times[min(max(0, n) // run.series.stride, len(times) - 1)] for n in (first, last))
    return Span(start, end)


def _slow_part(run: RunRecord, found: Disturbance) -> Span:
    """Where the run was slower than elsewhere."""
    end = run.reading_count - 1
    first, last = {
        Shape.WARM_UP: (0, found.reading),
        Shape.STEP: (found.reading, end),
        Shape.TREND: ((found.reading + end) // 2, end),
        Shape.STALLS: (found.reading - 1, found.reading + found.count * (found.every or 1)),
    }[found.shape]
    if found.size > 0 and found.shape in (Shape.STEP, Shape.TREND):
        first, last = 0, first
    return _between(run, first, last)
