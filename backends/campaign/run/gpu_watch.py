"""What the GPUs of a run's hosts do meanwhile: kept as CSV, its peak memory reported."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

from backends.campaign.folder.rawlog import RawLog
from backends.hosts.telemetry import TELEMETRY_COMMAND, TelemetryParser
from backends.transports.base import HostUnreachableError, Transport

AGAIN_AFTER_S = 5.0


class DiskFullError(Exception):
    """The local disk takes no telemetry at the moment."""


class TelemetryLog:
    """One host's telemetry during one run. Best effort: a run never waits for it, or fails by it.

    Parameters
    ----------
    log: the CSV file, a raw copy of what nvidia-smi prints; continued on resume.
    devices: the indices of the host's GPUs that the run uses.
    """

    def __init__(self, transport: Transport, log: RawLog, devices: Sequence[int]) -> None:
        self._transport = transport
        self._devices = frozenset(devices)
        self._parser = TelemetryParser()
        self._log = log
        self.peak_memory_mib: int | None = None

    async def follow(self) -> None:
        """Until cancelled."""
        try:
            await self._log.open(self._digest)
            await self._log.replay(self._digest)
            while True:
                # The run's own log tells of a lost host; a full disk may have room later.
                with contextlib.suppress(HostUnreachableError, DiskFullError):
                    await self._transport.stream(TELEMETRY_COMMAND, self._take)
                await asyncio.sleep(AGAIN_AFTER_S)
                await self._log.reopen()
        finally:
            await self._log.close()

    def _take(self, data: bytes) -> None:
        if self._log.problem or self._log.crowded:
            raise DiskFullError
        self._log.append(data)

    def _digest(self, data: bytes) -> None:
        for sample in self._parser.feed(data):
            if sample.gpu_index in self._devices and sample.memory_used_mib is not None:
                self.peak_memory_mib = max(self.peak_memory_mib or 0, sample.memory_used_mib)


def peak_memory_mib(telemetry: Iterable[TelemetryLog]) -> int | None:
    """Of all hosts of a run; None where nothing was measured."""
    peaks = [log.peak_memory_mib for log in telemetry if log.peak_memory_mib is not None]
    return max(peaks, default=None)
