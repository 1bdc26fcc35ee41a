"""Lines as wide as they are, marked where they go on, or folded; as long as there are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from profiles.counted import counted
from tui.key_bindings import bindings
from tui.text import fitting
from tui.widgets.cut_marks import cropped
from tui.widgets.filter_table import set_frame

_CELL = re.compile(r"[^\s,|](?:[^\s,|]| (?=[^\s,|])|,(?=\d{3}))*")
"""Of a table, aligned or in markdown."""
LEAST = 8
"""Columns that a beginning of what a text is about takes."""
CSV_CELL = re.compile(r'"[^"]*"|[^",]+')


def folded(line: Text) -> Text:
    """The line, which is to be folded between its words at the width that there is."""
    line.no_wrap = False
    return line


def _without_cut_figures(
    line: Text, first: int, last: int, most: int, cells: re.Pattern[str] = _CELL
) -> Text:
    """Dots in the place of a cell with digits, of ``most`` columns or less, of which the edges at
    the columns ``first`` and ``last`` would leave a part: half a figure is another one."""
    width = line.cell_len
    edges = [*([first] if first else []), *([last - 1] if width > last else [])]
    for cell in reversed([*cells.finditer(line.plain)] if edges else []):
        begin, end = (cell_len(line.plain[:at]) for at in cell.span())
        cut = end - begin <= most and any(begin <= edge < end for edge in edges)
        if cut and any(map(str.isdigit, cell[0])):
            line = Text.assemble(line[: cell.start()], "…" * (end - begin), line[cell.end() :])
    return line


class TextLines(ScrollView, can_focus=True):
    """Goes sideways by half of its width, since tables are wide and their cells are not."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="panel")
        self._given: Sequence[Text] = ()
        self._lines: list[Text] = []
        self._about = ""
        self._headings: Sequence[tuple[int, str]] = ()
        self._cells = _CELL

    @property
    def _width(self) -> int:
        """Beside the scrollbar, which stands over what is behind it."""
        return self.scrollable_content_region.width

    def show(
        self,
        lines: Sequence[Text],
        *,
        stay: bool = False,
        csv: bool = False,
        headings: Sequence[tuple[int, str]] = (),
    ) -> None:
        """From the top; ``stay``: where it was read, for it is the same text with other figures.
        ``headings``: of columns, with where they end."""
        self._given, self._cells, self._headings = lines, CSV_CELL if csv else _CELL, headings
        self._lay_out()
        if not stay:
            self.scroll_home(animate=False)
        self.on_resize()  # the scrollbar comes and goes

    def _lay_out(self) -> None:
        width, console = self._width, self.app.console
        self._lines = [
            part
            for line in self._given
            for part in (line.wrap(console, width) if line.no_wrap is False and width else (line,))
        ]
        widest = max((line.cell_len for line in self._lines), default=0)
        self.virtual_size = Size(widest, len(self._lines))
        self.refresh()

    def entitle(self, about: str) -> None:
        """In the frame, with the columns of tables at the right that are not in sight, or which
        characters of a line are where that is not all."""
        self._about = about
        first, room, widest = self.scroll_offset.x, self._width, self.virtual_size.width
        if 0 < room < widest:
            more = f" · characters {first + 1} to {min(first + room, widest)} of {widest}: ← →"
            last = first + room - (first + room < widest)  # where the mark of the edge stands
            if right := dict.fromkeys(name for end, name in self._headings if end > last):
                more = f" · {'← ' * (first > 0)}→ {counted(len(right), 'more column')}: "
                more += fitting([*right], room - cell_len(more) - 2, ", ")
            left = room - cell_len(more) - 2
            said = fitting(about.split(", "), left, ", ") if left >= LEAST else ""
            about = (said + more).removeprefix(" · ")
        set_frame(self, about)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self._lay_out()
        self.entitle(self._about)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        self.entitle(self._about)

    def render_line(self, y: int) -> Strip:
        base, (across, down) = self.rich_style, self.scroll_offset
        number = y + down
        line = self._lines[number] if number < len(self._lines) else Text()
        # Of a longer one no step sideways shows all between the marks of its edges.
        most = self._width - self.size.width // 2 - 1
        line = _without_cut_figures(line, across, across + self._width, most, self._cells)
        strip = Strip(line.render(self.app.console), line.cell_len)
        return cropped(strip.apply_style(base), across, self._width, base)

    def action_scroll_left(self) -> None:
        self.scroll_relative(x=-(self.size.width // 2), animate=False)

    def action_scroll_right(self) -> None:
        self.scroll_relative(x=self.size.width // 2, animate=False)
