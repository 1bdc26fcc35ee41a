"""Which of a run's readings count, how evenly its steps came, and where it was not steady."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.results.run_result import BANDWIDTH, at_once
from profiles.throughput.speed import is_speed
from profiles.throughput.steady import FEWEST_READINGS, Disturbance, disturbances

MOST_LOOKED_AT = 128
"""Means of readings that a run at work is judged by: it is looked at once a second."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Jitter:
    """Of the time per step over the readings of the window. ``p95``: over the median. ``cv``: the
    standard deviation over the mean."""

    p95: float
    cv: float


@dataclass(frozen=True, slots=True)
class RunWindow:
    """Of one run, as far as is known.

    ``warmup``: readings before the window. ``used``: readings in it; None: it goes on, or that is
    not known.
    ``known``: the readings that count are told by now; else there is no ``jitter``.
    ``summed_up``: the figure is, or is to be, what the log sums up; of the window are jitter and
    ``disturbed`` alone.
    ``start``, ``end``: where its first and last reading are on the curve, seconds since the run
    began or numbers of readings; None: the window begins, or ends, where the readings do.
    ``disturbed``: what was not steady, and the point of the curve where it was; ``so_far``: more
    readings may tell it otherwise.
    """

    warmup: int = 0
    used: int | None = None
    known: bool = True
    summed_up: bool = False
    start: float | None = None
    end: float | None = None
    jitter: Jitter | None = None
    disturbed: tuple[tuple[Disturbance, Point], ...] = ()
    so_far: bool = False


def run_window(run: RunRecord, points: Sequence[Point]) -> RunWindow:
    """``points``: of :attr:`backends.campaign.record.run_view.ChartSeries.points`, one for each
    ``stride`` of readings."""
    first, used = window_bounds(run)
    stride = run.series.stride
    begin = -(-first // stride)  # the first that counts of those that were kept
    end = len(points) if used is None else -(-(first + used) // stride)
    inside = points[begin:end]
    over_sizes = run.unit == BANDWIDTH  # maybe, and then a curve that is no course of time
    unknown = over_sizes or not run.window_known
    found: Sequence[Disturbance] = run.steady or ()
    if run.steady is None and not over_sizes:
        found = _so_far(inside, first, stride, run.series.steps[begin:])
    return RunWindow(
        warmup=first,
        used=used,
        known=run.window_known,
        summed_up=summed_up(run),
        start=inside[0][0] if begin and inside else None,
        end=inside[-1][0] if end < len(points) and inside else None,
        jitter=None if unknown else jitter([value for _, value in inside]),
        disturbed=tuple((one, points[_index(one, stride, len(points))]) for one in found)
        if points
        else (),
        so_far=not run.state.ended,
    )


def window_seen(run: RunRecord) -> tuple[int | None, float | None, Sequence[float]]:
    """Of a run that succeeded: how many readings count, for how many seconds they came, and their
    speeds, thinned; None and nothing where that is not known, or they are no course of time."""
    first, used = window_bounds(run)
    if used is None:
        return None, None, ()
    series = run.series
    begin, end = -(-first // series.stride), -(-(first + used) // series.stride)
    if run.unit == BANDWIDTH:
        return used, None, ()
    times = run.came_at[max(0, begin - 1) : end]
    seconds = times[-1] - times[0] if len(times) > 1 else 0.0
    speeds = tuple(filter(is_speed, series.values[begin:end]))
    return used, seconds if seconds > 0 else None, speeds


def came_at_once(run: RunRecord) -> bool:
    """As :attr:`backends.results.run_result.RunResult.came_at_once`: when its readings were made is
    not known."""
    used, seconds, _ = window_seen(run)
    return at_once(used, seconds, run.unit)


def jitter(speeds: Sequence[float]) -> Jitter | None:
    """Of steps done at these speeds (any unit); None where they are too few to tell."""
    times = sorted(1 / speed for speed in speeds if is_speed(speed))
    if len(times) < FEWEST_READINGS:
        return None
    p95 = times[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
    return Jitter(p95 / median(times), stdev(times) / fmean(times))


def summed_up(run: RunRecord) -> bool:
    """Its figure is, or is to be, what the log sums up."""
    return run.statistic == "summary" or (run.sums_up and not run.statistic)


def window_bounds(run: RunRecord) -> tuple[int, int | None]:
    """The number of the first reading that counts, and how many do."""
    if run.state is not RunState.SUCCEEDED or not run.used or not run.window_known:
        return run.warmup, None  # a summary line says it all, or nothing told which they are
    return run.warmup, run.used


def _index(found: Disturbance, stride: int, points: int) -> int:
    return min(found.reading // stride, points - 1)


def _so_far(
    inside: Sequence[Point], first: int, stride: int, steps: Sequence[float]
) -> Sequence[Disturbance]:
    """By means of so many readings each that looking often costs little. ``steps``: theirs."""
    width = -(-len(inside) // MOST_LOOKED_AT) or 1
    speeds = [value for _, value in inside]
    means = [
        sum(speeds[at : at + width]) / width for at in range(0, len(speeds) - width + 1, width)
    ]
    begin = -(-first // stride)
    return tuple(
        replace(one, reading=(begin + one.reading * width) * stride, count=one.count * width)
        for one in disturbances(means, steps[::width]) or ()
    )
