"""``logs``: the bytes of a run's log, or what of them a terminal may have; ``-f`` follows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.record import events as ev
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
from tui.cli.arguments import build_parser

Campaign = Callable[..., Path]
HOSTILE = b"\x1b[31mred\x1b[0m \xff\xfe [/b] \x1b]52;c;eA==\x07\rback\n\x9b2J\xe2\x80\xaeend"


def launched(run_id: str) -> ev.RunLaunched:
    return ev.RunLaunched(t=BEGUN + 2, run_id=run_id)


def write(path: Path, name: str, data: bytes) -> None:
    (path / "logs").mkdir(exist_ok=True)
    with (path / "logs" / name).open("ab") as file:
        file.write(data)


@pytest.fixture
def follow(cli: Cli) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    begun: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-u", "-m", "tui.cli", "logs", *words]
        begun.append(
            subprocess.Popen(
                [*command, "--campaigns", str(cli.campaigns)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


def out(process: subprocess.Popen[bytes], size: int) -> bytes:
    assert process.stdout is not None
    return process.stdout.read(size)


def test_a_log_is_byte_for_byte_in_a_pipe(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    write(path, "a.log", HOSTILE)
    for words in (["done", "-n", "99"], ["done", "a", "-f"]):
        process = follow(*words)
        shown, _ = process.communicate(timeout=30)
        assert (process.returncode, shown) == (0, HOSTILE)


@pytest.mark.parametrize("lines", [[], ["-n", "3"]])
def test_of_an_empty_log_that_is_said(cli: Cli, campaign: Campaign, lines: list[str]) -> None:
    path = campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    write(path, "a.log", b"")
    ended = cli("logs", "done", "a", *lines)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "the log of run a is empty\n"


def test_a_terminal_gets_lines_that_cannot_act_on_it(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    write(path, "a.log", HOSTILE)
    shown = terminal("logs", "done", "a")
    assert shown.end() == 0
    assert shown.shown.replace(b"\r\n", b"\n") == "back\n\ufffd2J\ufffdend\n".encode()


def test_a_run_is_named_by_as_much_as_tells_it_apart(cli: Cli, campaign: Campaign) -> None:
    ids = ("1f0c77ab-0001-a1", "1f0c77ab-0002-a1", "1f0c77ab-0002-a2")
    path = campaign("done", *map(planned, ids), *map(assigned, ids))
    for run_id in ids:
        write(path, f"{run_id}.log", run_id.encode())
    for text, found in (("0001-a1", 0), ("1f0c77ab-0001", 0), ("a2", 2), (ids[1], 1)):
        assert cli("logs", "done", text).out == ids[found]
    assert "'1f0c77ab' is 2 runs" in cli.complaint("logs", "done", "1f0c77ab")
    assert f"did you mean {ids[0]!r}?" in cli.complaint("logs", "done", "1f0c77ba-0001-a1")


def test_a_run_without_its_attempt_is_the_latest_of_them_for_every_command(
    cli: Cli, campaign: Campaign
) -> None:
    """2000: what its campaign's id begins with is not its number."""
    ids = ("20000c77-0001-a1", "20000c77-0002-a1", "20000c77-0002-a2", "20000c77-0011-a1")
    path = campaign("done", *map(planned, ids), *map(assigned, ids))
    for run_id in ids:
        write(path, f"{run_id}.log", run_id.encode())
    named = [("0001", 0), ("1", 0), ("0002", 2), ("2", 2), ("20000c77-0002", 2), ("0011", 3)]
    for text, found in named:
        assert cli("logs", "done", text).out == ids[found], text
    assert "no run '3' in" in cli.complaint("logs", "done", "3")
    assert "'2000' is 3 runs, by their ids: none has that number" in cli.complaint(
        "logs", "done", "2000"
    )
    assert "'1n1g' is 3 runs" in cli.complaint("retry", "done", "--run", "1n1g")
    for command in ("retry", "pause", "unpause"):
        for text in ("0002", "20000c77-0002"):
            assert f"run {ids[2]} " in cli.complaint(command, "done", "--run", text)


