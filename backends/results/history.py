"""The same cases over many campaigns: how their figures went, where they changed, and whether what
they are at now is a regression.

Simulated and measured campaigns are never in one series, nor are units. In words:
docs/reports.md, "History".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from backends.hosts.fingerprint import (
    changes_text,
    field_text,
    fields_apart,
    unlike,
)
from backends.hosts.machines import Machines, machines_apart, nothing_shared
from backends.results.case_result import CaseResult
from backends.results.change_points import (
    Change,
    change_points,
    last_against_level,
)
from backends.results.comparison import (
    FAMILY_ALPHA,
    Verdict,
    check_threshold,
    judge,
    standing,
    verdict_words,
)
from backends.results.findings import Concern, Grade
from backends.results.gained_parameters import Assumed, Defaults, no_defaults, with_defaults
from backends.results.mixed_environments import is_mixed, shares_changed
from backends.results.ratios import Welch
from backends.results.recipes import Recipe, Unlike, recipes_apart
from backends.results.repeats_needed import needed_words, repeats_needed
from backends.results.run_result import RunResult
from backends.results.statistics import Drift, drift
from backends.results.student import quantile
from backends.results.summary import summarise
from backends.results.verdict_doubts import (
    Doubt,
    by_other_rules,
    doubt_of_environments,
    in_order,
    pairs_apart,
)
from profiles.errors import SelectionError

if TYPE_CHECKING:
    from profiles.scalars import Scalar

SEEN_MOSTLY = 0.8
"""Two-sided: a drop is told as one that would be seen when nine of ten such are."""


FEWEST_FOR_TREND = 6
"""Campaigns that can have one: see :func:`backends.results.statistics.drift`."""
_BEYOND = (Verdict.REGRESSION, Verdict.IMPROVEMENT)


class Why(StrEnum):
    """What a verdict on a history rests on."""

    CHANGE = "change"  # the last one that is beyond the threshold
    TREND = "trend"  # since then, or over all, beyond the threshold
    LAST = "last"  # nothing changed: the last campaign against its level
    FAILED = "failed"  # nothing succeeded in the last one
    ONE = "one"  # campaign with a figure, or none
    SCATTER = "scatter"  # campaigns too few, or with too few repeats, to know how much they scatter


def nobody_knows(_hosts: frozenset[str]) -> None:
    """What is known of hosts where nothing was recorded."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as a history takes it. ``began_at``: seconds since the epoch; of an imported one
    when it was imported. Of hosts by their names: ``machines``, as the campaign recorded them, and
    ``recipe``, what runs on them were started from; each gives None where nobody knows."""

    name: str
    path: Path
    began_at: float
    finished: bool
    simulated: bool
    imported: bool
    runs: tuple[RunResult, ...]
    machines: Callable[[frozenset[str]], Machines | None] = nobody_knows
    recipe: Callable[[frozenset[str]], Recipe | None] = nobody_knows


@dataclass(frozen=True, slots=True)
class Point:
    """A case in one campaign, by its place in :attr:`History.campaigns`.

    What changed since the last figure before it of which that is known:

    Parameters
    ----------
    environment: what differs, before and now; environment_changes: the same in words, without
        what both have.
    hosts: those of its own figure, or of its runs where there is none, in words; empty where they
        did not change.
    doubts: what of rule, hosts, devices and environment makes it another figure than that before.
    unlike: what its runs were not started alike from, ``baseline`` being what was before.
    """

    campaign: int
    case: CaseResult
    environment: tuple[str, str] | None = None
    environment_changes: str = ""
    hosts: str = ""
    unlike: tuple[Unlike, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def measured(self) -> bool:
        return bool(self.case.throughputs)


@dataclass(frozen=True, slots=True)
class LevelChange:
    """``point``: the first after it, in :attr:`CaseHistory.points`. ``change``: its statistics, the
    ratio being after over before. ``verdict``: as of a comparison of both levels, and why that may
    be none of what was changed."""

    point: int
    change: Change
    verdict: Verdict
    doubts: tuple[Doubt, ...] = ()

    @property
    def words(self) -> str:
        """The verdict as it is shown."""
        return verdict_words(self.verdict, self.doubts)


@dataclass(frozen=True, slots=True)
class CaseHistory:
    """One case over the campaigns that have it.

    Parameters
    ----------
    trend: since the last change that is beyond the threshold, or over all points.
    last: the last figure against its level before; None where it is the first of it.
    would_see: the relative drop in the last campaign that nine of ten times had been found; None
        where nobody can tell.
    needed: what would decide the last campaign against its level, in words; empty where it is
        decided, or nobody can tell.
    decisive: a regression that stands among all cases, which the exit code rests on.
    """

    profile: str
    case: str
    parameters: tuple[tuple[str, Scalar], ...]
    unit: str
    simulated: bool
    points: tuple[Point, ...]
    verdict: Verdict
    why: Why
    changes: tuple[LevelChange, ...] = ()
    trend: Drift | None = None
    last: Welch | None = None
    would_see: float | None = None
    needed: str = ""
    decisive: bool = False

    @property
    def measured(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.measured)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why a regression or an improvement may be none of what was changed; of what is neither
        whether that is for the environments of one figure."""
        if self.verdict not in _BEYOND:
            return (Doubt.MIXED,) if self.is_mixed else ()
        if self.why is not Why.TREND:
            return self.last_change.doubts if self.last_change else ()
        last = self.last_change
        since = [p for p in self.points[last.point if last else 0 :] if p.measured]
        doubts = [doubt for point in since[1:] for doubt in point.doubts]
        return in_order([*doubts, *_grade_doubt(since)])

    @property
    def is_mixed(self) -> bool:
        """The last figure is of several environments, or all but one are, and those are in no
        level."""
        mixed = [is_mixed(point.case) for point in self.measured]
        return any(mixed) and (mixed[-1] or mixed.count(False) < 2)

    @property
    def words(self) -> str:
        """The verdict as it is shown."""
        return verdict_words(self.verdict, self.doubts)

    @property
    def last_change(self) -> LevelChange | None:
        """The last that is beyond the threshold."""
        return next((c for c in reversed(self.changes) if c.verdict in _BEYOND), None)


