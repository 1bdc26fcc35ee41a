"""What can be a speed at all."""

from __future__ import annotations

SLOWEST, FASTEST = 1e-100, 1e100


def is_speed(value: float) -> bool:
    """Whether it can be one, in any unit: beyond these a square or a sum would be no number."""
    return SLOWEST <= value <= FASTEST
