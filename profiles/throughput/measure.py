"""Readings to throughput: global samples per second of a run, by the profile's rule for its case.

What the log says becomes global samples/s in this way. A ``throughput`` reading of scope ``global``
is taken as it is; one of scope ``per_device`` is multiplied by the GPUs of the case. A
``step_time`` reading of T seconds means batch size x GPUs / T. The statistic is taken over what
the log says, so that averaging step times gives samples ÷ time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from profiles.format.case import Case
from profiles.format.profile import Profile, Rule
from profiles.format.rules import rule_for
from profiles.logs.parser import LogParser, Reading, Readings
from profiles.logs.readings import to_number
from profiles.throughput.averages import harmonic_mean, step_weights, trimmed_mean
from profiles.throughput.steady import Disturbance, disturbances
from profiles.throughput.window import describe_window, is_before, window_range

_NO_BATCH = (
    "the batch size is not known, and the log says seconds per step; give it with --batch-size"
)


@dataclass(frozen=True)
class Measurement:
    """One run's throughput and how it was obtained.

    ``throughput`` is global, in ``unit``; None when nothing could be measured, and ``reason`` says
    why. ``readings`` is how many the log has, ``used`` how many counted. ``steady``: what was not
    steady in the window; None where its readings are too few to tell.
    """

    throughput: float | None
    unit: str
    readings: int
    used: int
    window: str
    statistic: str
    scope: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reason: str = ""
    steady: tuple[Disturbance, ...] | None = None


def measure_run(profile: Profile, case: Case, parser: LogParser) -> Measurement:
    """Apply the rule to what the parser has read so far; call its ``finish`` first for a total."""
    rule, readings = parser.rule, parser.readings
    result = _summary(rule, case, parser) or _window(rule, case, readings)
    warnings = list(result.warnings)
    if parser.rejected:
        warnings.append(f"{parser.rejected} readings were no finite number and were left out")
    if rule.summary and parser.summary_value is None and result.throughput is not None:
        warnings.append("the log has no summary line; measured over its readings instead")
    warnings += [
        f"the log says {name} {text}, the case has {case.text(name)}: one of the two is wrong"
        for name, text in parser.stated.items()
        if not _same(text, case.text(name))
    ]
    return Measurement(
        throughput=result.throughput,
        unit=profile.unit,
        readings=len(readings),
        used=result.used,
        window=result.window,
        statistic=result.statistic,
        scope=rule.scope,
        metrics=parser.metrics,
        warnings=tuple(warnings),
        reason=result.reason,
        steady=_steady(rule, readings) if result.throughput is not None else None,
    )


def _steady(rule: Rule, readings: Readings) -> tuple[Disturbance, ...] | None:
    """Of the readings in the window, also where the figure is that of a summary line."""
    chosen = window_range(rule.window, readings)
    values: Sequence[float] = readings.values[chosen.start : chosen.stop]
    if rule.kind == "step_time":
        values = [1 / value if value > 0 else math.inf for value in values]
    return disturbances(values, readings.steps[chosen.start : chosen.stop], chosen.start)


def reading_throughput(profile: Profile, case: Case, reading: Reading) -> float:
    """Global samples/s of one reading; NaN for a step time without a known batch size."""
    return _global(rule_for(profile, case), case, reading.value)


def is_warmup(profile: Profile, case: Case, index: int, step: float | None) -> bool:
    """Whether the reading lies before the window. A window of the last n has no known start."""
    return is_before(rule_for(profile, case).window, index, step)


@dataclass(frozen=True)
class _Result:
    throughput: float | None
    used: int
    window: str
    statistic: str
    warnings: tuple[str, ...] = ()
    reason: str = ""


def _summary(rule: Rule, case: Case, parser: LogParser) -> _Result | None:
    value = parser.summary_value
    if not rule.summary or value is None:
        return None
    total = value * (case.gpus if rule.summary_scope == "per_device" else 1)
    return _Result(total, 0, "summary line", "summary")


def _window(rule: Rule, case: Case, readings: Readings) -> _Result:
    window = describe_window(rule.window)
    chosen = window_range(rule.window, readings)

    def none(reason: str) -> _Result:
        return _Result(None, len(chosen), window, rule.statistic, reason=reason)

    if not len(readings):
        return none("no line of the log matches the profile's reading")
    if not chosen:
        return none(f"the log has {_count(len(readings))}, none of them in the window: {window}")
    if rule.kind == "step_time" and case.global_batch is None:
        return none(_NO_BATCH)
    warnings = list(_short(rule, len(readings)))
    if rule.statistic == "elapsed":
        result = _elapsed(rule, case, readings, chosen, warnings)
    else:
        values = readings.values[chosen.start : chosen.stop]
        result = _global(rule, case, _average(rule, values, warnings))
    if not math.isfinite(result) or result <= 0:
        return none("the readings in the window give no positive throughput")
    return _Result(result, len(chosen), window, rule.statistic, tuple(warnings))


def _short(rule: Rule, total: int) -> Sequence[str]:
    wanted = rule.window.last
    if wanted is not None and total < wanted:
        return (f"the window asks for the last {wanted} readings, the log has {total}",)
    return ()


def _average(rule: Rule, values: Sequence[float], warnings: list[str]) -> float:
    match rule.statistic:
        case "mean":
            return statistics.fmean(values)
        case "median":
            return statistics.median(values)
        case "last":
            return values[-1]
        case "harmonic_mean":
            return harmonic_mean(values)
        case "trimmed_mean":
            mean, dropped = trimmed_mean(values, rule.trim)
            if not dropped and max(rule.trim.at_least, rule.trim.fraction):
                warnings.append(f"{_count(len(values))} are too few to trim; plain mean")
            return mean
        case "elapsed":
            raise AssertionError("elapsed is no average")


def _elapsed(
    rule: Rule, case: Case, readings: Readings, chosen: range, warnings: list[str]
) -> float:
    """Samples ÷ wall time: by the log's own timestamps if the rule reads them, else by readings."""
    if rule.timestamp is not None:
        by_time = _by_timestamps(case, readings, chosen)
        if by_time is not None:
            return by_time
        warnings.append("the timestamps do not span the window; measured by its readings instead")
    values = readings.values[chosen.start : chosen.stop]
    steps = readings.steps
    before = steps[chosen.start - 1] if chosen.start else math.nan
    weights = step_weights(steps[chosen.start : chosen.stop], before)
    if rule.kind == "throughput":
        return _global(rule, case, harmonic_mean(values, weights))
    if weights is None:
        return _global(rule, case, statistics.fmean(values))
    return _global(rule, case, statistics.fmean(values, weights))


def _by_timestamps(case: Case, readings: Readings, chosen: range) -> float | None:
    first, last = readings[chosen[0]], readings[chosen[-1]]
    if case.global_batch is None or None in (first.t, last.t, first.step, last.step):
        return None
    seconds = last.t - first.t  # type: ignore[operator]
    steps = last.step - first.step  # type: ignore[operator]
    return steps * case.global_batch / seconds if seconds > 0 and steps > 0 else None


def _global(rule: Rule, case: Case, value: float) -> float:
    if rule.kind == "step_time":
        return case.global_batch / value if case.global_batch and value > 0 else math.nan
    return value * (case.gpus if rule.scope == "per_device" else 1)


def _same(text: str, other: str) -> bool:
    one, two = to_number(text), to_number(other)
    return one == two if math.isfinite(one) and math.isfinite(two) else text == other


def _count(number: int) -> str:
    return "1 reading" if number == 1 else f"{number} readings"
