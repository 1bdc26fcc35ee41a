"""What can be done on a host, over any transport: the client side of ``host.sh``.

The wrapper is installed once per content, in the same exec that first needs it. Whatever connects,
disconnects or dies on this side, a run that was started goes on; everything here can be repeated.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Callable

from backends.remote.installation import NOT_INSTALLED, command_of, installing, wrapper
from backends.remote.lease import Lease, parse_lease
from backends.remote.start_script import container_of, script_of
from backends.remote.telling import told
from backends.remote.wrapper_answers import (
    fields_of,
    message_of,
    orphans_of,
    rest_of_line,
    status_of,
    time_of,
)
from backends.remote.wrapper_messages import (
    CancelReport,
    LeaseHeldError,
    Leftover,
    LogDigest,
    LogNotKeptError,
    LogShorterError,
    RemoteError,
    RunPhase,
    RunSpec,
    RunStatus,
    StagedTree,
    StartStep,
)
from backends.transports.transport import Completed, Transport
from profiles.cleantext import clean_text

# Names that become part of a path on the host. The wrapper checks them again.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", re.ASCII)

_IDLE_FOLLOWS = 5
_SLOW_DISK_BYTES_PER_S = 20e6
_NFS_TELLS_WITHIN_S = 15
_OF_FILES = ("status", "digest", "remove")

_FAILED_LEASE, _FAILED_OFFSET, _FAILED_RUN, _FAILED_STAGE = 75, 76, 77, 78
_FAILED_KEPT, _TICKET = 79, 80
TIMEOUT_S = 60.0
"""A host on which a short command takes longer counts as hung (TimeoutError)."""


class RemoteHost:
    """One host's runs.

    Parameters
    ----------
    transport: how to reach it. Every method raises its HostUnreachableError; ``follow`` and a
        repeated ``start`` then continue where the loss happened.
    files: a shorter way to the files of its runs: a machine that has the same work_dir.
    """

    def __init__(self, transport: Transport, *, files: Transport | None = None) -> None:
        self.transport = transport
        self._files = files or transport
        self._host = transport.host
        self._name = checked_name(transport.host.name, "host name")
        self._wrapper = wrapper()

    async def start(
        self, spec: RunSpec, at: Callable[[StartStep], None] = lambda _: None
    ) -> RunStatus:
        """Start a run, detached. A second start of the same run id returns the first's status.
        ``at`` is told each step.

        The host is asked first for a ticket, which goes when the run is removed: what of this was
        long on its way executes nothing any more then.

        Raises LeaseHeldError when another run holds the host, RemoteError when it cannot start.
        """
        run_id = checked_name(spec.run_id, "run id")
        script = script_of(spec)
        arguments = (
            run_id,
            str(len(script)),
            "-" if spec.timeout_s is None else f"{spec.timeout_s:.3f}".rstrip("0").rstrip("."),
            _centiseconds(spec.grace_s),
            self._host.lease_dir,
            " ".join(clean_text(spec.lease).split()),
            spec.sharing,
            container_of(spec),
        )
        staged = {checked_name(tree.digest, "digest"): tree for tree in spec.stage}
        ticket = "-"
        at(StartStep.CONNECTING)
        for _ in range(len(staged) + 2):
            # Copying the staged files may take a while.
            timeout_s = TIMEOUT_S * (10 if staged else 1)
            done = await self._run(
                "start",
                *(*arguments, ticket, *staged),
                stdin=script,
                timeout_s=timeout_s,
                ok=(0, _FAILED_LEASE, _FAILED_STAGE, _TICKET),
            )
            at(StartStep.LAUNCHING)
            if done.exit_status == _TICKET:
                ticket = checked_name(rest_of_line(done.stdout, "@ticket "), "ticket")
                continue
            if done.exit_status == _FAILED_LEASE:
                lease = parse_lease(done.stdout.decode("utf-8", "replace"))
                raise LeaseHeldError(self._name, lease or Lease("another run"))
            if done.exit_status != _FAILED_STAGE:
                return status_of(done.stdout, self._name)
            missing = rest_of_line(done.stdout, "@stage ")
            if missing not in staged:
                break
            at(StartStep.COPYING)
            await self.stage(staged[missing])
            at(StartStep.LAUNCHING)
        raise RemoteError("staged files vanish as soon as they are stored", where=self._name)

    async def follow(
        self, run_id: str, offset: int, on_bytes: Callable[[bytes], None]
    ) -> RunStatus:
        """Hand over the log's bytes from ``offset`` on, as they are written.

        Returns the run's status when it has ended and all bytes were handed over. On a loss the
        bytes handed over so far tell the offset to go on from. Raises RemoteError when the run is
        unknown there, LogShorterError when the log is shorter than ``offset``.
        """
        checked_name(run_id, "run id")
        position = offset

        def count(chunk: bytes) -> None:
            nonlocal position
            position += len(chunk)
            on_bytes(chunk)

        idle, installed = 0, False
        while idle < _IDLE_FOLLOWS:
            began = asyncio.get_running_loop().time(), position
            words = ("follow", run_id, str(position), *self._patience)
            command = self._command(*words)
            with told(self._name, words) as answer:
                done = await self._files.stream(command, count)
                answer(done)
            if done.exit_status == NOT_INSTALLED:
                if installed:
                    raise self._not_trusted()
                await self.install(self._files)
                installed = True
                continue
            if done.exit_status == _FAILED_OFFSET:
                raise self._shorter(run_id, position)
            if done.exit_status == _FAILED_RUN:
                raise RemoteError(f"no run {run_id}", where=self._name)
            if done.exit_status >= 0:  # else somebody ended the wrapper itself
                self._check(done, "follow")
                status = status_of(done.stderr, self._name)
                if status.phase is not RunPhase.RUNNING and position >= status.size:
                    return status
            # The reader ended before the run did, for example because somebody killed it: go on.
            lasted = asyncio.get_running_loop().time() - began[0]
            idle = idle + 1 if lasted < 1 and position == began[1] else 0
        raise RemoteError(f"the log of {run_id} cannot be read", where=self._name)

    @property
    def _patience(self) -> tuple[str, ...]:
        """What else ``follow`` is told where the files are reached by another machine."""
        return () if self._files is self.transport else (str(_NFS_TELLS_WITHIN_S),)

    async def status(self, run_id: str) -> RunStatus:
        done = await self._run("status", checked_name(run_id, "run id"))
        return status_of(done.stdout, self._name)

    async def digest(
        self, run_id: str, first: int | None = None, *, about: int = 0
    ) -> LogDigest | None:
        """Size and SHA-256 of an ended run's log there; None: there is none.

        Parameters
        ----------
        first: of so many bytes only, of a run that may still be running; the SHA-256 is empty
            where the host has no tool for it.
        about: how many bytes the log has, as far as is known; they take their time to read.

        Raises LogShorterError when the log has fewer bytes than ``first``.
        """
        done = await self._run(
            "digest",
            checked_name(run_id, "run id"),
            *(() if first is None else (str(first),)),
            timeout_s=self._reading_s(first or about),
            ok=(0, _FAILED_RUN, _FAILED_OFFSET),
        )
        if done.exit_status == _FAILED_RUN:
            return None
        if done.exit_status == _FAILED_OFFSET:
            raise self._shorter(run_id, first or 0)
        sha256, _, size = rest_of_line(done.stdout, "@digest ").strip().partition(" ")
        if not size.isdigit():
            raise RemoteError("the host gave no answer that we understand", where=self._name)
        if sha256 != "-":
            return LogDigest(int(size), sha256)
        # No tool there can tell: the bytes themselves can, once they are all there.
        return (
            LogDigest(first, "")
            if first is not None
            else await self._digest_of_bytes(run_id, int(size))
        )

    def _shorter(self, run_id: str, size: int) -> LogShorterError:
        what = f"the log of {run_id} is shorter than the {size} bytes that we hold"
        return LogShorterError(what, where=self._name)

    def _reading_s(self, size: int) -> float:
        return TIMEOUT_S + size / _SLOW_DISK_BYTES_PER_S

    async def _digest_of_bytes(self, run_id: str, size: int) -> LogDigest:
        digest = hashlib.sha256()
        left = size

        def take(chunk: bytes) -> None:
            nonlocal left
            digest.update(chunk[:left])
            left -= min(left, len(chunk))

        await self.follow(run_id, 0, take)
        return LogDigest(size, digest.hexdigest())

    async def cancel(self, run_id: str, *, grace_s: float = 10.0) -> CancelReport:
        """End every process of the run: TERM, after ``grace_s`` KILL, then look again."""
        checked_name(run_id, "run id")
        done = await self._run(
            "cancel", run_id, _centiseconds(grace_s), timeout_s=2 * grace_s + 30 + TIMEOUT_S
        )
        answer = fields_of(done.stdout, "@cancel ", self._name)
        left = None if answer["left"] == "-" else int(answer["left"])
        phase = RunPhase(answer.get("phase", RunPhase.EXITED))
        return CancelReport(int(answer["killed"]), left, phase, orphans_of(answer))

    async def diagnose(self, run_id: str) -> bytes:
        """What the run's processes do at this moment, and what the machine says of its devices.

        For :func:`backends.hangs.sections.split`. The host takes some 13 s for it at most.
        """
        done = await self._run("diagnose", checked_name(run_id, "run id"))
        return done.stdout

    async def sweep(self) -> tuple[Leftover, ...]:
        """All that is ours on the host, of any campaign: running, orphaned, or only files."""
        done = await self._run("sweep")
        found = []
        for line in done.stdout.splitlines():
            if line.startswith(b"@leftover "):
                told, _, who = line.partition(b" who=")  # free text, and so the last
                answer = fields_of(told, "@leftover ", self._name)
                found.append(
                    Leftover(
                        host=self._name,
                        run_id=checked_name(answer["run"], "run id"),
                        phase=RunPhase(answer["phase"]),
                        processes=int(answer["processes"]),
                        started_at=time_of(answer["started"]),
                        size=int(answer.get("size", "0")),
                        orphans=orphans_of(answer),
                        who=clean_text(who.decode("utf-8", "replace")),
                    )
                )
        return tuple(found)

    async def remove(
        self, run_id: str, kept: LogDigest | None = None, *, verified: bool = False
    ) -> None:
        """Delete the directory of a run that has ended. One that is not there is fine.

        Parameters
        ----------
        kept: the log that is safe elsewhere, read back from where it lies. The host compares it
            with its own and deletes nothing that differs (LogNotKeptError); None: an empty log.
        verified: a person has looked, and vouches for it that no process of the run is left. Else a
            run that may have left some stays (RemoteError).
        """
        proof = () if kept is None else (str(kept.size), kept.sha256)
        word = ("verified",) if verified else ()
        await self._remove(run_id, *proof, *word, size=kept.size if kept else 0)

    async def discard(self, run_id: str, *, verified: bool = False) -> None:
        """Delete the directory of a run that has ended, and its log with it, kept or not.

        ``verified``: see :meth:`remove`.
        """
        await self._remove(run_id, "discard", *(("verified",) if verified else ()))

    async def _remove(self, run_id: str, *proof: str, size: int = 0) -> None:
        done = await self._run(
            "remove",
            checked_name(run_id, "run id"),
            *proof,
            timeout_s=self._reading_s(size),
            ok=(0, _FAILED_KEPT),
        )
        if done.exit_status == _FAILED_KEPT:
            raise LogNotKeptError(message_of(done), where=self._name)

    async def free_port(self) -> int:
        """A TCP port that nothing uses now, outside the range of outgoing connections."""
        done = await self._run("port")
        return int(rest_of_line(done.stdout, "@port "))

    async def lease(self, group: str = "") -> Lease | None:
        """Who holds the host, and which run; None when it is free, or held by runs that share it
        in ``group`` alone."""
        done = await self._run("lease", self._host.lease_dir, group)
        return parse_lease(done.stdout.decode("utf-8", "replace"))

    async def stage(self, tree: StagedTree) -> None:
        """Store a tree of files on the host, once per content."""
        digest = checked_name(tree.digest, "digest")
        await self._run("stage", digest, str(len(tree.archive)), stdin=tree.archive, timeout_s=3600)

    # --- how ---------------------------------------------------------------------------------

    def _command(self, verb: str, *arguments: str) -> str:
        words = (verb, self._name, *arguments)
        return command_of(self._wrapper, self._host.work_dir, words)

    async def _run(
        self,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        ok: tuple[int, ...] = (0,),
    ) -> Completed:
        over = self._files if verb in _OF_FILES else self.transport
        command = self._command(verb, *arguments)
        timeout_s = timeout_s or TIMEOUT_S
        with told(self._name, (verb, *arguments), stdin) as answer:
            done = await over.run(command, stdin=stdin, timeout_s=timeout_s)
            if done.exit_status == NOT_INSTALLED:
                await self.install(over)
                done = await over.run(command, stdin=stdin, timeout_s=timeout_s)
                if done.exit_status == NOT_INSTALLED:
                    raise self._not_trusted()
            answer(done)
        self._check(done, verb, ok)
        return done

    async def install(self, over: Transport) -> None:
        """Store the wrapper in work_dir. Raises RemoteError where that cannot be."""
        command = installing(self._wrapper, self._host.work_dir, self._name)
        with told(self._name, ("install",), self._wrapper.text) as answer:
            done = await over.run(command, stdin=self._wrapper.text, timeout_s=TIMEOUT_S)
            answer(done)
        if done.exit_status:
            raise RemoteError(
                f"cannot install our wrapper in {self._host.work_dir}: {message_of(done)}",
                where=self._name,
                remedy="set work_dir in the inventory to a directory of your own on the host",
            )

    def _not_trusted(self) -> RemoteError:
        return RemoteError(
            f"our wrapper in {self._host.work_dir} is not what was just installed there",
            where=self._name,
            remedy="look at that directory: somebody changes it, or ls, id or sha256sum is missing",
        )

    def _check(self, done: Completed, verb: str, ok: tuple[int, ...] = (0,)) -> None:
        if done.exit_status not in ok:
            raise RemoteError(
                message_of(done) or f"{verb} ended with status {done.exit_status}", where=self._name
            )


def checked_name(name: str, what: str) -> str:
    """``name`` when it may become part of a path on a host, else ValueError."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a {what}: {name!r}")
    return name


def _centiseconds(seconds: float) -> str:
    return str(max(0, math.ceil(seconds * 100)))
