"""What can be done on a host, over any transport: the client side of ``host.sh``.

The wrapper is installed once per content, in the same exec that first needs it. Whatever connects,
disconnects or dies on this side, a run that was started goes on; everything here can be repeated.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from shlex import quote

from backends.remote.installation import NOT_INSTALLED, command_of, installing, wrapper
from backends.remote.lease import Lease, parse_lease
from backends.remote.messages import (
    CancelReport,
    LeaseHeldError,
    Leftover,
    RemoteError,
    RunPhase,
    RunSpec,
    RunStatus,
    StagedTree,
)
from backends.transports.base import Completed, Transport
from profiles.cleantext import clean_line, clean_text

__all__ = [
    "CancelReport",
    "LeaseHeldError",
    "Leftover",
    "RemoteError",
    "RemoteHost",
    "RunPhase",
    "RunSpec",
    "RunStatus",
    "StagedTree",
    "checked_name",
]

# Names that become part of a path on the host. The wrapper checks them again.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_IDLE_FOLLOWS = 5

_FAILED_LEASE, _FAILED_OFFSET, _FAILED_RUN, _FAILED_STAGE = 75, 76, 77, 78


class RemoteHost:
    """One host's runs.

    Parameters
    ----------
    transport: how to reach it. Every method raises its HostUnreachableError; ``follow`` and a
        repeated ``start`` then continue where the loss happened.
    timeout_s: how long a short command may take before the host counts as hung (TimeoutError).
    """

    def __init__(self, transport: Transport, *, timeout_s: float = 60.0) -> None:
        self.transport = transport
        self._host = transport.host
        self._name = checked_name(transport.host.name, "host name")
        self._timeout_s = timeout_s
        self._wrapper = wrapper()

    async def prepare(self) -> None:
        """Install the wrapper. Not needed before other calls: they do it where it is missing."""
        await self._run("port")

    async def start(self, spec: RunSpec) -> RunStatus:
        """Start a run, detached. A second start of the same run id returns the first's status.

        Raises LeaseHeldError when another run holds the host, RemoteError when it cannot start.
        """
        run_id = checked_name(spec.run_id, "run id")
        script = _script(spec)
        arguments = (
            run_id,
            str(len(script)),
            "-" if spec.timeout_s is None else f"{spec.timeout_s:.3f}".rstrip("0").rstrip("."),
            _centiseconds(spec.grace_s),
            self._host.lease_dir,
            " ".join(clean_text(spec.lease).split()),
            _container(spec),
            *(checked_name(tree.digest, "digest") for tree in spec.stage),
        )
        staged = {tree.digest: tree for tree in spec.stage}
        for _ in range(len(staged) + 1):
            # Copying the staged files may take a while.
            timeout_s = self._timeout_s * (10 if staged else 1)
            done = await self._run(
                "start", *arguments, stdin=script, timeout_s=timeout_s, ok=(0, 75, 78)
            )
            if done.exit_status == _FAILED_LEASE:
                lease = parse_lease(done.stdout.decode("utf-8", "replace"))
                raise LeaseHeldError(self._name, lease or Lease("another run"))
            if done.exit_status != _FAILED_STAGE:
                return _status(done.stdout, self._name)
            missing = _rest_of_line(done.stdout, "@stage ")
            if missing not in staged:
                break
            await self.stage(staged[missing])
        raise RemoteError("staged files vanish as soon as they are stored", where=self._name)

    async def follow(
        self, run_id: str, offset: int, on_bytes: Callable[[bytes], None]
    ) -> RunStatus:
        """Hand over the log's bytes from ``offset`` on, as they are written.

        Returns the run's status when it has ended and all bytes were handed over. On a loss the
        bytes handed over so far tell the offset to go on from. Raises RemoteError when the run is
        unknown there or the log is shorter than ``offset``.
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
            command = self._command("follow", run_id, str(position))
            done = await self.transport.stream(command, count)
            if done.exit_status == NOT_INSTALLED:
                if installed:
                    raise self._not_trusted()
                await self._install()
                installed = True
                continue
            if done.exit_status == _FAILED_OFFSET:
                raise RemoteError(
                    f"the log of {run_id} is shorter than the {position} bytes that we hold",
                    where=self._name,
                    remedy="the run directory was replaced; run it again",
                )
            if done.exit_status == _FAILED_RUN:
                raise RemoteError(f"no run {run_id}", where=self._name)
            if done.exit_status >= 0:  # else somebody ended the wrapper itself
                self._check(done, "follow")
                status = _status(done.stderr, self._name)
                if status.phase is not RunPhase.RUNNING and position >= status.size:
                    return status
            # The reader ended before the run did, for example because somebody killed it: go on.
            lasted = asyncio.get_running_loop().time() - began[0]
            idle = idle + 1 if lasted < 1 and position == began[1] else 0
        raise RemoteError(f"the log of {run_id} cannot be read", where=self._name)

    async def status(self, run_id: str) -> RunStatus:
        done = await self._run("status", checked_name(run_id, "run id"))
        return _status(done.stdout, self._name)

    async def digest(self, run_id: str) -> str:
        """The SHA-256 of a run's log there; empty where the host cannot compute it."""
        done = await self._run("digest", checked_name(run_id, "run id"), ok=(0, _FAILED_RUN))
        return _rest_of_line(done.stdout, "@digest ").strip()

    async def cancel(self, run_id: str, *, grace_s: float = 10.0) -> CancelReport:
        """End every process of the run: TERM, after ``grace_s`` KILL, then look again."""
        checked_name(run_id, "run id")
        done = await self._run(
            "cancel", run_id, _centiseconds(grace_s), timeout_s=2 * grace_s + 30 + self._timeout_s
        )
        answer = _fields(done.stdout, "@cancel ", self._name)
        killed = int(answer["killed"])
        if answer["left"] == "-":
            look = f"ps -eo pid,ppid,user,lstart,args   # and: grep -l {run_id} /proc/*/environ"
            return CancelReport(
                killed,
                None,
                "its supervisor was killed or could not watch all of its children, so processes "
                f"without our marker may be left; look with: {look}",
            )
        left = int(answer["left"])
        return CancelReport(killed, left, f"{left} processes do not end" if left else "")

    async def diagnose(self, run_id: str) -> str:
        """What the run's processes do at this moment: ps, py-spy, nvidia-smi, last lines."""
        done = await self._run("diagnose", checked_name(run_id, "run id"), timeout_s=240)
        return "\n".join(clean_line(line) for line in done.stdout[-400_000:].split(b"\n"))

    async def sweep(self) -> tuple[Leftover, ...]:
        """All that is ours on the host, of any campaign: running, orphaned, or only files."""
        done = await self._run("sweep")
        found = []
        for line in done.stdout.splitlines():
            if line.startswith(b"@leftover "):
                answer = _fields(line, "@leftover ", self._name)
                found.append(
                    Leftover(
                        host=self._name,
                        run_id=checked_name(answer["run"], "run id"),
                        phase=RunPhase(answer["phase"]),
                        processes=int(answer["processes"]),
                        started_at=_time(answer["started"]),
                        who=clean_text(line.decode("utf-8", "replace").partition(" who=")[2]),
                    )
                )
        return tuple(found)

    async def end_leftover(self, leftover: Leftover, *, grace_s: float = 10.0) -> CancelReport:
        """End the leftover's processes and, when none is left, remove its files."""
        report = CancelReport(0, 0, "")
        if leftover.processes or leftover.phase is RunPhase.RUNNING:
            report = await self.cancel(leftover.run_id, grace_s=grace_s)
        if report.left != 0 and leftover.phase is not RunPhase.LOST:
            return report
        await self.remove(leftover.run_id)
        return report

    async def remove(self, run_id: str) -> None:
        """Delete the directory of a run that has ended. One that is not there is fine."""
        await self._run("remove", checked_name(run_id, "run id"))

    async def free_port(self) -> int:
        """A TCP port that nothing uses now, outside the range of outgoing connections."""
        done = await self._run("port")
        return int(_rest_of_line(done.stdout, "@port "))

    async def lease_holder(self) -> str:
        """Who holds the host, and which run; empty when it is free."""
        done = await self._run("lease", self._host.lease_dir)
        lease = parse_lease(done.stdout.decode("utf-8", "replace"))
        return "" if lease is None else lease.holder

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
        command = self._command(verb, *arguments)
        timeout_s = timeout_s or self._timeout_s
        done = await self.transport.run(command, stdin=stdin, timeout_s=timeout_s)
        if done.exit_status == NOT_INSTALLED:
            await self._install()
            done = await self.transport.run(command, stdin=stdin, timeout_s=timeout_s)
            if done.exit_status == NOT_INSTALLED:
                raise self._not_trusted()
        self._check(done, verb, ok)
        return done

    async def _install(self) -> None:
        command = installing(self._wrapper, self._host.work_dir, self._name)
        done = await self.transport.run(
            command, stdin=self._wrapper.text, timeout_s=self._timeout_s
        )
        if done.exit_status:
            raise RemoteError(
                f"cannot install our wrapper in {self._host.work_dir}: {_message(done)}",
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
                _message(done) or f"{verb} ended with status {done.exit_status}", where=self._name
            )


