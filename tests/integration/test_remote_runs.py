"""Detached runs on a host: started once, followed to the last byte, ended without a trace."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from backends.hangs.processes import read_processes
from backends.hangs.sections import split
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.installation import wrapper
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    RemoteError,
    RunPhase,
    RunSpec,
    RunStatus,
    StagedTree,
)
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from backends.transports.transport import Completed, HostUnreachableError, Problem, Transport
from tests.support.escapes import ESCAPES
from tests.support.leases import lease_holder
from tests.support.processes import alive, all_gone, kill
from tests.support.sshd import ROOT, SshHosts
from tests.support.waiting import until, wait_until


@pytest.fixture(params=["local", "ssh"])
async def remote(
    request: pytest.FixtureRequest, tmp_path: Path, here: RemoteHost
) -> AsyncIterator[RemoteHost]:
    if request.param == "local":
        yield here
        return
    hosts = SshHosts(tmp_path / "hosts")
    (node,) = hosts(1)
    pool = TransportPool(hosts.hosts())
    there = RemoteHost(pool.get(node.host))
    yield there
    await end_runs(there)
    await pool.close()
    hosts.close()


@pytest.fixture
async def here(local_host: Host) -> AsyncIterator[RemoteHost]:
    remote = RemoteHost(LocalTransport(local_host))
    yield remote
    await end_runs(remote)


async def end_runs(remote: RemoteHost) -> None:
    """A test that fails leaves nothing behind either."""
    host = remote.transport.host
    for run in Path(host.work_dir).glob("runs/*"):
        await remote.cancel(run.name.removesuffix(f".{host.name}"), grace_s=0.2)


def spec(run_id: str, script: str, **more: object) -> RunSpec:
    return RunSpec(run_id, script, **{"lease": "alice@login01 sweep", "grace_s": 1.0, **more})  # type: ignore[arg-type]


def run_directory(remote: RemoteHost, run_id: str) -> Path:
    host = remote.transport.host
    return Path(host.work_dir) / "runs" / f"{run_id}.{host.name}"


async def follow(remote: RemoteHost, run_id: str, offset: int = 0) -> tuple[RunStatus, bytes]:
    got = bytearray()
    async with asyncio.timeout(30):
        status = await remote.follow(run_id, offset, got.extend)
    return status, bytes(got)


async def ended(remote: RemoteHost, run_id: str) -> RunStatus:
    return (await follow(remote, run_id))[0]


# --- start and follow ---------------------------------------------------------------------------


async def test_a_run_goes_from_start_to_its_last_byte(remote: RemoteHost) -> None:
    status = await remote.start(
        spec(
            "first",
            'echo "$DLPERF_RUN_ID $GREETING"; pwd; echo err >&2; exit 3',
            environment={"GREETING": "it's $HOME\n"},
        )
    )
    assert status.pid
    assert status.same_boot
    status, log = await follow(remote, "first")
    work = run_directory(remote, "first") / "work"
    assert log.decode() == f"first it's $HOME\n\n{work}\nerr\n"
    assert status.phase is RunPhase.EXITED
    assert (status.exit_code, status.signal, status.size) == (3, None, len(log))
    assert (status.timed_out, status.leftovers, status.left) == (False, 0, 0)
    assert status.started_at
    assert status.ended_at
    assert 0 <= status.ended_at - status.started_at < 20
    assert await remote.status("first") == status


async def test_an_unknown_run_is_absent_and_cannot_be_followed(remote: RemoteHost) -> None:
    assert (await remote.status("nobody")).phase is RunPhase.ABSENT
    with pytest.raises(RemoteError, match="no run nobody"):
        await follow(remote, "nobody")
    report = await remote.cancel("nobody")
    assert (report.killed, report.left) == (0, 0)
    await remote.remove("nobody")


async def test_the_log_continues_at_any_byte(remote: RemoteHost) -> None:
    await remote.start(spec("bytes", "printf 'a\\000b\\377\\r\\n\\033[31mc'"))
    _, log = await follow(remote, "bytes")
    assert log == b"a\0b\xff\r\n\x1b[31mc"
    for offset in range(len(log) + 1):
        assert (await follow(remote, "bytes", offset))[1] == log[offset:]
    with pytest.raises(RemoteError, match="shorter than"):
        await follow(remote, "bytes", len(log) + 1)


async def test_bytes_written_right_before_the_end_are_not_lost(here: RemoteHost) -> None:
    for number in range(8):
        size = 200_000 + number
        await here.start(spec(f"burst{number}", f"sleep 0.0{number}; head -c {size} /dev/zero"))
        status, log = await follow(here, f"burst{number}")
        assert len(log) == status.size == size


async def test_a_follower_sees_lines_while_they_are_written(remote: RemoteHost) -> None:
    await remote.start(spec("live", "echo one; sleep 600"))
    got = bytearray()
    following = asyncio.create_task(remote.follow("live", 0, got.extend))
    await until(lambda: bytes(got) == b"one\n")
    assert (await remote.status("live")).phase is RunPhase.RUNNING
    await remote.cancel("live", grace_s=1)
    assert (await following).signal == signal.SIGTERM


async def test_where_tail_is_not_gnus_the_log_is_read_in_portions(
    here: RemoteHost, local_host: Host, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    real = shutil.which("tail")
    (tools / "tail").write_text(
        f'#!/bin/sh\ncase "$*" in *pid*|*inotify*) exit 1;; esac\nexec {real} "$@"\n'
    )
    (tools / "tail").chmod(0o755)
    plain = RemoteHost(
        LocalTransport(
            local_host, environment={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        )
    )
    script = "for i in $(seq 400); do echo line $i; done; sleep 0.3; echo last"
    await plain.start(spec("portions", script))
    status, log = await follow(plain, "portions")
    assert log == b"".join(b"line %d\n" % n for n in range(1, 401)) + b"last\n"
    assert status.exit_code == 0


@pytest.mark.parametrize(
    "remote", ["local", pytest.param("ssh", marks=pytest.mark.faults)], indirect=True
)
async def test_twelve_killed_consoles_lose_no_byte(remote: RemoteHost, tmp_path: Path) -> None:
    """A follower in a process of its own is killed -9 twelve times at different moments."""
    await remote.start(
        spec(
            "survivor", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; sleep 0.001; done"
        )
    )
    run = run_directory(remote, "survivor")
    mirror = tmp_path / "mirror.log"
    mirror.touch()
    program = tmp_path / "follower.py"
    program.write_text(
        f"import asyncio, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from backends.inventory.host_entry import Host\n"
        "from backends.transports.pool import TransportPool\n"
        "from backends.remote.client import RemoteHost\n"
        "async def main():\n"
        f"    host = {remote.transport.host!r}\n"
        f"    mirror = Path({str(mirror)!r})\n"
        "    with mirror.open('ab', buffering=0) as log:\n"
        "        await RemoteHost(TransportPool([host]).get(host)).follow(\n"
        "            'survivor', mirror.stat().st_size, log.write)\n"
        "asyncio.run(main())\n"
    )
    for number in range(12):
        before = mirror.stat().st_size
        console = await asyncio.create_subprocess_exec(sys.executable, str(program))
        if number % 2:
            await until(lambda size=before: mirror.stat().st_size > size)
        else:
            await asyncio.sleep(0.03 * number)
        console.kill()
        await console.wait()
        if (run / "exit").exists():
            break
    status = await remote.follow("survivor", mirror.stat().st_size, _appending(mirror))
    assert status.exit_code == 0
    assert _sha256(mirror) == _sha256(run / "output.log")
    assert mirror.read_bytes() == b"".join(b"line %d\n" % n for n in range(1, 3001))


def _appending(path: Path) -> Callable[[bytes], None]:
    def write(chunk: bytes) -> None:
        with path.open("ab") as log:
            log.write(chunk)

    return write


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_a_reader_that_somebody_kills_is_replaced(here: RemoteHost) -> None:
    await here.start(spec("reader", "for i in 1 2 3 4; do echo $i; sleep 0.5; done"))
    got = bytearray()
    following = asyncio.create_task(here.follow("reader", 0, got.extend))
    log = f"{run_directory(here, 'reader')}/output.log"
    for killed in (b"1\n", b"1\n2\n", b"1\n2\n3\n"):
        await until(lambda: bytes(got) == killed)  # noqa: B023 (awaited right here)
        for pid in _processes_with(log):
            kill(pid)
    assert (await following).exit_code == 0
    assert bytes(got) == b"1\n2\n3\n4\n"


def _processes_with(word: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and words[0].endswith(b"tail"):
            found.append(int(path.parent.name))
    return found


async def test_starting_is_quick(here: RemoteHost) -> None:
    await here.free_port()
    await here.start(spec("warm", "true"))
    await ended(here, "warm")
    took = []
    for number in range(7):
        begun = time.perf_counter()
        await here.start(spec(f"quick{number}", "true"))
        took.append(time.perf_counter() - begun)
        await ended(here, f"quick{number}")
    # 40 ms on an idle machine; tests share theirs.
    assert statistics.median(took) < 0.5, took


# --- exactly once -------------------------------------------------------------------------------


class Losing:
    """A transport whose answers to chosen commands get lost."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.lose = 0

    @property
    def host(self) -> Host:
        return self._transport.host

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        done = await self._transport.run(command, stdin=stdin, timeout_s=timeout_s)
        if self.lose and done.exit_status == 0:
            self.lose -= 1
            raise HostUnreachableError(self.host.name, Problem.LOST)
        return done

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        return await self._transport.stream(command, on_stdout, spare=spare)


