"""Campaigns on this machine alone: what runs, fails, is cancelled, retried, resumed, watched."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from backends import campaign_start
from backends.campaign import controller as controller_module
from backends.campaign.plan.does_not_fit import NOT_RUN
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.cleanup_doubts import Why
from backends.campaign.record.codec import encode
from backends.campaign.record.journal import FILE_NAME, read_events
from backends.campaign.record.lock import CampaignLockedError, Role
from backends.campaign.record.run_view import TAKEN_UP
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.campaign.run import end_reason, supervisor
from backends.campaign.run.stall import StallWatch
from backends.hosts.host_facts import Sought
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run, read_json, until_running
from tests.support.processes import kill
from tests.support.waiting import until


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


async def test_a_campaign_measures_and_leaves_nothing(bench: Bench) -> None:
    controller = await bench.start(repeats=2)
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == [RunState.SUCCEEDED] * 2
    assert all(run.throughput == pytest.approx(110.5) for run in state.runs.values())
    assert bench.logs_are_exact(state, controller.path) == 2
    lines = (controller.path / FILE_NAME).read_bytes().splitlines()
    told = [json.loads(line) for line in lines]
    took = [[e["ran_s"] for e in told if e["kind"] == kind] for kind in ("RunOver", "RunSucceeded")]
    assert took[0] == took[1]
    assert all(took[0])
    for name in ("campaign.toml", "environment.json", "results.csv", "results.json", "report.md"):
        assert (controller.path / name).stat().st_size > 0
    assert not (controller.path / "writer.lock").exists()
    bench.nothing_is_left()


async def test_who_waits_for_a_campaign_may_go_and_it_goes_on(bench: Bench) -> None:
    controller = await bench.start(lines=40)
    await until_running(controller)
    waiting = asyncio.create_task(controller.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == [RunState.SUCCEEDED]
    kinds = [json.loads(line)["kind"] for line in (controller.path / FILE_NAME).open()]
    assert kinds.count("WriterChanged") == 1, "nobody let go of it"


async def test_software_that_another_plan_was_looked_at_for_is_none_of_a_campaigns(
    bench: Bench,
) -> None:
    workspace = bench.workspace()
    await workspace.cluster.probe(sought=[Sought("python", "torchrun", "torchrun")])
    controller = await bench.start(workspace=workspace)
    await finish(controller)
    for name in ("environment.json", "report.md"):
        assert "torchrun" not in (controller.path / name).read_text()


async def test_a_command_that_does_not_exist_is_named(bench: Bench) -> None:
    bench.profile(name="absent", command='"no-such-program {{copies}}"')
    run = only_run(await finish(await bench.start(profile="absent")))
    assert run.state is RunState.FAILED
    assert run.exit_status == 127
    assert "not found" in run.reason
    assert any("no-such-program" in line for line in run.evidence)
    assert run.cleanup.verified
    bench.nothing_is_left()


async def test_a_log_without_readings_says_so_and_shows_its_end(bench: Bench) -> None:
    run = only_run(await finish(await bench.start(lines=0)))
    assert run.state is RunState.FAILED
    assert "no reading" in run.reason or "reading" in run.reason
    assert run.evidence
    assert run.throughput is None
    bench.nothing_is_left()


async def test_out_of_memory_is_named_and_never_tried_again(bench: Bench) -> None:
    after = "print('RuntimeError: CUDA out of memory. Tried to allocate 2 GiB');sys.exit(1)"
    state = await finish(await bench.start(lines=2, after=after))
    run = only_run(state)
    assert (run.reason, run.category) == ("out of GPU memory", "named")
    assert run.evidence[-1].startswith("end without a newlineRuntimeError: CUDA out of memory")


async def test_repeats_of_what_does_not_fit_are_not_run_one_after_another(bench: Bench) -> None:
    after = "print('RuntimeError: CUDA out of memory. Tried to allocate 2 GiB');sys.exit(1)"
    state = await finish(await bench.start(lines=2, every=0, repeats=5, after=after))
    runs = list(state.runs.values())
    assert [run.reason for run in runs] == ["out of GPU memory"] * 2 + [NOT_RUN] * 3
    assert all(run.started_at is None for run in runs[2:])
    assert state.finished
    document = json.loads((bench.campaign / "results.json").read_text())
    assert [one["stopped"] for one in document["results"]] == ["failing"]
    bench.nothing_is_left()


@pytest.mark.parametrize("left", [False, True])
async def test_cases_that_are_added_are_measured_in_the_same_campaign(
    bench: Bench, left: bool
) -> None:
    """Also by the console that goes on with it after this one."""
    workspace = bench.workspace()
    controller = await bench.start("1n1g", workspace=workspace, lines=40)
    await until_running(controller)
    values = {"copies": (str(bench.copies),), "lines": ("40",)}
    more = Selection(("steady",), ("1n1g", "1n2g"), values, 2)
    plan = workspace.plan(more)
    assert controller.why_not_added(plan) == ""
    other = workspace.plan(replace(more, values={**values, "lines": ("41",)}))
    assert controller.why_not_added(other) == "it has steady with other settings"
    assert controller.add(plan) == 2
    assert controller.why_not_added(plan).startswith("it has these cases")
    if left:
        await controller.detach()
        controller = await bench.workspace().resume(controller.path)
    state = await finish(controller)
    told = sorted((run.case.tag, run.repeat) for run in state.runs.values())
    assert told == [("1n1g", 1), ("1n2g", 1), ("1n2g", 2)]
    assert {run.state for run in state.runs.values()} == {RunState.SUCCEEDED}
    assert bench.logs_are_exact(state, controller.path) == 3
    document = json.loads((bench.campaign / "results.json").read_text())
    told = sorted((one["case"], one["repeats"]) for one in document["results"])
    assert told == [("1n1g", 1), ("1n2g", 2)]
    assert fold(read_events(controller.path / FILE_NAME)).runs.keys() == state.runs.keys()
    bench.nothing_is_left()


async def test_a_port_in_use_is_tried_again_at_once_on_another_port(bench: Bench) -> None:
    bench.profile(
        name="port",
        command='"{python} steady.py {lines} {every} {copies} {after} port={master_port}"'.replace(
            "{python}", os.environ.get("PYTHON", "python3")
        ),
    )
    after = (
        "import os;first=os.environ['DLPERF_RUN_ID'].endswith('-a1');"
        "print('RuntimeError: Address already in use') if first else None;sys.exit(first)#"
    )
    controller = await bench.start(profile="port", lines=3, after=after)
    state = await finish(controller)
    first, second = state.runs.values()
    assert (first.state, first.reason) == (RunState.FAILED, "port in use")
    assert (second.state, second.attempt) == (RunState.SUCCEEDED, 2)
    assert first.port
    assert first.port != second.port
    assert len(state.latest_attempts()) == 1
    bench.nothing_is_left()


def test_an_operator_may_forbid_further_attempts(bench: Bench) -> None:
    after = "print('RuntimeError: Address already in use');sys.exit(1)"
    words = bench.steady_words("1n1g", lines=3, after=after)
    process = bench.spawn("run", *words, "--attempts", "1", "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    [run] = read_json(out)["runs"]  # type: ignore[misc]
    assert run["reason"] == "port in use"  # type: ignore[index]
    bench.nothing_is_left()


async def test_a_run_that_says_nothing_is_diagnosed_and_ended(bench: Bench) -> None:
    bench.profile(name="quiet", stall_timeout='"1s"')
    controller = await bench.start(profile="quiet", lines=3, after="time.sleep(600)")
    run = only_run(await finish(controller))
    assert run.state is RunState.FAILED
    assert re.fullmatch(r"stalled at step 2: no reading for \d+s", run.reason)
    assert run.cleanup.verified
    diagnosis = (controller.path / run.log).with_suffix(".diagnosis.txt").read_text()
    assert "steady.py" in diagnosis
    bench.nothing_is_left()


async def test_a_run_that_takes_too_long_is_ended(bench: Bench) -> None:
    bench.profile(name="long", timeout='"1s"')
    run = only_run(await finish(await bench.start(profile="long", lines=500)))
    assert (run.state, run.reason) == (RunState.FAILED, "timed out after 1s")
    bench.nothing_is_left()


async def test_a_launch_variants_limits_count(bench: Bench) -> None:
    bench.profile(name="varied", launch='[[launch.variant]]\nwhen = "gpus == 1"\ntimeout = "1s"\n')
    run = only_run(await finish(await bench.start(profile="varied", lines=500)))
    assert run.reason == "timed out after 1s"


async def test_one_run_is_cancelled_and_the_others_go_on(bench: Bench) -> None:
    controller = await bench.start(repeats=3, lines=30)
    await until_running(controller)
    running, planned, third = controller.state.runs
    controller.cancel_run(running)
    controller.cancel_run(planned)
    controller.cancel_run("no-such-run")
    state = await finish(controller)
    assert [state.runs[r].state for r in (running, planned, third)] == [
        RunState.CANCELLED,
        RunState.CANCELLED,
        RunState.SUCCEEDED,
    ]
    assert state.runs[running].cleanup.verified
    assert state.runs[running].reason == f"cancelled by {getpass.getuser()}"
    bench.nothing_is_left()


async def test_who_asked_a_keeper_for_the_end_of_a_run_is_who_cancelled_it(bench: Bench) -> None:
    controller = await bench.start(lines=1000)
    await until_running(controller)
    run_id = only_run(controller.state).run_id
    wish = ev.RequestTaken(t=1.0, request="q", verb="cancel", by="ann", run_ids=(run_id,))
    controller.note(wish)
    controller.cancel_run(run_id)
    assert only_run(await finish(controller)).reason == "cancelled by ann"


async def test_all_are_cancelled_at_any_moment_of_starting(bench: Bench) -> None:
    for readings in (None, None, 0, 2):
        controller = await bench.start(repeats=3, lines=1000)
        if readings is not None:
            await until_running(controller, readings=readings)
        controller.cancel_all()
        state = await finish(controller)
        assert {run.state for run in state.runs.values()} == {RunState.CANCELLED}
        bench.nothing_is_left()


async def test_a_run_is_cancelled_while_it_starts(bench: Bench) -> None:
    controller = await bench.start(lines=1000)
    await until(lambda: only_run(controller.state).state is RunState.STARTING)
    controller.cancel_all()
    assert only_run(await finish(controller)).state is RunState.CANCELLED
    bench.nothing_is_left()


async def test_a_failed_run_is_retried_after_the_campaign_has_finished(bench: Bench) -> None:
    controller = await bench.start(lines=3, after="sys.exit(3)")
    run = only_run(await finish(controller))
    assert run.reason.endswith("exit status 3")
    assert controller.finished
    controller.retry(run.run_id)
    controller.retry(run.run_id)
    state = await finish(controller)
    assert [r.attempt for r in state.runs.values()] == [1, 2]
    assert len(state.latest_attempts()) == 1
    bench.nothing_is_left()


async def test_a_retry_that_a_killed_console_had_no_time_to_plan_is_planned_on_resume(
    bench: Bench,
) -> None:
    after = (
        "first=os.environ['DLPERF_RUN_ID'].endswith('-a1');"
        "print('RuntimeError: Address already in use') if first else None;sys.exit(first)"
    )
    controller = await bench.start(lines=3, after=after)
    await finish(controller)
    path = controller.path / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    failed = next(i for i, line in enumerate(lines) if b'"RunFailed"' in line)
    path.write_bytes(b"".join(lines[: failed + 1]))
    state = await finish(await bench.workspace().resume(controller.path))
    assert [run.state for run in state.runs.values()] == [RunState.FAILED, RunState.SUCCEEDED]


async def test_a_retry_asked_for_while_the_campaign_ends_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = await bench.start(lines=3, after="sys.exit(os.environ['DLPERF_RUN_ID'][-1]=='1')")
    rewrite = controller._rewrite_results

    async def late() -> None:
        await rewrite()
        controller.retry(next(iter(controller.state.runs)))

    monkeypatch.setattr(controller, "_rewrite_results", late)
    state = await finish(controller)
    assert [run.state for run in state.runs.values()] == [RunState.FAILED, RunState.SUCCEEDED]
    assert controller.finished


class SlowResults:
    """Writes results, and takes its time for the first ones: until others are begun, at most so
    long as those of a whole campaign take."""

    def __init__(self, rewrite: Callable[[CampaignState, Path], None]) -> None:
        self._rewrite = rewrite
        self._begun = 0
        self._second = threading.Event()
        self.at_once = 0
        self.most_at_once = 0
        self.written: list[CampaignState] = []

    def __call__(self, state: CampaignState, path: Path) -> None:
        self._begun += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if self._begun == 1:
            self._second.wait(1.5)
        else:
            self._second.set()
        self._rewrite(state, path)
        self.written.append(state)
        self.at_once -= 1


async def test_results_are_written_one_at_a_time_and_the_newest_last(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowResults(campaign_start.rewrite_results)
    monkeypatch.setattr(campaign_start, "rewrite_results", slow)
    monkeypatch.setattr(controller_module, "RESULTS_DELAY_S", 0.0)
    controller = await bench.start(repeats=2, lines=3, every=0.01)
    state = await finish(controller)
    assert (slow.at_once, slow.most_at_once) == (0, 1)
    assert slow.written[-1] == state
    assert state.finished
    report = (controller.path / "report.md").read_text()
    assert "Not ended yet" not in report
    results = read_json((controller.path / "results.json").read_bytes())
    assert [run["state"] for run in results["runs"]] == ["succeeded", "succeeded"]
    assert [path.name for path in controller.path.glob(".*.tmp")] == []
    assert not state.notes


async def test_who_lets_go_of_a_campaign_has_ended_writing_its_results(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowResults(campaign_start.rewrite_results)
    monkeypatch.setattr(campaign_start, "rewrite_results", slow)
    monkeypatch.setattr(controller_module, "RESULTS_DELAY_S", 0.0)
    controller = await bench.start(repeats=2, lines=60)
    await until(lambda: slow.at_once == 1)
    await controller.detach()
    assert slow.at_once == 0
    await finish(await bench.workspace().resume(controller.path))


async def test_detaching_and_coming_back_loses_and_doubles_nothing(bench: Bench) -> None:
    controller = await bench.start(repeats=2, lines=60)
    await until_running(controller, readings=5)
    await controller.detach()
    before = controller.state
    assert bench.workspace().campaigns()[0].state == "unfinished"
    again = await bench.workspace().resume(controller.path)
    state = await finish(again)
    assert list(state.runs) == list(before.runs)
    assert all(run.reading_count == 60 for run in state.runs.values())
    assert fold(read_events(controller.path / "events.jsonl")) == state
    assert bench.logs_are_exact(state, controller.path) == 2
    bench.nothing_is_left()


async def test_who_went_on_with_a_campaign_and_who_let_go_of_it_is_in_the_journal(
    bench: Bench,
) -> None:
    controller = await bench.start(lines=60)
    roles = [Role.CONSOLE, Role.KEEPER, Role.COMMAND]
    for role in roles[1:]:
        await until_running(controller, readings=1)
        await controller.detach()
        controller = await bench.workspace(role=role).resume(controller.path)
    state = await finish(controller)
    told = [(role, left) for role in roles for left in (False, True)]
    assert [(w.role, w.left) for w in state.writers] == told[:-1], "at its end nobody lets go of it"
    me = getpass.getuser(), socket.gethostname(), os.getpid()
    assert {(w.user, w.host, w.pid) for w in state.writers} == {me}
    controller.repeat(1)
    assert (await finish(controller)).writers == state.writers, "who has it still does not come"
    assert fold(read_events(controller.path / FILE_NAME)).writers == state.writers


async def test_a_run_that_was_followed_hours_ago_is_not_taken_for_stalled(bench: Bench) -> None:
    """The last reading is older than the stall limit when a console comes back."""
    bench.profile(name="patient", stall_timeout='"2s"')
    controller = await bench.start(profile="patient", lines=60, every=0.1)
    await until_running(controller, readings=2)
    await controller.detach()
    await asyncio.sleep(2.5)
    again = await bench.workspace().resume(controller.path)
    shown = again.snapshot
    assert [run.doing for run in shown().runs] == [TAKEN_UP], "its host was not asked yet"
    await until(lambda: shown().runs[0].doing != TAKEN_UP)
    assert not only_run(shown().state).state.ended, "said only until the host has told of it"
    state = await finish(again)
    assert only_run(state).state is RunState.SUCCEEDED


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of silence that count of the time before a console took over."""
    found: list[float] = []
    was_quiet = StallWatch.was_quiet

    def told(watch: StallWatch, seconds: float) -> None:
        found.append(seconds)
        was_quiet(watch, seconds)

    monkeypatch.setattr(StallWatch, "was_quiet", told)
    return found