def checked_name(name: str, what: str) -> str:
    """``name`` when it may become part of a path on a host, else ValueError."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a {what}: {name!r}")
    return name


def _container(spec: RunSpec) -> str:
    name = spec.container_name or ""
    # It gets removed by this name, so it must not be anybody else's.
    if name and (spec.run_id not in name or not re.fullmatch(r"[\w.-]+", name, re.ASCII)):
        raise ValueError(f"not the name of a container of {spec.run_id}: {name!r}")
    return name


def _script(spec: RunSpec) -> bytes:
    exports = [_export(name, value) for name, value in spec.environment.items()]
    return "".join([*exports, spec.script.rstrip("\n"), "\n"]).encode()


def _export(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
        raise ValueError(f"not the name of an environment variable: {name!r}")
    return f"export {name}={quote(value)}\n"


def _centiseconds(seconds: float) -> str:
    return str(max(0, math.ceil(seconds * 100)))


def _rest_of_line(output: bytes, start: str) -> str:
    """What follows ``start`` on the last line of a wrapper's output that begins with it."""
    for line in reversed(output.decode("utf-8", "replace").splitlines()):
        if line.startswith(start):
            return line.removeprefix(start)
    return ""


def _fields(output: bytes, start: str, host: str) -> Mapping[str, str]:
    fields = dict(re.findall(r"(\w+)=(\S+)", _rest_of_line(output, start)))
    if not fields:
        raise RemoteError("the host gave no answer that we understand", where=host)
    return fields


