"""Everything about one run, wherever it is looked at from: devices, environment, what it did."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.run_results import run_result
from backends.campaign.record.run_view import chart_series
from backends.campaign.record.run_window import run_window
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.engines.engine import Waiting, WaitKind
from backends.hangs.diagnosis import Diagnosis, Finding, Sign, Suspect
from backends.hangs.remedy_words import remedy_line
from backends.hangs.slow_rank import SlowRank
from backends.hangs.slow_rank_words import slow_rank_line
from backends.hosts.environment import environment_document
from backends.hosts.telemetry_summary import GpuUse, HostUse, Telemetry
from profiles.counted import counted
from profiles.throughput.steady import Disturbance, Shape
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    tick,
    until,
)
from tests.console.fakes import START, FakeController, FakeWorkspace, facts, known_host
from tests.console.test_runs import open_runs, pass_time
from tests.console.test_telemetry_panel import gpu_lines, tell
from tests.unit.campaign.strategies import RUN_IDS, planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tests.unit.campaign.test_run_window import read_in
from tui.app import DlperfApp
from tui.cli.shared.campaign_rows import run_rows
from tui.cli.shared.print_table import Said
from tui.screens.run_details import NOT_THROTTLED, _host_words, _steps, details_text, verdict_of
from tui.screens.run_text import BEHIND_BAR, LEAST_BAR, PROGRESS, RunRows, summary
from tui.text import Hanging, named_rows
from tui.widgets.details import Details
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.throughput_plot import jitter_text, throughput_plot


def with_environment(controller: FakeController) -> None:
    hosts = [known_host(name, f"10.11.0.{n}", facts()) for n, name in enumerate(controller.hosts)]
    told = environment_document(hosts, version="1", recorded_at=START)
    controller.path.mkdir(parents=True, exist_ok=True)
    (controller.path / "environment.json").write_text(json.dumps(told))


def told_now(app: DlperfApp, details: Details) -> str:
    tick(app)
    return details.text


async def test_details_have_commands_devices_and_what_they_do_now_and_are_copied_whole(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace, ("1n8g", "2n8g"))
        with_environment(controller)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        tell(controller, "node1", gpu_lines(range(8), 20))
        await until(pilot, lambda: page.panels.meters.known)
        for _ in range(4):
            if not page.panels.details.display:
                await pilot.press("v")
                await pilot.pause()
        details = page.panels.details
        await until(pilot, lambda: "driver" in told_now(app, details))
        text = page.panels.details.text
        assert "now          util 96%, power 294W" in text
        assert "driver 440.33.01, CUDA 10.2, Ubuntu 18.04.4 LTS" in text
        assert "python3 of_cnn_train_val.py --num_nodes=1" in text
        assert "warm-up      1 reading left out" in text
        later = gpu_lines(range(8), 40).replace(", 96, 29", ", 55, 27")
        tell(controller, "node1", later)
        await until(pilot, lambda: "now          util 55%, power 274W" in told_now(app, details))
        text = details.text
        assert "GPU7" not in screen_text(app)
        await pilot.press("tab", "end")
        await until(pilot, partial(shows, app, "GPU7  GPU-7"))
        await pilot.press("y")
        assert app.clipboard == text


@pytest.mark.parametrize("memory", [14200, 15000])
def test_devices_telemetry_steadiness_and_attempts_before_are_told(
    tmp_path: Path, memory: int
) -> None:
    first, second = "r-0001-a1", "r-0001-a2"
    retry = replace(planned(second), attempt=2, retry_of=first)
    telemetry = Telemetry(
        gpus=tuple(
            GpuUse(
                "h1", gpu, 60.0, 98.0, 99.0, 290.0, 17400.0, 1500.0, 1530.0, 71.0, 14200.0,
                throttled_s={"power cap": 12.0} if gpu else {},
            )
            for gpu in (0, 1)
        ),
        hosts=(HostUse("h1", 48, 0.4, 0.2),),
    )  # fmt: skip
    told = [
        planned(first),
        assigned(first),
        ev.RunFailed(t=20.0, run_id=first, reason="NCCL error"),
        retry,
        replace(assigned(second), hosts=("h1",), devices={"h1": (0, 1)}),
        replace(
            succeeded(second),
            telemetry=telemetry,
            gpu_memory_mib=memory,
            steady=(Disturbance(Shape.STEP, -0.2, 0.1, 30, step=300.0),),
        ),
    ]
    state = fold(told)
    view = next(v for v in take(state, tmp_path, now=90.0).runs if v.run_id == second)
    text = details_text(view, state, hosts={"h1": facts()}).plain
    for part in (
        "attempts     1. failed after",
        "NCCL error",
        "GPUs         98% busy, 290 W each, SM clock 1500 MHz",
        "▲ the speed changes by -20.0% at step 300",
        "h1  2 × Tesla V100-SXM2-16GB",
        "  GPU1  GPU-1  0000:01:00.0",
        "power cap 12s",
    ):
        assert part in text
    assert "GPU2" not in text, "which is not the run's"
    rows = [line for line in text.splitlines() if line.startswith("h1:")]
    assert [row.rpartition("  ")[2] for row in rows] == [NOT_THROTTLED, "power cap 12s"]
    assert ("14,200 MiB, the most seen in samples of the driver" in text) is (memory == 14200)
    assert f"{memory:,} MiB" in text
    assert re.search(r"util +power +clock +memory +hottest +throttled", text)
    unknown = details_text(view, state).plain
    assert "h1  devices 0-1" in unknown


@given(st.integers(1, 8), st.integers(8, 40))
def test_of_hosts_that_do_nearly_the_same_the_command_is_told_once(hosts: int, words: int) -> None:
    rest = " ".join(f"word{n}" for n in range(words))
    names = tuple(f"h{n}" for n in range(hosts))
    commands = tuple(f"run --rank {n} {rest}" for n in range(hosts))
    state = fold([planned("r-0001-a1"), assigned("r-0001-a1")])
    view = replace(take(state, Path("c"), now=9.0).runs[0], hosts=names, commands=commands)
    text = details_text(view, state).plain
    assert text.count(rest) == 1
    assert text.count("as above with --rank ") == hosts - 1
    assert all(f"--rank {n}" in text for n in range(hosts))
    unlike = replace(
        view, commands=tuple(f"{name} {rest} {name}" * n for n, name in enumerate(names, 1))
    )
    text = details_text(unlike, state).plain
    assert all(command in text for command in unlike.commands)


def test_that_hosts_settle_and_for_how_long_is_said_once() -> None:
    state = fold([planned(run_id) for run_id in RUN_IDS[:2]])
    waiting = {
        run_id: Waiting(WaitKind.SETTLING, expected_at=9.0 + later)
        for run_id, later in zip(RUN_IDS, (14.0, 30.0), strict=False)
    }
    viewed = take(state, Path("c"), now=9.0, waiting=waiting)
    assert [row.cells[PROGRESS].plain for row in RunRows()(viewed)] == ["settling"] * 2
    assert "settling, 14s more · " in summary(viewed).plain
    assert [run.state_text for run in viewed.runs] == ["settling, 14s more", "settling, 30s more"]


def test_hosts_of_a_run_and_of_its_attempts_before_stand_in_the_order_of_its_ranks(
    tmp_path: Path,
) -> None:
    first, second = "r-0001-a1", "r-0001-a2"
    told = [
        planned(first),
        replace(assigned(first), hosts=("vb", "va")),
        ev.RunFailed(t=20.0, run_id=first, reason="NCCL error"),
        replace(planned(second), attempt=2, retry_of=first),
        replace(assigned(second), hosts=("node2", "node1")),
    ]
    state = fold(told)
    view = next(v for v in take(state, tmp_path, now=90.0).runs if v.run_id == second)
    text = " ".join(details_text(view, state).plain.split())
    assert "hosts node2,node1 " in text
    assert " on vb,va" in text


def test_what_was_looked_for_and_not_found_is_said_in_words(tmp_path: Path) -> None:
    run = "r-0001-a1"
    software = "H100, driver 580; python: none; checkout changes: none; ECC: on"
    ended = replace(succeeded(run), fingerprint=software, cleanup=Cleanup(looked=True))
    state = fold([planned(run), assigned(run), ended])
    (view,) = take(state, tmp_path, now=90.0).runs
    text = " ".join(details_text(view, state).plain.split())
    assert "python: no framework is installed in it; checkout changes: none; ECC: on" in text
    assert "clean-up nothing of the run is left on its hosts" in text


@pytest.mark.parametrize("statistic", ["mean", "summary"])
def test_a_figure_that_the_log_sums_up_leaves_no_warm_up_out(statistic: str) -> None:
    state = fold(
        [
            planned("r-0001-a1"),
            assigned("r-0001-a1"),
            replace(succeeded("r-0001-a1"), statistic=statistic),
        ]
    )
    record = replace(state.runs["r-0001-a1"], warmup=10)
    assert (("warm-up", "10 readings left out") in _steps(record)) == (statistic == "mean")


@given(values=st.integers(1, 60), at_end=st.booleans(), ended=st.booleans())
@settings(deadline=None)
def test_why_no_jitter_of_a_run_at_work_is_told_is_that_its_last_readings_count(
    values: int, at_end: bool, ended: bool
) -> None:
    state = read_in([100.0] * values, at_end=at_end, warmup=0)
    if ended:
        state = fold([succeeded("r-0001-a1")], state)
    said = dict(_steps(state.runs["r-0001-a1"])).get("jitter", "")
    why = "cannot be told before it ends: only its last readings count"
    assert (said == why) == (at_end and not ended)


@given(
    values=st.integers(1, 60),
    warmup=st.integers(0, 5),
    at_end=st.booleans(),
    ended=st.booleans(),
    sums_up=st.booleans(),
)
@settings(deadline=None)
def test_of_a_figure_that_the_log_sums_up_nothing_claims_a_window_or_a_warm_up(
    values: int, warmup: int, at_end: bool, ended: bool, sums_up: bool
) -> None:
    state = read_in([100.0] * values, at_end=at_end, warmup=warmup, sums_up=sums_up)
    if ended:
        how = {"statistic": "summary", "used": 0} if sums_up else {"used": max(1, values - warmup)}
        end = replace(succeeded("r-0001-a1"), readings=values, first=warmup, **how)  # type: ignore[arg-type]
        state = fold([end], state)
    (view,) = take(state, Path("c"), now=9.0).runs
    record = state.runs["r-0001-a1"]
    own = chart_series(record)
    window = run_window(record, own.points)
    plot = throughput_plot([own], "r-0001-a1", width=80, window=window)
    said = [*plot.legend, *(line.note for line in plot.lines)]
    said += [value for row in _steps(record) for value in row]
    said += [jitter_text(window, at_work=not ended), view.doing]
    told = " ".join(said)
    claims = [one for one in ("window", "warm", "last readings", "that count") if one in told]
    assert not (sums_up and claims), told
    assert sums_up or values < 10 or not (warmup or at_end) or claims
    if values - warmup >= 10 and (ended or not at_end) and sums_up:
        assert (f"after reading {warmup}" if warmup else "of all readings") in told


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"hosts": [{"name": "node1"}]}', "\0" * 99])
async def test_an_environment_that_cannot_be_read_leaves_the_rest(
    workspace: FakeWorkspace, damage: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        controller = begin(app, workspace, ("1n8g",))
        controller.path.mkdir(parents=True, exist_ok=True)
        (controller.path / "environment.json").write_text(damage)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("v", "v")
        await until(pilot, lambda: "--num_nodes=1" in page.panels.details.text)


@pytest.mark.parametrize("names", [(0,), (1, 0), (1, 2, 0)])
def test_attempts_that_name_each_other_in_a_circle_are_told_once(
    tmp_path: Path, names: tuple[int, ...]
) -> None:
    """``names``: which run each says it is a retry of, in a journal from elsewhere."""
    ids = [f"r-{n:04}-a1" for n in range(len(names))]
    told = [
        replace(planned(ids[n]), attempt=1_000_000 - n, retry_of=ids[of])
        for n, of in enumerate(names)
    ]
    state = fold(told)
    for view in take(state, tmp_path, now=90.0).runs:
        lines = details_text(view, state).plain.splitlines()
        assert sum(". planned" in line for line in lines) < len(names)


@pytest.mark.parametrize(
    "reason",
    [
        "b: killed by signal 9 (SIGKILL)",
        "rank 2 on b was stopped by a signal, so the others lost its node",
        "out of GPU memory",
        "b: disk full",
    ],
)
def test_the_host_of_a_failure_and_what_helps_against_it_are_told_once(
    tmp_path: Path, reason: str
) -> None:
    run_id = "r-0001-a1"
    failed = ev.RunFailed(t=9.0, run_id=run_id, reason=reason, host="b", category=Cause.NAMED)
    state = fold([planned(run_id), assigned(run_id), failed])
    (view,) = take(state, tmp_path, now=90.0).runs
    shown = details_text(view, state).plain.splitlines()
    named = reason if "b" in reason.replace(":", "").split() else f"b: {reason}"
    assert shown[1] == named
    assert any("make room" in line or "smaller batch" in line for line in shown) == (
        "disk" in reason or "memory" in reason
    )


def gone(run_id: str) -> ev.RunFailed:
    return ev.RunFailed(t=8.0, run_id=run_id, reason="out of GPU memory")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("then", "said"),
    [
        ((), "attempt 2 took its place: planned"),
        ((assigned("r-0001-a2"), gone("r-0001-a2")), "attempt 2 took its place: failed"),
        ((ev.RunCancelled(t=9.0, run_id="r-0001-a2"),), "attempt 2 took its place: skipped"),
    ],
)
def test_of_a_run_that_was_tried_again_that_is_told_and_not_offered(
    tmp_path: Path, then: tuple[ev.Event, ...], said: str, read_only: bool
) -> None:
    again = replace(planned("r-0001-a2"), attempt=2, retry_of="r-0001-a1")
    told = [planned("r-0001-a1"), assigned("r-0001-a1"), gone("r-0001-a1")]
    for events, first in ((told, True), ([*told, again, *then], False)):
        state = fold(events)
        view = take(state, tmp_path, now=90.0).runs[0]
        text = details_text(view, state, read_only=read_only).plain
        assert ("→ t tries it again" in text) is (first and not read_only)
        that_one = ", and is the one to try again" * (bool(then) and not read_only)
        assert (f"→ {said}{that_one} · Enter reads the log" in text) is not first


@pytest.mark.parametrize("read_only", [True, False])
def test_what_has_not_begun_has_nothing_to_copy(tmp_path: Path, read_only: bool) -> None:
    state = fold([planned("r-0001-a1")])
    view = take(state, tmp_path, now=90.0, read_only=read_only).runs[0]
    assert "copies all this" not in details_text(view, state, read_only=read_only).plain


LONG = "NCCL error: unhandled system error while connecting to peers of another switch, 7 of 8"


@pytest.mark.parametrize("reason", [LONG, "NCCL error"], ids=["long", "short"])
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("keys", ["", "v", "vv", "s", "W"])
async def test_a_reason_is_whole_in_sight_whatever_panel_is_shown(
    workspace: FakeWorkspace, size: tuple[int, int], keys: str, reason: str
) -> None:
    workspace.fails = {"1n8g": reason}
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("j", *keys)
        tick(app)
        await pilot.pause()
        assert page.query_one(KeyedTable).current_cut is (reason == LONG)
        beside = page.query_one("#reason").is_on_screen
        assert beside is (reason == LONG and not page.panels.details.is_on_screen)
        shown = " ".join(screen_text(app).replace("│", " ").split())
        assert reason in shown


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_diagnosis_gives_way_to_a_schedule_that_needs_its_lines(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    suspect = Suspect("node3", 5, 3, None, (Finding(Sign.XID, xid=79),))
    workspace.fails = {"1n8g": "NCCL error"}
    workspace.diagnoses = {"1n8g": Diagnosis((suspect,), ranks=8)}
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("j", "s")
        tick(app)
        await pilot.pause()
        schedule = page.panels.schedule
        assert schedule.is_on_screen
        assert page.query_one("#reason").is_on_screen is (size != SMALL)
        assert schedule.max_scroll_y == 0


@pytest.mark.parametrize("asked", [True, False])
def test_a_run_that_does_not_move_says_what_to_do_before_what_shows_why(
    tmp_path: Path, asked: bool
) -> None:
    run_id = "r-0001-a1"
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    found = Diagnosis((Suspect("node3", 5, 3, None, (Finding(Sign.XID, xid=79),)),), ranks=8)
    told += [ev.RunDiagnosed(t=80.0, run_id=run_id, diagnosis=found)] if asked else []
    state = fold(told)
    (run,) = take(state, tmp_path, now=90.0).runs
    silent = replace(run, silent_s=60.0, state_text="running, no reading for 1m")
    lines = details_text(silent, state).plain.splitlines()
    steps = [line for line in lines[:4] if line.startswith("→ ")]
    assert steps[-1].startswith(f"→ d asks its hosts {'again' if asked else 'why'}")
    assert len(steps) == 1 + asked  # and what helps, once it is known
    assert "d asks" not in details_text(silent, state, asks=False).plain
    over = ev.RunFailed(t=99.0, run_id=run_id, reason="stalled", category=Cause.STALLED)
    state = fold([*told, replace(over, evidence=("the last", "lines"))])
    (run,) = take(state, tmp_path, now=100.0).runs
    lines = details_text(run, state).plain.splitlines()
    assert lines[1] == "stalled"
    assert lines[2] == f"→ {remedy_line(found if asked else None)}"
    assert lines[3].startswith("→ t tries it again")
    assert lines[-2:] == ["  │ the last", "  │ lines"], "below what is known of it"
    assert bool(verdict_of(run, state.runs[run_id])) is asked


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("then", ["", "cancelled", "finished"])
def test_what_was_left_begins_anew_by_itself_while_somebody_goes_on_with_its_campaign(
    tmp_path: Path, then: str, *, read_only: bool
) -> None:
    run_id = "r-0001-a1"
    left = ev.RunFailed(t=9.0, run_id=run_id, reason="its demo was left", category=Cause.LEFT)
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id), left]
    told += {"cancelled": [ev.CancelAsked(t=9.5)], "finished": [ev.CampaignFinished(t=9.5)]}.get(
        then, []
    )
    state = fold(told)
    (run,) = take(state, tmp_path, now=10.0).runs
    said = details_text(run, state, read_only=read_only).plain
    assert ("it begins anew by itself" in said) is (not then and not read_only)


@pytest.mark.parametrize("ranks", [1, 8])
@pytest.mark.parametrize("silent_s", [None, 60.0])
@pytest.mark.parametrize("named", [False, True])
def test_nobody_named_of_a_run_that_moves_is_nothing_wrong_and_goes_with_its_end(
    tmp_path: Path, ranks: int, silent_s: float | None, named: bool
) -> None:
    run_id = "r-0001-a1"
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    suspects = (Suspect("node3", 5, 3, None, (Finding(Sign.XID, xid=79),)),) if named else ()
    found = Diagnosis(suspects, ranks=ranks, waiting=ranks)
    told.append(ev.RunDiagnosed(t=80.0, run_id=run_id, diagnosis=found))
    state = fold(told)
    (run,) = take(state, tmp_path, now=90.0).runs
    shown = details_text(replace(run, silent_s=silent_s), state).plain
    healthy = silent_s is None and not named
    assert (f"◆ nothing is wrong to be seen: all {ranks} ranks wait" in shown) == healthy
    assert ("which rank keeps the others" in shown) == (silent_s is not None and not named)
    state = fold([*told, succeeded(run_id, t=99.0)])
    (run,) = take(state, tmp_path, now=100.0).runs
    assert ("◆" in details_text(run, state).plain) == named


@pytest.mark.parametrize("since", ["nothing", "a reading", "succeeded", "failed"])
def test_what_hosts_said_of_a_run_is_told_as_past_once_it_goes_on_or_has_ended(
    tmp_path: Path, since: str
) -> None:
    run_id = "r-0001-a1"
    found = Diagnosis((Suspect("node3", 0, 3, None, (Finding(Sign.STOPPED),)),), ranks=1)
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    told.append(ev.RunDiagnosed(t=80.0, run_id=run_id, diagnosis=found))
    readings = ((7, 9.0, 85.0),)
    told += {
        "nothing": [],
        "a reading": [ev.ReadingsArrived(t=85.0, run_id=run_id, first=0, readings=readings)],
        "succeeded": [succeeded(run_id, t=99.0)],
        "failed": [ev.RunFailed(t=99.0, run_id=run_id, reason="stalled", category=Cause.STALLED)],
    }[since]
    state = fold(told)
    (run,) = take(state, tmp_path, now=100.0).runs
    shown = details_text(run, state).plain
    assert ("◆ rank 0 on node3 is stopped by a signal" in shown) is (since == "nothing")
    assert ("◆ rank 0 on node3 was stopped by a signal" in shown) is (since != "nothing")


def test_a_run_that_hosts_are_kept_from_is_promised_none_before_the_other_has_started(
    tmp_path: Path,
) -> None:
    state = fold([planned("r-0001-a1"), planned("r-0002-a1")])
    kept = Waiting(WaitKind.BEHIND, ("node3",), behind="r-0002-a1")
    run, wide = take(state, tmp_path, now=9.0, waiting={"r-0001-a1": kept}).runs
    lines = details_text(run, state).plain.splitlines()
    assert lines[1] == f"behind {wide.label}, which waits for node3"
    assert lines[2] == f"→ starts after {wide.label} has started or is skipped · c skips it"
    assert "as soon as its hosts are free" in details_text(wide, state).plain


@pytest.mark.parametrize("reason", ["node2: killed by signal 9 (SIGKILL)", "out of GPU memory"])
def test_the_host_that_a_run_failed_on_is_named_once(tmp_path: Path, reason: str) -> None:
    run_id = "r-0001-a1"
    end = ev.RunFailed(t=9.0, run_id=run_id, reason=reason, host="node2", category=Cause.EXIT)
    state = fold([planned(run_id), assigned(run_id), end])
    (run,) = take(state, tmp_path, now=10.0).runs
    lines = details_text(run, state).plain.splitlines()
    assert lines[1] == f"node2: {reason.removeprefix('node2: ')}"


@pytest.mark.parametrize("reason", ["exit status 3", "exit status 31", "out of GPU memory"])
def test_the_exit_status_of_a_failed_run_is_told_once(tmp_path: Path, reason: str) -> None:
    run_id = "r-0001-a1"
    end = ev.RunFailed(t=9.0, run_id=run_id, reason=reason, exit_status=3, category=Cause.EXIT)
    state = fold([planned(run_id), assigned(run_id), end])
    (run,) = take(state, tmp_path, now=10.0).runs
    line = details_text(run, state).plain.splitlines()[1]
    assert line.split().count("3") == 1


@pytest.mark.parametrize("size", [SMALL, (80, 30), LARGE, HUGE])
async def test_all_that_is_told_of_a_failed_run_can_be_read_at_any_size(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    workspace.fails = {"1n8g": "out of GPU memory"}
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press("j")
        details = page.panels.beside if size == HUGE else page.panels.details
        await until(pilot, lambda: details.display and "exit status" in details.text)
        details.focus()
        await pilot.pause()
        seen: list[str] = []
        while True:
            region = details.scrollable_content_region
            rows = screen_text(app).splitlines()[region.y : region.bottom]
            rows = [row.ljust(size[0])[region.x : region.right].rstrip() for row in rows]
            below = int(details.max_scroll_y - details.scroll_y)
            assert (f"{below} more line" in str(details.border_subtitle)) is (below > 0)
            seen += rows if not seen else rows[-1:]
            if not below:
                break
            await pilot.press("j")
            await pilot.pause()
        assert "".join("".join(seen).split()) == "".join(details.text.split())


@pytest.mark.parametrize(
    ("why", "word"),
    [
        ("", "changed"),
        ("missing; the campaign has 5.00 images/s of it", "missing"),
        ("2 logs of its other hosts missing; the campaign has 5.00 images/s", "missing"),
        ("gives 9.00 by its rule, and the campaign has 5.00 images/s", "changed"),
    ],
)
def test_a_log_that_does_not_give_the_figure_is_told_before_it(
    tmp_path: Path, why: str, word: str
) -> None:
    run_id = "r-0001-a1"
    events = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    state = fold([*events, succeeded(run_id)])
    told = (("logs/a.log", why),) if why else ()
    state = replace(state, runs={run_id: replace(state.runs[run_id], log_differs=told)})
    (run,) = take(state, tmp_path, now=90.0).runs
    for columns in (40, 80, 140):
        [row] = RunRows()(take(state, tmp_path, now=90.0), columns)
        whole = word if columns == 40 else f"log {word}"
        assert (whole in str(row.cells[PROGRESS])) is bool(why)
        assert why or "done" in str(row.cells[PROGRESS])
        assert columns > 40 or len(str(row.cells[PROGRESS])) <= LEAST_BAR + BEHIND_BAR
    [told_row] = run_rows([run]).rows
    said = told_row[-1]
    assert isinstance(said, Said)
    assert said.text == f"log {word}" * bool(why)
    lines = details_text(run, state).plain.splitlines()
    beginning = "\n".join(lines[:3])
    assert (why in beginning and "not as they were when it ended" in beginning) is bool(why)
    assert "\n".join(lines).count("not as they were") == bool(why)


@pytest.mark.parametrize("on_cpus", [True, False])
def test_of_a_run_that_uses_no_gpu_none_of_its_hosts_is_told(tmp_path: Path, on_cpus: bool) -> None:
    run_id = "r-0001-a1"
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    state = fold(told)
    (run,) = take(state, tmp_path, now=3.0).runs
    hosts = {host: facts() for host in run.hosts}
    said = details_text(run, state, hosts=hosts, on_cpus=on_cpus).plain
    assert ("GPU0" in said) is not on_cpus
    assert ("slots 0" in said) is on_cpus


@given(st.integers(1, 256))
def test_cpus_are_counted_as_cpus_and_not_as_sockets_of_their_model(cpus: int) -> None:
    said = _host_words(replace(facts(), cpus=cpus, cpu_model="AMD EPYC"))
    assert said.endswith(f", {counted(cpus, 'CPU')}, AMD EPYC")


def test_a_run_that_never_began_is_started_and_not_done_again(tmp_path: Path) -> None:
    run_id = "r-0001-a1"
    for begun in (True, False):
        told: list[ev.Event] = [planned(run_id)]
        told += [assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)] if begun else []
        state = fold([*told, ev.RunCancelled(t=3.0, run_id=run_id)])
        (run,) = take(state, tmp_path, now=4.0).runs
        step = f"→ t {'does it again' if begun else 'starts it'}"
        assert step in details_text(run, state).plain.splitlines()


@given(st.lists(st.text("abc1.", min_size=1, max_size=9), min_size=1), st.integers(30, 60))
def test_a_path_breaks_behind_its_parts_and_loses_nothing(parts: list[str], width: int) -> None:
    for mark in "/_":
        path = mark.join(parts)
        told = named_rows([("log", path)])
        lines = told_lines(told, width)
        assert "".join(line.removeprefix("log").strip() for line in lines) == path
        assert all(len(line) <= width for line in lines)
        assert all(line.endswith(mark) for line in lines[:-1])


def told_lines(text: Text, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(Hanging(text))
    return [line.rstrip() for line in capture.get().splitlines() if line.strip()]


@given(st.floats(2.0, 3000.0), st.booleans())
def test_since_when_a_rank_is_slow_is_told_with_seconds_where_minutes_say_nothing(
    lasted: float, over: bool
) -> None:
    run_id = "r-0001-a1"
    slow = (SlowRank(1, "h1", 1, 0.14, 0.114, 0.1, 5.0),)
    told = [planned(run_id), assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
    told.append(ev.SlowRanksTold(t=6.0, run_id=run_id, slow_ranks=slow))
    told += [replace(succeeded(run_id), t=5.0 + lasted)] if over else []
    state = fold(told)
    (run,) = take(state, Path("c"), now=5.0 + lasted).runs
    record = state.runs[run_id]
    line = next(one for one in details_text(run, state).plain.splitlines() if "own time" in one)
    if record.ended_at is not None:
        case = run_result(record, state)
        assert line == f"▲ {slow_rank_line(slow[0], ranks=case.gpus, ended_at=record.ended_at)}"
    assert bool(re.search(r"\d\d:\d\d:\d\d", line)) == (lasted < 300)
