"""What a plan cannot give, said before it costs anything."""

from __future__ import annotations

from collections.abc import Sequence

from backends.campaign.plan.selection import Plan, PlannedCase

FEWEST_FOR_A_RATIO = 3
"""Below, a ratio has no interval, so that no comparison can be decided (docs/reports.md)."""


def repeats_remarks(plan: Plan) -> tuple[str, ...]:
    """One line per number of repeats that is too small for an interval, with what it costs."""
    few: dict[int, list[PlannedCase]] = {}
    for planned in plan.cases:
        if planned.repeats < FEWEST_FOR_A_RATIO:
            few.setdefault(planned.repeats, []).append(planned)
    return tuple(_remark(repeats, few[repeats], plan) for repeats in sorted(few))


def _remark(repeats: int, cases: Sequence[PlannedCase], plan: Plan) -> str:
    profiles = dict.fromkeys(planned.profile.name for planned in cases)
    whose = "" if len(cases) == len(plan.cases) else f" of {', '.join(profiles)}"
    own = all(planned.profile.matrix.repeats == repeats for planned in cases)
    why = ", the profile's own number" if own and plan.selection.repeats is None else ""
    if repeats == 1:
        said = "it cannot tell how far repeats scatter, or whether a difference is one"
    else:
        said = "they give no interval, so that no difference can be told from noise"
    count = "1 repeat" if repeats == 1 else f"{repeats} repeats"
    return f"{count} per case{whose}{why}: {said}; 7 repeats can"
