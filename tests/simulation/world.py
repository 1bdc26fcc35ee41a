"""Everything there is in one simulation: login nodes, hosts, a campaign's disk, and a record of
what truly happened, to hold against what the program says."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import contextvars
import copy
import functools
import random
import shlex
import shutil
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import backends.transports.pool
import tui.cli.shared.progress
from backends import use_cases
from backends.campaign.controller import CampaignController
from backends.campaign.folder.debug_log import DebugLog
from backends.inventory.host_entry import Host
from backends.keeper.request import Request, Verb
from backends.keeper.spool import Spool
from backends.simulated.disk import RunFiles
from backends.simulated.fake_run import Workload
from backends.simulated.kernel import Process as HostProcess
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.simulated_transport import SimulatedTransport
from backends.simulated.spec import HostSpec
from backends.simulated.supervising import Asked
from backends.simulated.wrapper import HELD
from backends.transports.credential import Credential
from backends.transports.transport import Completed, HostUnreachableError, Problem
from profiles.errors import DlperfError
from profiles.format import catalog
from tests.simulation import syscalls
from tests.simulation.login import Files, Node, Process
from tests.simulation.loop import OWNER, VirtualLoop
from tui.cli import program
from tui.cli.arguments import build_parser

EPOCH = 1_795_000_000.0
PROGRESS_EVERY_S = 10.0


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass(eq=False)
class Execution:
    """One execution of a run's script. ``taken_back``: undone before anybody counted on it."""

    run_id: str
    host: str
    at: float
    files: RunFiles | None
    sharing: str = ""  # "GROUP DEVICES" where it shares the host
    taken_back: bool = False


@dataclass
class Truth:
    """What really happened on the hosts."""

    executions: list[Execution] = field(default_factory=list)

    def of(self, run_id: str, host: str) -> list[Execution]:
        return [e for e in self.executions if (e.run_id, e.host) == (run_id, host)]