async def left_two_hours_ago(bench: Bench) -> tuple[Path, Path]:
    """A campaign whose run is silent since, of a profile that bears an hour; and the host's log."""
    bench.profile(name="silent", stall_timeout='"1h"', timeout='"9h"', expected='"9h"')
    then = bench.workspace(clock=lambda: time.time() - 7200.0)
    controller = await bench.start(
        profile="silent", workspace=then, lines=3, after="time.sleep(6000)"
    )
    await until_running(controller, readings=3)
    await controller.detach()
    [log] = Path(bench.hosts[0].work_dir).glob("runs/*/output.log")
    return controller.path, log


async def test_what_ended_while_nobody_watched_is_never_said_to_be_silent(bench: Bench) -> None:
    then = bench.workspace(clock=lambda: time.time() - 7200.0)
    controller = await bench.start(workspace=then, lines=40, every=0.05)
    await until_running(controller, readings=5)
    await controller.detach()
    [log] = Path(bench.hosts[0].work_dir).glob("runs/*/output.log")
    await until(lambda: log.read_bytes().count(b"iter ") == 40)
    again = await bench.workspace().resume(controller.path)
    ending = asyncio.create_task(finish(again))
    while not ending.done():
        [run] = again.snapshot().runs
        assert run.silent_s is None
        assert "no reading for" not in run.state_text
        await asyncio.sleep(0)
    assert only_run(ending.result()).reading_count == 40


