"""Runs that stop moving: what keeps them is found out on real processes before they are ended."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.record.state import RunState
from backends.campaign.run import diagnosing
from backends.hangs.diagnosis import Confidence, Sign
from backends.hangs.processes import read_processes
from backends.hangs.sections import split
from backends.hangs.verdict_words import verdict_line
from backends.inventory.host_entry import Host
from tests.support.campaigns import ROOT, Bench, finish, marked, only_run, until_running
from tests.support.nvidia_smi import V100
from tests.support.processes import kill
from tests.support.program import Program
from tests.support.torch_python import torchrun_beside
from tests.support.waiting import until

LIBRARY = ROOT / "profiles" / "library"
WORKLOADS = ROOT / "profiles" / "workloads"


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def impatient(bench: Bench, name: str, *, stall: str = "4s", environment: str = "") -> str:
    """A bundled profile that gives up sooner."""
    text = (LIBRARY / f"{name}.toml").read_text()
    lines = [
        f'stall_timeout = "{stall}"' if line.startswith("stall_timeout") else line
        for line in text.replace(f'name = "{name}"', f'name = "hung-{name}"', 1).split("\n")
    ]
    text = "\n".join(lines).replace("environment = { ", f"environment = {{ {environment}", 1)
    (bench.profiles / f"hung-{name}.toml").write_text(text)
    if not (bench.profiles / "workloads").exists():
        (bench.profiles / "workloads").symlink_to(WORKLOADS)
    return f"hung-{name}"


def of_rank(rank: int) -> list[int]:
    """Processes of runs that call themselves so, or whose environment does."""
    found = []
    for pid in marked():
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if name == f"rank {rank}" or b"RANK=%d" % rank in environment:
            found.append(pid)
    return found


async def has_read(bench: Bench, word: bytes, times: int) -> None:
    """Until some log of the bench has the word so often."""

    def read() -> bool:
        logs = bench.campaigns.rglob("logs/**/*.log") if bench.campaigns.exists() else ()
        return any(log.read_bytes().count(word) >= times for log in logs)

    await until(read, within_s=180)


async def stopped_through_the_command_line(
    bench: Bench, profile: str, *words: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """``run --json`` of two ranks of which rank 1 is stopped on its way: the document."""
    process = Program(
        bench.words("run", "-p", profile, "--case", "1n2g", "--repeats", "1", "--json", *words),
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    stopped: list[int] = []
    try:
        await has_read(bench, b"train: ", 2)
        # Another test may be at work beside this one.
        stopped = [
            pid
            for pid in of_rank(1)
            if bench.directory in Path(f"/proc/{pid}/cwd").readlink().parents
        ]
        assert stopped
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        out, err = process.communicate(timeout=240)
    finally:
        for pid in stopped:
            kill(pid, signal.SIGCONT)
        process.kill()
    assert process.returncode == 1, err
    document: dict[str, Any] = json.loads(out)
    return document


async def test_of_two_ranks_the_stopped_one_is_named_and_the_evidence_kept(bench: Bench) -> None:
    profile = impatient(bench, "cpu-smoke")
    document = await stopped_through_the_command_line(bench, profile, "--set", "seconds=60")
    [run] = document["runs"]
    name = bench.hosts[0].name
    assert run["reason"].startswith("stalled at step")
    found = run["diagnosis"]
    [suspect] = found["suspects"]
    assert (suspect["rank"], suspect["host"], found["confidence"]) == (1, name, "high")
    assert "stopped" in {finding["sign"] for finding in suspect["findings"]}
    assert found["verdict"].startswith(f"rank 1 on {name} is stopped by a signal")
    report = (bench.campaign / "report.md").read_text()
    assert f"rank 1 on {name} was stopped by a signal" in report
    for path in found["files"]:
        assert (bench.campaign / path).is_file()
        assert path.rpartition("/")[2] in report
    [answer] = found["files"]
    told = {section.name for section in split((bench.campaign / answer).read_bytes())}
    assert {"processes", "ps", "kernel", "network", "lines", "uptime"} <= told
    [text] = bench.campaigns.rglob("*.diagnosis.txt")
    assert text.read_text().startswith(f"rank 1 on {name} is stopped by a signal")
    bench.nothing_is_left()


RAS = Path(__file__).parents[1] / "unit" / "hangs" / "ras"


@contextmanager
def ras_played(transcript: Path) -> Iterator[int]:
    """A server that answers as NCCL's RAS did; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked: list[bytes] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    asked.append(client.recv(100))
                    if asked[-1] == b"verbose status\n":
                        client.sendall(transcript.read_bytes())

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join()


