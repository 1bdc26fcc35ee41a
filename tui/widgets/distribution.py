"""Repeats as dots on a line: where they lie, how many together, their median and its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from rich.text import Text

from backends.results.case_result import CaseResult
from tui.theme import ACCENT, LINE, MUTED, TEXT, WARN

REPEAT, OUTLIER, MEDIAN, INTERVAL = "•", "○", "┃", "─"
AT_MEDIAN = "╋"
"""The median, and several repeats in its column: no count covers it."""
TOGETHER = "²³⁴⁵⁶⁷⁸⁹"
"""So many repeats in one column: raised, as a figure before the line is a campaign's number."""
MANY = "#"
"""Ten repeats or more in one column."""
EMPTY_SHARE = 0.02
"""Of a value: how far a line reaches around repeats that are all equal."""


def legend(cases: Iterable[CaseResult]) -> str:
    """What the signs mean that lines of these cases have."""
    told = list(cases)
    spreads = [case.spread for case in told if case.spread is not None]
    parts = [
        f"{REPEAT} a repeat, {TOGETHER[0]} to {TOGETHER[-1]} so many together",
        f"{MEDIAN} median, {AT_MEDIAN} several there",
    ]
    if max((len(case.throughputs) for case in told), default=0) >= 10:
        parts.insert(1, f"{MANY} ten or more")
    if any(spread.interval is not None for spread in spreads):
        parts.append(f"{INTERVAL} its 95% interval")
    if any(spread.outliers for spread in spreads):
        parts.append(f"{OUTLIER} an outlier")
    return "; ".join(parts)


def limits(cases: Iterable[CaseResult]) -> tuple[float, float] | None:
    """From the slowest repeat of all cases to the fastest; None: none has succeeded."""
    values = [value for case in cases for value in case.throughputs]
    if not values:
        return None
    low, high = min(values), max(values)
    room = 0.0 if high > low else abs(high) * EMPTY_SHARE or 1.0
    return low - room, high + room


def ends_line(low: str, high: str, width: int) -> str:
    """What stands below the ends of a line of ``width`` columns, apart at any."""
    return f"{low}{' ' * max(1, width - len(low) - len(high))}{high}"


def distribution_line(case: CaseResult, across: tuple[float, float], width: int) -> Text:
    """The repeats of a case in ``width`` columns that reach ``across`` these values."""
    line: list[tuple[str, str]] = [(" ", "")] * width
    spread = case.spread
    if spread is None or width < 1:
        return Text(" " * width, end="", no_wrap=True)
    low, high = across

    def column(value: float) -> int:
        return round((value - low) / (high - low) * (width - 1))

    if spread.interval is not None:
        for place in range(column(spread.interval.low), column(spread.interval.high) + 1):
            line[place] = (INTERVAL, LINE)
    line[column(spread.median)] = (MEDIAN, ACCENT)
    strange = {column(case.throughputs[position]) for position in spread.outliers}
    counts = Counter(map(column, case.throughputs))
    for place, number in counts.items():
        at_median, odd = place == column(spread.median), place in strange
        if at_median and number == 1:
            continue  # the median itself: its mark says that it is there
        symbol = TOGETHER[number - 2] if 1 < number < 10 else MANY
        if number == 1:
            symbol = OUTLIER if odd else REPEAT
        elif at_median:
            symbol = AT_MEDIAN
        line[place] = (symbol, WARN if odd else ACCENT if at_median else TEXT)
    text = Text(end="", no_wrap=True)
    for colour, signs in groupby(line, key=itemgetter(1)):
        text.append("".join(sign for sign, _ in signs), colour or MUTED)
    return text
