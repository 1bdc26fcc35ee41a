"""Questions and entries in a box over the page. Every text is taken literally."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Size
from textual.notifications import Notifications
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from profiles.errors import DlperfError
from tui.key_bindings import PANELS, bindings, hints, sign_of
from tui.key_types import Key
from tui.messages import Problem, Said
from tui.refused_keys import UNSEEN, idle
from tui.screens.front_screen import REFRESH_S, FrontScreen
from tui.screens.help import AllNotes, all_notes, help_of, said_of_panel, wide_enough
from tui.text import SMALL_WORDS, plain, problem, shorten
from tui.theme import ACCENT, MUTED
from tui.typed_ahead import typed_ahead
from tui.widgets.cut_marks import marked
from tui.widgets.details import out_of_sight
from tui.widgets.filter_table import BETWEEN, LEAST_TITLE, set_frame
from tui.widgets.keybar import offered
from tui.widgets.shown_text import Heading, RenderedOnce
from tui.widgets.told import fits_a_line

BOX, WIDE_BOX = 76, 112
MOST_WORDS = 32
"""Columns of a title for what is looked for."""
WIDEST = 96
"""Percent of the terminal's columns."""
FRAME = 6
"""Columns of a dialog, of a wide one, and those that its frame and the rounding take."""

LINE = BOX - FRAME - 1
"""Columns of what is written that are in sight, with the cursor behind them."""

Result = TypeVar("Result")


