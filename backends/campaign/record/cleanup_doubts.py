"""What nobody has verified about a run's end on its hosts, as values that the journal holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Why(StrEnum):
    """Why nobody can say that nothing of a run is left on a host."""

    AWAY = "away"  # the host could not be reached
    REFUSED = "refused"  # it was reached and could not do what was asked
    KILLED = "killed"  # the run's supervisor was killed, so nobody watched its children
    ORPHANS = "orphans"  # nobody adopts orphans there, and some that are left may be the run's
    DEAF = "deaf"  # processes of the run do not end
    NO_LOG = "no log"  # its log is not whole on this disk yet, so nothing is removed there
    NOT_LOOKED = "not looked"  # nobody has looked
    OLD = "old"  # a journal of an earlier version says it in words


@dataclass(frozen=True, slots=True)
class Doubt:
    """``detail``: the problem, the number of processes or their ids, as ``why`` has it."""

    host: str
    why: Why
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What was found of a run on its hosts when it ended.

    ``looked``: somebody did; not so where nothing of it had to be ended. ``doubts``: of the hosts
    of which nobody can tell; without any what was looked at is verified.
    """

    looked: bool = False
    doubts: tuple[Doubt, ...] = ()

    @property
    def verified(self) -> bool:
        return self.looked and not self.doubts

    @property
    def may_mend(self) -> bool:
        """Whether a later look can tell more without anybody mending anything."""
        later = (Why.AWAY, Why.REFUSED, Why.NO_LOG, Why.NOT_LOOKED)
        return any(doubt.why in later for doubt in self.doubts)

    def of(self, host: str) -> Doubt | None:
        """The doubt about one host."""
        return next((doubt for doubt in self.doubts if doubt.host == host), None)

    def without(self, host: str) -> Cleanup:
        """After somebody has verified that nothing is left on ``host``."""
        rest = tuple(doubt for doubt in self.doubts if doubt.host != host)
        return self if rest == self.doubts else Cleanup(True, rest)

    def on_hosts(self, hosts: Iterable[str]) -> Cleanup:
        """An old journal's doubt names no host: it is one about each of them."""
        if all(doubt.host for doubt in self.doubts):
            return self
        doubts = [replace(d, host=h) for d in self.doubts for h in ([d.host] if d.host else hosts)]
        return replace(self, doubts=tuple(doubts))

    def to_json(self) -> Mapping[str, Any]:
        doubts = [[doubt.host, doubt.why, doubt.detail] for doubt in self.doubts]
        return {"looked": self.looked, "doubts": doubts}

    @classmethod
    def from_json(cls, record: Any) -> Cleanup:  # what JSON holds
        """Of a journal's line. Words (``0 left``, ``unverified: …``) are an old journal's.

        Raises ValueError or TypeError for anything else.
        """
        if isinstance(record, str):
            return cls._from_words(record)
        if type(record) is not dict or type(record.get("looked")) is not bool:
            raise TypeError
        doubts = []
        for host, why, detail in record.get("doubts", ()):
            if type(host) is not str or type(detail) is not str:
                raise TypeError
            doubts.append(Doubt(host, Why(why), detail))
        return cls(record["looked"], tuple(doubts))

    @classmethod
    def _from_words(cls, words: str) -> Cleanup:
        count, _, rest = words.partition(" ")
        if rest == "left" and count.isdigit():
            return cls(True, () if count == "0" else (Doubt("", Why.DEAF, count),))
        if words.startswith("unverified"):
            return cls(True, (Doubt("", Why.OLD, words.removeprefix("unverified: ")),))
        return cls()


UNKNOWN = Cleanup()
