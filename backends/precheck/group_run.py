"""One measurement on one host or on several at once: started by the wrapper under a lease, its logs
kept here, everything of it ended and removed there, whatever happens."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from backends.file_modes import make_directory, open_file
from backends.launchers.launcher import HostCommand
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    LogDigest,
    RemoteError,
    RunPhase,
    RunSpec,
    RunStatus,
    StagedTree,
)
from backends.transports.transport import HostUnreachableError, Transport
from profiles.cleantext import clean_line, clean_text
from profiles.durations import format_duration
from profiles.logs.failures import BUILT_IN, FailureScanner

START_S = 60.0
"""In which a host has to have started its part, files and all."""
MARGIN_S = 20.0
"""Beyond a run's own limit, which the host enforces: then it does not answer any more."""
OTHERS_S = 5.0
"""For which the other hosts of a run may go on when one has failed: they may say why."""
SETTLES_S = 10.0
"""In which a start that is on its way arrives, once it is not wanted any more."""
GRACE_S = 3.0
TIDY_S = 30.0
LONGEST_LOG = 8 * 1024 * 1024
AGAIN_S = 1.0


class How(StrEnum):
    """How a host's part ended."""

    WELL = "well"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    STOPPED = "stopped"  # by us, since another host's part had failed
    HELD = "held"  # by somebody else: it never began
    AWAY = "away"  # out of reach


@dataclass(slots=True)
class Part:
    """Of one host. ``reason``: in words, why it did not go well; ``log``: what it said."""

    host: str
    how: How = How.WELL
    reason: str = ""
    log: bytearray = field(default_factory=bytearray, repr=False)
    whole: bool = False  # the log is here to its last byte
    left: str = ""  # why something of it is still on the host

    def take(self, data: bytes) -> bool:
        """More of the log; False where that is longer than anybody keeps."""
        self.log += data[: LONGEST_LOG + 1 - len(self.log)]
        return len(self.log) <= LONGEST_LOG


@dataclass(frozen=True, slots=True)
class GroupRun:
    """What is run. ``commands``: rank 0 first. ``limit_s``: on the host."""

    run_id: str
    commands: tuple[HostCommand, ...]
    stage: tuple[StagedTree, ...]
    limit_s: float

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(command.host for command in self.commands)


_HOLD = "exec sleep 2147483647\n"


async def run_group(
    run: GroupRun, transports: Mapping[str, Transport], lease: str, logs: Path
) -> dict[str, Part]:
    """Run it; every host's part has ended, or is said to be left, when this returns or is
    cancelled.

    ``lease``: who takes the hosts. ``logs``: a directory for ``HOST.log``. Raises OSError: a log
    cannot be written here.
    """
    group = _Group(run, transports, lease)
    try:
        await group.work()
    finally:
        tidying = asyncio.ensure_future(group.tidy(logs))
        try:
            await asyncio.shield(tidying)
        except asyncio.CancelledError:
            await tidying  # who is cancelled meanwhile leaves nothing on the hosts all the same
            raise
    return group.parts