async def test_a_reading_that_came_while_nobody_watched_begins_the_silence_anew(
    bench: Bench, counted: list[float]
) -> None:
    path, log = await left_two_hours_ago(bench)
    with log.open("ab") as file:
        file.write(b"\niter 3, loss: 1.0, samples/s: 100.5\n")
    os.utime(log, (time.time() - 7000.0,) * 2)
    controller = await bench.workspace().resume(path)
    await until(lambda: only_run(controller.state).reading_count == 4)
    await until(lambda: controller.snapshot().runs[0].doing != TAKEN_UP)
    assert counted == []
    assert only_run(controller.state).state is RunState.RUNNING
    controller.cancel_all()
    await finish(controller)


@pytest.mark.parametrize("quiet_s", [0.0, 1800.0, 7000.0])
async def test_silence_before_a_console_took_over_counts_where_the_log_has_not_grown(
    bench: Bench, counted: list[float], quiet_s: float
) -> None:
    """The last reading came two hours ago; the host's log was last written to ``quiet_s`` ago."""
    path, log = await left_two_hours_ago(bench)
    os.utime(log, (time.time() - quiet_s,) * 2)
    between = bench.workspace(clock=lambda: time.time() - 5400.0)
    again = await between.resume(path)
    await until(lambda: counted)
    assert counted.pop() <= 1800.0 + 60.0, "no longer than since the last reading"
    await again.detach()
    counted.clear()
    last = await bench.workspace().resume(path)
    if quiet_s > 3600.0:
        state = await finish(last)
        assert re.fullmatch(r"stalled at step 2: no reading for 2h0\dm", only_run(state).reason)
        bench.nothing_is_left()
        return
    await until(lambda: counted)
    [shown] = last.snapshot().runs
    assert shown.silent_s == pytest.approx(7200.0, abs=120.0)
    assert counted == [pytest.approx(quiet_s, abs=60.0)]
    if quiet_s:
        assert shown.given_up_in_s == pytest.approx(3600.0 - quiet_s, abs=60.0)
        with log.open("ab") as file:
            file.write(b"\niter 3, loss: 1.0, samples/s: 100.5\n")
        await until(lambda: only_run(last.state).reading_count == 4)
        [shown] = last.snapshot().runs
        assert (shown.silent_s, shown.given_up_in_s) == (None, None)
    last.cancel_all()
    await finish(last)


