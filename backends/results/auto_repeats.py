"""Repeats until it is known: when a case has enough of them, and which are to be done next.

The rule has no memory. What is done next follows from the figures that are there, so that it goes
on after a resume as if nothing had happened. Looking costs coverage, so there are few looks, and
whatever is narrow enough must have been so two repeats earlier as well: docs/statistics.md has what
that leaves of the 95%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean, stdev

from backends.results.ratios import ratio_interval
from backends.results.statistics import half_width
from profiles.durations import parse_duration
from profiles.errors import ProfileError, SelectionError

LOOKS = (6, 8, 11, 15, 20, 27, 36, 48, 64, 85, 114, 152, 202, 270, 360, 480, 640, 854)
"""Successful repeats at which it is decided whether more are needed: each time a third more."""
CONFIRMING = 2
"""Repeats by which a narrow interval is confirmed."""
PLATEAU_FROM = 27
PLATEAU_SHARE = 0.45
"""From so many repeats on an interval should be narrower than with so large a share of them."""
FAILED_IN_A_ROW = 3
"""Repeats without a success in between after which a case is given up."""
WORTH_IT = 0.5
"""Of the largest gain per GPU-second; what gains less waits for the next look."""
MOST_REPEATS = 1000
_OF_MEDIAN = 1.96 * math.sqrt(math.pi / 2)
"""Half of the 95% interval of a median of many, in standard deviations over the root of n."""


class Quantity(StrEnum):
    """What is to be known."""

    THROUGHPUT = "throughput"
    SPEEDUP = "speedup"


class Stop(StrEnum):
    """Why a case gets no further repeats; ``stopped`` of results.json."""

    ASKED = "asked"  # so many were asked for
    REACHED = "reached"  # the interval is as narrow as asked
    PLATEAU = "plateau"  # the interval no longer narrows
    MAX_REPEATS = "max_repeats"
    BUDGET = "budget"  # of GPU time
    FAILING = "failing"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AutoRepeats:
    """``target``: half of the 95% interval over the figure, 0.01 for ±1%. ``budget_gpu_s``: device
    seconds of all runs together, None for no limit; the first six repeats are done in any case."""

    target: float = 0.01
    quantity: Quantity = Quantity.THROUGHPUT
    max_repeats: int = 50
    budget_gpu_s: float | None = None

    def __str__(self) -> str:
        what = "" if self.quantity is Quantity.THROUGHPUT else f":{self.quantity}"
        return f"auto:{self.target * 100:g}%{what}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one case is.

    Parameters
    ----------
    values: throughputs of the successful repeats, in the order in which they were run.
    repeats: how many were done, successful or not.
    failed_in_a_row: the latest ones that did not succeed.
    cancelled: somebody ended one of them.
    gpu_s: device seconds that one repeat takes; 0 where that is not known.
    base: key of the case that its speedup refers to; its own for the base.
    """

    key: str
    values: tuple[float, ...]
    repeats: int
    base: str
    failed_in_a_row: int = 0
    cancelled: bool = False
    gpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """``more``: repeats to be done now, by case; ``stopped``: the cases that get no further."""

    more: Mapping[str, int]
    stopped: Mapping[str, Stop]


def parse_repeats(text: str) -> int | AutoRepeats:
    """``7``, ``auto``, ``auto:0.5%``, ``auto:1%:speedup``.

    Raises
    ------
    SelectionError: it is none of these.
    """
    words = text.strip().lower().split(":")
    if words[0] != "auto":
        try:
            return int(text)
        except ValueError:
            raise _no_repeats(text) from None
    rule = AutoRepeats()
    for word in words[1:]:
        if word in tuple(Quantity):
            rule = replace(rule, quantity=Quantity(word))
        elif word.endswith("%"):
            try:
                target = float(word[:-1]) / 100
            except ValueError:
                raise _no_repeats(text) from None
            if not 0.0001 <= target <= 0.5:
                raise SelectionError(
                    f"a target of {word} is out of range", remedy="give 0.01% to 50%"
                )
            rule = replace(rule, target=target)
        else:
            raise _no_repeats(text)
    return rule


def _no_repeats(text: str) -> SelectionError:
    return SelectionError(
        f"{text!r} is no number of repeats",
        where="repeats",
        remedy="such as 7, auto, auto:1% or auto:1%:speedup",
    )


