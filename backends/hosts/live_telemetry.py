"""Telemetry as it comes: what each GPU and the host itself do, over time, for meters.

:mod:`backends.hosts.telemetry` reads a whole file when its run has ended, with pandas. This takes
the same lines while they are written, keeps a bounded part of each figure, and needs no pandas.
"""

from __future__ import annotations

import calendar
import math
import re
import threading
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import fmean

from backends.hosts.telemetry import COLUMNS, LONGEST_GAP_S
from backends.hosts.telemetry_summary import FEWEST_SAMPLES, POWER_IS_OF_S

MOST_POINTS = 1024
_LONGEST_LINE = 4096
_MOST_PENDING = 4096
_HOST_EVERY_S = 15.0
"""Lines of the host itself come every five seconds or more often, or a little later."""
_HOST_BEFORE_S = 6.0
"""So long after a line of the host's own its GPUs' next sample comes at most, whatever its zone."""
_ZONE_S = 900
"""Time zones differ by quarters of an hour; a host's clock and its GPUs' by seconds."""
_UNIT = re.compile(r"\s*\[[^\]]*\]$")


class Figure(StrEnum):
    """What is measured; of a GPU all but ``CPU_BUSY`` and ``LOAD``, which are the host's."""

    UTILIZATION = "utilization"  # percent of the time in which a kernel ran
    POWER = "power_w"
    CLOCK = "clock_mhz"  # of the SMs
    MEMORY = "memory_mib"
    TEMPERATURE = "temperature_c"
    CPU_BUSY = "cpu_busy"  # percent of all CPUs
    LOAD = "load1"


GPU_FIGURES = (
    Figure.UTILIZATION,
    Figure.POWER,
    Figure.CLOCK,
    Figure.MEMORY,
    Figure.TEMPERATURE,
)
HOST_FIGURES = (Figure.CPU_BUSY, Figure.LOAD)


class Curve:
    """One figure over time, in :data:`MOST_POINTS` points at most.

    Each is the mean of ``stride`` samples. ``gap_s``: two samples further apart than that say
    nothing about the time between them.
    """

    def __init__(self, gap_s: float = LONGEST_GAP_S) -> None:
        self.last: float | None = None
        self.top = 0.0
        """The largest sample."""
        self.stride = 1
        self._gap_s = gap_s
        self._points: list[tuple[float, float]] = []  # when the last of its samples was taken
        self._sum, self._number = 0.0, 0

    def add(self, time_s: float, value: float) -> None:
        self.last = value
        self.top = max(self.top, value)
        self._sum += value
        self._number += 1
        if self._number < self.stride:
            return
        self._points.append((time_s, self._sum / self._number))
        self._sum, self._number = 0.0, 0
        if len(self._points) >= MOST_POINTS:
            self._points = [
                (time, (before + after) / 2)
                for (_, before), (time, after) in zip(
                    self._points[::2], self._points[1::2], strict=True
                )
            ]
            self.stride *= 2

    @property
    def ends_at(self) -> float | None:
        return self._points[-1][0] if self._points else None

    def columns(
        self, start: float, end: float, number: int, ended: float = math.inf
    ) -> list[float | None]:
        """The mean in each of ``number`` equal parts of the time; None where nothing was seen.

        ``ended``: when what is looked at was over, of which no later sample tells: until then the
        last one before it stands.
        """
        if number < 1 or end <= start:
            return [None] * max(0, number)
        sums, counts = [0.0] * number, [0] * number
        per_s = number / (end - start)
        before: tuple[float, float] | None = None
        for time, value in self._points:
            column = math.floor((time - start) * per_s)
            if 0 <= column < number:
                sums[column] += value
                counts[column] += 1
            if before is not None and 0 < time - before[0] <= self._gap_s * self.stride:
                # A point stands for what led to it, as far as that is no other time's.
                since = max(before[0], ended) if time > ended else before[0]
                own = math.floor((since - start) * per_s) + 1
                first = max(0, math.floor((before[0] - start) * per_s) + 1)
                for between in range(first, min(column, number)):
                    sums[between] += value if between >= own else before[1]
                    counts[between] += 1
            before = (time, value)
        return [total / count if count else None for total, count in zip(sums, counts, strict=True)]

    def mean(self, start: float, end: float) -> float | None:
        """Of what was seen from one time to another, both included; None of too few samples."""
        seen = self._seen(start, end)
        return fmean(seen) if len(seen) * self.stride >= FEWEST_SAMPLES else None

    def mean_since(self, start: float, end: float) -> float | None:
        """Over the time after ``start``: a point stands for all since the one before it. None where
        there is none."""
        later = [(time, value) for time, value in self._points if start < time <= end]
        times = [start, *(time for time, _ in later)]
        lasted = [after - before for before, after in pairwise(times)]
        return fmean((value for _, value in later), lasted) if later else None

    def most(self, start: float, end: float) -> float | None:
        """Of all that was seen from one time to another the largest; None where nothing was."""
        return max(self._seen(start, end), default=None)

    def first(self, start: float, end: float) -> float | None:
        """When something was seen for the first time from one time to another."""
        return next((time for time, _ in self._points if start <= time <= end), None)

    def _seen(self, start: float, end: float) -> list[float]:
        return [value for time, value in self._points if start <= time <= end]


