"""The dict that DLPerf's extract scripts save, as JSON.

``{model: {case: {average_speed, batch_size_per_device, median_speed, speedup}}}``
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.results.layouts.common import DEFAULT, LayoutOptions, simulated
from backends.results.layouts.layout import Layout
from backends.results.numbers import fixed
from backends.results.results_json import to_json
from backends.results.summary import Group

Speeds = dict[str, float | int | None]


def dlperf_document(
    groups: Sequence[Group], options: LayoutOptions = DEFAULT
) -> dict[str, dict[str, Speeds]]:
    """Two decimals as there, null where nothing was measured.

    The model alone is the key where one group has it; else batch size, precision and whatever more
    it takes are appended as in DLPerf's log names: ``resnet50_b128_fp32``. Before figures that
    nobody measured stands ``SIMULATED_``.
    """
    names, decimals = _names(groups), options.throughput_decimals()
    return {
        name: {
            case.case: {
                "average_speed": _rounded(case.spread.mean if case.spread else None, decimals),
                "batch_size_per_device": case.batch_size,
                "median_speed": _rounded(case.spread.median if case.spread else None, decimals),
                "speedup": _rounded(case.speedup),
            }
            for case in group.cases
        }
        for name, group in zip(names, groups, strict=True)
    }


def _rounded(value: float | None, decimals: int = 2) -> float | None:
    return None if value is None else float(fixed(value, decimals))


def _names(groups: Sequence[Group]) -> list[str]:
    short = [re.sub(r"\W+", "", group.model.split(" ")[0]).lower() for group in groups]
    names = list(short)
    for i, group in enumerate(groups):
        if short.count(short[i]) > 1:
            batch = "" if group.batch_size is None else f"_b{group.batch_size}"
            names[i] += f"{batch}_{group.precision}" if group.precision else batch
    return [
        "SIMULATED_" * simulated([group])
        + (_long_name(name, group) if names.count(name) > 1 else name)
        for name, group in zip(names, groups, strict=True)
    ]


def _long_name(name: str, group: Group) -> str:
    others = (
        f"{key}-{value}"
        for key, value in group.parameters.items()
        if key not in ("batch_size", "precision")
    )
    return "_".join(filter(None, [name, group.profile, *others, group.campaign]))


LAYOUT = Layout(
    "dlperf-json",
    "what DLPerf's scripts save",
    {"json": lambda results, options: to_json(dlperf_document(results.groups, options))},
)
