"""``status``: what is so, as a table; ``--watch`` redraws it in place, or tells each change."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from backends.campaign.folder.artifacts import report_context
from backends.campaign.folder.index import CampaignSummary
from backends.campaign.folder.moment import Moment, write_moment
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.does_not_fit import NOT_RUN
from backends.campaign.record import events as ev
from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.engines.engine import Waiting, WaitKind
from backends.hosts.preflight_finding import Bearing
from profiles.logs.failures import OUT_OF_GPU_MEMORY, REMEDIES
from tests.support.waiting import wait_until
from tests.unit.cli.conftest import (
    BEGUN,
    FINISHED,
    ROOT,
    Cli,
    OnTerminal,
    append,
    assigned,
    hold,
    planned,
    succeeded,
)
from tui.cli.shared.print_table import fitted
from tui.cli.shared.progress import Changes, bar_text, show_progress
from tui.cli.shared.watching import drawn_all

Campaign = Callable[..., Path]
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def readings(run_id: str, value: float) -> ev.ReadingsSampled:
    point = (1.0, value, BEGUN + 2)
    return ev.ReadingsSampled(
        t=BEGUN + 2,
        run_id=run_id,
        first=0,
        count=1,
        stride=1,
        points=(point,),
        last=(point,),
    )


def test_a_campaign_that_ended_says_how_much_gpu_time_it_took(cli: Cli, campaign: Campaign) -> None:
    """Failed and cancelled attempts, too; nothing while it goes on, and nothing of CPU slots."""
    gpu = "1 × Tesla V100-SXM2-16GB, driver 440.33.01"
    failed = ev.RunFailed(t=BEGUN + 51, run_id="b", reason="exit 1", fingerprint=gpu)
    cancelled = ev.RunCancelled(t=BEGUN + 63, run_id="c", fingerprint=gpu)
    events = [*map(planned, "abc", (1, 2, 3)), *(assigned(run_id) for run_id in "abc")]
    events += [replace(succeeded("a"), fingerprint=gpu), failed]
    campaign("open", *events)
    assert "GPU" not in cli("status", "open", code=1).out
    campaign("ended", *events, cancelled, FINISHED)
    assert "  2 GPU-minutes used\n" in cli("status", "ended", code=1).out
    assert cli.document("status", "ended", code=1)["gpu_hours"] == pytest.approx(120 / 3600)
    cpus = replace(succeeded("a"), fingerprint="2 CPUs Intel")
    campaign("cpus", planned("a"), assigned("a"), cpus, FINISHED)
    assert "used" not in cli("status", "cpus").out


@pytest.mark.parametrize("simulated", [False, True])
def test_a_silent_run_is_told_of_a_campaign_that_somebody_else_is_at_work_on(
    cli: Cli, campaign: Campaign, simulated: bool
) -> None:
    """By the clock of who looks on, but of simulated hosts by theirs, for which time flies."""
    began = time.time() - 60.0 * (not simulated)
    points = tuple((float(n), 100.0, began + n) for n in range(1, 6))
    told = readings("a", 100.0)
    told = replace(told, t=began + 5, count=5, points=points, last=points[-1:])
    path = campaign(
        "kept",
        *(replace(planned("a"), expected_s=300.0), replace(assigned("a"), t=began)),
        *(ev.RunLaunched(t=began, run_id="a"), told),
        simulated=simulated,
    )
    hold(path)
    write_moment(path, Moment(at=began + 60.0 if simulated else None))
    assert "0/1 runs · no ETA: a run is silent\n" in cli("status", "kept", "--line").out
    assert "running, no reading for 5" in cli("status", "kept").out
    told = cli.document("status", "kept")
    assert (told["eta_s"], told["eta_text"]) == (None, "no ETA: a run is silent")


def test_while_a_campaign_is_handed_over_nobody_is_told_to_go_on_with_it(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("kept", planned("a"))
    wrong = ("nobody goes on", "go on with it", "cron")
    words = (("status", "kept"), ("status", "kept", "--line"))
    with CampaignLock(path).handing_over():
        for answer in (cli(*asked) for asked in words):
            assert not any(said in answer.out + answer.err for said in wrong)
        assert "is handing over to a keeper …" in cli("status", "kept").out
        assert cli.document("status", "kept")["kept_by"]["role"] == "handover"
    for answer in (cli(*asked) for asked in words):
        assert "nobody goes on" in answer.out


HELD = "held by another campaign of yours: root@vm, campaign nightly, run b, since 19:30"


def test_hosts_that_another_campaign_has_are_told_of_one_that_somebody_else_goes_on_with(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    """In the words of the one who does, in a line, in a document, and on a narrow terminal."""
    path = campaign("kept", replace(planned("a"), expected_s=60.0))
    hold(path)
    waits = Waiting(WaitKind.UNUSABLE, ("node1",), HELD)
    write_moment(path, Moment({"a": waits}))
    assert "kept: 0/1 runs · ETA ≈1m00s once node1 can be used\n" in cli("status", "kept").out
    assert f"waiting for node1: {HELD}" in cli("status", "kept").out
    assert "ETA ≈1m00s once node1 can be used" in cli("status", "--line").out
    told = cli.document("status", "kept")
    assert (told["eta_s"], told["blocked_by"]) == (None, ["node1"])
    assert told["after_that_s"] == pytest.approx(60.0)
    assert told["eta_text"] == "ETA ≈1m00s once node1 can be used"
    shown = terminal("status", "kept", NO_COLOR="1", COLUMNS="80")
    assert shown.end() == 0
    lines = [line.rstrip() for line in ESCAPES.sub(b"", shown.shown).decode().splitlines()]
    assert "  held by another campaign of yours: root@vm, campaign nightly, run b, since" in lines


def test_a_run_is_a_line_with_its_id_and_only_a_measured_run_has_a_figure_in_the_end(
    cli: Cli, campaign: Campaign
) -> None:
    campaign(
        "mixed",
        *(planned("a"), planned("b", 2), planned("c", 3), planned("d", 4)),
        *(assigned("a", "node1", "node2", "node3"), succeeded("a", 123.456)),
        *(assigned("b"), readings("b", 77.0)),
        ev.RunFailed(t=BEGUN + 3, run_id="b", reason="out of memory"),
        *(assigned("c", "node2"), ev.RunLaunched(t=BEGUN + 2, run_id="c"), readings("c", 88.5)),
    )
    answer = cli("status", "mixed", code=1)
    deserted = "  nobody goes on with this campaign\n"
    assert answer.out.startswith(
        f"mixed: 1/4 succeeded · 1 failed\n{deserted}\n| run | profile | case |"
    )
    rows = [[re.sub(r"seen .* ago$", "seen … ago", c) for c in row] for row in answer.rows]
    assert [[row[0], *row[3:]] for row in rows] == [
        ["a", "succeeded", "123.46 images/s", "node[1-3]", "log missing"],  # none was written
        ["b", "failed", "–", "node1", "out of memory"],
        ["c", "running when last seen … ago", "last reading 88.50 images/s", "node2", ""],
        ["d", "planned", "–", "–", ""],
    ]


def test_the_list_is_a_table_too(cli: Cli, campaign: Campaign) -> None:
    campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED, age_s=9)
    campaign("open", planned("a"), assigned("a"), ev.RunFailed(t=BEGUN, run_id="a", reason="x"))
    runs = [planned("a"), planned("b", 2)]
    ends = [ev.RunCancelled(t=BEGUN, run_id="a"), assigned("b"), succeeded("b"), FINISHED]
    campaign("part", *runs, *ends, age_s=20)
    assert [[*row[:3], row[5]] for row in cli("status").rows] == [
        ["open", "unfinished, 1 failed", "0/1", ""],
        ["done", "finished", "1/1", ""],
        ["part", "finished, 1 skipped", "1/2", ""],
    ]
    document = json.loads(cli("status", "--json").out)
    assert [one["cancelled"] for one in document] == [0, 0, 1]
    assert [one["skipped"] for one in document] == [0, 0, 1]
    well = [one["done"] - one["failed"] - one["cancelled"] for one in document]
    assert [f"{number}/{one['total']}" for number, one in zip(well, document, strict=True)] == [
        row[2] for row in cli("status").rows
    ], "text and JSON agree"


@pytest.mark.parametrize("end", ["failed", "cancelled", "skipped", "succeeded"])
def test_the_exit_code_is_1_where_some_run_did_not_succeed(
    cli: Cli, campaign: Campaign, end: str
) -> None:
    """Whoever follows it, and whether it failed, was cancelled or was never started."""
    ends: dict[str, list[ev.Event]] = {
        "failed": [assigned("b"), ev.RunFailed(t=BEGUN, run_id="b", reason="x")],
        "cancelled": [assigned("b"), ev.RunCancelled(t=BEGUN, run_id="b")],
        "skipped": [ev.RunCancelled(t=BEGUN, run_id="b")],
        "succeeded": [assigned("b"), succeeded("b")],
    }
    runs = [planned("a"), planned("b", 2), assigned("a"), succeeded("a")]
    campaign("one", *runs, *ends[end], FINISHED)
    code = 0 if end == "succeeded" else 1
    cli("status", "one", code=code)
    cli("status", "--json", "one", code=code)
    cli("status", "--watch", "one", code=code)
    cli("status", code=0)


def test_text_of_others_cannot_act_on_a_terminal(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    wicked = "\x1b[2J\x1b]52;c;eA==\x07[red]x[/nope]\x9b31m"
    campaign(
        "wicked", planned("a"), assigned("a"), ev.RunFailed(t=BEGUN, run_id="a", reason=wicked)
    )
    shown = terminal("status", "wicked", NO_COLOR="1")
    assert shown.end() == 1
    assert b"[red]x[/nope]" in shown.shown
    assert set(ESCAPES.findall(shown.shown)) <= {b"\x1b[1m", b"\x1b[0m", b"\x1b[2m"}
    assert b"\x1b]" not in shown.shown
    assert "\x1b" not in cli("status", "wicked", code=1).out


def test_a_terminal_gets_colours_unless_they_are_not_wanted(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    coloured, plain = terminal("status"), terminal("status", NO_COLOR="1")
    assert (coloured.end(), plain.end()) == (0, 0)
    assert b"\x1b[32mfinished" in coloured.shown
    assert b"\x1b[32m" not in plain.shown
    assert b"finished" in plain.shown
    assert b"|" not in plain.shown
    assert b"remarks" not in plain.shown, "a column of which no row has anything takes no room"


def watch(cli: Cli, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-u", "-m", "tui.cli", "status", *words, "--watch"),
            *("--campaigns", str(cli.campaigns)),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_in_a_pipe_a_watch_says_each_change_once_and_ends_with_the_campaign(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("open", planned("a"), planned("b", 2))
    append(path, assigned("a"), ev.RunLaunched(t=BEGUN + 2, run_id="a"))
    (path / "logs").mkdir(exist_ok=True)
    (path / "logs" / "a.log").write_text("as its run left it")
    os.utime(path / "logs" / "a.log", (BEGUN, BEGUN))
    watching = watch(cli, "open")
    assert watching.stdout is not None
    first = watching.stdout.readline()
    assert re.fullmatch(r"cpu-smoke 1n1g #1 running when last seen .* ago on node1\n", first)
    assert watching.stdout.readline() == "nobody goes on with this campaign\n"
    append(path, succeeded("a"), assigned("b", "node2"))
    assert watching.stdout.readline() == (
        "[1/2] cpu-smoke 1n1g #1 succeeded on node1 100.00 images/s\n"
    )
    starts = watching.stdout.readline()
    assert re.fullmatch(r"cpu-smoke 1n1g #2 starting when last seen .* ago on node2\n", starts)
    append(path, ev.RunFailed(t=BEGUN + 3, run_id="b", reason="no space"), FINISHED)
    rest, complaints = watching.communicate(timeout=30)
    assert rest == "[2/2] cpu-smoke 1n1g #2 failed on node2 – no space\n"
    assert (watching.returncode, complaints) == (1, "")


def test_each_end_of_a_run_has_a_number_of_its_own(cli: Cli, campaign: Campaign) -> None:
    """Also of runs that ended between two looks, or before the first."""
    runs = "abcdefgh"
    path = campaign("ended", *(planned(run, number) for number, run in enumerate(runs, 1)))
    append(path, *(event for run in runs for event in (assigned(run), succeeded(run))), FINISHED)
    shown = cli("status", "ended", "--watch", code=0).out.splitlines()
    told = [line.partition(" ")[0] for line in shown if "succeeded" in line]
    assert told == [f"[{number}/8]" for number in range(1, 9)]


def test_in_a_pipe_a_watch_of_all_says_what_comes_changes_and_goes(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("open", planned("a"))
    watching = watch(cli)
    assert watching.stdout is not None
    assert watching.stdout.readline() == "open unfinished 0/1\n"
    append(path, assigned("a"), succeeded("a"), FINISHED)
    assert watching.stdout.readline() == "open finished 1/1\n"
    path.rename(cli.campaigns / ".gone")
    assert watching.stdout.readline() == "open is gone\n"
    watching.send_signal(signal.SIGINT)
    _, complaints = watching.communicate(timeout=30)
    assert (watching.returncode, complaints) == (3, "")


def test_on_a_terminal_a_watch_is_redrawn_in_place_and_leaves_the_last_state(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("open", *(planned(f"r{number}", number) for number in range(1, 60)))
    append(path, assigned("r59"), ev.RunLaunched(t=BEGUN + 2, run_id="r59"))
    watching = terminal("status", "open", "--watch", LINES="12")
    wait_until(lambda: watching.shows(b"running"), what="the run at work, though it is the last")
    wait_until(lambda: watching.shows(b"more runs"))
    append(path, succeeded("r59"), FINISHED)
    append(path, *(ev.RunCancelled(t=BEGUN + 4, run_id=f"r{n}") for n in range(1, 59)), FINISHED)
    assert watching.end() == 1, "not all that was asked for has succeeded"
    assert b"\x1b[1A" in watching.shown, "it went up to draw over what it had drawn"
    assert "1/59 succeeded · 58 skipped".encode() in watching.shown
    assert watching.shown.count(b"\x1b[?25l") == watching.shown.count(b"\x1b[?25h") == 1


def test_a_watch_puts_columns_below_and_breaks_no_word(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    name = "2026-11-24-a-campaign-whose-name-is-told-whole"
    campaign(name, planned("r1", 1), assigned("r1"), ev.RunLaunched(t=BEGUN + 2, run_id="r1"))
    watching = terminal("status", "--watch", COLUMNS="80", LINES="24")
    wait_until(lambda: watching.shows(b"unfinished"), what="no word of it is broken")
    wait_until(lambda: watching.shows(b"no room for"), what="what has no room is named below")
    assert watching.shows(name.encode())
    os.kill(watching.process.pid, signal.SIGINT)
    assert watching.end() == 3


def test_an_interrupted_watch_gives_the_terminal_back(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    campaign("open", planned("a"))
    watching = terminal("status", "open", "--watch")
    wait_until(lambda: watching.shows(b"0/1 runs"))
    os.kill(watching.process.pid, signal.SIGINT)
    assert watching.end() == 3
    assert watching.shown.rstrip().endswith(b"\x1b[?25h")
    assert b"Traceback" not in watching.shown


def test_what_cannot_be_watched_is_one_line(cli: Cli, campaign: Campaign) -> None:
    campaign("open", planned("a"))
    assert "one document cannot be watched" in cli.complaint("status", "--watch", "--json")
    assert "no campaign 'nothere'" in cli.complaint("status", "nothere", "--watch")


@pytest.mark.parametrize(("failures", "colour"), [(0, b"32"), (1, b"33"), (2, b"31")])
def test_what_failed_is_not_green_because_it_is_finished(
    campaign: Campaign, terminal: Callable[..., OnTerminal], failures: int, colour: bytes
) -> None:
    ends = [succeeded("a"), succeeded("b")]
    for number, run_id in enumerate(("a", "b")[:failures]):
        ends[number] = ev.RunFailed(t=BEGUN + 3, run_id=run_id, reason="no space")
    begun = [planned("a"), planned("b", 2), assigned("a"), assigned("b")]
    campaign("done", *begun, *ends, FINISHED)
    shown = terminal("status")
    shown.end()
    words = b"finished, %d failed" % failures if failures else b"finished"
    assert b"\x1b[" + colour + b"m" + words in shown.shown


def test_the_bar_says_how_the_last_run_ended_and_what_was_noted(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what happens between its last look and its end."""
    path = campaign("open", planned("a"), planned("b", 2), assigned("a"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def now() -> CampaignSnapshot:
        return take(read_campaign(path), path, now=BEGUN + 9)

    async def watched() -> None:
        showing = asyncio.create_task(show_progress(now))
        await asyncio.sleep(0.1)
        append(path, succeeded("a"), ev.Noted(t=BEGUN, text="node2 is away"))
        await asyncio.sleep(0.6)
        append(path, assigned("b"), ev.RunFailed(t=BEGUN + 3, run_id="b", reason="no space"))
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing

    asyncio.run(watched())
    said = capsys.readouterr().err
    assert said.count("cpu-smoke 1n1g #1 succeeded on node1 100.00 images/s") == 1
    assert said.count("warn: node2 is away") == 1
    assert said.count("cpu-smoke 1n1g #2 failed on node1 – no space") == 1


def test_a_note_beside_the_bar_goes_on_between_words(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    words = "a note of quite some words that no terminal of eighty columns has in one line: " * 3
    path = campaign("c", planned("a"), ev.Noted(t=BEGUN, text=words.strip()))
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")

    async def watched() -> None:
        showing = asyncio.create_task(
            show_progress(lambda: take(read_campaign(path), path, now=BEGUN + 9))
        )
        await asyncio.sleep(0)
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing

    asyncio.run(watched())
    lines = ESCAPES.sub(b"", screen.getvalue().encode()).decode().splitlines()
    start = next(at for at, line in enumerate(lines) if "a note of" in line)
    shown = [line.strip() for line in lines[start : start + 4]]
    assert len(max(shown, key=len)) <= 80
    assert " ".join(shown).startswith(f"warn: {words}".strip())


def test_the_bar_names_a_lost_connection_while_it_lasts(campaign: Campaign) -> None:
    lost = ev.ContactChanged(
        t=BEGUN + 5, run_id="a", host="node1", lost=True, reason="connection lost"
    )
    path = campaign("c", planned("a"), assigned("a"), ev.RunLaunched(t=BEGUN + 1, run_id="a"), lost)
    bar = bar_text(take(read_campaign(path), path, now=BEGUN + 9), 80)
    assert "1n1g #1 node1: connection lost 4s ago" in bar
    append(path, replace(lost, t=BEGUN + 10, lost=False, reason=""))
    assert "lost" not in bar_text(take(read_campaign(path), path, now=BEGUN + 11), 80)


def test_what_helps_is_told_once_for_each_reason_of_a_failure(campaign: Campaign) -> None:
    reason, other = list(REMEDIES)[:2]
    path = campaign("c", *(planned(name, n + 1) for n, name in enumerate("abcd")))
    changes, told = Changes(), list[str]()
    for name, why in zip("abcd", (reason, reason, other, "no space"), strict=True):
        append(path, assigned(name), ev.RunFailed(t=BEGUN + 3, run_id=name, reason=why))
        changes.tell(take(read_campaign(path), path, now=BEGUN + 9), told.append)
    assert [line for line in told if "→" in line] == [f"  → {REMEDIES[w]}" for w in (reason, other)]


def test_what_was_done_before_is_told_in_one_line_and_counts(campaign: Campaign) -> None:
    path = campaign("c", *(planned(name, n + 1) for n, name in enumerate("abcd")))
    for name in "ab":
        append(path, assigned(name), succeeded(name))
    changes, told = Changes(before=("a", "b")), list[str]()
    changes.tell(take(read_campaign(path), path, now=BEGUN + 9), told.append)
    append(path, assigned("c"), succeeded("c"))
    for _ in range(2):
        changes.tell(take(read_campaign(path), path, now=BEGUN + 9), told.append)
    first, *_, then = told
    assert first == "2 of 4 had ended before"
    assert then.startswith("[3/4] ")


LIFE = (
    assigned("a"),
    ev.RunLaunched(t=BEGUN + 2, run_id="a"),
    ev.RunOver(t=BEGUN + 8, run_id="a"),
    succeeded("a"),
)


@given(st.sets(st.integers(0, len(LIFE))))
def test_every_state_of_a_run_is_told_once_however_seldom_somebody_looks(looks: set[int]) -> None:
    """From a look at which it waits on; who comes later is told what is so then."""
    changes, told = Changes(), list[str]()
    for number in sorted({0, *looks, len(LIFE)}):
        events = (ev.CampaignCreated(t=BEGUN, campaign="c"), planned("a"), *LIFE[:number])
        changes.tell(take(fold(events), Path("c"), now=BEGUN + 9), told.append)
    states = ["starting on node1", "running on node1", "succeeded on node1 100.00 images/s"]
    assert [line.partition("#1 ")[2] for line in told] == states
    late = list[str]()
    Changes().tell(take(fold(events), Path("c"), now=BEGUN + 9), late.append)
    assert len(late) == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_repeats_that_are_not_run_for_want_of_memory_are_told_in_one_line(
    campaign: Campaign, at_once: bool
) -> None:
    path = campaign("c", *(planned(name, n + 1) for n, name in enumerate("abcde")))
    changes, told = Changes(), list[str]()
    for name, why in zip("abcde", [OUT_OF_GPU_MEMORY] * 2 + [NOT_RUN] * 3, strict=True):
        append(path, ev.RunFailed(t=BEGUN + 3, run_id=name, reason=why))
        if not at_once and why != NOT_RUN:
            changes.tell(take(read_campaign(path), path, now=BEGUN + 9), told.append)
    changes.tell(take(read_campaign(path), path, now=BEGUN + 9), told.append)
    (line,) = (line for line in told if NOT_RUN in line)
    assert line.startswith("[5/5] ")
    assert " #3, #4, #5 – " in line
    assert len([line for line in told if OUT_OF_GPU_MEMORY in line and "#" in line]) == 2


def test_what_was_skipped_is_not_counted_as_cancelled(
    cli: Cli, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = (ev.RunCancelled(t=BEGUN + 3, run_id=name) for name in "bc")
    ended = ev.RunCancelled(t=BEGUN + 3, run_id="a")
    launched = ev.RunLaunched(t=BEGUN + 1, run_id="a")
    runs = (planned("a"), planned("b", 2), planned("c", 3))
    path = campaign("part", *runs, assigned("a"), launched, ended, *skipped)
    (row,) = cli("status").rows
    assert "unfinished, 1 cancelled, 2 skipped" in row
    looks = iter([None])

    def finishes(_seconds: float) -> None:
        if next(looks, "over") == "over":
            raise KeyboardInterrupt
        append(path, FINISHED)

    monkeypatch.setattr("tui.cli.shared.watching.time.sleep", finishes)
    assert "1 cancelled 2 skipped" in cli("status", "--watch", code=3).out


def test_a_run_that_was_skipped_is_told_as_that_in_words_and_its_later_start_is_no_second_try(
    cli: Cli, campaign: Campaign
) -> None:
    skipped = [ev.RunCancelled(t=BEGUN + 3, run_id=name) for name in "ab"]
    again = replace(planned("a2"), attempt=2, retry_of="a")
    path = campaign("part", planned("a"), planned("b", 2), *skipped, again, assigned("a2"))
    append(path, succeeded("a2"), FINISHED)
    answer = cli("status", "part", code=1)
    told = "1/2 succeeded · 1 skipped · finished · 1 skipped run was planned again"
    assert answer.out.startswith(f"part: {told}\n")
    assert [(row[3], row[6]) for row in answer.rows] == [
        ("skipped", "never started"),
        ("skipped", "never started"),
        ("succeeded", "log missing"),
    ]
    told = cli.document("status", "part", code=1)["runs"][0]
    assert (told["state"], told["reason"]) == ("cancelled", "skipped: never started")
    report = cli("report", "part").out
    assert "tried again" not in report


def _interrupted(_seconds: float) -> None:
    raise KeyboardInterrupt


def test_the_bar_does_not_fall_back_where_a_run_takes_longer_than_expected(
    campaign: Campaign,
) -> None:
    path = campaign(
        "c",
        replace(planned("a"), expected_s=8.0),
        assigned("a"),
        ev.RunLaunched(t=BEGUN + 1, run_id="a"),
    )
    state = read_campaign(path)
    filled = [bar_text(take(state, path, now=BEGUN + at), 80).count("━") for at in (5, 9, 60)]
    assert filled == sorted(filled)
    assert filled[-1] == 40


def test_resume_that_leaves_it_to_a_keeper_has_a_document_where_nothing_is_left(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    document = cli.document("resume", "done", "--detach")
    assert document == {"campaign": "done", "path": str(path)}


def test_outages_of_hosts_are_told_of_a_campaign_that_has_finished(
    cli: Cli, campaign: Campaign
) -> None:
    """In words, and as a report's document and this command's have them."""

    def contact(t: float, *, lost: bool) -> ev.ContactChanged:
        return ev.ContactChanged(t=BEGUN + t, run_id="a", host="node1", lost=lost, reason="refused")

    away = (contact(3.0, lost=True), contact(9.0, lost=False))
    events = (planned("a"), assigned("a", "node1"), ev.RunLaunched(t=BEGUN + 2, run_id="a"))
    campaign("away", *events, *away, succeeded("a"), FINISHED)
    campaign("there", *events, succeeded("a"), FINISHED)
    assert "note: node1 was out of reach for " in cli("status", "away").err
    assert "out of reach" not in cli("status", "there").err
    (note,) = json.loads(cli("report", "away", "--format", "json").out)["notes"]
    assert note["text"].startswith("node1 was out of reach for ")
    assert note in cli.document("status", "away")["notes"]
    assert "notes" not in json.loads(cli("report", "there", "--format", "json").out)


def test_a_report_tells_what_preflight_warned_of_on_hosts_that_no_run_was_on(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("warned", planned("a"), assigned("a", "node1"), succeeded("a"), FINISHED)
    state = replace(
        read_campaign(path),
        warned=(
            ("node1: GPU0 is hot: 90 °C", Bearing(hosts=(("node1",),))),
            ("node2: GPU3 is slowed down", Bearing(hosts=(("node2",),))),
        ),
    )
    notes = report_context(state, path).notes
    assert notes == ("Preflight warned before the first start: node2: GPU3 is slowed down.",)


@pytest.mark.parametrize(
    ("fingerprint", "gpus", "told"),
    [("EPYC, Debian", 8, True), ("EPYC, Debian", 0, False), ("H200, driver 580", 8, False)],
)
def test_a_report_tells_that_gpus_were_not_judged(
    cli: Cli, campaign: Campaign, fingerprint: str, gpus: int, told: bool
) -> None:
    path = campaign("cpus", planned("a"), assigned("a", "node1"), succeeded("a"), FINISHED)
    hosts = [{"name": "node1", "gpus": [{"index": n} for n in range(gpus)]}]
    (path / "environment.json").write_text(json.dumps({"hosts": hosts}))
    state = read_campaign(path)
    on = replace(state.runs["a"], fingerprint=fingerprint)
    notes = report_context(replace(state, runs={"a": on}), path).notes
    assert notes == ("Preflight did not judge GPUs: cpu-smoke uses none.",) * told


TOLD = ("succeeded", "failed", "cancelled", "planned")


@given(
    names=st.lists(
        st.text("abc-漢", min_size=1, max_size=40).map(lambda name: f"2026-11-21-{name}"),
        min_size=1,
        max_size=30,
        unique=True,
    ),
    data=st.data(),
)
def test_a_watch_of_all_has_a_line_for_each_that_is_live_or_unfinished_and_counts_the_others(
    names: list[str], data: st.DataObject
) -> None:
    states = ("live", "unfinished", "finished", "copy", "not started", "unreadable")
    count = st.integers(0, 99)
    every = tuple(
        CampaignSummary(
            name,
            Path("/c", name),
            data.draw(st.sampled_from(states)),
            *(data.draw(count) for _ in TOLD[1:]),
            created_at=BEGUN,
            simulated=data.draw(st.booleans()),
            imported=False,
            about=About(("nightly", "v100"), "a note " * 20),
            paused=data.draw(count),
            profiles=("cpu-smoke", "oneflow-resnet50"),
            left_out=("node1: in use: alice",),
        )
        for name in names
    )
    watched = [one for one in every if one.state in ("live", "unfinished")]
    height = data.draw(st.integers(6, 60))
    out = io.StringIO()
    console = Console(width=120, height=height, file=out, highlight=False)
    heading, rows, below = drawn_all(every, height - 4, Path("/c"))
    console.print(*fitted(rows, 120), sep="\n")
    shown = out.getvalue().splitlines()
    lines = [line for line in shown if "2026-11-21-" in line]
    assert len(lines) == min(len(watched), height - 4)
    assert len(shown) <= len(lines) + 2, "the columns, and what has no room"
    assert all(sum(line.startswith(f"{one.called} ") for line in shown) <= 1 for one in watched)
    assert bool(heading) is not bool(watched)
    for state in states[2:]:
        number = sum(one.state == state for one in every)
        assert (f"{number} {state}" in below) is bool(number)
    assert (f"{len(watched) - len(lines)} more" in below) is (len(lines) < len(watched))
    for campaign in watched[: len(lines)] if len(lines) == len(watched) else ():
        [line] = [line for line in lines if line.startswith(f"{campaign.called} ")]
        assert not campaign.simulated or "SIMULATED" in line or "no room for remarks" in shown[-1]


def test_a_watch_of_all_in_a_pipe_begins_with_how_many_have_finished(
    cli: Cli, campaign: Campaign
) -> None:
    for name in ("one", "two"):
        campaign(name, planned("a"), assigned("a"), succeeded("a"), FINISHED)
    path = campaign("open", planned("a"))
    watching = watch(cli)
    assert watching.stdout is not None
    assert watching.stdout.readline() == "open unfinished 0/1\n"
    assert watching.stdout.readline() == "2 finished\n"
    append(path, assigned("a"), succeeded("a"), FINISHED)
    assert watching.stdout.readline() == "open finished 1/1\n"
    watching.send_signal(signal.SIGINT)
    assert watching.communicate(timeout=30) == ("", "")
