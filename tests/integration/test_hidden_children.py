"""Campaigns on hosts without python3, where children that hide are in no tree: real SSH servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.record.cleanup_doubts import Why
from backends.campaign.record.journal import read_events
from backends.campaign.record.state import RunState, fold
from tests.support.campaigns import Bench, finish, until_running
from tests.support.players import path_without
from tests.support.somebody import process_namespace
from tests.support.sshd import SshHosts, sshd_program
from tests.support.waiting import until

# Without our marker, in a session of its own, nobody's child, with no file of ours open.
HIDE = (
    "import subprocess;first='-0001-' in os.environ['DLPERF_RUN_ID'];"
    "first and subprocess.run(['env','-i','sh','-c','setsid sleep 600 >&- 2>&- & echo $! >{pid}'],"
    "cwd='/');time.sleep({wait})"
)


@pytest.fixture
async def bench(tmp_path: Path, ssh_hosts: SshHosts) -> AsyncIterator[Bench]:
    if sshd_program() is None:
        pytest.skip("needs sshd, whose SetEnv takes python3 away")
    path = path_without({"python3"}, tmp_path / "tools")
    home = tmp_path / "hosts" / "node1" / "home"
    ssh_hosts.add(options=[f"SetEnv HOME={home} PATH={path}"], prefix=process_namespace())
    found = Bench(tmp_path, ssh_hosts.hosts())
    yield found
    await there(found, f"kill -9 $(cat {tmp_path}/pid)")
    await found.close()


async def there(bench: Bench, command: str) -> bool:
    """Whether a command succeeds on the host, where the processes have the numbers it knows."""
    done = await bench.workspace().cluster.pool.get(bench.hosts[0]).run(command)
    return done.exit_status == 0


async def told(bench: Bench, *words: str) -> tuple[int, str]:
    process = bench.spawn(*words)
    out, err = await asyncio.to_thread(process.communicate, timeout=120)
    return process.returncode, out + err


async def test_the_next_run_waits_for_what_hid_and_says_so(bench: Bench, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    controller = await bench.start(repeats=2, lines=5, after=HIDE.format(pid=pid, wait=0))
    first, second = controller.state.runs
    await until(lambda: controller.state.runs[first].state is RunState.SUCCEEDED)
    survivor = pid.read_text().strip()
    [doubt] = controller.state.runs[first].cleanup.doubts
    assert (doubt.host, doubt.why, doubt.detail) == ("node1", Why.ORPHANS, survivor)
    await until(lambda: "may have left processes" in controller.snapshot().runs[1].state_text)
    assert not any("cleaned up now" in text for _, _, text in controller.state.notes)
    assert await there(bench, f"kill -0 {survivor}")
    assert not (bench.copies / f"{second}.node1").exists(), "it has not begun"
    await there(bench, f"kill -9 {survivor}")
    state = await finish(controller)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert [run.cleanup.doubts for run in state.runs.values()] == [(), ()], "verified in the end"
    assert bench.logs_are_exact(state, controller.path) == 2
    bench.nothing_is_left()


async def test_what_hid_may_go_on_writing_to_the_log(bench: Bench, tmp_path: Path) -> None:
    """Nobody is blamed for having touched the log here, and all of it is here in the end."""
    pid = tmp_path / "pid"
    writes = (
        "import subprocess;subprocess.run(['env','-i','sh','-c','setsid sh -c "
        f"\"echo \\$\\$ >{pid}; while sleep 0.03; do echo late; done\" 2>&- &'],cwd='/')"
    )
    controller = await bench.start(lines=5, after=writes)
    state = await finish(controller)
    [run] = state.runs.values()
    assert Why.ORPHANS in [doubt.why for doubt in run.cleanup.doubts]
    assert await there(bench, f"kill -9 {pid.read_text()}")
    [log] = tmp_path.glob(f"hosts/node1/work/runs/{run.run_id}.node1/output.log")
    whole = log.read_bytes()
    code, text = await told(bench, "sweep", "--yes")
    assert code == 0, text
    ours = controller.path / run.log
    assert ours.read_bytes() == whole
    assert whole.count(b"late") > 1
    assert [path.name for path in ours.parent.iterdir()] == [ours.name]
    assert not any("fetched again" in text for _, _, text in state.notes)
    bench.nothing_is_left()


@pytest.mark.faults
async def test_a_cancelled_run_that_hid_something_is_unverified(
    bench: Bench, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    controller = await bench.start(lines=5, after=HIDE.format(pid=pid, wait=600))
    await until_running(controller, readings=5)
    await until(pid.exists)
    await controller.detach()
    survivor = pid.read_text().strip()
    name = controller.path.name
    code, text = await told(bench, "cancel", name, "--json")
    document = json.loads(text)
    assert (code, document["cancelled"]) == (1, [])
    [unverified] = document["unverified"]
    assert unverified["host"] == "node1"
    assert f"process {survivor} may be the run's" in unverified["reason"]
    assert f"-p {survivor}" in unverified["command"]
    assert await there(bench, f"kill -0 {survivor}"), "nobody can be sure that it is the run's"
    for words in (("sweep",), ("sweep", "--yes"), ("cancel", name), ("resume", name)):
        _, text = await told(bench, *words)
        assert "unverified" in text or words[0] == "resume"
        assert "cleaned up now" not in text
    for words in (("sweep",), ("sweep", "--yes"), ("cancel", name)):
        assert (await told(bench, *words))[0] == 1
    assert await there(bench, f"kill -9 {survivor}")
    code, text = await told(bench, "sweep", "--yes")
    assert code == 0, text
    state = fold(read_events(controller.path / "events.jsonl"))
    assert [(run.state, run.cleanup.doubts) for run in state.runs.values()] == [
        (RunState.CANCELLED, ())
    ]
    bench.nothing_is_left()


async def test_the_operator_may_vouch_for_it_that_nothing_is_left(
    bench: Bench, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    process = bench.spawn(
        "run", *bench.steady_words("1n1g", lines=3, after=HIDE.format(pid=pid, wait=0))
    )
    _, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == 0, err
    [run] = fold(read_events(bench.campaign / "events.jsonl")).runs.values()
    assert run.cleanup.doubts
    assert (await told(bench, "sweep", "--yes"))[0] == 1
    code, text = await told(bench, "sweep", "--yes", "--verified", run.run_id)
    assert code == 0, text
    [run] = fold(read_events(bench.campaign / "events.jsonl")).runs.values()
    assert not run.cleanup.doubts
    bench.nothing_is_left()