async def test_what_ended_while_nobody_looked_is_collected(bench: Bench) -> None:
    controller = await bench.start(lines=10)
    await until_running(controller)
    await controller.detach()
    work = Path(bench.hosts[0].work_dir)
    await until(lambda: list(work.glob("runs/*/exit")))
    state = await finish(await bench.workspace().resume(controller.path))
    assert only_run(state).state is RunState.SUCCEEDED
    assert bench.logs_are_exact(state, controller.path) == 1
    bench.nothing_is_left()


@pytest.mark.parametrize("ended", [False, True])
async def test_a_host_that_was_lost_when_nobody_looked_any_more_is_heard_from_again(
    bench: Bench, ended: bool
) -> None:
    """Whoever was at work was killed during an outage; it is over when the campaign is resumed."""
    controller = await bench.start(lines=10 if ended else 60, every=0.1)
    await until_running(controller)
    await controller.detach()
    run, host = only_run(controller.state), bench.hosts[0].name
    lost = ev.ContactChanged(t=time.time(), run_id=run.run_id, host=host, lost=True, reason="cut")
    with (controller.path / journal.FILE_NAME).open("ab") as file:
        file.write(encode(lost))
    if ended:
        await until(lambda: list(Path(bench.hosts[0].work_dir).glob("runs/*/exit")))
    again = await bench.workspace().resume(controller.path)
    await until(lambda: not only_run(again.state).lost_hosts)
    assert only_run(again.state).state.ended <= ended
    state = await finish(again)
    ((_, level, said),) = state.notes_of_outages
    assert level == "info"
    assert " went on, and succeeded; from " in said
    assert ", heard from again by " in said
    assert said.endswith(", its run having ended by then") is ended