@dataclass(frozen=True, slots=True)
class History:
    """``campaigns``: in the order in which they began. ``judged``: tests that were made, over
    which a regression of chance is guarded against."""

    threshold: float
    campaigns: tuple[Campaign, ...]
    cases: tuple[CaseHistory, ...]
    judged: int
    assumed: tuple[Assumed, ...] = ()

    @property
    def regressions(self) -> tuple[CaseHistory, ...]:
        return tuple(case for case in self.cases if case.verdict is Verdict.REGRESSION)

    @property
    def fails(self) -> tuple[CaseHistory, ...]:
        """What makes the exit code 1: decisive regressions, and cases that succeeded before and
        only failed in their last campaign."""
        return tuple(case for case in self.cases if case.decisive or case.why is Why.FAILED)


def history(
    campaigns: Sequence[Campaign], threshold: float = 0.02, defaults: Defaults = no_defaults
) -> History:
    """Case by case, over the successful repeats of each campaign.

    A regression: the last change of level that is beyond ``threshold`` (0.02: 2%) went down, or
    there is a downward trend since that is; of two campaigns, what ``compare`` says.

    Raises
    ------
    SelectionError: a threshold out of 0 … 1, or no campaign.
    """
    check_threshold(threshold)
    if not campaigns:
        raise SelectionError("no campaigns", remedy="name some, or a tag that some have")
    ordered = sorted(campaigns, key=lambda campaign: campaign.began_at)
    runs, assumed = with_defaults([campaign.runs for campaign in ordered], defaults)
    series: dict[_Key, list[Point]] = {}
    for place, own in enumerate(runs):
        for case in (case for group in summarise(own) for case in group.cases if _tried(case)):
            series.setdefault(_key(case), []).append(Point(place, case))
    cases = [
        _case_history(key, tuple(_with_what_changed(points, ordered)), threshold)
        for key, points in series.items()
    ]
    tests = [(p, at) for at, case in enumerate(cases) for p in _tests(case)]
    stands = standing(tests)
    cases = [
        replace(case, decisive=case.verdict is Verdict.REGRESSION and at in stands)
        for at, case in enumerate(cases)
    ]
    return History(threshold, tuple(ordered), tuple(cases), len(tests), assumed)


