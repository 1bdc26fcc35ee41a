"""GPUs as Slurm writes them: ``gpu:h200:8(S:0-1)``, ``gpu:a100:2(IDX:0,3),gpu:v100:1(IDX:4)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GPU = re.compile(r"(?:gres[:/])?gpu(?::(?P<type>[^:,()]*[^:,()\d][^:,()]*))?:(?P<count>\d+)")
_INDICES = re.compile(r"\(IDX:([\d,-]+)\)")
_PART = re.compile(r"(?:[^,(]|\([^)]*\))+")


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
            found.append(Gpus(match["type"] or "", int(match["count"]), which))
    return tuple(found)


def device_indices(gres: str) -> tuple[int, ...]:
    """Which devices, whatever their types, in order."""
    return tuple(sorted({index for gpus in parse_gpus(gres) for index in gpus.indices}))


def _expanded(ranges: str) -> tuple[int, ...]:
    spans = [[int(end) for end in part.split("-")] for part in ranges.split(",") if part]
    return tuple(index for span in spans for index in range(span[0], span[-1] + 1))
