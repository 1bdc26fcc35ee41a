from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from backends.campaign.record.state import RunState
from profiles.cleantext import clean_line
from tests.console.conftest import LARGE, begin, console, screen_text, settled, tick, words
from tests.console.fakes import FakeWorkspace
from tui.screens.run_text import no_log
from tui.widgets import log_search
from tui.widgets.chart import Chart
from tui.widgets.log_lines import LineReader, LogLine, read_part, rows_of, wrapped_line
from tui.widgets.log_panel import GUTTER, LogPanel
from tui.widgets.log_ranks import rank_of
from tui.widgets.log_search import ERRORS, Search, words_sought
from tui.widgets.log_tail import LogTail


def texts(lines: Iterable[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_a_log_that_is_not_there_yet_is_read_once_it_is(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "a.log")
    assert tail.read() == []
    (tmp_path / "a.log").write_bytes(b"one\ntwo\npar")
    assert texts(tail.read()) == ["one", "two"]
    with (tmp_path / "a.log").open("ab") as log:
        log.write(b"t\n")
    assert tail.read() == [(8, "part")], "each line knows where it begins"
    assert tail.read() == []


def test_of_a_long_log_the_last_part_comes_first_and_begins_with_a_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(b"line %06d\n" % i for i in range(1000)))
    tail = LogTail(path, tail_bytes=100)
    lines = tail.read()
    assert lines[-1] == (11_988, "line 000999")
    assert lines[0] == (11_904, "line 000992")
    assert tail.skipped_bytes == 12_000 - 100


def test_a_log_that_was_cut_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a much longer line\n")
    tail = LogTail(path)
    tail.read()
    path.write_bytes(b"new\n")
    assert texts(tail.read()) == ["new"]


def test_a_last_line_without_an_end_is_shown_when_the_run_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\nlast words")
    tail = LogTail(path)
    assert texts(tail.read()) == ["one"]
    assert tail.finish() == [(4, "last words")]


def test_what_a_host_wrote_is_safe_to_display(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"\x1b]52;c;Zm9v\x07[/nope]\x1b[2J\r50%\r100%\n\xff\xfe\n")
    assert texts(LogTail(path).read()) == ["100%", "��"]


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
        panel.show(path, "Log", none="", empty="", ended=False)
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
        panel.show(path, "Log", none="", empty="", ended=False)
        await read(pilot)
        assert words(panel) == held
        assert "2 new lines · f follows" in str(panel.border_subtitle)
        panel.toggle_follow()
        await pilot.pause()
        assert "line 101" in words(panel)


async def test_another_file_starts_at_its_end_and_is_followed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(50)), encoding="utf-8")
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(tmp_path / "a", "A", none="", empty="", ended=False)
        panel.toggle_follow()
        panel.show(tmp_path / "b", "B", none="", empty="", ended=False)
        await read(pilot)
        assert panel.following
        assert "b49" in words(panel)
        assert "a" not in words(panel)


async def test_without_a_log_the_panel_says_why() -> None:
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(None, "Log", none="No log yet: waiting for node3", empty="", ended=False)
        await pilot.pause()
        assert "No log yet: waiting for node3" in words(panel)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED])
