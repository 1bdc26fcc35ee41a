"""What preflight says: one finding about one host, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from profiles.errors import SelectionError

Say = Callable[[str], None]
"""Takes a line about what is under way."""


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # the number may be off; worth a look
    STOP = "stop"  # the run would fail, or its number would be wrong


@dataclass(frozen=True, slots=True)
class Bearing:
    """Which runs a finding bears on: those of these ``profiles`` and case ``tags`` (empty: of any)
    that are on a host of ``hosts``, of two groups where it is about what those do to each other
    (none: anywhere), and there on one of these ``gpus`` (empty: on any)."""

    profiles: tuple[str, ...] = ()
    hosts: tuple[tuple[str, ...], ...] = ()
    gpus: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()

    def concerns(
        self,
        profile: str,
        hosts: Collection[str],
        devices: Mapping[str, Collection[int]],
        tag: str = "",
    ) -> bool:
        """A run on these hosts; ``devices``: which of them, where that is known; ``tag``: of its
        case, empty where that is any."""
        touched = [group for group in self.hosts if not set(group).isdisjoint(hosts)]
        there = [set(devices[name]) for group in touched for name in group if name in devices]
        return (
            (not self.profiles or profile in self.profiles)
            and (not self.tags or not tag or tag in self.tags)
            and len(touched) >= min(2, len(self.hosts))
            and not (self.gpus and there and all(own.isdisjoint(self.gpus) for own in there))
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """``host`` is empty where the finding is about all hosts together.

    ``bearing``: which runs it is about; None: those on the host.
    ``harmless``: whatever else it does, it cannot change what is measured.
    ``by_facts``: it follows from what hosts told of themselves, and is renewed with that.
    """

    host: str
    level: Level
    what: str
    remedy: str = ""
    harmless: bool = False
    bearing: Bearing | None = None
    by_facts: bool = field(default=False, compare=False)

    def of_any(self, profiles: Collection[str]) -> bool:
        """Whether it bears on runs of one of these."""
        own = self.bearing.profiles if self.bearing is not None else ()
        return not own or not set(own).isdisjoint(profiles)


@dataclass(frozen=True, slots=True)
class InSpiteOf:
    """What a campaign is started in spite of, for its results to say: stops that its operator
    overrode, and warnings of what may change its figures, with the runs of which each is.

    ``stop_bearings``: of which runs each of the stops is; of any where there is none.
    """

    stops: tuple[str, ...] = ()
    warnings: tuple[tuple[str, Bearing], ...] = ()
    stop_bearings: tuple[Bearing, ...] = ()


class StoppedError(SelectionError):
    """Preflight found what would make the campaign fail or its numbers wrong."""

    def __init__(self, stop: Finding) -> None:
        super().__init__(
            f"preflight stops: {stop.what}",
            where=stop.host,
            remedy=stop.remedy or "mend it, or override it with --force",
        )


def stopping(findings: Sequence[Finding], *, force: bool) -> Finding | None:
    """The first that stops a campaign, unless its operator overrides what does."""
    return None if force else next(iter(_stops(findings)), None)


def in_spite_of(findings: Sequence[Finding], *, force: bool) -> InSpiteOf:
    """What an operator overrides who starts in spite of these findings.

    Raises
    ------
    StoppedError: there is something to override, and it was not.
    """
    if (stop := stopping(findings, force=force)) is not None:
        raise StoppedError(stop)
    stops = _stops(findings)
    warnings = [f for f in findings if f.level == Level.WARN and not f.harmless]
    return InSpiteOf(
        tuple(map(_line, stops)),
        tuple((_line(found), _bearing(found)) for found in warnings),
        tuple(map(_bearing, stops)),
    )


def gpus_unjudged(profiles: Sequence[str], does: str = "does") -> str:
    """ "preflight does not judge GPUs: cpu-smoke uses none", of profiles that use none."""
    use = "uses" if len(profiles) == 1 else "use"
    return f"preflight {does} not judge GPUs: {', '.join(profiles)} {use} none"


def _stops(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level == Level.STOP]


def _line(found: Finding) -> str:
    return f"{found.host}: {found.what}" if found.host else found.what


def _bearing(found: Finding) -> Bearing:
    return found.bearing or Bearing(hosts=((found.host,),) if found.host else ())
