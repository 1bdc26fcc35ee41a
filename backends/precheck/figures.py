"""What a precheck measures: figures, and what went wrong instead of one. Pure values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from profiles.cleantext import clean_text

MARK = "precheck: "
"""Before every figure in the log of a program of ours."""
LONGEST_LINE = 4000
MOST_FIGURES = 20_000
"""Of one log: 64 GPUs among each other have 4,032 links."""


class Stage(StrEnum):
    """What is measured, in this order."""

    LOOK = "look"  # which programs there are
    HOST = "host"  # CPU, memory, disk
    GPUS = "gpus"  # of each host by itself
    WITHIN = "within"  # a collective of each host's GPUs
    PAIRS = "pairs"  # two hosts at a time
    ALL = "all"  # all hosts together


class About(StrEnum):
    """What a figure is of."""

    HOST = "host"
    GPU = "gpu"
    LINK = "link"  # from one GPU to another of the same host
    PAIR = "pair"  # two hosts
    GROUP = "group"  # all of a collective


@dataclass(frozen=True, slots=True)
class Metric:
    """``tolerance``: a relative loss that is never called slow, for two good hosts differ by it.

    ``judged``: a low value names who has it; else it is told, and that is all.
    """

    title: str
    unit: str
    about: About
    tolerance: float
    judged: bool = True


METRICS: Mapping[str, Metric] = {
    "cpu_one": Metric("SHA-256 on one CPU", "MB/s", About.HOST, 0.20),
    "cpu_all": Metric("SHA-256 on all CPUs", "MB/s", About.HOST, 0.20),
    "cpu_clock": Metric("CPU clock", "MHz", About.HOST, 0.20, judged=False),
    "memory": Metric("memory", "GB/s", About.HOST, 0.30),
    "disk_write": Metric("disk, written", "MB/s", About.HOST, 0.75),
    "disk_read": Metric("disk, read", "MB/s", About.HOST, 0.75, judged=False),
    "gemm": Metric("matrix products", "TFLOP/s", About.GPU, 0.05),
    "gemm_sustained": Metric("sustained matrix products", "TFLOP/s", About.GPU, 0.07),
    "copy": Metric("GPU memory", "GB/s", About.GPU, 0.05),
    "to_device": Metric("host to GPU", "GB/s", About.GPU, 0.20),
    "from_device": Metric("GPU to host", "GB/s", About.GPU, 0.20),
    "sm_clock": Metric("SM clock under load", "MHz", About.GPU, 0.07),
    "peer": Metric("GPU to GPU", "GB/s", About.LINK, 0.10),
    "within": Metric("all-reduce within the host", "GB/s", About.HOST, 0.10),
    "pair": Metric("all-reduce of two hosts", "GB/s", About.PAIR, 0.15),
    "exchange": Metric("TCP between two hosts", "GB/s", About.PAIR, 0.40),
    "all": Metric("all-reduce of all", "GB/s", About.GROUP, 0.15),
    "ring": Metric("TCP while all send", "GB/s", About.PAIR, 0.60),
}
"""Every rate, by the name that programs and JSON have for it. The tolerances: docs/precheck.md."""

FAULTS = ("wrong", "ecc", "remapping")
"""Not rates: anything above 0 is a fault of the GPU."""
SLOWED = "slowed"
"""Above 0: something lowered an idle GPU's clock; the detail ``of`` says what."""


_SHAPES = {About.HOST: (1, 0), About.GPU: (1, 1), About.LINK: (1, 2), About.PAIR: (2, 0)}
"""How many hosts and devices a figure that a program prints is of; none prints one of a group."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value.

    ``hosts``: one; two of a pair; all of a group. ``devices``: of that host; two of a link, from
    and to. ``kind``: only what has the same is compared: a model of CPU or GPU, a way to measure.
    """

    metric: str
    value: float
    unit: str
    hosts: tuple[str, ...]
    devices: tuple[int, ...] = ()
    kind: str = ""
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def subject(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return self.hosts, self.devices

    @property
    def series(self) -> tuple[str, str]:
        """What it is compared within."""
        return self.metric, self.kind


@dataclass(frozen=True, slots=True)
class Trouble:
    """No figure, but an end. ``host``: whose doing it was; empty: nobody can tell. ``log``: below
    the precheck's directory. ``kind``: as the figure would have had it."""

    stage: Stage
    hosts: tuple[str, ...]
    reason: str
    host: str = ""
    log: str = ""
    kind: str = ""


EACH = "each"
"""The detail of a figure that was measured more than once: every value, in the order they came."""


def each_of(figure: Figure) -> Sequence[float]:
    """What was measured, in this order; the figure's value alone, where that was once."""
    each = figure.details.get(EACH)
    values = each if isinstance(each, list | tuple) else ()
    return [one for one in values if isinstance(one, int | float)] or [figure.value]


def said_in(log: bytes, hosts: Sequence[str], kind: str = "") -> Iterator[Figure]:
    """The figures that one of our programs printed; what is none, not finite, or of
    more or fewer than its metric is of, is left out.

    ``hosts``: of the run, by rank. ``kind``: of a host's own figures; those of GPUs have the model.
    """
    found = 0
    for line in log.split(b"\n"):
        at = line.find(MARK.encode())
        if at < 0 or len(line) > LONGEST_LINE:
            continue
        try:
            told = json.loads(line[at + len(MARK) :])
            figure = _figure(told, hosts, kind) if isinstance(told, dict) else None
        except (ValueError, OverflowError, RecursionError):  # of numbers, and of what is deep
            continue
        if figure is not None:
            found += 1
            if found > MOST_FIGURES:
                return
            yield figure


def _figure(told: dict[str, Any], hosts: Sequence[str], kind: str) -> Figure | None:
    name, value = told.pop("metric", None), told.pop("value", None)
    if name not in (*METRICS, *FAULTS) or isinstance(value, bool):
        return None
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    unit = clean_text(str(told.pop("unit", "")))[:20]
    whose = _ranks(told, len(hosts)) if "from" in told else (0,)
    devices = tuple(told.pop(key) for key in ("device", "to") if key in told)
    if whose is None or not all(type(d) is int and 0 <= d < 1024 for d in devices):
        return None
    about = METRICS[name].about if name in METRICS else About.GPU
    if (len(set(whose)), len(devices)) != _SHAPES.get(about):
        return None
    if "model" in told:
        kind = clean_text(str(told.pop("model")))[:100]
    details = {clean_text(str(key))[:30]: _plain(value) for key, value in told.items()}
    return Figure(
        name, float(value), unit, tuple(hosts[rank] for rank in whose), devices, kind, details
    )


def _ranks(told: dict[str, Any], count: int) -> tuple[int, ...] | None:
    ranks = told.pop("from"), told.pop("to", None)
    return ranks if all(type(rank) is int and 0 <= rank < count for rank in ranks) else None


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):  # else JSON has no word for it
        return value
    return clean_text(str(value))[:200]