@pytest.mark.parametrize(
    ("transcript", "rank", "confidence"),
    [("healthy", None, Confidence.NONE), ("rank2-stopped", 2, Confidence.HIGH)],
)
async def test_what_ras_says_of_a_job_becomes_the_verdict(
    tmp_path: Path, local_host: Host, transcript: str, rank: int | None, confidence: Confidence
) -> None:
    bench = Bench(tmp_path, [replace(local_host, slots=4)])
    with ras_played(RAS / f"{transcript}.txt") as port:
        launch = f'environment = {{ NCCL_RAS_ADDR = "127.0.0.1:{port}", RANK = "0" }}'
        bench.profile(launch, name="nccl", stall_timeout='"1s"')
        controller = await bench.start("1n4g", profile="nccl", lines=3, after="time.sleep(600)")
        run = only_run(await finish(controller))
    await bench.close()
    assert run.state is RunState.FAILED
    found = run.diagnosis
    assert found is not None
    assert found.confidence is confidence
    if rank is None:
        assert found.suspects == ()
        assert verdict_line(found).startswith("which rank keeps the others could not be told")
    else:
        [suspect] = found.suspects
        assert (suspect.rank, suspect.host) == (rank, local_host.name)
        assert suspect.signs == {Sign.RAS_MISSING}
    bench.nothing_is_left()


NAMED = "open('/proc/self/comm', 'w').write('rank %d' % rank)"
TWO_RANKS = f"[{NAMED} and time.sleep(600) for rank in (0, 1) if not os.fork()] or time.sleep(600)"


def a_program(directory: Path, name: str, text: str) -> None:
    """One that is found first, in place of the machine's own."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)


async def test_an_xid_names_rank_host_and_gpu(
    tmp_path: Path, local_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two ranks on a host of two GPUs, as its nvidia-smi and its kernel tell."""
    programs = tmp_path / "bin"
    up = "read -r up _ </proc/uptime; "
    gone = "NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', GPU has fallen off the bus."
    a_program(programs, "dmesg", f'#!/bin/sh\n{up}echo "[$up] {gone}"\necho "[0.5] {gone}"\n')
    V100.install(programs)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    bench = Bench(tmp_path, [local_host])
    bench.profile(name="gpus", stall_timeout='"1s"')
    controller = await bench.start("1n2g", profile="gpus", lines=3, after=TWO_RANKS.strip())
    run = only_run(await finish(controller))
    await bench.close()
    found = run.diagnosis
    assert found is not None
    [suspect] = found.suspects
    assert (suspect.rank, suspect.host, suspect.device) == (1, local_host.name, 1)
    [xid] = [finding for finding in suspect.findings if finding.sign is Sign.XID]
    assert xid.xid == 79
    assert xid.at is not None
    assert run.started_at is not None
    assert run.started_at <= xid.at <= (run.ended_at or 0)
    assert f"{local_host.name} GPU1" in verdict_line(found)
    assert "Xid 79" in verdict_line(found)
    bench.nothing_is_left()


IN_STEPS = (
    "import subprocess; [subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
    " env={**os.environ, 'SLURM_STEP_ID': '1', 'SLURM_PROCID': rank, 'SLURM_LOCALID': rank})"
    " for rank in '01'] and time.sleep(600)"
)


@pytest.mark.parametrize(
    ("after", "ranks"),
    [("time.sleep(600)", []), (TWO_RANKS, [0, 1]), (IN_STEPS, [0, 1])],
    ids=["nobody says its rank", "ranks say it themselves", "srun within the job says it"],
)
async def test_what_a_job_says_of_the_step_that_started_us_is_no_rank_of_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, after: str, ranks: list[int]
) -> None:
    """Every process of a run in a job inherits the variables of the step that serves it."""
    for name in ("PROCID", "LOCALID", "STEP_ID"):
        monkeypatch.setenv(f"SLURM_{name}", "0")
    bench.profile(name="in-a-job", stall_timeout='"1s"')
    controller = await bench.start("1n2g", profile="in-a-job", lines=3, after=after)
    run = only_run(await finish(controller))
    found = run.diagnosis
    assert found is not None
    assert found.suspects == ()
    [answer] = found.files
    told = {one.name: one for one in split((controller.path / answer).read_bytes())}
    listed = read_processes(told["processes"].text)
    assert sorted(one.rank for one in listed if one.rank is not None) == ranks
    with_rank = {one.pid for one in listed if one.rank is not None}
    assert not any(one.parent in with_rank for one in listed), "the workers, not who started them"
    bench.nothing_is_left()


