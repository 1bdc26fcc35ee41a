"""What the latest prechecks say of hosts, for who is about to use them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from time import localtime, strftime

from backends.precheck.naming import UNNAMED, RankedHost, Verdict
from backends.precheck.record import Precheck
from backends.precheck.words import reasons_text
from profiles.durations import format_duration

OLD_S = 86_400.0
"""What was measured so long ago is not held against a host any more."""
REMEDY = (
    "leave it out (o on Matrix, or --hosts), or measure it again (p on Hosts, or dlperf-tui"
    " precheck)"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the latest precheck that judged a host says of it, or where none did why the latest did
    not. ``began`` and ``ended``: that precheck, in seconds since the epoch."""

    ranked: RankedHost
    began: float
    ended: float

    @property
    def known(self) -> bool:
        """It was judged."""
        return self.ranked.verdict not in (Verdict.NOT_JUDGED, Verdict.NOT_MEASURED)

    @property
    def named(self) -> bool:
        """Something is held against it."""
        return self.ranked.verdict not in UNNAMED

    def text(self, now: float) -> str:
        """ "precheck 2m05s ago: faulty: GPU1: 3 wrong results"."""
        return self._said(f"{format_duration(now - self.ended)} ago")

    @property
    def lasting(self) -> str:
        """The same for what is kept: "precheck of 2026-11-29 14:02: faulty: …", by local time."""
        return self._said(strftime("of %Y-%m-%d %H:%M", localtime(self.began)))

    def _said(self, when: str) -> str:
        why = reasons_text(self.ranked)
        return f"precheck {when}: {self.ranked.verdict}{f': {why}' * bool(why)}"


def judgements(newest_first: Iterable[Precheck], now: float) -> dict[str, Judged]:
    """By host; of those that came to their end."""
    judged: dict[str, Judged] = {}
    for precheck in takewhile(lambda one: now - one.ended_at <= OLD_S, newest_first):
        for ranked in precheck.ranking.hosts if precheck.finished else ():
            found = Judged(ranked, precheck.started_at, precheck.ended_at)
            later = judged.get(ranked.host)
            if later is None or (found.known and not later.known):
                judged[ranked.host] = found
    return judged
