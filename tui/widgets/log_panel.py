"""A log that can be followed, or held still while it goes on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.key_bindings import bindings
from tui.text import count, join, plain
from tui.theme import GOOD, MUTED, WARN
from tui.widgets.filter_table import set_frame
from tui.widgets.log_tail import LogTail

MAX_LINES = 5_000


class LogPanel(ScrollView, can_focus=True):
    """Lines of one file. While it is held, new lines are counted and wait."""

    PANEL = "log"
    BINDINGS = bindings("log")

    def __init__(self) -> None:
        super().__init__(id="log", classes="panel")
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._waiting: deque[str] = deque(maxlen=MAX_LINES)
        self._unseen = 0
        self._width = 0
        self._tail: LogTail | None = None
        self._read_by: LogTail | None = None  # in a thread, at this moment
        self._title = "Log"
        self._empty = ""
        self._ended = False
        self.following = True

    @property
    def path(self) -> Path | None:
        return self._tail.path if self._tail else None

    def show(self, path: Path | None, title: str, *, empty: str, ended: bool) -> None:
        """Show a file; a different one than before starts at its end, followed."""
        if path != self.path:
            self._tail = LogTail(path) if path is not None else None
            self._lines.clear()
            self._waiting.clear()
            self._unseen = self._width = 0
            self._ended = False
            self.following = True
            self.virtual_size = Size(0, 0)
            self.scroll_home(animate=False, immediate=True, force=True)
        self._title, self._empty = title, empty
        if self._tail is None:
            self.refresh()
        elif self._read_by is not self._tail:  # else its file system takes its time
            self._read_by = self._tail
            self.run_worker(self._read(self._tail, ended=ended), group="log")
        self._retitle()

    async def _read(self, tail: LogTail, *, ended: bool) -> None:
        """In a thread: a file system that does not answer must not hold up the console."""
        try:
            lines = await asyncio.to_thread(tail.read)
        finally:
            if self._read_by is tail:
                self._read_by = None
        if tail is self._tail:
            self._take(tail, lines, ended=ended)
            self._retitle()

    def _take(self, tail: LogTail, lines: list[str], *, ended: bool) -> None:
        if ended and not self._ended and not lines:
            self._ended = True
            lines = tail.finish()
        if lines and not self._lines and tail.skipped_bytes:
            lines.insert(0, f"… {tail.skipped_bytes:,} bytes before: {plain(tail.path)}")
        if not lines:
            return
        if self.following:
            self._add(lines)
        else:
            self._waiting.extend(lines)
            self._unseen += len(lines)

    def _add(self, lines: Sequence[str]) -> None:
        self._lines.extend(lines)
        self._width = max(self._width, *(len(line) for line in lines))
        self.virtual_size = Size(self._width, len(self._lines))
        self._to_end()
        self.refresh()

    def _to_end(self) -> None:
        self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        if self.following:
            self._to_end()

    def _retitle(self) -> None:
        state: tuple[str, str]
        if not self.following:
            new = count(self._unseen, "new line")
            state = (f"held · {new}, press f to follow", WARN if self._unseen else MUTED)
        elif self._ended:
            state = (f"ended · {count(len(self._lines), 'line')}", MUTED)
        else:
            state = ("following", GOOD)
        set_frame(self, plain(self._title), join([state]) if self._lines else "")

    def toggle_follow(self) -> None:
        """Hold what is shown, or show what has come since and follow."""
        self.following = not self.following
        if self.following:
            waiting, self._unseen = list(self._waiting), 0
            self._waiting.clear()
            if waiting:
                self._add(waiting)
            self._to_end()
        self._retitle()

    def hold(self) -> None:
        """Reading back holds the log still."""
        if self.following and self._lines and self.max_scroll_y > 0:
            self.toggle_follow()

    def action_scroll_up(self) -> None:
        self.hold()
        super().action_scroll_up()

    def action_page_up(self) -> None:
        self.hold()
        super().action_page_up()

    def action_scroll_home(self) -> None:
        self.hold()
        super().action_scroll_home()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        if not self._lines:
            words = self._empty if y == 0 else ""
            text = Text(f" {plain(words)}" if words else "", MUTED, no_wrap=True, end="")
            strip = Strip(text.render(self.app.console), text.cell_len)
            return strip.crop_extend(0, width, base).apply_style(base)
        scroll_x, scroll_y = self.scroll_offset
        line = y + scroll_y
        words = self._lines[line] if line < len(self._lines) else ""
        return Strip([Segment(words, base)]).crop_extend(scroll_x, scroll_x + width, base)
