"""One round: a campaign on three hosts under random faults, and what must be true after it."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from backends.campaign.folder.paths import host_log_path
from backends.campaign.record.events import RunDeferred
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from tests.chaos.events import Trouble, state_of
from tests.support.campaigns import Bench, kill_hard
from tests.support.netns import NamespaceHosts

TROUBLE_S = 25.0
PATIENCE_S = 240.0
START = b"\x1b[31mstart"


class Round:
    """``problems`` is empty after a round in which all that was promised was kept."""

    def __init__(self, seed: int, machines: NamespaceHosts, directory: Path) -> None:
        self._chance = random.Random(seed)
        self._machines = machines
        directory.mkdir(parents=True)
        self.directory = directory
        self._bench = Bench(directory, machines.hosts())
        self._bench.profile(lost_limit='"60s"')
        self._began = time.monotonic()
        self.trace: list[str] = []
        self.problems: list[str] = []
        self._trouble = Trouble(machines, self._chance, self._campaign, self._say)
        self._output = directory / "consoles.log"
        self._words: list[str] = []

    def _say(self, text: str) -> None:
        self.trace.append(f"{time.monotonic() - self._began:7.2f} {text}")

    def _campaign(self) -> Path | None:
        found = sorted(self._bench.campaigns.glob("*/events.jsonl"))
        begun = [path.parent for path in found if state_of(path.parent).runs]
        return begun[0] if begun else None

    # The operator --------------------------------------------------------------------------------

    def play(self) -> None:
        chance = self._chance
        tags = chance.sample(["1n1g", "2n1g", "3n1g"], chance.randint(1, 3))
        lines, every = chance.randint(20, 60), chance.choice((0.05, 0.1))
        self._words = self._bench.steady_words(*tags, lines=lines, every=every)
        self._words += ["--repeats", "2", "--attempts", "3", "--force"]
        console = self._launch("run", *self._words)
        until = time.monotonic() + TROUBLE_S
        while time.monotonic() < until and not self._finished():
            time.sleep(chance.uniform(0.2, 1.5))
            self._trouble.mend_what_is_due()
            console = self._act(console)
        self._say("from here on everything works")
        self._trouble.mend_all()
        self._to_the_end(console)
        self._check()

    def _act(self, console: subprocess.Popen[str]) -> subprocess.Popen[str]:
        """Something happens; the console that is at work afterwards."""
        if console.poll() is not None:
            self._say(f"the console has ended with {console.returncode}")
            return self._come_back()
        dice = self._chance.random()
        if dice < 0.25:
            self._say("the console is killed")
            kill_hard(console)
            if self._chance.random() < 0.2:
                self._cancel()
            return self._come_back()
        if dice < 0.35:
            self._second_console()
        elif dice < 0.8:
            self._trouble.something()
        return console

    def _launch(self, *words: str) -> subprocess.Popen[str]:
        self._say(f"dlperf-tui {' '.join(words[:2])}")
        with self._output.open("a") as output:
            return subprocess.Popen(
                self._bench.command(*words),
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                text=True,
            )

    def _come_back(self) -> subprocess.Popen[str]:
        campaign = self._campaign()
        if campaign is None:
            return self._launch("run", *self._words)
        return self._launch("resume", campaign.name)

    def _cancel(self) -> None:
        """Of a campaign that no console follows, by a process of its own; for a while."""
        campaign = self._campaign()
        if campaign is None:
            return
        cancelling = self._launch("cancel", campaign.name)
        try:
            cancelling.wait(self._chance.uniform(1.0, 20.0))
        except subprocess.TimeoutExpired:
            self._say("the cancelling console is killed")
            kill_hard(cancelling)
        else:
            self._say(f"cancel has ended with {cancelling.returncode}")

    def _second_console(self) -> None:
        """It is refused, for the campaign has a writer."""
        campaign = self._campaign()
        if campaign is not None:
            second = self._launch(self._chance.choice(("resume", "cancel")), campaign.name)
            if second.wait(PATIENCE_S) == 0 and not self._finished():
                self.problems.append("a second console went to work beside the first")

    def _finished(self) -> bool:
        campaign = self._campaign()
        return campaign is not None and state_of(campaign).finished

    def _to_the_end(self, console: subprocess.Popen[str]) -> None:
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            try:
                console.wait(max(1.0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                break
            if self._finished():
                return
            time.sleep(1.0)
            console = self._come_back()
        self.problems.append("the campaign does not come to an end")
        kill_hard(console)

    # What must be true ---------------------------------------------------------------------------

    def _check(self) -> None:
        campaign = self._campaign()
        if campaign is None:
            return
        state = state_of(campaign)
        events = list(read_events(campaign / "events.jsonl", readings=False))
        taken_back = {event.run_id for event in events if isinstance(event, RunDeferred)}
        for run in state.runs.values():
            for host in run.hosts:
                self._check_log(campaign, run, host, taken_back=run.run_id in taken_back)
        self._check_hosts(state)
        if "Traceback" in self._output.read_text():
            self.problems.append("a console printed a traceback")

    def _check_log(self, campaign: Path, run: RunRecord, host: str, *, taken_back: bool) -> None:
        copy = self._bench.copies / f"{run.run_id}.{host}"
        said = copy.read_bytes() if copy.exists() else b""
        name = run.log if host == run.hosts[0] else host_log_path(run.log, host)
        here = (campaign / name).read_bytes() if (campaign / name).exists() else b""
        if taken_back:  # what it printed before that is no part of its log
            said = said[max(0, said.rfind(START)) :]
        if run.state is RunState.SUCCEEDED and here != said:
            self.problems.append(f"{name} of {run.run_id} differs from what {host} printed")
        if said.count(START) > 1:
            self.problems.append(f"{run.run_id} was executed twice on {host}")
        # Between the two writes of the workload it may have been killed: one line may be missing.
        whole = said[: said.rfind(b"\n", 0, max(0, len(said) - 1)) + 1]
        if not run.cleanup.doubts and not here.startswith(whole):
            self.problems.append(f"{name} of {run.run_id} ({run.state}) lacks what {host} printed")

    def _check_hosts(self, state: CampaignState) -> None:
        told = any(run.cleanup.doubts for run in state.runs.values())
        told = told or any("not cleaned up" in text for _, _, text in state.notes)
        swept = subprocess.run(
            self._bench.command("sweep", "--yes"),
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self._say(f"sweep: {swept.stdout.strip()}")
        if "process" in swept.stdout and not told:
            self.problems.append(f"something was left and nobody says so: {swept.stdout}")
        try:
            self._bench.nothing_is_left()
        except AssertionError as left:
            self.problems.append(f"left after sweep: {left}")
