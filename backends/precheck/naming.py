"""Who is named by a precheck, and why: the values that the ranking is made of. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backends.precheck.figures import About, Stage, Trouble
from backends.precheck.slower import Slower
from backends.precheck.tournament import Pair


class Why(StrEnum):
    """Why something is named, the gravest first."""

    BROKEN = "broken"  # a measurement ended without a figure
    FAULTY = "faulty"  # wrong results, memory errors
    SLOW = "slow"  # than the others
    CHANGED = "changed"  # slower than the same before
    IN_RUNS = "in runs"  # slow, stalled or lost in real runs


class Verdict(StrEnum):
    """Of a host: its gravest reason."""

    BROKEN = "broken"
    FAULTY = "faulty"
    SLOW = "slow"
    SUSPECT = "suspect"
    NOT_JUDGED = "not judged"  # nothing names it, but it was busy
    WELL = "well"
    NOT_MEASURED = "not measured"


UNNAMED = (Verdict.NOT_JUDGED, Verdict.WELL, Verdict.NOT_MEASURED)
"""Nothing is held against a host of which this is said."""


@dataclass(frozen=True, slots=True)
class Named:
    """A host, a GPU of it, a link between two GPUs, or two hosts together.

    ``metric``: what says so; a stage where something broke. ``than``: by how much it is slower.
    ``reason``: in words where there is no figure. ``log``: of what broke.
    """

    why: Why
    about: About
    hosts: tuple[str, ...]
    devices: tuple[int, ...] = ()
    metric: str = ""
    unit: str = ""
    than: Slower | None = None
    reason: str = ""
    log: str = ""

    @property
    def of_gpus(self) -> bool:
        """What computes on CPUs does not notice it."""
        of_stage = self.metric in (Stage.GPUS, Stage.WITHIN)
        return of_stage or self.about in (About.GPU, About.LINK)

    @property
    def weight(self) -> tuple[int, float]:
        """Sorts the gravest first."""
        return list(Why).index(self.why), -(self.than.loss if self.than else 1.0)


@dataclass(frozen=True, slots=True)
class Unequal:
    """Two that differ, of which nobody can tell which is as it should be; ``low`` and ``high`` are
    what has the lower and the higher value."""

    metric: str
    unit: str
    low: tuple[tuple[str, ...], tuple[int, ...]]
    high: tuple[tuple[str, ...], tuple[int, ...]]
    than: Slower


@dataclass(frozen=True, slots=True)
class RankedHost:
    """``reasons``: all that names it, the gravest first. A pair's count for neither of its ends."""

    host: str
    verdict: Verdict
    reasons: tuple[Named, ...] = ()
    left_out: str = ""  # why it was not measured
    busy: str = ""  # with what it was while it was measured
    shared: str = ""  # with which hosts it is one machine
    gpus: str = ""  # their model

    @property
    def of_gpus_alone(self) -> bool:
        """All that names it is."""
        return bool(self.reasons) and all(reason.of_gpus for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class Ranking:
    """``hosts``: the worst first. ``pairs``: named, though neither host is. ``alone``: figures that
    had nothing to be compared with, by metric and kind."""

    hosts: tuple[RankedHost, ...]
    pairs: tuple[Named, ...] = ()
    unequal: tuple[Unequal, ...] = ()
    troubles: tuple[Trouble, ...] = ()  # that no host and no pair can be blamed for
    alone: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> tuple[Named, ...]:
        every = [*(reason for ranked in self.hosts for reason in ranked.reasons), *self.pairs]
        return tuple(sorted(every, key=lambda named: named.weight))

    @property
    def exclude(self) -> tuple[str, ...]:
        """The hosts that runs had better leave out: all that are named."""
        return tuple(ranked.host for ranked in self.hosts if ranked.verdict not in UNNAMED)

    @property
    def keep_apart(self) -> tuple[Pair, ...]:
        """Hosts that are well, but not together in one run."""
        left_out = set(self.exclude)
        pairs = (named.hosts for named in self.pairs if not left_out & set(named.hosts))
        return tuple((a, b) for a, b in dict.fromkeys(pairs))

    @property
    def keep(self) -> tuple[str, ...]:
        """The hosts that are well."""
        return tuple(ranked.host for ranked in self.hosts if ranked.verdict is Verdict.WELL)

    @property
    def keep_together(self) -> tuple[str, ...]:
        """Of those, a set without any two that are to be kept apart; empty where fewer than two
        are left."""
        kept: list[str] = list(self.keep)
        apart = [pair for pair in self.keep_apart if set(pair) <= set(kept)]
        while apart:
            counts = {host: sum(host in pair for pair in apart) for pair in apart for host in pair}
            most = max(counts, key=lambda host: (counts[host], kept.index(host)))
            kept.remove(most)
            apart = [pair for pair in apart if most not in pair]
        return tuple(kept) if len(kept) > 1 else ()

    @property
    def to_leave_out(self) -> tuple[str, ...]:
        """The hosts that are named, and those that others are to be kept apart from where two or
        more are left without them."""
        together = self.keep_together
        return (*self.exclude, *(host for host in self.keep if together and host not in together))

    @property
    def proposed(self) -> tuple[str, ...]:
        """The hosts to use, rank 0's first, those for runs of several hosts where there are such:
        that are well, or where none is, that were not judged; empty where nobody is to be left
        out."""
        out = self.to_leave_out
        well = tuple(host for host in self.keep if host not in out)
        rest = well or tuple(ranked.host for ranked in self.hosts if ranked.host not in out)
        return rest if out else ()
