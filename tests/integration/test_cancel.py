"""``dlperf-tui cancel`` on campaigns that no console is at work on, over real SSH servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.controller import CampaignController
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import CampaignState, RunState, fold
from tests.support.campaigns import Bench, finish, only_run, read_json, until_running
from tests.support.sshd import SshHosts
from tests.support.waiting import until

STUBBORN = """
import os, signal, sys, time
seconds, copies = float(sys.argv[1]), sys.argv[2]
host = os.environ["DLPERF_HOST"]
copy = open(os.path.join(copies, os.environ["DLPERF_RUN_ID"] + "." + host), "ab")
def say(text):
    for out in (sys.stdout.buffer, copy):
        out.write(text)
        out.flush()
def saved(*_):
    say(b"saving\\n")
    time.sleep(seconds if host.endswith("1") else 0)
    say(b"saved, without a newline")
    os._exit(0)
signal.signal(signal.SIGTERM, saved)
say(b"iter 0, samples/s: 1.0\\n")
for i in range(1, 100000):
    time.sleep(0.05)
    say(b"iter %d, samples/s: 1.0\\n" % i)
"""


@pytest.fixture
async def bench(tmp_path: Path, ssh_hosts: SshHosts) -> AsyncIterator[Bench]:
    ssh_hosts(2)
    found = Bench(tmp_path, ssh_hosts.hosts())
    (found.profiles / "stubborn.py").write_text(STUBBORN)
    found.profile(
        name="stubborn",
        stage='["stubborn.py"]',
        command='"python3 stubborn.py {every} {copies}"',
    )
    yield found
    await found.close()


async def detached(bench: Bench, *cases: str, **values: object) -> CampaignController:
    """A campaign whose first run is going on, with nobody at work on it."""
    controller = await bench.start(*cases, **values)  # type: ignore[arg-type]
    await until_running(controller)
    await controller.detach()
    return controller


def state_of(bench: Bench) -> CampaignState:
    return fold(read_events(bench.campaign / "events.jsonl"))


def cancel(bench: Bench, *words: str) -> tuple[int, dict[str, object], str]:
    process = bench.spawn("cancel", bench.campaign.name, "--json", *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, read_json(out) if out else {}, err


async def test_a_run_gets_its_grace_time_and_its_log_is_fetched_to_the_last_byte(
    bench: Bench,
) -> None:
    """On one host it saves for 7 s when it is told to end, on the other it ends at once."""
    await detached(bench, "2n1g", profile="stubborn", every=7)
    code, told, err = cancel(bench)
    assert code == 0, err
    run = only_run(state_of(bench))
    assert told == {
        "campaign": bench.campaign.name,
        "path": str(bench.campaign),
        "cancelled": [run.run_id],
        "unverified": [],
    }
    assert run.state is RunState.CANCELLED
    assert run.cleanup.verified
    kinds = [type(event) for event in read_events(bench.campaign / "events.jsonl")]
    assert kinds.index(ev.RunCancelling) < kinds.index(ev.RunCancelled)
    for name, rank0 in (("node1", True), ("node2", False)):
        local = bench.campaign / (run.log if rank0 else f"{run.log[:-4]}.node2.log")
        assert local.read_bytes() == (bench.copies / f"{run.run_id}.{name}").read_bytes()
        assert local.read_bytes().endswith(b"saving\nsaved, without a newline")
    bench.nothing_is_left()
    assert cancel(bench)[:2] == (0, {**told, "cancelled": []})


@pytest.mark.parametrize(
    "later",
    [
        "cancel",
        *(pytest.param(later, marks=pytest.mark.faults) for later in ("resume", "sweep")),
    ],
)
async def test_a_host_out_of_reach_is_unverified_and_taken_up_again_later(
    bench: Bench, ssh_hosts: SshHosts, later: str
) -> None:
    controller = await detached(bench, "1n1g", repeats=2, lines=100_000)
    running, planned = controller.state.runs
    [host] = controller.state.runs[running].hosts
    served = next(served for served in ssh_hosts.served if served.host.name == host)
    served.stop(sessions=True)
    code, told, err = cancel(bench)
    assert code == 1, err
    assert told["cancelled"] == [planned]
    [unverified] = told["unverified"]  # type: ignore[misc]
    assert (unverified["host"], set(unverified)) == (host, {"host", "reason", "command"})
    assert "connection refused" in unverified["reason"]
    assert state_of(bench).runs[running].state is RunState.CANCELLING
    assert bench.workspace().campaigns()[0].state == "unfinished"
    copy = bench.copies / f"{running}.{host}"
    size = copy.stat().st_size
    await until(lambda: copy.stat().st_size > size, what="the run lives on")
    served.start()
    if shutil.which("ssh"):
        shown = subprocess.run(
            ["sh", "-c", unverified["command"]], capture_output=True, text=True, check=True
        )
        assert "steady.py" in shown.stdout
    again = bench.spawn(later, *{"sweep": ["--yes"]}.get(later, [bench.campaign.name]))
    _, err = again.communicate(timeout=120)
    assert again.returncode == (1 if later == "resume" else 0), err  # they did not succeed
    state = state_of(bench)
    assert state.finished
    assert state.runs[running].state is RunState.CANCELLED
    assert len(state.runs) == 2, "nothing is started by what ends things"
    assert (bench.campaign / state.runs[running].log).read_bytes() == copy.read_bytes()
    bench.nothing_is_left()


@pytest.mark.faults
async def test_sweep_removes_nothing_of_a_run_whose_end_is_open_on_another_host(
    bench: Bench, ssh_hosts: SshHosts
) -> None:
    controller = await detached(bench, "2n1g", lines=100_000)
    [run_id] = controller.state.runs
    away = ssh_hosts.served[1]
    away.stop(sessions=True)
    sweep = bench.spawn("sweep", "--yes")
    out, err = sweep.communicate(timeout=120)
    assert sweep.returncode == 1, err
    assert f"unverified: node1: run {run_id}: its end is open until node2 can be asked" in err
    assert "0 of 1 ended and removed" in out
    assert state_of(bench).runs[run_id].state is RunState.CANCELLING
    assert (Path(bench.hosts[0].work_dir) / "runs" / f"{run_id}.node1" / "output.log").exists()
    away.start()
    again = bench.spawn("sweep", "--yes")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert state_of(bench).runs[run_id].state is RunState.CANCELLED
    bench.nothing_is_left()


async def test_a_run_that_was_over_before_the_word_arrived_counts(bench: Bench) -> None:
    await detached(bench, lines=40)
    await until(lambda: list(Path(bench.hosts[0].work_dir).glob("runs/*/exit")))
    code, told, err = cancel(bench)
    assert code == 0, err
    assert told["cancelled"] == []
    state = state_of(bench)
    assert only_run(state).state is RunState.SUCCEEDED
    assert bench.logs_are_exact(state, bench.campaign) == 1
    bench.nothing_is_left()


async def test_one_run_is_cancelled_and_nothing_else_is_done(bench: Bench) -> None:
    controller = await bench.start("1n1g", repeats=3, lines=100_000)
    await until_running(controller, count=2)
    await controller.detach()
    first, second, third = controller.state.runs
    code, told, err = cancel(bench, "--run", first)
    assert code == 0, err
    assert told["cancelled"] == [first]
    states = [run.state for run in state_of(bench).runs.values()]
    assert states == [RunState.CANCELLED, RunState.RUNNING, RunState.PLANNED]
    code, _, err = cancel(bench, "--run", "nobody")
    assert code == 2
    assert "no run 'nobody' in this campaign" in err
    code, told, err = cancel(bench)
    assert (code, told["cancelled"]) == (0, [second, third]), err
    bench.nothing_is_left()


async def test_what_failed_is_not_tried_again_by_who_cancels(bench: Bench) -> None:
    after = "print('RuntimeError: Address already in use');sys.exit(1)"
    controller = await bench.start(lines=3, after=after)
    await finish(controller)
    path = controller.path / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    failed = next(i for i, line in enumerate(lines) if b'"RunFailed"' in line)
    path.write_bytes(b"".join(lines[: failed + 1]))  # as a kill right then leaves it
    code, told, err = cancel(bench)
    assert (code, told["cancelled"]) == (0, []), err
    assert len(state_of(bench).runs) == 1
    process = bench.spawn("resume", bench.campaign.name)
    process.communicate(timeout=60)
    assert len(state_of(bench).runs) == 1


async def test_a_cancelled_campaign_stays_cancelled_when_its_console_is_killed(
    bench: Bench,
) -> None:
    """The word is on disk before anything is ended, and is kept by who comes next."""
    controller = await detached(bench, "1n1g", repeats=3, lines=100_000)
    with (controller.path / "events.jsonl").open("ab") as journal:
        journal.write(encode(ev.CancelAsked(t=1.0)))
    state = await finish(await bench.workspace().resume(controller.path))
    assert {run.state for run in state.runs.values()} == {RunState.CANCELLED}
    bench.nothing_is_left()


def test_the_words_of_a_cancel_without_json(bench: Bench) -> None:
    process = bench.spawn("run", *bench.steady_words("1n1g", lines=3))
    process.communicate(timeout=60)
    done = bench.spawn("cancel", bench.campaign.name)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (0, "")
    assert err == f"{bench.campaign.name}: nothing to cancel\n"
    assert json.loads(json.dumps(cancel(bench)[1]))["unverified"] == []
