"""What the machines did while a case was measured: its figures, and what was wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from backends.hosts.fingerprint import has_gpus
from backends.hosts.telemetry_summary import GpuUse, HostUse, Telemetry
from backends.results.run_result import BANDWIDTH, COST_PER_HOUR, TOKENS, RunResult

AT_ITS_LIMIT = frozenset({"power cap", "sync boost", "application clocks setting"})
"""Reasons of a GPU that does as it was told; for all others something is wrong with its machine."""
POWER_CAPPED = 0.05
"""Share of the time from which on it is worth a word that the power limit sets the pace."""
THROTTLED = 0.01
WATCHED = 0.5
"""Share of a run's time for which each of its GPUs must have been seen: of less than half, what
nobody saw weighs more than what was seen."""
HOSTS_EVERY_S = 5.0
"""As seldom as a host without GPUs is asked."""
IDLE = 1.0
"""Percent of the time below which a GPU computed nothing to speak of."""
SWAPPED_KIB = 64 << 10
UNEVEN_LOAD = 0.10
"""A repeat's share of busy CPUs above the median of all: somebody else computed there."""
_FEWEST_EVEN = 3


class Trouble(StrEnum):
    """What disturbed a run, beside its speed."""

    OTHER_PROCESSES = "other_processes"
    SWAPPED = "swapped"
    MEMORY_ERRORS = "memory_errors"
    UNEVEN_LOAD = "uneven_load"


@dataclass(frozen=True, slots=True)
class Disturbed:
    """``amount``: processes, KiB, errors, or a share of the CPUs. ``gpu``: None: of the host.
    ``repeats``: in how many of the ``of`` runs there was such trouble."""

    trouble: Trouble
    run: RunResult
    host: str
    gpu: int | None
    amount: float
    repeats: int = 1
    of: int = 1


@dataclass(frozen=True, slots=True)
class Throttled:
    """The GPU of some runs that was throttled for the largest ``share`` of its time.

    ``repeats``: how many of the ``of`` runs that were watched had one that was throttled for more
    than is let pass; ``unwatched``: how many further ones were not.
    """

    run: RunResult
    gpu: GpuUse
    reason: str
    seconds: float
    repeats: int
    of: int
    unwatched: int

    @property
    def share(self) -> float:
        return self.seconds / self.gpu.seconds if self.gpu.seconds else 0.0


def unwatched(run: RunResult) -> bool:
    """Nobody looked at its machines, its GPUs were seen for too little of the time or never (hosts
    without any, which are asked now and then, where that is known), or what was seen cannot be held
    against its readings."""
    if run.telemetry is None or run.came_at_once:
        return True
    seen, trained = watched_s(run), run.trained_s or 0.0
    little = not seen or seen < WATCHED * trained
    if _on_gpus(run):
        return little
    asked = [host.seconds for host in run.telemetry.hosts]
    known = bool(asked) and None not in asked
    return little and known and trained - seen > 2 * HOSTS_EVERY_S


def unplaced(run: RunResult) -> bool:
    """Its machines were watched, and its log came too late to tell when it was measured."""
    seen = run.telemetry
    return run.came_at_once and seen is not None and (bool(seen.gpus) or not _on_gpus(run))


def _on_gpus(run: RunResult) -> bool:
    return has_gpus(run.fingerprint) or bool(run.telemetry and run.telemetry.gpus)


def hosts_alone(run: RunResult) -> tuple[HostUse, ...]:
    """Of a run without GPUs its hosts, which are all that did anything."""
    return () if run.telemetry is None or _on_gpus(run) else run.telemetry.hosts


def watched_s(run: RunResult) -> float:
    """For how long each of its GPUs was seen between its first reading and its last, without GPUs
    each of its hosts; 0 where one never was."""
    if run.telemetry is not None and not _on_gpus(run):
        return min((host.seconds or 0.0 for host in run.telemetry.hosts), default=0.0)
    gpus = run.telemetry.gpus if run.telemetry else ()
    all_seen = len(gpus) >= run.gpus
    return min((gpu.seconds for gpu in gpus), default=0.0) if all_seen else 0.0


def judged(run: RunResult) -> Telemetry:
    """What its machines did, where they were watched enough to speak for the run; else nothing."""
    return Telemetry() if run.telemetry is None or unwatched(run) else run.telemetry


def idle_gpus(run: RunResult) -> tuple[GpuUse, ...]:
    """Those that did nothing while it was measured, by what their driver says."""
    seen = ((gpu, gpu.utilization_mean) for gpu in judged(run).gpus)
    return tuple(gpu for gpu, busy in seen if busy is not None and busy < IDLE)


def counted_word(units: Iterable[str]) -> str:
    """``image`` of images/s, ``token`` of tokens/s; ``sample`` of several units and of others."""
    known = set(units)
    unit = known.pop() if len(known) == 1 else ""
    one = unit.removesuffix("/s").removesuffix("s")
    return one if unit.endswith("s/s") and one else "sample"


