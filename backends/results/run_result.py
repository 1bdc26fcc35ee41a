"""One run as the results see it, whether it was measured here, simulated, or imported.

This module and :mod:`backends.results.statistics` load neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from types import MappingProxyType
from typing import TYPE_CHECKING

from backends.hosts.fingerprint import has_gpus
from backends.hosts.same_machine import by_machine
from profiles.format.case import GLOBAL_BATCH
from profiles.throughput.speed import is_speed

if TYPE_CHECKING:
    from backends.hangs.diagnosis import Diagnosis
    from backends.hangs.slow_rank import SlowRank
    from backends.hosts.telemetry_summary import Telemetry
    from profiles.scalars import Scalar
    from profiles.throughput.doubts import Doubts
    from profiles.throughput.rank_times import RankTime
    from profiles.throughput.steady import Disturbance

MEMORY_METRIC = "gpu_memory_mib"
"""By which a profile that prints the memory of its GPUs reports it."""
SUCCEEDED = "succeeded"
SUMMARY = "summary"
"""The statistic of a throughput that the log sums up itself."""
TOKENS = "tokens/s"
BANDWIDTH = "GB/s"
"""The unit of what a link or a collective does: more devices do not make it more, so that it has no
speedup, no efficiency, and no share of a device."""
COST_PER_HOUR = "cost_per_hour"
"""The metric of a run whose hosts all have a price: of an hour of its devices together."""
SKIPPED = "skipped: never started"
"""Of a run that was cancelled before it had started."""
NOT_RUN = "not run: "
"""Before the reason of a run that failed without having been begun, since that was in vain."""
ENDED = frozenset({"succeeded", "failed", "cancelled"})
"""States after which nothing more happens; a repeat counts in the n of "k of n" from then on."""


def _nothing() -> Mapping[str, float]:
    return MappingProxyType({})


def _no_devices() -> Mapping[str, tuple[int, ...]]:
    return MappingProxyType({})


def _no_doubts() -> Doubts:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RunResult:
    """One attempt at one repeat of one case.

    Parameters
    ----------
    throughput: global samples/s over the run's window; None where nothing was measured.
    unit: of the throughput, as the profile names it: ``images/s``, ``sequences/s`` …
    state: ``planned``, ``starting``, ``running``, ``cancelling``, ``succeeded``, ``failed`` or
        ``cancelled``. Only a succeeded run's throughput enters a statistic.
    boot_ids: of its hosts, in their order: two of one id are one machine; empty where that is not
        known.
    devices: the device indices on each host; placement: how they were chosen; job_id: of the
        queue that gave them, or empty.
    shared_with: the runs of its campaign that were on its host at the same time, on other devices.
    beside: hosts that are its machine by another name, where other runs of its campaign were at
        work at the same time.
    log: rank 0's log, relative to the campaign directory.
    gpu_memory_mib: the largest figure of any device of the run.
    fingerprint: names the environment (driver, GPU model, image …); equal text, equal environment;
        empty where it is unknown.
    used: readings in its window; None where that is not known. window_s: for how many seconds they
        came; speeds: theirs, thinned, in global samples/s; empty where they are no course of time.
    steady: what was not steady in the run's window; None where nobody could tell.
    telemetry: what its hosts and GPUs did meanwhile; None where nobody watched.
    trained_s: seconds from its first reading to its last, as they came; None where that is not
        known.
    started_at, ended_at: of its program, seconds since the epoch.
    simulated: replayed by the simulated cluster; imported: not run here but read from logs or
        entered by hand.
    forced: started although preflight said no; stops: to what, as far as it is about this run;
        warned: what preflight said that may change it.
    left_out: hosts that its campaign began without.
    profiled: not a repeat: it counts for nothing, and tells of its ranks where their time goes.
    stopped: why its case gets no further repeats, empty while that is open; None where a number of
        repeats was asked for.
    workload, arithmetic: what published figures call what was run, and its precision
        (:mod:`profiles.format.workload_section`); empty where that is not known.
    log_changed: those of the warnings that tell of a log which was cut, edited or replaced.
    log_differs: why its log does not give its figure today, as that was edited or removed after it
        ran; empty where it does, or nobody looked.
    doubts: those of the warnings after which the figure may be far off, by what they are about
        (:class:`profiles.throughput.doubts.Doubt`).
    paused_by, paused_at: who has it left out, since when in seconds since the epoch; None: nobody.
    slow_ranks: those that were slower than the others, for a time or to the end; None where nobody
        could tell.
    diagnosis, diagnosed_at: why it did not move, by its hosts, and when they were asked in seconds
        since the epoch; None: they were not.
    campaign: keeps the repeats of several campaigns apart when they are reported together.
    """

    run_id: str
    profile: str
    framework: str
    model: str
    case_tag: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    repeat: int
    attempt: int = 1
    state: str = SUCCEEDED
    throughput: float | None = None
    unit: str = "samples/s"
    reason: str = ""
    slow_ranks: tuple[SlowRank, ...] | None = None
    diagnosis: Diagnosis | None = None
    diagnosed_at: float | None = None
    hosts: tuple[str, ...] = ()
    boot_ids: tuple[str, ...] = ()
    devices: Mapping[str, tuple[int, ...]] = field(default_factory=_no_devices)
    placement: str = ""
    job_id: str = ""
    shared_with: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    log: str | None = None
    metrics: Mapping[str, float] = field(default_factory=_nothing)
    gpu_memory_mib: int | None = None
    window: str = ""
    statistic: str = ""
    readings: int = 0
    used: int | None = None
    window_s: float | None = None
    speeds: Sequence[float] = ()
    warnings: tuple[str, ...] = ()
    log_changed: tuple[str, ...] = ()
    log_differs: str = ""
    doubts: Doubts = field(default_factory=_no_doubts)
    fingerprint: str = ""
    steady: tuple[Disturbance, ...] | None = None
    telemetry: Telemetry | None = None
    trained_s: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    imported: bool = False
    simulated: bool = False
    forced: bool = False
    stops: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    profiled: bool = False
    ranks: tuple[RankTime, ...] = ()
    stopped: str | None = None
    workload: str = ""
    arithmetic: str = ""
    campaign: str = ""
    paused_by: str | None = None
    paused_at: float | None = None

    @property
    def gpus(self) -> int:
        """Devices of the run: GPUs, or slots where there are none."""
        return self.nodes * self.gpus_per_node

    @property
    def one_machine(self) -> tuple[tuple[str, ...], ...]:
        """Those of its hosts that are one machine under several names, as far as that is known: a
        machine each."""
        machines = by_machine(zip(self.hosts, self.boot_ids, strict=False))
        return tuple(tuple(names) for names in machines if len(names) > 1)

    @property
    def came_at_once(self) -> bool:
        """All readings that count came at one moment, at which they cannot all have been printed:
        when they were is not known."""
        return at_once(self.used, self.window_s, self.unit)

    @property
    def slot(self) -> tuple[object, ...]:
        """The repeat, or the profiled run, that this is an attempt at."""
        size = (self.profile, self.nodes, self.gpus_per_node, self.repeat, self.profiled)
        return (self.campaign, *size, *sorted(self.parameters.items()))

    @property
    def measured(self) -> float | None:
        """The throughput where it may enter a statistic: of a succeeded repeat, and a speed."""
        value = self.throughput
        if self.profiled or self.state != SUCCEEDED or value is None:
            return None
        return value if is_speed(value) else None

    @property
    def within_cv(self) -> float | None:
        """Of the speeds of its readings: the standard deviation over the mean."""
        return stdev(self.speeds) / fmean(self.speeds) if len(self.speeds) > 2 else None

    @property
    def steadiness(self) -> str | None:
        """``steady``, ``unsteady``, ``not_looked_at``; None of a run that was not measured."""
        if self.measured is None:
            return None
        if self.steady is None or self.unit == BANDWIDTH:
            return "not_looked_at"
        return "unsteady" if self.steady else "steady"

    @property
    def succeeded(self) -> bool:
        """Whether it counts in the k of "k of n": it was measured, or gives metrics alone, as a
        published accuracy does."""
        if self.measured is not None:
            return True
        return self.state == SUCCEEDED and self.throughput is None and bool(self.metrics)

    @property
    def skipped(self) -> bool:
        """It was cancelled before it had started."""
        return self.state == "cancelled" and self.started_at is None

    @property
    def never_begun(self) -> bool:
        """It was skipped, or failed since running it was in vain."""
        return self.skipped or (self.state == "failed" and self.reason.startswith(NOT_RUN))

    @property
    def why(self) -> str:
        """Its reason; of a run that was skipped, that it was."""
        return self.reason or SKIPPED * self.skipped

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def at_once(used: int | None, window_s: float | None, unit: str) -> bool:
    """See :attr:`RunResult.came_at_once`."""
    return used is not None and used > 1 and window_s is None and unit != BANDWIDTH


def batch_size(parameters: Mapping[str, Scalar]) -> int | None:
    """Samples per device and step, from the parameter of that name; None where there is none."""
    value = parameters.get("batch_size")
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() else None
    return int(value) if value is not None and value == int(value) else None


def kept_parameters(parameters: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Those that stay the same when a case is scaled: under strong scaling, where the global batch
    is kept, the batch size per device does not."""
    if GLOBAL_BATCH not in parameters:
        return parameters
    return {name: value for name, value in parameters.items() if name != "batch_size"}


def precision(parameters: Mapping[str, Scalar]) -> str | None:
    """The parameter of that name as text; None where there is none."""
    value = parameters.get("precision")
    return None if value is None else str(value)


def ran_on_cpus(runs: Iterable[RunResult]) -> bool:
    """Whether they are known to have left GPUs alone; of imported ones nobody can tell."""
    known = [run for run in runs if run.fingerprint]
    return bool(known) and not any(run.imported or has_gpus(run.fingerprint) for run in known)
