"""A console that ends by a fault of its own: exit code, one line, and what was at work goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.lock import CampaignLock, Role
from backends.campaign.record.run_state import RunState
from tests.support.console_terminal import Terminal
from tests.support.processes import kill
from tests.support.waiting import wait_until

# The secret is what an operator may have typed: a traceback with variables would quote it.
BROKEN = """
import sys
from tui.app import DlperfApp

def broken(self):
    typed = "S3CRET" + "-of-the-test"
    raise ValueError("made for a test, password=hunter2hunter2")

DlperfApp.action_notes = broken
from tui.cli.program import main
sys.exit(main(sys.argv[1:-1]))  # the last is the terminal's
"""
DEADLINE_S = 90


class Console(Terminal):
    """The console in a terminal of 120 × 40, whose action of ``N`` is broken."""

    def __init__(self, home: Path, *words: str) -> None:
        command = [sys.executable, "-c", BROKEN, *words]
        own = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_STATE_HOME": str(home / ".local" / "state"),
        }
        super().__init__(command, (120, 40), home, **own)

    def breaks(self) -> int:
        """Until the key is taken, which one is not that comes before its page; the exit code."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.type("N")
            time.sleep(0.5)
            self.drain()
        return self.ends()

    @property
    def left(self) -> str:
        """What stands on the normal screen when the console has gone."""
        return bytes(self.received).rpartition(b"\x1b[?1049l")[2].decode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def console(home: Path) -> Iterator[Console]:
    opened = Console(home, "--campaigns", str(home / "campaigns"))
    yield opened
    opened.close()


def test_the_exit_code_and_one_line_say_so_and_a_file_has_the_rest(
    console: Console, home: Path
) -> None:
    assert console.shows(b"Hosts")
    assert console.breaks() == 1
    [line] = [line for line in console.left.splitlines() if "fault of its own" in line]
    # The terminal echoes an N that was typed once more after the console had gone.
    assert line.lstrip("\x1b[<u?lh0123456789;N").startswith("dlperf-tui: the console ended")
    assert "ValueError: made for a test" in line
    assert "Traceback" not in console.left
    report = home / ".local" / "state" / "dlperf-tui" / "last-fault.txt"
    assert str(report) in line
    for told in (console.left, report.read_text()):
        assert "S3CRET-of-the-test" not in told
        assert "hunter2hunter2" not in told
    assert "in broken" in report.read_text()


def test_a_keeper_goes_on_with_what_was_at_work(console: Console, home: Path) -> None:
    campaigns = home / "campaigns"
    assert console.shows(b"Hosts")
    console.type("2")
    assert console.shows(b"cpu-smoke")
    started: list[Path] = []

    def begun() -> bool:
        console.drain()
        console.type("\r")
        time.sleep(0.5)
        started[:] = campaigns.glob("*/events.jsonl")
        return bool(started)

    wait_until(begun, within_s=DEADLINE_S, what="a campaign")
    assert console.breaks() == 1
    assert "a keeper goes on with" in console.left
    campaign = started[0].parent
    holder = CampaignLock(campaign).living()
    try:
        assert holder is None or holder.role == Role.KEEPER
        wait_until(lambda: read_campaign(campaign).finished, within_s=DEADLINE_S, what="its end")
    finally:
        if (holder := CampaignLock(campaign).living()) is not None:
            kill(holder.pid)
    runs = read_campaign(campaign).runs.values()
    assert runs
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
