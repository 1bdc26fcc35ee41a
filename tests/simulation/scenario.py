"""One seed's story: a campaign is started, things go wrong, the operator comes back until it is
over."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from backends.simulated.spec import HostSpec, v100_host
from profiles.format.catalog import load_file
from tests.simulation.acts import Acts
from tests.simulation.faults import ADDS, KINDS, PAUSES, Faults
from tests.simulation.invariants import Invariants, is_held, own_campaigns, state_of
from tests.simulation.login import Process
from tests.simulation.workloads import Workloads, profile_text
from tests.simulation.world import PROGRESS_EVERY_S, World, simulation

TROUBLE_UNTIL_S = (12.0, 30.0, 60.0, 150.0)
PATIENCE_S = 3000.0
"""Virtual seconds in which a campaign ends once everything works again."""
GOES_AND_LOOKS_S = 700.0
MOST_STEPS = 150_000
NAME = "steady"

_ABANDONED: list[World] = []
"""Tasks that were killed must never be closed, for that would run what a kill does not: so their
worlds are kept until the process ends."""


@dataclass(frozen=True)
class Told:
    """What became of a seed. ``steps``: of all processes together."""

    seed: int
    violations: tuple[str, ...]
    trace: tuple[str, ...]
    steps: int
    virtual_s: float


def play(seed: int, root: Path) -> Told:
    """Play a seed in a world of its own below ``root``."""
    return told_of(seed, root, lambda world: Story(world).tell())


def play_power_failure(step: int, root: Path) -> Told:
    """A small campaign whose login node loses its power before this step; it is taken up again."""

    def tell(world: World) -> None:
        Story(world).lose_power_at(step)

    return replace(told_of(0, root, tell), seed=step)


def told_of(seed: int, root: Path, tell: Callable[[World], None]) -> Told:
    """What becomes of a world in which this happens."""
    with simulation(seed, root) as world:
        _ABANDONED.append(world)
        try:
            tell(world)
        except AssertionError as error:
            world.violated(str(error))
        except Exception as error:
            world.violated(f"the simulation itself: {traceback.format_exc(limit=-2)}: {error}")
        return Told(
            seed,
            tuple(world.violations),
            tuple(world.trace),
            sum(process.steps for process in world.processes),
            world.now,
        )


class Story:
    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"story/{world.seed}")
        self._faults = Faults(world, self._chance)
        self._acts = Acts(world, self._chance, NAME, self._command)
        self._meddling: tuple[str, ...] = ()
        self._trouble_until = self._chance.choice(TROUBLE_UNTIL_S)
        self._pauses = random.Random(f"pause/{world.seed}").choice((0, 0, 2, 6))

    def tell(self) -> None:
        world, chance = self._world, self._chance
        self._set_the_scene()
        kinds = chance.sample(sorted(KINDS), chance.randint(1, 5))
        self._faults.schedule(chance.randint(0, 8), self._trouble_until, tuple(kinds))
        if self._pauses:
            self._faults.schedule(self._pauses, self._trouble_until, PAUSES)
        if adds := random.Random(f"add/{world.seed}").choice((0, 0, 0, 1, 3)):
            self._faults.schedule(adds, self._trouble_until, ADDS)
        if chance.random() < 0.6:
            self._meddling = tuple(chance.sample(sorted(self._acts.kinds), chance.randint(1, 2)))
        self._troubled_times()
        world.note("from here on everything works")
        self._faults.heal()
        self._to_the_end()
        world.go_on(world.now + 200.0)  # what runs on by itself has its timeout on the host
        self._invariants.at_the_end()

    def lose_power_at(self, step: int) -> None:
        world = self._world
        self._set_the_scene(hosts=1)
        console = self._launch(*self._words)
        console.kill_after = step
        self._follow(console, 100.0)
        lost = world.files.lose_unsynced(None)
        world.note(f"the power is gone, and {lost} bytes")
        world.go_on(world.now + 60.0)
        self._to_the_end()
        self._invariants.at_the_end()

    def _set_the_scene(self, hosts: int | None = None) -> None:
        world, chance = self._world, self._chance
        count = hosts or chance.randint(1, 3)
        gpus = v100_host(2).gpus if chance.random() < 0.1 else ()
        packing = random.Random(f"pack/{world.seed}")
        pack = hosts is None and packing.random() < 0.3
        specs = {
            f"node{number}": HostSpec(
                gpus=gpus,
                cpus=chance.choice((1, 2)),
                python=chance.random() < 0.85,
                flock=chance.random() < 0.85,
            )
            for number in range(1, count + 1)
        }
        if pack:
            slots = packing.choice((2, 3, 4))
            specs = {name: replace(spec, cpus=slots) for name, spec in specs.items()}
        world.add_hosts(specs, shared_disk=chance.random() < 0.2)
        world.workloads = Workloads(world.seed, trouble=chance.choice((0.0, 0.2, 0.6)))
        (world.root / "profiles" / "train.sh").write_text("exec python3 train.py\n")
        path = world.root / "profiles" / f"{NAME}.toml"
        path.write_text(profile_text(chance, NAME))
        world.files.keep_all()
        tags = [f"{nodes}n1g" for nodes in range(1, count + 1)]
        tags = chance.sample(tags, chance.randint(1, len(tags)))
        repeats = chance.randint(1, 2)
        if pack:
            repeats += packing.randint(1, 3)
            tags = sorted({*tags, "1n1g"})
        self._words = ["run", "-p", NAME, "-c", *tags, "-r", str(repeats), "--force"]
        if random.Random(f"explain/{world.seed}").random() < 0.25:
            self._words.append("--explain")
        if pack:
            self._words.append("--pack")
        planned = len(tags) * repeats
        self._invariants = Invariants(world, self._faults, load_file(path), planned)

    # The operator --------------------------------------------------------------------------------

    def _troubled_times(self) -> None:
        """Start, and come back whenever the console has ended before the campaign."""
        world, chance = self._world, self._chance
        console: Process | None = None
        while world.now < self._trouble_until and not self._finished():
            console = self._launch(*self._next_words())
            if chance.random() < 0.3:
                console.kill_after = chance.randint(1, 1200)
            self._follow(console, self._trouble_until)
            if not console.dead:
                break
            self._meddle()
            pause = chance.choice((0.0, 1.0, 20.0, 60.0))
            world.go_on(min(world.now + pause, self._trouble_until))
        world.go_on(max(world.now, min(self._trouble_until, world.now + 1.0)))

    def _meddle(self) -> None:
        """Something happens to the files, now that nobody works on them."""
        begun = self._begun()
        if begun and self._meddling and not self._at_work() and self._chance.random() < 0.6:
            self._acts.do(self._chance.choice(self._meddling), begun[0])

    def _command(self, *words: str) -> Process:
        """A command to its end, or for as long as an operator would wait for it."""
        process = self._launch(*words)
        self._follow(process, self._world.now + 120.0)
        if not process.dead:
            process.kill()
        return process

    def _next_words(self) -> tuple[str, ...]:
        campaigns = self._begun()
        if not campaigns:
            return self._begin()
        chance, name = self._chance, campaigns[0].name
        if chance.random() < 0.1:
            return ("sweep", "--yes")
        if self._pauses and chance.random() < 0.6:
            return (chance.choice(("pause", "unpause")), name, "--take-over")
        words = [chance.choice(("resume", "resume", "resume", "resume", "cancel")), name]
        if chance.random() < 0.3:
            words.append("--take-over")
        return tuple(words)

    def _begin(self) -> tuple[str, ...]:
        """No directory says that the campaign goes on in it: begin, or adopt what there is."""
        left = [path.name for path in self._world.campaigns() if state_of(path).runs]
        return ("resume", left[-1], "--adopt", "--take-over") if left else tuple(self._words)

    def _launch(self, *words: str) -> Process:
        return self._world.launch(self._chance.choice(self._world.nodes), *words)

    def _follow(self, console: Process, until: float) -> None:
        world, before = self._world, console.steps
        world.go_on(until, lambda: console.dead or console.steps - before > MOST_STEPS)
        assert console.steps - before <= MOST_STEPS, f"{console} goes round in circles"
        if console.status is not None:
            self._invariants.command_ended(console)

    def _begun(self) -> list[Path]:
        """The campaigns in which anything can have been started."""
        return [path for path in own_campaigns(self._world) if state_of(path).runs]

    def _finished(self) -> bool:
        begun = self._begun()
        return bool(begun) and all(state_of(path).finished for path in begun)

    def _to_the_end(self) -> None:
        """Nothing goes wrong any more: the campaign must come to its end, or say why not."""
        world = self._world
        limit = world.now + PATIENCE_S
        for console in self._at_work():
            console.kill_after = None
            self._to_its_end(console, limit)
        for _ in range(6):
            if self._finished():
                return
            orders = [("resume", path.name, "--take-over") for path in self._begun()]
            for words in orders or [self._begin()]:
                self._to_its_end(self._launch(*words), limit)
            world.go_on(world.now + 40.0)

    def _to_its_end(self, console: Process, limit: float) -> None:
        """A console that waits in vain says for what; the operator goes and looks."""
        while not console.dead and self._world.now < limit:
            looks_in_s = 60.0 if self._pauses else GOES_AND_LOOKS_S
            self._follow(console, min(limit, self._world.now + looks_in_s))
            if is_held(console):
                self._follow(console, self._world.now + 2 * PROGRESS_EVERY_S)
                self._invariants.says_what_it_waits_for(console)
                self._unpause(console)
            elif not console.dead and console.controller is not None:
                self._invariants.end_orphans()
        assert console.dead, f"{console} does not come to an end"

    def _unpause(self, console: Process) -> None:
        """In it, or after it."""
        world, controller = self._world, console.controller
        if self._chance.random() < 0.5 or console.on_signal is None:
            paused = [run.run_id for run in controller.state.runs.values() if run.paused]
            world.paused.clear()
            world.inside(console, lambda: [controller.unpause(run_id) for run_id in paused][:0])
            return
        world.loop.call_soon(console.on_signal)
        self._follow(console, world.now + 60.0)
        unpausing = self._command("unpause", controller.path.name)
        if unpausing.status != 0 or "unpaused" not in unpausing.output:
            world.violated(f"{unpausing}: what was held is not unpaused")

    def _at_work(self) -> list[Process]:
        return [process for process in self._world.processes if not process.dead]