def limited(rule: AutoRepeats, max_repeats: int | None, budget: str | None) -> AutoRepeats:
    """The rule with the limits that were given.

    Raises
    ------
    SelectionError: fewer repeats than the first look takes, or a budget that is no duration.
    """
    if max_repeats is not None:
        if not LOOKS[0] <= max_repeats <= MOST_REPEATS:
            raise SelectionError(
                f"max_repeats must be {LOOKS[0]} to {MOST_REPEATS}, not {max_repeats}"
            )
        rule = replace(rule, max_repeats=max_repeats)
    if budget is not None:
        try:
            seconds = parse_duration(budget)
        except ProfileError as error:
            raise SelectionError(error.what, where="budget", remedy=error.remedy) from None
        rule = replace(rule, budget_gpu_s=seconds)
    return rule


def decide(rule: AutoRepeats, cases: Sequence[Progress], spent_gpu_s: float = 0.0) -> Decision:
    """What is to be done next, where nothing of the campaign is under way any more."""
    by_key = {case.key: case for case in cases}
    more: dict[str, int] = {}
    stopped: dict[str, Stop] = {}
    for case in cases:
        if case.cancelled:
            stopped[case.key] = Stop.CANCELLED
        elif case.failed_in_a_row >= FAILED_IN_A_ROW:
            stopped[case.key] = Stop.FAILING
        elif len(case.values) < LOOKS[0]:
            more[case.key] = LOOKS[0] - len(case.values)
    for case in cases:
        if case.key in more or case.key in stopped:
            continue
        if _by_itself(rule, case, by_key):
            stop = _stop_of_throughput(rule, case)
            if stop is not None:
                stopped[case.key] = stop
            else:
                now = _is_narrow(rule, case.values)
                more[case.key] = CONFIRMING if now else _to_next_look(case)
    if rule.quantity is Quantity.SPEEDUP:
        _decide_speedups(rule, cases, more, stopped)
    return _within_limits(rule, cases, more, stopped, spent_gpu_s)


def narrow(rule: AutoRepeats, values: Sequence[float], base: Sequence[float] | None = None) -> bool:
    """Whether the interval is as narrow as asked, now and two repeats earlier."""
    earlier = None if base is None else base[:-CONFIRMING]
    return _is_narrow(rule, values, base) and _is_narrow(rule, values[:-CONFIRMING], earlier)


def _is_narrow(
    rule: AutoRepeats, values: Sequence[float], base: Sequence[float] | None = None
) -> bool:
    width = width_of(values, base)
    return width is not None and width <= rule.target


def width_of(values: Sequence[float], base: Sequence[float] | None = None) -> float | None:
    """Half of the 95% interval over the figure, of a throughput or of a speedup; None below six
    repeats: this is for those that have no fewer."""
    if min(len(values), len(base) if base is not None else len(values)) < LOOKS[0]:
        return None
    if base is None:
        return half_width(values)
    interval = ratio_interval(base, values)
    return (
        None
        if interval is None
        else (interval.high - interval.low) / (interval.high + interval.low)
    )


def expected_repeats(
    rule: AutoRepeats, values: Sequence[float], base: Sequence[float] | None = None
) -> int | None:
    """How many repeats the target will likely take in all, if they scatter as they do: the next
    look at which the interval of a normal figure's median, or of two, has narrowed to it.

    None while nothing can be said. It goes by the standard deviation: the interval itself is that
    of the extremes at first, up to three times as wide as it will be for its number of repeats.
    """
    if width_of(values, base) is None:
        return None
    variance = sum(_squared_cv(side) for side in (values, base) if side is not None)
    needed = variance * (_OF_MEDIAN / rule.target) ** 2 + CONFIRMING
    least = len(values) if narrow(rule, values, base) else len(values) + 1
    return next((look for look in LOOKS if look >= max(needed, least)), math.ceil(needed))


def _squared_cv(values: Sequence[float]) -> float:
    return (stdev(values) / fmean(values)) ** 2


def _by_itself(rule: AutoRepeats, case: Progress, by_key: Mapping[str, Progress]) -> bool:
    """A base that nothing refers to is measured for its own sake."""
    if rule.quantity is Quantity.THROUGHPUT:
        return True
    others = any(other.base == case.key and other is not case for other in by_key.values())
    return (case.base == case.key or case.base not in by_key) and not others


