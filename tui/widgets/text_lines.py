"""Lines as wide as they are, marked where they go on; as long as there are."""

from __future__ import annotations

from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.key_bindings import bindings
from tui.widgets.cut_marks import cropped


class TextLines(ScrollView, can_focus=True):
    """Goes sideways by half of its width, since tables are wide and their cells are not."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="panel")
        self._lines: list[Text] = []

    def show(self, text: Text) -> None:
        self._lines = list(text.split(allow_blank=True))
        widest = max((line.cell_len for line in self._lines), default=0)
        self.virtual_size = Size(widest, len(self._lines))
        self.scroll_home(animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        base, (across, down) = self.rich_style, self.scroll_offset
        number = y + down
        line = self._lines[number] if number < len(self._lines) else Text()
        strip = Strip(line.render(self.app.console), line.cell_len)
        return cropped(strip.apply_style(base), across, self.size.width, base)

    def action_scroll_left(self) -> None:
        self.scroll_relative(x=-(self.size.width // 2), animate=False)

    def action_scroll_right(self) -> None:
        self.scroll_relative(x=self.size.width // 2, animate=False)
