"""What goes wrong in a simulated campaign: each fault is chosen, timed and aimed by the seed."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from backends.campaign.controller import CampaignController
from backends.campaign.folder.paths import host_log_path
from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.selection import Selection
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunRecord, RunState, fold
from backends.inventory.host_entry import Host
from backends.simulated.fake_run import Workload
from backends.simulated.kernel import Routine
from backends.simulated.supervising import Asked, Launcher
from backends.simulated.wrapper import Failed
from backends.transports.transport import Problem
from profiles.errors import DlperfError
from tests.simulation.login import Process
from tests.simulation.world import World

LEASE_DIR = Host("any").lease_dir


class Faults:
    """Faults of one world. Every method is one, at the moment it is called."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world = world
        self._chance = chance
        self.tampered: dict[str, float] = {}  # when a run's local log was changed last
        self._neighbours = 0

    def schedule(self, count: int, until: float, kinds: tuple[str, ...]) -> None:
        """So many faults of these kinds, at moments before ``until``."""
        for _ in range(count):
            kind = self._chance.choice(kinds)
            self._world.at(self._chance.uniform(0.0, until), self._caller(getattr(Faults, kind)))

    def _caller(self, fault: Callable[[Faults], None]) -> Callable[[], None]:
        return lambda: fault(self)

    def heal(self) -> None:
        """From now on everything works."""
        world = self._world
        for name, machine in world.cluster.machines.items():
            world.cluster.links[name].mend()
            machine.pace_s = 0.0
            if machine.disk.room is not None:
                machine.disk.room = None
        world.drops.clear()
        world.files.room = None
        world.loop.thread_delay_s = lambda: 0.001

    # On the way and on the hosts -----------------------------------------------------------------

    def _host(self) -> str:
        return self._chance.choice(sorted(self._world.cluster.machines))

    def _later(self, after_s: float, action: Callable[[], None]) -> None:
        self._world.at(self._world.now + after_s, action)

    def cut(self) -> None:
        name, for_s = self._host(), self._chance.choice((1.0, 8.0, 25.0, 70.0))
        link = self._world.cluster.links[name]
        self._world.note(f"fault: {name} is cut off for {for_s:g} s")
        link.cut()
        self._later(for_s, link.mend)

    def refuse(self) -> None:
        name, for_s = self._host(), self._chance.choice((1.0, 20.0, 70.0))
        link = self._world.cluster.links[name]
        problem = self._chance.choice((Problem.REFUSED, Problem.UNREACHABLE, Problem.OTHER))
        self._world.note(f"fault: {name} refuses for {for_s:g} s: {problem}")
        link.refuse(problem)
        self._later(for_s, link.mend)

    def reset(self) -> None:
        name = self._host()
        self._world.note(f"fault: connections to {name} break")
        self._world.cluster.links[name].reset()

    def flaky(self) -> None:
        name, for_s = self._host(), self._chance.choice((5.0, 30.0))
        self._world.note(f"fault: {name} loses commands and answers for {for_s:g} s")
        self._world.drops[name] = self._chance.choice((0.2, 0.5))
        self._later(for_s, lambda: self._world.drops.pop(name, None) and None)

    def crash(self) -> None:
        name, for_s = self._host(), self._chance.choice((3.0, 15.0, 60.0))
        self._world.note(f"fault: {name} loses its power for {for_s:g} s")
        self._world.cluster.crash(name, for_s)

    def slow(self) -> None:
        name, for_s = self._host(), self._chance.choice((5.0, 30.0))
        machine = self._world.cluster.machines[name]
        machine.pace_s = self._chance.choice((0.5, 5.0, 70.0))
        self._world.note(f"fault: {name} takes {machine.pace_s:g} s to begin anything")

        def quick() -> None:
            machine.pace_s = 0.0

        self._later(for_s, quick)

    def host_disk_full(self) -> None:
        name, for_s = self._host(), self._chance.choice((5.0, 30.0))
        machine = self._world.cluster.machines[name]
        machine.disk.room = self._chance.choice((0, 100, 1500))
        self._world.note(f"fault: {name} has {machine.disk.room} bytes left")

        def room() -> None:
            machine.disk.room = None

        self._later(for_s, room)

    def host_clock(self) -> None:
        name = self._host()
        jump = self._chance.choice((-3600.0, -5.0, 5.0, 86400.0))
        self._world.note(f"fault: the clock of {name} jumps by {jump:g} s")
        self._world.cluster.machines[name].kernel.clock_offset_s += jump

    def supervisor_killed(self) -> None:
        name = self._host()
        machine = self._world.cluster.machines[name]
        self._world.cluster.time.bring(machine)
        for files in machine.disk.of_host(name):
            supervisor = machine.wrapper.supervisor(files)
            if supervisor is not None:
                self._world.note(f"fault: {name}: the supervisor of {files.run_id} is killed")
                machine.kernel.kill(supervisor)
                machine.kernel.changed()
                self._world.cluster.time.bring(machine)
                return

    def rank_killed(self) -> None:
        name = self._host()
        machine = self._world.cluster.machines[name]
        self._world.cluster.time.bring(machine)
        for process in machine.at_work():
            self._world.note(f"fault: {name}: a process of {process.origin} is killed")
            machine.kernel.kill(process)
            machine.kernel.changed()
            self._world.cluster.time.bring(machine)
            return

    def neighbour(self) -> None:
        """Somebody else's run takes the host, if it is free."""
        self._neighbours += 1
        name, for_s = self._host(), self._chance.choice((3.0, 20.0, 60.0))
        machine = self._world.cluster.machines[name]
        self._world.cluster.time.bring(machine)
        run_id = f"neighbour-{self._neighbours}-a1"
        self._world.note(f"fault: {name}: a neighbour wants it for {for_s:g} s")
        self._world.neighbours[run_id] = Workload(ends_after_s=for_s)
        # Every other one is of a campaign that packs too.
        sharing = f"neighbours {self._neighbours}" if self._neighbours % 2 else ""
        taking = (LEASE_DIR, "bob@login9", sharing)
        asked = Asked(run_id, name, b"exec work\n", None, 1.0, *taking, "", "-", ())
        machine.kernel.run(_start(machine.launcher, asked))
        self._world.cluster.time.bring(machine)

    # On the login node ---------------------------------------------------------------------------

    def disk_full(self) -> None:
        for_s = self._chance.choice((3.0, 20.0))
        self._world.files.room = self._chance.choice((0, 50, 400, 3000))
        self._world.note(f"fault: {self._world.files.room} bytes are left here")

        def room() -> None:
            self._world.files.room = None

        self._later(for_s, room)

    def disk_slow(self) -> None:
        for_s = self._chance.choice((5.0, 20.0))
        loop, chance = self._world.loop, self._chance
        self._world.note("fault: the disk here is slow")
        loop.thread_delay_s = lambda: chance.random() * 6.0

        def quick() -> None:
            loop.thread_delay_s = lambda: chance.random() * 0.002

        self._later(for_s, quick)

    def clock(self) -> None:
        node = self._chance.choice(self._world.nodes)
        jump = self._chance.choice((-3600.0, -20.0, 20.0, 86400.0))
        self._world.note(f"fault: the clock of {node.name} jumps by {jump:g} s")
        node.clock_offset_s += jump

    def suspend(self) -> None:
        if (console := self._console()) is not None:
            self._world.suspend(console, self._chance.choice((4.0, 40.0, 200.0)))

    def kill(self) -> None:
        if (console := self._console()) is not None:
            console.kill()

    def kill_soon(self) -> None:
        """At one of the next steps, whatever it is about."""
        if (console := self._console()) is not None:
            console.kill_after = console.steps + self._chance.randint(1, 120)

    def power(self) -> None:
        """All processes of a login node die, and what was not synced may be gone."""
        if (console := self._console()) is None:
            return
        for process in list(console.node.processes.values()):
            process.kill()
        lost = self._world.files.lose_unsynced(self._chance)
        self._world.note(f"fault: {console.node.name} loses its power, and {lost} bytes")

    def hang_up(self) -> None:
        """The terminal is gone: the console detaches."""
        console = self._console()
        if console is not None and console.on_signal is not None:
            self._world.note(f"{console}: gets a signal")
            self._world.loop.call_soon(console.on_signal)

    def _console(self) -> Process | None:
        alive = [p for p in self._world.processes if not p.dead and not p.suspended]
        return self._chance.choice(alive) if alive else None

    # What the operator does in the console -------------------------------------------------------

    def cancel_run(self) -> None:
        self._ask(lambda controller, run_id: controller.cancel_run(run_id), "cancel")

    def retry_run(self) -> None:
        self._ask(lambda controller, run_id: controller.retry(run_id), "retry")

    def _ask(self, what: Callable[..., None], word: str) -> None:
        console = self._console()
        if console is None or console.controller is None or not console.controller.state.runs:
            return
        run_id = self._chance.choice(list(console.controller.state.runs))
        self._world.note(f"{console}: the operator asks: {word} {run_id}")
        self._world.inside(console, lambda: what(console.controller, run_id))

    def add_runs(self) -> None:
        """Of a case that the campaign has not got, unless it says why not."""

        def add(controller: CampaignController, run_id: str) -> None:
            run, begun_with = controller.state.runs[run_id], controller._begun_with
            assert begun_with is not None
            setup = begun_with.setups[run.profile]
            self._world.cases += 1
            other = replace(run.case, parameters={"added": self._world.cases})
            case = PlannedCase(setup.profile, other, self._chance.randint(1, 2), setup.settings)
            hosts = tuple(Host(name) for name in begun_with.hosts)
            plan = Plan(Selection((run.profile,)), hosts, (case,), ())
            if not controller.why_not_added(plan):
                self._world.added += controller.add(plan)

        self._ask(add, "add runs like")

    def pause_run(self) -> None:
        self._ask(lambda controller, run_id: controller.pause(run_id), "pause")

    def unpause_run(self) -> None:
        def unpause(controller: CampaignController, run_id: str) -> None:
            if controller.unpause(run_id):
                self._world.paused.discard(run_id)

        self._ask(unpause, "unpause")

    def pause_from_elsewhere(self) -> None:
        """By a second console, whoever is at work."""
        for campaign in self._world.campaigns():
            runs = [run.run_id for run in runs_of(campaign) if run.pausable or run.paused]
            words = [self._chance.choice(("pause", "unpause")), campaign.name]
            if runs and self._chance.random() < 0.6:
                words += ["--run", self._chance.choice(runs)]
            self._world.launch(self._chance.choice(self._world.nodes), *words)

    # What somebody does to the campaign's files ---------------------------------------------------

    def tamper(self) -> None:
        """A live raw log is removed, replaced, truncated or edited.

        Not one whose host has none any more, though a damaged journal calls its run live: of that
        nobody can tell any more what it was.
        """
        for campaign in self._world.campaigns():
            live = [run for run in runs_of(campaign) if run.state is RunState.RUNNING]
            if not live:
                continue
            run = self._chance.choice(live)
            host = self._chance.choice(run.hosts)
            if self._world.cluster.machines[host].wrapper.files(run.run_id) is None:
                return
            rank0 = host == run.hosts[0]
            path = campaign / (run.log if rank0 else host_log_path(run.log, host))
            if path.exists():
                how = self._chance.choice(("rm", "truncate", "replace", "edit", "append"))
                self._world.note(f"fault: {how} {path}")
                _tamper(path, how)
                self.tampered[run.run_id] = self._world.now
                return


