"""The console over a cluster and campaigns of which every text means harm.

python -m tests.console.hostile_program SEED DIRECTORY DONE: the program writes a byte to the file
descriptor DONE when it takes keys, and for every key that it has dealt with.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import os
import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from textual import events
from textual.pilot import Pilot, WaitForScreenTimeout

from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.plan import Plan
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.codec import encode
from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.hosts.host_facts import Concern, GpuProcess, HostSnapshot, HostState, Topology
from backends.remote.lease import Lease
from backends.results.gained_parameters import Assumed, no_defaults, with_defaults
from backends.results.run_result import RunResult
from backends.results.side_by_side import named_apart
from profiles.errors import DlperfError
from tests.console.fakes import (
    START,
    Clock,
    FakeController,
    FakeDryRun,
    FakeFinding,
    FakeSummary,
    FakeWorkspace,
    facts,
)
from tests.console.hostile_text import hostile_log, hostile_text
from tui.app import DlperfApp
from tui.screens.campaign_list import Unfinished
from tui.screens.dialogs import Choice, Prompt
from tui.screens.login_questions import ConsolePrompter

SPEED = 6.0
LONG_LINE = 10_000_000


class RunningClock(Clock):
    """Goes by itself, faster than the world's."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()

    def __call__(self) -> float:
        return self.now + SPEED * (time.monotonic() - self._began)


