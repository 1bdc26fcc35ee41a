"""GPUs as Slurm writes them: ``gpu:h200:8(S:0-1)``, ``gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:4)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GPU = re.compile(
    r"(?:gres[:/])?gpu(?::(?P<type>[^:,()]*[^:,()\d][^:,()]*))?:(?P<count>\d+)", re.ASCII
)
_INDICES = re.compile(r"\(IDX:([\d,-]+)\)", re.ASCII)
_PART = re.compile(r"(?:[^,(]|\([^)]*\))+")


MOST = 1024
"""Devices of a node that are believed."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """So many devices of one type; ``indices`` where Slurm tells which. ``type``: may be empty."""

    type: str
    count: int
    indices: tuple[int, ...] = ()


def parse_gpus(gres: str) -> tuple[Gpus, ...]:
    """The GPUs of a list of generic resources; others (shards, licences, NICs) are passed over."""
    found = []
    for part in _PART.findall(gres):
        if match := _GPU.match(part.strip()):
            indices = _INDICES.search(part)
            which = _expanded(indices[1]) if indices else ()
            count = min(int(match["count"][:9]), MOST)
            found.append(Gpus(match["type"] or "", count, which))
    return tuple(found)


def device_indices(gres: str) -> tuple[int, ...]:
    """Which devices, whatever their types, in order."""
    return tuple(sorted({index for gpus in parse_gpus(gres) for index in gpus.indices}))


def _expanded(ranges: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            end = int(last[:9]) if last.isdigit() else int(first[:9])
            found.update(range(int(first[:9]), min(end + 1, MOST)))
    return tuple(sorted(found))