class LiveTelemetry:
    """One host's, fed with bytes in any portions. Whatever makes no sense is left out.

    Times are seconds since the epoch by the host's clock. Safe for one thread that feeds and one
    that looks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._rest = b""
        self._columns: list[str] = []
        self._zone_s: float | None = None
        self._newest: float | None = None  # of the GPUs' samples since the host's last line
        self._host_s: float | None = None  # of that line
        self._pending: list[tuple[float, int, list[tuple[Figure, float]]]] = []
        self._minute: tuple[str, float] = ("", 0.0)
        self._ticks: tuple[float, float] | None = None
        self._gpus: dict[int, dict[Figure, Curve]] = {}
        self._clocks_mhz: dict[int, float] = {}
        self._host: dict[Figure, Curve] = {}

    def clear(self) -> None:
        """The file was begun anew."""
        with self._lock:
            self._begin()

    def feed(self, data: bytes) -> None:
        with self._lock:
            *lines, rest = (self._rest + data).split(b"\n")
            self._rest = rest[-_LONGEST_LINE:]
            for line in lines:
                if len(line) < _LONGEST_LINE:
                    self._take(line.decode("ascii", "replace"))

    # What is there --------------------------------------------------------------------------------

    @property
    def gpus(self) -> tuple[int, ...]:
        """Indices of the GPUs that were seen."""
        with self._lock:
            return tuple(sorted(self._gpus))

    @property
    def seen(self) -> bool:
        with self._lock:
            return bool(self._gpus or self._host)

    @property
    def ends_at(self) -> float | None:
        """When the last sample was taken, by the host's clock; None: there is none."""
        with self._lock:
            curves = [c for own in (self._host, *self._gpus.values()) for c in own.values()]
            ends = (curve.ends_at for curve in curves)
            return max((end for end in ends if end is not None), default=None)

    def last(self, figure: Figure, gpu: int | None = None) -> float | None:
        """The newest sample; ``gpu``: None for the host's own figures."""
        with self._lock:
            return self._curve(figure, gpu).last

    def top(self, figure: Figure, gpu: int | None = None) -> float:
        """The largest sample; 0 where there is none."""
        with self._lock:
            return self._curve(figure, gpu).top

    def limit(self, figure: Figure, gpu: int | None = None) -> float:
        """The most that it can be, where the samples say so, as of the clock; else 0."""
        with self._lock:
            if figure is not Figure.CLOCK or gpu is None:
                return 0.0
            return self._clocks_mhz.get(gpu, 0.0)

    def columns(
        self,
        figure: Figure,
        start: float,
        end: float,
        number: int,
        gpu: int | None = None,
        ended: float = math.inf,
    ) -> list[float | None]:
        """Of one GPU, or of the host: see :meth:`Curve.columns`."""
        with self._lock:
            return self._curve(figure, gpu).columns(start, end, number, ended)

    def mean(
        self, figure: Figure, start: float, end: float, gpu: int | None = None
    ) -> float | None:
        """Of one GPU, or of the host, as :func:`backends.hosts.telemetry_summary.summarise` has it:
        power without what its first samples tell of before, where there are enough others, and how
        busy the CPUs were only between two looks at them."""
        with self._lock:
            curve = self._curve(figure, gpu)
            if figure is Figure.CPU_BUSY:
                looked = self._curve(Figure.LOAD, gpu).first(start, end)
                return None if looked is None else curve.mean_since(looked, end)
            later = curve.mean(start + POWER_IS_OF_S, end) if figure is Figure.POWER else None
            return curve.mean(start, end) if later is None else later

    def most(
        self, figure: Figure, start: float, end: float, gpu: int | None = None
    ) -> float | None:
        """Of one GPU, or of the host: see :meth:`Curve.most`."""
        with self._lock:
            return self._curve(figure, gpu).most(start, end)

    def _curve(self, figure: Figure, gpu: int | None) -> Curve:
        """An empty one of what was not seen."""
        curves = self._host if gpu is None else self._gpus.get(gpu, {})
        return curves.get(figure) or Curve()

    # Lines ----------------------------------------------------------------------------------------

    def _take(self, line: str) -> None:
        cells = [cell.strip() for cell in line.split(",")]
        if cells[0] == "host":
            self._take_host(cells)
        elif cells[0] == "timestamp":
            self._columns = [COLUMNS.get(_UNIT.sub("", cell), "") for cell in cells]
            self._zone_s = self._newest = None  # the stream began again, maybe hours later
        elif line[:1].isdigit():
            self._take_gpu(cells)

    def _take_gpu(self, cells: Sequence[str]) -> None:
        names = self._columns or list(COLUMNS.values())
        if len(cells) != len(names):
            return
        row = dict(zip(names, cells, strict=True))
        time_s, gpu = self._time(cells[0]), row.get("gpu", "")
        if time_s is None or not (gpu.isascii() and gpu.isdigit()):
            return
        told = ((figure, _number(row.get(figure))) for figure in GPU_FIGURES)
        known = [(figure, value) for figure, value in told if value is not None]
        sample = (time_s, int(gpu[:6]), known)
        if (most := _number(row.get("clock_max_mhz"))) is not None:
            self._clocks_mhz[sample[1]] = max(0.0, most)
        self._newest = time_s
        if self._zone_s is None and self._host_s is not None:
            zone_s = _zone(self._host_s, time_s)
            if abs(time_s + zone_s - self._host_s) <= _HOST_BEFORE_S:
                self._settle(zone_s)
        if self._zone_s is None:
            self._pending = [*self._pending[-_MOST_PENDING:], sample]
        else:
            self._place(sample, self._zone_s)

    def _place(self, sample: tuple[float, int, list[tuple[Figure, float]]], zone_s: float) -> None:
        time_s, gpu, known = sample
        curves = self._gpus.setdefault(gpu, {})
        for figure, value in known:
            curves.setdefault(figure, Curve()).add(time_s + zone_s, value)

    def _take_host(self, cells: Sequence[str]) -> None:
        numbers = [_number(cell) for cell in cells[1:6]]
        if len(numbers) < 5:
            return
        time_s, _, load, busy, total = numbers
        if time_s is None or load is None or busy is None or total is None:
            return
        self._set_zone(time_s)
        before, self._ticks = self._ticks, (busy, total)
        self._host.setdefault(Figure.LOAD, Curve(_HOST_EVERY_S)).add(time_s, load)
        if before is not None and total > before[1] and busy >= before[0]:
            share = min(1.0, (busy - before[0]) / (total - before[1]))
            self._host.setdefault(Figure.CPU_BUSY, Curve(_HOST_EVERY_S)).add(time_s, 100 * share)

    def _set_zone(self, now_s: float) -> None:
        """nvidia-smi tells the time without its zone, the host's own line in seconds."""
        if self._newest is not None:
            self._settle(_zone(now_s, self._newest))
        self._newest, self._host_s = None, now_s

    def _settle(self, zone_s: float) -> None:
        self._zone_s = zone_s
        for sample in self._pending:
            self._place(sample, zone_s)
        self._pending = []

    def _time(self, cell: str) -> float | None:
        """``2026/11/22 01:19:36.971`` as if it were UTC."""
        minute, seconds = cell[:16], _number(cell[17:])
        if seconds is None:
            return None
        if minute != self._minute[0]:
            try:
                date, _, clock = minute.partition(" ")
                words = (*date.split("/"), *clock.split(":"))
                year, month, day, hour, minutes = map(int, words)
                at = calendar.timegm((year, month, day, hour, minutes, 0))
            except ValueError:
                return None
            self._minute = (minute, float(at))
        return self._minute[1] + seconds


def _zone(host_s: float, gpu_s: float) -> float:
    """By two lines of about the same moment."""
    return float(round((host_s - gpu_s) / _ZONE_S) * _ZONE_S)


def _number(cell: str | None) -> float | None:
    """None for ``[N/A]`` and whatever else is no number."""
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
