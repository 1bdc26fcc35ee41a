"""Only cells that differ from what the terminal shows go to it.

Textual sends whole widgets again, and every line of the screen when a dialog opens or leaves; over
a slow SSH connection the operator waits for each of these bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import cast

from rich.cells import get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.control import Control
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Size
from textual.strip import Strip

Cell = tuple[str, Style | None]
NEAR = 6
"""Cells that have not changed and yet are sent: going on behind them would take as many bytes."""


class Painted:
    """What the terminal shows, by line; of a cell where that is not known, None."""

    def __init__(self) -> None:
        self._size = Size(0, 0)
        self._lines: list[list[Cell | None]] = []
        self._whole: list[Strip | None] = []  # of a line that was painted in one piece

    def forget(self) -> None:
        """Somebody else may have written there: all of it is sent again."""
        self._size = Size(0, 0)

    def only_changes(self, update: RenderableType | None) -> RenderableType | None:
        """The same picture for fewer bytes; of other than Textual's two updates itself."""
        if isinstance(update, (LayoutUpdate, ChopsUpdate)):
            return cast(RenderableType, _Changes(self, update))
        return update

    def begin(self, size: Size) -> None:
        if size != self._size:
            self._size = size
            self._lines = [[None] * size.width for _ in range(size.height)]
            self._whole = [None] * size.height

    def put(self, y: int, x: int, strip: Strip) -> Iterator[tuple[int, Sequence[Cell] | Strip]]:
        """Note what is painted on line ``y`` from column ``x`` on; gives columns and what to send
        there."""
        known = 0 <= y < len(self._lines)
        if known and strip == self._whole[y]:
            return
        if not known or not all(_plain(text) for text, _, _ in strip):
            if known:  # terminals do not agree how wide such characters are
                self._whole[y] = None
                self._lines[y][x:] = [None] * max(0, len(self._lines[y]) - x)
            yield x, strip
            return
        self._whole[y] = strip if x == 0 and strip.cell_length == self._size.width else None
        cells: list[Cell] = []
        for text, meant, _ in strip:
            style = visible(meant)
            blank = _blank(style)
            cells.extend((character, blank if character == " " else style) for character in text)
        line = self._lines[y]
        before = line[x : x + len(cells)]
        if before == cells:
            return
        line[x : x + len(cells)] = cells
        for start, end in _differing(before, cells):
            yield x + start, cells[start:end]


class _Changes(CompositorUpdate):
    """Stands in for an update. Nothing is noted before it is rendered, which may not happen."""

    def __init__(self, painted: Painted, update: LayoutUpdate | ChopsUpdate) -> None:
        self._painted = painted
        self._update = update

    def render_segments(self, console: Console) -> str:
        if isinstance(self._update, LayoutUpdate):
            self._painted.begin(self._update.region.size)
        colours = console._color_system or ColorSystem.TRUECOLOR
        parts: list[str] = []
        style: Style | None = None  # which the terminal is left with, wherever the cursor goes
        for y, x, strip in _pieces(self._update):
            for column, sent in self._painted.put(y, x, strip):
                parts.append(Control.move_to(column, y).segment.text)
                if isinstance(sent, Strip):
                    parts += _change(style, None, colours), sent.render(console)
                    style = None
                else:
                    style = _render(sent, style, colours, parts)
        return "".join([*parts, _change(style, None, colours)])


def _pieces(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """(line, column, strip) of all that Textual would send."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield y, update.region.x, Strip.join(strips)
        return
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x > x2 or end <= x1:
                continue
            inside = x2 > x >= x1 and end <= x2
            yield y, x, strip if inside else strip.crop(0, min(end, x2) - x)


@lru_cache(maxsize=4096)
def visible(style: Style | None) -> Style | None:
    """Without what a click there means."""
    if style is None or not style._meta or style.link:
        return style
    return style.clear_meta_and_links()


@lru_cache(maxsize=4096)
def _plain(text: str) -> bool:
    """Whether each character takes one column."""
    return text.isascii() or all(get_character_cell_size(character) == 1 for character in text)


def _differing(before: Sequence[Cell | None], after: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Where they differ, as (start, end); what lies near to each other is one."""
    start = end = -1
    for place, cell in enumerate(after):
        if place < len(before) and before[place] == cell:
            continue
        if start >= 0 and place - end > NEAR:
            yield start, end
            start = place
        start = place if start < 0 else start
        end = place + 1
    if start >= 0:
        yield start, end


def _render(
    cells: Sequence[Cell], before: Style | None, colours: ColorSystem, parts: list[str]
) -> Style | None:
    """Text and colours, behind ``parts``; where only the colour of the letters is another, only
    that is said. From the style ``before`` to the one that it gives."""
    for style, run in groupby(_with_spaces(cells), key=_style):
        parts.append(_change(before, style, colours))
        parts.extend(character for character, _ in run)
        before = style
    return before


@lru_cache(maxsize=4096)
def _change(before: Style | None, now: Style | None, colours: ColorSystem) -> str:
    """What takes a terminal from one style to another."""
    if before is not None and before == now:
        return ""
    if now is None:
        return "\x1b[0m" if before is not None else ""
    if before is not None and now.color is not None and _ground(before) == _ground(now):
        return f"\x1b[{';'.join(now.color.downgrade(colours).get_ansi_codes())}m"
    return f"\x1b[0;{Strip.render_ansi(now, colours)}m".replace(";m", "m")


def _ground(style: Style) -> tuple[object, ...]:
    """All of a style but the colour of the letters."""
    return style.bgcolor, style._attributes & style._set_attributes


def _style(cell: Cell) -> Style | None:
    return cell[1]


def _with_spaces(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Spaces between words have the words' colour where that cannot be seen, so as not to part
    them."""
    current: Style | None = None
    for character, style in cells:
        if character != " " or current is None or _blank(current) != style:
            current = style
        yield character, current


@lru_cache(maxsize=4096)
def _blank(style: Style | None) -> Style | None:
    """The style of a space: what can be seen of it."""
    if style is None or style.underline or style.reverse or style.strike or style.link:
        return style
    return Style(bgcolor=style.bgcolor)