def test_a_run_is_named_by_its_case_where_that_has_one_run(cli: Cli, campaign: Campaign) -> None:
    path = campaign("one", planned("aa-0001-a1"), assigned("aa-0001-a1"))
    write(path, "aa-0001-a1.log", b"it")
    assert cli("logs", "one", "1n1g").out == "it"
    ids = ("bb-0001-a1", "bb-0002-a1")
    campaign("two", *map(planned, ids), *map(assigned, ids))
    complaint = cli.complaint("logs", "two", "1n1g")
    assert "'1n1g' is 2 runs" in complaint
    assert ", ".join(ids) in complaint


def test_without_a_name_it_is_the_run_at_work_else_the_last_one(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("open", planned("a"), planned("b", 2), planned("c", 3))
    assert "no run has begun: there is no log yet; -f waits for it" in cli.complaint("logs", "open")
    append(path, assigned("b"), launched("b"), assigned("a"))
    write(path, "a.log", b"of a")
    write(path, "b.log", b"of b")
    answer = cli("logs", "open")
    assert (answer.out, answer.err) == ("of b", "run b, cpu-smoke 1n1g #2; 1 more had not ended\n")
    append(path, succeeded("b"))
    assert cli("logs", "open").out == "of a"
    append(path, succeeded("a"), ev.RunCancelled(t=BEGUN, run_id="c"), FINISHED)
    more = f"; 1 more has a log: dlperf-tui logs {path} b"
    assert more in cli("logs", "open").err
    assert cli("logs", "open", "b").err == ""


def test_the_log_of_another_host(cli: Cli, campaign: Campaign) -> None:
    path = campaign("done", planned("a"), assigned("a", "node1", "node2"))
    write(path, "a.log", b"rank 0")
    write(path, "a.node2.log", b"rank 1")
    assert cli("logs", "done", "--host", "node1").out == "rank 0"
    assert cli("logs", "done", "--host", "node2").out == "rank 1"
    assert "was not on 'node3', did you mean" in cli.complaint("logs", "done", "--host", "node3")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothere"], "no campaign 'nothere'"),
        (["open", "zzz"], "no run 'zzz' in this campaign"),
        (["open", ""], "no run ''"),
        (["open", "b"], "run b is planned: there is no log yet"),
        (["open", "c"], "run c was skipped and never started: there is no log;"),
        (["open", "-n", "0"], "--lines: must be 1 or more"),
        (["open", "-n", "x"], "--lines"),
        ([], "CAMPAIGN"),
    ],
)
def test_what_is_wrong_is_one_line(
    cli: Cli, campaign: Campaign, words: Sequence[str], says: str
) -> None:
    runs = (planned("a"), planned("b", 2), planned("c", 3), assigned("a"))
    campaign("open", *runs, ev.RunCancelled(t=BEGUN, run_id="c"))
    assert says.rstrip(";") in cli.complaint("logs", *words)


@pytest.mark.parametrize("lines", [(), ("-n", "3")])
def test_a_log_that_was_removed_from_disk_is_one_line_and_no_success(
    cli: Cli, campaign: Campaign, lines: tuple[str, ...]
) -> None:
    campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    said = cli.complaint("logs", "done", "a", *lines)
    assert "the log of run a is not on this disk any more" in said