_Key = tuple[str, str, tuple[tuple[str, "Scalar"], ...], str, bool]


def _key(case: CaseResult) -> _Key:
    parameters = tuple(sorted(case.parameters.items()))
    return case.profile, case.case, parameters, case.unit, case.simulated


def _tried(case: CaseResult) -> bool:
    """What was only cancelled says nothing of the case: it is as if the campaign had not had it."""
    return any(run.state != "cancelled" for run in case.runs)


def _case_history(key: _Key, points: tuple[Point, ...], threshold: float) -> CaseHistory:
    found = CaseHistory(*key, points, Verdict.INSUFFICIENT, Why.ONE)
    places = [at for at, point in enumerate(points) if point.measured and not is_mixed(point.case)]
    if not points[-1].case.succeeded and any(point.case.succeeded for point in points):
        found = replace(found, why=Why.FAILED)
    if len(places) < 2:
        mixed = sum(point.measured for point in points) > 1 and found.why is not Why.FAILED
        return replace(found, verdict=Verdict.INCONCLUSIVE, why=Why.SCATTER) if mixed else found
    values = [points[at].case.throughputs for at in places]
    changes = tuple(
        LevelChange(places[change.at], change, judge(change.evidence, threshold)[0])
        for change in change_points(values, threshold)
    )
    found = replace(found, changes=tuple(_with_doubts(points, changes)))
    last = found.last_change
    since = [at for at in places if last is None or at >= last.point]
    trend = drift([statistics.median(points[at].case.throughputs) for at in since])
    against = last_against_level(values, [change.change.at for change in changes])
    if against is not None:
        sees = _would_see(*against)
        found = replace(found, last=against[0], would_see=sees)
    found = replace(found, trend=trend)
    if found.why is Why.FAILED:
        return found
    found = _judged(found, threshold)
    open_yet = (found.why, found.verdict) == (Why.LAST, Verdict.INCONCLUSIVE)
    if against is None or not open_yet or found.is_mixed:
        return found
    level = values[changes[-1].change.at if changes else 0 :]
    return replace(found, needed=_needed(level, threshold, against[1]))


def _needed(level: Sequence[Sequence[float]], threshold: float, places: int) -> str:
    """Of the last against the others: against one of repeats, as ``compare`` has it; else of
    campaigns, whose own scatter no number of repeats makes less."""
    *before, last = level
    if len(before) == 1:
        return needed_words(repeats_needed(before[0], last, threshold, places))
    means = [statistics.geometric_mean(values) for values in level]
    number = repeats_needed(means[:-1], means[-1:], threshold, places)
    return needed_words(number, "campaigns like it, and as many before it,")


def _with_doubts(points: Sequence[Point], changes: Sequence[LevelChange]) -> Iterator[LevelChange]:
    edges = [0, *(change.point for change in changes), len(points)]
    for change, began, ends in zip(changes, edges, edges[2:], strict=False):
        before, after = points[began : change.point], points[change.point : ends]
        grades = (*_grade_doubt(before), *_grade_doubt(after))
        yield replace(change, doubts=in_order((*grades, *points[change.point].doubts)))


def _grade_doubt(points: Sequence[Point]) -> list[Doubt]:
    """Where each figure of them is a number, no more: one that is better carries the level. That
    it is of one repeat is no doubt: how these scatter is known from the campaigns."""
    cases = [point.case for point in points if point.measured]
    return [Doubt.GRADE] * (bool(cases) and all(map(_is_a_number_alone, cases)))


