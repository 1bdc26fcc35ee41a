"""Readings to throughput: global samples per second of a run, by the profile's rule for its case.

What the log says becomes global samples/s in this way. A ``throughput`` reading of scope ``global``
is taken as it is; one of scope ``per_device`` is multiplied by the GPUs of the case, one of scope
``per_node`` by its nodes. A ``step_time`` reading of T seconds means the rule's work / T, which is
batch size x GPUs / T unless the profile says otherwise; a ``duration`` of T seconds 3600 / T per
hour; a ``bandwidth`` is itself. The statistic is taken over what the log says, so that averaging
step times gives samples ÷ time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from profiles.counted import counted
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.measure_section import Rule, Scope
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.throughput.derived import derived_metrics
from profiles.throughput.doubts import Doubt, Doubts, clock_texts, far_above_text
from profiles.throughput.mfu import MFU, beyond, credible, is_fp8
from profiles.throughput.other_model import other_model
from profiles.throughput.rank_times import RankTime
from profiles.throughput.run_facts import Facts
from profiles.throughput.speed import is_speed
from profiles.throughput.steady import Disturbance
from profiles.throughput.tally import Span, Tally
from profiles.throughput.window import describe_window

_NO_BATCH = (
    "the batch size is not known, and the log says seconds per step; give it with --batch-size"
)


ONE_NODE = "the log tells of one node, which stands for all of them"


@dataclass(frozen=True)
class Measurement:
    """One run's throughput and how it was obtained.

    ``throughput`` is global, in ``unit``; None when it could not be measured. ``reason`` says why
    the run has failed; it is empty where the log has what the profile requires. ``readings`` is how
    many the log has, ``used`` how many counted, one after the other from number ``first`` on.
    ``steady``: what was not steady in the window; None
    where its readings are too few to tell. ``ranks``: of a profiled run, read from the logs of all
    its hosts. ``simulated``: the log says that no hardware was measured.
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
    ranks: tuple[RankTime, ...] = ()
    simulated: bool = False
    first: int | None = None
    doubts: Doubts = field(default_factory=dict)


def measure_run(
    profile: Profile, case: Case, parser: LogParser, tally: Tally | None = None
) -> Measurement:
    """Apply the rule to a whole log.

    ``parser``: after its ``finish``. ``tally``: of all that it gave; None: it has kept that.
    """
    rule = parser.rule
    called = {
        name: parameter.fact for name, parameter in profile.parameters.items() if parameter.fact
    }
    facts = Facts(case, parser.stated, profile.measure.computed, called)
    if tally is None:
        tally = Tally(rule)
        tally.take(parser.readings)
    tally.finish()
    result = _summary(rule, case, facts, parser) or _window(
        rule, case, facts, tally, parser.rejected
    )
    doubts = _doubts(profile.unit, result, tally)
    warnings = [*chain.from_iterable(doubts.values()), *result.warnings]
    if parser.rejected:
        warnings.append(left_out(parser.rejected))
    if rule.summary and parser.summary_value is None and result.throughput is not None:
        warnings.append("the log has no summary line; measured over its readings instead")
    warnings += facts.contradictions
    if result.throughput is not None and (other := other_model(profile.model, parser.kept)):
        warnings.append(other)
    if rule.scope == "per_node" and case.nodes > 1:
        warnings.append(ONE_NODE)
    metrics, left = _metrics(profile, rule, case, facts, parser, result.throughput)
    warnings += left
    if rule.kind == "step_time" and tally.used:  # also where nobody says what a step does
        metrics.setdefault("step_time_s", tally.value)
    reason = result.reason
    required = profile.measure.required
    if required:
        if reason and tally.used:  # readings, and yet no throughput
            warnings.append(reason)
        reason = "" if required in metrics else f"the log has no {required}"
    return Measurement(
        throughput=result.throughput,
        unit=profile.unit,
        readings=tally.count,
        used=result.used,
        window=result.window,
        statistic=result.statistic,
        scope=rule.scope,
        metrics=metrics,
        warnings=tuple(warnings),
        reason=reason,
        # Of the readings in the window, also where the figure is that of a summary line.
        steady=tally.disturbances if result.throughput is not None else None,
        simulated=parser.simulated,
        first=tally.first,
        doubts=doubts,
    )


def left_out(rejected: int) -> str:
    one = rejected == 1
    return (
        f"{counted(rejected, 'reading')} {'is' if one else 'are'} no number of 0 or more, as nan, "
        f"-1 and 26,5 are none, and {'was' if one else 'were'} left out"
    )