def test_a_log_is_followed_as_it_grows_until_its_run_has_ended(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = campaign("open", planned("a"), planned("b", 2), assigned("a"), launched("a"))
    hold(path)
    write(path, "a.log", b"zero\none\ntwo\n")
    process = follow("open", "a", "-f", "-n", "1")
    assert out(process, 4) == b"two\n"
    write(path, "a.log", b"no end")
    assert out(process, 6) == b"no end"
    append(path, assigned("b"))
    write(path, "a.log", b", the end")
    append(path, ev.RunFailed(t=BEGUN + 3, run_id="a", reason="no space"))
    shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown) == (1, b", the end")
    assert said == b"run a failed: no space\n"


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("ends_well", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_a_run_is_followed_through_its_retries(
    cli: Cli,
    campaign: Campaign,
    follow: Callable[..., subprocess.Popen[bytes]],
    attempts: int,
    ends_well: bool,
    late: bool,
) -> None:
    """To the end of the last of them; ``late``: one attempt has ended before anybody follows."""
    names = [f"x-0001-a{number}" for number in range(1, attempts + 1)]
    path = campaign("open", planned(names[0]), planned("x-0002-a1", 2), assigned(names[0]))
    hold(path)

    def write_all() -> None:
        for number, name in enumerate(names, 1):
            write(path, f"{name}.log", f"of {name}\n".encode())
            begun = [assigned(name)] if number > 1 else []
            if number < attempts:
                lost = ev.RunFailed(t=BEGUN + 3, run_id=name, reason="lost", retry="now")
                append(path, *begun, launched(name), lost)
                again = replace(planned(names[number]), attempt=number + 1, retry_of=name)
                append(path, again)
            else:
                failed = ev.RunFailed(t=BEGUN + 9, run_id=name, reason="no space")
                append(path, *begun, launched(name), succeeded(name) if ends_well else failed)

    if late:
        write_all()
    process = follow("open", names[0], "-f")
    if not late:
        write_all()
    shown, said = process.communicate(timeout=30)
    assert shown == "".join(f"of {name}\n" for name in names).encode()
    told = [line for line in said.splitlines() if b"tried again" in line]
    assert told == [f"it is tried again: run {name}".encode() for name in names[1:]]
    assert process.returncode == (0 if ends_well else 1)


def test_a_campaign_is_followed_from_run_to_run_until_it_has_finished(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    runs = [planned(name, number) for number, name in enumerate("abcd", 1)]
    path = campaign("open", *runs, assigned("a"), launched("a"))
    hold(path)
    write(path, "a.log", b"of a\n")
    process = follow("open", "-f")
    assert process.stderr is not None
    assert process.stderr.readline() == b"run a, cpu-smoke 1n1g #1\n"
    assert out(process, 5) == b"of a\n"
    append(path, ev.RunFailed(t=BEGUN + 9, run_id="a", reason="no space"))
    assert process.stderr.readline() == b"run a failed: no space\n"
    assert process.stderr.readline() == b"waiting for the next run to begin\n"
    write(path, "b.log", b"of b\n")  # b and c begin and end between two looks
    write(path, "c.log", b"of c\n")
    for t, name in enumerate("bc", 10):
        append(path, replace(assigned(name), t=BEGUN + t), replace(succeeded(name), t=BEGUN + t))
    assert out(process, 10) == b"of b\nof c\n"
    said = [process.stderr.readline() for _ in range(4)]
    assert said[::2] == [b"run b, cpu-smoke 1n1g #2\n", b"run c, cpu-smoke 1n1g #3\n"]
    assert said[1::2] == [b"run b succeeded\n", b"run c succeeded\n"]
    append(path, ev.RunCancelled(t=BEGUN + 12, run_id="d"), FINISHED)
    shown, rest = process.communicate(timeout=30)
    assert (process.returncode, shown) == (1, b"")
    assert rest in (b"", b"waiting for the next run to begin\n")


def test_a_run_beside_the_one_that_is_followed_is_followed_when_that_has_ended(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """What began and ended beside it is in its own log; a run that another host had is left out."""
    runs = [planned(name, number) for number, name in enumerate("abcd", 1)]
    begun = [assigned("a"), assigned("b", "node2"), assigned("c")]
    path = campaign("open", *runs, *begun, launched("c"))
    hold(path)
    for name in "abc":
        write(path, f"{name}.log", f"of {name}\n".encode())
    process = follow("open", "-f", "--host", "node1")
    assert process.stderr is not None
    assert process.stderr.readline() == b"run c, cpu-smoke 1n1g #3; 2 more at work\n"
    assert out(process, 5) == b"of c\n"
    append(path, succeeded("c"))
    assert process.stderr.readline() == b"run c succeeded\n"
    assert process.stderr.readline() == b"run a, cpu-smoke 1n1g #1; 1 more at work\n"
    assert out(process, 5) == b"of a\n"
    append(path, succeeded("a"), succeeded("b"), ev.RunCancelled(t=BEGUN, run_id="d"), FINISHED)
    shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown) == (1, b""), "as status has it, of which one was skipped"
    assert said == b"run a succeeded\n"


def test_a_log_that_is_replaced_is_read_anew_and_that_is_said(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = campaign("open", planned("a"), assigned("a"), launched("a"))
    hold(path)
    write(path, "a.log", b"one\ntwo\n")
    process = follow("open", "-f")
    assert out(process, 8) == b"one\ntwo\n"
    (path / "draft").write_bytes(b"ONE\n")
    (path / "draft").replace(path / "logs" / "a.log")
    assert out(process, 4) == b"ONE\n"
    append(path, succeeded("a"), FINISHED)
    shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown) == (0, b"")
    assert b"the log here was begun anew\n" in said


def test_a_run_that_has_not_begun_is_waited_for(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = campaign("open", planned("a"))
    process = follow("open", "-f")
    assert process.stderr is not None
    assert b"nobody is at work on it" in process.stderr.readline()
    assert process.stderr.readline() == b"waiting for a run to begin\n"
    append(path, assigned("a"), launched("a"))
    assert process.stderr.readline() == b"run a, cpu-smoke 1n1g #1\n"
    write(path, "a.log", b"here\n")
    assert out(process, 5) == b"here\n"
    append(path, succeeded("a"), FINISHED)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_an_interrupt_ends_it_cleanly(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("open", planned("a"), assigned("a"), launched("a"))
    hold(path)
    write(path, "a.log", b"one\nhalf a line")
    shown = terminal("logs", "open", "a", "-f")
    wait_until(lambda: shown.shows(b"one"))
    os.kill(shown.process.pid, signal.SIGINT)
    assert shown.end() == 3
    assert b"half a line" in shown.shown, "what had come is not kept back"
    assert b"Traceback" not in shown.shown


def test_a_reader_that_goes_away_ends_it_without_a_word(
    cli: Cli, campaign: Campaign, follow: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = campaign("done", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    write(path, "a.log", b"line\n" * 1_000_000)
    process = follow("done", "a")
    assert out(process, 5) == b"line\n"
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert (process.wait(30), process.stderr.read()) == (0, b"")


def test_on_a_terminal_the_last_half_line_comes_before_how_it_ended(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("open", planned("a"), assigned("a"), launched("a"))
    hold(path)
    write(path, "a.log", b"one\nhalf a line")
    shown = terminal("logs", "open", "a", "-f")
    wait_until(lambda: shown.shows(b"one"))
    append(path, succeeded("a"))
    assert shown.end() == 0
    assert shown.shown.replace(b"\r\n", b"\n") == b"one\nhalf a line\nrun a succeeded\n"


@pytest.mark.parametrize(
    "words",
    [
        ("logs", "X", "-n", "2", "1"),
        ("logs", "-n", "2", "X", "1"),
        ("logs", "X", "1", "-n", "2"),
        ("logs", "X", "--host", "1", "-n", "2", "1"),
    ],
)
def test_options_stand_anywhere_behind_the_command(words: tuple[str, ...]) -> None:
    arguments = build_parser().parse_args(words)
    assert (arguments.campaign, arguments.run, arguments.lines) == ("X", "1", 2)


def test_words_too_many_are_told_wherever_options_stand(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("logs X 1 -n 2 3", "logs X -n 2 1 3", "compare A B --json C"):
        with pytest.raises(SystemExit) as ended:
            build_parser().parse_args(words.split())
        assert ended.value.code == 2
        told = capsys.readouterr().err
        assert f"unrecognized arguments: {words[-1]};" in told
        assert told.count("\n") == 1


def test_names_go_on_behind_an_option() -> None:
    report = build_parser().parse_args(["report", "A", "--layout", "pivot", "B"])
    assert report.campaigns_named == ["A", "B"]
    compare = build_parser().parse_args(["compare", "A", "--json", "B"])
    assert (compare.baseline, compare.candidate) == ("A", "B")


def test_what_heads_a_log_names_its_run_as_status_does(cli: Cli, campaign: Campaign) -> None:
    path = campaign("open", planned("a"), planned("b", 2), planned("c", 3))
    told = set()
    for name in "abc":
        append(path, assigned(name), launched(name))
        write(path, f"{name}.log", b"")
        heading = cli("logs", "open").err.splitlines()[0].partition(", ")[2].partition(";")[0]
        [row] = [row for row in cli("status", "open").rows if name in row]
        assert heading in " ".join(row)
        told.add(heading)
        append(path, succeeded(name))
    assert len(told) == 3
