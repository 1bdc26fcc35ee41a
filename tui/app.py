"""The console: four pages over one session. Wires; the work is done elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on, work
from textual.app import App
from textual.command import Provider
from textual.filter import LineFilter, Monochrome
from textual.notifications import Notify
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed

from profiles.errors import DlperfError
from tui.colourless import Colourless
from tui.dark_to_light import Lightened
from tui.flash import LOOK_S, Flash
from tui.garbage import Sweep, let_go_of_closed_screens
from tui.kept_theme import keep_theme, kept_theme
from tui.key_bindings import PAGES, bindings
from tui.key_types import Key
from tui.messages import (
    PASSING,
    CampaignStarted,
    Mended,
    NoMore,
    Problem,
    Said,
    let_pass,
    make_room,
    take_back,
)
from tui.repaint import Painted
from tui.screens import opening
from tui.screens.front_screen import FrontScreen
from tui.screens.login_questions import ConsolePrompter
from tui.screens.page import Page
from tui.scroll_bars import end_scroll_bars_with_whole_cells
from tui.session import Session
from tui.stylesheet import KeptStylesheet
from tui.terminal import Terminal
from tui.text import both_ends, plain
from tui.theme import DARK, LIGHT, begun_with
from tui.typed_ahead import TypedAhead, sight_of
from tui.widgets.header import Tabs

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot
    from tui.attention import Rung
    from tui.backend_protocols import Workspace
    from tui.screens.campaign_list import CampaignList
    from tui.screens.dialogs import Choice

PROBLEM_SHOWN_S = 15.0
MOST_OF_A_PLACE = 120  # columns of where a problem is: what it is stands below it
FOLLOW_S = 0.5
SWEEP_S = 1.0
SAID_KEPT = 12
EMERGENCY_EXIT = "ctrl+q"
"""Waits for nothing."""


def _things() -> type[Provider]:
    from tui.palette_things import ThingsProvider  # noqa: PLC0415 - when it is opened

    return ThingsProvider


def _actions() -> type[Provider]:
    from tui.command_palette import ActionsProvider  # noqa: PLC0415 - when it is opened

    return ActionsProvider


class DlperfApp(App[str]):
    """The console on a workspace. ``readonly``: looks, starts and changes nothing.
    ``prompter``: asks here what the workspace's logins want to know. ``theme_file``: where it is
    kept which colours the operator chose, ``marks_file``: what was marked. ``frame_first``:
    something is to be seen before the first page is made.

    ``run`` returns what the operator is to be told after it, such as that runs go on; or "".
    """

    TITLE = "dlperf-tui"
    CSS_PATH = "dlperf.tcss"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_actions, _things}
    PANEL = "app"
    BINDINGS = bindings("app")
    DEFAULT_MODE = "hosts"

    def __init__(
        self,
        workspace: Workspace,
        *,
        readonly: bool = False,
        prompter: ConsolePrompter | None = None,
        theme_file: Path | None = None,
        marks_file: Path | None = None,
        frame_first: bool = False,
    ) -> None:
        self.session = Session(workspace, readonly=readonly, marks_file=marks_file)
        if self.session.alone and not readonly and self.DEFAULT_MODE == "hosts":
            self.DEFAULT_MODE = "matrix"  # type: ignore[misc]  # what can be started here
        self._first_mode = self.DEFAULT_MODE
        if frame_first:
            self.DEFAULT_MODE = opening.MODE  # type: ignore[misc]
        super().__init__(driver_class=Terminal)
        let_go_of_closed_screens()
        end_scroll_bars_with_whole_cells()
        self.animation_level = "none"  # each step of a scroll is a repaint over ssh
        if prompter is not None:
            prompter.attach(self)
        self.typed = TypedAhead(self, self._hand_on, self._dealt_with)
        self._flash = Flash(self, self.typed, self._why_nothing)
        self._opening = contextlib.ExitStack()
        self._painted = Painted()
        self._page_shown: Screen[Any] | None = None
        self._rung: Rung | None = None
        self._said_last: deque[tuple[float, str, str]] = deque(maxlen=SAID_KEPT)
        self._began = workspace.cluster.now()
        workspace.cluster.will_probe()  # before the page is painted
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self._theme_file = theme_file
        self.theme = begun_with(os.environ, kept_theme(theme_file)).name
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        for name in PAGES:
            self.add_mode(name, partial(self.new_page, name))
        if frame_first:
            self.add_mode(opening.MODE, partial(opening.Opening, self.session, self._first_mode))
            self._opening.enter_context(self.typed.kept())  # for the page

    def new_page(self, name: str) -> Screen[None]:
        """Made when it is first opened, so that the first paint needs only one."""
        module, _, attribute = PAGES[name].where.partition(":")
        page = cast(type[Page], getattr(import_module(module), attribute))
        return page(self.session)

    def on_mount(self) -> None:
        self.screen_change_signal.subscribe(self, self._in_front, immediate=True)
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw(), immediate=True)
        self._in_front(self.screen)
        with contextlib.suppress(ValueError):  # not the process' main thread
            signal.signal(signal.SIGHUP, self._hung_up)
        sweep = Sweep()
        self.set_interval(SWEEP_S, lambda: sweep.in_pause(self.typed.over_for))
        self.set_interval(LOOK_S, self._flash.look)
        opens = self.current_mode == opening.MODE
        self.call_after_refresh(self.open_first_page if opens else self._first)

    # What the terminal shows -------------------------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        if self.no_color:
            return [*(f for f in filters if not isinstance(f, Monochrome)), Colourless()]
        return [Lightened(), *filters] if self.theme == LIGHT.name else filters

    def action_theme(self) -> None:
        chosen = DARK if self.theme == LIGHT.name else LIGHT
        self.theme = chosen.name
        name = "dark" if chosen.dark else "light"
        kept = ", kept for the next console" * keep_theme(self._theme_file, name)
        other = "light" if chosen.dark else "dark"
        self.notify(f"{name} colours{kept}; T again: back to {other} ones", markup=False)

    def delay_update(self, delay: float = 0.0) -> None:
        """Not at all: Textual shows a page 50 ms late, so that it is whole; ours is."""

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, self._painted.only_changes(renderable))

    def action_redraw(self) -> None:
        """Lay out, fill and paint all of it, also what something else wrote over."""
        self._painted.forget()
        for widget in self.screen.walk_children(Widget):
            sizes = widget.size, widget.virtual_size, widget.container_size
            widget.post_message(events.Resize(*sizes))
        self.screen.post_message(events.Resize(self.size, self.size))
        self.screen.refresh()

    # Keys --------------------------------------------------------------------------------------

    def _in_front(self, screen: Screen[Any]) -> None:
        if isinstance(screen, Page) and screen is not self._page_shown:
            self._page_shown = screen
            self._painted.forget()
        let_pass(self._notifications)
        for behind in self.screen_stack[:-1]:
            if isinstance(behind, FrontScreen):
                behind.tell_no_more()
        if (sight := sight_of(screen)) is not None:
            sight.renew()

    async def on_event(self, event: events.Event) -> None:
        at_once = event.is_forwarded or getattr(event, "key", "") == EMERGENCY_EXIT
        if isinstance(event, (events.Key, events.Paste)) and not at_once:
            self.typed.add(event)
            await self._hand_on()
        else:
            await super().on_event(event)

    async def _hand_on(self) -> None:
        if (event := self.typed.next()) is not None:
            target = self.focused or self.screen
            await super().on_event(event)
            self.typed.follow(target)

    def _dealt_with(self) -> None:
        self._flash.look()

    # At the start ------------------------------------------------------------------------------

    @work(group="opening", description="open the first page")
    async def open_first_page(self) -> None:
        if isinstance(self.screen, FrontScreen):
            self.screen.paint()
        await self.switch_mode(self._first_mode)
        await self.remove_mode(opening.MODE)
        self._opening.close()
        self.call_after_refresh(self.call_after_refresh, self._first)  # it is filled by the first

    def _first(self) -> None:
        self._probe_first()
        self.offer_unfinished()
        self.follow_opened()

    @work(exclusive=True, group="probe", description="ask every host what it has")
    async def probe_all(self) -> None:
        await self._probe()

    @work(exclusive=True, group="probe", description="ask every host, and whose hosts to use")
    async def _probe_first(self) -> None:
        await self._probe()
        if engine := await self.session.workspace.cluster.offered_engine():
            from tui.screens.engine_question import engine_question  # noqa: PLC0415 - seldom needed

            self.push_screen(engine_question(engine).by_itself(), self._engine_chosen)

    async def _probe(self) -> None:
        try:
            await self.session.workspace.cluster.probe()
        except DlperfError as error:
            self.show_problem(error)

    def _engine_chosen(self, engine: str | None) -> None:
        if engine:
            self.session.workspace.cluster.use_engine(engine)
            self.action_page("hosts")
            self.probe_all()

    @work(exclusive=True, group="campaigns", description="offer what was left unfinished")
    async def offer_unfinished(self) -> None:
        """Ask what to do with campaigns left before their end; show what a keeper does."""
        from tui.leaving import left_at  # noqa: PLC0415
        from tui.screens.campaign_list import (  # noqa: PLC0415
            ended_by_keeper,
            kept_campaign,
            unfinished_question,
        )

        try:
            found = await self.session.campaigns()
            question = None if self.session.readonly else unfinished_question(found, self.session)
            kept = None
            if question is None and not self.session.views:
                kept = kept_campaign(found, simulated=self.session.simulated)
                if kept is None and not self.session.simulated:
                    since = await asyncio.to_thread(left_at, self.session)
                    ended = await asyncio.to_thread(ended_by_keeper, found, time.time(), since)
                    if ended:
                        self.post_message(Said(ended, until_key=True))
            if kept is not None:
                await self.session.open(kept)
                self._show_runs()
                return
        except DlperfError as error:
            self.show_problem(error)
            return
        finally:
            self.session.looking = False
        if question is not None:
            self.push_screen(question, self._answered)

    @work(group="follow", description="follow a campaign that another console runs")
    async def follow_opened(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_S)
            try:
                await self.session.refresh()
                self._ring()
            except DlperfError as error:
                self.show_problem(error)

    def _ring(self) -> None:
        """Of what the campaign tells its operator, at work here or elsewhere."""
        notify = self.session.workspace.cluster.inventory.notify
        if notify is None or self._driver is None or self._batch_count:
            return  # the terminal may be lent: it is rung when it is back
        if (shown := self.session.live or self.session.opened) is None:
            return
        if self._rung is None:
            from tui.attention import Rung  # noqa: PLC0415 - where it is wanted

            self._rung = Rung(notify.terminal, os.environ, self._began)
        if text := self._rung.new(str(shown.path), shown.state.told):
            self._driver.write(text)

    def action_campaigns(self) -> None:
        from tui.screens.campaign_list import CampaignList  # noqa: PLC0415 - seldom needed

        dialog = CampaignList("Campaigns", self.session)
        self.push_screen(dialog, self._answered)
        self.list_campaigns(dialog)

    @work(exclusive=True, group="campaign-list", description="read which campaigns there are")
    async def list_campaigns(self, dialog: CampaignList) -> None:
        try:
            with self.typed.held():  # keys are for what is listed
                dialog.show(await self.session.campaigns())
        except DlperfError as error:
            dialog.finish()
            self.show_problem(error)

    def _answered(self, answer: str | None) -> None:
        if answer is not None:
            self._act_on(answer)

    @work(exclusive=True, group="campaigns", description="open or resume a campaign")
    async def _act_on(self, answer: str) -> None:
        """Open or resume, as one of the campaign dialogs answered."""
        from tui.screens.campaign_list import resume_with_consent  # noqa: PLC0415 - seldom needed

        verb, _, path = answer.partition(":")
        try:
            if verb == "open":
                with self.typed.held():
                    await self.session.open(Path(path))
                    self._show_runs()
                return
            if verb == "keep":
                await self._leave_other(Path(path))
                return
            if not await resume_with_consent(self, self.session, Path(path)):
                return
        except DlperfError as error:
            self.show_problem(error)
            return
        self.watch_campaign()
        self.action_page("runs")
        self.session.run_to_see = ""  # what goes on is, and not what was looked at before

    async def _leave_other(self, path: Path) -> None:
        """To a keeper, and look at what it does. Raises DlperfError."""
        begun = await self.session.leave_to_keeper(path)
        for note in begun.notes:
            self.notify(plain(note), severity="warning", markup=False, timeout=PROBLEM_SHOWN_S)
        await self.session.open(path)
        self._show_runs()

    def _show_runs(self) -> None:
        if self.current_mode not in ("runs", "results"):
            self.action_page("runs")

    @work(exclusive=True, group="watch", description="notice when the campaign stops")
    async def watch_campaign(self) -> None:
        """Tell what stopped the campaign at work, if something did."""
        controller = self.session.controller
        if controller is None:
            return
        try:
            await controller.wait()
        except* DlperfError as errors:
            for error in errors.exceptions:
                if isinstance(error, DlperfError):
                    self.show_problem(error)

    def action_command_palette(self) -> None:
        from tui.command_palette import Palette  # noqa: PLC0415 - when it is opened

        if not isinstance(self.screen, Palette):
            sought = "Search for actions, runs, cases, hosts, help …"
            self.push_screen(Palette(placeholder=sought, id="--command-palette"))

    def action_notes(self) -> None:
        from tui.screens.dialogs import Notes  # noqa: PLC0415 - seldom needed
        from tui.screens.help import AllNotes  # noqa: PLC0415

        own = self.session.note_of_viewed()

        def told() -> AllNotes:
            notes, begun = self.session.read_notes()
            viewed = self.session.viewed
            simulated = viewed is not None and viewed.simulated
            return AllNotes(notes, begun, own, tuple(self._said_last), simulated)

        self.push_screen(Notes(told))

    def action_page(self, name: str) -> None:
        if isinstance(self.screen, Screen) and not self.screen.is_modal:
            if name == "runs":
                self.session.run_to_see = getattr(self.screen, "run_to_see", "")
            if name == self.current_mode and isinstance(self.screen, Page) and self.screen.whole:
                self.screen.to_list()
            self.switch_mode(name)

    def opened_page(self, name: str) -> Screen[Any] | None:
        """None before it was first in front."""
        stack = self._screen_stacks.get(name)
        return stack[0] if stack else None

    async def act_on(self, name: str, key: Key) -> None:
        """Go to a page and do there what a key of it does, if that is possible."""
        self.action_page(name)
        # Twice: what fills the page is called back after the first refresh, too.
        self.screen.call_after_refresh(self.screen.call_after_refresh, self._act, key)

    async def _act(self, key: Key) -> None:
        from tui.refused_keys import enabled  # noqa: PLC0415 - is there already

        if enabled(self.screen, key):
            await self.run_action(key.action, self.screen)
        else:
            self._say_why(key.keys.partition(",")[0])

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        done = await super()._check_bindings(key, priority)
        if not (done or priority):
            self._say_why(key)
        return done

    def _say_why(self, pressed: str) -> None:
        """A key that does nothing is no riddle. With one that came too soon goes what was typed
        after it in the same burst."""
        from tui.refused_keys import came_too_soon  # noqa: PLC0415 - seldom needed

        self.flash(self._why_nothing(pressed), pressed)
        if (sight := sight_of(self.screen)) is not None and came_too_soon(self.screen, pressed):
            self.typed.drop_unseen(sight)

    def _why_nothing(self, pressed: str) -> str:
        from tui.refused_keys import where_else, why_refused  # noqa: PLC0415 - seldom needed
        from tui.widgets.keybar import panel_of  # noqa: PLC0415

        page = next(one for one in reversed(self.screen_stack) if not one.is_modal)
        if isinstance(page, Page) and not page.whole:
            return ""
        panels = dict.fromkeys(map(panel_of, page.query(Widget)))
        elsewhere = "" if self.session.readonly else where_else(pressed, panel_of(page), panels)
        return why_refused(self.screen, pressed) or elsewhere

    def flash(self, words: str, pressed: str = "") -> None:
        """A line that is there for a moment; see :meth:`tui.flash.Flash.say`."""
        self._flash.say(words, pressed)

    def action_help(self) -> None:
        from tui.screens.dialogs import Help  # noqa: PLC0415 - seldom needed

        self.push_screen(Help(f"Help · {self.screen_title()}", self.screen))

    def screen_title(self) -> str:
        return str(getattr(self.screen, "PANEL", "")).capitalize()

    def action_help_quit(self) -> None:
        """ctrl+C, which ends nothing here."""
        self.notify("q quits", markup=False)

    async def action_quit(self) -> None:
        """Ask what becomes of the runs, then leave."""
        if self.session.leaving:
            self.notify("a keeper is being started; one moment", markup=False)
            return
        live = self.session.live
        if live is None or live.finished:
            if self.session.measuring:
                from tui.screens.precheck_dialog import ends_with_the_console  # noqa: PLC0415

                self.push_screen(ends_with_the_console(), self._end_precheck)
                return
            from tui.leaving import said_at_end  # noqa: PLC0415 - seldom needed

            await self._leave(said_at_end(self.session))
            return
        from tui.screens.quit_question import quit_question  # noqa: PLC0415 - seldom needed

        let_in_by = self.session.workspace.cluster.let_in_by()

        def asked() -> Choice:
            session = self.session
            now = session.live or live
            return quit_question(
                now, let_in_by, measuring=session.measuring, simulated=session.simulated
            )

        question = asked()
        question.renewed = asked
        self.push_screen(question, partial(self._quit_as, live))

    def _end_precheck(self, answer: str | None) -> None:
        if answer:
            self.notify("ending the precheck on its hosts …", markup=False)
            self.run_worker(self._leave(""), exclusive=True, group="campaigns")

    def _quit_as(self, live: CampaignSnapshot, answer: str | None) -> None:
        from tui.leaving import leave_as  # noqa: PLC0415 - seldom needed

        if answer in (None, "stay"):  # and what is being opened or resumed goes on
            return
        work = leave_as(answer, live, self.session, self._leave, self._stay)
        self.run_worker(work, exclusive=True, group="campaigns", description="leave")

    def _stay(self, problem: DlperfError | None) -> None:
        """With the campaign, which is being cancelled, or was to be left to a keeper."""
        if problem is None:
            self.action_page("runs")
        else:
            self.show_problem(problem)
            self.watch_campaign()

    def _hung_up(self, *_: object) -> None:
        """At once, and not when the loop has time: what the driver writes now is an error."""
        if isinstance(self._driver, Terminal):
            self._driver.hang_up()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        asyncio.get_running_loop().call_soon_threadsafe(self._terminal_lost)

    def _terminal_lost(self) -> None:
        from tui.leaving import leave_unseen  # noqa: PLC0415 - seldom needed

        self.run_worker(leave_unseen(self.session, self._leave), exclusive=True, group="campaigns")

    @property
    def fault(self) -> Exception | None:
        """The error that nobody dealt with, by which it ended; of a worker its own."""
        failed = self._exception
        cause = failed.error if isinstance(failed, WorkerFailed) else None
        return cause if isinstance(cause, Exception) else failed

    def _fatal_error(self) -> None:
        """Without a traceback over the terminal: it quotes variables, and what was typed."""
        self._close_messages_no_wait()

    async def _leave(self, message: str) -> None:
        from tui.leaving import note_left, others_kept  # noqa: PLC0415 - at the end

        others = await asyncio.to_thread(others_kept, self.session)
        await asyncio.to_thread(note_left, self.session)
        await self.session.close()
        self.exit("\n".join(filter(None, (message, others))))

    @on(Tabs.Clicked)
    def _tab_clicked(self, event: Tabs.Clicked) -> None:
        self.action_page(event.page)

    @on(CampaignStarted)
    def _started(self) -> None:
        self.watch_campaign()
        self.action_page("runs")

    @on(Problem)
    async def _problem(self, event: Problem) -> None:
        self.show_problem(await self.session.told(event.error))

    @on(Said)
    def _said(self, event: Said) -> None:
        if event.until_key:
            self.flash(plain(event.text))
        else:
            self.notify(plain(event.text), title=event.ended, markup=False)

    @on(NoMore)
    def _no_more(self, event: NoMore) -> None:
        # What was said may be on its way here.
        self.call_later(self._take_back, plain(event.text), event.ended)

    @on(Mended)
    def _mended(self, event: Mended) -> None:
        self.call_later(self._take_back, *self._words_of(event.error), "error")

    def _take_back(self, words: str, title: str, severity: str = PASSING) -> None:
        take_back(self._notifications, words, title, severity)
        self._refresh_notifications()

    def _refresh_notifications(self) -> None:
        """Textual's own rack has each word in a box of its own."""
        if self.screen_stack and isinstance(self.screen, FrontScreen):
            self.call_later(self._tell)

    def _tell(self) -> None:
        if self.screen_stack and isinstance(self.screen, FrontScreen):
            self.screen.tell(self._notifications)

    def on_resize(self) -> None:
        self._flash.end()
        self._refresh_notifications()

    @on(Notify)
    def _make_room(self, event: Notify) -> None:
        new = event.notification
        make_room(self._notifications, new)
        words = ": ".join(filter(None, (new.title, new.message)))
        gravity = "" if words == self._flash.words else new.severity
        self._said_last.append((self.session.now, words, gravity))

    def show_problem(self, error: DlperfError) -> None:
        """Tell what is wrong, where, and how to mend it."""
        words, title = self._words_of(error)
        self.notify(words, title=title, severity="error", timeout=PROBLEM_SHOWN_S, markup=False)

    def _words_of(self, error: DlperfError) -> tuple[str, str]:
        """And their title."""
        lines = [plain(error.what)]
        if error.remedy:
            lines.append(f"→ {plain(error.remedy)}")
        place = both_ends(plain(self.session.told_place(error.where)), MOST_OF_A_PLACE)
        return "\n".join(lines), place
