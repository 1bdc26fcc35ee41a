"""Where each rank's time goes in a training step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any  # JSON


@dataclass(frozen=True, slots=True)
class RankTime:
    """Seconds per step of one rank, each of them once; for the rest its device was idle.

    ``communication_s``: exposed, while the device computed nothing. ``input_s``: the wait for data.
    """

    rank: int
    step_s: float
    compute_s: float
    communication_s: float
    input_s: float

    def __post_init__(self) -> None:
        """Raise ValueError for what no rank can have measured."""
        parts = (self.compute_s, self.communication_s, self.input_s)
        if self.rank < 0 or not all(math.isfinite(part) and part >= 0 for part in parts):
            raise ValueError("no seconds of a rank")
        if not math.isfinite(self.step_s) or self.step_s <= 0:
            raise ValueError("a step takes time")

    @property
    def late_s(self) -> float:
        """How long after the step began it was there for the others."""
        return max(0.0, self.step_s - self.communication_s)

    @property
    def idle_s(self) -> float:
        return max(0.0, self.step_s - self.compute_s - self.communication_s - self.input_s)

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RankTime:
        """Raises TypeError, LookupError or ValueError where it is none."""
        seconds = ("step_s", "compute_s", "communication_s", "input_s")
        if type(value["rank"]) is not int:
            raise TypeError("no rank")
        return cls(value["rank"], *(float(value[name]) for name in seconds))
