"""One host's part in a run, and following its log to the end whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from backends.campaign.folder.rawlog import RawLog
from backends.campaign.run.reconnect import Contact
from backends.launchers.base import HostCommand
from backends.remote.client import RemoteHost
from backends.remote.messages import RemoteError, RunPhase, RunStatus, StagedTree
from profiles.format.profile import Profile
from profiles.logs.failures import BUILT_IN, Failure, FailureScanner, from_profile
from profiles.logs.parser import LINE_LIMIT

DISK_FULL_RETRY_S = 5.0


@dataclass(slots=True)
class Member:
    """One host's part in a run."""

    name: str
    remote: RemoteHost
    command: HostCommand
    log: RawLog
    contact: Contact
    stage: tuple[StagedTree, ...] = ()

    @property
    def passive(self) -> bool:
        """Takes part without a process of ours: held for the launcher's remote ranks."""
        return not self.command.argv


class FailureLog:
    """The named failures in a log that is not parsed for readings."""

    def __init__(self, profile: Profile) -> None:
        self._scanner = FailureScanner((*from_profile(profile), *BUILT_IN))
        self._rest = b""

    def take(self, data: bytes) -> None:
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            self._scanner.feed((self._rest + data[:end]).replace(b"\r", b"\n"))
            self._rest = b""
        self._rest = (self._rest + data[end:])[:LINE_LIMIT]

    @property
    def failures(self) -> tuple[Failure, ...]:
        if self._rest:
            self._scanner.feed(self._rest + b"\n")
            self._rest = b""
        return self._scanner.failures


class Follower:
    """Brings a member's log here, byte for byte.

    Parameters
    ----------
    boot_id: of the boot that the run was started in; empty: not known.
    take: gets the bytes that are in the local file, in order.
    problem: told when the local disk takes no more bytes.
    """

    def __init__(
        self,
        member: Member,
        run_id: str,
        *,
        boot_id: str,
        lost_limit_s: float,
        take: Callable[[bytes], None],
        problem: Callable[[str], None],
    ) -> None:
        self._member = member
        self._run_id = run_id
        self._boot_id = boot_id
        self._lost_limit_s = lost_limit_s
        self._take = take
        self._problem = problem
        self._told = False

    async def to_the_end(self) -> RunStatus:
        """The run's status on the host once it has ended there and its whole log is here.

        Raises
        ------
        HostUnreachableError: it was away for too long. RemoteError: it does not know the run.
        """
        member = self._member
        while True:
            if not member.log.problem:
                status = await member.contact.persist(self._once, self._lost_limit_s)
                if status is not None:
                    return status
            if not self._told:
                self._told = True
                self._problem(
                    f"cannot write {member.log.path.name}: {member.log.problem};"
                    " the run goes on, its log is fetched when there is room"
                )
            await asyncio.sleep(DISK_FULL_RETRY_S)
            member.log.reopen()

    async def _once(self) -> RunStatus | None:
        """One connection's worth; None when the local disk stopped taking bytes."""
        member = self._member
        if member.contact.lost:
            await member.remote.status(self._run_id)  # a silent log would not tell that it is back
            member.contact.is_back()
        stopped = asyncio.Event()

        def take(data: bytes) -> None:
            if written := member.log.write(data):
                self._take(written)
            if member.log.problem:
                stopped.set()
            else:
                self._told = False

        following = asyncio.create_task(member.remote.follow(self._run_id, member.log.size, take))
        full = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({following, full}, return_when=asyncio.FIRST_COMPLETED)
            return None if full.done() else await self._end_of(following)
        finally:
            for task in (following, full):
                task.cancel()
            await asyncio.gather(following, full, return_exceptions=True)

    async def _end_of(self, following: asyncio.Task[RunStatus]) -> RunStatus:
        try:
            return following.result()
        except RemoteError:
            # A reboot that also emptied the work directory looks like a run that never was.
            status = await self._member.remote.status(self._run_id)
            if status.phase is RunPhase.ABSENT and self._boot_id not in ("", status.boot_id):
                return replace(status, phase=RunPhase.LOST, same_boot=False)
            raise
