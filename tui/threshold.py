"""The change that counts, as it is written."""

from __future__ import annotations

import math

from profiles.errors import SelectionError


def parse_threshold(text: str, where: str = "--threshold") -> float:
    """``2%`` or ``2`` as 0.02.

    Raises
    ------
    SelectionError: it is no number, or none from 0 up to 100.
    """
    try:
        found = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        found = math.nan
    if not 0 <= found < 1:
        raise SelectionError(
            f"{text!r} is no percentage from 0 up to 100",
            where=where,
            remedy="give one such as 2%",
        )
    return found