async def test_a_start_whose_answer_was_lost_is_not_started_again(
    remote: RemoteHost, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    losing = Losing(remote.transport)
    console = RemoteHost(losing)
    await console.free_port()
    losing.lose = 1
    run = spec("once", f"echo ran >>{count}; sleep 0.3")
    with pytest.raises(HostUnreachableError):
        await console.start(run)
    again = await console.start(run)
    assert again.phase is RunPhase.RUNNING
    await ended(console, "once")
    assert (await console.start(run)).phase is RunPhase.EXITED
    assert count.read_text() == "ran\n"


async def test_a_starter_killed_at_any_moment_starts_once_when_asked_again(
    here: RemoteHost, local_host: Host, tmp_path: Path
) -> None:
    await here.free_port()
    await here.start(spec("warm", "true"))
    await ended(here, "warm")
    script = wrapper_path(local_host)
    for number in range(16):
        count = tmp_path / f"count{number}"
        text = f"echo ran >>{count}\n"
        arguments = [f"k{number}", str(len(text)), "-", "100", local_host.lease_dir, "me", "", ""]
        words = ["/bin/sh", str(script), "start", local_host.name, *arguments]
        starter = subprocess.Popen(
            [*words, ticket_of(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert starter.stdin
        starter.stdin.write(text.encode())
        starter.stdin.close()
        time.sleep(0.003 * number)  # the moment of the kill is what this test varies
        starter.kill()
        starter.wait()
        await here.start(RunSpec(f"k{number}", text, lease="me"))
        await ended(here, f"k{number}")
        assert count.read_text() == "ran\n"


def ticket_of(words: list[str]) -> str:
    """What the host gives to a start of this run, so that it can be sent."""
    asked = subprocess.run(
        [*words, "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert asked.returncode == 80, asked.stderr
    return asked.stdout.decode().split()[1]


def wrapper_path(host: Host) -> Path:
    return Path(host.work_dir) / wrapper().directory / "host.sh"


async def test_ten_starts_of_one_run_at_once_run_it_once(
    remote: RemoteHost, tmp_path: Path
) -> None:
    for lease in ("alice", ""):  # the lease would hide that the claim does not work
        count = tmp_path / f"count{lease}"
        run = spec(f"crowd{lease}", f"echo ran >>{count}; sleep 0.5", lease=lease)
        statuses = await asyncio.gather(*(remote.start(run) for _ in range(10)))
        assert len({status.pid for status in statuses}) == 1
        await ended(remote, run.run_id)
        assert count.read_text() == "ran\n"


async def test_a_script_that_arrives_incomplete_is_not_run(
    here: RemoteHost, local_host: Host, tmp_path: Path
) -> None:
    await here.free_port()
    words = ["/bin/sh", str(wrapper_path(local_host)), "start", local_host.name, "cut", "999"]
    words += ["-", "100", local_host.lease_dir, "me", "", ""]
    done = subprocess.run(
        [*words, ticket_of(words)],
        input=f"touch {tmp_path}/ran; rm -rf /some".encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 70
    assert b"incomplete" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert (await here.status("cut")).phase is RunPhase.ABSENT
    assert not run_directory(here, "cut").exists()
    await here.start(spec("cut", "true"))
    assert (await ended(here, "cut")).exit_code == 0


# --- the end ------------------------------------------------------------------------------------


async def test_how_a_script_ended_is_told_apart(remote: RemoteHost) -> None:
    for run_id, script, code, number in (
        ("fine", "true", 0, None),
        ("failed", "exit 7", 7, None),
        ("missing", "exec no-such-program", 127, None),
        ("killed", "kill -9 $$", 137, signal.SIGKILL),
        ("segfault", "kill -SEGV $$", 139, signal.SIGSEGV),
    ):
        await remote.start(spec(run_id, script))
        status = await ended(remote, run_id)
        assert (status.exit_code, status.signal) == (code, number), run_id


async def test_the_timeout_works_without_a_console(remote: RemoteHost) -> None:
    await remote.start(spec("slow", "echo $$; sleep 600", timeout_s=0.4))
    status, log = await follow(remote, "slow")
    assert status.timed_out
    assert status.signal == signal.SIGTERM
    assert not alive(int(log))


async def test_a_script_deaf_to_term_is_killed_after_the_grace_time(here: RemoteHost) -> None:
    await here.start(
        spec("deaf", "trap '' TERM; while :; do sleep 1; done", timeout_s=0.2, grace_s=0.3)
    )
    status = await ended(here, "deaf")
    assert status.timed_out
    assert status.signal == signal.SIGKILL


async def test_what_the_script_leaves_behind_is_ended_and_counted(
    here: RemoteHost, tmp_path: Path
) -> None:
    await here.start(
        spec("messy", f"setsid sleep 600 & echo $! >{tmp_path}/pid; setsid sleep 601 & exit 0")
    )
    status = await ended(here, "messy")
    assert (status.exit_code, status.leftovers, status.left) == (0, 2, 0)
    assert not alive(int((tmp_path / "pid").read_text()))
    assert await here.lease() is None


async def test_the_script_meets_the_signals_of_a_login(here: RemoteHost) -> None:
    await here.start(spec("signals", "grep -E '^Sig(Ign|Blk)' /proc/self/status"))
    _, log = await follow(here, "signals")
    reserved = 0b11 << 31  # 32 and 33 are libc's own; nobody else can set them
    assert [int(line.split()[1], 16) & ~reserved for line in log.splitlines()] == [0, 0]


@pytest.mark.parametrize("style", ESCAPES)
async def test_cancel_ends_children_of_every_escape_style(
    style: str, here: RemoteHost, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        await here.start(spec("escape", ESCAPES[style], environment={"PIDS": str(pids)}))
        await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        report = await here.cancel("escape", grace_s=0.5)
        assert report.left == 0, report
        assert report.killed >= 1
        assert all_gone(int(pid) for pid in pids.read_text().split())
        status = await here.status("escape")
        assert status.phase is RunPhase.EXITED
        assert status.cancelled
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_cancel_over_ssh_ends_a_crowd(remote: RemoteHost, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"for i in 1 2 3 4 5; do setsid sleep 600 & echo $! >>{pids}; done; wait"
    await remote.start(spec("crowd", script))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 5)
    report = await remote.cancel("crowd", grace_s=1)
    assert report.left == 0
    assert all_gone(int(pid) for pid in pids.read_text().split())
    assert await remote.lease() is None
    again = await remote.cancel("crowd", grace_s=1)
    assert (again.killed, again.left) == (0, 0)


async def test_where_the_supervisor_was_killed_nobody_claims_to_know(
    here: RemoteHost, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! >{pids}; env -i setsid sleep 601 & echo $! >>{pids}; wait"
    status = await here.start(spec("orphan", script, timeout_s=600))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    marked, unmarked = (int(pid) for pid in pids.read_text().split())
    assert status.pid
    try:
        kill(status.pid)
        status = await ended(here, "orphan")
        assert status.phase is RunPhase.LOST
        assert status.same_boot
        assert "orphan" in str(await here.lease()), "its processes still use the host"
        (found,) = await here.sweep()
        assert (found.run_id, found.phase) == ("orphan", RunPhase.LOST)
        assert found.processes >= 2
        report = await here.cancel("orphan", grace_s=1)
        assert report.left is None
        assert not alive(marked)
        assert alive(unmarked)
    finally:
        kill(unmarked)
    (found,) = await here.sweep()
    assert found.processes == 0, "the timer of the dead supervisor went, too"
    await here.discard(found.run_id)
    assert await here.sweep() == ()


async def test_a_record_of_another_boot_or_process_is_never_taken_for_ours(
    here: RemoteHost,
) -> None:
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        status = await here.start(spec("old", "true"))
        await ended(here, "old")
        run = run_directory(here, "old")
        (run / "exit").unlink()
        (run / "supervisor").write_text(f"{innocent.pid} 12345 {status.boot_id} 1.0\n")
        assert (await here.status("old")).phase is RunPhase.LOST
        await here.cancel("old", grace_s=0.2)
        ticks = Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(") ")[2].split()[19]
        (run / "supervisor").write_text(f"{innocent.pid} {ticks} another-boot 1.0\n")
        lost = await here.status("old")
        assert (lost.phase, lost.same_boot) == (RunPhase.LOST, False)
        report = await here.cancel("old", grace_s=0.2)
        assert report.left == 0, "a reboot ended everything"
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


async def test_cancel_touches_only_the_exact_run_id(here: RemoteHost, tmp_path: Path) -> None:
    longer = subprocess.Popen(["sleep", "600"], env={**os.environ, "DLPERF_RUN_ID": "run-10"})
    elsewhere = subprocess.Popen(
        ["sleep", "600"], env={**os.environ, "DLPERF_RUN_ID": "run-1", "DLPERF_HOST": "node7"}
    )
    ours = subprocess.Popen(["sleep", "600"], env={**os.environ, "DLPERF_RUN_ID": "run-1"})
    processes = (longer, elsewhere, ours)
    try:
        wait_until(lambda: all(_has_marker(process.pid) for process in processes))
        report = await here.cancel("run-1", grace_s=1)
        assert (report.killed, report.left) == (1, 0)
        assert ours.wait(5) == -signal.SIGTERM
        assert longer.poll() is None
        assert elsewhere.poll() is None
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _has_marker(pid: int) -> bool:
    return b"DLPERF_RUN_ID" in Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_cancel_in_the_moment_of_the_start_wins(here: RemoteHost, tmp_path: Path) -> None:
    for number in range(6):
        run_id = f"raced{number}"
        await here.start(spec(run_id, f"sleep 600; echo finished >>{tmp_path}/finished"))
        report = await here.cancel(run_id, grace_s=1)
        assert report.left == 0
        status = await here.status(run_id)
        assert (status.phase, status.cancelled) == (RunPhase.EXITED, True)
    assert not (tmp_path / "finished").exists()


async def test_the_record_is_written_on_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs to mount a small tmpfs")
    try:
        host = Host(
            "full", "local", work_dir=str(disk / "work"), lease_dir=str(tmp_path / "leases")
        )
        remote = RemoteHost(LocalTransport(host))
        await remote.start(spec("filler", f"cat /dev/zero >{disk}/zeros; echo full; exit 5"))
        status = await ended(remote, "filler")
        assert status.exit_code == 5
        with pytest.raises(RemoteError, match=r"No space left|cannot"):
            await remote.start(spec("next", "true"))
        assert await remote.lease() is None
        (disk / "zeros").unlink()
        await remote.start(spec("next", "true"))
        assert (await ended(remote, "next")).exit_code == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


async def test_the_container_of_a_run_is_removed_however_the_run_ends(
    local_host: Host, tmp_path: Path
) -> None:
    """What is asked of the container runtime; a stand-in notes it, for want of one in tests."""
    tools, notes = tmp_path / "tools", tmp_path / "notes"
    tools.mkdir()
    (tools / "docker").write_text(f'#!/bin/sh\necho "$@" >>{notes}\n')
    (tools / "docker").chmod(0o755)
    (tools / "podman").symlink_to("docker")
    (tools / "enroot").symlink_to("docker")
    path = f"{tools}:{os.environ['PATH']}"
    remote = RemoteHost(LocalTransport(local_host, environment={**os.environ, "PATH": path}))
    await remote.start(spec("done", "true", container_name="dlperf-done-0"))
    await ended(remote, "done")
    removed = {"rm -f dlperf-done-0", "remove --force dlperf-done-0"}
    assert set(notes.read_text().splitlines()) == removed
    notes.unlink()
    await remote.start(spec("stop", "sleep 600", container_name="dlperf-stop-0"))
    await remote.cancel("stop", grace_s=2)
    assert "stop -t 2 dlperf-stop-0" in notes.read_text()
    with pytest.raises(ValueError, match="not the name of a container of next"):
        await remote.start(spec("next", "true", container_name="production-database"))


# --- the lease ----------------------------------------------------------------------------------


async def test_a_held_host_says_who_holds_it_and_since_when(remote: RemoteHost) -> None:
    assert await remote.lease() is None
    before = time.time()
    await remote.start(spec("holder", "sleep 600"))
    lease = await remote.lease()
    assert lease is not None
    assert lease.holder == "alice@login01 sweep, run holder"
    with pytest.raises(LeaseHeldError) as held:
        await remote.start(spec("second", "true", lease="bob@login02 other"))
    assert held.value.holder == "alice@login01 sweep, run holder"
    assert held.value.since
    assert before - 2 < held.value.since < time.time() + 2
    assert (await remote.status("second")).phase is RunPhase.ABSENT
    assert not run_directory(remote, "second").exists()
    await remote.cancel("holder", grace_s=1)
    await remote.start(spec("second", "true"))
    assert (await ended(remote, "second")).exit_code == 0


async def test_of_two_consoles_that_race_exactly_one_gets_the_host(
    local_host: Host, tmp_path: Path
) -> None:
    consoles = [
        RemoteHost(LocalTransport(replace(local_host, work_dir=str(tmp_path / name))))
        for name in ("alice", "bob", "carol")
    ]
    await asyncio.gather(*(console.free_port() for console in consoles))
    for number in range(5):
        results = await asyncio.gather(
            *(
                console.start(spec(f"race{number}-{i}", "sleep 600"))
                for i, console in enumerate(consoles)
            ),
            return_exceptions=True,
        )
        winners = [i for i, result in enumerate(results) if isinstance(result, RunStatus)]
        assert len(winners) == 1
        assert sum(isinstance(result, LeaseHeldError) for result in results) == 2
        await consoles[winners[0]].cancel(f"race{number}-{winners[0]}", grace_s=1)


async def test_the_host_stays_held_while_a_process_of_the_run_lives(
    here: RemoteHost, tmp_path: Path
) -> None:
    status = await here.start(spec("tail", f"echo $$ >{tmp_path}/pid; exec sleep 600"))
    await until((tmp_path / "pid").exists)
    assert status.pid
    kill(status.pid)
    await until(lambda: not alive(status.pid or 0))
    with pytest.raises(LeaseHeldError):
        await here.start(spec("next", "true"))
    kill(int((tmp_path / "pid").read_text()))
    await until(lambda: _free(here))
    await here.start(spec("next", "true"))


async def _free(remote: RemoteHost) -> bool:
    return await lease_holder(remote) == ""


async def test_a_run_without_a_lease_takes_none(here: RemoteHost) -> None:
    await here.start(spec("quiet", "sleep 600", lease=""))
    assert await here.lease() is None
    await here.cancel("quiet", grace_s=1)


async def test_looking_at_the_lease_never_disturbs_a_start(here: RemoteHost) -> None:
    await here.free_port()

    async def look() -> None:
        while True:
            await lease_holder(here)

    looking = [asyncio.create_task(look()) for _ in range(2)]
    try:
        for number in range(5):
            await here.start(spec(f"watched{number}", "true"))
            await ended(here, f"watched{number}")
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)


async def test_two_loopback_hosts_of_one_machine_have_leases_of_their_own(
    ssh_hosts: SshHosts,
) -> None:
    ssh_hosts(2)
    pool = TransportPool(ssh_hosts.hosts())
    one, two = (RemoteHost(pool.get(host)) for host in ssh_hosts.hosts())
    await one.start(spec("both", "sleep 600"))
    await two.start(spec("both", "sleep 600"))
    # The same run id on a neighbour that shares our process table: each ends only its own.
    assert (await one.cancel("both", grace_s=1)).left == 0
    assert (await two.status("both")).phase is RunPhase.RUNNING
    assert (await two.cancel("both", grace_s=1)).killed >= 1
    await pool.close()


async def test_another_users_lease_is_seen_and_respected(tmp_path: Path) -> None:
    """As root, a run of an unprivileged user holds the machine against root, and back."""
    if os.geteuid() != 0 or not shutil.which("runuser"):
        pytest.skip("needs root, to become somebody else")
    leases = tmp_path / "leases"
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.owner() == "root" and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    home = tmp_path / "nobody"
    home.mkdir()
    shutil.chown(home, "nobody")

    class AsNobody(LocalTransport):
        async def run(
            self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
        ) -> Completed:
            command = f"runuser -u nobody -- /bin/sh -c {shlex.quote(command)}"
            return await super().run(command, stdin=stdin, timeout_s=timeout_s)

    root = RemoteHost(
        LocalTransport(Host("m", "local", work_dir=str(tmp_path / "r"), lease_dir=str(leases)))
    )
    other = RemoteHost(AsNobody(Host("m", "local", work_dir=str(home), lease_dir=str(leases))))
    await root.start(spec("roots", "sleep 600"))
    with pytest.raises(LeaseHeldError, match="run roots"):
        await other.start(spec("others", "true", lease="nobody@x"))
    await root.cancel("roots", grace_s=1)
    await other.start(spec("others", "sleep 600", lease="nobody@x"))
    with pytest.raises(LeaseHeldError, match="nobody@x, run others"):
        await root.start(spec("roots2", "true"))
    await other.cancel("others", grace_s=1)
    await root.start(spec("roots2", "true"))


# --- files --------------------------------------------------------------------------------------


async def test_a_run_finds_copies_of_the_staged_files(remote: RemoteHost, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "data.txt").write_text("data\n")
    (source / "run.sh").write_text("#!/bin/sh\necho hi from $1; cat cnns/sub/data.txt\n")
    (source / "run.sh").chmod(0o755)
    tree = StagedTree.of({"cnns": source, "hello.py": b"print('hello')\n"})
    assert tree == StagedTree.of({"hello.py": b"print('hello')\n", "cnns": source})
    other = StagedTree.of({"more": b"more\n"})
    script = "./cnns/run.sh stage; python3 hello.py; cat more; echo changed >more"
    for run_id in ("one", "two"):
        await remote.start(spec(run_id, script, stage=(tree, other)))
        status, log = await follow(remote, run_id)
        assert log == b"hi from stage\ndata\nhello\nmore\n"
        assert status.exit_code == 0
    stages = sorted(
        path.name for path in (Path(remote.transport.host.work_dir) / "stage").iterdir()
    )
    assert stages == sorted([tree.digest, other.digest])


def test_a_staged_path_cannot_leave_the_working_directory() -> None:
    for name in ("../x", "/etc/x", "a/../../x", ""):
        with pytest.raises(ValueError, match="not a path inside"):
            StagedTree.of({name: b""})


async def test_a_staged_archive_that_arrives_incomplete_is_not_used(here: RemoteHost) -> None:
    tree = StagedTree.of({"f": b"x" * 100_000})
    cut = replace(tree, archive=tree.archive[:60_000])
    await here.free_port()
    with pytest.raises(RemoteError):
        await here.stage(cut)
    await here.start(spec("whole", "wc -c <f", stage=(tree,)))
    assert (await follow(here, "whole"))[1].strip() == b"100000"


async def test_everything_on_the_host_is_private(here: RemoteHost) -> None:
    await here.start(spec("private", "umask; echo x >made", environment={"TOKEN": "secret"}))
    _, log = await follow(here, "private")
    assert log.strip().lstrip(b"0") == b"%o" % _umask()
    run = run_directory(here, "private")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (run, run / "script.sh"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


async def test_remove_takes_a_finished_run_and_refuses_a_live_one(remote: RemoteHost) -> None:
    await remote.start(spec("live", "mkdir -p a; chmod 500 a; sleep 600"))
    with pytest.raises(RemoteError, match="has not ended"):
        await remote.remove("live")
    await remote.cancel("live", grace_s=1)
    await remote.remove("live")
    assert not run_directory(remote, "live").exists()
    assert (await remote.status("live")).phase is RunPhase.ABSENT


async def test_sweep_finds_running_runs_and_files_and_ends_them(remote: RemoteHost) -> None:
    await remote.start(spec("done", "true"))
    await ended(remote, "done")
    await remote.start(spec("going", "sleep 600"))
    found = {}

    async def going() -> bool:
        own = [one for one in await remote.sweep() if one.run_id in ("done", "going")]
        found.update({leftover.run_id: leftover for leftover in own})
        return found["going"].processes > 0

    await until(going)
    assert found["going"].phase is RunPhase.RUNNING
    assert found["done"].phase is RunPhase.EXITED
    assert found["going"].who == "alice@login01 sweep"
    for leftover in found.values():
        assert (await remote.cancel(leftover.run_id, grace_s=1)).left == 0
        await remote.discard(leftover.run_id)
    left = {leftover.run_id for leftover in await remote.sweep()}
    assert not left & {"done", "going"}


async def test_sweep_finds_processes_whose_directory_is_gone(here: RemoteHost) -> None:
    orphan = subprocess.Popen(["sleep", "600"], env={**os.environ, "DLPERF_RUN_ID": "ghost"})
    try:
        await until(lambda: _has_marker(orphan.pid))
        (found,) = [leftover for leftover in await here.sweep() if leftover.run_id == "ghost"]
        assert (found.phase, found.processes) == (RunPhase.ABSENT, 1)
        await here.cancel(found.run_id, grace_s=1)
        assert orphan.wait(5) == -signal.SIGTERM
    finally:
        orphan.kill()
        orphan.wait()


# --- the rest -----------------------------------------------------------------------------------


async def test_free_ports_are_free_and_differ(remote: RemoteHost) -> None:
    ports = {await remote.free_port() for _ in range(5)}
    assert len(ports) > 1
    assert all(1024 < port < 65536 for port in ports)
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert lowest <= 20100 or all(port < lowest for port in ports)


async def test_a_diagnosis_shows_processes_and_last_lines_safely(remote: RemoteHost) -> None:
    await remote.start(spec("stuck", "printf 'iter 1\\n\\033]52;c;x\\007evil\\n'; exec sleep 600"))
    await until(lambda: (run_directory(remote, "stuck") / "output.log").stat().st_size > 10)
    told = {section.name: section for section in split(await remote.diagnose("stuck"))}
    assert "sleep 600" in told["ps"].text
    assert told["lines"].content == b"iter 1\n\x1b]52;c;x\x07evil\n"
    assert [p.command for p in read_processes(told["processes"].text)] == ["sleep 600"]
    await remote.cancel("stuck", grace_s=1)


async def test_a_work_directory_that_cannot_be_made_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    host = Host("h", "local", work_dir=str(tmp_path / "file" / "work"))
    with pytest.raises(RemoteError, match="cannot install our wrapper") as failed:
        await RemoteHost(LocalTransport(host)).free_port()
    assert "work_dir" in failed.value.remedy


async def test_a_home_relative_work_directory_is_the_hosts_home(tmp_path: Path) -> None:
    transport = LocalTransport(
        Host("h", "local", work_dir="~/it's here", lease_dir=str(tmp_path / "leases")),
        environment={**os.environ, "HOME": str(tmp_path)},
    )
    remote = RemoteHost(transport)
    await remote.start(spec("home", "pwd"))
    _, log = await follow(remote, "home")
    assert log.decode().strip() == str(tmp_path / "it's here" / "runs" / "home.h" / "work")


async def test_hosts_that_share_a_home_keep_their_runs_apart(tmp_path: Path) -> None:
    shared = str(tmp_path / "nfs")
    one, two = (
        RemoteHost(
            LocalTransport(Host(name, "local", work_dir=shared, lease_dir=str(tmp_path / name)))
        )
        for name in ("node1", "node2")
    )
    await asyncio.gather(one.start(spec("r", "echo 1")), two.start(spec("r", "echo 2; sleep 600")))
    assert (await follow(one, "r"))[1] == b"1\n"
    assert (await one.status("r")).phase is RunPhase.EXITED
    assert (await two.status("r")).phase is RunPhase.RUNNING
    await two.cancel("r", grace_s=1)
