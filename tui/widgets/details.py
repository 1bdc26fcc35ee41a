"""Text about one thing, in a frame, scrollable."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.widget import Widget

from profiles.counted import counted
from tui.key_bindings import bindings
from tui.text import Hanging, both_ends, plain
from tui.theme import MUTED
from tui.widgets.filter_table import BETWEEN, CORNERS, LEAST_TITLE, set_frame
from tui.widgets.shown_text import ShownText


def out_of_sight(panel: Widget, key: str, what: str = "") -> str:
    """How many lines are below what is seen of the panel, ``what`` among them, and how to come
    there; ``key`` gives it the focus. Empty where there are none."""
    below = int(panel.max_scroll_y - panel.scroll_y)
    keys = "↓" if panel.has_focus else f"{key}, then ↓"
    return f"{counted(below, 'more line')}{what}: {keys}" * (below > 0)


class Details(VerticalScroll, can_focus=True):
    """Shows what it is given; the scroll stays while the title does."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def __init__(self, title: str, *, id: str = "details", keys: str = "Tab") -> None:
        super().__init__(id=id, classes="panel")
        self._title = title
        self._shown = Hanging(Text())
        self.text = ""
        """What it shows."""
        self.keys = keys
        """That lead to it from the list."""

    def compose(self) -> ComposeResult:
        yield ShownText()

    def on_mount(self) -> None:
        self._frame()

    @property
    def said(self) -> tuple[str, Hanging]:
        """Its title, and what it shows as it is laid out."""
        return self._title, self._shown

    def _frame(self) -> None:
        hint = out_of_sight(self, self.keys)
        if hint and self.styles.border_bottom[0] in ("", "none"):  # no room below
            left = self.size.width - CORNERS - cell_len(BETWEEN + hint)
            title = both_ends(plain(self._title), max(LEAST_TITLE, left))
            set_frame(self, Text.assemble(title, (BETWEEN + hint, MUTED)))
        else:
            set_frame(self, self._title, hint)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:  # how much is out of sight is known then
            self.call_next(self._frame)
        return changed

    def on_resize(self) -> None:
        self.call_after_refresh(self._frame)

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._frame()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._frame()

    def show(self, title: str, text: Text) -> None:
        if title != self._title:
            self.scroll_home(animate=False)
            self._title = title
        self.text = text.plain
        self._shown = Hanging(text)
        self.query_one(ShownText).show(self._shown)
        self._frame()
        self.call_after_refresh(self._frame)  # how long it is is known then

    def show_whole(self) -> None:
        """What it shows, which has not become other: a layout that was lost is asked for again."""
        self.query_one(ShownText).lay_out_whole()
