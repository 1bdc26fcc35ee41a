"""The measuring rules as they are defined: over all readings of a log at once."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from profiles.format.case import Case
from profiles.format.measure_section import Rule, Trim, Window
from profiles.logs.readings import Readings
from profiles.throughput.measure_run import global_throughput
from profiles.throughput.run_facts import Facts
from profiles.throughput.speed import is_speed


def chosen(window: Window, steps: Sequence[float], total: int) -> range:
    """Positions of the readings that count."""
    if window.by_step:
        low = -math.inf if window.from_step is None else window.from_step
        high = math.inf if window.to_step is None else window.to_step
        start = next((at for at, step in enumerate(steps) if low <= step <= high), total)
        end = start
        while end < total and low <= steps[end] <= high:
            end += 1
        return range(start, end)
    if window.last is not None:
        return range(max(0, total - window.last), total)
    if window.keep_only and total == 1:
        return range(1)
    start = min(window.skip, total)
    return range(start, max(start, total - window.drop))


def throughput(rule: Rule, case: Case, readings: Readings) -> float | None:
    """Global samples/s; None where the log tells of none."""
    window = chosen(rule.window, readings.steps, len(readings))
    if not window or (rule.kind == "step_time" and case.global_batch is None):
        return None
    values = readings.values[window.start : window.stop]
    if rule.statistic == "elapsed":
        result = _elapsed(rule, case, readings, window, values)
    else:
        result = global_throughput(rule, case, _average(rule, values), Facts(case))
    return result if is_speed(result) else None


def _average(rule: Rule, values: Sequence[float]) -> float:
    match rule.statistic:
        case "mean":
            return statistics.fmean(values)
        case "median":
            return statistics.median(values)
        case "last":
            return values[-1]
        case "harmonic_mean":
            return harmonic_mean(values)
    return trimmed_mean(values, rule.trim)


def trimmed_mean(values: Sequence[float], trim: Trim) -> float:
    dropped = max(trim.at_least, int(trim.fraction * len(values)))
    return statistics.fmean(sorted(values)[dropped : len(values) - dropped] or values)


def harmonic_mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    return 0.0 if min(values) <= 0 else statistics.harmonic_mean(values, weights)


def step_weights(steps: Sequence[float], before: float) -> list[float] | None:
    previous = [before, *steps[:-1]]
    distances = [now - then for then, now in zip(previous, steps, strict=True)]
    known = [distance for distance in distances if distance > 0 and math.isfinite(distance)]
    if not known:
        return None
    usual = statistics.median(known)
    return [distance if distance > 0 else usual for distance in distances]


def _elapsed(
    rule: Rule, case: Case, readings: Readings, window: range, values: Sequence[float]
) -> float:
    if rule.timestamp is not None and case.global_batch is not None:
        first, last = readings[window[0]], readings[window[-1]]
        if None not in (first.t, last.t, first.step, last.step):
            seconds = (last.t or 0.0) - (first.t or 0.0)
            steps = (last.step or 0.0) - (first.step or 0.0)
            if seconds > 0 and steps > 0:
                return steps * case.global_batch / seconds
    before = readings.steps[window.start - 1] if window.start else math.nan
    weights = step_weights(readings.steps[window.start : window.stop], before)
    if rule.kind == "throughput":
        return global_throughput(rule, case, harmonic_mean(values, weights), Facts(case))
    if weights is None:
        return global_throughput(rule, case, statistics.fmean(values), Facts(case))
    products = [value * weight for value, weight in zip(values, weights, strict=True)]
    return global_throughput(rule, case, math.fsum(products) / math.fsum(weights), Facts(case))
