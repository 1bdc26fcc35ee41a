"""A keeper goes on with a campaign over four real SSH servers while no terminal is open."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.campaign.folder.campaign_views import CampaignViews
from backends.campaign.folder.moment import MOMENT
from backends.campaign.folder.paths import KEEPER_LOG, TAKEN
from backends.campaign.folder.raw_logs import LogChecks
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.lock import CampaignLock, Holder, Role
from backends.campaign.record.state import CampaignState, RunState
from backends.keeper.spool import ANSWERS
from tests.support.campaigns import ROOT, Bench
from tests.support.processes import alive, kill
from tests.support.program import run_program
from tests.support.sshd import SshHosts
from tests.support.waiting import wait_until

NO_CHECKS = LogChecks(lambda _: None)


@pytest.fixture
def bench(tmp_path: Path, ssh_hosts: SshHosts) -> Iterator[Bench]:
    ssh_hosts(4)
    found = Bench(tmp_path, ssh_hosts.hosts())
    found.profile(timeout='"5m"', stall_timeout='"5m"')
    yield found
    for path in found.campaigns.glob("*") if found.campaigns.is_dir() else ():
        if (holder := CampaignLock(path).living()) is not None:
            kill(holder.pid)


class Terminal:
    """A pseudo-terminal of its own session, in which a command is the foreground."""

    def __init__(self, *command: str, stdout: int | None = None) -> None:
        self.fd, inside = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=inside,
            stdout=inside if stdout is None else stdout,
            stderr=inside,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no threads)
        )
        os.close(inside)

    def close(self) -> None:
        """As a window that is closed: what is left in its session gets SIGHUP."""
        os.close(self.fd)


def keeper_of(path: Path) -> Holder:
    wait_until(
        lambda: (found := CampaignLock(path).living()) and found.role == Role.KEEPER,
        what="a keeper",
    )
    holder = CampaignLock(path).living()
    assert holder is not None
    return holder


def ended(bench: Bench, keeper: Holder) -> CampaignState:
    """The campaign's end, and the keeper's."""
    path = bench.campaign
    wait_until(lambda: read_campaign(path).finished, within_s=180, what="the end")
    wait_until(lambda: not alive(keeper.pid), what="the keeper's end")
    return read_campaign(path)


def command(bench: Bench, *words: str, code: int = 0) -> tuple[str, str]:
    done = run_program(bench.words(*words), timeout=180)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_who_follows_a_keeper_is_told_what_runs_wait_for_until_nobody_is_at_work(
    bench: Bench, tmp_path: Path
) -> None:
    enough = tmp_path / "enough"
    words = bench.steady_words("4n1g", lines=5, after=bench.until_there(enough))
    command(bench, "run", *words, "--repeats", "2", "--detach")
    path = bench.campaign
    keeper = keeper_of(path)
    views = CampaignViews(time.time, lambda state, *_: state, lambda _: keeper, NO_CHECKS)
    wait_until(
        lambda: views.load(path).runs[1].state_text.startswith("waiting for"),
        what="why the second run waits",
    )
    enough.touch()
    ended(bench, keeper)
    assert not (path / MOMENT).exists()


def test_a_campaign_that_is_detached_goes_on_when_its_terminal_is_closed_at_once(
    bench: Bench, tmp_path: Path
) -> None:
    """And a second process has one of its runs cancelled through the keeper."""
    out = tmp_path / "out"
    enough = tmp_path / "enough"
    held = bench.until_there(enough)
    words = bench.steady_words("1n1g", "2n1g", "4n1g", lines=20, after=held)
    with out.open("wb") as stdout:
        terminal = Terminal(
            *bench.command("run", *words, "--repeats", "2", "--detach"), stdout=stdout.fileno()
        )
    assert terminal.process.wait(120) == 0
    terminal.close()
    path = Path(out.read_text().removesuffix("\n"))
    assert path == bench.campaign, "the path alone is on stdout"
    keeper = keeper_of(path)
    assert os.getsid(keeper.pid) == keeper.pid, "a session of its own"
    wait_until(
        lambda: any(run.state is RunState.RUNNING for run in read_campaign(path).runs.values()),
        what="a run at work",
    )
    at_work = next(r.run_id for r in read_campaign(path).runs.values() if r.state.active)
    stdout_text, _ = command(bench, "cancel", path.name, "--run", at_work, "--json")
    assert (json.loads(stdout_text)["cancelled"], stdout_text) == ([at_work], stdout_text)
    assert alive(keeper.pid), "the keeper goes on with the others"
    enough.touch()
    state = ended(bench, keeper)
    states = {run.run_id: run.state for run in state.runs.values()}
    assert states.pop(at_work) is RunState.CANCELLED
    assert set(states.values()) == {RunState.SUCCEEDED}
    assert len(states) == 5
    assert bench.logs_are_exact(state, path) >= 5
    bench.nothing_is_left()
    [wish] = state.wishes.values()
    assert (wish.verb, wish.run_ids, wish.done) == ("cancel", (at_work,), True)
    assert len(list((path / ANSWERS).iterdir())) == 1
    assert not list((path / TAKEN).iterdir())
    assert (path / "report.md").is_file()
    shown, _ = command(bench, "status", path.name, "--json", code=1)
    assert "kept_by" not in json.loads(shown), "of one that has finished"
    _, said = command(bench, "resume", path.name, "--detach")
    assert "nothing is left to do" in said


def test_a_run_whose_terminal_is_closed_is_left_to_a_keeper(bench: Bench) -> None:
    words = bench.steady_words("1n1g", "2n1g", lines=60)
    terminal = Terminal(*bench.command("run", *words, "--repeats", "2"))
    wait_until(
        lambda: any(path.stat().st_size > 300 for path in bench.copies.iterdir()),
        what="a run in the middle",
    )
    terminal.close()
    keeper = keeper_of(bench.campaign)
    assert terminal.process.wait(60) == 3
    state = ended(bench, keeper)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(state, bench.campaign) == 2 * (1 + 2)
    bench.nothing_is_left()


def test_a_keeper_that_was_killed_is_missed_and_another_goes_on(bench: Bench) -> None:
    enough = bench.directory / "enough"
    words = bench.steady_words("1n1g", lines=20, after=bench.until_there(enough))
    command(bench, "run", *words, "--repeats", "6", "--detach")
    path = bench.campaign
    first = keeper_of(path)
    shown, _ = command(bench, "status", path.name)
    assert f"the keeper of {first.user} on {first.host} (pid {first.pid}) goes on with it" in shown
    kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not alive(first.pid), what="its end")
    shown, told = command(bench, "status", path.name)
    assert "nobody goes on with this campaign" in shown
    assert "resume --detach" in told
    document, _ = command(bench, "status", path.name, "--json")
    assert json.loads(document)["kept_by"] is None
    _, paused = command(bench, "pause", path.name)
    assert "'unpause' lets them start" in paused, "where nobody is, it is done here"
    cron = next(line for line in told.splitlines() if "* * * *" in line).partition("* * * * ")[2]
    for _ in range(2):  # again and again, as cron does
        subprocess.run(["sh", "-c", cron], check=True, timeout=120, cwd="/")
    second = keeper_of(path)
    document, _ = command(bench, "status", path.name, "--json")
    assert json.loads(document)["kept_by"]["pid"] == second.pid
    _, unpaused = command(bench, "unpause", path.name)
    assert "they start when their turn comes" in unpaused
    _, more = command(bench, "repeat", path.name, "1")
    assert "1 run more" in more
    enough.touch()
    state = ended(bench, second)
    assert len(state.runs) == 7
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(state, path) == 7
    bench.nothing_is_left()


def test_what_keeps_a_keeper_from_beginning_is_told_and_nothing_is_left(bench: Bench) -> None:
    """By the command that would have started it."""
    words = bench.steady_words("1n1g")
    blocked = bench.directory / "blocked"
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(
        "import sys\nif 'keep' in sys.argv: raise SystemExit('no keeper today')\n"
    )
    done = subprocess.run(
        bench.command("run", *words, "--detach"),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(blocked)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the keeper ended before it began: SystemExit: no keeper today" in done.stderr
    assert KEEPER_LOG not in done.stderr, "it is gone with the campaign"
    assert not list(bench.campaigns.iterdir())
    (bench.campaigns / "x").mkdir()
    _, told = command(bench, "resume", "x", "--detach", code=2)
    assert "nothing was started" in told
