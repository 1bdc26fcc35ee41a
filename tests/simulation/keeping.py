"""Campaigns of five hours that keepers go on with: keepers and consoles are killed, terminals are
lost, two operators ask at once. Everything is done once, and every request answered once."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import tui.cli.keep
import tui.keeping
from backends.campaign.folder.paths import REQUESTS, TAKEN
from backends.campaign.record.events import RequestAnswered
from backends.campaign.record.journal import FILE_NAME, read_events
from backends.keeper import server
from backends.keeper.process import Begun, KeeperError, Teller
from backends.keeper.request import Answer, Request, Verb
from backends.keeper.spool import ANSWERS, GOOD_FOR_S, Spool
from backends.simulated.fake_run import Workload
from backends.simulated.spec import HostSpec
from backends.simulated.supervising import Asked
from profiles.format.catalog import load_file
from tests.simulation.faults import Faults
from tests.simulation.invariants import Invariants, own_campaigns, state_of
from tests.simulation.login import Process
from tests.simulation.loop import OWNER
from tests.simulation.scenario import NAME, Told, told_of
from tests.simulation.workloads import line, profile_text
from tests.simulation.world import EPOCH, World
from tests.support.fake_training import Curve, training

HOURS = 5.0
KILLS = 30
HANG_UPS = 6
QUESTIONS = 16
CRON_EVERY_S = 600.0
PATIENCE_S = 6 * 3600.0
RUN_S = (300.0, 600.0, 900.0)


def play_kept(seed: int, root: Path) -> Told:
    """Play a seed in a world of its own below ``root``."""
    return told_of(seed, root, lambda world: KeptStory(world).tell())


class LongRuns:
    """Each trains for minutes, the same each time it is asked; some fail."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, asked: Asked) -> Workload:
        stem, _, attempt = asked.run_id.rpartition("-a")
        number = stem.rpartition("-")[2]
        chance = random.Random(f"long/{self._seed}/{number}/{attempt}/{asked.host}")
        curve = Curve(level=100.0, every_s=60.0, first_s=5.0, noise=0.02)
        fails = int(chance.random() < 0.1)
        readings = int(chance.choice(RUN_S) / curve.every_s)
        name = (self._seed, number, asked.host)
        return training(curve, readings, line, seed=name, fails_with=fails)


