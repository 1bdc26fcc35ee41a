"""MLPerf Training's score of a system: minutes to train, by the rules of its results.

The mean of the times without the fastest and the slowest, where one run that did not converge
counts as the slowest; with more there is no result. unet3d leaves out four at each end, and may
have as many that failed. The mean times the factor that the review gave a system, where it gave one
(mlcommons/training_policies, training_rules, "Benchmark Results"; mlcommons/logging,
result_summarizer: an Olympic average, then ``scaling_factor`` of ``scaling.json``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from backends.results.run_result import RunResult
from backends.results.summary import Group

SYSTEM, BENCHMARK = "system", "benchmark"
TIME_TO_TRAIN, FACTOR, DEVICES = "time_to_train_s", "scaling_factor", "world_size"
_DROPPED = {"unet3d": 4}


class NoScore(StrEnum):
    """Why a system has none."""

    TOO_MANY_FAILED = "too_many_failed"
    TOO_FEW_RUNS = "too_few_runs"
    FACTORS_DIFFER = "factors_differ"
    SIZES_DIFFER = "sizes_differ"


@dataclass(frozen=True, slots=True)
class Score:
    """Of one system in one benchmark.

    ``minutes``: the score; None: ``why``. ``factor``: 1 where the review gave none. ``times``: of
    the runs that succeeded, in minutes, before the factor, in the order of the runs. ``failed``:
    runs without a time. ``accelerators``: None where neither the logs nor their paths say.
    ``dropped``: runs that are left out at each end.
    """

    campaign: str
    system: str
    benchmark: str
    accelerators: int | None
    minutes: float | None
    why: NoScore | None
    factor: float
    times: tuple[float, ...]
    failed: int
    dropped: int

    @property
    def runs(self) -> int:
        return len(self.times) + self.failed


def scores(groups: Sequence[Group]) -> Iterator[Score]:
    """Of every group that is a system in a benchmark, in their order."""
    for group in groups:
        if {SYSTEM, BENCHMARK} <= set(group.parameters):
            runs = [run for case in group.cases for run in case.runs if run.state != "cancelled"]
            yield _score(group, runs)


def _score(group: Group, runs: Sequence[RunResult]) -> Score:
    good = [run for run in runs if run.succeeded and TIME_TO_TRAIN in run.metrics]
    times = tuple(run.metrics[TIME_TO_TRAIN] / 60 for run in good)
    factors = {run.metrics.get(FACTOR, 1.0) for run in good}
    sizes = {run.gpus for run in good}
    dropped = _DROPPED.get(str(group.parameters[BENCHMARK]), 1)
    failed = len(runs) - len(good)
    why = None
    if failed > dropped:
        why = NoScore.TOO_MANY_FAILED
    elif len(runs) <= 2 * dropped:
        why = NoScore.TOO_FEW_RUNS
    elif len(factors) > 1:
        why = NoScore.FACTORS_DIFFER
    elif len(sizes) > 1:
        why = NoScore.SIZES_DIFFER
    factor = factors.pop() if len(factors) == 1 else 1.0
    kept = sorted(times)[dropped : len(times) - (dropped - failed)]
    return Score(
        campaign=group.campaign,
        system=str(group.parameters[SYSTEM]),
        benchmark=str(group.parameters[BENCHMARK]),
        accelerators=_accelerators(good or runs),
        minutes=factor * sum(kept) / len(kept) if why is None else None,
        why=why,
        factor=factor,
        times=times,
        failed=failed,
        dropped=dropped,
    )


def _accelerators(runs: Sequence[RunResult]) -> int | None:
    """The largest; what was only assumed of an imported log is not known."""
    known = [run.gpus for run in runs if not run.imported or DEVICES in run.metrics or run.gpus > 1]
    return max(known, default=None)