class Dialog(ModalScreen[Result | None], FrontScreen[Result | None], Generic[Result]):
    """A titled box with its keys in the lower frame; Esc leaves with None.

    ``AHEAD``: what may be done by a key that was typed before the dialog was there to be read.
    """

    PANEL = ""
    TOLD_LINES = 2
    AHEAD: ClassVar[frozenset[str]] = frozenset({"leave", "help"})

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._box: Vertical | None = None
        self._most: float = BOX
        self._finished = False
        self._result: Result | None = None

    def by_itself(self) -> Self:
        """Nobody asked for it: what was typed before it was drawn was meant for the page."""
        self.sight.uninvited = True
        return self

    def finish(self, result: Result | None = None) -> None:
        """Leave with a result: now, or when what lies on top has gone. Only the first one counts,
        for two keys may come before the screen has changed."""
        if not self._finished:
            self._finished, self._result = True, result
            self._leave_if_finished()

    @property
    def called(self) -> str:
        """As the frame names it, without what that says of it."""
        return self._title.partition(BETWEEN)[0]

    @property
    def here(self) -> bool:
        """It has what it shows: it was composed, and is not on its way out."""
        attached = self._box is not None and self._box.is_attached
        return attached and self.display and not self._finished

    def _leave_if_finished(self) -> None:
        if self._finished and self.is_active:
            self.dismiss(self._result)

    def on_screen_resume(self) -> None:
        self._leave_if_finished()
        self.refresh_bindings()

    def on_screen_suspend(self) -> None:
        self.refresh_bindings()

    def box(self, *, wide: bool = False, widest: bool = False, whole: bool = False) -> Vertical:
        """The frame that a dialog composes its content into; ``widest``: as wide as the terminal
        lets it, ``whole``: all of the terminal."""
        size = " -widest" if widest else " -wide" if wide else ""
        self._box = Vertical(classes="whole" if whole else f"dialog{size}")
        self._most = inf if whole or widest else WIDE_BOX if wide else BOX
        self.set_class(whole, "-whole")
        return self._box

    @property
    def heading(self) -> Text | str:
        """What stands in the frame, above."""
        return self._title

    def refresh_bindings(self) -> None:
        """The lower frame has the keys that work now, as many as have room; help has all. None
        where something lies over it, for that has the keys."""
        super().refresh_bindings()
        if self._box is not None and self.is_attached:
            width = self.app.size.width
            width = (
                width
                if self._box.has_class("whole")
                else int(min(self._most, width * WIDEST // 100))
            )
            foot = hints(offered(self), width - FRAME) if self.is_active else ""
            set_frame(self._box, self._above(width - FRAME), Text(foot, MUTED))

    def _above(self, width: int) -> Text:
        """The title, and how much of the text is below what is seen of it."""
        heading = self.heading
        title = heading.copy() if isinstance(heading, Text) else Text(plain(heading))
        long = next((one for one in self.walk_children(Widget) if isinstance(one, Long)), None)
        hint = out_of_sight(long, "Tab") if long is not None else ""
        if not hint:
            return title
        title.truncate(max(LEAST_TITLE, width - cell_len(BETWEEN + hint)), overflow="ellipsis")
        return Text.assemble(title, (BETWEEN + hint, MUTED))

    def on_resize(self) -> None:
        self.refresh_bindings()

    def tell(self, said: Notifications) -> None:
        """In the last lines, where the page has its keys; on what fills the terminal behind the
        title where there is room for a line, else above the keys."""
        behind_title = self.told_room - cell_len(str(self.heading)) - FRAME
        if self.has_class("-whole") and fits_a_line(said, behind_title):
            self._last_told.add_class("-behind-title")
            self._last_told.show(said, behind_title, 1)
        else:
            self._last_told.remove_class("-behind-title")
            super().tell(said)

    def able(self, action: str) -> bool:
        """Whether the action makes sense now, once it can be seen."""
        return True

    def never(self, action: str) -> str:
        """Why this dialog does not do it at all; empty: it may."""
        return ""

    def not_now(self, action: str) -> str:
        """Why it cannot be done at this moment; empty where there are no better words."""
        return ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        lost = typed_ahead(self).typed_at == -inf
        ahead = Dialog.AHEAD if lost else self.AHEAD
        return self.able(action) and (self.sight.seen or action in ahead)

    def action_help(self) -> None:
        self.app.push_screen(Help(f"Help · {self._title}", self))

    def action_leave(self) -> None:
        self.finish(None)


class Entry(Input):
    PANEL = "entry"
    BINDINGS = bindings("entry")
    labels_now: Mapping[str, str] = MappingProxyType({})

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "delete_left_all":
            return self.cursor_position > 0
        return super().check_action(action, parameters)

    def watch_selection(self) -> None:
        if self.is_attached:
            self.screen.refresh_bindings()

    def render_line(self, y: int) -> Strip:
        """Marked where what is written goes on, as any line is."""
        hidden, width = self.scroll_offset.x, self.scrollable_content_region.width
        right = cell_len(self.value) > hidden + width
        shown = super().render_line(y).crop(0, width)
        return marked(shown, self.rich_style, left=hidden > 0, right=right)


def entry(value: str = "", placeholder: str = "", *, secret: bool = False, does: str = "") -> Entry:
    """A line to write on; its cursor stands still. ``secret``: what is typed does not show.
    ``does``: in a word, what Enter does with it."""
    line = Entry(value, placeholder=placeholder, password=secret, compact=True)
    line.cursor_blink = False
    line.labels_now = {"submit": does}
    return line


@dataclass(frozen=True, slots=True)
class Answer:
    """One way to answer: pressing ``key``, or choosing the line ``label``.

    ``destroys``: it cannot be taken back, so it takes its own key, or moving there and Enter.
    """

    key: str
    label: str
    value: str
    destroys: bool = False


class Answers(OptionList, inherit_bindings=False):
    """The lines of a question, which has their keys; the one that Enter takes has a mark."""

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        for number, option in enumerate(self.options):
            mark = "▸" if number == highlighted else " "
            if isinstance(option.prompt, Text):
                words = Text.assemble((mark, ACCENT), option.prompt[1:])
                self.replace_option_prompt_at_index(number, words)


class Choice(Dialog[str]):
    """A question with answers; the result is the chosen answer's value, None for "cancel".

    ``renewed``: as it would be asked now, for what goes on while it is read. ``does``: what its
    answers would do, in values that can be compared; the text where nothing else is said.
    """

    PANEL = "choice"
    BINDINGS = bindings("choice")
    AHEAD = Dialog.AHEAD | {"down", "up"}

    def __init__(
        self, title: str, text: Text | str, answers: Sequence[Answer], does: object = None
    ) -> None:
        super().__init__(title)
        self.text = text if isinstance(text, Text) else Text(plain(text))
        self._answers = tuple(answers)
        self._does = self.text.plain if does is None else does
        self.renewed: Callable[[], Choice] | None = None

    def compose(self) -> ComposeResult:
        with self.box():
            yield Static(self.text, classes="message", markup=False)
            yield Answers(*self._options(), compact=True)

    def _options(self) -> list[Option]:
        return [
            Option(Text.assemble((f" {a.key} ", ACCENT), " ", plain(a.label)), id=a.value)
            for a in self._answers
        ]

    def does_as(self, other: Choice) -> bool:
        """Each answer is to both the same, and does the same."""
        return (self._does, self._answers) == (other._does, other._answers)

    @property
    def answer_keys(self) -> tuple[Key, ...]:
        """For help."""
        return tuple(Key(one.key, "", "", plain(one.label)) for one in self._answers)

    def on_mount(self) -> None:
        self._point_at_harmless()
        if self.renewed is not None:
            self.set_interval(REFRESH_S, self.renew)

    def _point_at_harmless(self) -> None:
        harmless = (n for n, answer in enumerate(self._answers) if not answer.destroys)
        self.query_one(Answers).highlighted = next(harmless, 0)

    def renew(self) -> None:
        """Ask as it is asked now, where that is something else; the cursor stays on its answer."""
        if self.renewed is None or not self.here:
            return
        now = self.renewed()
        if not self.does_as(now):
            self.sight.changed()
        self._does = now._does
        if (now._title, now.text, now._answers) == (self._title, self.text, self._answers):
            return
        self._title, self.text = now._title, now.text
        self.query_one(".message", Static).update(now.text)
        if now._answers != self._answers:
            answers = self.query_one(Answers)
            at = answers.highlighted
            kept = None if at is None else answers.get_option_at_index(at).id
            self._answers = now._answers
            answers.set_options(self._options())
            self._point_at_harmless()
            if kept in {answer.value for answer in self._answers}:
                answers.highlighted = answers.get_option_index(str(kept))
        self.refresh_bindings()

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if event.character == answer.key:
                event.stop()
                self._answer(answer.key, answer.value)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self._answer(sign_of("enter"), event.option.id)

    def _answer(self, key: str, value: str | None) -> None:
        """Unless nothing of the question is in sight: of four rows the frame takes all."""
        asked = self.find_widget(self.query_one(".message")).visible_region
        if self.sight.seen and asked.area:
            self.finish(value)
        else:
            self.post_message(Said(f"{key}: {UNSEEN}"))
            typed_ahead(self).drop_unseen(self.sight)

    def action_choose(self) -> None:
        self.query_one(Answers).action_select()

    def action_down(self) -> None:
        self.query_one(Answers).action_cursor_down()

    def action_up(self) -> None:
        self.query_one(Answers).action_cursor_up()


class Prompt(Dialog[str]):
    """One line of entry. ``check`` raises DlperfError for what cannot be taken. ``take``: does what
    was asked for, and only then the dialog closes; where that raises DlperfError it stays, too.

    ``meaning``: what is written means this, for a line below where all of it can be read.
    ``does``: in a word, what Enter does with it.
    """

    PANEL = "prompt"
    BINDINGS = bindings("prompt")
    AHEAD = Dialog.AHEAD | {"accept"}  # what is written may be

    def __init__(
        self,
        title: str,
        text: Text | str,
        *,
        value: str = "",
        placeholder: str = "",
        check: Callable[[str], object] | None = None,
        take: Callable[[str], Awaitable[object]] | None = None,
        secret: bool = False,
        meaning: Callable[[str], str] | None = None,
        does: str = "Accept",
    ) -> None:
        super().__init__(title)
        self._does = does
        self._text = text if isinstance(text, Text) else Text(plain(text))
        self._meaning = meaning
        self._value = value
        self._placeholder = placeholder
        self._check = check
        self._take = take
        self._secret = secret

    def compose(self) -> ComposeResult:
        with self.box():
            yield Static(self._text, classes="message", markup=False)
            yield entry(self._value, self._placeholder, secret=self._secret, does=self._does)
            yield Static("", classes="meaning", markup=False)
            yield Static("", classes="problem", markup=False)

    def on_mount(self) -> None:
        self._explain()

    @on(Input.Changed)
    def _explain(self) -> None:
        self.query_one(".problem").display = False
        line = self.query_one(".meaning", Static)
        line.display = self._meaning is not None
        if self._meaning is not None:
            means = self._meaning(self.query_one(Input).value).splitlines()
            line.update(Text("\n".join(map(plain, means)), MUTED))

    @on(Input.Submitted)
    def _submitted(self) -> None:
        """What has waited too long is no part of a whole line (see :mod:`tui.typed_ahead`)."""
        if self.check_action("accept", ()):
            self.action_accept()
        else:
            self.post_message(Said(f"⏎ {self._does}: {UNSEEN}"))
            typed_ahead(self).drop_unseen(self.sight)

    def action_accept(self) -> None:
        value = self.query_one(Input).value
        try:
            if self._check is not None:
                self._check(value)
        except DlperfError as error:
            self._refuse(error)
            return
        if self._take is None:
            self.finish(value)
        else:  # the console waits for it, whatever becomes of this dialog
            self.app.run_worker(self._taken(self._take(value), value), group="taken")

    async def _taken(self, work: Awaitable[object], value: str) -> None:
        try:
            with typed_ahead(self).held():  # keys are for what comes of it
                await work
        except DlperfError as error:
            if self.here:
                self._refuse(error)
            else:
                self.app.post_message(Problem(error))
        else:
            self.finish(value)

    def _refuse(self, error: DlperfError) -> None:
        line = self.query_one(".problem", Static)
        line.display = True
        line.update(problem(error))


if TYPE_CHECKING:
    _Scrolled = Widget
else:
    _Scrolled = object  # beside a widget's own class: a widget has the style of its first base


class Long(_Scrolled):
    """What may be longer than the box, whose frame says so."""

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:  # how much is out of sight is known then
            self.call_next(self._tell_frame)
        return changed

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._tell_frame()

    def _tell_frame(self) -> None:
        if self.is_attached:  # a scroll that goes on outlives its dialog
            self.screen.refresh_bindings()


class Pages(Long, VerticalScroll):
    """Text longer than the box."""

    PANEL = "scroll"
    BINDINGS = bindings("scroll")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("scroll_left", "scroll_right"):  # else its dialog has these keys
            return self.allow_horizontal_scroll
        return super().check_action(action, parameters)


class Findable(Dialog[Result]):
    """Long text in which words are looked for: by ``/``, and on by ``n`` and ``N``."""

    AHEAD = Dialog.AHEAD | {"find", "next"}
    SOUGHT = "Words of a line:"
    """What is asked for."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._looked_for = ""
        self._at = ""  # the title, once something was found

    def lines(self) -> Sequence[str]:
        """As they stand there."""
        raise NotImplementedError

    def line_now(self) -> int:
        """From which the look goes on."""
        raise NotImplementedError

    def show_found(self, line: int, start: int, end: int) -> None:
        """Bring characters of a line into sight, and mark them."""
        raise NotImplementedError

    @property
    def heading(self) -> Text | str:
        return self._at or self._title

    def able(self, action: str) -> bool:
        return action != "next" or bool(self._at)

    def not_now(self, action: str) -> str:
        if action != "next":
            return super().not_now(action)
        return self._nothing_has if self._looked_for else "/ says what is looked for"

    @property
    def _nothing_has(self) -> str:
        return f"nothing has: {plain(self._looked_for)} (looked in all of {plain(self.called)})"

    def action_find(self) -> None:
        def answered(words: str | None) -> None:
            if words is not None:
                self._looked_for, self._at = words, ""
                self.refresh_bindings()
                if words:
                    self._go_to_next(1, from_here=True)

        self.app.push_screen(Prompt("Find", self.SOUGHT, value=self._looked_for), answered)

    def action_next(self, step: int) -> None:
        self._go_to_next(step)

    def look_for(self, words: str) -> None:
        """As if they were typed; first where a line, or one of its columns, begins with them."""
        self._looked_for = words
        begins = re.compile(rf"(?:^|\s\s){re.escape(words)}", re.IGNORECASE)
        found = (place for place, line in enumerate(self.lines()) if begins.search(line))
        if (place := next(found, None)) is None:
            self._go_to_next(1, from_here=True)
        else:
            self._show_place(place)

    def has(self, line: str, words: str) -> bool:
        """Both in small letters."""
        return words in line

    def _go_to_next(self, step: int, *, from_here: bool = False) -> None:
        """To the next line that has the words, round the end; ``from_here``: this one may be it."""
        words = self._looked_for.casefold()
        lines = [line.casefold() for line in self.lines()]
        order = range(0 if from_here else 1, len(lines) + 1)
        places = ((self.line_now() + step * far) % len(lines) for far in order)
        found = next((place for place in places if self.has(lines[place], words)), None)
        if found is None:
            self.app.notify(self._nothing_has, markup=False)
        else:
            self._show_place(found)

    def _show_place(self, found: int) -> None:
        words = self._looked_for.casefold()
        lines = [line.casefold() for line in self.lines()]
        having = [place for place, line in enumerate(lines) if self.has(line, words)]
        sought = shorten(plain(self._looked_for), MOST_WORDS)
        self._at = f"{self.called} · {sought} · {having.index(found) + 1:,} of {len(having):,}"
        self.refresh_bindings()  # which draws the frame
        marked = words if words in lines[found] else words.split()[0]
        start = max(0, lines[found].find(marked))
        self.show_found(found, start, start + len(marked))


class Reading(Findable[None]):
    """Something to read and scroll."""

    PANEL = "reading"
    BINDINGS = bindings("reading")

    def __init__(
        self, title: str, text: RenderableType, *, wide: bool = False, widest: bool = False
    ) -> None:
        super().__init__(title)
        self._text = text
        self._wide, self._widest = wide, widest
        self._line: int | None = None  # that was found last
        self._shown: RenderedOnce

    def compose(self) -> ComposeResult:
        with self.box(wide=self._wide, widest=self._widest), Pages():
            yield Static(id="reading", markup=False)

    def on_mount(self) -> None:
        self.renew(self._text)

    def renew(self, text: RenderableType) -> None:
        """The scroll stays where it is."""
        shown = self.query_one("#reading", Static)
        self._shown, self._line = RenderedOnce(shown, text), None
        shown.update(self._shown)

    def lines(self) -> Sequence[str]:
        return self._shown.lines(self.query_one("#reading").content_size.width)

    def line_now(self) -> int:
        return round(self.query_one(Pages).scroll_y) if self._line is None else self._line

    def show_found(self, line: int, start: int, end: int) -> None:
        self._line = line
        self._shown.marked = line, start, end
        self.query_one("#reading").refresh()
        pages = self.query_one(Pages)
        if not pages.scroll_y <= line < pages.scroll_y + pages.content_size.height:
            pages.scroll_to(y=line - pages.content_size.height // 2, animate=False)


class Notes(Reading):
    """What :func:`all_notes` says; what is noted or said while it is open, too."""

    def __init__(self, told: Callable[[], AllNotes]) -> None:
        self._told, self._last = told, told()
        super().__init__(self._last.title, all_notes(self._last), widest=True)

    def on_mount(self) -> None:
        self.set_interval(REFRESH_S, self._look)

    def _look(self) -> None:
        if self.here and (now := self._told()) != self._last:
            self._last = now
            self._title = now.title
            self.refresh_bindings()  # which draws the frame
            self.renew(all_notes(now))


class Help(Reading):
    """What ``?`` says of a page or dialog below; which keys do nothing *now* is so while it is
    open. Where not all of it is in sight, a key leads from heading to heading."""

    PANEL = "help"
    BINDINGS = bindings("help")
    AHEAD = Reading.AHEAD | {"section"}

    def __init__(self, title: str, below: Screen[Any]) -> None:
        super().__init__(title, help_of(below), widest=wide_enough(below))
        self._below, self._idle = below, idle(below)
        self._led_to: Heading | None = None

    def on_mount(self) -> None:
        self.set_interval(REFRESH_S, self._renew)

    def has(self, line: str, words: str) -> bool:
        """Or each of the words, in any order, but the small ones."""
        if words in line:
            return True
        several = [word for word in words.split() if word not in SMALL_WORDS]
        return len(several) > 1 and all(word in line for word in several)

    @property
    def _nothing_has(self) -> str:
        """And which other helps do."""
        words = self._looked_for.casefold()
        having = [
            panel.title
            for panel in PANELS.values()
            if any(self.has(line.casefold(), words) for line in said_of_panel(panel))
        ]
        elsewhere = f"; the help of {', '.join(dict.fromkeys(having))} has it" if having else ""
        return f"{super()._nothing_has}{elsewhere}"

    def _renew(self) -> None:
        if not self.here or (now := idle(self._below)) == self._idle:
            return
        self._idle = now
        self.renew(help_of(self._below))

    @property
    def heading(self) -> Text | str:
        sections = self._sections()
        if self._at or not sections:
            return super().heading
        number = self._section_now(sections)
        return f"{self._title} · {number + 1} of {len(sections)}: {sections[number].name}"

    @property
    def labels_now(self) -> Mapping[str, str]:
        """Where they lead to."""
        if not (sections := self._sections()):
            return {}
        number = self._section_now(sections)
        steps = {step: sections[(number + step) % len(sections)].name for step in (1, -1)}
        return {f"section({step})": f"→ {name}" for step, name in steps.items()}

    def _sections(self) -> Sequence[Heading]:
        """None where there is nothing to choose, or nothing is out of sight."""
        shown = self.here and self.query("#reading")
        if not (shown and any(one.max_scroll_y for one in self.query(Pages))):
            return ()
        found = self._shown.headings(self.query_one("#reading").content_size.width)
        return found if len(found) > 1 else ()

    def _section_now(self, sections: Sequence[Heading]) -> int:
        """That which a key led to, as long as its heading is in sight; else the one at the top."""
        pages = self.query_one(Pages)
        top, height = round(pages.scroll_y), pages.content_size.height
        led = self._led_to
        if led is not None and led in sections and top <= led.line < top + height:
            return sections.index(led)
        above = [(one.line, -n) for n, one in enumerate(sections) if one.line <= top]
        return -max(above, default=(0, 0))[1]

    def able(self, action: str) -> bool:
        return super().able(action) if action != "section" else bool(self._sections())

    def action_section(self, step: int) -> None:
        sections = self._sections()
        to = self._led_to = sections[(self._section_now(sections) + step) % len(sections)]
        self.show_found(to.line, to.start, to.end)
        self.query_one(Pages).scroll_to(y=to.line, animate=False)
        self.refresh_bindings()
