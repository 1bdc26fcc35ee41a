"""Numbers as people read them: one rule of rounding for tables, words, charts and the console."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal

NOTHING = "–"
DIGITS = 3
"""Of a figure below 1, however many decimals that takes: what was measured is never told as 0."""

_OF_ARITHMETIC = 1e-9
"""So far two floats may be apart that are the same quotient."""
_EXACT = Context(prec=800, rounding=ROUND_HALF_UP)  # a float has 309 digits before the point


def rounded(value: float, decimals: int = 2) -> Decimal:
    """To the nearest, halves up, of the decimal digits that the float shows: 747.295 is 747.30.

    Binary halves would make 747.29 of it, and nobody who reads both would understand. ``value`` is
    finite; negative ``decimals`` are zeros before the point.
    """
    return _rounded(Decimal(repr(float(value))), decimals)


def fixed(
    value: float | None, decimals: int = 2, *, thousands: bool = False, nothing: str = NOTHING
) -> str:
    """``383.760``, ``0.0513``: ``decimals`` digits after the point, more only where it takes them
    to show three of a figure below 1: 0.059955 is 0.0600, and 0.06 itself 0.06."""
    return nothing if value is None else _text(Decimal(repr(float(value))), decimals, thousands)


def trimmed(
    value: float | None, decimals: int = 2, *, thousands: bool = False, nothing: str = NOTHING
) -> str:
    """``2621.2``, ``352.23``, ``137,335``: the same without zeros at the end."""
    text = fixed(value, decimals, thousands=thousands, nothing=nothing)
    return text.rstrip("0").rstrip(".") if "." in text else text


def significant(
    value: float | None, digits: int = DIGITS, *, zeros: bool = False, nothing: str = NOTHING
) -> str:
    """``0.135``, ``1230`` of 1234: ``digits`` digits in all, no power of ten; with ``zeros`` those
    at the end as well, which are digits that were measured: ``0.100``."""
    if value is None:
        return nothing
    exact = Decimal(repr(float(value)))
    if not exact.is_finite():
        return str(float(value))
    found = _rounded(exact, digits - 1 - _magnitude(exact))
    found = _rounded(exact, digits - 1 - _magnitude(found))  # 0.09996 is 0.100
    text = f"{found:f}"
    return text.rstrip("0").rstrip(".") if "." in text and not zeros else text


def bytes_text(size: int) -> str:
    """``1.5 MiB``"""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):  # noqa: B007 (the last one is used)
        if value < 1024:
            break
        value /= 1024
    return f"{rounded(value, 0 if unit == 'B' else 1)} {unit}"


def readable(value: float | None, digits: int | None = None) -> str:
    """12 345.6 → "12,345.6"; about four significant digits unless told; None → "–"."""
    if value is None:
        return NOTHING
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 10_000 else 1 if size >= 100 else 2
    return fixed(value, digits, thousands=True)


def percent(
    value: float | None,
    decimals: int = 1,
    *,
    beyond: Iterable[float] = (),
    nothing: str = NOTHING,
) -> str:
    """``93.9%`` of 0.939; ``1.004%`` of 0.010036 where that is ``beyond`` a limit of 0.01: as many
    digits as show it, for each of these that it is above."""
    if value is None:
        return nothing
    if below := [limit for limit in beyond if limit < value < math.inf]:
        limit = max(below)
        while rounded(value, decimals + 2) <= Decimal(repr(float(limit))):
            decimals += 1
    return f"{_of_hundred(value, decimals)}%"


def scatter(value: float | None, *, beyond: Iterable[float] = (), nothing: str = NOTHING) -> str:
    """A CV: ``0.31%``; ``0.001%`` of 0.000012, which would be told as none."""
    text = percent(value, 2, beyond=beyond, nothing=nothing)
    return f"{significant(100 * value, 1)}%" if text == "0.00%" and value else text


def signed_percent(value: float, decimals: int = 1, *, beyond: Iterable[float] = ()) -> str:
    """``-2.1%`` of -0.021, ``+0.3%`` of 0.003; ``0.0%`` of what is not that much. ``beyond``: of
    either sign."""
    text = percent(abs(value), decimals, beyond=beyond)
    return text if not text.strip("0.%") else f"{'-' if value < 0 else '+'}{text}"


def end_text(shown: Callable[[float, int], str], end: float, decimals: int, same: float) -> str:
    """An end of an interval as ``shown`` with ``decimals``, and with more where it takes them to
    tell it from ``same``, that of no change: ``0.9999`` of 0.99991, which would be told as 1."""
    told = shown(end, decimals)
    no_change = float(shown(same, decimals).rstrip("%"))
    while abs(end - same) > _OF_ARITHMETIC and float(told.rstrip("%")) == no_change:
        decimals += 1
        told = shown(end, decimals)
    return told


def ratio(
    value: float | None, decimals: int = 2, *, is_base: bool = False, nothing: str = NOTHING
) -> str:
    """A speedup: ``1`` for the base itself, ``decimals`` otherwise."""
    return "1" if is_base and value is not None else fixed(value, decimals, nothing=nothing)


def _text(exact: Decimal, decimals: int, thousands: bool) -> str:
    if not exact.is_finite():
        return str(float(exact))
    finer = max(decimals, DIGITS - 1 - _magnitude(exact)) if abs(exact) < 1 else decimals
    found = _rounded(exact, finer)
    text = f"{found:{',' if thousands else ''}f}"
    while found == exact and finer > max(decimals, 0) and text.endswith("0"):
        text, finer = text[:-1], finer - 1
    return text.removesuffix(".")


def _of_hundred(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{_rounded(Decimal(repr(float(value))).scaleb(2), decimals):f}"


def _rounded(exact: Decimal, decimals: int) -> Decimal:
    """Without the sign of a zero."""
    found = exact.quantize(Decimal(1).scaleb(-decimals), context=_EXACT)
    return found if found else abs(found)


def _magnitude(exact: Decimal) -> int:
    """Of the first digit: 0 of 5.2, -2 of 0.04; 0 of zero, and of what is no number."""
    return exact.adjusted() if exact and exact.is_finite() else 0