class HostileWorkspace(FakeWorkspace):
    def __init__(self, directory: Path, random: Random, prompter: ConsolePrompter) -> None:
        self.text = partial(hostile_text, random)
        self.random = random
        super().__init__(
            directory, clock=RunningClock(), hosts=self._hosts_of(), login_host=self.text()
        )
        self._prompter = prompter
        self.fails = {"1n1g": self.text()}
        self.start_error = DlperfError(self.text(), where=self.text(), remedy=self.text())
        self.findings = tuple(
            FakeFinding(level, self.text(), self.text(), self.text())
            for level in ("stop", "warn", "ok")
        )

    def _hosts_of(self) -> tuple[HostSnapshot, ...]:
        text = self.text
        states = (HostState.BUSY, HostState.DEGRADED, HostState.UNREACHABLE)
        return tuple(
            HostSnapshot(
                text(),
                text(),
                state,
                reason=text(),
                facts=None if state is HostState.UNREACHABLE else hostile(facts(busy=(0, 1)), text),
                slots=8,
                concerns=(Concern(text(), text()), Concern(text(), text(), degrades=True)),
                remedy=text(),
            )
            for state in states
        )

    async def probe(self, names: Sequence[str] | None = None) -> None:
        if names is not None:  # asked for on page 1
            await self._prompter.secret(self.text(), self.text())
            await self._prompter.trust_key(self.text(), self.text(), self.text())
        await super().probe(names)

    def dry_run(self, plan: Plan) -> tuple[FakeDryRun, ...]:
        return tuple(
            FakeDryRun(
                self.text(),
                self.text(),
                tuple(h.name for h in plan.hosts),
                (self.text(),) * 3,
                number,
                number + 1,
                job=f"#SBATCH {self.text()}",
            )
            for number in range(20)
        )

    async def start(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> FakeController:
        if self.start_error is not None:
            error, self.start_error = self.start_error, None
            raise error
        return self.controller(plan)

    def controller(self, plan: Plan, name: str = "live") -> FakeController:
        made = super().controller(plan, name)
        for run_id in made.state.runs:
            log = made.log_path(run_id)
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(hostile_log(self.random))
        with made.log_path("r00").open("ab") as log_file:
            log_file.write(b"EVIL\x1b]52;c;" + b"x" * LONG_LINE + b"\n")
        made.state = dataclasses.replace(made.state, campaign=self.text())
        made.note(self.text(), "error")
        return made

    def remarks(self, path: Path) -> tuple[str, ...]:
        return (self.text(), self.text())

    def runs_together(
        self, paths: Sequence[Path]
    ) -> tuple[tuple[tuple[RunResult, ...], ...], tuple[Assumed, ...]]:
        runs = [run_results(self.load(path).state) for path in paths]
        return with_defaults(named_apart(paths, runs), no_defaults)

    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        reader = journal.JournalReader(path / journal.FILE_NAME)
        return take(reader.state(), path, now=self.clock(), read_only=True)


def hostile(value: Any, text: Any) -> Any:
    """A copy of a dataclass in which every text is a hostile one. Any: all of its fields'."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        old = getattr(value, field.name)
        if isinstance(old, str):
            changes[field.name] = text()
        elif isinstance(old, Topology):
            n = len(old.labels)
            links = tuple(tuple(text(longest=2) for _ in range(n)) for _ in range(n))
            names = tuple(text(longest=2) for _ in range(n))
            changes[field.name] = Topology(names, links, names[:8], names[:8], {text(): text()})
        elif isinstance(old, tuple):
            changes[field.name] = tuple(
                text()
                if isinstance(item, str)
                else GpuProcess(item.gpu_index, 1, text(), text(), 1)
                if isinstance(item, GpuProcess)
                else hostile(item, text)
                for item in old
            )
        elif field.name == "lease":
            changes[field.name] = Lease(text(), 1.0, text(), text(), by_a_run=False)
    return dataclasses.replace(value, **changes)


def write_campaign(directory: Path, random: Random) -> None:
    """A journal as a wicked host, profile or import could have left it."""
    text = partial(hostile_text, random)
    directory.mkdir(parents=True)
    events: list[ev.Event] = [ev.CampaignCreated(t=START, campaign=text(), overridden=(text(),))]
    for number in range(12):
        run_id = f"x{number}"
        size = 2 ** (number % 3)
        log = f"logs/{run_id}.log"
        (directory / "logs").mkdir(exist_ok=True)
        (directory / log).write_bytes(hostile_log(random, size=5_000))
        parameters = {"batch_size": 8, "precision": text(longest=2), text(longest=2): text()}
        hosts = (text(), text())
        planned = ev.RunPlanned(
            t=START,
            run_id=run_id,
            profile=text(longest=2),
            framework=text(),
            model=text(),
            unit=text(),
            nodes=1,
            gpus_per_node=size,
            parameters=parameters,
            repeat=1,
        )
        readings = tuple((float(i), 100.0 * size + i, START + i) for i in range(20))
        events += [
            planned,
            ev.RunAssigned(
                t=START, run_id=run_id, hosts=hosts, commands=(text(), text()), port=1, log=log
            ),
            ev.RunLaunched(t=START, run_id=run_id),
            ev.ReadingsArrived(t=START, run_id=run_id, first=0, readings=readings),
            ev.Noted(t=START, text=text(), level=random.choice(("warn", "error"))),
        ]
        if number % 3 == 0:
            events.append(
                ev.RunFailed(
                    t=START + 30,
                    run_id=run_id,
                    reason=text(),
                    evidence=tuple(text() for _ in range(9)),
                    category=text(),
                    host=hosts[0],
                    cleanup=Cleanup(True, (Doubt(text(), Why.OLD, text()),)),
                )
            )
        elif number % 3 == 1:
            events.append(
                ev.RunSucceeded(
                    t=START + 30,
                    run_id=run_id,
                    throughput=100.0 * size,
                    readings=20,
                    used=19,
                    window=text(),
                    statistic=text(),
                    metrics={text(): 1.0},
                    warnings=(text(), text()),
                    fingerprint=text(),
                )
            )
        else:
            events.append(
                ev.ContactChanged(
                    t=START + 5, run_id=run_id, host=hosts[0], lost=True, reason=text()
                )
            )
    with (directory / journal.FILE_NAME).open("wb") as file:
        for event in events:
            file.write(encode(event))


class ToldApp(DlperfApp):
    """Tells when a key was dealt with: all that it set going is over, or asks the operator."""

    CSS_PATH = Path(inspect.getfile(DlperfApp)).with_name("dlperf.tcss")

    def __init__(self, *arguments: Any, done: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._done = done
        self._told: set[asyncio.Task[None]] = set()

    async def on_event(self, event: events.Event) -> None:
        fresh = isinstance(event, events.Key) and not event.is_forwarded
        await super().on_event(event)
        if fresh or isinstance(event, events.Mount):
            # Not here: what is waited for needs this very queue.
            task = asyncio.create_task(self._tell_terminal(first=not fresh))
            self._told.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What went wrong in the telling ends the program, or its keyboard would wait for ever."""
        self._told.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.exit(return_code=3, message=f"nobody tells: {error!r}")

    async def _tell_terminal(self, *, first: bool) -> None:
        pilot = Pilot(self)
        while first and not self._begun():
            await _pause(pilot, 0.01)
        for _ in range(8):  # from the widget through all around it to the application, and back
            await _pause(pilot, 0)
        while self._at_work() > self._waited_for() or not self.typed.idle:
            await _pause(pilot, 0.01)
        os.write(self._done, b".")

    def _begun(self) -> bool:
        """Keys may come."""
        return isinstance(self.screen, Unfinished)

    def _at_work(self) -> int:
        lasting = ("watch", "follow", "after a precheck")
        return sum(not w.is_finished and w.group not in lasting for w in self.workers)

    def _waited_for(self) -> int:
        """Questions on the screen that a worker waits for: of logins, and of a campaign's lock."""
        asked = (s for s in self.screen_stack if isinstance(s, (Choice, Prompt)))
        return sum(screen.sight.uninvited for screen in asked)


async def _pause(pilot: Pilot[Any], seconds: float) -> None:
    """However long the widgets take: Textual's own gives up after half a minute."""
    settled = False
    while not settled:
        with contextlib.suppress(WaitForScreenTimeout):
            await pilot.pause(seconds)
            settled = True


def main(seed: int, directory: Path, done: int) -> int:
    random = Random(seed)
    prompter = ConsolePrompter()
    workspace = HostileWorkspace(directory, random, prompter)
    write_campaign(directory / "past", random)
    (directory / "same").mkdir()
    shutil.copy(directory / "past" / journal.FILE_NAME, directory / "same")
    for name in ("past", "same"):
        about = About((hostile_text(random),), hostile_text(random))
        workspace.summaries.append(
            FakeSummary(hostile_text(random), directory / name, "unfinished", 4, 12, about=about)
        )
    app = ToldApp(workspace, prompter=prompter, done=done)
    told = app.run()
    print(told)
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
