"""The console for NO_COLOR: not one colour, greys neither; https://no-color.org.

What stands out by its colour does so by what else a terminal has: reversed, bold, dim.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from tui.theme import ACCENT, BACKGROUND, LIGHTENED, LINE, MUTED, RAISED


def _both(*colours: str) -> frozenset[tuple[int, int, int]]:
    """In the dark palette and in the light one."""
    return frozenset(
        Color.parse(found).rgb for colour in colours for found in (colour, LIGHTENED[colour])
    )


_PLAIN_GROUND, _QUIET, _LOUD = _both(BACKGROUND, RAISED), _both(MUTED, LINE), _both(ACCENT)


class Colourless(LineFilter):
    """In place of Textual's own, which leaves greys."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, _colourless(style) if style is not None else None, control)
            for text, style, control in segments
        ]


@lru_cache(maxsize=4096)
def _colourless(style: Style) -> Style:
    ground = style.bgcolor.triplet if style.bgcolor is not None else None
    ink = style.color.triplet if style.color is not None else None
    return style.without_color + Style(
        reverse=True if ground is not None and ground not in _PLAIN_GROUND else None,
        dim=True if ink in _QUIET else None,
        bold=True if ink in _LOUD else None,
    )
