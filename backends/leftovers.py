"""What runs of ours left on the hosts: whose it is, and how it is ended.

A campaign that is kept here gets the log of its run, compared, before anything of it is removed;
and its journal says what became of it. Of a run that no campaign here knows nobody keeps the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Doubt, Why
from backends.campaign.record.journal import FILE_NAME, Journal
from backends.campaign.record.lock import CampaignLock, CampaignLockedError, Holder
from backends.campaign.record.state import RunRecord
from backends.campaign.run.cleanup import Word, tidy_up
from backends.campaign.run.end_and_fetch import doubt_of_error, doubt_of_report
from backends.campaign.run.factory import local_log
from backends.campaign.run.mirror import LogMirror
from backends.campaign.run.reconnect import Contact
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import Leftover, RemoteError, RunPhase
from backends.transports.transport import HostUnreachableError

if TYPE_CHECKING:
    from backends.use_cases import Workspace

GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A run of a campaign that is kept here. ``state``: live, unfinished, finished or copy.
    ``by``: who is at work on it, where it is live."""

    campaign: Path
    state: str
    run: RunRecord
    by: Holder | None = None


class Sweep:
    """Of a workspace's hosts.

    ``verified``: run ids of which a person vouches that no process is left.
    """

    def __init__(self, workspace: Workspace, verified: Collection[str] = ()) -> None:
        self._workspace = workspace
        self._verified = frozenset(verified)
        self.claims: Mapping[str, Claim] = {}

    async def look(self, names: Sequence[str]) -> tuple[tuple[Leftover, ...], tuple[Doubt, ...]]:
        """Everything of ours on these hosts, and the hosts that could not be looked at."""
        self.claims = await asyncio.to_thread(self._claims)
        found = await asyncio.gather(*(self._look(name) for name in names))
        leftovers = [one for some in found if not isinstance(some, Doubt) for one in some]
        return tuple(leftovers), tuple(some for some in found if isinstance(some, Doubt))

    def _claims(self) -> Mapping[str, Claim]:
        campaigns = self._workspace.campaigns()
        # A copy does not know what became of its runs: the campaign itself does.
        copies_first = sorted(campaigns, key=lambda campaign: not campaign.elsewhere)
        claims: dict[str, Claim] = {}
        for campaign in copies_first:
            state = "copy" if campaign.elsewhere else campaign.state
            by = self._workspace.writer(campaign.path) if state == "live" else None
            for run in self._workspace.state(campaign.path).runs.values():
                claims[run.run_id] = Claim(campaign.path, state, run, by)
        return claims

    async def _look(self, name: str) -> tuple[Leftover, ...] | Doubt:
        try:
            return await self._remote(name).sweep()
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            return doubt_of_error(name, error)

    def _remote(self, name: str) -> RemoteHost:
        return RemoteHost(self._workspace.cluster.pool.get(name))

    def in_use(self, leftover: Leftover) -> bool:
        """A console is measuring it, or may be: it still runs for nobody who is known here, or is
        of a campaign of which only a copy is."""
        claim = self.claims.get(leftover.run_id)
        if claim is not None and claim.state == "copy":
            return True
        return leftover.phase is RunPhase.RUNNING and (claim is None or claim.state == "live")

    async def end(self, leftovers: Sequence[Leftover]) -> list[tuple[Leftover, Doubt | None]]:
        """End the leftovers' processes and remove their files; what is left to do of each."""
        open_runs: dict[Path, dict[str, None]] = {}
        for leftover in leftovers:
            claim = self.claims.get(leftover.run_id)
            if (
                claim is not None
                and claim.state not in ("live", "copy")
                and not claim.run.state.ended
            ):
                open_runs.setdefault(claim.campaign, {})[leftover.run_id] = None
        unverified: dict[str, tuple[Doubt, ...]] = {}
        for campaign, run_ids in open_runs.items():
            # As 'cancel' does, so that the campaign knows how its runs ended.
            unverified.update((await self._workspace.changes.cancel(campaign, run_ids)).unverified)
        self.claims = await asyncio.to_thread(self._claims)
        return [(one, await self._end_one(one, unverified)) for one in leftovers]

    async def _end_one(
        self, leftover: Leftover, unverified: Mapping[str, tuple[Doubt, ...]]
    ) -> Doubt | None:
        claim = self.claims.get(leftover.run_id)
        doubts = unverified.get(leftover.run_id, ())
        for doubt in doubts:
            if doubt.host == leftover.host:
                return doubt
        try:
            if claim is None:
                return await self._end_unknown(leftover)
            if claim.state == "copy":
                return Doubt(leftover.host, Why.REFUSED, f"{claim.campaign} is a copy")
            if claim.state == "live":
                return await self._end_processes(leftover)
            return _end_is_open(leftover, claim, doubts) or await self._end_ended(leftover, claim)
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            return doubt_of_error(leftover.host, error)

    async def _end_unknown(self, leftover: Leftover) -> Doubt | None:
        """Of no campaign here: nobody keeps its log, which the operator has agreed to lose."""
        doubt = await self._end_processes(leftover)
        verified = leftover.run_id in self._verified
        if doubt is not None and not (verified and doubt.why in (Why.KILLED, Why.ORPHANS)):
            return doubt
        await self._remote(leftover.host).discard(leftover.run_id, verified=verified)
        return None

    async def _end_processes(self, leftover: Leftover) -> Doubt | None:
        """Those alone: of a live campaign the console that is at work on it collects the rest."""
        ended = not leftover.processes and leftover.phase is not RunPhase.RUNNING
        if ended and leftover.orphans == ():
            return None
        report = await self._remote(leftover.host).cancel(leftover.run_id, grace_s=GRACE_S)
        if report.phase is RunPhase.LOST and report.orphans == ():
            return None  # nobody watched its children, but none is left
        return doubt_of_report(leftover.host, report)

    async def _end_ended(self, leftover: Leftover, claim: Claim) -> Doubt | None:
        run, name = claim.run, leftover.host
        lock = CampaignLock(claim.campaign, self._workspace.clock)
        try:
            lock.acquire()
        except CampaignLockedError as error:
            return Doubt(name, Why.REFUSED, error.what)
        try:
            notes: list[str] = []
            log = RawLog(claim.campaign / local_log(run, name))
            contact = Contact(name, lambda _lost, _reason: None)
            mirror = LogMirror(run.run_id, self._remote(name), log, contact, note=notes.append)
            word = Word.VERIFIED if run.run_id in self._verified else Word.ASKED
            doubt = await tidy_up(mirror, run, {}, word)
            clock = self._workspace.clock
            events: list[ev.Event] = [ev.Noted(t=clock(), text=text) for text in notes]
            if doubt is None and run.cleanup.of(name) is not None:
                events.append(ev.HostVerified(t=clock(), run_id=run.run_id, host=name))
            await _journal(claim.campaign, lock, events)
            return doubt
        finally:
            lock.release()


def _end_is_open(leftover: Leftover, claim: Claim, doubts: Sequence[Doubt]) -> Doubt | None:
    """Nothing is removed before the journal says how the run ended."""
    if claim.run.state.ended:
        return None
    away = ", ".join(doubt.host for doubt in doubts) or "all of its hosts"
    detail = f"its end is open until {away} can be asked, so its files stay"
    return Doubt(leftover.host, Why.REFUSED, detail)


async def _journal(campaign: Path, lock: CampaignLock, events: Sequence[ev.Event]) -> None:
    if not events:
        return
    journal = Journal(campaign / FILE_NAME, owned=lock.owned)
    try:
        for event in events:
            journal.append(event)
        await journal.commit()
    finally:
        journal.close()
