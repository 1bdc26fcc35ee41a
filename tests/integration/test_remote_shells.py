"""The wrapper on hosts of other kinds: bash as sh, and busybox without GNU tools or Python."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import backends.remote as remote_package
from backends.hangs.processes import read_processes
from backends.hangs.sections import split
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    LogDigest,
    LogNotKeptError,
    RemoteError,
    RunPhase,
    RunSpec,
    StagedTree,
)
from tests.support.bystanders import bystanders
from tests.support.leases import lease_holder
from tests.support.players import path_without
from tests.support.processes import alive, all_gone, kill
from tests.support.somebody import owner_of, transport_of_somebody
from tests.support.waiting import until


@pytest.fixture(params=["sh", "bash", "busybox", "busybox with Python, without setsid"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, local_host: Host) -> RemoteHost:
    """A host whose PATH begins with another shell, or holds nothing but busybox."""
    tools = tmp_path / "tools"
    tools.mkdir()
    shell, _, python = request.param.partition(" ")
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = str(tools)
    if shell in ("sh", "bash"):
        (tools / "sh").symlink_to(program)
        path += ":" + os.environ["PATH"]
    else:
        subprocess.run([program, "--install", "-s", str(tools)], check=True)
    if python:
        interpreter = shutil.which("python3", path="/usr/bin")
        if interpreter is None:
            pytest.skip("needs /usr/bin/python3")
        (tools / "python3").symlink_to(interpreter)
        for missing in ("flock", "setsid", "timeout", "stat"):
            (tools / missing).unlink(missing_ok=True)
    environment = {**os.environ, "PATH": path}
    return RemoteHost(transport_of_somebody(local_host, tmp_path, environment))


EVIDENCE = Path(remote_package.__file__).parent / "diagnose.sh"


def spec(run_id: str, script: str, **more: object) -> RunSpec:
    return RunSpec(run_id, script, lease="me", grace_s=1, **more)  # type: ignore[arg-type]


async def test_a_run_lives_and_ends_as_on_any_other_host(remote: RemoteHost) -> None:
    tree = StagedTree.of({"a/b": b"staged\n"})
    script = "cat a/b; for i in 1 2 3; do echo $i; sleep 0.7; done; printf '\\000\\377'; exit 5"
    await remote.start(spec("life", script, stage=(tree,)))
    with pytest.raises(LeaseHeldError, match="me, run life"):
        await remote.start(spec("other", "true"))
    got = bytearray()
    async with asyncio.timeout(20):
        status = await remote.follow("life", 0, got.extend)
    assert bytes(got) == b"staged\n1\n2\n3\n\0\xff"
    assert (status.phase, status.exit_code, status.size) == (RunPhase.EXITED, 5, len(got))
    got.clear()
    await remote.follow("life", 7, got.extend)
    assert bytes(got) == b"1\n2\n3\n\0\xff"
    assert await lease_holder(remote) == ""
    log = b"staged\n1\n2\n3\n\0\xff"
    digest = await remote.digest("life")
    assert digest == LogDigest(len(log), hashlib.sha256(log).hexdigest())
    with pytest.raises(LogNotKeptError):
        await remote.remove("life", LogDigest(len(log), "0" * 64))
    await remote.remove("life", digest)
    assert "life" not in [leftover.run_id for leftover in await remote.sweep()]


async def test_timeout_and_cancel_end_every_process(remote: RemoteHost, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        f"echo $$ >>{pids}; sleep 60 & echo $! >>{pids}; nohup sleep 61 & echo $! >>{pids}; wait"
    )
    await remote.start(spec("late", script, timeout_s=0.5))
    async with asyncio.timeout(20):
        status = await remote.follow("late", 0, lambda chunk: None)
    assert status.timed_out
    assert all_gone(int(pid) for pid in pids.read_text().split())
    pids.unlink()
    await remote.start(spec("unwanted", script))
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
    report = await remote.cancel("unwanted", grace_s=1)
    assert report.killed >= 1
    assert report.left == 0
    assert all_gone(int(pid) for pid in pids.read_text().split())
    assert (await remote.status("unwanted")).cancelled


SHELL_HANDLER = """
saved() { sleep 1; echo sleep ended with $?; (sh -c 'sleep 0.5; echo copied'); exit 0; }
trap saved TERM
: >UP
while :; do sleep 0.1; done
"""
PYTHON_HANDLER = """
import os, signal, subprocess, time
def saved(*_):
    print("sleep ended with", subprocess.call(["sleep", "1"]), flush=True)
    subprocess.call(["sh", "-c", "(sleep 0.5; echo copied)"])
    os._exit(0)
signal.signal(signal.SIGTERM, saved)
open("UP", "w").close()
while True:
    time.sleep(0.1)
