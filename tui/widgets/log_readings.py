"""Which lines of a run's log have a reading, and whether that counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from profiles.errors import DlperfError
from profiles.format.case import Case
from profiles.format.line_reading import LineReading
from profiles.format.measure_section import Rule
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.rule_for_case import rule_for
from profiles.logs.log_parser import LogParser
from profiles.logs.metrics import MetricValues
from profiles.logs.ranks import MPI_PREFIX, RankFilter
from profiles.logs.search import Search
from profiles.logs.sinks import FigureSink
from profiles.throughput.window import describe_window
from tui.widgets.cut_marks import LEFT_OUT, cropped

COUNTS, IS_LEFT_OUT = "┃", "┊"
MOST_BYTES = 1 << 20
"""Of a log, in which the reading is looked for with which its window begins, or ends."""

STEP = 16
"""Columns that are left to a step where what is behind it is cut."""


class _Figure(NamedTuple):
    """Behind which characters of a line its step ends, 0 without one, and its figure; and whether
    that is what the log sums up."""

    step: int
    value: int
    sums_up: bool


class _Lines:
    """What the lines of a log tell by its run's rule."""

    def __init__(self, rule: Rule, *, summed_up: bool) -> None:
        self._ranks = RankFilter(rule.ranks, rule.rank_prefix or MPI_PREFIX)
        summary = LineReading(reading=rule.summary) if rule.summary and summed_up else None
        nowhere = FigureSink(MetricValues("last"))
        self._searches = [
            (Search(one, self._ranks, nowhere), one is summary)
            for one in (summary, rule)
            if one is not None
        ]
        self.figure = lru_cache(maxsize=512)(self._figure)

    def _figure(self, text: str) -> _Figure | None:
        """The last of a line; None: it has no reading."""
        text = text[:LINE_LIMIT]
        for search, sums_up in self._searches:
            for start, end in self._ranks.cut(text)[0]:
                if places := search.places(text[start:end]):
                    step, value = places[-1].step[1], places[-1].value[1]
                    return _Figure(start + step if step > 0 else 0, start + value, sums_up)
        return None


class LogReadings:
    """Of one log, by the rule of its run's case.

    Parameters
    ----------
    profile_of: by which the run is measured; None: it is not here. Blocking.
    window: the number of the first reading that counts, and of the first that no more does (None:
        there is none); None: that is not known. summed_up: the log's summary counts, and no window.
    failed: why none counts, of a run that did not succeed.
    """

    def __init__(
        self,
        profile_of: Callable[[], Profile | None],
        case: Case,
        window: tuple[int, int | None] | None,
        *,
        summed_up: bool,
        failed: str = "",
    ) -> None:
        self._profile_of, self._case, self._window = profile_of, case, window
        self._summed_up, self._failed = summed_up, failed
        self._lines: _Lines | None = None
        self._bytes: tuple[float, float] | None = None  # where the lines begin that count, and end
        self.unknown = ""
        """Why no line says whether it counts, once it was looked."""

    def look(self, path: Path) -> None:
        """Where in the log those that count are; it may take a while.

        Raises
        ------
        OSError: the log cannot be read.
        """
        if (profile := self._profile_of()) is None:
            self.unknown = f"what counts is unknown: no profile {self._case.profile}"
            return
        self._case = replace(self._case, parameters={**profile.defaults, **self._case.parameters})
        try:
            rule = rule_for(profile, self._case)
        except DlperfError:
            self.unknown = f"what counts is unknown: {self._case.profile} has no rule for the case"
            return
        self._lines = _Lines(rule, summed_up=self._summed_up)
        if self._summed_up:
            self._bytes = (inf, inf)
        elif self._window is not None:
            self._bytes = self._lines_of(profile, path, *self._window)
        if self._bytes is None:
            wanted = f"{rule.statistic.replace('_', ' ')} of the {describe_window(rule.window)}"
            at_end = f"which count is known at its end ({wanted})"
            self.unknown = f"{self._failed}: none counts" if self._failed else at_end

    def _lines_of(
        self, profile: Profile, path: Path, first: int, until: int | None
    ) -> tuple[float, float] | None:
        found: list[float] = [0] if first == 0 else []
        wanted = 1 if until is None else 2
        parser, count, at = LogParser(profile, self._case, keep=False), 0, 0
        with path.open("rb") as log:
            while len(found) < wanted and at < MOST_BYTES and (line := log.readline(MOST_BYTES)):
                count += len(parser.feed(line))
                if count > (until if found and until is not None else first):
                    found.append(at)
                at += len(line)
        if at < MOST_BYTES:  # what it has not is still to come
            found += [inf] * (2 - len(found))
        elif until is None:
            found += [inf] * bool(found)
        return (found[0], found[1]) if len(found) == 2 else None

    def mark(self, start: int, text: str) -> str:
        """Of the line that begins at the byte ``start``; "" where it has no reading, or whether it
        counts is not known."""
        if self._bytes is None or self._lines is None:
            return ""
        if (figure := self._lines.figure(text)) is None:
            return ""
        begin, end = self._bytes
        return COUNTS if begin <= start < end or figure.sums_up else IS_LEFT_OUT

    def places(self, text: str) -> tuple[int, int] | None:
        """In which columns the step of a line and its figure end; 0: it has no step; None: it has
        no reading."""
        figure = self._lines.figure(text) if self._lines is not None else None
        if figure is None:
            return None
        return cell_len(text[: figure.step]), cell_len(text[: figure.value])


def figure_in_sight(strip: Strip, ends: tuple[int, int] | None, width: int, base: Style) -> Strip:
    """``width`` columns of a line, its figure and, before a cut, its step among them; both from
    where a word begins. ``ends``: :attr:`LogReadings.places`."""
    step, figure = ends or (0, 0)
    end = min(figure + 1, strip.cell_length)
    if (begin := max(0, end - width)) == 0:
        return cropped(strip, 0, width, base)
    if not 0 < step < begin + STEP or width < 3 * STEP:
        return cropped(strip, _word(strip, begin, figure), width, base)
    start = _word(strip, max(0, step - STEP), step)
    if start >= begin:
        return cropped(strip, start, width, base)
    head = cropped(strip.crop(0, step), start, step - start, base)
    rest = width - head.cell_length
    begin = _word(strip, max(step, end - rest), figure)
    return Strip.join([head, cropped(strip, begin, rest, base, before=LEFT_OUT)])


def _word(strip: Strip, start: int, end: int) -> int:
    """The column before the first word that begins between these; ``start`` without one."""
    return start + max(0, strip.crop(start, end).text.find(" ")) if start else 0
