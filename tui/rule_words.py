"""What a measuring rule makes of the readings that count, see docs/statistics.md."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "elapsed": "all samples over all the time between readings",
    "mean": "of what the readings say",
    "median": "of what the readings say",
    "harmonic_mean": "of what the readings say",
    "trimmed_mean": "of what the readings say, without the largest and the smallest",
    "last": "of what the readings say",
}
"""By the name of the statistic."""
