"""What a plan takes of devices, and what that costs: said before it is started."""

from __future__ import annotations

from dataclasses import dataclass

from backends.campaign.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class PlanPrice:
    """``device_hours``: of all runs, by the profiles' own estimates.

    ``cost``: of that, in the inventory's currency, on the cheapest and on the dearest of the hosts;
    None where one of them has no price. ``at_least``: repeats go on until it is known, and these
    are the first.
    """

    device_hours: float
    cost: tuple[float, float] | None
    at_least: bool


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
    return PlanPrice(hours, cost, plan.selection.auto is not None)
