from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.console.conftest import words
from tui.widgets.log_panel import LogPanel
from tui.widgets.log_tail import LogTail


def test_a_log_that_is_not_there_yet_is_read_once_it_is(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "a.log")
    assert tail.read() == []
    (tmp_path / "a.log").write_bytes(b"one\ntwo\npar")
    assert tail.read() == ["one", "two"]
    with (tmp_path / "a.log").open("ab") as log:
        log.write(b"t\n")
    assert tail.read() == ["part"]
    assert tail.read() == []


def test_of_a_long_log_the_last_part_comes_first_and_begins_with_a_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(b"line %06d\n" % i for i in range(1000)))
    tail = LogTail(path, tail_bytes=100)
    lines = tail.read()
    assert lines[-1] == "line 000999"
    assert lines[0] == "line 000992"
    assert tail.skipped_bytes == 12_000 - 100


def test_a_log_that_was_cut_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a much longer line\n")
    tail = LogTail(path)
    tail.read()
    path.write_bytes(b"new\n")
    assert tail.read() == ["new"]


def test_a_last_line_without_an_end_is_shown_when_the_run_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\nlast words")
    tail = LogTail(path)
    assert tail.read() == ["one"]
    assert tail.finish() == ["last words"]


def test_what_a_host_wrote_is_safe_to_display(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"\x1b]52;c;Zm9v\x07[/nope]\x1b[2J\r50%\r100%\n\xff\xfe\n")
    assert LogTail(path).read() == ["100%", "��"]


async def read(pilot: Pilot[None]) -> None:
    """Until the file was read, in a thread, and what came of it is shown."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield LogPanel()


async def test_reading_back_holds_the_log_still_while_new_lines_are_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"line {i}\n" for i in range(100)), encoding="utf-8")
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(path, "Log", empty="", ended=False)
        await read(pilot)
        assert "line 99" in words(panel)
        panel.focus()
        await pilot.press("k", "k")
        await pilot.pause()
        held = words(panel)
        assert "line 99" not in held
        assert not panel.following
        with path.open("a", encoding="utf-8") as log:
            log.write("line 100\nline 101\n")
        panel.show(path, "Log", empty="", ended=False)
        await read(pilot)
        assert words(panel) == held
        assert "2 new lines, press f to follow" in str(panel.border_subtitle)
        panel.toggle_follow()
        await pilot.pause()
        assert "line 101" in words(panel)


async def test_another_file_starts_at_its_end_and_is_followed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(50)), encoding="utf-8")
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(tmp_path / "a", "A", empty="", ended=False)
        panel.toggle_follow()
        panel.show(tmp_path / "b", "B", empty="", ended=False)
        await read(pilot)
        assert panel.following
        assert "b49" in words(panel)
        assert "a" not in words(panel)


async def test_without_a_log_the_panel_says_why() -> None:
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(None, "Log", empty="No log yet: waiting for node3", ended=False)
        await pilot.pause()
        assert "No log yet: waiting for node3" in words(panel)


async def test_a_file_system_that_does_not_answer_does_not_hold_up_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_text("line\n", encoding="utf-8")
    answers = threading.Event()
    reads: list[int] = []
    real = LogTail.read

    def stalled(tail: LogTail) -> list[str]:
        reads.append(1)
        answers.wait()
        return real(tail)

    monkeypatch.setattr(LogTail, "read", stalled)
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        for _ in range(20):
            panel.show(path, "Log", empty="", ended=False)
            await pilot.pause()
        assert len(reads) == 1, "it is not asked again before it has answered"
        assert "line" not in words(panel)
        answers.set()
        await read(pilot)
        assert "line" in words(panel)
