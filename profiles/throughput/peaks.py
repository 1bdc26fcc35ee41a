"""Dense peak FLOP/s of GPUs by precision: the table in peaks.toml."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("peaks.toml")


@lru_cache(maxsize=64)
def peak_tflop_per_s(gpu: str, precision: str) -> float | None:
    """In 10^12 FLOP/s, without sparsity; None for a GPU or precision that the table lacks.

    Parameters
    ----------
    gpu: as nvidia-smi calls it.
    precision: fp32, tf32, fp16, bf16.
    """
    for row in _rows():
        if any(re.search(name, gpu) for name in row["names"]):
            peak = row.get(precision)
            return None if peak is None else float(peak)
    return None


@lru_cache(maxsize=1)
def _rows() -> list[dict[str, Any]]:  # Any: TOML
    rows: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["gpu"]
    return rows
