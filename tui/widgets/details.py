"""Text about one thing, in a frame, scrollable."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tui.key_bindings import bindings
from tui.widgets.filter_table import set_frame


class Details(VerticalScroll, can_focus=True):
    """Shows what it is given; the scroll stays while the title does."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def __init__(self, title: str, *, id: str = "details") -> None:
        super().__init__(id=id, classes="panel")
        self._title = title
        self._text = Text()

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def on_mount(self) -> None:
        set_frame(self, self._title)

    def show(self, title: str, text: Text) -> None:
        if title != self._title:
            self.scroll_home(animate=False)
            self._title = title
            set_frame(self, title)
        if text.plain != self._text.plain or text.spans != self._text.spans:
            self._text = text
            self.query_one(Static).update(text)