async def test_time_in_which_nobody_looked_is_no_time_of_the_run(bench: Bench) -> None:
    controller = await bench.start(lines=20, every=0.1)
    await until_running(controller, readings=3)
    await controller.detach()
    work = Path(bench.hosts[0].work_dir)
    await until(lambda: list(work.glob("runs/*/exit")))
    again = await bench.workspace(lambda: time.time() + 3600).resume(controller.path)
    await finish(again)
    snapshot = again.snapshot()
    took = snapshot.runs[0].elapsed_s
    assert took is not None
    assert 1.8 < took < 30
    [series] = snapshot.series
    assert max(seconds for seconds, _ in series.points) <= took


async def test_files_of_a_run_that_an_earlier_console_could_not_remove_are_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: object) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr("backends.campaign.run.cleanup.tidy_up", killed)
        controller = await bench.start()
        await finish(controller)
    assert list(Path(bench.hosts[0].work_dir).glob("runs/*"))
    await finish(await bench.workspace().resume(controller.path))
    bench.nothing_is_left()


async def test_a_log_that_was_damaged_on_disk_is_fetched_again(bench: Bench) -> None:
    controller = await bench.start(lines=60)
    await until_running(controller, readings=5)
    await controller.detach()
    log = controller.path / only_run(controller.state).log
    held = bytearray(log.read_bytes())
    held[20:40] = bytes(20)  # as a file system may leave it after the power failed
    log.write_bytes(held)
    again = await bench.workspace().resume(controller.path)
    state = await finish(again)
    assert only_run(state).state is RunState.SUCCEEDED
    assert any("fetched again" in text for _, _, text in state.notes)
    assert bench.logs_are_exact(state, controller.path) == 1


