"""What preflight says: one finding about one host, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from profiles.errors import SelectionError

Say = Callable[[str], None]
"""Takes a line about what is under way."""


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # the number may be off; worth a look
    STOP = "stop"  # the run would fail, or its number would be wrong


@dataclass(frozen=True, slots=True)
class Finding:
    """``host`` is empty where the finding is about all hosts together.

    ``passing``: it is so at this moment and may be over in the next, such as load.
    ``harmless``: whatever else it does, it cannot change what is measured.
    """

    host: str
    level: Level
    what: str
    remedy: str = ""
    passing: bool = False
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class InSpiteOf:
    """What a campaign is started in spite of, for its results to say: stops that its operator
    overrode, and warnings of what may change its figures."""

    stops: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class StoppedError(SelectionError):
    """Preflight found what would make the campaign fail or its numbers wrong."""

    def __init__(self, stop: Finding) -> None:
        super().__init__(
            f"preflight stops: {stop.what}",
            where=stop.host,
            remedy=stop.remedy or "mend it, or override it with --force",
        )


def in_spite_of(findings: Sequence[Finding], *, force: bool) -> InSpiteOf:
    """What an operator overrides who starts in spite of these findings.

    Raises
    ------
    StoppedError: there is something to override, and it was not.
    """
    stops = [finding for finding in findings if finding.level == Level.STOP]
    if stops and not force:
        raise StoppedError(stops[0])
    warnings = (f for f in findings if f.level == Level.WARN and not f.harmless)
    return InSpiteOf(_lines(stops), _lines(warnings))


def _lines(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(f"{found.host}: {found.what}" if found.host else found.what for found in findings)


def worst(findings: Iterable[Finding]) -> Level:
    """The most serious level; OK where there are no findings."""
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)
