"""One run as the journal tells it: its state, what it measured, why it ended."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import UNKNOWN, Cleanup
from backends.campaign.record.run_state import RunState
from profiles.format.case import Case
from profiles.scalars import Scalar
from profiles.throughput.rank_times import RankTime
from profiles.throughput.steady import Disturbance

if TYPE_CHECKING:
    from backends.campaign.record.event_values import JournaledReading
    from backends.hangs.diagnosis import Diagnosis
    from backends.hangs.slow_rank import SlowRank
    from backends.hosts.preflight_finding import Bearing
    from backends.hosts.telemetry_summary import Telemetry

SERIES_POINTS = 512
LogStamp = tuple[int, float, str]
"""Of a raw log: bytes, when it was written by its file system, SHA-256."""
TOLD_LATE_S = 1.0
"""Within this what was told of a run as it came agrees with how long it ran on its hosts."""


LEFT, SKIPPED, NOT_BEGUN = "left", "skipped", "not begun"
ENDS = ("succeeded", "failed", LEFT, NOT_BEGUN, "cancelled", SKIPPED)
"""All of :attr:`RunRecord.ended_as`. *left*: it went with the demo that had its hosts; in the
journal it has failed."""
MISSING = "missing; "
MISSING_BESIDE = f"of its other hosts {MISSING}"
"""Why a log does not give a figure: it is gone; or some beside it are."""


@dataclass(frozen=True, slots=True)
class Series:
    """Fewer than 2 × SERIES_POINTS readings of a run, evenly thinned: every ``stride``-th.

    ``times``: seconds since the epoch. ``values``: samples/s. ``steps``: infinite where unknown. 24
    bytes a point, never changed.
    """

    stride: int = 1
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    steps: array[float] = field(default_factory=lambda: array("d"))

    @property
    def points(self) -> Iterator[tuple[float, float]]:
        return zip(self.times, self.values, strict=True)

    def __len__(self) -> int:
        return len(self.times)

    def extended(
        self, start: int, count: int, stride: int, points: Sequence[JournaledReading]
    ) -> Series:
        """With ``count`` more readings from number ``start`` on, of which those whose number is a
        multiple of ``stride`` are given; any batching gives the same series."""
        thinned = max(self.stride, stride, stride_of(start + count))
        first = -start % stride  # … of the given ones, counted from start
        skip = (-start % thinned - first) // stride
        kept = points[skip :: thinned // stride]
        own = slice(None, None, thinned // self.stride)
        return Series(
            thinned,
            self.times[own] + array("d", [point[2] for point in kept]),
            self.values[own] + array("d", [point[1] for point in kept]),
            self.steps[own] + array("d", [inf if point[0] is None else point[0] for point in kept]),
        )


def stride_of(count: int) -> int:
    """Every how many-th of so many readings a series keeps: a power of two."""
    stride = 1
    while -(-count // stride) >= 2 * SERIES_POINTS:
        stride *= 2
    return stride


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything known of one run. Times are seconds since the epoch on the login node."""

    run_id: str
    profile: str
    framework: str
    model: str
    unit: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    repeat: int
    attempt: int
    imported: bool = False
    profiled: bool = False  # no repeat: it tells where the time goes, and counts for nothing
    workload: str = ""  # what published figures call it, and its precision
    arithmetic: str = ""
    expected_s: float = 0.0  # 0: nobody says
    timed: bool = False  # that is what it took before, else it is what its profile says
    settle_s: float = 0.0  # for how long its hosts rest afterwards
    state: RunState = RunState.PLANNED
    planned_at: float = 0.0
    not_before: float = 0.0
    retry_of: str = ""
    paused_at: float | None = None  # it is not started until somebody says so
    paused_by: str = ""
    pauses: tuple[tuple[float, str], ...] = ()  # when and by whom; "": it might start again
    hosts: tuple[str, ...] = ()
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    placement: str = ""
    job_id: str = ""
    commands: tuple[str, ...] = ()
    port: int = 0
    log: str = ""
    boot_ids: tuple[str, ...] = ()
    started_at: float | None = None
    launched_at: float | None = None
    over_at: float | None = None  # since when nothing of it is at work any more, told as ended_at
    ended_at: float | None = None  # on its hosts, where they told; else when that was learnt
    reading_count: int = 0
    warmup: int = 0  # readings before the window, as far as is known
    window_known: bool = True  # else that is told at its end, or nobody told it
    sums_up: bool = False  # its log is to sum the figure up, and no window is to count
    last_reading_at: float | None = None
    last_step: float | None = None
    last_throughput: float | None = None
    series: Series = field(default_factory=Series)
    lost_hosts: Mapping[str, tuple[float, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    throughput: float | None = None
    used: int = 0
    window: str = ""
    statistic: str = ""
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    gpu_memory_mib: int | None = None
    warnings: tuple[str, ...] = ()
    log_changed: tuple[str, ...] = ()  # those of them that tell of a log which was not the host's
    log_stamps: tuple[LogStamp, ...] = ()  # rank 0's first; none in older journals
    log_differs: tuple[tuple[str, str], ...] = ()  # logs, and why not its figure; after a look
    doubts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    fingerprint: str = ""
    steady: tuple[Disturbance, ...] | None = None
    ranks: tuple[RankTime, ...] = ()
    telemetry: Telemetry | None = None
    slow_ranks: tuple[SlowRank, ...] | None = None  # None: nobody could tell
    diagnoses: tuple[tuple[float, Diagnosis], ...] = ()  # each time that its hosts were asked
    reason: str = ""
    evidence: tuple[str, ...] = ()
    category: str = ""
    failed_host: str = ""
    exit_status: int | None = None
    retry: str = "never"
    cleanup: Cleanup = UNKNOWN

    @property
    def case(self) -> Case:
        return Case(self.profile, self.nodes, self.gpus_per_node, self.parameters)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Of the last time that its hosts were asked."""
        return self.diagnoses[-1][1] if self.diagnoses else None

    @property
    def diagnosed_at(self) -> float | None:
        """When its hosts were asked last."""
        return self.diagnoses[-1][0] if self.diagnoses else None

    def devices_on(self, host: str) -> tuple[int, ...]:
        """Their indices; journals of old versions name none, and mean the first."""
        return self.devices.get(host, tuple(range(self.gpus_per_node)))

    @property
    def pausable(self) -> bool:
        """It has not started, and may."""
        return self.state.waits and self.paused_at is None

    @property
    def paused(self) -> bool:
        return self.state.waits and self.paused_at is not None

    @property
    def collecting(self) -> bool:
        """Its program has ended; its logs are fetched and compared, and it is measured."""
        return self.state is RunState.RUNNING and self.over_at is not None

    @property
    def skipped(self) -> bool:
        """It was cancelled before it had started."""
        return self.state is RunState.CANCELLED and self.started_at is None

    @property
    def in_vain(self) -> bool:
        """It failed without having been begun."""
        return self.state is RunState.FAILED and self.category == Cause.IN_VAIN

    @property
    def never_begun(self) -> bool:
        return self.skipped or self.in_vain

    @property
    def ended_as(self) -> str:
        """How it has ended, in the words of every list; empty where it has not."""
        if self.skipped:
            return SKIPPED
        if self.in_vain:
            return NOT_BEGUN
        if self.category == Cause.LEFT:
            return LEFT
        return str(self.state) if self.state.ended else ""

    @property
    def attempt_words(self) -> str:
        """ "attempt 2", by the number in its id; empty for the first."""
        return f"attempt {self.attempt}" if self.attempt > 1 else ""

    @property
    def label(self) -> str:
        """ "1n8g b128 #2 attempt 2": in a campaign of one profile."""
        return f"{self.case.label} {self.which} {self.attempt_words}".rstrip()

    @property
    def which(self) -> str:
        """ "#2": of the runs of its case."""
        return "profiled" if self.profiled else f"#{self.repeat}"

    @property
    def came_at(self) -> Sequence[float]:
        """When its readings came, of those that are kept. What came late, as over a connection that
        was lost meanwhile, was there when the run had ended on its hosts."""
        times, end = self.series.times, self.ended_at
        if end is None or not times or times[-1] <= end + TOLD_LATE_S:
            return times
        return array("d", (min(one, end) for one in times))

    def delay_s(self, now: float) -> float:
        """How long it is still to wait, ``now`` in seconds since the epoch; never longer than was
        meant when it was planned, wherever the clock was set since."""
        return max(0.0, min(self.not_before - now, self.not_before - self.planned_at))

    @property
    def slot(self) -> tuple[object, ...]:
        """The repeat, or the profiled run, that this run is an attempt at."""
        size = (self.profile, self.nodes, self.gpus_per_node, self.repeat, self.profiled)
        return (*size, *sorted(self.parameters.items()))


def concerns(bearing: Bearing, run: RunRecord) -> bool:
    """Whether a finding of that bearing is about the run."""
    return bearing.concerns(run.profile, run.hosts, run.devices, run.case.tag)


def avoided(run: RunRecord, runs: Mapping[str, RunRecord]) -> tuple[str, ...]:
    """Hosts that it is put on only where there are no others: the attempt before it failed there.
    ``runs``: of the campaign, by id."""
    before = runs.get(run.retry_of)
    return (before.failed_host,) if before is not None and before.failed_host else ()


class NewReadings:
    """A run's readings that are not in its record yet. By number: what it has is skipped."""

    __slots__ = (
        "_all",
        "_count",
        "_last",
        "_run",
        "_series",
        "_sums_up",
        "_warmup",
        "_window_known",
    )

    def __init__(self, run: RunRecord) -> None:
        self._run = run
        self._count = run.reading_count
        self._warmup = run.warmup
        self._window_known = run.window_known
        self._sums_up = run.sums_up
        self._series = run.series
        self._all: list[JournaledReading] = []  # the last of the count, not in the series yet
        self._last: JournaledReading | None = None

    def take(self, event: ev.ReadingsArrived | ev.ReadingsSampled) -> None:
        count = len(event.readings) if isinstance(event, ev.ReadingsArrived) else event.count
        known = self._count - event.first
        if not 0 <= known < count:
            return
        if isinstance(event, ev.ReadingsArrived):
            self._all.extend(event.readings[known:])
            self._last = event.readings[-1]
        elif event.stride == 1:  # these are all, too
            self._all.extend(event.points[known:])
            self._last = event.last[-1]
        else:
            self._settle()
            beyond = -event.first % event.stride
            points = event.points[max(0, -((beyond - known) // event.stride)) :]
            self._series = self._series.extended(self._count, count - known, event.stride, points)
            self._last = event.last[-1] if event.last else self._last
        self._count = event.first + count
        self._window_known = isinstance(event, ev.ReadingsArrived) or not event.told_at_end
        self._sums_up = isinstance(event, ev.ReadingsSampled) and event.summed_up
        self._warmup = event.warmup if self._window_known else 0

    def _settle(self) -> None:
        if self._all:
            start = self._count - len(self._all)
            self._series = self._series.extended(start, len(self._all), 1, self._all)
            self._all = []

    def added(self) -> RunRecord:
        if self._count == self._run.reading_count:
            return self._run
        self._settle()
        before = self._run.last_throughput, self._run.last_reading_at
        step, value, came = self._last or (None, *before)
        return replace(
            self._run,
            reading_count=self._count,
            warmup=self._warmup,
            window_known=self._window_known,
            sums_up=self._sums_up,
            last_step=step,
            last_throughput=value,
            last_reading_at=came,
            series=self._series,
        )
