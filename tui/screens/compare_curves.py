"""The curves of a compared case: those of all campaigns, relative to one case that all have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from backends.results.comparison import ComparedCase
from backends.results.summary import Group, common_base, held_to
from tui.side_by_side import SideBySide
from tui.theme import MUTED
from tui.widgets.chart import Plot
from tui.widgets.scaling_plot import (
    TOO_FEW,
    Quantity,
    curve,
    curve_title,
    measured,
    scaling_plot,
    why_no_curve,
)

NO_BASE = "no speedup, as no case has a result in all of them"


@dataclass(frozen=True, slots=True)
class Curves:
    """``why_per_device``: where that is what there is, whatever was asked for."""

    plot: Plot
    title: Text
    why_per_device: str = ""


def curves_of(
    found: SideBySide,
    place: int,
    case: ComparedCase,
    groups: Sequence[Group | None],
    quantity: Quantity,
    *,
    width: int,
) -> Curves:
    """``groups``: of the case, in each campaign; ``place``: of the candidate."""
    measured_ones = [one for one in groups if one is not None and one.measured_cases]
    base = common_base(measured_ones)
    apart = bool(measured_ones) and base is None
    if apart:
        quantity = Quantity.PER_DEVICE
    own = [held_to(one, base) if base and one in measured_ones else one for one in groups]
    known = [one for one in own if one is not None]
    curves = [
        (side.called, curve(group, quantity) if group else ())
        for side, group in zip(found.sides, own, strict=True)
    ]
    on = own[place]
    cursor = None
    if on is not None and case.candidate is not None:
        cursor = measured(case.candidate, on, quantity)
    plot = scaling_plot(
        curves,
        width=width,
        quantity=quantity,
        cursor=cursor,
        kept=(found.baseline, place),
        empty=next((why_no_curve(one, quantity) for one in known), TOO_FEW),
        by_place=True,
        bases=next(([one.base_case.gpus] * len(own) for one in known if one.base == base), ()),
    )
    why = f" · {NO_BASE}" * apart
    room = width - len(why)
    title = curve_title(quantity, case.unit, known, base or "", room=room).append(why, MUTED)
    return Curves(plot, title, NO_BASE if apart else "")
