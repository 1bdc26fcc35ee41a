"""Scroll bars of whole cells.

Textual ends them with a part of a block, ``▌``: in a copy of the screen, and for a reader, that is
a mark without words.
"""

from __future__ import annotations

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender


class WholeCells(ScrollBarRender):
    """Across; down, where a line is two of these high, the parts stay."""

    HORIZONTAL_BARS: ClassVar[list[str]] = [ScrollBarRender.BLANK_GLYPH]


def end_scroll_bars_with_whole_cells() -> None:
    """In every application of this process."""
    ScrollBar.renderer = WholeCells