def _stop_of_throughput(rule: AutoRepeats, case: Progress) -> Stop | None:
    if narrow(rule, case.values):
        return Stop.REACHED
    return Stop.PLATEAU if _plateau(rule, case.values) else None


def _plateau(rule: AutoRepeats, values: Sequence[float]) -> bool:
    n, now = len(values), half_width(values)
    if n < PLATEAU_FROM or now is None or now <= rule.target:
        return False
    then = half_width(values[: max(look for look in LOOKS if look <= PLATEAU_SHARE * n)])
    return then is not None and now >= then


def _to_next_look(case: Progress) -> int:
    n = len(case.values)
    return next((look for look in LOOKS if look > n), MOST_REPEATS) - n


def _decide_speedups(
    rule: AutoRepeats,
    cases: Sequence[Progress],
    more: dict[str, int],
    stopped: dict[str, Stop],
) -> None:
    """Every base with the cases that refer to it."""
    by_key = {case.key: case for case in cases}
    for base in cases:
        own = [case for case in cases if case.base == base.key and case is not base]
        if not own or base.key in more:
            continue  # it has no speedups, or not even its first six
        if base.key in stopped:
            stopped.update({case.key: stopped[base.key] for case in own if case.key not in stopped})
            continue
        open_cases = []
        for case in own:
            if case.key in more or case.key in stopped:
                continue
            if narrow(rule, case.values, base.values):
                stopped[case.key] = Stop.REACHED
            else:
                open_cases.append(case)
        if open_cases and all(_is_narrow(rule, c.values, base.values) for c in open_cases):
            more.update({case.key: CONFIRMING for case in (base, *open_cases)})
        elif open_cases:
            best = _worth_most(rule, base, open_cases)
            more.update({key: _to_next_look(by_key[key]) for key in best})
        elif all(case.key in stopped for case in own):
            stopped[base.key] = Stop.REACHED


def _worth_most(rule: AutoRepeats, base: Progress, open_cases: Sequence[Progress]) -> list[str]:
    """Where a further repeat narrows most per device second, and what comes close to it.

    The variance of a ratio is the sum of its two sides'; a repeat of a side with n of them takes
    1/n of that side's share away. The base's share is in every one of its cases.
    """
    gains = {case.key: _gain(case, 1) for case in open_cases if case.repeats < rule.max_repeats}
    if base.repeats < rule.max_repeats:
        gains[base.key] = _gain(base, len(open_cases))
    best = max(gains.values(), default=0.0)
    return [key for key, gain in gains.items() if gain >= WORTH_IT * best]


def _gain(case: Progress, shared_by: int) -> float:
    width = half_width(case.values) or 0.0
    return shared_by * width * width / len(case.values) / (case.gpu_s or 1.0)


def _within_limits(
    rule: AutoRepeats,
    cases: Sequence[Progress],
    more: dict[str, int],
    stopped: dict[str, Stop],
    spent_gpu_s: float,
) -> Decision:
    """Less what is over the most repeats, then less what is over the budget, case by case."""
    left = None if rule.budget_gpu_s is None else rule.budget_gpu_s - spent_gpu_s
    granted: dict[str, int] = {}
    for case in cases:
        wanted = min(more.get(case.key, 0), rule.max_repeats - case.repeats)
        if case.key in more and wanted <= 0:
            stopped[case.key] = Stop.MAX_REPEATS
            continue
        if left is not None and len(case.values) >= LOOKS[0] and wanted > 0:
            affordable = wanted if not case.gpu_s else int(max(0.0, left) / case.gpu_s)
            wanted = min(wanted, affordable)
            if wanted <= 0:
                stopped[case.key] = Stop.BUDGET
                continue
            left -= wanted * case.gpu_s
        if wanted > 0:
            granted[case.key] = wanted
    waiting = [c for c in cases if c.key not in granted and c.key not in stopped]
    if waiting and not granted:  # nobody they could wait for gets any further
        why = next(iter(stopped.values()), Stop.MAX_REPEATS)
        over = Stop.BUDGET if Stop.BUDGET in stopped.values() else Stop.MAX_REPEATS
        stopped.update({case.key: over if why is not Stop.FAILING else why for case in waiting})
    return Decision(granted, stopped)
