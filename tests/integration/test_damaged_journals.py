"""Lines of a journal that are lost: nothing is executed twice for it, and no figure changes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.codec import encode
from backends.campaign.record.events import RunFailed
from backends.campaign.record.state import CampaignState, RunState
from backends.campaign.run.recovery import MEASURED_AGAIN
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, kill_hard, sha256
from tests.support.sshd import SshHosts
from tests.support.waiting import until

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "gone": lambda line: b"",
    "torn": lambda line: line[: len(line) // 2] + b"\n",
    "nested": lambda line: b"[" * 100_000 + b"\n",
}


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def executions(bench: Bench) -> dict[str, str]:
    """What every run ever printed, by run and host: an execution more would add to it."""
    return {path.name: sha256(path) for path in bench.copies.iterdir()}


def figures(state: CampaignState) -> dict[str, tuple[str, float | None]]:
    return {run_id: (str(run.state), run.throughput) for run_id, run in state.runs.items()}


@pytest.mark.parametrize(
    ("damage", "results"),
    [
        ("gone", False),
        ("nested", True),
        pytest.param("gone", True, marks=pytest.mark.faults),
        pytest.param("torn", False, marks=pytest.mark.faults),
    ],
)
async def test_any_line_of_a_finished_campaign_may_be_lost(
    bench: Bench, damage: str, results: bool
) -> None:
    after = "first=os.environ['DLPERF_RUN_ID'].endswith('-0001-a1');"
    after += "print('RuntimeError: Address already in use') if first else None;sys.exit(first)"
    controller = await bench.start(repeats=2, lines=3, every=0, after=after)
    whole = figures(await finish(controller))
    assert sorted(state for state, _ in whole.values()) == ["failed", "succeeded", "succeeded"]
    before = executions(bench)
    journal = controller.path / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    for number in range(1, len(lines)):
        kind = json.loads(lines[number])["kind"]
        journal.write_bytes(
            b"".join([*lines[:number], DAMAGES[damage](lines[number]), *lines[number + 1 :]])
        )
        if not results:
            (controller.path / "results.json").unlink()
        state = await finish(await bench.workspace().resume(controller.path))
        assert executions(bench) == before, kind
        assert figures(state) == whole, kind
        assert state.finished
        again = read_campaign(controller.path)
        assert figures(again) == whole, f"{kind}, read again"


async def test_a_lost_success_is_measured_again_and_says_so(bench: Bench) -> None:
    controller = await bench.start(lines=60, every=0)  # enough to tell whether it was steady
    [before] = (await finish(controller)).runs.values()
    assert before.steady is not None
    journal = controller.path / "events.jsonl"
    text = journal.read_text()
    journal.write_text(text.replace('{"kind":"RunSucceeded"', '{"kind":"RunSucceede?"'))
    [run] = (await finish(await bench.workspace().resume(controller.path))).runs.values()
    assert (run.throughput, run.used) == (before.throughput, before.used)
    assert run.steady == before.steady
    assert run.warnings == (*before.warnings, MEASURED_AGAIN)
    assert run.ended_at == pytest.approx(before.ended_at, abs=2)
    assert MEASURED_AGAIN in (controller.path / "report.md").read_text()


async def test_whoever_reads_a_finished_campaign_has_a_lost_end_measured_again(
    bench: Bench,
) -> None:
    controller = await bench.start(repeats=3, lines=5, every=0)
    whole = figures(await finish(controller))
    journal = controller.path / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    second = [n for n, line in enumerate(lines) if b'"RunSucceeded"' in line][1]
    lines[second] = lines[second][:-30] + b"\n"
    journal.write_bytes(b"".join(lines))
    before = {path: path.read_bytes() for path in controller.path.rglob("*") if path.is_file()}
    workspace = bench.workspace()
    assert figures(workspace.state(controller.path)) == whole
    shown = workspace.load(controller.path)
    assert shown.finished
    assert [run.state for run in shown.runs] == ["succeeded"] * 3
    [listed] = workspace.campaigns()
    assert (listed.state, listed.done, listed.failed, listed.total) == ("finished", 3, 0, 3)
    assert len([run for run in workspace.runs(controller.path) if run.throughput]) == 3
    assert before == {p: p.read_bytes() for p in controller.path.rglob("*") if p.is_file()}
    [lost] = read_campaign(controller.path).lost_ends
    (controller.path / read_campaign(controller.path).runs[lost].log).unlink()
    gone = bench.workspace().load(controller.path)
    assert gone.finished
    assert [(listed.state, listed.failed) for listed in workspace.campaigns()] == [("finished", 1)]
    assert [run.run_id for run in gone.runs if run.state != "succeeded"] == [lost]
    [failed] = [run for run in gone.runs if run.run_id == lost]
    assert failed.state == "failed"
    assert "journal" in failed.reason


async def test_a_lost_success_that_nothing_else_tells_of_is_measured_from_the_log(
    bench: Bench,
) -> None:
    """The console was killed before it wrote results, and the host has removed the run."""
    words = [*bench.steady_words("1n1g", lines=40), "--repeats", "2"]
    console = bench.spawn("run", *words)

    def second_has_begun() -> bool:
        assert console.poll() is None, console.communicate()
        found = list(bench.campaigns.glob("*/events.jsonl"))
        return bool(found) and found[0].read_bytes().count(b'"RunLaunched"') == 2

    await until(second_has_begun)
    kill_hard(console)
    path = bench.campaign
    (path / "results.json").unlink(missing_ok=True)
    journal = path / "events.jsonl"
    journal.write_text(journal.read_text().replace('"kind":"RunSucceeded"', '"kind":"RunS"'))
    resumed = bench.spawn("resume", path.name, "--json")
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    assert [run["throughput"] for run in json.loads(out)["runs"]] == [120.5, 120.5]
    assert bench.logs_are_exact(read_campaign(path), path) == 2
    bench.nothing_is_left()


async def test_planned_runs_that_are_lost_are_planned_again_with_their_ids(bench: Bench) -> None:
    """Torn at the first write: the journal holds the beginning, and one run of three."""
    console = bench.spawn("run", *bench.steady_words("1n1g", lines=40), "--repeats", "3")
    await until(lambda: list(bench.campaigns.glob("*/events.jsonl")))
    await until(lambda: read_whole(bench, console))
    kill_hard(console)
    path = bench.campaign
    journal = path / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"repeat":2' not in line and b'"repeat":3' not in line]
    assert len(kept) == len(lines) - 2
    journal.write_bytes(b"".join(kept) + b'{"kind":"RunPl')
    planned = [json.loads(line)["run_id"] for line in lines if b'"RunPlanned"' in line]
    resumed = bench.spawn("resume", path.name)
    _, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    state = read_campaign(path)
    assert list(state.runs) == planned
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(state, path) == 3
    assert journal.read_bytes().count(b'"RunPlanned"') == 3
    bench.nothing_is_left()


def read_whole(bench: Bench, console: subprocess.Popen[str]) -> bool:
    assert console.poll() is None, console.communicate()
    return b'"RunAssigned"' in (bench.campaign / "events.jsonl").read_bytes()


async def test_a_run_whose_place_is_lost_is_followed_where_it_is(
    tmp_path: Path, ssh_hosts: SshHosts
) -> None:
    """And not started once more on the host that has nothing else to do."""
    ssh_hosts(2)
    bench = Bench(tmp_path, ssh_hosts.hosts())
    first = "os.environ['DLPERF_RUN_ID'].endswith('-0001-a1')"
    words = bench.steady_words("1n1g", lines=3, after=f"time.sleep(0 if {first} else 10)")
    console = bench.spawn("run", *words, "--repeats", "2")
    await until(lambda: launched(bench) == 2 and len(list(bench.copies.iterdir())) == 2)
    kill_hard(console)
    [second] = [path.name for path in bench.copies.iterdir() if "-0002-a1." in path.name]
    lose(bench, second.partition(".")[0])
    resumed = bench.spawn("resume", bench.campaign.name, "--json")
    _, err = resumed.communicate(timeout=90)
    assert resumed.returncode == 0, err
    state = read_campaign(bench.campaign)
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert [f"{id_}.{run.hosts[0]}" for id_, run in state.runs.items()][1] == second
    assert len(executions(bench)) == 2
    assert bench.logs_are_exact(state, bench.campaign) == 2
    bench.nothing_is_left()


async def test_what_an_ended_run_left_is_swept_although_its_place_is_lost(bench: Bench) -> None:
    """Its log has no name of its own any more, and is kept nevertheless."""
    console = bench.spawn("run", *bench.steady_words("1n1g", lines=200, every=0.02))
    await until(lambda: launched(bench) == 1 and list(bench.copies.iterdir()))
    kill_hard(console)
    [copy] = bench.copies.iterdir()
    run_id, _, host = copy.name.partition(".")
    lose(bench, run_id)
    with (bench.campaign / "events.jsonl").open("ab") as journal:
        journal.write(encode(RunFailed(t=1.0, run_id=run_id, reason="killed before it tidied up")))
    swept = bench.spawn("sweep", "--yes")
    out, err = swept.communicate(timeout=60)
    assert swept.returncode == 0, out + err
    assert (bench.campaign / f"logs/{copy.name}.log").read_bytes() == copy.read_bytes()
    assert host in out
    bench.nothing_is_left()


def launched(bench: Bench) -> int:
    """How many runs of its only campaign have been started on their hosts."""
    found = list(bench.campaigns.glob("*/events.jsonl"))
    return found[0].read_bytes().count(b'"RunLaunched"') if found else 0


def lose(bench: Bench, run_id: str) -> None:
    """The lines of the journal that say where a run went."""
    journal = bench.campaign / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    places = (b'"RunAssigned"', b'"RunLaunched"')
    journal.write_bytes(
        b"".join(
            b"?\n" if run_id.encode() in line and any(place in line for place in places) else line
            for line in lines
        )
    )
