"""What a plan takes of devices, and what that costs: said before it is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends.campaign.plan.plan import Basis, Plan, PlannedCase
from backends.results.past_result import PastOfCase
from profiles.format.case import Case

if TYPE_CHECKING:
    from profiles.format.profile import Profile


@dataclass(frozen=True, slots=True)
class PlanPrice:
    """``device_hours``: of all runs, as they were measured before or as their profiles say.

    ``cost``: of that, in the inventory's currency, on the cheapest and on the dearest of the hosts;
    None where one of them has no price. Where repeats go on until it is known, of the first ones.
    """

    device_hours: float
    cost: tuple[float, float] | None


def plan_price(plan: Plan) -> PlanPrice | None:
    """None where a profile does not say how long its runs take."""
    device_s = 0.0
    for planned in plan.cases:
        if (seconds := planned.expected_s) is None:
            return None
        runs = planned.repeats + (planned in plan.profiled)
        device_s += runs * planned.case.gpus * seconds
    prices = [host.price_per_hour for host in plan.hosts if host.price_per_hour is not None]
    hours = device_s / 3600
    cost = None
    if prices and len(prices) == len(plan.hosts):
        cost = (hours * min(prices), hours * max(prices))
    return PlanPrice(hours, cost)


@dataclass(frozen=True, slots=True)
class RunTime:
    """Of one run of a case."""

    case: Case
    seconds: float
    basis: Basis


def run_time(
    profile: Profile, case: Case, settings: Mapping[str, str], past: PastOfCase
) -> RunTime | None:
    """None where nobody knows. ``settings``: that are given; the others have their defaults."""
    given = profile.settings_with(settings)
    planned = PlannedCase(profile, case, 1, given, measured_s=past.run_s, share=past.share)
    seconds = planned.expected_s
    return None if seconds is None else RunTime(case, seconds, planned.basis)


def device_seconds(times: Iterable[RunTime | None], repeats: int) -> float | None:
    """What all repeats of these cases take of devices; None where one is not known, or none is."""
    found = list(times)
    known = [time.seconds * time.case.gpus for time in found if time is not None]
    return sum(known) * repeats if known and len(known) == len(found) else None
