"""One run as the journal tells it: its state, what it measured, why it ended."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from backends.campaign.record import events as ev
from backends.campaign.record.doubts import UNKNOWN, Cleanup
from profiles.format.case import Case
from profiles.scalars import Scalar
from profiles.throughput.steady import Disturbance

SERIES_POINTS = 512


class RunState(StrEnum):
    PLANNED = "planned"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def active(self) -> bool:
        """Something of the run may exist on its hosts."""
        return self in (RunState.STARTING, RunState.RUNNING, RunState.CANCELLING)

    @property
    def ended(self) -> bool:
        return self in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Series:
    """Fewer than 2 × SERIES_POINTS readings of a run, evenly thinned: every ``stride``-th.

    ``times``: seconds since the epoch. ``values``: samples/s. 16 bytes a point, never changed.
    """

    stride: int = 1
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))

    @property
    def points(self) -> Iterator[tuple[float, float]]:
        return zip(self.times, self.values, strict=True)

    def __len__(self) -> int:
        return len(self.times)

    def extended(self, start: int, readings: Sequence[ev.JournaledReading]) -> Series:
        """With the readings numbered ``start`` …; any batching gives the same series."""
        stride = self.stride
        kept = readings[-start % stride :: stride]
        times = self.times + array("d", [reading[2] for reading in kept])
        values = self.values + array("d", [reading[1] for reading in kept])
        while len(times) >= 2 * SERIES_POINTS:
            times, values = times[::2], values[::2]
            stride *= 2
        return Series(stride, times, values)


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
    state: RunState = RunState.PLANNED
    not_before: float = 0.0
    retry_of: str = ""
    hosts: tuple[str, ...] = ()
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    job_id: str = ""
    commands: tuple[str, ...] = ()
    port: int = 0
    log: str = ""
    boot_ids: tuple[str, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None
    reading_count: int = 0
    warmup: int = 0
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
    fingerprint: str = ""
    steady: tuple[Disturbance, ...] | None = None
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
    def slot(self) -> tuple[object, ...]:
        """The repeat that this run is an attempt at."""
        size = (self.profile, self.nodes, self.gpus_per_node, self.repeat)
        return (*size, *sorted(self.parameters.items()))


class NewReadings:
    """A run's readings that are not in its record yet. By index: what it has is skipped."""

    __slots__ = ("_count", "_new", "_run", "_warmup")

    def __init__(self, run: RunRecord) -> None:
        self._run = run
        self._count = run.reading_count
        self._warmup = run.warmup
        self._new: list[ev.JournaledReading] = []

    def take(self, event: ev.ReadingsArrived) -> None:
        if event.first == self._count:
            new = event.readings
        elif 0 <= event.first < self._count:
            new = event.readings[self._count - event.first :]
        else:
            return
        if new:
            self._new.extend(new)
            self._count += len(new)
            self._warmup = event.warmup

    def added(self) -> RunRecord:
        run = self._run
        if not self._new:
            return run
        step, value, _ = self._new[-1]
        return replace(
            run,
            reading_count=self._count,
            warmup=self._warmup,
            last_step=step,
            last_throughput=value,
            series=run.series.extended(run.reading_count, self._new),
        )