async def test_a_run_that_moves_can_be_asked_and_goes_on(bench: Bench) -> None:
    controller = await bench.start(lines=120, every=0.1)
    await until_running(controller, readings=3)
    [run_id] = controller.state.runs
    assert controller.diagnose(run_id)
    await until(lambda: controller.state.runs[run_id].diagnosis is not None)
    assert not controller.state.runs[run_id].state.ended, "it was asked while it ran"
    run = only_run(await finish(controller))
    assert run.state is RunState.SUCCEEDED
    assert run.reading_count == 120
    assert run.diagnosis is not None
    assert run.diagnosis.suspects == ()
    assert not controller.diagnose(run_id), "it has ended"
    bench.nothing_is_left()


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "{host}: killed by signal 9 (SIGKILL)"),
        (signal.SIGTERM, "{host}: killed by signal 15 (terminated)"),
        (signal.SIGSTOP, "rank 2 on {host} was stopped by a signal, so the others lost its node"),
    ],
)
async def test_of_several_hosts_that_is_named_whose_rank_was_lost(
    tmp_path: Path, local_host: Host, number: signal.Signals, reason: str
) -> None:
    names = (f"{local_host.name}{letter}" for letter in "cab")
    hosts = [
        replace(
            local_host,
            name=name,
            work_dir=f"{local_host.work_dir}-{name}",
            lease_dir=f"{local_host.lease_dir}-{name}",
        )
        for name in names
    ]
    bench = Bench(tmp_path, hosts)
    profile = impatient(bench, "cpu-smoke", stall="60s")
    path = bench.profiles / f"{profile}.toml"
    silent = "--timeout 6 --seconds {seconds}"
    path.write_text(path.read_text().replace("--seconds {seconds}", silent))
    try:
        controller = await bench.start("3n1g", profile=profile, seconds=60)
        await until_running(controller, readings=2)
        [run_id] = controller.state.runs
        victim = next(pid for pid in of_rank(2) if marked()[pid] == run_id)
        host = controller.state.runs[run_id].hosts[2]
        os.kill(victim, number)
        if number is signal.SIGSTOP:
            controller.diagnose(run_id)
            await until(lambda: controller.state.runs[run_id].diagnosis is not None)
        await until(lambda: controller.state.runs[run_id].state.ended)
        run = controller.state.runs[run_id]
        await until(lambda: not any(bench.directory.glob("work-*/runs/*")))
        await controller.detach()
    finally:
        await bench.close()
    assert (run.reason, run.failed_host) == (reason.format(host=host), host)
    bench.nothing_is_left()


@pytest.mark.faults
async def test_what_hangs_on_the_host_itself_is_not_waited_for(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's log does not come, and who reads it is deaf to signals; the rest is kept."""
    mark = "600.25"  # nobody else sleeps for so long
    deaf = f"#!/bin/sh\ntrap '' TERM\nsleep {mark}\nsleep {mark}\n"
    a_program(tmp_path / "bin", "dmesg", deaf)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    bench.profile(name="quiet", stall_timeout='"1s"')
    controller = await bench.start(profile="quiet", lines=3, after="time.sleep(600)")
    await until_running(controller, readings=2)
    began = time.monotonic()
    run = only_run(await finish(controller))
    assert time.monotonic() - began < 1 + diagnosing.COLLECT_LIMIT_S + 10
    assert re.fullmatch(r"stalled at step 2: no reading for \d+s", run.reason)
    assert run.diagnosis is not None
    [answer] = run.diagnosis.files
    told = {section.name: section for section in split((controller.path / answer).read_bytes())}
    assert told["kernel"].status != 0
    assert told["lines"].content.endswith(b"end without a newline")
    for sleeper in pids_of(f"sleep {mark}"):
        kill(sleeper)
    bench.nothing_is_left()


def pids_of(words: str) -> list[int]:
    """Processes with these words as their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            said = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
        except OSError:
            continue
        if entry.name.isdigit() and said == words.encode():
            found.append(int(entry.name))
    return found


@pytest.mark.torch
async def test_of_two_ranks_of_pytorch_the_stopped_one_is_named_with_its_stack(
    bench: Bench,
) -> None:
    words = {
        "image_size": 32,
        "batch_size": 4,
        "iterations": 100_000,
        "print_every": 2,
        "torchrun": torchrun_beside(),
    }
    given = [f"{key}={value}" for key, value in words.items()]
    profile = impatient(bench, "torch-resnet50", stall="45s")
    document = await stopped_through_the_command_line(bench, profile, "--set", *given)
    [run] = document["runs"]
    found = run["diagnosis"]
    [suspect] = found["suspects"]
    assert (suspect["rank"], suspect["host"]) == (1, bench.hosts[0].name)
    assert found["confidence"] == "high"
    assert found["verdict"].startswith("rank 1 on")
    print(found["verdict"])
    bench.nothing_is_left()
