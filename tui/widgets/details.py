"""Text about one thing, in a frame, scrollable."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tui.key_bindings import bindings
from tui.widgets.filter_table import set_frame
from tui.widgets.shown_text import ShownText


class Details(VerticalScroll, can_focus=True):
    """Shows what it is given; the scroll stays while the title does."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def __init__(self, title: str, *, id: str = "details") -> None:
        super().__init__(id=id, classes="panel")
        self._title = title
        self.text = ""
        """What it shows."""

    def compose(self) -> ComposeResult:
        yield ShownText()

    def on_mount(self) -> None:
        set_frame(self, self._title)

    def show(self, title: str, text: Text) -> None:
        if title != self._title:
            self.scroll_home(animate=False)
            self._title = title
            set_frame(self, title)
        self.text = text.plain
        self.query_one(ShownText).show(text)