def _start(launcher: Launcher, asked: Asked) -> Routine:
    """A start whose end nobody waits for."""
    said: list[str] = []
    with contextlib.suppress(Failed):
        yield from launcher.start(said.append, asked, len(asked.script))
    if said and said[0].startswith("@ticket "):
        with contextlib.suppress(Failed):
            given = replace(asked, ticket=said[0].split()[1])
            yield from launcher.start(said.append, given, len(asked.script))


def _tamper(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "rm":
        path.unlink()
    elif how == "truncate":
        with path.open("rb+") as file:
            file.truncate(len(data) // 2)
    elif how == "append":
        with path.open("ab") as file:
            file.write(b"iter 99, loss: 1.0, samples/s: 1.0\n")
    else:
        edited = data.replace(b"samples/s: ", b"samples/s: 9")
        if how == "edit":  # in place, as an editor that keeps the inode
            with path.open("rb+") as file:
                file.write(edited)
        else:  # as sed -i
            aside = path.with_suffix(".new")
            aside.write_bytes(edited)
            aside.replace(path)


def runs_of(campaign: Path) -> list[RunRecord]:
    try:
        return list(fold(read_events(campaign / "events.jsonl")).runs.values())
    except DlperfError:
        return []


KINDS = (
    *("cut", "refuse", "reset", "flaky", "crash", "slow", "host_disk_full", "host_clock"),
    *("supervisor_killed", "rank_killed", "neighbour", "disk_full", "disk_slow", "clock"),
    *("suspend", "kill", "kill_soon", "power", "hang_up", "cancel_run", "retry_run", "tamper"),
)
"""Names of methods of :class:`Faults`."""
ADDS = ("add_runs",)
PAUSES = ("pause_run", "unpause_run", "pause_from_elsewhere")
"""What is done to a campaign besides, where anybody pauses runs of it."""
