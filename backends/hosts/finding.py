"""What preflight says: one finding about one host, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # the number may be off; worth a look
    STOP = "stop"  # the run would fail, or its number would be wrong


@dataclass(frozen=True, slots=True)
class Finding:
    """``host`` is empty where the finding is about all hosts together.

    ``passing``: it is so at this moment and may be over in the next, such as load.
    """

    host: str
    level: Level
    what: str
    remedy: str = ""
    passing: bool = False


def worst(findings: Iterable[Finding]) -> Level:
    """The most serious level; OK where there are no findings."""
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)
