"""Which figures are shown as an MFU, wherever they come from: logs, arithmetic, journals, tables.

Model FLOP/s are a part of what a GPU can do at most: a share of 1 or more, or none at all, was
reckoned from a wrong peak or a wrong count of FLOP, whoever printed it. In FP8 there is no agreed
peak to be a share of: trainers print one of bf16's, for steps that are partly computed in FP8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MFU = "mfu"
_NAMES = re.compile(rf"{MFU}(?:_at_\d+)?")
_FP8 = re.compile(r"fp8|float8|e4m3|e5m2", re.IGNORECASE)


def is_fp8(precision: str) -> bool:
    """Whether a precision, as logs, parameters and workloads call it, is FP8, in part at least."""
    return _FP8.search(precision) is not None


def credible(metrics: Mapping[str, float], *, fp8: bool) -> dict[str, float]:
    """The metrics without an MFU that can be none."""
    return {
        name: value
        for name, value in metrics.items()
        if not _NAMES.fullmatch(name) or (not fp8 and 0 < value < 1)
    }


def beyond(metrics: Mapping[str, float], *, fp8: bool, whose: str) -> list[str]:
    """Why each MFU that cannot be is left out, as people read it; 0 and less is "not known".

    ``whose``: who reckoned it, as ``the log's``.
    """
    why = (
        "in FP8 there is no agreed peak to be a share of"
        if fp8
        else "none can be 100% or more: the peak of the device, its precision or the FLOP of the "
        "model are wrong"
    )
    return [
        f"{whose} {name} of {value:.1%} is left out: {why}"
        for name, value in metrics.items()
        if _NAMES.fullmatch(name) and value >= 1
    ]