@pytest.mark.parametrize("written", [None, b"", b"line\n"])
async def test_of_a_run_that_has_ended_an_empty_log_is_not_said_to_be_none(
    workspace: FakeWorkspace, tmp_path: Path, written: bytes | None, state: RunState
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3", "G")
        tick(app)
        assert app.session.viewed is not None
        path = tmp_path / "of_the_run.log"
        run = replace(app.session.viewed.runs[-1], state=state, log=path, readings=0)
    if written is not None:
        path.write_bytes(written)
    bench = Bench()
    async with bench.run_test(size=(60, 10)) as shown_on:
        panel = bench.query_one(LogPanel)
        none, empty = no_log(run), no_log(run, there=True)
        panel.show(path, "Log", none=none, empty=empty, ended=True)
        await read(shown_on)
        shown = " ".join(words(panel).split())
        assert ("line" in shown) is bool(written)
        assert ("its log is empty" in shown) is (written == b"")
        assert ("it left no log" in shown) is (written is None)


async def test_a_file_system_that_does_not_answer_does_not_hold_up_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_text("line\n", encoding="utf-8")
    answers = threading.Event()
    reads: list[int] = []
    real = LogTail.read

    def stalled(tail: LogTail) -> list[LogLine]:
        reads.append(1)
        answers.wait()
        return real(tail)

    monkeypatch.setattr(LogTail, "read", stalled)
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        for _ in range(20):
            panel.show(path, "Log", none="its log is missing", empty="", ended=False)
            await pilot.pause()
        assert len(reads) == 1, "it is not asked again before it has answered"
        assert words(panel).strip() == "", "nobody knows yet that it is missing"
        answers.set()
        await read(pilot)
        assert "line" in words(panel)


async def test_of_a_run_that_has_ended_the_log_is_told_as_it_is_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("line\nno line end", encoding="utf-8")
    app = Bench()
    async with app.run_test(size=(40, 10)) as pilot:
        panel = app.query_one(LogPanel)
        panel.show(tmp_path / "a.log", "Log", none="its log is missing", empty="", ended=True)
        await read(pilot)
        assert "no line end" in words(panel)
        assert "ended · 2 lines" in str(panel.border_subtitle), "nobody follows it"
        panel.show(tmp_path / "b.log", "Log", none="its log is missing", empty="", ended=True)
        await read(pilot)
        assert "its log is missing" in words(panel)


# Searching ---------------------------------------------------------------------------------------

SOME = (b"a", b"B", b"loss", b"\x1b[31m", b"\r", b" ", b"\n", "\xfc".encode(), b"E" * 9)
PIECES = st.lists(st.sampled_from(SOME), max_size=60)


@given(PIECES, st.integers(1, 9))
def test_every_line_knows_where_it_begins(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    reader = LineReader()
    lines = [line for at in range(0, len(data), size) for line in reader.feed(data[at : at + size])]
    lines += reader.finish()
    whole = data.split(b"\n")
    starts = [sum(len(one) + 1 for one in whole[:number]) for number in range(len(whole))]
    assert [line.start for line in lines] == starts[: len(lines)]
    assert texts(lines) == [clean_line(one) for one in whole[: len(lines)]]


@example([b"loss", b"\r", b"\x1b[31m"], "loss", 1)
@given(PIECES, st.sampled_from(["loss", "a b", "ab", "\xfc", "eeee"]), st.integers(1, 40))
def test_a_search_finds_what_is_shown_in_any_pieces_both_ways(
    pieces: list[bytes], words: str, size: int
) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_search, "PIECE_BYTES", size)
        path = Path(directory) / "a.log"
        path.write_bytes(b"".join(pieces))
        reader = LineReader()
        lines = [*reader.feed(path.read_bytes()), *reader.finish()]
        sought = words_sought(words)
        has = [line.start for line in lines if sought.pattern.search(line.text)]
        found, place = [], Search(path, sought).after(0)
        while place is not None:
            found.append(place)
            place = Search(path, sought).after(place, beyond=True)
        assert found == has
        back, place = [], Search(path, sought).before(1 << 40)
        while place is not None:
            back.append(place)
            place = Search(path, sought).before(place)
        assert back == has[::-1]
        numbered = [Search(path, sought).position(place) for place in has]
        assert numbered == [(number, len(has)) for number in range(1, len(has) + 1)]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("RuntimeError: CUDA out of memory", True),
        ("Traceback (most recent call last):", True),
        ("slurmstepd: error: task 3", True),
        ("node1: device 3 was killed", True),
        ("Aborted (core dumped)", True),
        ("iter 20, loss: 6.9, samples/s: 380.1", False),
        ("errorless fatality", False),
        ("finished without errors", False),
    ],
)
def test_lines_that_look_like_an_error(tmp_path: Path, line: str, is_one: bool) -> None:
    (tmp_path / "a.log").write_text(f"fine\n{line}\nfine\n")
    assert (Search(tmp_path / "a.log", ERRORS).after(0) is not None) is is_one


def test_a_part_of_a_log_is_what_lies_around_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(b"line %06d\n" % i for i in range(100_000)))
    part = read_part(path, 12 * 50_000)
    assert (12 * 50_000, "line 050000") in part.lines
    assert part.before == part.lines[0].start > 0
    assert part.behind == 1_200_000 - (part.lines[-1].start + 12) > 0
    assert len(part.lines) < 12_000
    whole = read_part(path, 0)
    assert (whole.before, whole.lines[0]) == (0, (0, "line 000000"))


def test_wrapped_rows_have_all_of_a_line_and_are_no_wider() -> None:
    lines = [LogLine(0, "x" * 25), LogLine(26, "\u4e2d" * 12), LogLine(63, "")]
    rows = list(rows_of(lines, 10))
    assert ["".join(row.text for row in rows if row.line == n) for n in range(3)] == texts(lines)
    assert all(cell_len(row.text) <= 10 for row in rows)
    assert [row.text for row in rows_of(lines, None)] == texts(lines)


