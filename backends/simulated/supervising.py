"""How a simulated host starts a run exactly once, and what its supervisor does until its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from backends.simulated.disk import Claim, ExitRecord, HolderNote, Lease, RunFiles, SupervisorRecord
from backends.simulated.fake_run import FOREVER, Child, Workload
from backends.simulated.kernel import Pause, Process, Routine
from backends.simulated.wrapper import (
    HELD,
    MISSING_STAGE,
    TICKET,
    Ending,
    Failed,
    Finishing,
    Wrapper,
)

STEP_S = 0.004
"""What the wrapper takes between two things that others may see."""
SETTLE_S = 0.2
ORPHANS_SETTLE_S = 0.5
RECORDS = 1024  # bytes of a run directory's small files


@dataclass(frozen=True, slots=True)
class Asked:
    """A run as somebody asked for it. ``timeout_s`` None: it may take for ever."""

    run_id: str
    host: str
    script: bytes
    timeout_s: float | None
    grace_s: float
    lease_dir: str
    who: str
    sharing: str
    container: str
    ticket: str
    digests: tuple[str, ...]


Workloads = Callable[[Asked], Workload]
"""What a run does on a host, when its script is executed there."""


class Launcher:
    """Starts and supervises runs on one machine.

    Parameters
    ----------
    workloads: asked once for each execution of a script.
    """

    def __init__(self, wrapper: Wrapper, workloads: Workloads) -> None:
        self._wrapper = wrapper
        self._kernel = wrapper.kernel
        self._disk = wrapper.disk
        self._workloads = workloads
        self._tickets = 0

    # Starting ------------------------------------------------------------------------------------

    def start(self, say: Callable[[str], None], asked: Asked, size: int) -> Routine:
        """Start a run, or answer what became of its first start."""
        wrapper, kernel = self._wrapper, self._kernel
        files = wrapper.files(asked.run_id)
        if files is not None and files.claimed:
            yield from wrapper.await_supervisor(files, 10.0)
            say(str(wrapper.look(files)))
            return
        for digest in asked.digests:
            if digest not in self._disk.stages:
                say(f"@stage {digest}\n")
                raise Failed("", MISSING_STAGE)
        if asked.ticket == "-":
            say(f"@ticket {self._ticket(files, asked)}\n")
            raise Failed("", TICKET)
        if files is None or asked.ticket not in files.tickets:
            raise Failed(f"too late: run {asked.run_id} was removed")
        files.tickets.remove(asked.ticket)
        starter = kernel.spawn(origin=asked.run_id, helper=True)
        files.preparing.add(starter.pid)
        try:
            yield from self._prepare(files, asked, size)
            yield from self._launch(say, files, asked, starter)
        except Failed as failed:
            if failed.status == HELD:  # the caller goes elsewhere, with all of its starts
                files.tickets.clear()
            self._put_away(files, starter)
            raise
        self._put_away(files, starter)
        if not (yield from wrapper.await_supervisor(files, 10.0)):
            raise Failed("the supervisor did not start")
        say(str(wrapper.look(wrapper.files(asked.run_id))))

    def _ticket(self, files: RunFiles | None, asked: Asked) -> str:
        if files is None:
            files = RunFiles(asked.run_id, asked.host)
            self._disk.runs[asked.run_id, asked.host] = files
        self._tickets += 1
        ticket = f"T{self._tickets}"
        files.tickets.add(ticket)
        return ticket

    def _launch(
        self, say: Callable[[str], None], files: RunFiles, asked: Asked, starter: Process
    ) -> Routine:
        lease = self._wrapper.lease(asked.lease_dir) if asked.who else None
        if lease is None or (yield from self._take_lease(lease, starter, asked)):
            self._claim(files, asked, lease, starter)
        elif not self._ours_of_a_moment_ago(lease, asked):
            say(self._wrapper.holder_text(lease, asked.sharing))
            raise Failed("the host is held by another run", HELD)

    def _put_away(self, files: RunFiles, starter: Process) -> None:
        """What was made ready and is not needed any more."""
        files.preparing.discard(starter.pid)
        self._kernel.end(starter, 0)
        there = self._wrapper.files(files.run_id) is files
        if there and not (files.claimed or files.preparing or files.tickets):
            self._disk.runs.pop((files.run_id, files.host), None)

    def _prepare(self, files: RunFiles, asked: Asked, size: int) -> Routine:
        if self._disk.full:
            raise Failed("cannot store the script")
        yield Pause(self._kernel.now + STEP_S)
        if len(asked.script) != size:
            raise Failed("the script arrived incomplete")
        if self._disk.take(RECORDS) < RECORDS:
            raise Failed("cannot write the run directory")
        if files.log is None:
            files.log = bytearray()
            files.log_written = self._kernel.wall

    def _take_lease(self, lease: Lease, starter: Process, asked: Asked) -> Finishing:
        """Whether it is taken now. False also when our own start of a moment ago has it."""
        wrapper, kernel = self._wrapper, self._kernel
        for _ in range(4):  # somebody may only be looking
            if wrapper.lease_free(lease, asked.sharing):
                starter.holds_lease = True
                note = HolderNote(int(kernel.wall), asked.run_id, asked.who)
                own = Claim(note, self._name(starter), asked.sharing)
                beside = {r: c for r, c in lease.claims.items() if c.beside(asked.sharing)}
                lease.claims = {**beside, asked.run_id: own}
                return True
            if asked.run_id in lease.claims:
                files = wrapper.files(asked.run_id)
                if files is not None and (yield from wrapper.await_supervisor(files, 3.0)):
                    return False
            yield Pause(kernel.now + 0.02)
        return False

    def _ours_of_a_moment_ago(self, lease: Lease, asked: Asked) -> bool:
        files = self._wrapper.files(asked.run_id)
        return asked.run_id in lease.claims and files is not None and files.known

    def _name(self, process: Process) -> SupervisorRecord:
        kernel = self._kernel
        return SupervisorRecord(process.pid, process.ticks, kernel.boot_id, kernel.wall)

    def _claim(self, files: RunFiles, asked: Asked, lease: Lease | None, starter: Process) -> None:
        """The one supervisor that may run the script takes over from the start."""
        if files.claimed or self._wrapper.files(asked.run_id) is not files:  # removed meanwhile
            return
        files.claimed = True
        files.script, files.who, files.container = asked.script, asked.who, asked.container
        supervisor = self._kernel.spawn(
            origin=asked.run_id, helper=True, holds_lease=starter.holds_lease
        )
        supervisor.tree = supervisor.pid
        if lease is not None:
            lease.claims[asked.run_id].owner = self._name(supervisor)
        self._kernel.run(self._supervise(files, asked, lease, supervisor), supervisor)

    # Supervising ---------------------------------------------------------------------------------

    def _supervise(
        self, files: RunFiles, asked: Asked, lease: Lease | None, supervisor: Process
    ) -> Routine:
        kernel, wrapper = self._kernel, self._wrapper
        yield Pause(kernel.now + STEP_S)
        files.supervisor = self._name(supervisor)
        files.reaper = wrapper.subreaper
        yield Pause(kernel.now + STEP_S)
        if files.cancelled:
            yield from self._finish(files, asked, lease, supervisor, 143, Ending(), False)
            return
        main = self._execute(files, asked, supervisor)
        timer = self._timer(asked, supervisor)
        limit = FOREVER if asked.timeout_s is None else kernel.now + asked.timeout_s
        yield Pause(limit, lambda: not main.alive)
        ending = Ending()
        timed_out = main.alive
        if timed_out:
            yield from wrapper.end_processes(ending, asked.run_id, supervisor, asked.grace_s)
            yield Pause(FOREVER, lambda: not main.alive)
        for process in timer:
            kernel.end(process, 0)
        code = main.status or 0
        yield from self._finish(files, asked, lease, supervisor, code, ending, timed_out)

    def _finish(
        self,
        files: RunFiles,
        asked: Asked,
        lease: Lease | None,
        supervisor: Process,
        code: int,
        ending: Ending,
        timed_out: bool,
    ) -> Routine:
        """End what the script left behind, free the lease, write the record."""
        kernel, wrapper = self._kernel, self._wrapper
        ending.killed = ending.left = 0
        if wrapper.members(asked.run_id, supervisor):  # just ending, maybe: no leftovers then
            settled = kernel.now + SETTLE_S
            yield Pause(settled, lambda: not wrapper.members(asked.run_id, supervisor))
            yield from wrapper.end_processes(ending, asked.run_id, supervisor, asked.grace_s)
        orphans = "-"
        if not files.reaper and wrapper.orphans(files.supervisor):
            settled = kernel.now + ORPHANS_SETTLE_S
            yield Pause(settled, lambda: not wrapper.orphans(files.supervisor))
            orphans = wrapper.orphans_text(files)
        supervisor.holds_lease = False
        if lease is not None and (claim := lease.claims.get(asked.run_id)) is not None:
            if ending.left == 0 and orphans == "-":
                del lease.claims[asked.run_id]
            else:  # what is left has the host, and shares it with nobody
                who = f"{asked.who}; it has ended and may have left processes"
                claim.note = HolderNote(int(kernel.wall), asked.run_id, who)
                claim.sharing = ""
        files.exit = ExitRecord(
            code, kernel.wall, timed_out, ending.killed, ending.left, files.cancelled, orphans
        )
        kernel.end(supervisor, 0)

    def _timer(self, asked: Asked, supervisor: Process) -> list[Process]:
        """The processes that watch the timeout; marked, so that they are found without it."""
        if asked.timeout_s is None:
            return []
        run_id = asked.run_id
        return [
            self._kernel.spawn(run_id=run_id, origin=run_id, tree=supervisor.pid, helper=True)
            for _ in range(2)
        ]

    # The script ----------------------------------------------------------------------------------

    def _execute(self, files: RunFiles, asked: Asked, supervisor: Process) -> Process:
        kernel = self._kernel
        workload = self._workloads(asked)
        main = kernel.spawn(
            run_id=asked.run_id,
            origin=asked.run_id,
            tree=supervisor.pid,
            on_term_s=workload.on_term_s,
            on_term_status=workload.on_term_status,
            on_term_child_s=workload.on_term_child_s,
            holds_lease=supervisor.holds_lease,
            load=workload.load,
            command=workload.command,
        )
        kernel.run(self._print(files, workload.output(), main))
        if workload.on_term_output:
            kernel.run(self._last_words(files, workload.on_term_output, main))
        for child in workload.children:
            self._bear(child, asked, main, supervisor)
        if workload.ends_after_s != FOREVER:
            at = kernel.now + workload.ends_after_s
            kernel.at(at, lambda: self._end_of_script(main, workload.exit_status))
        return main

    def _end_of_script(self, main: Process, status: int) -> None:
        if not main.terminating:  # else its handler has the last word
            self._kernel.end(main, status)

    def _print(
        self, files: RunFiles, output: Iterator[tuple[float, bytes]], main: Process
    ) -> Routine:
        started = self._kernel.now
        for after_s, data in output:
            if self._kernel.now < started + after_s:
                yield Pause(started + after_s, lambda: not main.alive)
            if not main.alive or main.terminating:
                return
            self._write(files, data)

    def _last_words(self, files: RunFiles, data: bytes, main: Process) -> Routine:
        yield Pause(FOREVER, lambda: not main.alive)
        if main.terminating and main.status == main.on_term_status:
            self._write(files, data)

    def _write(self, files: RunFiles, data: bytes) -> None:
        if files.log is None:
            files.log = bytearray()
        files.log += data[: self._disk.take(len(data))]
        files.log_written = self._kernel.wall

    def _bear(self, child: Child, asked: Asked, main: Process, supervisor: Process) -> None:
        kernel = self._kernel

        def born() -> None:
            if not main.alive:
                return
            # A subreaper inherits the children of those that end before it.
            tree = None if child.hides and not self._wrapper.subreaper else supervisor.pid
            process = kernel.spawn(
                run_id=asked.run_id if child.marked else "",
                origin=asked.run_id,
                tree=tree,
                on_term_s=child.on_term_s,
                holds_lease=child.holds_lease and main.holds_lease,
                stuck=child.stuck,
                rank=child.rank,
                load=child.load,
                command=main.command,
                hangs_at=kernel.now - max(0.0, child.starts_after_s) + child.hangs_after_s,
            )
            if child.lives_s != FOREVER:
                kernel.ends_at(process, kernel.now + child.lives_s, 0)

        if child.starts_after_s <= 0:
            born()
        else:
            kernel.at(kernel.now + child.starts_after_s, born)
