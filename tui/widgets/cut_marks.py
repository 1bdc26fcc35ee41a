"""Marks where a line goes on beyond what is shown of it."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme import ACCENT

CUT_LEFT, CUT_RIGHT = "‹", "›"
LEFT_OUT = "…"
"""Between two parts of a line."""


def cropped(strip: Strip, start: int, width: int, base: Style, *, before: str = CUT_LEFT) -> Strip:
    """``width`` columns of a line from column ``start`` on, marked where it goes on; with
    ``before`` for what is on the left."""
    length = strip.cell_length
    shown = strip.crop_extend(start, start + width, base)
    right = length > start + width
    return marked(shown, base, left=start > 0 < length, right=right, before=before)


def marked(strip: Strip, base: Style, *, left: bool, right: bool, before: str = CUT_LEFT) -> Strip:
    """The strip with a mark in the place of its first column, of its last one, or both."""
    style = base + Style(color=ACCENT)
    width = strip.cell_length
    if left:
        strip = Strip([Segment(before, style), *strip.crop(1, width)], width)
    if right:
        strip = Strip([*strip.crop(0, width - 1), Segment(CUT_RIGHT, style)], width)
    return strip
