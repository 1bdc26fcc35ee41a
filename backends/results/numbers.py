"""Numbers as the reports print them."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

NOTHING = "–"


def rounded(value: float, decimals: int = 2) -> Decimal:
    """To the nearest, halves up, of the decimal digits that the float shows: 747.295 is 747.30.

    Binary halves would make 747.29 of it, and nobody who reads both would understand.
    """
    exact = Decimal(repr(value))
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def fixed(value: float | None, decimals: int = 2, *, nothing: str = NOTHING) -> str:
    """``383.760``: always ``decimals`` digits after the point."""
    return nothing if value is None else f"{rounded(value, decimals):f}"


def trimmed(
    value: float | None, decimals: int = 2, *, thousands: bool = False, nothing: str = NOTHING
) -> str:
    """``2621.2``, ``352.23``, ``137,335``: no zeros at the end; small values keep three digits."""
    if value is None:
        return nothing
    if 0 < abs(value) < 1:
        decimals = max(decimals, 2 - math.floor(math.log10(abs(value))))
    text = f"{rounded(value, decimals):{',' if thousands else ''}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(value: float | None, decimals: int = 1, *, nothing: str = NOTHING) -> str:
    """``93.9%`` of 0.939."""
    return nothing if value is None else f"{rounded(value * 100, decimals):f}%"


def signed_percent(value: float) -> str:
    """``-2.1%`` of -0.021, ``+0.3%`` of 0.003."""
    return f"{value * 100:+.1f}%"


def ratio(value: float | None, *, is_base: bool = False, nothing: str = NOTHING) -> str:
    """A speedup: ``1`` for the base itself, two decimals otherwise."""
    return "1" if is_base and value is not None else fixed(value, nothing=nothing)