class Watched:
    """What was asked, by whom, and what was answered: at the spool itself."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: dict[str, tuple[Process, Request]] = {}
        self.answers: dict[str, Answer] = {}
        self.told: dict[int, Mapping[str, Any]] = {}

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        put, reply = Spool.put, Spool.reply

        def put_noted(spool: Spool, request: Request) -> None:
            owner = OWNER.get()
            assert isinstance(owner, Process)
            put(spool, request)
            self.asked[request.id] = owner, request

        def reply_noted(spool: Spool, answer: Answer) -> None:
            reply(spool, answer)
            now = spool.answer(answer.id)
            first = self.answers.setdefault(answer.id, now or answer)
            if now != first:
                self._world.violated(f"request {answer.id} is answered {first} and {now}")

        with contextlib.ExitStack() as stack:
            for target, name, value in (
                (Spool, "put", put_noted),
                (Spool, "reply", reply_noted),
                (tui.keeping, "start_keeper", self._start_keeper),
                (Teller, "tell", self._tell),
                (tui.cli.keep, "limit_log", lambda campaign: None),
                (server, "LOOK_EVERY_S", 5.0),
            ):
                stack.enter_context(mock.patch.object(target, name, value))
            yield

    def _tell(self, document: Mapping[str, object]) -> None:
        owner = OWNER.get()
        assert isinstance(owner, Process)
        self.told.setdefault(owner.pid, document)

    async def _start_keeper(
        self, command: Sequence[str], campaign: Path, environ: Mapping[str, str]
    ) -> Begun:
        """A process beside the one that starts it, which outlives it."""
        parent = OWNER.get()
        assert isinstance(parent, Process)
        words = command[command.index("keep") :]
        keeper = self._world.launch(parent.node, *words)
        while keeper.pid not in self.told and not keeper.dead:
            await self._world.pause(0.05)
        told = self.told.get(keeper.pid)
        if told is None or "error" in told:
            raise KeeperError(str((told or {}).get("error", "it ended before it began")))
        return Begun(keeper.pid)


class KeptStory:
    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"kept/{world.seed}")
        self._watched = Watched(world)
        self._ends_at = HOURS * 3600

    def tell(self) -> None:
        with self._watched.patched():
            self._tell()

    def _tell(self) -> None:
        world, chance = self._world, self._chance
        self._set_the_scene()
        detached = chance.random() < 0.7
        first = self._launch(*self._words, *["--detach"] * detached)
        for _ in range(KILLS):
            world.at(chance.uniform(20.0, self._ends_at), self._kill)
        for _ in range(HANG_UPS):
            world.at(chance.uniform(20.0, self._ends_at), self._hang_up)
        for _ in range(QUESTIONS):
            world.at(chance.uniform(60.0, self._ends_at), self._two_ask)
        world.at(CRON_EVERY_S, self._cron)
        world.go_on(self._ends_at)
        world.note("from here on nobody is killed")
        assert first.dead or not detached, "a command that detaches returns"
        limit = world.now + PATIENCE_S
        while not self._over() and world.now < limit:
            world.go_on(world.now + 60.0)
        world.go_on(world.now + 200.0)
        assert self._over(), "the campaign does not come to an end"
        self._check()

    def _set_the_scene(self) -> None:
        world, chance = self._world, self._chance
        count = chance.randint(2, 3)
        specs = {f"node{n}": HostSpec(cpus=1) for n in range(1, count + 1)}
        world.add_hosts(specs, shared_disk=chance.random() < 0.2)
        world.workloads = LongRuns(world.seed)
        (world.root / "profiles" / "train.sh").write_text("exec python3 train.py\n")
        path = world.root / "profiles" / f"{NAME}.toml"
        text = profile_text(chance, NAME).replace('"90s"', '"2h"').replace('"15s"', '"10m"')
        path.write_text(text.replace('"10s"', '"10m"'))
        world.files.keep_all()
        self._cases = ["1n1g", "2n1g"][: chance.randint(1, 2)]
        repeats = 12 * count
        self._words = ["run", "-p", NAME, "-c", *self._cases, "-r", str(repeats), "--force"]
        self._begun_with = repeats * len(self._cases)
        self._invariants = Invariants(world, Faults(world, chance), load_file(path), 0)

    # What happens --------------------------------------------------------------------------------

    def _launch(self, *words: str) -> Process:
        return self._world.launch(self._chance.choice(self._world.nodes), *words)

    def _alive(self) -> list[Process]:
        return [process for process in self._world.processes if not process.dead]

    def _writers(self) -> list[Process]:
        return [process for process in self._alive() if process.controller is not None]

    def _kill(self) -> None:
        """Whoever writes, or anybody."""
        some = self._writers() or self._alive()
        if self._chance.random() < 0.2:
            some = self._alive()
        if some:
            process = self._chance.choice(some)
            process.kill_after = process.steps + self._chance.randint(0, 400)

    def _hang_up(self) -> None:
        """A console, where one is at work; else somebody comes with one first."""
        consoles = [p for p in self._writers() if p.label != "keep" and p.on_hang_up is not None]
        if consoles:
            console = self._chance.choice(consoles)
            self._world.note(f"{console}: its terminal is lost")
            assert console.on_hang_up is not None
            self._world.loop.call_soon(console.on_hang_up)
        elif campaigns := own_campaigns(self._world):
            self._launch("resume", campaigns[0].name, "--take-over")

    def _cron(self) -> None:
        for node in self._world.nodes:
            for campaign in own_campaigns(self._world):
                self._world.launch(node, "resume", "--detach", campaign.name)
        self._world.at(self._world.now + CRON_EVERY_S, self._cron)

    def _two_ask(self) -> None:
        """At once; and often whoever has to do it is killed meanwhile."""
        campaigns = own_campaigns(self._world)
        if not campaigns or not state_of(campaigns[0]).runs or self._over():
            return
        chance, name = self._chance, campaigns[0].name
        runs = sorted(state_of(campaigns[0]).runs)
        for node in self._world.nodes:
            verb = chance.choice(("cancel", "retry", "pause", "unpause", "unpause", "repeat"))
            one = ["--run", chance.choice(runs)]
            more = {"repeat": ["1"], "cancel": one}.get(verb, one * (chance.random() < 0.6))
            self._world.launch(node, verb, name, *more)
        if chance.random() < 0.7:
            for writer in self._writers():
                if writer.label in ("keep", "run", "resume", "retry"):
                    writer.kill_after = writer.steps + chance.randint(1, 300)

    def _over(self) -> bool:
        """It has finished, once nothing is paused any more and nobody is at work on it."""
        campaigns = own_campaigns(self._world)
        if not campaigns:
            return False
        state = state_of(campaigns[0])
        if self._world.now > self._ends_at and not state.finished:
            held = any(run.paused for run in state.runs.values())
            if held and not any(p.label == "unpause" for p in self._alive()):
                self._world.launch(self._world.nodes[0], "unpause", campaigns[0].name)
        return state.finished and not self._writers()

    # What must be true ---------------------------------------------------------------------------

    def _check(self) -> None:
        world = self._world
        [campaign] = own_campaigns(world)
        state = state_of(campaign)
        cases = len(self._cases)
        planned_here = sum(self._planned_by(process) for process in world.processes)
        repeats = [w for w in state.wishes.values() if w.verb == Verb.REPEAT and w.done]
        self._invariants.expect(self._begun_with + len(repeats) * cases + planned_here)
        self._invariants.at_the_end()
        answered = [e for e in read_events(campaign / FILE_NAME) if isinstance(e, RequestAnswered)]
        if len(answered) != len({event.request for event in answered}):
            world.violated("a request is answered twice in the journal")
        for request_id, wish in state.wishes.items():
            said = self._watched.answers.get(request_id)
            if wish.done is None or said is None:
                world.violated(f"request {request_id} was taken and is not answered: {wish}")
            elif (said.done, said.text, said.run_ids) != (wish.done, wish.text, wish.changed):
                world.violated(f"request {request_id} is answered {said}, its journal says {wish}")
        for request_id, told in self._watched.answers.items():
            if told.done and request_id not in state.wishes:
                world.violated(
                    f"request {request_id} is answered {told}, its journal knows nothing"
                )
        for request_id, (process, request) in self._watched.asked.items():
            back = "taken back" in process.output
            if back and request_id in state.wishes:
                world.violated(f"{process}: says that {request} was taken back, and it was done")
            alone = self._planned_by(process) > 0 or self._done_itself(process)
            known = request_id in state.wishes or back or alone
            if process.status == 0 and not known:
                world.violated(f"{process}: {request} is done, and the journal does not know")
        for folder in (TAKEN, REQUESTS):
            if left := [p.name for p in (campaign / folder).iterdir() if p.name[0] != "."]:
                self._left(folder, left)
        for request_id, wish in state.wishes.items():
            late = EPOCH + world.now - wish.answered_at > GOOD_FOR_S / 2  # clocks differ
            if not late and not (campaign / ANSWERS / f"{request_id}.json").exists():
                world.violated(f"the answer to {request_id} is not there")

    def _left(self, folder: str, names: Sequence[str]) -> None:
        """Only what somebody who was killed has asked may lie there, with nobody left to do it."""
        for name in names:
            process, _ = self._watched.asked[name.removesuffix(".json")]
            if folder == TAKEN or process.status is not None:
                self._world.violated(f"{process}: its request lies in {folder}")

    def _done_itself(self, process: Process) -> bool:
        """Whoever was asked had gone, so that the command did it here."""
        return process.label in ("pause", "unpause", "cancel", "retry")

    def _planned_by(self, process: Process) -> int:
        """Runs that a command planned itself, as nobody was at work.

        Who has planned them for it may be gone by the time it says what starts them.
        """
        answers = self._watched.answers
        if any(p is process and i in answers for i, (p, _) in self._watched.asked.items()):
            return 0
        starts = "'resume' starts them" in process.output or process in self._alone
        return len(self._cases) if process.label == "repeat" and starts else 0

    @property
    def _alone(self) -> set[Process]:
        asked = {process for process, _ in self._watched.asked.values()}
        return {
            process
            for process in self._world.processes
            if process.label == "repeat" and process.status == 0 and process not in asked
        }