"""


@pytest.mark.parametrize("who", ["the script", "a rank of it"])
@pytest.mark.parametrize("handler", ["shell", "python"])
async def test_what_a_term_handler_starts_has_the_grace_too(
    remote: RemoteHost, tmp_path: Path, handler: str, who: str
) -> None:
    """Also where the script itself ends at once, and its supervisor looks what it has left."""
    up, program = tmp_path / "up", tmp_path / "program"
    text = SHELL_HANDLER if handler == "shell" else PYTHON_HANDLER
    program.write_text(text.replace("UP", str(up)))
    interpreter = "sh" if handler == "shell" else shutil.which("python3", path="/usr/bin")
    if interpreter is None:
        pytest.skip("needs /usr/bin/python3")
    command = f"{interpreter} {program}"
    script = f"exec {command}" if who == "the script" else f"{command} & wait"
    await remote.start(RunSpec("saves", script, lease="me", grace_s=30))
    await until(up.exists)
    began = time.monotonic()
    assert (await remote.cancel("saves", grace_s=30)).left == 0
    log = bytearray()
    await remote.follow("saves", 0, log.extend)
    assert log.decode().splitlines()[-2:] == ["sleep ended with 0", "copied"]  # sh tells of more
    assert time.monotonic() - began < 20


async def test_what_begins_while_a_run_is_ended_does_not_use_up_its_grace(
    remote: RemoteHost, tmp_path: Path
) -> None:
    """Who ends by TERM leaves children that nobody has told yet, and they are told in turn."""
    pids = tmp_path / "pids"
    script = f"for i in 1 2 3 4; do (while :; do sleep 30 & echo $! >>{pids}; done) & done; wait"
    script = script.replace("done) &", "sleep 0.02; done) &")
    await remote.start(spec("forks", script))
    await until(lambda: pids.exists() and len(pids.read_text().split()) > 20)
    began = time.monotonic()
    report = await remote.cancel("forks", grace_s=60)
    assert report.left == 0
    assert time.monotonic() - began < 30
    assert all_gone(int(pid) for pid in pids.read_text().split())


@contextlib.contextmanager
def ignoring(*numbers: signal.Signals) -> Iterator[None]:
    """As below nohup or ``trap ''``: what is started meanwhile inherits it."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# 1: some signal is ignored; 32 and 33 are libc's own.
IGNORES = "set -- $(grep SigIgn /proc/self/status); echo $(((0x$2 & ~(3 << 31)) != 0))"


async def test_a_console_below_nohup_hands_no_ignored_signal_on(remote: RemoteHost) -> None:
    """But on a host with neither python3 nor an ``env`` that can do it: no sh can."""
    able = "python3 -c 1 2>&- || env --default-signal true 2>&-"
    done = await remote.transport.run(f"{able} && echo able")
    with ignoring(signal.SIGHUP):
        await remote.start(spec("nohup", IGNORES))
    log = bytearray()
    assert (await remote.follow("nohup", 0, log.extend)).exit_code == 0
    assert log.decode() == ("0\n" if done.stdout else "1\n")