def _time(text: str) -> float | None:
    # Where date knows no %N the text ends in a letter.
    match = _NUMBER.match(text)
    return float(match[0]) if match else None


def _status(output: bytes, host: str) -> RunStatus:
    answer = _fields(output, "@status ", host)
    try:
        return RunStatus(
            phase=RunPhase(answer["phase"]),
            pid=None if answer["pid"] == "-" else int(answer["pid"]),
            boot_id=answer["boot"],
            same_boot=answer["same_boot"] == "1",
            size=int(answer["size"]),
            exit_code=None if answer["code"] == "-" else int(answer["code"]),
            started_at=_time(answer["started"]),
            ended_at=_time(answer["ended"]),
            timed_out=answer["timed_out"] == "1",
            leftovers=int(answer["leftovers"]),
            left=int(answer["left"]),
            cancelled=answer["cancelled"] == "1",
        )
    except (KeyError, ValueError) as error:
        raise RemoteError("the record of the run is damaged", where=host) from error


def _message(done: Completed) -> str:
    """The wrapper's own words, else the last line of stderr."""
    lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    ours = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    others = [line for line in lines if not line.startswith("error: ")]
    said = [*ours[-1:], *others[-1:]] if ours else others[-1:]
    return clean_text(": ".join(said))[:1000]
