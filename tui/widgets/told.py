"""What was said last, where it covers nothing that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from textual.notifications import Notification, Notifications
from textual.timer import Timer
from textual.widgets import Static

from tui.messages import PASSING
from tui.text import shorten
from tui.theme import ACCENT, BAD, TEXT, WARN

_COLOURS = {"information": ACCENT, "warning": WARN, "error": BAD}
_NO_CONSOLE = Console(width=1, color_system=None)
EDGE = 3
"""Columns of its mark and the room at both sides."""


class Told(Static):
    """Above what else is on the screen. A click takes it away."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.display = False
        self._over: Timer | None = None
        self.columns = 0
        """That it takes; 0: nothing is said."""

    def show(self, said: Notifications, room: int, lines: int) -> int:
        """``room``: columns that are free there; ``lines``: for words that pass. Returns how many
        lines it takes."""
        if self._over is not None:
            self._over.stop()
        shown = list(said)
        text = told_text(shown, room - EDGE, lines)
        self.display = bool(text)
        shown_lines = text.plain.splitlines()
        self.columns = max((cell_len(line) + EDGE for line in shown_lines), default=0)
        if not text:
            return 0
        self._over = self.set_timer(
            max(0.0, min(one.time_left for one in shown)), self.app._refresh_notifications
        )
        gravest = max((one.severity for one in shown), key=list(_COLOURS).index)
        self.styles.border_left = ("outer", _COLOURS[gravest])
        self.styles.max_width = room
        self.update(text)
        return text.plain.count("\n") + 1

    def on_click(self) -> None:
        self.app.clear_notifications()


def fits_a_line(said: Iterable[Notification], room: int) -> bool:
    """All of it, in that many columns with its mark."""
    told = [_words(one) for one in said]
    return len(told) <= 1 and all(
        one.cell_len <= room - EDGE and "\n" not in one.plain for one in told
    )


def told_text(said: Sequence[Notification], width: int, lines: int) -> Text:
    """Words that pass in at most so many ``lines``, the last ones where they are too many;
    problems below them, whole."""
    if width < 1:
        return Text()
    passing = [one for one in said if one.severity == PASSING][-lines:]
    told: list[Text] = []
    for behind, one in zip(range(len(passing) - 1, -1, -1), passing, strict=True):
        told += _within(_words(one), width, lines - len(told) - behind)
    for one in said:
        if one.severity != PASSING:
            told += _words(one).wrap(_NO_CONSOLE, width)
    for line in told:
        line.rstrip()
    return Text("\n").join(told)


def _words(one: Notification) -> Text:
    heading = f"{one.title}: " if one.title else ""
    return Text.assemble((heading, _COLOURS[one.severity]), (one.message, TEXT))


def _within(words: Text, width: int, lines: int) -> list[Text]:
    wrapped = list(words.wrap(_NO_CONSOLE, width))
    if len(wrapped) > lines:
        rest = words.plain
        for line in wrapped[: lines - 1]:  # a long name is broken, and no space is in it
            rest = rest[rest.index(line.plain.strip()) + len(line.plain.strip()) :]
        rest = " ".join(rest.split())
        cut = _ending_in_path if "/" in rest.rpartition(" ")[2] else shorten
        wrapped[lines - 1 :] = [Text(cut(rest, width), TEXT)]
    return wrapped


def _ending_in_path(words: str, width: int) -> str:
    """A file's name is the end of its path: of that the beginning goes, and before it as many whole
    words as the name leaves room for."""
    before, _, path = words.rpartition(" ")
    name = path[path.rindex("/") :]
    while before and cell_len(f"{before} …{name}") > width:
        before = before.rpartition(" ")[0]
    room = width - (cell_len(before) + 1 if before else 0)
    return f"{before} {shorten(path[::-1], room)[::-1]}".lstrip()
