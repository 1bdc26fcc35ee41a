"""A terminal that is lent to another console."""

from __future__ import annotations

import os
import pty
import termios

import pytest

from tui.lent_terminal import LFLAG, keys_unseen


@pytest.mark.parametrize("broken", [False, True])
def test_keys_are_not_written_over_it_and_do_not_break_it_until_it_is_given_back(
    broken: bool,
) -> None:
    ours, theirs = pty.openpty()
    try:
        before = termios.tcgetattr(theirs)
        assert before[LFLAG] & termios.ECHO
        try:
            with keys_unseen(theirs):
                quiet = termios.tcgetattr(theirs)[LFLAG]
                assert not quiet & (termios.ECHO | termios.ISIG)
                assert quiet & termios.ICANON
                if broken:
                    raise RuntimeError
        except RuntimeError:
            assert broken
        assert termios.tcgetattr(theirs) == before
    finally:
        os.close(ours)
        os.close(theirs)


def test_what_is_no_terminal_is_left_as_it_is() -> None:
    reading, writing = os.pipe()
    with keys_unseen(reading):
        pass
    os.close(reading)
    os.close(writing)
