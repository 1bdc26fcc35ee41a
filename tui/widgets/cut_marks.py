"""Marks where a line goes on beyond what is shown of it."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme import ACCENT

CUT_LEFT, CUT_RIGHT = "‹", "›"


def cropped(strip: Strip, start: int, width: int, base: Style) -> Strip:
    """``width`` columns of a line from column ``start`` on, marked where it goes on."""
    length = strip.cell_length
    shown = strip.crop_extend(start, start + width, base)
    return marked(shown, base, left=start > 0 < length, right=length > start + width)


def marked(strip: Strip, base: Style, *, left: bool, right: bool) -> Strip:
    """The strip with a mark in the place of its first column, of its last one, or both."""
    style = base + Style(color=ACCENT)
    width = strip.cell_length
    if left:
        strip = Strip([Segment(CUT_LEFT, style), *strip.crop(1, width)], width)
    if right:
        strip = Strip([*strip.crop(0, width - 1), Segment(CUT_RIGHT, style)], width)
    return strip
