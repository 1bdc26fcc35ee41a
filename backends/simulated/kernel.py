"""A simulated machine's processes and time: nothing moves but in :meth:`Kernel.advance`.

Everything happens at an exact moment and in one order, so that the same calls give the same world.
What takes time is a routine: a generator that rests by yielding a :class:`Pause`.
"""

from __future__ import annotations

import heapq
import itertools
import random
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any  # a process's properties, by name

from backends.simulated.fake_run import FOREVER, MADE_UP, TERMINATED, GpuLoad

KILLED = 128 + 9
TICKS_PER_S = 100


@dataclass(frozen=True, slots=True)
class Pause:
    """A routine rests until this moment, or until ``ready`` says so."""

    until: float
    ready: Callable[[], bool] | None = None


Routine = Generator[Pause, None, None]


@dataclass(slots=True, eq=False)
class Process:
    """A process. ``run_id``: the marker in its environment; ``""``: none.

    ``origin``: the run that it was started for, whether anything on the host still tells. ``tree``:
    the supervisor whose descendant it is; ``helper``: it belongs to the supervisor's own session.
    ``parent``: whose handler of TERM has started it. ``load``: on GPUs. ``hangs_at``: from then on
    it waits for a file, as the kernel counts seconds. ``command``: its command line. See
    :class:`~backends.simulated.fake_run.Child` for the rest.
    """

    pid: int
    ticks: int
    run_id: str = ""
    origin: str = ""
    tree: int | None = None
    helper: bool = False
    on_term_s: float | None = 0.0
    on_term_status: int = TERMINATED
    holds_lease: bool = False
    stuck: bool = False
    status: int | None = None
    terminating: bool = False
    on_term_child_s: float = 0.0
    parent: Process | None = None
    load: GpuLoad | None = None
    rank: int | None = None
    hangs_at: float = FOREVER
    command: str = MADE_UP

    @property
    def alive(self) -> bool:
        return self.status is None


@dataclass(slots=True, eq=False)
class _Resting:
    routine: Routine
    pause: Pause
    process: Process | None
    due: bool = False


class Kernel:
    """One machine from its first boot on.

    Parameters
    ----------
    chance: where pids, boot ids and ports come from.
    epoch: wall-clock time (seconds since the epoch) at ``now`` = 0.
    """

    def __init__(self, chance: random.Random, epoch: float) -> None:
        self.chance = chance
        self.now = 0.0
        self.epoch = epoch
        self.clock_offset_s = 0.0
        self.up = True
        self.boot_id = self._new_boot_id()
        self.boots = 1
        self.processes: dict[int, Process] = {}
        self._booted_at = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._pids = itertools.count(chance.randrange(300, 3000))
        self._resting: list[_Resting] = []

    def _new_boot_id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    @property
    def wall(self) -> float:
        """The machine's own clock, seconds since the epoch."""
        return self.epoch + self.now + self.clock_offset_s

    @property
    def uptime_s(self) -> float:
        return self.now - self._booted_at

    # Time ----------------------------------------------------------------------------------------

    @property
    def next_at(self) -> float | None:
        """When something happens next by itself; None: never."""
        return self._events[0][0] if self._events else None

    def advance(self, now: float) -> None:
        """Let everything happen that happens until ``now``; an earlier moment changes nothing."""
        while self._events and self._events[0][0] <= now:
            at, _, action = heapq.heappop(self._events)
            self.now = max(self.now, at)
            action()
            self._wake()
        self.now = max(self.now, now)

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Do something at a moment, unless the machine goes down before."""
        if when == FOREVER:
            return
        boot = self.boots

        def if_same_boot() -> None:
            if self.up and self.boots == boot:
                action()

        self._push(when, if_same_boot)

    def _push(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._numbers), action))

    def run(self, routine: Routine, process: Process | None = None) -> None:
        """Let a routine go until it rests; it ends with its process, and with the machine."""
        self._step(routine, process)
        self._wake()

    def changed(self) -> None:
        """Something was changed from outside: let those go on who waited for it."""
        self._wake()

    def _step(self, routine: Routine, process: Process | None) -> None:
        try:
            pause = next(routine)
        except StopIteration:
            return
        if process is not None and not process.alive:
            return
        resting = _Resting(routine, pause, process)
        self._resting.append(resting)

        def due() -> None:
            resting.due = True

        self.at(pause.until, due)

    def _wake(self) -> None:
        """Go on with every routine whose moment has come, until all rest."""
        while True:
            for resting in self._resting:
                ready = resting.pause.ready
                if resting.due or (ready is not None and ready()):
                    self._resting.remove(resting)
                    self._step(resting.routine, resting.process)
                    break
            else:
                return

    # Processes -----------------------------------------------------------------------------------

    def spawn(self, **properties: Any) -> Process:
        """A new process; ``properties``: what :class:`Process` has beyond pid and ticks."""
        ticks = round(self.uptime_s * TICKS_PER_S)
        process = Process(next(self._pids), ticks, **properties)
        self.processes[process.pid] = process
        return process

    def end(self, process: Process, status: int) -> None:
        """The process ends now, whatever it did."""
        if not process.alive:
            return
        process.status = status
        del self.processes[process.pid]
        self._resting = [r for r in self._resting if r.process is not process]

    def ends_at(self, process: Process, when: float, status: int) -> None:
        self.at(when, lambda: self.end(process, status))

    def terminate(self, process: Process) -> None:
        """TERM: it ends when its handler is done, if it has ears for it."""
        if process.on_term_s is None or process.terminating or process.stuck:
            return
        process.terminating = True
        lasts_s = process.on_term_s + process.on_term_child_s
        if lasts_s == 0.0:
            self.end(process, process.on_term_status)
            return
        if process.on_term_child_s:
            child = self.spawn(
                run_id=process.run_id,
                origin=process.origin,
                tree=process.tree,
                holds_lease=process.holds_lease,
                parent=process,
            )
            self.ends_at(child, self.now + process.on_term_child_s, 0)
        self.ends_at(process, self.now + lasts_s, process.on_term_status)

    def kill(self, process: Process) -> None:
        """KILL."""
        if not process.stuck:
            self.end(process, KILLED)

    def living(self) -> Iterator[Process]:
        return iter(list(self.processes.values()))

    # Faults --------------------------------------------------------------------------------------

    def crash(self, down_s: float) -> None:
        """Lose the power now; come back after ``down_s`` with a new boot id."""
        self.up = False
        self.boots += 1
        for process in self.processes.values():
            process.status = KILLED
        self.processes.clear()
        self._resting.clear()
        boot = self.boots
        self._push(self.now + down_s, lambda: self._boot(boot))

    def _boot(self, boot: int) -> None:
        if boot != self.boots:  # the power went again meanwhile
            return
        self.up = True
        self.boot_id = self._new_boot_id()
        self._booted_at = self.now
