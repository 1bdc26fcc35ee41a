"""What was measured before of a case that may be run again: how much, how sure, and how long it
took.

Simulated and measured results are never taken together, nor those of other GPUs than today's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from backends.results.findings import Grade
from backends.results.usual_share import usual_share
from profiles.case_tag import parse_tag
from profiles.format.case import CLUSTER, Case
from profiles.format.expected_duration import expected_s
from profiles.scalars import Scalar, scalar_text

if TYPE_CHECKING:
    from profiles.format.profile import Profile

PLACES = ("directory", "file", "executable")
"""Checks of settings that say where something lies, which makes no figure another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A case as one campaign ran it.

    Parameters
    ----------
    settings: of its profile there; None where the campaign does not say, as an imported one.
    devices: the GPU model, or the CPU; ``A + B`` of several, empty where it is not known.
    at: when its last run ended, in seconds since the epoch.
    """

    profile: str
    tag: str
    parameters: Mapping[str, Scalar]
    settings: Mapping[str, str] | None
    devices: str
    campaign: str
    path: Path
    at: float
    simulated: bool
    imported: bool

    @property
    def label(self) -> str:
        """As :attr:`~profiles.format.case.Case.label`."""
        return Case(self.profile, *parse_tag(self.tag), self.parameters).label


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResult(Past):
    """What it measured.

    Parameters
    ----------
    throughput: global samples/s in ``unit``, the median of ``repeats`` successful runs.
    half_width: relative, of the 95% interval, of two repeats Student's; None for one.
    speedup: over the base of its campaign; None without one, and of the base itself.
    is_base: other cases have their speedup over it.
    marks: what a speedup has beside it, as in every table; see
        :func:`backends.results.layouts.cells.speedup_marks`.
    run_s: how long a run took, the median; None where nobody knows.
    log_changed: a log of it was changed or removed, as far as that is known.
    logs_unread: whether they were is not known: logs of its campaign have to be read for that.
    """

    throughput: float
    unit: str
    repeats: int
    half_width: float | None
    grade: Grade | None
    run_s: float | None
    speedup: float | None = None
    is_base: bool = False
    marks: tuple[str, ...] = ()
    log_changed: bool = False
    logs_unread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFailure(Past):
    """None of its runs succeeded; ``reason``: of the last that failed."""

    reason: str


LOGS_CHANGED = "logs changed"
"""What a list says of a campaign of which some were."""


def logs_changed(results: Iterable[Past]) -> bool:
    """A log of one of them was changed or removed."""
    return any(isinstance(past, PastResult) and past.log_changed for past in results)


def fastest(results: Iterable[Past]) -> PastResult | None:
    """Of the highest throughput in the unit of the first; None where nothing was measured."""
    measured = [past for past in results if isinstance(past, PastResult)]
    alike = (past for past in measured if past.unit == measured[0].unit)
    return max(alike, key=lambda past: past.throughput, default=None)


@dataclass(frozen=True, slots=True)
class PastOfCase:
    """``same``: what can stand for the case as it would be run now, the newest first. ``other``:
    the newest with other settings, where there is none. ``failed``: run as now it failed, and has
    not succeeded since. ``share``: what measured cases took of what the profile says, those of its
    parameters where there are such; None where none was measured."""

    same: tuple[PastResult, ...] = ()
    other: PastResult | None = None
    failed: PastFailure | None = None
    share: float | None = None

    @property
    def newest(self) -> PastResult | None:
        return self.same[0] if self.same else None

    @property
    def run_s(self) -> float | None:
        """How long a run took when it was measured last."""
        return next((past.run_s for past in self.same if past.run_s is not None), None)


CaseKey = tuple[str, frozenset[tuple[str, str]]]
"""Tag and parameters."""


def by_case(results: Iterable[Past], profile: Profile) -> Mapping[CaseKey, list[Past]]:
    """A profile's, under the case that each is of today: a parameter that the profile gained later
    had its default then."""
    found: dict[CaseKey, list[Past]] = {}
    for past in results:
        if past.profile == profile.name:
            parameters = {**profile.defaults, **past.parameters}
            found.setdefault(_key(past.tag, parameters), []).append(past)
    return found


def past_of_case(
    results: Mapping[CaseKey, Iterable[Past]],
    profile: Profile,
    case: Case,
    settings: Mapping[str, str],
    devices: Collection[str],
    *,
    simulated: bool,
) -> PastOfCase:
    """Those of ``results`` (:func:`by_case`) that are of this case, under what makes a difference.

    ``settings``: as they are given now; the others have their defaults. ``devices``: of the hosts
    that may be used, all of whose models a result may be of; empty where they are not known, and
    then of any.
    """
    there = _models(devices)
    found = [
        past
        for past in results.get(_key(case.tag, case.parameters), ())
        if past.simulated == simulated and (not there or _models([past.devices]) <= there)
    ]
    found.sort(key=lambda past: (-past.at, past.campaign))
    as_now = [past for past in found if other_settings(past, profile, settings) == {}]
    same = tuple(past for past in as_now if isinstance(past, PastResult))
    others = (past for past in found if isinstance(past, PastResult) and not same)
    failed = as_now[0] if as_now and isinstance(as_now[0], PastFailure) else None
    return PastOfCase(same, next(others, None), failed)


def past_of_profile(
    found: Mapping[tuple[str, str], Iterable[Past]],
    profile: Profile,
    settings: Mapping[str, str],
    devices: Collection[str],
    *,
    simulated: bool,
) -> Callable[[Case], PastOfCase]:
    """Of each of its cases, with its ``share``. ``found``: by profile and tag. The rest as of
    :func:`past_of_case`."""
    own = (results for (name, _), results in found.items() if name == profile.name)
    there = by_case(chain.from_iterable(own), profile)
    shares: dict[Hashable, list[float]] = defaultdict(list)

    def known(case: Case) -> PastOfCase:
        return past_of_case(there, profile, case, settings, devices, simulated=simulated)

    given = profile.settings_with(settings)
    for one, *_ in there.values():
        parameters = {**profile.defaults, **one.parameters}
        case = Case(profile.name, *parse_tag(one.tag), parameters)
        took, usual = known(case).run_s, expected_s(profile, case, given)
        if took and usual:
            for kind in (_parameters(parameters), None):
                shares[kind].append(took / usual)

    def past(case: Case) -> PastOfCase:
        share = usual_share(shares, _parameters(case.parameters), None)
        return replace(known(case), share=share)

    return past


def _models(devices: Iterable[str]) -> set[str]:
    """Of several hosts, or of several environments."""
    return {model for told in devices for model in re.split(" [+/] ", told)}


def other_settings(
    past: Past, profile: Profile, settings: Mapping[str, str]
) -> dict[str, str] | None:
    """What it had in place of today's settings, by name; None where nobody knows. A place where
    something lies makes no difference; nor does a setting that the profile did not have then."""
    matter = [name for name, setting in profile.settings.items() if setting.check not in PLACES]
    if not matter:
        return {}
    if past.settings is None:
        return None
    now = profile.settings_with(settings)
    return {
        name: past.settings[name]
        for name in matter
        if name in past.settings and past.settings[name] != now[name]
    }


def _key(tag: str, values: Mapping[str, Scalar]) -> CaseKey:
    """The same on whichever cluster."""
    return tag, _parameters(values)


def _parameters(values: Mapping[str, Scalar]) -> frozenset[tuple[str, str]]:
    return frozenset((name, scalar_text(x)) for name, x in values.items() if name != CLUSTER)
