"""What the GPUs of a run's hosts do meanwhile: kept as CSV, its peak memory reported."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.folder.rawlog import RawLog
from backends.hosts.telemetry import TELEMETRY_COMMAND, TelemetryParser
from backends.transports.base import HostUnreachableError, Transport

AGAIN_AFTER_S = 5.0


class TelemetryLog:
    """One host's telemetry during one run. Best effort: a run never waits for it, or fails by it.

    Parameters
    ----------
    path: the CSV file, a raw copy of what nvidia-smi prints; continued on resume.
    devices: the indices of the host's GPUs that the run uses.
    """

    def __init__(self, transport: Transport, path: Path, devices: Sequence[int]) -> None:
        self._transport = transport
        self._devices = frozenset(devices)
        self._parser = TelemetryParser()
        self._log = RawLog(path)
        self.peak_memory_mib: int | None = None
        for block in self._log.blocks():
            self._digest(block)

    async def follow(self) -> None:
        """Until cancelled."""
        try:
            while True:
                with contextlib.suppress(HostUnreachableError):  # the run's own log tells of it
                    await self._transport.stream(TELEMETRY_COMMAND, self._take)
                self._log.reopen()
                await asyncio.sleep(AGAIN_AFTER_S)
        finally:
            self._log.close()

    def _take(self, data: bytes) -> None:
        if self._log.problem:
            self._log.reopen()  # the disk was full; there may be room again
        self._digest(self._log.write(data))

    def _digest(self, data: bytes) -> None:
        for sample in self._parser.feed(data):
            if sample.gpu_index in self._devices and sample.memory_used_mib is not None:
                self.peak_memory_mib = max(self.peak_memory_mib or 0, sample.memory_used_mib)
