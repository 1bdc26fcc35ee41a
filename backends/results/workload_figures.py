"""A run's further figures as people read them: each with its name, its unit and fit digits.

What a workload is made of (layers, sequence length, devices per group) says nothing of how fast it
was, and stands apart from what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping

from backends.results.busbw_curve import CURVE, size_text
from backends.results.numbers import percent, readable
from profiles.format.run_fact_names import NUMBERS

_CONFIGURATION = NUMBERS | {"size_bytes"}
_SUFFIXES = {
    "_tokens_per_s": "tokens/s",
    "_gb_per_s": "GB/s",
    "_steps_per_s": "steps/s",
    "_per_s": "1/s",
    "_mib": "MiB",
    "_us": "µs",
    "_ms": "ms",
    "_s": "s",
}
"""How names end that say their unit, the longest first."""
_NAMED = {
    "tokens_per_s_per_gpu": ("tokens/s per GPU", ""),
    "tflop_per_s_per_gpu": ("TFLOP/s per GPU", ""),
    "steps_per_s": ("steps/s", ""),
    "compute_ips": ("without data loading", "images/s"),
    "memory": ("memory, by its log", "MiB"),
    "time_to_train": ("time to train", "s"),
    "algbw": ("algorithm bandwidth", "GB/s"),
    "avg_busbw": ("average busbw", "GB/s"),
    "in_place_busbw": ("in-place busbw", "GB/s"),
    "busbw_within_host": ("busbw within a host", "GB/s"),
    "busbw_across_hosts": ("busbw across hosts", "GB/s"),
    "size_bytes": ("size", ""),
    "loss": ("training loss", ""),
}
_FRACTIONS = frozenset({"mfu"})
_PERCENTAGES = frozenset({"top1", "accuracy"})
_LIKE_THE_THROUGHPUT = frozenset({"compute_ips"})
"""Speeds over the window's readings, as the throughput is where its log does not sum that up."""
OTHER_READINGS = "‡ of the window's readings, and the throughput of those that its log sums up"

Rows = list[tuple[str, str]]


def configuration(metrics: Mapping[str, float]) -> Rows:
    """What the log states of the workload itself, as (name, value)."""
    return [(_label(name), figure_text(name, metrics[name])) for name in _in_order(metrics, True)]


def measurements(metrics: Mapping[str, float], *, summed_up: bool = False) -> Rows:
    """What was measured beside the throughput, as (name, value); sizes in their order. What a
    collective tells of one size says of which. ``summed_up``: the throughput is the log's own
    summary; what is over other readings than that has a ‡."""
    sized = _of_one_size(metrics.get("size_bytes"))
    other = of_other_readings(metrics, summed_up=summed_up)
    return [
        (
            _label(name) + sized.get(name, ""),
            figure_text(name, metrics[name]) + " ‡" * (name in other),
        )
        for name in _in_order(metrics, False)
    ]


def other_readings(metrics: Mapping[str, float], *, summed_up: bool) -> Rows:
    """What the ‡ of :func:`measurements` says, where there is one."""
    told = of_other_readings(metrics, summed_up=summed_up)
    return [("", OTHER_READINGS)] if told else []


def of_other_readings(metrics: Mapping[str, float], *, summed_up: bool) -> list[str]:
    """Speeds that are no match for a throughput which its log sums up."""
    return sorted(_LIKE_THE_THROUGHPUT & metrics.keys()) if summed_up else []


def _of_one_size(largest: float | None) -> Mapping[str, str]:
    """As ``torch-allreduce`` and ``nccl-tests`` define them, which tell their largest size."""
    if largest is None or largest < 0:
        return {}
    at = f" at {size_text(int(largest))}"
    return {"latency_us": " at the smallest size", "p99_us": at, "straggler_us": at}


def figure_text(name: str, value: float) -> str:
    """The metric of this name with its unit: ``45.2%`` of the ``mfu`` 0.452, ``0.0627 s``."""
    if name == "size_bytes" and value.is_integer() and value >= 0:
        return size_text(int(value))
    if name in _FRACTIONS:
        return percent(value)
    text = readable(value, 0) if value.is_integer() else readable(value)
    if name in _PERCENTAGES:
        return f"{text}%"
    unit = _label_and_unit(name)[1]
    return f"{text} {unit}" if unit else text


def _in_order(metrics: Mapping[str, float], wanted: bool) -> list[str]:
    def place(name: str) -> tuple[int, str, int]:
        found = CURVE.fullmatch(name)
        return (1, "", int(found[1])) if found else (0, name, 0)

    return sorted((name for name in metrics if (name in _CONFIGURATION) is wanted), key=place)


def _label(name: str) -> str:
    return _label_and_unit(name)[0]


def _label_and_unit(name: str) -> tuple[str, str]:
    if name in _NAMED:
        return _NAMED[name]
    if (found := CURVE.fullmatch(name)) is not None:
        return f"busbw at {size_text(int(found[1]))}", "GB/s"
    if name in _CONFIGURATION:
        return name.replace("_", " "), ""
    for suffix, unit in _SUFFIXES.items():
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix).replace("_", " "), unit
    return name.replace("_", " "), ""