LONG = 300_000


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "long.log"
    with path.open("w") as log:
        for i in range(LONG):
            what = "ValueError: needle" if i in (1_000, 150_000) else f"iter {i}, samples/s: 380.0"
            log.write(f"{what} {'x' * 60} end of {i}\n")
    return path


async def opened(pilot: Pilot[None], path: Path) -> LogPanel:
    panel = pilot.app.query_one(LogPanel)
    panel.show(path, "Log", none="", empty="", ended=False)
    await read(pilot)
    panel.focus()
    return panel


async def test_a_search_shows_the_line_wherever_it_is_and_counts_what_comes_meanwhile(
    long_log: Path,
) -> None:
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        panel.search("NEEDLE")
        await read(pilot)
        assert "ValueError: needle" in words(panel), "from the end on to the top"
        assert "iter 1001," in words(panel)
        assert not panel.following
        assert "NEEDLE · on from the top · 1 of 2" in str(panel.border_subtitle)
        await pilot.press("n")
        await read(pilot)
        assert "iter 150001," in words(panel)
        await pilot.press("N")
        await read(pilot)
        assert "iter 1001," in words(panel)
        await pilot.press("e")
        await read(pilot)
        assert "iter 150001," in words(panel)
        await pilot.press("E", "E")
        await read(pilot)
        assert len(panel._lines) < 5_000, "a part of the log is held, not all of it"
        panel.toggle_follow()
        await read(pilot)
        assert f"iter {LONG - 1}," in words(panel)
        assert panel.following


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("width", "filler"), [(40, "x"), (40, "\u7f51"), (61, "x"), (120, "x")])
async def test_what_a_search_found_is_in_sight(
    width: int, filler: str, wrapped: bool, tmp_path: Path
) -> None:
    """However far right in its line, and however many rows the line has."""
    path = tmp_path / "a.log"
    lengths = [0, 1, 10, 24, 30, 35, 39, 40, 58, 59, 80, 119, 500, 3_000, 7, 300, 0]
    lines = [f"{filler * n} needle {filler * (n % 50)}".strip() for n in lengths]
    path.write_text("".join(f"{line}\n{'y ' * 50}\n" * 3 for line in lines), encoding="utf-8")
    async with Bench().run_test(size=(width, 12)) as pilot:
        panel = await opened(pilot, path)
        panel.show(path, "Log", none="", empty="", ended=True)
        await read(pilot)
        if wrapped:
            await pilot.press("w")
        panel.search("needle")
        await read(pilot)
        for key in (*["n"] * 3 * len(lines), *["N"] * 7):
            rows = panel._rows[panel._top : panel._top + panel.size.height]
            own = [y for y, row in enumerate(rows) if panel._lines[row.line].start == panel._match]
            shown = words(panel).splitlines()
            assert "needle" in "".join(shown[y][GUTTER:].rstrip() for y in own)
            await pilot.press(key)
            await read(pilot)


async def test_what_is_nowhere_is_said(long_log: Path) -> None:
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        shown = words(panel)
        panel.search("nowhere to be seen")
        await read(pilot)
        assert "nothing found: nowhere to be seen" in str(panel.border_subtitle)
        assert words(panel) == shown
        assert panel.following, "as before"
        assert panel.check_action("again", (1,)), "it goes on, and may have it yet"
        panel.screen.set_focus(None)
        await read(pilot)
        assert "following" in str(panel.border_subtitle)
        panel.focus()
        panel.show(long_log, "log", none="", empty="", ended=True)
        await read(pilot)
        panel.search("nowhere to be seen")
        await read(pilot)
        assert not panel.check_action("again", (1,))
        assert panel.check_action("error", (1,))
        panel.search("iter")
        await read(pilot)
        assert panel.check_action("again", (1,))


async def test_errors_that_are_nowhere_leave_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"iter {i}\n" for i in range(300)))
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, path)
        panel.show(path, "Log", none="", empty="", ended=True)
        await read(pilot)
        panel.search("iter 7")
        await read(pilot)
        assert "iter 7 · on from the top · 1 of 11 · f to the end" in str(panel.border_subtitle)
        await pilot.press("e")
        await read(pilot)
        assert "no line looks like an error" in str(panel.border_subtitle)
        await pilot.press("n")
        await read(pilot)
        assert "iter 7 · 2 of 11" in str(panel.border_subtitle)


def first_number(panel: LogPanel) -> int:
    """Of the iteration in the first line that is in sight."""
    line = next(line for line in words(panel).splitlines() if line[GUTTER:].startswith("iter"))
    return int(line.split()[1].strip(","))


