"""Who has a host: the lease's answer, as ``lease.sh`` gives it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

from profiles.cleantext import clean_text

WAIT = "wait for its end, or choose other hosts"
_ANSWER = re.compile(r"^@lease (?:free$|held )", re.MULTILINE)
_HELD = re.compile(r"^@lease held since=(\d+) run=(\S+) who=(.*)$", re.MULTILINE)
_CAMPAIGN = ", campaign "
_CLAIM = re.compile(r"^@claim owner=(\S+) path=(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lease:
    """A host is held. All of it is display-safe.

    ``holder``: what the holder says of itself, and its run. ``since``: seconds since the epoch on
    the host's clock. ``owner``: the host's user whose claim it is, which the kernel vouches for;
    empty where nobody can tell. ``claim``: the file or process there that makes it. ``run_id``: as
    the holder says; empty where it names no run.
    """

    holder: str
    since: float | None = None
    owner: str = ""
    claim: str = ""
    by_a_run: bool = True
    run_id: str = ""

    @property
    def words(self) -> str:
        """Who has the host; with the user whose word that is, where it is not the holder's own."""
        if not self.owner or self.holder.startswith(f"{self.owner}@"):
            return self.holder
        return f"{self.holder} (user {self.owner})"

    def __str__(self) -> str:
        if self.since is None:
            return self.words
        since = time.localtime(self.since)
        today = since[:3] == time.localtime()[:3]
        return f"{self.words}, since {time.strftime('%H:%M' if today else '%Y-%m-%d %H:%M', since)}"

    @property
    def explained(self) -> str:
        """Who has the host, and what to do where that is no run of this program."""
        return str(self) if self.by_a_run else f"{self}; {self.remedy}"

    def told_to(self, who: str, campaign: str) -> str:
        """:attr:`explained` to a campaign that would be a holder as ``who`` and whose run ids begin
        with ``campaign``: whose the one is that has the host, where that is the reader's own."""
        person, mark, _ = who.rpartition(_CAMPAIGN)
        if self.words != self.holder:  # what another user of the host says of himself is no proof
            return self.explained
        if self.run_id.startswith(f"{campaign}-"):
            return f"an earlier run of this campaign: {self.explained}"
        if not mark or not self.holder.startswith(person + mark):
            return self.explained
        same = " of the same name" * self.holder.startswith(f"{who}, run ")
        return f"another campaign of yours{same}: {self.explained}"

    def of(self, person: str) -> str:
        """What of ``person``'s, as "alice@login01", has it: "campaign new, run 7, since 14:02";
        empty where it is somebody else's, or another user of the host says so."""
        mine = self.words == self.holder and self.holder.startswith(f"{person}, ")
        return str(self).removeprefix(f"{person}, ") if person and mine else ""

    def of_another_console(self, person: str) -> Lease:
        """The same, of ``person``'s, for a console whose campaigns directory does not have it."""
        whose = f"{person}, another console's "
        return replace(self, holder=self.holder.replace(f"{person}, ", whose, 1))

    @property
    def remedy(self) -> str:
        if self.owner:
            asked = f"{self.claim} belongs to {self.owner}: ask them"
        elif self.by_a_run:
            return WAIT
        else:
            asked = "root finds who has it among the open files"
        return f"{WAIT}; should it be no run, {asked}, or set another lease_dir in the inventory"


def parse_lease(text: str) -> Lease | None:
    """The lease in a host's answer; None: the host is free, or the answer says nothing of it."""
    answers = list(_ANSWER.finditer(text))
    held = _HELD.match(text, answers[-1].start()) if answers else None
    if held is None:
        return None
    since, run_id, who = held.groups()
    claim = _CLAIM.search(text, held.end())
    owner, path = claim.groups() if claim else ("-", "")
    return Lease(
        holder=clean_text(who if run_id == "-" else f"{who}, run {run_id}")[:300],
        since=float(since[:12]) or None,
        owner="" if owner == "-" else clean_text(owner)[:100],
        claim=clean_text(path)[:300],
        by_a_run=run_id != "-",
        run_id="" if run_id == "-" else clean_text(run_id)[:300],
    )