async def test_others_follow_a_live_campaign_read_only(bench: Bench) -> None:
    controller = await bench.start(lines=100)
    other = bench.workspace()
    with pytest.raises(CampaignLockedError):
        await other.resume(controller.path)
    await until(lambda: other.load(controller.path).runs[0].readings > 0)
    seen = other.load(controller.path)
    assert seen.read_only
    assert seen.active == 1
    assert other.campaigns()[0].state == "live"
    controller.cancel_all()
    await finish(controller)
    assert other.load(controller.path).finished
    assert other.campaigns()[0].state == "finished"


async def test_two_consoles_share_a_host_one_after_the_other(bench: Bench) -> None:
    first = await bench.start(lines=100_000)  # until it is cancelled below
    await until_running(first)
    second = await bench.start(lines=5)
    await until(lambda: ", since " in second.snapshot().runs[0].state_text, what="waiting")
    first.cancel_all()
    ran = only_run(await finish(first))
    state = await finish(second)
    assert only_run(state).state is RunState.SUCCEEDED
    assert ran.ended_at is not None
    assert (only_run(state).started_at or 0) >= ran.ended_at - 1.0
    bench.nothing_is_left()


async def test_a_mistake_in_one_run_does_not_end_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = await bench.start(repeats=2, lines=20)

    whole = supervisor.RunSupervisor._finish_measured

    async def broken(self: supervisor.RunSupervisor, ended: end_reason.Ended) -> None:
        if "-0001-" in self.run.run_id:
            raise ZeroDivisionError("a mistake")
        await whole(self, ended)

    monkeypatch.setattr(supervisor.RunSupervisor, "_finish_measured", broken)
    state = await finish(controller)
    first, second = state.runs.values()
    assert "internal error: ZeroDivisionError" in first.reason
    assert second.state is RunState.SUCCEEDED
    bench.nothing_is_left()