async def test_reading_back_goes_on_to_the_first_line_of_the_file_and_to_the_last(
    long_log: Path,
) -> None:
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        for _ in range(3):
            panel.scroll_to(y=0, animate=False, immediate=True, force=True)
            before = first_number(panel)
            await pilot.press("pageup")
            await read(pilot)
            assert first_number(panel) < before, "earlier than what was read"
        await pilot.press("g")
        await read(pilot)
        assert "iter 0," in words(panel).splitlines()[0]
        panel.scroll_end(animate=False, immediate=True)
        last = panel._lines[-1]
        await pilot.press("j")
        await read(pilot)
        assert panel._lines[-1].start > last.start
        assert last.text[:20] in words(panel)
        await pilot.press("G")
        await read(pilot)
        assert f"iter {LONG - 1}," in words(panel)


async def test_lines_are_wrapped_and_cut_though_none_is_there(long_log: Path) -> None:
    """It is held, and the file is about to be read anew."""
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        await pilot.press("g", "w")
        await read(pilot)
        assert not panel.following
        panel._lines.clear()
        panel._lay_out()
        await pilot.press("w", "w")
        await pilot.pause()


async def test_a_cut_line_is_marked_and_wrapping_shows_all_of_it(long_log: Path) -> None:
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        assert all(row.endswith("\u203a") for row in words(panel).splitlines())
        await pilot.press(*("l",) * 5)
        await pilot.pause()
        assert all(row[GUTTER:].startswith("\u2039") for row in words(panel).splitlines())
        await pilot.press("w")
        await pilot.pause()
        shown = words(panel)
        assert f"end of {LONG - 1}" in shown
        assert "\u203a" not in shown
        assert "\u2039" not in shown
        await pilot.press("w")
        await pilot.pause()
        assert "\u203a" in words(panel)