def throttled(runs: Sequence[RunResult], *, at_its_limit: bool) -> Throttled | None:
    """``at_its_limit``: by a limit that was set, and not by what is wrong with its machine."""
    unseen = sum(map(unwatched, runs))
    found = [
        Throttled(run, gpu, reason, seconds, repeats=0, of=len(runs) - unseen, unwatched=unseen)
        for run in runs
        for gpu in judged(run).gpus
        for reason, seconds in (gpu.throttled_s or {}).items()
        if (reason in AT_ITS_LIMIT) is at_its_limit
    ]
    worst = max(found, key=lambda one: one.share, default=None)
    if worst is None:
        return None
    much = POWER_CAPPED if at_its_limit else THROTTLED
    repeats = len({id(one.run) for one in found if one.share > much})
    return replace(worst, repeats=repeats)


def most_throttled(run: RunResult, *, at_its_limit: bool) -> float | None:
    """The largest share of its time for which one reason throttled one of its GPUs, or held it at a
    limit that was set; None where no driver says."""
    found = throttled([run], at_its_limit=at_its_limit)
    return None if found is None else found.share


def disturbed(runs: Sequence[RunResult]) -> tuple[Disturbed, ...]:
    """The worst of each kind of trouble."""
    found = [*_gpu_troubles(runs), *_host_troubles(runs)]
    alike = ([one for one in found if one.trouble is kind] for kind in Trouble)
    return tuple(
        replace(
            max(of_kind, key=lambda one: one.amount),
            repeats=len({one.run.run_id for one in of_kind}),
            of=len(runs),
        )
        for of_kind in alike
        if of_kind
    )


def _gpu_troubles(runs: Sequence[RunResult]) -> Iterator[Disturbed]:
    for run, gpu in _gpus(runs):
        if gpu.other_processes:
            yield Disturbed(Trouble.OTHER_PROCESSES, run, gpu.host, gpu.gpu, gpu.other_processes)
        if gpu.ecc_errors:
            yield Disturbed(Trouble.MEMORY_ERRORS, run, gpu.host, gpu.gpu, gpu.ecc_errors)


def _host_troubles(runs: Sequence[RunResult]) -> Iterator[Disturbed]:
    hosts = list(_hosts(runs))
    busy = [(run, host, host.cpu_busy) for run, host in hosts if host.cpu_busy is not None]
    usual = median(share for *_, share in busy) if len(busy) >= _FEWEST_EVEN else 1.0
    for run, host in hosts:
        if (host.swapped_kib or 0) > SWAPPED_KIB:
            yield Disturbed(Trouble.SWAPPED, run, host.host, None, host.swapped_kib or 0)
    for run, host, share in busy:
        if share - usual > UNEVEN_LOAD and not neighbours(run):  # else it is known who did
            yield Disturbed(Trouble.UNEVEN_LOAD, run, host.host, None, share - usual)


def neighbours(run: RunResult) -> tuple[str, ...]:
    """Runs of its own campaign that its machine had to serve, too: told by themselves."""
    return (*run.shared_with, *run.beside)


def joules_per_sample(run: RunResult) -> float | None:
    """Of its GPUs together, from their mean power between the first reading and the last; None of
    what counts no samples: a bandwidth, a duration."""
    if run.unit == BANDWIDTH or not run.unit.endswith("/s"):
        return None
    power = judged(run).power_w
    return power / run.measured if power is not None and run.measured else None


def cost_per_1e9_tokens(run: RunResult) -> float | None:
    """GPU-hours x price of 10^9 tokens; None of other units, and without the hosts' prices."""
    per_hour = run.metrics.get(COST_PER_HOUR)
    if per_hour is None or run.unit != TOKENS or not run.measured:
        return None
    return per_hour / 3600 / run.measured * 1e9


def typical(runs: Sequence[RunResult], figure: Callable[[RunResult], float | None]) -> float | None:
    """The median over those that have such a figure."""
    known = [value for run in runs if (value := figure(run)) is not None]
    return median(known) if known else None


def known_of(runs: Sequence[RunResult], figure: Callable[[RunResult], float | None]) -> int:
    """How many have such a figure, where that is not all that were watched; else 0."""
    known = sum(figure(run) is not None for run in runs)
    return known if known < sum(not unwatched(run) for run in runs) else 0


def of_gpus(figure: Callable[[GpuUse], float | None]) -> Callable[[RunResult], float | None]:
    """The mean over the GPUs of a run."""
    return lambda run: _mean(map(figure, judged(run).gpus))


def cpus_busy(run: RunResult) -> float | None:
    """The mean over its hosts."""
    return _mean(host.cpu_busy for host in judged(run).hosts)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gpus(runs: Sequence[RunResult]) -> Iterator[tuple[RunResult, GpuUse]]:
    for run in runs:
        for gpu in run.telemetry.gpus if run.telemetry else ():
            yield run, gpu


def _hosts(runs: Sequence[RunResult]) -> Iterator[tuple[RunResult, HostUse]]:
    for run in runs:
        for host in run.telemetry.hosts if run.telemetry else ():
            yield run, host
