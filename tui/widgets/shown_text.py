"""Text in a widget of its own, which changes as the console is used."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from rich.console import RenderableType
from rich.style import Style as RichStyle
from rich.text import Text
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, RichVisual
from textual.widget import Widget
from textual.widgets import Static

from tui.text import Hanging

WIDTHS_KEPT = 4
_HEADING = "heading"


def heading_style(name: str) -> RichStyle:
    """Of a heading which :meth:`RenderedOnce.headings` finds; "": of none."""
    return RichStyle(meta={_HEADING: name}) if name else RichStyle.null()


class Heading(NamedTuple):
    """``start``, ``end``: the characters of its line, from one to before another."""

    name: str
    line: int
    start: int
    end: int


class RenderedOnce(RichVisual):
    """Tables and the like. Textual renders them for each question how many lines they take, with a
    scroll bar beside them and without, and again to show them; here once for a width."""

    def __init__(self, widget: Widget, renderable: RenderableType) -> None:
        super().__init__(widget, renderable)
        self._rendered: dict[tuple[int, Style], list[Strip]] = {}
        self.marked: tuple[int, int, int] | None = None
        """A line, and the characters of it that stand out: from one to before another."""

    def lines(self, width: int) -> list[str]:
        style = self._widget.visual_style
        options = RenderOptions(self._widget._get_style, self._widget.styles.get_rules())
        return [strip.text for strip in self.render_strips(width, None, style, options)]

    def headings(self, width: int) -> list[Heading]:
        """In the order in which they are read: where there are columns, the first column first."""
        style = self._widget.visual_style
        options = RenderOptions(self._widget._get_style, self._widget.styles.get_rules())
        found: dict[tuple[str, int], Heading] = {}
        for line, strip in enumerate(self.render_strips(width, None, style, options)):
            start = 0
            for text, segment_style, _ in strip:
                name = segment_style.meta.get(_HEADING) if segment_style is not None else None
                if name and text.strip():
                    end = start + len(text.rstrip())
                    found.setdefault((name, start), Heading(name, line, start, end))
                start += len(text)
        return sorted(found.values(), key=lambda one: (one.start, one.line))

    def get_height(self, rules: RulesMap, width: int) -> int:
        style = self._widget.visual_style
        options = RenderOptions(self._widget._get_style, rules)
        return len(self.render_strips(width, None, style, options))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        if (width, style) not in self._rendered:
            while len(self._rendered) >= WIDTHS_KEPT:
                del self._rendered[next(iter(self._rendered))]
            self._rendered[width, style] = super().render_strips(width, None, style, options)
        strips = self._rendered[width, style][:height]
        if self.marked is not None and self.marked[0] < len(strips):
            line, start, end = self.marked
            strips = [*strips[:line], _marked(strips[line], start, end), *strips[line + 1 :]]
        return strips


def _marked(strip: Strip, start: int, end: int) -> Strip:
    """``start``, ``end``: characters, which may be two cells wide."""
    begins, ends = (cell_len(strip.text[:place]) for place in (start, end))
    found = strip.crop(begins, ends).apply_style(RichStyle(reverse=True))
    return Strip.join([strip.crop(0, begins), found, strip.crop(ends)])


class ShownText(Static):
    """Taken literally. The page is laid out again only where it takes another size, for that costs
    more than all else that a key does."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("", markup=False, id=id, classes=classes)
        self._said: Text | Hanging | None = None
        self._takes: tuple[int, int] | None = None

    def show(self, text: Text | Hanging) -> None:
        if text != self._said:
            self._said = text
            shown = RenderedOnce(self, text) if isinstance(text, Hanging) else text
            self.update(shown, layout=False)
            before, self._takes = self._takes, self._size_taken()
            if before != self._takes:
                self.refresh(layout=True)
        else:
            self.lay_out_whole()

    def lay_out_whole(self) -> None:
        """Where it has not got the lines that it takes."""
        if self._lacks_lines():
            self.refresh(layout=True)

    def _lacks_lines(self) -> bool:
        """What it takes was told, and it has not got it: a layout that is asked for while the page
        is behind another can be lost."""
        height = self.styles.height
        as_high = height is not None and height.is_auto and self.styles.max_height is None
        if not as_high or not all(one.display for one in self.ancestors_with_self):
            return False
        width, lines = self._size_taken()
        return bool(width) and lines != self.content_size.height

    def _size_taken(self) -> tuple[int, int]:
        """Columns and lines."""
        rules, width = self.styles.get_rules(), self.content_size.width
        if self.styles.width is not None and self.styles.width.is_auto:
            width = self.visual.get_optimal_width(rules, self.app.size.width)
        return width, self.visual.get_height(rules, width) if width else 0