@given(
    lengths=st.lists(st.integers(0, 400), min_size=30, max_size=60),
    wide=st.booleans(),
    wrapped=st.booleans(),
    back=st.integers(1, 80),
    sizes=st.lists(st.tuples(st.integers(20, 220), st.integers(6, 30)), min_size=1, max_size=5),
)
@settings(max_examples=6, deadline=None)
async def test_the_first_line_of_a_held_log_is_the_same_whatever_the_widths(
    lengths: list[int], wide: bool, wrapped: bool, back: int, sizes: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        filler = "\u7f51" if wide else "x"
        path.write_text("".join(f"{i} {filler * n}\n" for i, n in enumerate(lengths)), "utf-8")
        async with Bench().run_test(size=(60, 12)) as pilot:
            panel = await opened(pilot, path)
            if wrapped:
                await pilot.press("w")
            await pilot.press(*("k",) * back)
            await pilot.pause()
            assert not panel.following
            before = words(panel).splitlines()[0]
            line = panel._rows[panel._top].line
            for width, height in (*sizes, (60, 12)):
                await pilot.resize_terminal(width, height)
                await pilot.pause()
                now = panel._rows[panel._top].line
                assert now == line or (now < line and panel.scroll_offset.y == panel.max_scroll_y)
            assert words(panel).splitlines()[0] == before


@pytest.mark.parametrize("width", [30, 60, 61, 140])
async def test_the_mark_of_a_cut_line_stands_beside_the_scrollbar_and_not_under_it(
    width: int, tmp_path: Path
) -> None:
    """As the terminal has it, not as the panel renders it."""
    path = tmp_path / "a.log"
    length = width - 6  # some fit, some do not
    lines = [f"{i:03d} {'x' * (length + i % 9)}" for i in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    async with Bench().run_test(size=(width, 24)) as pilot:
        await opened(pilot, path)
        seen = screen_text(pilot.app).splitlines()
        shown = [(line, row) for row in seen for line in lines if line[:4] in row]
        assert len(shown) > 10
        for line, row in shown:
            assert (line in row) is ("\u203a" not in row), row


async def test_while_a_long_log_is_searched_the_console_goes_on(
    long_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    real = Search.after

    def slow(search: Search, place: int, *, beyond: bool = False) -> int | None:
        goes_on.wait()
        return real(search, place, beyond=beyond)

    monkeypatch.setattr(Search, "after", slow)
    async with Bench().run_test(size=(60, 12)) as pilot:
        panel = await opened(pilot, long_log)
        panel.search("needle")
        await pilot.press("k", "k")
        assert "looking for needle" in str(panel.border_subtitle)
        assert "iter" in words(panel)
        goes_on.set()
        await read(pilot)
        assert "ValueError: needle" in words(panel)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[1,3]<stdout>:loss 4", 3),
        ("Wed Jun  1 10:54:24 2022[1,12]<stderr>:NCCL", 12),
        ("[default5]:iter 20", 5),
        ("[rank7]:[E1123 watchdog", 7),
        (" 2: samples/s 383", 2),
        ("train: epoch 0, iter 20", None),
        ("[2026-11-23 12:00:00] iter", None),
        ("", None),
    ],
)
def test_the_rank_of_a_line_is_what_its_launcher_wrote_before_it(
    line: str, rank: int | None
) -> None:
    assert rank_of(line) == rank


async def test_the_lines_of_one_rank_are_followed_alone_and_a_search_finds_those_of_others(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_text("launched\n" + "".join(f"[1,{n % 4}]<stdout>:iter {n}\n" for n in range(40)))
    async with Bench().run_test(size=(60, 20)) as pilot:
        panel = await opened(pilot, path)
        panel.show_rank(2)
        assert "rank 2" in str(panel.border_title)
        assert [line.split(">:")[1] for line in words(panel).splitlines() if line] == [
            f"iter {n}" for n in range(2, 40, 4)
        ]
        with path.open("a") as log:
            log.write("[1,1]<stdout>:needle\n[1,2]<stdout>:iter 42\n")
        panel.show(path, "Log", none="", empty="", ended=False)
        await read(pilot)
        assert "iter 42" in words(panel)
        assert "needle" not in words(panel)
        panel.search("needle")
        await read(pilot)
        assert "needle" in words(panel)
        assert "rank 2" not in str(panel.border_title)
        panel.show_rank(9)
        assert "nothing of rank 9 here" in words(panel)
        panel.show_rank(None)
        assert "launched" in words(panel) or "iter 42" in words(panel)


@pytest.mark.parametrize("steps", [9, 5_000])
async def test_numbers_that_a_run_has_no_ranks_for_are_no_ranks(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"{n}: loss 3.2\n" for n in range(8)))
    async with Bench().run_test(size=(60, 20)) as pilot:
        panel = pilot.app.query_one(LogPanel)
        show = partial(panel.show, path, "Log", none="", empty="", ended=False, most_ranks=8)
        show()
        await read(pilot)
        assert panel.check_action("rank", ())
        panel.show_rank(3)
        with path.open("a") as log:
            log.writelines(f"{n}: loss 3.1\n" for n in range(8, steps))
        show()
        await read(pilot)
        assert not panel.check_action("rank", ())
        assert "rank" not in str(panel.border_title)
        assert f"{steps - 1}: loss" in words(panel)


async def test_a_rank_stays_chosen_over_a_look_back(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"[1,{n % 4}]<stdout>:iter {n}\n" for n in range(30_000)))
    async with Bench().run_test(size=(60, 20)) as pilot:
        panel = await opened(pilot, path)
        panel.show_rank(2)
        panel.action_scroll_home()
        await read(pilot)
        assert "iter 2\n" in words(panel)
        assert not panel.following
        panel.toggle_follow()
        await read(pilot)
        assert "rank 2" in str(panel.border_title)
        assert "iter 29998" in words(panel)
        assert "iter 29999" not in words(panel)


async def test_a_log_of_no_ranks_says_why_there_is_none_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("launched\n")
    async with Bench().run_test(size=(60, 20)) as pilot:
        panel = await opened(pilot, path)
        assert not panel.check_action("rank", ())
        assert panel.not_now("rank") == "no line of this log says which rank it is of"


@given(st.text("abc de:fg", max_size=200), st.integers(1, 60), st.integers(1, 9))
def test_why_there_is_no_log_is_wrapped_and_says_where_it_is_cut(
    words: str, width: int, height: int
) -> None:
    lines = [wrapped_line(words, y, width, height).plain for y in range(height)]
    assert all(len(line) <= width + 1 and line.startswith(" ") for line in lines)
    shown, said = "".join("".join(lines).split()), "".join(words.split())
    if shown != said:
        assert lines[-1].endswith("…")
        assert said.startswith(shown.removesuffix("…"))


async def test_the_reason_why_there_is_no_log_is_read_whole(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3", "G")
        tick(app)
        await settled(app)
        panel = app.screen.query_one(LogPanel)
        held = "held by another campaign of yours: root@vm, campaign nightly, run b, since 19:30"
        panel._lines, panel._rows, panel._none = [], [], f"No log yet: waiting for vm: {held}"
        panel.refresh()
        shown = words(panel)
        assert held in " ".join(shown.split())
        chart = app.screen.query_one(Chart)
        drawn = words(chart)
        assert any(line.startswith(" no reading yet") for line in drawn.splitlines()), drawn
