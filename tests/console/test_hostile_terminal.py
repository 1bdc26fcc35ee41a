"""The whole console in a real terminal, over hosts, logs and campaigns that mean harm.

What the terminal receives is looked at byte by byte: nothing of the harm may come through.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.console.hostile_text import PIECES, WORD, copies, hostile_log, leaks
from tests.support.console_terminal import Terminal

pytestmark = pytest.mark.painted

ROOT = Path(__file__).resolve().parents[2]

# "o" opens the campaign that was left before its end, read-only.
RUNS = ("o", "j", "j", "v", "v", "v", "L", "enter", "G", "g", "escape", "z", "z", "/", "e")
PAST = (
    "enter",
    "escape",
    "N",
    "escape",
    "?",
    "escape",
    "4",
    "j",
    "j",
    "enter",
    "escape",
    "v",
    "c",
    "s",
)
# Every layout but the last ones, copied; then the two that are on disk side by side.
EXPORT = (
    "c",
    "s",
    "e",
    "y",
    "v",
    "y",
    "L",
    "f",
    "s",
    "p",
    "V",
    "V",
    "y",
    "enter",
    "escape",
    "escape",
)
COMPARE = (
    "O",
    "space",
    "j",
    "space",
    "c",
    "j",
    "v",
    "v",
    "c",
    "b",
    "r",
    "/",
    "E",
    "escape",
    "escape",
)
# "r" probes again, and the login asks two questions.
HOSTS = ("escape", "1", "j", "enter", "l", "j", "escape", "j", "r", "escape", "escape")
MATRIX = ("2", "d", "j", "escape", "o", "escape", "p", "escape", "tab", "j", "s", "escape", "k")
LOOK = (*RUNS, *PAST, *EXPORT, *COMPARE, "escape", *HOSTS, *MATRIX)
START = ("enter", "F", "escape")
LIVE = ("O", "escape", "v", "v", "f", "c", "escape", "C", "escape", "N", "escape")
LEAVE = ("4", "3", "ctrl+p", "escape", "escape", "escape", "q", "d")


SIZES = [(3, (120, 40)), *([(2, (80, 24))] if "DLPERF_BURSTS" in os.environ else [])]
"""``make fuzz`` tries the small one as well."""


@pytest.mark.parametrize(("seed", "size"), SIZES)
def test_nothing_that_means_harm_reaches_the_terminal(
    tmp_path: Path, seed: int, size: tuple[int, int]
) -> None:
    seed = int(os.environ.get("DLPERF_FUZZ_SEED", seed))
    program = [sys.executable, "-m", "tests.console.hostile_program", str(seed), str(tmp_path)]
    terminal = Terminal(program, size, tmp_path)
    try:
        assert terminal.told()
        assert terminal.shows(b"Nobody goes on with")
        terminal.press(LOOK)
        terminal.press(START)  # fails, with a hostile error
        assert not (tmp_path / "live").exists()
        terminal.press(START)
        terminal.press((*LIVE, *LEAVE))
        code = terminal.ends()
    finally:
        terminal.close()
    found = leaks(terminal.received)
    assert not found, found[:10]
    assert b"Traceback" not in terminal.received
    assert code == 0, terminal.received[-3000:]
    assert (tmp_path / "live").exists(), "no campaign was started"
    assert terminal.received.count(WORD.encode()) > 300, "the harm was not even shown"
    assert copies(terminal.received) == 3


def test_the_test_sees_what_would_do_harm() -> None:
    assert not leaks("\x1b[31;1mfine\x1b[0m\x1b[2;3H漢字 → \r\n".encode())
    harmless = ("[", "\\", "$", "EVIL", "\t", "\n", "\r", "e", "漢", "👩", "=", ".", "|")
    for piece in PIECES:
        if not piece.startswith(harmless):
            assert leaks(piece.encode("utf-8", "surrogatepass")), repr(piece)


def test_hostile_logs_hold_every_kind_of_byte() -> None:
    from random import Random  # noqa: PLC0415

    assert len(set(hostile_log(Random(0)))) == 256
