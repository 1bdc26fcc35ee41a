"""What cases took of what was expected of them, which corrects what is expected of others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from statistics import median


def usual_share(shares: Mapping[Hashable, Sequence[float]], *kinds: Hashable) -> float | None:
    """The median of the first of these kinds of which there are some; None without any."""
    return next((median(found) for kind in kinds if (found := shares.get(kind))), None)
