"""Words in the colours of the light theme."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from tui.theme import LIGHTENED

_LIGHTENED = {
    Color.parse(dark).rgb: Color.parse(light).rich_color for dark, light in LIGHTENED.items()
}


class Lightened(LineFilter):
    """Styles of words, charts and meters name the dark palette; here they become the light one's.

    What the style sheet paints has the light theme's colours already, and none of the dark ones.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, _lightened(style) if style is not None else None, control)
            for text, style, control in segments
        ]


@lru_cache(maxsize=4096)
def _lightened(style: Style) -> Style:
    return style + Style.from_color(_of(style.color), _of(style.bgcolor))


def _of(colour: RichColor | None) -> RichColor | None:
    if colour is None or colour.triplet is None:
        return colour
    return _LIGHTENED.get(colour.triplet, colour)