def _metrics(
    profile: Profile,
    rule: Rule,
    case: Case,
    facts: Facts,
    parser: LogParser,
    throughput: float | None,
) -> tuple[dict[str, float], Sequence[str]]:
    """What the log says itself, and what follows from it; and why an MFU is left out."""
    own = parser.metrics
    metrics = credible({**facts.numbers, **own}, fp8=False)
    derived = derived_metrics(profile, rule, case, facts, throughput, metrics)
    metrics |= derived
    if MFU not in metrics and metrics.keys() >= own.keys():
        return metrics, ()  # most are spared a look through the log
    fp8 = is_fp8(facts.texts.get("precision", "")) or is_fp8(case.precision or "")
    fp8 = fp8 or parser.in_fp8
    left = beyond(own, fp8=fp8, whose="the log's")
    return credible(metrics, fp8=fp8), left or beyond(derived, fp8=fp8, whose="the reckoned")


def global_throughput(
    rule: Rule, case: Case, value: float, facts: Facts, scope: Scope | None = None
) -> float:
    """What all devices do per second, of one reading; NaN for a time of unknown work.

    ``scope``: the rule's unless given.
    """
    match rule.kind:
        case "step_time":
            work = facts.work(rule.work)
            return work / value if work and value > 0 else math.nan
        case "duration":
            return 3600 / value if value > 0 else math.nan
        case "bandwidth":
            return value
        case "throughput":
            return value * shares(scope or rule.scope, case)


def shares(scope: Scope, case: Case) -> int:
    """How many of what a reading tells of make up the whole."""
    match scope:
        case "global":
            return 1
        case "per_device":
            return case.gpus
        case "per_node":
            return case.nodes


@dataclass(frozen=True)
class _Result:
    throughput: float | None
    used: int
    window: str
    statistic: str
    warnings: tuple[str, ...] = ()
    reason: str = ""
    by_readings: float | None = None  # what these give, where the figure is of the timestamps


def _summary(rule: Rule, case: Case, facts: Facts, parser: LogParser) -> _Result | None:
    value = parser.summary_value
    if not rule.summary or value is None:
        return None
    speed = global_throughput(rule, case, value * rule.scale, facts, rule.summary_scope)
    return None if math.isnan(speed) else _Result(speed, 0, "summary line", "summary")


def _window(rule: Rule, case: Case, facts: Facts, tally: Tally, rejected: int) -> _Result:
    window = describe_window(rule.window)
    total, used = tally.count, tally.used

    def none(reason: str) -> _Result:
        return _Result(None, used, window, rule.statistic, reason=reason)

    if not total and rejected:
        return none("none of the log's readings counts")
    if not total:
        return none("no line of the log matches the profile's reading")
    if not used:
        return none(
            f"the log has {counted(total, 'reading')}, none of them in the window: {window}"
        )
    if rule.kind == "step_time" and facts.work(rule.work) is None:
        return none(_no_work(facts.unknown(rule.work)))
    warnings = list(_short(rule, total))
    by_readings = global_throughput(rule, case, tally.value, facts)
    result = _by_timestamps(facts.work(rule.work), tally.span)
    by_clock = result is not None
    if result is None:
        if tally.span is not None:
            warnings.append(
                "the timestamps do not span the window; measured by its readings instead"
            )
        if tally.untrimmed:
            warnings.append(f"{counted(used, 'reading')} are too few to trim; plain mean")
        result = by_readings
    if not is_speed(result):
        return none("the readings in the window give no positive throughput")
    return _Result(
        result,
        used,
        window,
        rule.statistic,
        tuple(warnings),
        by_readings=by_readings if by_clock else None,
    )


def _doubts(unit: str, result: _Result, tally: Tally) -> Doubts:
    """Of a figure that is made of the window's readings or their times."""
    found: dict[str, tuple[str, ...]] = {}
    by_clock = result.throughput
    if by_clock is None or not result.used:
        return found
    if tally.span is not None and result.by_readings is not None:
        found[Doubt.CLOCK] = clock_texts(tally.span, by_clock, result.by_readings, unit)
    if (high := tally.far_above) is not None:
        found[Doubt.FAR_ABOVE] = (far_above_text(high),)
    return {about: texts for about, texts in found.items() if texts}


def _short(rule: Rule, total: int) -> Sequence[str]:
    wanted = rule.window.last
    if wanted is not None and total < wanted:
        return (f"the window asks for the last {wanted} readings, the log has {total}",)
    return ()


def _by_timestamps(work: float | None, span: Span | None) -> float | None:
    """Samples ÷ wall time by the log's own timestamps; None where they do not tell."""
    if span is None or span.first is None or work is None:
        return None
    (first_step, began), (last_step, ended) = span.first, span.last
    seconds, steps = ended - began, last_step - first_step
    return steps * work / seconds if seconds > 0 and steps > 0 else None


def _no_work(unknown: Sequence[str]) -> str:
    if list(unknown) == [GLOBAL_BATCH]:
        return _NO_BATCH
    names = " and ".join(unknown)
    return f"the log says seconds per step, and neither it nor the case says {names}"