class World:
    """Make one with :func:`simulation`."""

    def __init__(self, seed: int, root: Path) -> None:
        self.seed = seed
        self.chance = random.Random(f"world/{seed}")
        self.loop = VirtualLoop(
            random.Random(f"order/{seed}"), disorder=self.chance.choice((0.0, 0.1, 0.5, 1.0))
        )
        self.root = root
        self.files = Files(root)
        self.nodes = [Node(f"login{n}", self.files, self.chance) for n in (1, 2)]
        self.truth = Truth()
        self.trace: list[str] = []
        self.violations: list[str] = []
        self.processes: list[Process] = []
        self.workloads: Callable[[Asked], Workload] = lambda asked: Workload()
        self.drops: dict[str, float] = {}
        self.neighbours: dict[str, Workload] = {}
        self.removals: dict[tuple[str, str], tuple[float, Process]] = {}  # by run and host: asked
        self.refused: set[str] = set()  # runs that found a host held by somebody else
        self._may_take: dict[HostProcess, float] = {}  # until when, of those that had TERM
        self.cluster: SimulatedCluster
        self.on_remove: Callable[[RunFiles], None] = lambda files: None
        self.on_execute: Callable[[Execution], None] = lambda execution: None
        self.sharing: dict[str, str] = {}  # by run id, of all that were ever executed
        self.on_neighbour: Callable[[Execution], None] = lambda execution: None
        self.on_exit: Callable[[Process, Sequence[str]], None] = lambda process, words: None
        self.added = self.cases = 0  # runs of how many cases, to campaigns at work
        self.paused: set[str] = set()  # runs that the operator was told are paused
        self.unplaced: set[str] = set()  # runs of which a damaged line said where they are
        self.unpausing: dict[str, tuple[str, ...] | None] = {}  # requests; None: of all runs

    @property
    def now(self) -> float:
        return self.loop.time()

    def note(self, text: str) -> None:
        self.trace.append(f"{self.now:10.4f} {text}".replace(str(self.root), "ROOT"))

    def violated(self, text: str) -> None:
        self.note(f"VIOLATION {text}")
        self.violations.append(text)

    # Hosts ---------------------------------------------------------------------------------------

    def add_hosts(self, specs: dict[str, HostSpec], *, shared_disk: bool) -> None:
        self.cluster = SimulatedCluster(
            specs, self._execute, seed=self.seed, epoch=EPOCH, shared_disk=shared_disk
        )
        for name, machine in self.cluster.machines.items():
            machine.wrapper.on_remove = self._removed
            machine.wrapper.on_signal = functools.partial(self._signalled, name)
        lines = []
        for name, spec in specs.items():
            slots = f"slots = {spec.cpus}"
            lines.append(f'[[hosts]]\nname = "{name}"\naddress = "{name}"\n{slots}\n')
        (self.root / "hosts.toml").write_text("".join(lines))

    def _execute(self, asked: Asked) -> Workload:
        self.note(f"{asked.host}: executes {asked.run_id}")
        self.sharing[asked.run_id] = asked.sharing
        files = self.cluster.machines[asked.host].wrapper.files(asked.run_id)
        execution = Execution(asked.run_id, asked.host, self.now, files, asked.sharing)
        if asked.run_id in self.neighbours:
            self.on_neighbour(execution)
            return self.neighbours[asked.run_id]
        self.truth.executions.append(execution)
        self.on_execute(execution)
        return self.workloads(asked)

    def _removed(self, files: RunFiles) -> None:
        self.note(f"{files.host}: removes {files.run_id}, {len(files.log or b'')} bytes")
        self.on_remove(files)

    def _signalled(self, host: str, process: HostProcess, kill_at: float) -> None:
        """What a handler of TERM has started is let be for as long as the handler may take."""
        parent, now = process.parent, self.cluster.machines[host].kernel.now
        self._may_take.setdefault(process, kill_at)
        if parent is not None and parent.alive and now < self._may_take.get(parent, 0.0):
            early = self._may_take[parent] - now
            self.violated(
                f"{host}: a handler's child of {process.origin} is ended {early:.1f} s early"
            )

    def bring_all(self) -> None:
        """All hosts to the present."""
        for machine in self.cluster.machines.values():
            self.cluster.time.bring(machine)

    # Processes -----------------------------------------------------------------------------------

    def launch(self, node: Node, *words: str) -> Process:
        """``dlperf-tui WORDS`` on a login node."""
        process = node.start(words[0])
        process.on_killed = lambda dead: self.note(f"{dead}: killed at step {dead.steps}")
        self.processes.append(process)
        self.note(f"{process}: starts on {node.name}: {' '.join(words)}")
        context = contextvars.Context()
        context.run(OWNER.set, process)
        common = ("--inventory", str(self.root / "hosts.toml"))
        common += ("--campaigns", str(self.root / "campaigns"))
        common += ("--profile-dir", str(self.root / "profiles"))
        main = self._main(process, [*words, *common])
        context.run(self.loop.create_task, main)
        return process

    async def _main(self, process: Process, words: list[str]) -> None:
        status = 1
        try:
            status = program.main(words)
        except _Captured as captured:
            try:
                status = await captured.work
            except DlperfError as error:
                process.out.append(f"dlperf-tui: {error}\n")
                status = error.exit_code
            except Exception as error:
                self.violated(f"{process}: traceback: {type(error).__name__}: {error}")
        for line in process.output.splitlines():
            self.note(f"{process}: | {line}")
        self.note(f"{process}: exits with {status}")
        process.exited(status)
        self.on_exit(process, words)

    def suspend(self, process: Process, for_s: float) -> None:
        """As a laptop that is closed for a while."""
        if process.dead or process.suspended:
            return
        self.note(f"{process}: suspended for {for_s:.1f} s")
        process.suspended = True
        self.loop.call_later(for_s, self.loop.go_on, process)

    def inside(self, process: Process, action: Callable[[], None]) -> None:
        """Something that a process does at once, as when its operator presses a key."""
        context = contextvars.Context()
        context.run(OWNER.set, process)

        def act() -> None:
            try:
                action()
            except DlperfError as error:
                self.note(f"{process}: | {error}")

        self.loop.call_soon(act, context=context)

    def campaigns(self) -> list[Path]:
        """The directories that hold a journal."""
        found = (self.root / "campaigns").glob("*/events.jsonl")
        return sorted(path.parent for path in found)

    # Time ----------------------------------------------------------------------------------------

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Something that happens to the world."""
        self.loop.call_at(when, action)

    def go_on(self, until: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Let things happen until a moment, or until ``stop``."""
        step = self.loop.step
        while not stop() and step(until):
            pass

    async def pause(self, for_s: float) -> None:
        """As the present process."""
        await asyncio.sleep(for_s)

    # The edges -----------------------------------------------------------------------------------

    def clock(self) -> float:
        """What the present process takes for the time."""
        owner = OWNER.get()
        offset = owner.node.clock_offset_s if isinstance(owner, Process) else 0.0
        return EPOCH + self.now + offset

    def pool(self, *_: Any, **__: Any) -> Pool:
        return Pool(self)


