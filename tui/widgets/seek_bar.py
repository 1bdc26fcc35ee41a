"""Where a replay is in the time that was recorded, in a line, with what went wrong when."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from tui.theme import ACCENT, BAD, MUTED, WARN

LEAST = 12
"""Columns of the time itself, below which it tells nothing."""
KEYS = " [ ] run  { } 30s "
FAILED, FOUND = "✗", "▲"
SHARE = 3
"""The keys are named where the time has as many times their columns."""


@dataclass(frozen=True, slots=True)
class SeekBar:
    """``at``: of the time, 0 to 1. ``failed``, ``found``: where runs failed, or were found to hang
    or to have a slow rank."""

    at: float
    failed: tuple[float, ...] = ()
    found: tuple[float, ...] = ()


def seek_bar(bar: SeekBar, room: int) -> Text:
    """At most ``room`` columns of ``━━━✗━━┃┄┄▲┄┄``: what is past, where it is, and what is to come;
    a sign stands also where it is. Nothing, where there is no room."""
    text = Text(no_wrap=True, end="")
    keys = KEYS if room >= SHARE * len(KEYS) else ""
    width = room - len(keys) - 2
    if width < LEAST:
        return text
    here = _column(bar.at, width)
    signs = dict.fromkeys((_column(t, width) for t in bar.found), (FOUND, WARN))
    signs |= dict.fromkeys((_column(t, width) for t in bar.failed), (FAILED, BAD))
    text.append(keys, MUTED).append(" ")
    for column in range(width):
        line = ("┃", ACCENT) if column == here else ("━", ACCENT) if column < here else ("┄", MUTED)
        text.append(*signs.get(column, line))
    return text.append(" ")


def _column(share: float, width: int) -> int:
    return min(width - 1, max(0, int(share * width)))