@pytest.mark.parametrize("python", [True, False])
async def test_a_login_that_ignores_what_the_wrapper_lives_on_does_it_no_harm(
    tmp_path: Path, local_host: Host, python: bool
) -> None:
    path = path_without(() if python else {"python3"}, tmp_path / "tools")
    here = RemoteHost(transport_of_somebody(local_host, tmp_path, {**os.environ, "PATH": path}))
    with ignoring(signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
        await here.start(spec("deaf", f"{IGNORES}; exec sleep 600", timeout_s=0.5))
    log = bytearray()
    async with asyncio.timeout(20):
        status = await here.follow("deaf", 0, log.extend)
    assert (log.decode(), status.timed_out, status.exit_code) == ("0\n", True, 143)


async def test_the_small_answers_work_too(remote: RemoteHost, tmp_path: Path) -> None:
    assert 1024 < await remote.free_port() < 65536
    began = tmp_path / "began"
    await remote.start(spec("look", f"echo here >{began}; exec sleep 60"))
    await until(began.exists)  # before that a cancel keeps it from starting, and ends nothing
    told = {section.name: section for section in split(await remote.diagnose("look"))}
    assert read_processes(told["processes"].text)
    assert (await remote.cancel("look", grace_s=1)).killed >= 1
    assert (await remote.status("absent")).phase is RunPhase.ABSENT


def diagnosing(run_id: str) -> list[int]:
    """The shells that diagnose a run; those that the first one forked behind it."""
    found = []
    for entry in sorted(Path("/proc").glob("[0-9]*"), key=lambda entry: int(entry.name)):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"diagnose" in words and run_id.encode() in words:
                found.append(int(entry.name))
    return found


def evidence_directories(shells: Sequence[int]) -> set[Path]:
    """Where children of these write what they tell of a run at this moment."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            top = (process / "fd" / "1").readlink().parent.parent
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if top.name.startswith("dlperf.") and int(parent) in shells:
                found.add(top)
    return found


async def test_a_diagnosis_that_is_ended_leaves_no_evidence_behind(remote: RemoteHost) -> None:
    run_id = f"ended-{secrets.token_hex(4)}"
    await remote.start(spec(run_id, "exec sleep 60"))
    try:
        while not await ended_half_way(remote, run_id):  # it was over before: once more
            pass
    finally:
        await remote.cancel(run_id, grace_s=1)


async def ended_half_way(remote: RemoteHost, run_id: str) -> bool:
    """Whether a diagnosis could be ended while it had evidence, of which nothing is left then."""
    asking = asyncio.create_task(remote.diagnose(run_id))
    directories: set[Path] = set()
    shells: list[int] = []

    def begun() -> bool:
        shells[:] = diagnosing(run_id)
        directories.update(evidence_directories(shells))
        return bool(directories) or asking.done()

    await until(begun)
    for pid in shells[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    [ended] = await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: not any(directory.exists() for directory in directories))
    return isinstance(ended, RemoteError)


WRITES = """
. "$1"
fail() { exit 9; }
keep_evidence
echo "$evidence"
number=0
{
    while [ $number -lt 100000 ] && : >"$told/$number.part"; do number=$((number + 1)); done
} >/dev/null 2>&1 &
while ! [ -e "$told/9.part" ]; do :; done
"""


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox sh"])
def test_evidence_is_gone_although_something_still_writes_there(shell: str) -> None:
    command = [*shell.split(), "-c", WRITES, "sh", str(EVIDENCE)]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    for _ in range(20):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert not Path(done.stdout.strip()).exists()


async def test_a_marker_is_found_wherever_it_stands_in_the_environment(
    remote: RemoteHost, tmp_path: Path
) -> None:
    run_id = f"marked{os.getpid()}"
    environment = {"FIRST": "1", "DLPERF_RUN_ID": run_id, "LAST": "2"}
    process = subprocess.Popen(["sleep", "600"], env=environment, **owner_of(tmp_path))
    try:
        await until(lambda: b"LAST" in Path(f"/proc/{process.pid}/environ").read_bytes())
        assert run_id in [leftover.run_id for leftover in await remote.sweep()]
        assert (await remote.cancel(run_id, grace_s=1)).killed == 1
    finally:
        process.kill()
        process.wait()


async def test_a_bystander_is_never_signalled(remote: RemoteHost, tmp_path: Path) -> None:
    """Whatever its environment holds, as long as the marker is no variable of its own there."""
    name = remote.transport.host.name
    with bystanders("victim", name, **owner_of(tmp_path)) as others:
        await remote.start(spec("victim", "exec sleep 60"))

        async def seen() -> int:
            return sum(x.processes for x in await remote.sweep() if x.run_id == "victim")

        await until(seen)
        assert await seen() == 1
        assert {x.run_id for x in await remote.sweep()} <= {"victim", "victim0"}
        assert (await remote.cancel("victim", grace_s=1)).killed == 1
        assert {kind for kind, process in others.items() if process.poll() is not None} == set()
        assert await lease_holder(remote) == ""


HIDES = (
    "env -i sh -c 'cd /; exec 1>&- 2>&- 3>&- 9>&-;"
    ' setsid sh -c "echo \\$\\$ >{pid}; exec sleep 600" &\''
)
"""Without the marker, a session of its own, a parent that is gone, no open file of ours."""


@pytest.mark.parametrize("remote", ["sh", "bash", "busybox"], indirect=True)
async def test_what_hid_is_unverified_until_it_is_gone(remote: RemoteHost, tmp_path: Path) -> None:
    """On a normal end: on a host with Python it is found; else it is named, and has the host."""
    python = (await remote.transport.run("command -v python3")).exit_status == 0
    pid = tmp_path / "pid"
    await remote.start(spec("hides", f"{HIDES.format(pid=pid)}; sleep 0.3; echo done"))
    async with asyncio.timeout(20):
        status = await remote.follow("hides", 0, lambda chunk: None)
    assert status.exit_code == 0
    if python:
        assert status.orphans == ()
        assert all_gone([int(pid.read_text())])
        return
    survivor = int(pid.read_text())
    try:
        assert alive(survivor), "nobody can be sure that it is the run's"
        assert survivor in (status.orphans or ())
        for again in ("other", "another"):
            with pytest.raises(LeaseHeldError, match="may have left processes, run hides"):
                await remote.start(spec(again, "true"))
        digest = await remote.digest("hides")
        with pytest.raises(RemoteError, match=f"may have left processes: .*{survivor}"):
            await remote.remove("hides", digest)
        report = await remote.cancel("hides", grace_s=1)
        assert (report.killed, report.left) == (0, None)
        assert survivor in (report.orphans or ())
        (found,) = [x for x in await remote.sweep() if x.run_id == "hides"]
        assert survivor in (found.orphans or ())
        assert alive(survivor)
    finally:
        kill(survivor)
    await until(lambda: not alive(survivor))
    await remote.start(spec("other", "true"))
    assert survivor not in ((await remote.cancel("hides", grace_s=1)).orphans or ())


@pytest.mark.parametrize("remote", ["busybox"], indirect=True)
async def test_a_person_who_has_looked_may_say_so(remote: RemoteHost, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    await remote.start(spec("vouched", f"{HIDES.format(pid=pid)}; sleep 0.3; echo done"))
    await remote.follow("vouched", 0, lambda chunk: None)
    survivor = int(pid.read_text())
    try:
        await remote.remove("vouched", await remote.digest("vouched"), verified=True)
        await remote.start(spec("next", "true"))
        assert alive(survivor)
    finally:
        kill(survivor)
