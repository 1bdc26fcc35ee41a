"""What ``host.sh`` does, on a simulated machine: the same verbs, answers and exit statuses.

A contract test compares the two. See ``backends/remote/host.sh`` for the reasons behind each step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from backends.simulated.disk import Claim, Disk, EndingNote, Lease, RunFiles, SupervisorRecord
from backends.simulated.kernel import Kernel, Pause, Process, Routine

WRONG, FAILED, HELD, BEYOND, UNKNOWN, MISSING_STAGE, NOT_KEPT = 64, 70, 75, 76, 77, 78, 79
TICKET = 80

Finishing = Generator[Pause, None, bool]


class Failed(Exception):
    """The wrapper gives up: the reason for stderr, and its exit status."""

    def __init__(self, reason: str, status: int = FAILED) -> None:
        self.reason = reason
        self.status = status
        super().__init__(reason)


@dataclass(slots=True, eq=False)
class Ending:
    """What was done to end a run's processes. ``left``: those that would not."""

    killed: int = 0
    left: int = 0
    signalled: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)  # of these, by somebody else, and not counted yet


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a run at a moment; prints as the wrapper's answer."""

    phase: str
    pid: int | None = None
    boot: str = "-"
    same_boot: bool = False
    size: int = 0
    code: int | None = None
    started: float | None = None
    ended: float | None = None
    timed_out: bool = False
    leftovers: int = 0
    left: int = 0
    cancelled: bool = False
    orphans: str = "-"
    quiet: int | None = None

    def __str__(self) -> str:
        def text(value: float | None) -> str:
            return "-" if value is None else f"{value:.9f}"

        return (
            f"@status phase={self.phase} pid={_or_dash(self.pid)} boot={self.boot}"
            f" same_boot={self.same_boot:d} size={self.size} code={_or_dash(self.code)}"
            f" started={text(self.started)} ended={text(self.ended)}"
            f" timed_out={self.timed_out:d} leftovers={self.leftovers} left={self.left}"
            f" cancelled={self.cancelled:d} orphans={self.orphans} oom=0"
            f" quiet={_or_dash(self.quiet)}\n"
        )


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