class Pool:
    """The transports of one process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._transports: dict[str, Transport] = {}
        self.process = OWNER.get()

    def get(self, host: Host | str) -> Transport:
        name = host if isinstance(host, str) else host.name
        if name not in self._transports:
            known = host if isinstance(host, Host) else Host(name, address=name)
            below = self._world.cluster.transport(known)
            self._transports[name] = Transport(self._world, below, str(self.process))
        return self._transports[name]

    def ask_again(self) -> None: ...

    def let_in_by(self) -> dict[str, Credential]:
        return {}

    async def close(self) -> None:
        for transport in self._transports.values():
            await transport.close()


class Transport:
    """A simulated transport that is watched, and that loses a command or its answer at times."""

    def __init__(self, world: World, below: SimulatedTransport, who: str) -> None:
        self._world = world
        self._below = below
        self._who = who
        self.host = below.host

    @property
    def connected(self) -> bool:
        return self._below.connected

    async def connect(self) -> None:
        await self._below.connect()

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        world, name = self._world, self.host.name
        what = f"{self._who} → {name}: {_short(command)}"
        world.note(what)
        self._note_removal(command)
        lost = self._lost()
        if lost == "before":
            world.note(f"{what}: does not arrive")
            raise HostUnreachableError(name, Problem.LOST)
        done = await self._below.run(command, stdin=stdin, timeout_s=timeout_s)
        if lost == "after":
            world.note(f"{what}: its answer is lost")
            raise HostUnreachableError(name, Problem.LOST)
        if done.exit_status == HELD:
            world.refused.add(_words(command)[2])
        if done.exit_status:
            world.note(f"{what}: {done.exit_status} {done.stderr.decode()[:80].strip()}")
        return done

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        self._world.note(f"{self._who} → {self.host.name}: {_short(command)}")
        if self._lost():
            raise HostUnreachableError(self.host.name, Problem.LOST)
        return await self._below.stream(command, on_stdout, spare=spare)

    async def close(self) -> None:
        await self._below.close()

    def _note_removal(self, command: str) -> None:
        owner = OWNER.get()
        if "exec sh " in command and isinstance(owner, Process):
            verb, host, *words = _words(command)
            if verb == "remove":
                self._world.removals[words[0], host] = self._world.now, owner

    def _lost(self) -> str:
        chance = self._world.chance
        if chance.random() >= self._world.drops.get(self.host.name, 0.0):
            return ""
        return chance.choice(("before", "after"))


@functools.lru_cache(64)
def _words(command: str) -> tuple[str, ...]:
    """Verb, host and arguments of a wrapper's command."""
    return tuple(shlex.split(command.rpartition("exec sh ")[2])[1:])


def _short(command: str) -> str:
    if "exec sh " in command:
        return " ".join(_words(command)[:5])[:90]
    return " ".join(command.split())[:24]


class _Captured(BaseException):
    """The command line has come to where its event loop begins."""

    def __init__(self, work: Coroutine[Any, Any, int]) -> None:
        self.work = work


def _run(work: Coroutine[Any, Any, int]) -> int:
    raise _Captured(work)


class _Parser:
    """The real one, asked once for the same words."""

    def parse_args(self, words: Sequence[str]) -> argparse.Namespace:
        return copy.deepcopy(self._parsed(tuple(words)))

    @staticmethod
    @functools.cache
    def _parsed(words: tuple[str, ...]) -> argparse.Namespace:
        return build_parser().parse_args(words)


@contextlib.contextmanager
def simulation(seed: int, root: Path) -> Iterator[World]:
    """A new world. ``root``: an empty directory's path, best on a file system in memory."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("campaigns", "profiles", "library"):
        (root / name).mkdir(parents=True)
    world = World(seed, root)
    random.seed(seed)

    started = CampaignController.start

    def start(self: CampaignController) -> None:
        owner = OWNER.get()
        if isinstance(owner, Process):
            owner.controller = self
        started(self)

    asked = Spool.put

    def ask(self: Spool, request: Request) -> None:
        if request.verb is Verb.UNPAUSE:  # whoever takes it does it, also for an asker who is gone
            world.paused -= set(request.run_ids or world.paused)
            world.unpausing[request.id] = request.run_ids
        asked(self, request)

    opened = use_cases.Workspace.open
    with contextlib.ExitStack() as stack:

        def put(target: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(target, name, value))

        put(asyncio, "run", _run)
        put(Spool, "put", ask)
        put(catalog, "LIBRARY", root / "library")
        put(backends.transports.pool, "TransportPool", world.pool)
        put(use_cases.Workspace, "open", staticmethod(functools.partial(opened, clock=world.clock)))
        put(use_cases, "user_profiles_dir", lambda: root / "library")
        put(CampaignController, "start", start)
        put(DebugLog, "open", lambda self: None)  # its thread would be in nobody's order
        put(program, "build_parser", _Parser)
        put(tui.cli.shared.progress, "EVERY_S", PROGRESS_EVERY_S)
        stack.enter_context(syscalls.simulated(world.loop, world.files, world.chance))
        yield world
