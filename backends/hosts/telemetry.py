"""What the GPUs do while a run trains: one line per GPU and second, from ``nvidia-smi -l 1``.

The stream of :data:`TELEMETRY_COMMAND` is kept byte for byte as ``telemetry/<run id>.<host>.csv``;
:class:`TelemetryParser` reads it, live or from the file. Hosts without GPUs have none.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from backends.hosts.facts import HostFacts
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


@dataclass(frozen=True, slots=True)
class GpuTelemetry:
    """One GPU over a run: the peak of what can run out, the mean of what fluctuates."""

    gpu_index: int
    samples: int
    peak_memory_mib: int | None
    mean_utilization_pct: float | None
    mean_power_w: float | None
    mean_sm_clock_mhz: float | None
    peak_temperature_c: int | None


def telemetry_command(facts: HostFacts) -> str | None:
    """What to stream while a run is on the host; None where it has no GPUs to watch.

    It ends within a second of its reader: nvidia-smi writes every second and dies of SIGPIPE.
    """
    return TELEMETRY_COMMAND if facts.gpus else None


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


def summarize(samples: Iterable[TelemetrySample]) -> tuple[GpuTelemetry, ...]:
    """Each GPU's peaks and means over ``samples``, by index."""
    by_gpu: dict[int, list[TelemetrySample]] = {}
    for sample in samples:
        by_gpu.setdefault(sample.gpu_index, []).append(sample)
    return tuple(_summary(index, by_gpu[index]) for index in sorted(by_gpu))


def _summary(index: int, samples: list[TelemetrySample]) -> GpuTelemetry:
    return GpuTelemetry(
        gpu_index=index,
        samples=len(samples),
        peak_memory_mib=max(_known(sample.memory_used_mib for sample in samples), default=None),
        mean_utilization_pct=_mean(sample.utilization_pct for sample in samples),
        mean_power_w=_mean(sample.power_w for sample in samples),
        mean_sm_clock_mhz=_mean(sample.sm_clock_mhz for sample in samples),
        peak_temperature_c=max(_known(sample.temperature_c for sample in samples), default=None),
    )


_T = TypeVar("_T")


def _known(values: Iterable[_T | None]) -> list[_T]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) / len(known) if known else None


def _seconds(timestamp: str) -> float | None:
    try:
        moment = datetime.strptime(timestamp, "%Y/%m/%d %H:%M:%S.%f")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp()