async def test_a_killed_supervisor_is_unverified_and_says_how_to_look(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(end_reason._RETRY_DELAYS, "later", None)
    controller = await bench.start(lines=600)
    await until_running(controller)
    [record] = Path(bench.hosts[0].work_dir).glob("runs/*/supervisor")
    kill(int(record.read_text().split()[0]))
    state = await finish(controller)
    run = only_run(state)
    assert run.reason == f"{bench.hosts[0].name}: its supervisor was killed"
    assert [doubt.why for doubt in run.cleanup.doubts] == [Why.KILLED]
    assert any("dlperf-tui sweep" in text for _, _, text in state.notes)
    sweep = bench.spawn("sweep", "--yes")
    sweep.communicate(timeout=60)
    bench.nothing_is_left()


async def test_sweep_is_not_content_with_files_that_nobody_has_fetched(bench: Bench) -> None:
    console = bench.spawn("run", *bench.steady_words("1n1g", lines=20))
    work = Path(bench.hosts[0].work_dir)
    await until(lambda: any(work.glob("runs/*/supervisor")))
    kill(console.pid)
    console.wait()
    await until(lambda: any(work.glob("runs/*/exit")))
    for words, code, said in (
        ((), 1, "files of a run that has ended"),
        (("--yes",), 0, "1 of 1 ended and removed"),
        ((), 0, "nothing of ours is left"),
    ):
        sweep = bench.spawn("sweep", *words)
        out, err = sweep.communicate(timeout=60)
        assert (sweep.returncode, said in out) == (code, True), (words, out, err)
    bench.nothing_is_left()


@pytest.mark.parametrize("deaf", [False, True])
@pytest.mark.parametrize("place", ["known", "moved away"])
async def test_what_sweep_says_was_ended_is_gone_though_its_run_ended_well_long_ago(
    bench: Bench, tmp_path: Path, deaf: bool, place: str
) -> None:
    controller = await bench.start(lines=2)
    run = only_run(await finish(controller))
    assert run.cleanup.doubts == ()
    (host,) = run.hosts
    marker = {"DLPERF_RUN_ID": run.run_id, "DLPERF_HOST": host}
    script = "trap '' TERM; " * deaf + "sleep 600 & wait"
    left = subprocess.Popen(["sh", "-c", script], env={**os.environ, **marker})
    try:
        if place == "moved away":
            shutil.move(controller.path, tmp_path / "elsewhere")
        answers = []
        for words in (), ("--yes",), ():
            sweep = bench.spawn("sweep", *words)
            out, _ = await asyncio.to_thread(sweep.communicate, timeout=90)
            answers.append((sweep.returncode, out))
        assert "orphaned, " in answers[0][1]
        assert "1 of 1 ended and removed" in answers[1][1]
        assert answers[2] == (0, "nothing of ours is left\n")
        assert left.wait(10) != 0
    finally:
        left.kill()
        left.wait()


@pytest.mark.parametrize("console", ["the same", "the next"])
async def test_a_retry_waits_its_delay_and_no_longer_wherever_the_clock_is_set(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, console: str
) -> None:
    monkeypatch.setitem(end_reason._RETRY_DELAYS, "later", 3.0)
    offset_s = 0.0

    def calendar() -> float:
        return time.time() + offset_s

    once = "import os;os.environ['DLPERF_RUN_ID'].endswith('-a1') and os.kill(os.getpid(), 9)"
    controller = await bench.start(lines=3, after=once, workspace=bench.workspace(calendar))
    await until(lambda: len(controller.state.runs) == 2)
    offset_s = -3600.0
    if console == "the next":
        await controller.detach()
        controller = await bench.workspace(calendar).resume(controller.path)
    began = time.monotonic()
    state = await finish(controller)
    assert time.monotonic() - began > 1.0
    assert [run.state for run in state.runs.values()] == [RunState.FAILED, RunState.SUCCEEDED]


def test_what_preflight_stops_starts_nothing_unless_forced_and_then_the_report_says_so(
    bench: Bench,
) -> None:
    needs = '[settings.data]\ndescription = "data"\ndefault = "/no/such"\ncheck = "directory"\n'
    text = (bench.profiles / "steady.toml").read_text().replace("[matrix]", f"{needs}[matrix]")
    (bench.profiles / "steady.toml").write_text(text)
    words = bench.steady_words("1n1g", lines=5)
    stopped = bench.spawn("run", *words)
    _, err = stopped.communicate(timeout=60)
    assert stopped.returncode == 2
    assert "/no/such" in err.splitlines()[-1]
    assert not bench.campaigns.exists()
    forced = bench.spawn("run", *words, "--force")
    _, err = forced.communicate(timeout=60)
    assert forced.returncode == 0, err
    report = (bench.campaign / "report.md").read_text()
    assert "It was forced" in report
    assert "/no/such" in report
    assert "forced = true" in (bench.campaign / "campaign.toml").read_text()
