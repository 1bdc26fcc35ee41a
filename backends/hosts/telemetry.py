"""What the GPUs do while a run trains: one line per GPU and second, from ``nvidia-smi -l 1``.

The stream of :data:`TELEMETRY_COMMAND` is kept byte for byte as ``telemetry/<run id>.<host>.csv``;
:class:`TelemetryParser` reads it, live or from the file. Hosts without GPUs have none.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from backends.hosts.nvidia import number, whole

TELEMETRY_COMMAND = (
    "exec nvidia-smi --query-gpu=timestamp,index,memory.used,utilization.gpu,power.draw,"
    "clocks.current.sm,temperature.gpu --format=csv -l 1"
)

_UNIT = re.compile(r"\s*\[[^\]]*\]$")
_MAX_LINE = 4096  # bytes; a longer one is not nvidia-smi's


@dataclass(frozen=True, slots=True)
class TelemetrySample:
    """One GPU at one moment; None where nvidia-smi says N/A.

    ``time_s``: the host's wall clock in its own time zone, so that only differences mean anything.
    """

    time_s: float | None
    gpu_index: int
    memory_used_mib: int | None
    utilization_pct: int | None
    power_w: float | None
    sm_clock_mhz: int | None
    temperature_c: int | None


class TelemetryParser:
    """Bytes in any chunking to samples; lines that are none (errors, a torn end) are counted."""

    def __init__(self) -> None:
        self.skipped = 0
        self._rest = b""
        self._columns: list[str] = []

    def feed(self, data: bytes) -> list[TelemetrySample]:
        """Samples of the lines that ``data`` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:_MAX_LINE]
        samples = []
        for line in lines:
            text = line[:_MAX_LINE].decode("utf-8", "replace").strip()
            sample = self._sample(text) if text else None
            if sample is not None:
                samples.append(sample)
            elif text and not self._is_header(text):
                self.skipped += 1
        return samples

    def _is_header(self, text: str) -> bool:
        cells = [_UNIT.sub("", cell) for cell in text.split(", ")]
        if "index" not in cells or "timestamp" not in cells:
            return False
        self._columns = cells
        return True

    def _sample(self, text: str) -> TelemetrySample | None:
        try:
            cells = next(csv.reader([text], skipinitialspace=True))
        except (csv.Error, StopIteration):
            return None
        if not self._columns or len(cells) != len(self._columns):
            return None
        row = dict(zip(self._columns, cells, strict=True))
        index = whole(row.get("index"))
        if index is None:
            return None
        return TelemetrySample(
            time_s=_seconds(row.get("timestamp", "")),
            gpu_index=index,
            memory_used_mib=whole(row.get("memory.used")),
            utilization_pct=whole(row.get("utilization.gpu")),
            power_w=number(row.get("power.draw")),
            sm_clock_mhz=whole(row.get("clocks.current.sm")),
            temperature_c=whole(row.get("temperature.gpu")),
        )


def _seconds(timestamp: str) -> float | None:
    try:
        moment = datetime.strptime(timestamp, "%Y/%m/%d %H:%M:%S.%f")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp()
