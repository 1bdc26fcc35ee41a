"""One writer per campaign, whoever else tries."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backends.campaign.record.lock import (
    FILE_NAME,
    HEARTBEAT_S,
    STALE_AFTER_S,
    CampaignLock,
    CampaignLockedError,
    Role,
)
from profiles.errors import DlperfError
from tests.support.waiting import wait_until


class Clock:
    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def rewrite(path: Path, **changes: object) -> None:
    holder = json.loads((path / FILE_NAME).read_text())
    (path / FILE_NAME).write_text(json.dumps({**holder, **changes}))


def test_the_second_console_is_told_who_writes(tmp_path: Path) -> None:
    clock = Clock()
    first, second = CampaignLock(tmp_path, clock), CampaignLock(tmp_path, clock)
    first.acquire()
    clock.now += 4
    with pytest.raises(CampaignLockedError) as caught:
        second.acquire(take_over=True)
    assert f"(pid {os.getpid()})" in str(caught.value)
    assert "last sign 4 s ago" in str(caught.value)
    assert not caught.value.stale
    first.release()
    second.acquire()
    assert not first.owned()
    assert second.owned()


def test_since_when_it_is_held_is_told_by_the_machines_clock_whatever_the_campaigns_is(
    tmp_path: Path,
) -> None:
    before = time.time()
    CampaignLock(tmp_path, lambda: time.time() + 3180).acquire()  # as simulated hosts' at 60x
    holder = CampaignLock(tmp_path).living()
    assert holder is not None
    assert int(before) <= holder.since <= time.time()


@pytest.mark.parametrize("alive", [True, False])
async def test_a_sign_of_the_future_is_watched_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    """The clock of this machine was set back, or that of the holder's is ahead: which, nobody can
    tell from its last sign."""
    clock, ahead = Clock(), Clock(1_003_600.0)
    holder, other = CampaignLock(tmp_path, ahead), CampaignLock(tmp_path, clock)
    holder.acquire()
    rewrite(tmp_path, host="login2")
    os.utime(tmp_path / FILE_NAME, (ahead(), ahead()))
    with pytest.raises(CampaignLockedError, match="ahead of this machine's clock") as caught:
        other.acquire()
    assert caught.value.stale

    async def sleep(seconds: float) -> None:
        assert seconds >= HEARTBEAT_S
        if alive:
            ahead.now += HEARTBEAT_S
            os.utime(tmp_path / FILE_NAME, (ahead(), ahead()))

    monkeypatch.setattr("backends.campaign.record.lock.asyncio.sleep", sleep)
    silent = await other.silent()
    if not alive:
        other.acquire(take_over=True, silent=silent)
        assert other.owned()
        return
    with pytest.raises(CampaignLockedError) as caught:
        other.acquire(take_over=True, silent=silent)
    assert not caught.value.stale


async def test_a_sign_whose_age_tells_is_not_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    first, second = CampaignLock(tmp_path, clock), CampaignLock(tmp_path, clock)
    assert await second.silent() is None
    first.acquire()
    clock.now -= STALE_AFTER_S / 2  # clocks of login nodes differ a little
    assert await second.silent() is None
    with pytest.raises(CampaignLockedError):
        second.acquire(take_over=True)


def test_a_lock_whose_process_is_gone_is_taken_over_at_once(tmp_path: Path) -> None:
    child = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
    child += "from backends.campaign.record.lock import CampaignLock\n"
    child += "CampaignLock(Path(sys.argv[2])).acquire()\n"
    root = str(Path(__file__).resolve().parents[3])
    subprocess.run([sys.executable, "-c", child, root, str(tmp_path)], check=True)
    assert CampaignLock(tmp_path).living() is None
    CampaignLock(tmp_path).acquire()


def test_a_pid_that_was_used_again_is_not_the_holder(tmp_path: Path) -> None:
    CampaignLock(tmp_path).acquire()
    rewrite(tmp_path, start_ticks=1)
    CampaignLock(tmp_path).acquire()


def test_a_zombies_lock_is_free(tmp_path: Path) -> None:
    """Its parent lives, and never asks how it ended."""
    child = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
    child += "from backends.campaign.record.lock import CampaignLock\n"
    child += "CampaignLock(Path(sys.argv[2])).acquire(); print('locked', flush=True); input()\n"
    root = str(Path(__file__).resolve().parents[3])
    process = subprocess.Popen(
        [sys.executable, "-c", child, root, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    try:
        assert CampaignLock(tmp_path).living() is not None
        os.kill(process.pid, signal.SIGKILL)
        stat = Path(f"/proc/{process.pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(") ")[2].startswith("Z"))
        assert CampaignLock(tmp_path).living() is None
        CampaignLock(tmp_path).acquire()
    finally:
        process.wait()
        process.communicate()


def test_another_machines_lock_is_only_taken_over_when_it_is_stale_and_agreed(
    tmp_path: Path,
) -> None:
    clock = Clock()
    CampaignLock(tmp_path, clock).acquire()
    rewrite(tmp_path, host="login02", pid=1)
    os.utime(tmp_path / FILE_NAME, (clock.now, clock.now))
    other = CampaignLock(tmp_path, clock)
    with pytest.raises(CampaignLockedError):
        other.acquire(take_over=True)
    clock.now += STALE_AFTER_S + 1
    with pytest.raises(CampaignLockedError) as caught:
        other.acquire()
    assert caught.value.stale
    assert "--take-over" in str(caught.value)
    other.acquire(take_over=True)
    assert other.owned()


def test_a_suspended_console_learns_that_it_lost_the_campaign(tmp_path: Path) -> None:
    clock = Clock()
    sleeper = CampaignLock(tmp_path, clock)
    sleeper.acquire()
    rewrite(tmp_path, host="login02", pid=1, nonce="another")
    assert not sleeper.owned()
    assert not sleeper.renew()
    sleeper.release()
    assert (tmp_path / FILE_NAME).exists()


def test_renewing_is_the_sign_of_life(tmp_path: Path) -> None:
    clock = Clock()
    lock = CampaignLock(tmp_path, clock)
    lock.acquire()
    clock.now += 100
    assert lock.renew()
    found = lock.holder()
    assert found is not None
    assert found[1] == pytest.approx(0.0)


def test_who_hands_over_is_told_of_until_a_keeper_holds_it_or_failed_to(tmp_path: Path) -> None:
    console, keeper = CampaignLock(tmp_path), CampaignLock(tmp_path, role=Role.KEEPER)

    def told() -> str | None:
        holder = CampaignLock(tmp_path).living()
        return holder and holder.role

    console.acquire()
    with contextlib.suppress(DlperfError), console.handing_over():
        assert told() == Role.CONSOLE
        console.release()
        assert told() == Role.HANDOVER
        with CampaignLock(tmp_path).handing_over():
            keeper.acquire()
            assert told() == Role.KEEPER
            keeper.release()
        raise DlperfError("it does not begin")
    assert told() is None
    assert not [*tmp_path.iterdir()]


def test_a_hand_over_whose_console_is_gone_is_over(tmp_path: Path) -> None:
    child = "import os, sys; from pathlib import Path\n"
    child += "from backends.campaign.record.lock import CampaignLock\n"
    child += "hand_over = CampaignLock(Path(sys.argv[1])).handing_over()\n"
    child += "hand_over.__enter__(); os._exit(0)\n"
    subprocess.run([sys.executable, "-c", child, str(tmp_path)], check=True)
    assert [*tmp_path.iterdir()]
    assert CampaignLock(tmp_path).living() is None


def test_a_damaged_lock_is_somebodys(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{")
    with pytest.raises(CampaignLockedError, match="another console writes"):
        CampaignLock(tmp_path).acquire()


def test_a_lock_that_changed_hands_while_it_was_judged_stays(tmp_path: Path) -> None:
    """Two consoles saw the same stale lock; the slower one must not evict the faster one."""
    CampaignLock(tmp_path).acquire()
    rewrite(tmp_path, start_ticks=1)
    slow, fast = CampaignLock(tmp_path), CampaignLock(tmp_path)
    found = slow.holder()
    assert found is not None
    fast.acquire()
    slow._evict(found[0])
    assert fast.owned()
    with pytest.raises(CampaignLockedError):
        slow.acquire()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_campaign_is_one_clear_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DlperfError, match="cannot write"):
        CampaignLock(tmp_path).acquire()


RACER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from backends.campaign.record.lock import CampaignLock, CampaignLockedError
lock = CampaignLock(Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
try:
    lock.acquire(take_over=True)
except CampaignLockedError:
    print("locked", flush=True)
else:
    print("writer" if lock.owned() else "lost", flush=True)
    sys.stdin.readline()
    print("writer" if lock.owned() else "lost", flush=True)
"""


@pytest.mark.parametrize("stale", [False, True])
def test_of_processes_that_race_exactly_one_becomes_the_writer(tmp_path: Path, stale: bool) -> None:
    root = str(Path(__file__).resolve().parents[3])
    for attempt in range(3):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        if stale:
            CampaignLock(directory).acquire()
            rewrite(directory, start_ticks=1)
        racers = [
            subprocess.Popen(
                [sys.executable, "-c", RACER, root, str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        try:
            for racer in racers:
                assert racer.stdout is not None
                racer.stdout.readline()
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write("go\n")
                racer.stdin.flush()
            said = [racer.stdout.readline().strip() for racer in racers if racer.stdout]
            final = [racer.communicate("\n", timeout=30)[0].strip() for racer in racers]
        finally:
            for racer in racers:
                racer.kill()
                racer.wait()
        assert final.count("writer") == 1, (said, final)
