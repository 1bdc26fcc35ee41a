"""A log that can be followed, held still while it goes on, and searched."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from profiles.counted import counted
from tui.key_bindings import bindings
from tui.text import join, plain
from tui.theme import ACCENT, GOOD, MUTED, WARN
from tui.typed_ahead import paint_soon
from tui.widgets.cut_marks import cropped
from tui.widgets.filter_table import set_frame
from tui.widgets.log_lines import (
    LogLine,
    Part,
    Place,
    Row,
    bytes_before,
    place_of,
    read_part,
    row_at,
    rows_of,
    wrapped_line,
)
from tui.widgets.log_ranks import MOST_RANKS, LogRanks
from tui.widgets.log_readings import COUNTS, IS_LEFT_OUT, LogReadings, figure_in_sight
from tui.widgets.log_search import (
    ERRORS,
    Search,
    Sought,
    brought_in,
    rows_before_hit,
    with_hits,
    words_sought,
)
from tui.widgets.log_tail import LogTail

MAX_LINES = 5_000
OLD_ONE_STAYS_S = 0.25
GUTTER = 1
"""Columns before a line, with the mark of its reading."""
_MARKED = {COUNTS: Style(color=ACCENT), IS_LEFT_OUT: Style(color=MUTED), "": Style.null()}
NOTHING_FOUND = "nothing found: "
NO_ERROR = "no line looks like an error"


class LogPanel(ScrollView, can_focus=True):
    """Lines of one file: its end, followed, or a part of it. While it is held, new lines are
    counted and wait."""

    PANEL = "log"
    BINDINGS = bindings("log")

    class Asked(Message):
        """What is to be looked for? ``before``: what was, the last time."""

        def __init__(self, before: str) -> None:
            super().__init__()
            self.before = before

    class RankAsked(Message):
        """Which rank's lines are to be shown? ``ranks``: those that there are."""

        def __init__(self, ranks: frozenset[int]) -> None:
            super().__init__()
            self.ranks = ranks

    def __init__(self) -> None:
        super().__init__(id="log", classes="panel")
        self._tail: LogTail | None = None
        self._opening: LogTail | None = None  # of the log that is to be shown, and was not read yet
        self._named = ("Log", "", "")  # title, and what stands there without a file, and a line
        self._read_by: LogTail | None = None  # in a thread, at this moment
        self._title, self._none, self._empty = self._named
        self._wrapped = False
        self._most_ranks = MOST_RANKS
        self._able: tuple[object, ...] = ()  # what can be done to it, as the footer has it
        self._search: Search | None = None  # in a thread, at this moment
        self._sought: Sought | None = None
        self._readings: LogReadings | None = None
        self._base: Style | None = None  # of what is painted now
        self._fitted: Size | None = None  # the size for which its lines were placed last
        self._begin_with(None)

    def _begin_with(self, tail: LogTail | None) -> None:
        """Its end, followed."""
        self._tail = tail
        self._lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._rows: list[Row] = []
        self._ranks = LogRanks(self._most_ranks)
        self._behind: int | None = None  # bytes behind the part that is shown; None: its end is
        self._waiting: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._unseen = 0
        self._ended = False
        self._said = ""  # of a search
        self._nowhere: Sought | None = None  # what the log has not, as far as it was written then
        self._match: int | None = None  # where the line begins that was found last
        self._place = Place()  # of the first row in sight, as it was last moved
        self.following = True

    @property
    def path(self) -> Path | None:
        return self._tail.path if self._tail else None

    def show(
        self,
        path: Path | None,
        title: str,
        *,
        none: str,
        empty: str,
        ended: bool,
        most_ranks: int = MOST_RANKS,
        readings: LogReadings | None = None,
    ) -> None:
        """Show a file; another one than before starts at its end, followed. What was shown stays
        until that has been read, so that the panel is painted once; but not for long. ``none``:
        what stands there where there is no such file; ``empty``: where no line is in it.
        ``readings``: of that file, where something is known of them."""
        self._named = title, none, empty
        self._most_ranks = most_ranks
        if path != (self._opening or self).path:
            self._opening = tail = LogTail(path) if path is not None else None
            if tail is None or not self._lines:
                self._open(tail)
            else:
                self.set_timer(OLD_ONE_STAYS_S, partial(self._open, tail))
        if readings is not self._readings:
            self._readings = readings
            if readings is not None and path is not None:
                self._find_window(readings, path)
        self._look(ended=ended)
        self._retitle()

    @work(group="log readings", exclusive=True, description="which readings of a log count")
    async def _find_window(self, readings: LogReadings, path: Path) -> None:
        with contextlib.suppress(OSError):  # it went away
            await asyncio.to_thread(readings.look, path)
        if readings is self._readings:
            self._retitle()
            self.refresh()

    def _open(self, tail: LogTail | None, lines: Sequence[LogLine] = ()) -> None:
        """In the place of what was shown until now, if it still is to be; ``lines``: its first."""
        if tail is self._opening and tail is not self._tail:
            self._opening = None
            self._stop_searching()
            self._begin_with(tail)
            self.scroll_home(animate=False, immediate=True, force=True)
            if not lines:
                self._lay_out()
                self._retitle()

    def _look(self, *, ended: bool) -> None:
        tail = self._opening or self._tail
        if tail is None:
            self.refresh()
        elif self._read_by is not tail:  # else its file system takes its time
            self._read_by = tail
            self.run_worker(self._read(tail, ended=ended), group="log")

    async def _read(self, tail: LogTail, *, ended: bool) -> None:
        """In a thread: a file system that does not answer must not hold up the console."""
        try:
            lines = await asyncio.to_thread(tail.read)
        finally:
            if self._read_by is tail:
                self._read_by = None
        first = tail is self._opening or not self._lines
        self._open(tail, lines)
        if tail is self._tail:
            self._take(tail, lines, ended=ended)
            self._retitle()
            if not self._lines:  # now it is known why
                self.refresh()
        if first and lines:  # somebody waits for it
            paint_soon(self.screen)

    def _take(self, tail: LogTail, lines: list[LogLine], *, ended: bool) -> None:
        if ended and not self._ended and (tail.at_end or not lines):
            self._ended = True
            lines = [*lines, *tail.finish()]
        if lines and not self._lines and tail.skipped_bytes:
            lines.insert(0, bytes_before(lines[0].start, tail.path))
        if not lines:
            return
        if self.following:
            self._add(lines)
        else:
            self._waiting.extend(lines)
            self._unseen += len(lines)

    def _add(self, lines: Sequence[LogLine]) -> None:
        self._lines.extend(lines)
        self._note_ranks(lines)
        self._lay_out()
        self._to_end()

    def _note_ranks(self, lines: Iterable[LogLine]) -> None:
        self._ranks.note([line.text for line in lines], lambda: (one.text for one in self._lines))

    # Where its lines stand ---------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """Beside the scrollbar, which stands over what is behind it."""
        return self.scrollable_content_region.width - GUTTER

    def _lay_out(self) -> None:
        width = max(1, self._width) if self._wrapped else None
        self._rows = list(rows_of(self._lines, width))
        if self._ranks.chosen is not None:
            own = [self._ranks.shows(line.text) for line in self._lines]
            self._rows = [row for row in self._rows if own[row.line]]
        longest = max((cell_len(row.text) for row in self._rows), default=0)
        size = Size(GUTTER + longest, len(self._rows))
        if size != self.virtual_size:
            # Not by assignment, which lays the whole page out again: the panel stays as it is.
            self.set_reactive(ScrollView.virtual_size, size)
            self._scroll_update(size)
        self.refresh()

    def _to_end(self) -> None:
        self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        if self._wrapped:
            self._lay_out()
        if self.following:
            self._to_end()
        elif self._rows:  # what is held stands still, as far as there are rows enough below it
            self._scroll_to_row(row_at(self._rows, self._place))
        self._fitted = self.size

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.size == self._fitted:  # else nobody moved it: it has another size
            self._note_place()

    def _note_place(self) -> None:
        if self._rows:
            self._place = place_of(self._rows, self._top)

    def _scroll_to_row(self, row: int, x: float | None = None) -> None:
        self.scroll_to(x, max(0, row), animate=False, immediate=True, force=True)

    def _retitle(self) -> None:
        if self._opening is None:
            self._title, self._none, self._empty = self._named
        state: tuple[str, str]
        on = "f to the end" if self._ended else "f follows"
        if self._search is not None and not self._said:
            state = (f"looking for {plain(self._search.sought.words)} …", ACCENT)
        elif self._said:
            state = (f"{plain(self._said)}{f' · {on}' * (not self.following)}", MUTED)
        elif not self.following:
            new = f"{counted(self._unseen, 'new line')} · " if self._unseen else ""
            state = (f"held · {new}{on}", WARN if self._unseen else MUTED)
        elif self._ended:
            state = (f"ended · {counted(len(self._lines), 'line')}", MUTED)
        else:
            state = ("following", GOOD)
        rank = self._ranks.chosen
        title = self._title if rank is None else f"{self._title} · rank {rank}"
        in_sight = self._rows[self._top : self._top + self.size.height]
        marks = not self._said and any(map(self._mark, in_sight))
        legend = [(f" · {COUNTS}", ACCENT), (f" counts {IS_LEFT_OUT} does not", MUTED)] * marks
        if not self._said and self._readings is not None and self._readings.unknown:
            legend = [(f" · {plain(self._readings.unknown)}", MUTED)]
        set_frame(self, plain(title), join([state, *legend]) if self._lines else "")
        names = ("search", "again", "error", "wrap", "rank")
        able = (self.following, *(self.check_action(name, ()) for name in names))
        if able != self._able and (self._lines or self._read_by is None):  # else it is about to be
            self._able = able
            self.refresh_bindings()

    # Following and holding -----------------------------------------------------------------------

    def toggle_follow(self) -> None:
        """Hold what is shown, or show what has come since and follow."""
        if not self.following and self._behind is not None:
            self._stop_searching()
            ranks = self._ranks
            self._begin_with(LogTail(self.path) if self.path else None)
            self._ranks = ranks
            self._lay_out()
            self._look(ended=False)
            return
        self.following = not self.following
        self._note_place()
        self._said = ""
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
        self._back(1, super().action_scroll_up)

    def action_page_up(self) -> None:
        self._back(self.size.height, super().action_page_up)

    def action_scroll_home(self) -> None:
        self.hold()
        if self._lines and self._lines[0].start > 0:
            self._go_to(0, top=True)
        else:
            super().action_scroll_home()

    def action_scroll_down(self) -> None:
        self._forth(super().action_scroll_down)

    def action_page_down(self) -> None:
        self._forth(super().action_page_down)

    def action_scroll_end(self) -> None:
        if self._behind:
            self.toggle_follow()
        else:
            super().action_scroll_end()

    def _back(self, rows: int, scroll: Callable[[], None]) -> None:
        """Up; from the first line that is here to those before it."""
        self.hold()
        if self.scroll_offset.y == 0 and self._lines and self._lines[0].start > 0:
            self._go_to(self._lines[0].start, rows_above=rows)
        else:
            scroll()

    def _forth(self, scroll: Callable[[], None]) -> None:
        if self._behind and self._lines and self.scroll_offset.y >= self.max_scroll_y:
            self._go_to(self._lines[-1].start, rows_above=self.size.height - 1)
        else:
            scroll()

    def action_rank(self) -> None:
        """Ask whose lines are to be shown."""
        self.post_message(self.RankAsked(self._ranks.known))

    def show_rank(self, rank: int | None) -> None:
        """The lines of this rank alone, or all."""
        self._ranks.chosen = rank
        self._lay_out()
        self._to_end()
        self._note_place()
        self._retitle()

    def action_wrap(self) -> None:
        """Long lines whole, on several rows, or cut."""
        top = self._rows[self._top].line if self._rows else 0
        self._wrapped = not self._wrapped
        self._lay_out()
        self.scroll_to(x=0, animate=False, immediate=True, force=True)
        if self.following:
            self._to_end()
        elif self._lines:
            self._scroll_to_line(top, 0)

    # Searching -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "search":
            return bool(self._lines)
        if action in ("error", "again"):
            sought = ERRORS if action == "error" else self._sought
            missing = self._ended and self._nowhere == sought
            return bool(self._lines) and sought is not None and not missing
        if action == "rank":
            return bool(self._ranks.known)
        if action == "wrap":
            return self._wrapped or self.virtual_size.width - GUTTER > self._width > 0
        return super().check_action(action, parameters)

    def never(self, action: str) -> str:
        return ""

    def not_now(self, action: str) -> str:
        if action == "rank" and self._lines:
            return "no line of this log says which rank it is of"
        if action in ("rank", "search", "error", "again") and not self._lines:
            return "the log has no line"
        if action == "again" and self._sought is None:
            return "/ says what is looked for"
        if action in ("error", "again"):
            return "no line of the log has it" if action == "again" else "no line tells of an error"
        return "no line is wider than the panel" if action == "wrap" else ""

    def action_search(self) -> None:
        """Ask for words, then find the next line that has them."""
        asked = self._sought is not None and self._sought is not ERRORS
        self.post_message(self.Asked(self._sought.words if self._sought and asked else ""))

    def search(self, words: str) -> None:
        """Show the next line that has the words."""
        self._seek(words_sought(words), forward=True)

    @property
    def searched(self) -> bool:
        """Something is looked for, or was."""
        return self._sought is not None or bool(self._said)

    def forget_search(self) -> None:
        """As if nothing had been looked for; the lines that are shown stay."""
        self._stop_searching()
        self._sought = self._match = None
        self._said = ""
        self._retitle()
        self.refresh()

    def action_again(self, direction: int) -> None:
        if self._sought is not None:
            self._seek(self._sought, forward=direction > 0)

    def action_error(self, direction: int) -> None:
        self._seek(ERRORS, forward=direction > 0)

    def _seek(self, sought: Sought, *, forward: bool) -> None:
        """From the line that was found last, where that is in sight, else from the first one."""
        self._stop_searching()
        if self.path is None or not self._rows:
            return
        followed, earlier = self.following, self._sought
        if followed:
            self.toggle_follow()
        height = max(1, self.size.height)  # 0 where the terminal has no room for it
        shown = self._rows[self._top : self._top + height]
        starts = [self._lines[row.line].start for row in shown]
        beyond = self._match in starts
        place = self._match if beyond and self._match is not None else starts[0]
        self._sought, self._said = sought, ""
        search = self._search = Search(self.path, sought)
        look = partial(search.all_round, place, beyond=beyond, forward=forward)
        self.run_worker(self._find(search, look, forward, followed, earlier), group="log search")
        self._retitle()

    def _stop_searching(self) -> None:
        if self._search is not None:
            self._search.stop()
            self._search = None

    async def _find(
        self,
        search: Search,
        look: Callable[[], tuple[int | None, bool]],
        forward: bool,
        followed: bool,
        earlier: Sought | None,
    ) -> None:
        """In a thread: a log may be long. What lies on the other side comes second, and which of
        how many it is last. Where nothing is found all is as it was: ``followed``, and what n goes
        on with ``earlier`` than errors."""
        words, found, wrapped, position = search.sought.words, None, False, None
        with contextlib.suppress(OSError):  # it went away
            found, wrapped = await asyncio.to_thread(look)
        if search is self._search and found is not None:
            self._match, end = found, "top" if forward else "end"
            self._said = f"{words}{f' · on from the {end}' * wrapped}"
            self._go_to(found, rows_above=self.size.height // 3)
            self._retitle()
            with contextlib.suppress(OSError):
                position = await asyncio.to_thread(search.position, found)
        if search is not self._search:
            return
        self._search = None
        if found is None:
            if followed and not self.following:
                self.toggle_follow()
            self._sought = earlier if search.sought is ERRORS else search.sought
            nothing = NO_ERROR if search.sought is ERRORS else f"{NOTHING_FOUND}{words}"
            self._said, self._nowhere = nothing, search.sought
        elif position is not None and self._said:
            self._said += f" · {position[0]:,} of {position[1]:,}"
        self._retitle()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        if not has_focus and self._said.startswith((NOTHING_FOUND, NO_ERROR)):
            self._said = ""
            self._retitle()

    # Other parts of the file ---------------------------------------------------------------------

    def _go_to(self, start: int, *, rows_above: int = 0, top: bool = False) -> None:
        """Show the line that begins at ``start``; read what lies around it where it is not here."""
        here = [n for n, line in enumerate(self._lines) if line.start == start]
        at_edge = not {0, len(self._lines) - 1}.isdisjoint(here)
        if here and not (at_edge and (self._lines[0].start or self._behind)):
            self._scroll_to_line(here[-1], 0 if top else rows_above)
        elif self.path is not None:
            shown = self._tail
            reading = partial(read_part, self.path, start)

            async def read() -> None:
                try:
                    part = await asyncio.to_thread(reading)
                except OSError:
                    return  # it went away; what is shown stays
                if shown is self._tail:
                    self._show_part(part, start, rows_above)

            self.run_worker(read(), group="log part", exclusive=True)

    def _show_part(self, part: Part, start: int, rows_above: int) -> None:
        path = self.path
        lines = list(part.lines)
        if part.before and lines and path is not None:
            lines.insert(0, bytes_before(part.before, path))
        self._lines = deque(lines)
        self._note_ranks(lines)
        self.following = False
        self._behind = part.behind
        self._lay_out()
        # The last one, for a word on what lies before begins there, too.
        here = max((n for n, line in enumerate(self._lines) if line.start <= start), default=0)
        self._scroll_to_line(here, rows_above)
        self._retitle()

    def _scroll_to_line(self, line: int, rows_above: int) -> None:
        if self._lines[line].start == self._match and not self._ranks.shows(self._lines[line].text):
            self.show_rank(None)  # what is looked for is another's
        last = max(0, len(self._rows) - 1)
        row = next((n for n, row in enumerate(self._rows) if row.line >= line), last)
        left = self.scroll_offset.x
        if self._sought is not None and self._lines[line].start == self._match:
            text = self._lines[line].text
            if self._wrapped:
                own = (one.text for one in self._rows[row:] if one.line == line)
                row += rows_before_hit(own, text, self._sought)
            else:
                left = brought_in(text, self._sought, left, self._width)
        self._scroll_to_row(row - rows_above, left)
        self._note_place()
        self.refresh()

    @property
    def _top(self) -> int:
        return min(self.scroll_offset.y, max(0, len(self._rows) - 1))

    # Drawing -------------------------------------------------------------------------------------

    def _why_empty(self) -> str:
        if self._tail is None:
            return self._none
        if not self._tail.looked:
            return ""
        return self._empty if self._tail.there else self._none

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style  # looked up once, and not for each line
        return super().render_lines(crop)

    def _mark(self, row: Row) -> str:
        if self._readings is None or row.line < 0:
            return ""
        return self._readings.mark(*self._lines[row.line])

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        row = self._rows[number] if number < len(self._rows) else Row(-1, "")
        mark = self._mark(row)
        base = self._base or self.rich_style
        gutter = Strip([Segment(mark or " ", base + _MARKED[mark])], GUTTER)
        return Strip.join([gutter, self._row(row, y)])

    def _row(self, row: Row, y: int) -> Strip:
        width = self._width
        base = self._base or self.rich_style
        if not self._rows:
            none = f"nothing of rank {self._ranks.chosen} here; r shows all"
            words = plain(none if self._lines else self._why_empty())
            text = wrapped_line(words, y, max(1, width - 2), self.size.height)
            strip = Strip(text.render(self.app.console), text.cell_len)
            return strip.crop_extend(0, width, base).apply_style(base)
        segments: Iterable[Segment] = [Segment(row.text, base)]
        if self._sought is not None and row.text:
            found = row.line >= 0 and self._lines[row.line].start == self._match
            segments = with_hits(row.text, self._sought, base, found=found)
        left = self.scroll_offset.x
        if left or self._wrapped or self._sought is not None or self._readings is None:
            return cropped(Strip(segments), left, width, base)
        return figure_in_sight(Strip(segments), self._readings.places(row.text), width, base)
