"""What preflight says: one finding about one host, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from profiles.errors import SelectionError


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


class StoppedError(SelectionError):
    """Preflight found what would make the campaign fail or its numbers wrong."""

    def __init__(self, stop: Finding) -> None:
        super().__init__(
            f"preflight stops: {stop.what}",
            where=stop.host,
            remedy=stop.remedy or "mend it, or override it with --force",
        )


def overridden_stops(findings: Iterable[Finding], *, force: bool) -> tuple[str, ...]:
    """What an operator overrides who starts in spite of these findings, for the campaign to say.

    Raises
    ------
    StoppedError: there is something to override, and it was not.
    """
    stops = [finding for finding in findings if finding.level == Level.STOP]
    if stops and not force:
        raise StoppedError(stops[0])
    return tuple(f"{stop.host}: {stop.what}" for stop in stops)


def worst(findings: Iterable[Finding]) -> Level:
    """The most serious level; OK where there are no findings."""
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)