class _Group:
    def __init__(self, run: GroupRun, transports: Mapping[str, Transport], lease: str) -> None:
        self._run = run
        self._lease = lease
        self._remotes = {host: RemoteHost(transports[host]) for host in run.hosts}
        self.parts = {host: Part(host) for host in run.hosts}
        self._failed = asyncio.Event()
        self._begun: set[str] = set()

    async def work(self) -> None:
        parts = {asyncio.create_task(self._part(each)): each for each in self._run.commands}
        needed = {task for task, command in parts.items() if command.argv}
        watch = asyncio.create_task(self._failed.wait())
        try:
            while needed and not self._failed.is_set():
                first: set[asyncio.Task[None] | asyncio.Task[bool]] = {*parts, watch}
                first -= {task for task in parts if task.done()}
                await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                needed = {task for task in needed if not task.done()}
            if needed:
                await asyncio.wait(needed, timeout=OTHERS_S)
        finally:
            for task in (*parts, watch):
                task.cancel()
            ends = await asyncio.gather(*parts, watch, return_exceptions=True)
        for error in ends:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    async def _part(self, command: HostCommand) -> None:
        part = self.parts[command.host]
        try:
            async with asyncio.timeout(START_S + self._run.limit_s + MARGIN_S):
                await self._start(command)
                status = await self._follow(command.host)
            self._judge(part, status)
        except LeaseHeldError as error:
            self._begun.discard(command.host)
            part.how, part.reason = How.HELD, f"held by {error.lease}"
        except HostUnreachableError as error:
            part.how, part.reason = How.AWAY, error.what
        except RemoteError as error:
            part.how, part.reason = How.FAILED, error.what
        except TimeoutError:
            part.how = How.TIMED_OUT
            part.reason = "the host does not answer"
        except asyncio.CancelledError:
            if part.how is How.WELL:
                part.how, part.reason = How.STOPPED, "stopped, since another host's part failed"
            raise
        if part.how is not How.WELL:
            self._failed.set()

    async def _start(self, command: HostCommand) -> None:
        spec = RunSpec(
            run_id=self._run.run_id,
            script=command.script if command.argv else _HOLD,
            timeout_s=self._run.limit_s,
            lease=self._lease,
            stage=self._run.stage,
            grace_s=GRACE_S,
            container_name=command.container,
        )
        self._begun.add(command.host)
        async with asyncio.timeout(START_S):
            starting = asyncio.ensure_future(self._remotes[command.host].start(spec))
            try:
                await asyncio.shield(starting)
            except asyncio.CancelledError:
                # What is on its way could begin after it was ended.
                await asyncio.wait([starting], timeout=SETTLES_S)
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                raise

    async def _follow(self, host: str) -> RunStatus:
        """Through lost connections, until the part's time is over."""
        part, task = self.parts[host], asyncio.current_task()

        def take(data: bytes) -> None:
            if not part.take(data) and task is not None:
                part.how, part.reason = How.FAILED, "its log does not end"
                self._failed.set()
                task.cancel()

        while True:
            try:
                status = await self._remotes[host].follow(self._run.run_id, len(part.log), take)
            except HostUnreachableError as error:
                part.reason = error.what
                await asyncio.sleep(AGAIN_S)
                continue
            part.whole, part.reason = True, ""
            return status

    def _judge(self, part: Part, status: RunStatus) -> None:
        if status.timed_out:
            part.how = How.TIMED_OUT
            part.reason = f"took longer than {format_duration(self._run.limit_s)}"
        elif status.phase is not RunPhase.EXITED or status.exit_code:
            part.how = How.FAILED
            part.reason = _why(bytes(part.log), status)

    # Afterwards ----------------------------------------------------------------------------------

    async def tidy(self, logs: Path) -> None:
        """End what still runs, keep the logs, remove all from the hosts."""
        await asyncio.gather(*(self._end(host) for host in tuple(self._begun)))
        await asyncio.to_thread(self._write, logs)
        await asyncio.gather(*(self._remove(host) for host in self._begun))

    async def _end(self, host: str) -> None:
        part, remote = self.parts[host], self._remotes[host]
        if part.whole:
            return
        try:
            async with asyncio.timeout(TIDY_S):
                await remote.cancel(self._run.run_id, grace_s=GRACE_S)
                if not await self._rest(part, remote):
                    await remote.discard(self._run.run_id)
                    self._begun.discard(host)
                    return
            part.whole = True
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            part.left = getattr(error, "what", "") or "the host does not answer"

    async def _rest(self, part: Part, remote: RemoteHost) -> bool:
        """What is missing of a log; False where it is longer than anybody keeps."""

        def take(data: bytes) -> None:
            if not part.take(data):
                following.cancel()

        if part.take(b""):
            following = asyncio.ensure_future(remote.follow(self._run.run_id, len(part.log), take))
            try:
                await asyncio.wait([following])
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            if not following.cancelled():
                following.result()
        return part.take(b"")

    def _write(self, logs: Path) -> None:
        make_directory(logs)
        for part in self.parts.values():
            if not part.log and part.how in (How.HELD, How.AWAY):
                continue
            fd = open_file(logs / f"{part.host}.log", os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            with os.fdopen(fd, "wb") as file:
                file.write(part.log)

    async def _remove(self, host: str) -> None:
        part = self.parts[host]
        if part.left:
            return
        kept = LogDigest(len(part.log), hashlib.sha256(part.log).hexdigest())
        try:
            async with asyncio.timeout(TIDY_S):
                await self._remotes[host].remove(self._run.run_id, kept if part.log else None)
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            part.left = getattr(error, "what", "") or "the host does not answer"


def _why(log: bytes, status: RunStatus) -> str:
    """What its log says went wrong, else its last line, else the status alone."""
    scanner = FailureScanner(BUILT_IN)
    scanner.feed(log[-LONGEST_LOG:].replace(b"\r", b"\n") + b"\n")
    if scanner.failures:
        found = scanner.failures[0]
        evidence = clean_text(found.evidence_line)[:300].strip()
        return f"{found.reason}: {evidence}" if evidence else found.reason
    if status.phase is not RunPhase.EXITED:
        return "the host lost it: its supervisor was ended, or the host rebooted"
    lines = [clean_line(line) for line in log[-20_000:].split(b"\n")]
    last = next((line for line in reversed(lines) if line.strip()), "")
    ended = f"signal {status.signal}" if status.signal else f"status {status.exit_code}"
    return f"{last[:300]} ({ended})" if last else f"ended with {ended} and said nothing"
