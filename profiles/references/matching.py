"""Which published figures a result can be held against, and which only come near.

A percentage takes equality in four things: the workload, the precision, the GPU model and the
number of GPUs; and the same quantity in the same unit. What is not known is not equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from heapq import nsmallest

from profiles.gpu_models import gpu_model
from profiles.references.arithmetic import Arithmetic, on_gpu, same
from profiles.references.reference_tables import Measured, Reference

MOST_EQUAL = 3
MOST_NEAR = 2
"""Of a result: the nearest, so that they do not bury it."""


class Difference(StrEnum):
    """What a figure of the same workload is not equal in."""

    PRECISION = "precision"
    GPU = "gpu"
    GPUS = "gpus"
    UNIT = "unit"


@dataclass(frozen=True, slots=True)
class Subject:
    """A result as it is held against published ones.

    ``gpu``: as nvidia-smi names it; empty where it is not known. ``stated``: what its profile says
    that its precision is; ``called``: what it is called there, empty where it has none.
    ``figures``: value and unit.
    """

    workload: str
    stated: Arithmetic
    gpu: str
    gpus: int
    figures: Mapping[Measured, tuple[float, str]]
    framework: str = ""
    batch_size: int | None = None
    called: str = ""

    @property
    def precision(self) -> Arithmetic:
        """On its GPU."""
        model = gpu_model(self.gpu)
        return on_gpu(self.stated, has_tf32=model.has_tf32 if model else None)


@dataclass(frozen=True, slots=True)
class Held:
    """A result beside a published figure of the same workload; ``value``: the result's own."""

    reference: Reference
    subject: Subject
    value: float
    differs: tuple[Difference, ...]

    @property
    def comparable(self) -> bool:
        return not self.differs

    @property
    def ratio(self) -> float | None:
        """The result over the published figure; None where they are not comparable."""
        return self.value / self.reference.value if self.comparable else None


def held_against(subject: Subject, references: Iterable[Reference]) -> tuple[Held, ...]:
    """Those that it can be compared with, the likest first, then the nearest of the others.

    The order of ``references`` makes no difference.
    """
    workload = plain_workload(subject.workload)
    found = [
        Held(reference, subject, figure[0], tuple(_differences(subject, reference, figure[1])))
        for reference in references
        if plain_workload(reference.workload) == workload
        and (figure := subject.figures.get(reference.metric)) is not None
    ]
    equal = nsmallest(MOST_EQUAL, (held for held in found if held.comparable), key=_farness)
    near = nsmallest(MOST_NEAR, (held for held in found if not held.comparable), key=_farness)
    return (*equal, *near)


@lru_cache(maxsize=1024)
def plain_workload(name: str) -> str:
    """Names that differ in case, spaces, dashes and underscores only are of the same workload."""
    return re.sub(r"[\s_-]+", "", name).casefold()


@lru_cache(maxsize=256)
def plain_unit(unit: str) -> str:
    """``images/s`` of ``img/sec``: what is counted, per second, in the tables' spelling."""
    counted, slash, per = unit.strip().casefold().partition("/")
    counted = {"img": "images", "imgs": "images", "sentences": "sequences"}.get(counted, counted)
    return f"{counted}{slash}{'s' if per == 'sec' else per}"


def _differences(subject: Subject, reference: Reference, unit: str) -> Iterator[Difference]:
    if not same(subject.precision, reference.precision):
        yield Difference.PRECISION
    if gpu_model(subject.gpu) != reference.gpu:
        yield Difference.GPU
    if subject.gpus != reference.gpus:
        yield Difference.GPUS
    if plain_unit(unit) != plain_unit(reference.unit):
        yield Difference.UNIT


def _farness(held: Held) -> tuple[object, ...]:
    """Sorts the nearest first; two different figures never stand in the order of the tables."""
    there, here = held.reference, held.subject
    alike = (
        here.batch_size != there.batch_size,
        not there.framework.casefold().startswith(here.framework.casefold()),
    )
    newest = _newest_first(there.date)
    return (
        len(held.differs),
        abs(math.log2(here.gpus / there.gpus)),
        *((alike, newest) if held.comparable else (newest, alike)),
        [str(value) for value in (there.metric, there.system, there.framework, there.source)],
        [there.value, there.batch_size or 0, there.nodes, there.unit],
        [there.workload, str(there.precision), there.gpu.name, there.caveat, there.date],
    )


def _newest_first(date: str) -> tuple[int, ...]:
    parts = [int(part) for part in date.split("-") if part]
    return tuple(-part for part in (*parts, *[0] * (3 - len(parts))))