def _is_a_number_alone(case: CaseResult) -> bool:
    return any(
        finding.ceiling is Grade.D and finding.concern is not Concern.FEW_REPEATS
        for finding in case.findings
    )


def _judged(case: CaseHistory, threshold: float) -> CaseHistory:
    last, trend = case.last_change, case.trend
    if trend is not None and trend.change < -threshold:
        return replace(case, verdict=Verdict.REGRESSION, why=Why.TREND)
    if last is not None:
        return replace(case, verdict=last.verdict, why=Why.CHANGE)
    if trend is not None and trend.change > threshold:
        return replace(case, verdict=Verdict.IMPROVEMENT, why=Why.TREND)
    if case.last is None:
        if not case.changes:
            return replace(case, verdict=Verdict.INCONCLUSIVE, why=Why.SCATTER)
        # The last campaign is alone on its level, by a change that is not beyond the threshold.
        return replace(case, verdict=case.changes[-1].verdict, why=Why.CHANGE)
    verdict, _ground = judge(case.last, threshold)
    if verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        verdict = Verdict.INCONCLUSIVE  # it does not stand over all places that were looked at
    return replace(case, verdict=verdict, why=Why.LAST)


def _would_see(last: Welch, places: int) -> float | None:
    if not last.error:
        return 0.0
    reach = quantile(1 - FAMILY_ALPHA / places, last.df) + quantile(SEEN_MOSTLY, last.df)
    return 1 - math.exp(-reach * last.error)


def _with_what_changed(points: Sequence[Point], campaigns: Sequence[Campaign]) -> Iterator[Point]:
    machines, recipe = None, None
    fingerprints: frozenset[str] = frozenset()
    before: CaseResult | None = None
    for point in points:
        own = campaigns[point.campaign]
        now = point.case.fingerprints
        hosts = point.case.figure_hosts
        on, made_of = own.machines(hosts), own.recipe(hosts)
        if on is not None and point.case.on_cpus:
            on = on.of_cpus()
        other = _environments_apart(fingerprints, now)
        yield replace(
            point,
            environment=other,
            environment_changes=changes_text(fingerprints, now)
            if other
            else shares_changed(before, point.case)
            if before and point.measured
            else "",
            hosts=machines_apart(machines, on, setup=other is None) if machines and on else "",
            unlike=recipes_apart(recipe, made_of, [point.case.profile]),
            doubts=in_order(
                [
                    *[Doubt.RULE] * (before is not None and by_other_rules(before, point.case)),
                    *_doubts(machines, on, fingerprints, now),
                ]
            ),
        )
        if point.measured:
            fingerprints, before = now or fingerprints, point.case
            machines, recipe = on or machines, made_of or recipe


def _doubts(
    ours: Machines | None, theirs: Machines | None, before: frozenset[str], now: frozenset[str]
) -> Iterator[Doubt]:
    if ours and theirs and nothing_shared(ours, theirs):
        yield Doubt.HOSTS
    if other := doubt_of_environments(before, now):
        yield other


def _environments_apart(before: frozenset[str], now: frozenset[str]) -> tuple[str, str] | None:
    if not pairs_apart(before, now):
        return None
    found = unlike(fields_apart(sorted(before), sorted(now)))
    ours, theirs = (
        ", ".join(field_text(key, own[side]) for key, own in found.items()) for side in (0, 1)
    )
    return (ours, theirs) if found else None


def _tests(case: CaseHistory) -> Iterator[float]:
    """One-sided: how often a history without a slow-down gives what this one did; of each test
    that was made of it. What found nothing counts among them."""
    if case.last is None and not case.changes:
        return
    last = case.last_change
    slower = last is not None and last.verdict is Verdict.REGRESSION
    yield last.change.p / 2 if last is not None and slower else 1.0
    if len(case.measured) >= FEWEST_FOR_TREND:
        trend = case.trend
        yield trend.p / 2 if trend is not None and trend.change < 0 else 1.0