class Wrapper:
    """The wrapper's eyes and hands on one machine.

    Parameters
    ----------
    host: the console's name for the machine.
    subreaper: it has python3, so that children that hide are found.
    flock: it has flock or python3, so that the kernel keeps the lease.
    """

    def __init__(
        self, host: str, kernel: Kernel, disk: Disk, *, subreaper: bool = True, flock: bool = True
    ) -> None:
        self.host = host
        self.kernel = kernel
        self.disk = disk
        self.subreaper = subreaper
        self.flock = flock
        self.leases: dict[str, Lease] = {}
        self.on_remove: Callable[[RunFiles], None] = lambda files: None
        self.on_signal: Callable[[Process, float], None] = lambda process, kill_at: None

    # What is known about a run -------------------------------------------------------------------

    def files(self, run_id: str) -> RunFiles | None:
        return self.disk.runs.get((run_id, self.host))

    def supervisor(self, files: RunFiles | None) -> Process | None:
        """The run's supervisor while it lives."""
        record = files.supervisor if files is not None else None
        return None if record is None else self._named(record)

    def look(self, files: RunFiles | None) -> Look:
        boot = self.kernel.boot_id
        if files is None or not files.known:
            size = len(files.log) if files is not None and files.log is not None else 0
            return Look("absent", boot=boot, same_boot=True, size=size)
        record, over = files.supervisor, files.exit
        phase = "exited" if over else "running" if self.supervisor(files) else "lost"
        same_boot = record is not None and record.boot_id == boot
        orphans = over.orphans if over else "?" if phase == "lost" else "-"
        return Look(
            phase,
            pid=record.pid if record else None,
            boot=record.boot_id if record else "-",
            same_boot=same_boot,
            size=len(files.log or b""),
            code=over.code if over else None,
            started=record.started if record else None,
            ended=over.ended if over else None,
            timed_out=bool(over and over.timed_out),
            leftovers=over.leftovers if over else 0,
            left=over.left if over else 0,
            cancelled=over.cancelled if over else phase == "lost" and files.cancelled,
            orphans=orphans if same_boot else "-",
            quiet=(
                int(self.kernel.wall) - int(files.log_written)
                if phase == "running" and same_boot and files.log is not None
                else None
            ),
        )

    def starting(self, files: RunFiles) -> bool:
        """Whether somebody prepares this run at this moment."""
        prepares = any(pid in self.kernel.processes for pid in files.preparing)
        return prepares or (files.claimed and not files.known)

    def await_supervisor(self, files: RunFiles, limit_s: float) -> Finishing:
        if not files.known:
            yield Pause(self.kernel.now + limit_s, lambda: files.known)
        return files.known

    # Processes -----------------------------------------------------------------------------------

    def members(self, run_id: str, supervisor: Process | None) -> list[Process]:
        """The run's processes as far as they can be found, parents first."""
        found = []
        for process in self.kernel.living():
            if supervisor is not None and process is not supervisor and process.helper:
                continue
            in_tree = supervisor is not None and process.tree == supervisor.pid
            if process is not supervisor and (in_tree or process.run_id == run_id):
                found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def end_processes(
        self, ending: Ending, run_id: str, supervisor: Process | None, grace_s: float
    ) -> Finishing:
        """TERM, after the grace KILL; whether all are gone. What a handler of TERM starts is let be
        while that lives, whoever sent it."""
        ending.left = 0
        kernel, files = self.kernel, self.files(run_id)
        kill_at = kernel.now + grace_s
        note = files.ending if files is not None else None
        if note is not None and note.until > kernel.now:
            kill_at = min(kill_at, note.until)
            ending.told |= note.signalled - ending.signalled
            ending.signalled |= note.signalled
        give_up_at = kill_at + 5.0
        while True:
            found = self.members(run_id, supervisor)
            if not found:
                return True
            kill = kernel.now >= kill_at
            if kernel.now >= give_up_at:
                ending.left = len(found)
                return False
            for process in found:
                if kill or not self.of_a_handler(process, ending):
                    if kill or process.pid not in ending.signalled:
                        self.on_signal(process, kill_at)
                    self._signal(process, ending, kill=kill)
            if files is not None:
                files.ending = EndingNote(kill_at, frozenset(ending.signalled))
            seen = {process.pid for process in found}
            yield Pause(
                give_up_at if kill else kill_at,
                lambda seen=seen: (  # type: ignore[misc]  # this round's
                    {process.pid for process in self.members(run_id, supervisor)} != seen
                ),
            )

    def of_a_handler(self, process: Process, ending: Ending) -> bool:
        """Of one that lives and has had TERM."""
        parent = process.parent
        return parent is not None and parent.alive and parent.pid in ending.signalled

    def _signal(self, process: Process, ending: Ending, *, kill: bool) -> None:
        if process.pid in ending.told:
            ending.told.remove(process.pid)
            ending.killed += 1
        if process.pid not in ending.signalled:
            ending.signalled.add(process.pid)
            ending.killed += 1
        elif not kill:
            return
        if kill:
            self.kernel.kill(process)
        else:
            self.kernel.terminate(process)

    def orphans(self, since: SupervisorRecord | None) -> list[Process]:
        """What may be left of a run without its marker: nobody's child, and younger than it."""
        if since is None or since.boot_id != self.kernel.boot_id:
            return []
        return [
            process
            for process in self.kernel.living()
            if process.origin
            and not process.helper
            and not process.run_id
            and process.ticks >= since.ticks
            and (process.tree is None or process.tree not in self.kernel.processes)
        ]

    def orphans_text(self, files: RunFiles) -> str:
        found = self.orphans(files.supervisor)
        return ",".join(f"{process.pid}:{process.ticks}" for process in found[:8]) or "-"

    # The lease -----------------------------------------------------------------------------------

    def lease(self, directory: str) -> Lease:
        return self.leases.setdefault(directory, Lease())

    def lease_free(self, lease: Lease, sharing: str = "") -> bool:
        """Whether a run could have the machine, or share it in this way with those that do."""
        friends = self._friends(lease, sharing)
        if self.flock and any(
            process.holds_lease and process.origin not in friends
            for process in self.kernel.living()
        ):
            return False
        others = ((run_id, one) for run_id, one in lease.claims.items() if run_id not in friends)
        return not any(self._claimed(run_id, claim) for run_id, claim in others)

    def _friends(self, lease: Lease, sharing: str) -> set[str]:
        """The runs that share the machine with one that shares it in this way."""
        return {
            run_id
            for run_id, claim in lease.claims.items()
            if claim.beside(sharing) and self._named(claim.owner) is not None
        }

    def _claimed(self, run_id: str, claim: Claim) -> bool:
        """By the word of its note, whatever the kernel says."""
        if claim.owner.boot_id != self.kernel.boot_id:
            return False
        if self._named(claim.owner) is not None:
            return not self.flock  # it holds it as long as it wants to
        marked = any(p.run_id == run_id for p in self.kernel.living())
        return marked or bool(self.orphans(claim.owner))

    def _named(self, record: SupervisorRecord) -> Process | None:
        if record.boot_id != self.kernel.boot_id:
            return None
        process = self.kernel.processes.get(record.pid)
        return process if process is not None and process.ticks == record.ticks else None

    def holder_text(self, lease: Lease, sharing: str = "") -> str:
        friends = self._friends(lease, sharing)
        others = [claim for run_id, claim in lease.claims.items() if run_id not in friends]
        if not others:
            said = "@lease held since=0 run=- who=somebody who left no note\n"
        else:
            note = others[-1].note
            said = f"@lease held since={note.since} run={note.run_id} who={note.who}\n"
        return said + "@claim owner=root path=/tmp/lease\n"

    # Verbs that only look, or end ----------------------------------------------------------------

    def status(self, say: Callable[[str], None], run_id: str) -> Routine:
        say(str(self.look(self.files(run_id))))
        yield from ()

    def show_lease(self, say: Callable[[str], None], directory: str, group: str = "") -> Routine:
        lease, sharing = self.lease(directory), f"{group} -"
        free = self.lease_free(lease, sharing)
        say("@lease free\n" if free else self.holder_text(lease, sharing))
        yield from ()

    def cancel(self, say: Callable[[str], None], run_id: str, grace: str) -> Routine:
        """End every process of a run, as far as they can be found."""
        kernel, grace_s = self.kernel, int(grace) / 100
        files = self.files(run_id)
        ending = Ending()
        if files is not None:
            files.cancelled = True
            if files.supervisor is None and self.starting(files):
                yield from self.await_supervisor(files, 3.0)
        seen = self.look(files)
        if seen.phase == "running" and files is not None:
            yield from self._end_supervised(ending, files, grace_s)
            seen = self.look(files)
            ending.left = seen.left or ending.left
        else:
            yield from self.end_processes(ending, run_id, None, grace_s)
        kernel.changed()
        orphans = seen.orphans
        if orphans != "-" and files is not None:
            if seen.phase == "lost":  # those that are just ending are none
                yield Pause(kernel.now + 0.5, lambda: self.orphans_text(files) == "-")
            orphans = self.orphans_text(files)
        lost = seen.phase == "lost" and seen.same_boot
        left = "-" if lost or orphans != "-" else str(ending.left)
        say(f"@cancel killed={ending.killed} left={left} phase={seen.phase} orphans={orphans}\n")

    def _end_supervised(self, ending: Ending, files: RunFiles, grace_s: float) -> Routine:
        """Until the supervisor is gone: it may be about to start the script, or to clean up."""
        kernel = self.kernel
        until = kernel.now + grace_s + 10.0
        while (supervisor := self.supervisor(files)) is not None and kernel.now < until:
            if not (yield from self.end_processes(ending, files.run_id, supervisor, grace_s)):
                return
            yield Pause(
                until,
                lambda supervisor=supervisor: (  # type: ignore[misc]  # this round's
                    not supervisor.alive or bool(self.members(files.run_id, supervisor))
                ),
            )

    def digest(self, say: Callable[[str], None], run_id: str, first: int | None = None) -> Routine:
        """Of a run's log, or of its first bytes."""
        files = self.files(run_id)
        if files is None or files.log is None:
            raise Failed("", UNKNOWN)
        size = len(files.log) if first is None else first
        if size > len(files.log):
            raise Failed(f"{size} bytes are more than there are, {len(files.log)}", BEYOND)
        say(f"@digest {sha256(files.log[:size]).hexdigest()} {size}\n")
        yield from ()

    def remove(self, run_id: str, *proof: str) -> Routine:
        """``proof``: size and SHA-256 of the log that is kept elsewhere, or "discard"; and
        "verified", where a person vouches that no process is left."""
        verified, proof = proof[-1:] == ("verified",), tuple(w for w in proof if w != "verified")
        files = self.files(run_id)
        if files is None:
            return
        if self.starting(files):
            yield from self.await_supervisor(files, 3.0)
        if self.look(files).phase == "running":
            raise Failed(f"run {run_id} has not ended")
        log = files.log or b""
        if log and proof != ("discard",) and proof != (str(len(log)), sha256(log).hexdigest()):
            raise Failed(f"the log of {run_id} is not kept elsewhere", NOT_KEPT)
        if self.look(files).phase == "exited" and self.look(files).orphans != "-":
            orphans = self.orphans_text(files)
            if orphans != "-" and not verified:
                raise Failed(f"run {run_id} may have left processes: {orphans}")
        if verified:
            for lease in self.leases.values():
                lease.claims.pop(run_id, None)
        self.on_remove(files)
        self.disk.runs.pop((run_id, self.host), None)
        if self.disk.room is not None:
            self.disk.room += len(files.log or b"")

    def sweep(self, say: Callable[[str], None]) -> Routine:
        """All that is ours here: running, orphaned, only files."""
        seen = set()
        for files in self.disk.of_host(self.host):
            seen.add(files.run_id)
            found = self.look(files)
            count = len(self.members(files.run_id, self.supervisor(files)))
            started = "-" if found.started is None else f"{found.started:.9f}"
            orphans = "-" if found.orphans == "-" else self.orphans_text(files)
            say(
                f"@leftover run={files.run_id} phase={found.phase} started={started}"
                f" processes={count} size={found.size} orphans={orphans} who={files.who}\n"
            )
        orphaned = {p.run_id for p in self.kernel.living() if p.run_id} - seen
        for run_id in sorted(orphaned):
            count = len(self.members(run_id, None))
            say(f"@leftover run={run_id} phase=absent started=- processes={count}\n")
        yield from ()

    def port(self, say: Callable[[str], None]) -> Routine:
        """Below 32768, from where outgoing connections take theirs."""
        say(f"@port {self.kernel.chance.randrange(24576, 32768)}\n")
        yield from ()

    def stage(self, arguments: Sequence[str], archive: bytes) -> Routine:
        digest, size = arguments
        if digest in self.disk.stages:
            return
        if len(archive) != int(size):
            raise Failed("the files arrived incomplete")
        if self.disk.take(len(archive)) < len(archive):
            raise Failed("cannot store the files")
        yield Pause(self.kernel.now + 0.01)
        self.disk.stages.add(digest)
