"""The bus bandwidth of a collective over its sizes, from what the record of each run keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from backends.results.case_result import CaseResult
from backends.results.run_result import BANDWIDTH
from backends.results.statistics import coefficient_of_variation
from backends.results.summary import Group
from backends.results.translations import Lang, pick

CURVE = re.compile(r"busbw_gb_per_s_at_(\d+)", re.ASCII)
"""The metric of one size in bytes, as nccl-tests and torch-allreduce have it."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def is_collective(group: Group) -> bool:
    return group.unit == BANDWIDTH


def bandwidth_words(group: Group, lang: Lang = "en") -> str:
    """What the figures of a collective are: ``bus bandwidth at 4 GiB``, without the size where it
    is not known or not the same of all."""
    sizes = {case.metrics.get("size_bytes") for case in group.measured_cases}
    (size,) = sizes if len(sizes) == 1 else (None,)
    if size is None or size < 0:
        return pick(lang, "bus bandwidth", "总线带宽")
    text = size_text(int(size))
    return pick(lang, f"bus bandwidth at {text}", f"{text} 时的总线带宽")


def curve(case: CaseResult) -> dict[int, float]:
    """GB/s by bytes, the median of the repeats, sizes ascending.

    At the size that is reported, where that is known, it is the median of the reported figures,
    also where the log sums the same trials up another way, by the median of their times.
    """
    found = _points(case.metrics)
    size = case.metrics.get("size_bytes")
    if size is not None and case.spread is not None and (int(size) in found or not found):
        found[int(size)] = case.spread.median
    return dict(sorted(found.items()))


def curve_scatter(case: CaseResult) -> dict[int, float]:
    """The CV of the repeats by bytes, where at least two have a figure of that size; of the size
    that is reported, that of the reported figures, as in :func:`curve`."""
    runs = [_points(run.metrics) for run in case.measured_runs]
    reported = case.metrics.get("size_bytes")
    found = {
        size: case.spread.cv
        if size == reported and case.spread is not None
        else coefficient_of_variation([points[size] for points in runs if size in points])
        for size in curve(case)
    }
    return {size: cv for size, cv in found.items() if cv is not None}


def _points(metrics: Mapping[str, float]) -> dict[int, float]:
    named = {CURVE.fullmatch(name): value for name, value in metrics.items()}
    return {int(match[1]): value for match, value in named.items() if match}


def size_text(size: int) -> str:
    """``4 GiB``, ``512 B``; bytes where it is no whole number of more."""
    power = 0
    while size and size % 1024 == 0 and power < len(_UNITS) - 1:
        size //= 1024
        power += 1
    return f"{size} {_UNITS[power]}"
