"""Runs: every run of the campaign, samples/s as it happens, the log, and what went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from textual import events, on
from textual.message import Message
from textual.widget import Widget

from backends.campaign.record.run_view import RunView
from backends.campaign.record.status_view import CampaignSnapshot
from backends.keeper.request import Verb
from tui.clipboard import hand_over
from tui.key_bindings import PANELS, bindings
from tui.messages import Said
from tui.row_marks import NO_ROW, NONE_IS_MARKED, UNMARK, all_marked, marks_words, toggle_marks
from tui.screens.campaign_text import none_shown
from tui.screens.dialogs import Reading
from tui.screens.marked_runs import ON_MARKED, able, marked_labels, verb_of, why_none
from tui.screens.page import NO_HOST_ASKED, ONLY_LOOKS
from tui.screens.possible_changes import (
    CHANGES,
    GO_ON,
    change_labels,
    last_attempt,
    may_change,
    possible_changes,
    why_not,
)
from tui.screens.run_changes import RunChanges
from tui.screens.run_order import PLANNED
from tui.screens.run_panels import RunPanels, has_window
from tui.screens.run_text import (
    RunRows,
    flagged_runs,
    rows_signature,
    run_columns,
    summary,
    troubled_runs,
)
from tui.session import Session
from tui.text import plain
from tui.typed_ahead import Sight, typed_ahead
from tui.widgets.details import Details
from tui.widgets.filter_table import CORNERS, OF_ALL, TablePanel
from tui.widgets.keybar import HIGH
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.log_panel import LogPanel

LOW = 18
"""Lines, below which the list has all of them until a panel is asked for."""
BROAD = 160
"""Columns, from which on the details stand at the right, and the list still has all of its own."""
CURVES = ("chart", "telemetry")
"""Panels that have no keys of their own."""
TO_LIST = "z or Esc leads back to the list"
NOT_MARKED = "not marked: the cursor went to another run since the key was typed"
GOES_ALONG = "the cursor goes with what is at work"
_MOVES_AROUND = ("app.focus_next", "app.focus_previous", "command_palette")
OF_THE_RUN = ("cancel_run", "retry", "pause", "mark", "follow", "next_log", "copy", "diagnose")
"""Actions on the run under the cursor."""
_OF_A_RUN = frozenset(
    name
    for panel in ("runs", "table", "log", "scroll", "app")
    for key in PANELS[panel].keys
    for name in key.keys.split(",")
).difference(
    (
        name
        for key in PANELS["replay"].keys + PANELS["app"].keys
        if key.action not in _MOVES_AROUND
        for name in key.keys.split(",")
    ),
    ("a", "o"),
)
"""Keys by which somebody works on the run under the cursor: not those of the whole console, the one
that hands the cursor back, and the list's order."""


_TO_AN_END = frozenset(("home", "g", "end", "G"))
"""Keys that lead to one row from wherever the cursor is."""
_MOVE_CURSOR = _TO_AN_END | {
    *("down", "j", "up", "k", "pageup", "pagedown"),
    *("x", "X"),
}


class _Able(NamedTuple):
    """What decides which keys work; ``hosts``: how many the run under the cursor has, if any."""

    changes: frozenset[str] = frozenset()
    hosts: int | None = None
    ended: bool = False
    zoomed: str = ""
    held: bool = False
    metered: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    silent: bool = False
    troubled: tuple[str, ...] = ()
    window: bool = False
    all_in_sight: bool = False
    goes_on: bool = False
    marked: int = 0


class RunsPage(RunChanges):
    PANEL = "runs"
    BINDINGS = bindings("runs")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.panels = RunPanels(session)
        self._able = _Able()
        self._shown: object = None
        self._rows = RunRows()
        self._troubled: Collection[str] = ()
        self._flagged: Collection[str] = ()  # figures to be distrusted
        self._held = False  # the cursor goes with what is at work, until a key concerns its run
        self._of, self._here = "", False  # that goes on here
        self._begun_at: float | None = None  # the campaign that is shown
        self._order = PLANNED
        self._zoomed_here = False  # from the list
        self._marked_of: object = None  # the campaign whose runs are marked
        self._led = Sight(self, self.paint)  # since when the cursor is where it went by itself
        self._led.since = -inf
        self._led_at = inf  # when it went there; inf: a key or a click has led it on since

    def body(self) -> Iterable[Widget]:
        yield TablePanel(KeyedTable(run_columns(None), id="runs"), "Runs", id="runs-panel")
        yield self.panels
        yield self.panels.beside

    def on_mount(self) -> None:
        """The list first: what the panels show takes a busy machine a while."""
        self.panels.display = self.panels.beside.display = False
        self.add_class("-alone")
        if (viewed := self.session.viewed) is not None:
            self._fill(viewed)

    @on(events.ScreenResume)
    def _back_in_front(self) -> None:
        self.panels.meters.look()

    def main_panel(self) -> TablePanel:
        return self.query_one("#runs-panel", TablePanel)

    # What is shown -----------------------------------------------------------------------------

    @property
    def selected(self) -> RunView | None:
        viewed = self.viewed
        key = self.main_panel().table.current_key
        if viewed is None:
            return None
        return next((run for run in viewed.runs if run.run_id == key), None)

    @property
    def names(self) -> Mapping[str, str]:
        return self._rows.names(self.viewed) if self.viewed is not None else {}

    @property
    def _broad(self) -> bool:
        return self.has_class("-tall") and self.size.width >= BROAD

    def _fill(self, viewed: CampaignSnapshot | None) -> None:
        columns = self.size.width * 64 // 100 if self._broad else self.size.width
        rows = self._rows(viewed, columns, self._marked) if viewed else []
        if viewed is not None and not self._order.given:
            listed = self._order.of(zip(viewed.runs, rows, strict=True))
            rows = [row for _, row in listed]
        shown = run_columns(viewed, self._rows.enough, marks=bool(self._marked))
        self.main_panel().table.refill(rows, shown)

    def pull(self) -> None:
        viewed = self.viewed
        panel = self.main_panel()
        if viewed is None or viewed.identity != self._marked_of:
            self._marked.clear()
            self._marked_of = viewed.identity if viewed is not None else None
        looks = self.size.width, self._broad, self._order, tuple(self._marked)
        shown = rows_signature(viewed), looks
        if shown != self._shown:
            self._shown = shown
            self._fill(viewed)
            self._troubled = troubled_runs(viewed) if viewed else ()
            self._flagged = flagged_runs(viewed) if viewed else ()
            if viewed is not None and self._tried_again in viewed.state.runs:
                self._select(last_attempt(viewed, self._tried_again))
            self._steer(viewed)
        self._see(viewed)
        room = panel.size.width - CORNERS - len(OF_ALL) * bool(panel.filter_text)
        counts = summary(viewed, room, leaving=self.session.leaving)
        shared = self._rows.shared(viewed) if viewed else ""
        all_of = f" · {shared}" * bool(shared)
        called = viewed.called if viewed else ""
        said = f" · {called}{self._order.behind_title}{all_of}" if viewed else ""
        panel.retitle(f"Runs{marks_words(self._marked, panel)}{said}", counts, name=called)
        panel.say_when_empty(
            "No run matches; Esc takes the filter away"
            if panel.filter_text
            else "The replay is being opened."
            if self.session.playing is not None
            else none_shown("Nothing has been started yet.", self.session)
        )
        self._show_selected()

    def _see(self, viewed: CampaignSnapshot | None) -> None:
        """Put the cursor on the run that the page before sent here for."""
        run_id, self.session.run_to_see = self.session.run_to_see, ""
        if viewed is None or run_id not in viewed.state.runs:
            return
        self.main_panel().unhide(run_id)
        self._tried_again, self._held = "", True
        self._select(run_id)

    def see(self, key: str) -> None:
        self.session.run_to_see = key
        self.tick()

    def _steer(self, viewed: CampaignSnapshot | None) -> None:
        """Put the cursor on a run at work when the one under it has ended."""
        campaign = viewed.called if viewed else ""  # a replay goes back in another directory
        here = viewed is not None and not (viewed.read_only or viewed.finished)
        if campaign != self._of or here > self._here:
            self._held = False
        created_at = viewed.state.created_at if viewed is not None else None
        if self._begun_at is not None and created_at not in (None, self._begun_at):
            self.to_list()  # the keys are for another campaign's runs now
        self._begun_at = created_at or self._begun_at
        self._of, self._here = campaign, here
        run = self.selected
        if viewed is None or self._held or (run is not None and run.state.active):
            return
        at_work = next((r.run_id for r in viewed.runs if r.state.active), None)
        if at_work is not None:
            self._select(at_work)

    def _select(self, run_id: str) -> None:
        """By itself: keys are for another run at once, and not when the list has told of it."""
        table = self.main_panel().table
        before = table.current_key
        table.select(run_id)
        if table.current_key != before:
            self.sight.changed()
            self._led.changed()
            self._led_at = Message().time

    def on_key(self, event: events.Key) -> None:
        if event.key in _OF_A_RUN:
            self._hold()
        known = event.key in _TO_AN_END or event.time >= self._led_at
        if known and event.key in _MOVE_CURSOR and self._in_list:
            self._led_at = inf
        if said := self._end_question.too_late(event.key):
            event.stop()
            self.post_message(Said(said))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self.query_one("#body").region.contains(event.screen_x, event.screen_y):
            self._hold()
            if self.main_panel().region.contains(event.screen_x, event.screen_y):
                self._led_at = inf

    def _hold(self) -> None:
        """The cursor stays on the run that somebody works on."""
        if not self._held:
            self._held = True
            self.refresh_bindings()

    @on(KeyedTable.Moved)
    def _moved(self) -> None:
        if not self.whole:
            return
        self._tried_again = ""
        self.panels.first_host()
        self._show_selected()

    def _show_selected(self) -> None:
        viewed, run, panels = self.viewed, self.selected, self.panels
        panels.tall, panels.low = self.has_class("-tall"), self.size.height < LOW
        panels.broad = self._broad
        panels.show(viewed, run, self.names, cut=self.main_panel().table.current_cut)
        self.set_class(not panels.display, "-alone")
        self.set_class(panels.brief, "-brief")
        self.set_class(self.size.height >= HIGH, "-high")
        self.main_panel().display = not panels.alone
        able = self._abilities(viewed, run)
        if able != self._able:
            self._able = able
            self.refresh_bindings()

    # Keys --------------------------------------------------------------------------------------

    def _abilities(self, viewed: CampaignSnapshot | None, run: RunView | None) -> _Able:
        meters, zoomed = self.panels.meters, self.panels.alone
        hosts = len(run.hosts) if run is not None else None
        readonly = self.session.readonly
        deserted = viewed is not None and viewed.deserted
        listed = self._listed(viewed)
        changes = frozenset[str]() if readonly else possible_changes(viewed, run, listed)
        filtered = bool(self.main_panel().filter_text)
        labels = change_labels(run, listed, filtered=filtered)
        if viewed is not None and (marked := self.marked_runs):
            labels |= marked_labels(viewed, marked)
            changes = self._of_marked(changes, viewed, marked)
        labels |= {
            "view": self.panels.next_view.capitalize(),
            "schedule": "Close schedule" if self.panels.schedule.display else "Schedule",
            "zoom": "All panels" if zoomed else "Zoom",
            "window": self.panels.window_label,
            "mark_all": UNMARK * all_marked(self._marked, self.main_panel().table.matching_keys),
        }
        return _Able(
            changes=changes,
            hosts=hosts,
            ended=run is not None and (run.state.ended or deserted),
            zoomed=zoomed,
            held=self._held,
            metered=meters.may_tell,
            labels=tuple(labels.items()),
            silent=run is not None and run.silent_s is not None,
            troubled=self._others,
            window=self._may_window(viewed, run, zoomed),
            all_in_sight=self.panels.all_in_sight,
            goes_on=viewed is not None and viewed.done < viewed.total and not deserted,
            marked=len(self._marked),
        )

    def _may_window(
        self, viewed: CampaignSnapshot | None, run: RunView | None, zoomed: str
    ) -> bool:
        if viewed is None or run is None:
            return False
        if self.panels.schedule.display:
            return self.panels.near or self.panels.may_be_near
        return zoomed in ("", "chart") and has_window(viewed, run)

    def _of_marked(
        self, changes: frozenset[str], viewed: CampaignSnapshot, marked: Sequence[RunView]
    ) -> frozenset[str]:
        """``changes``, which are those of the run under the cursor, where they are for all that are
        marked."""
        actions = [a for a in ON_MARKED if not viewed.unattended or a in GO_ON]
        can = {a for a in actions if able(verb_of(a, marked), viewed, marked).runs}
        return changes.difference(ON_MARKED) | can

    @property
    def _others(self) -> tuple[str, ...]:
        """The run in trouble that comes next in the list, and the one before, those whose figure is
        to be distrusted after all others; none, where there is no other than the one under the
        cursor."""
        table = self.main_panel().table
        here = table.current_key
        return around(table.shown_keys, here, (self._troubled, self._flagged)) if here else ()

    @property
    def labels_now(self) -> Mapping[str, str]:
        labels = {**dict(self._able.labels), "follow": self._follows}
        if isinstance(self.focused, Details):
            labels["filter"] = "Find"
        if self.panels.log_panel.has_focus and self.panels.log_panel.searched:
            return {**labels, "back": "Clear"}
        if not self._in_list:
            return labels
        return {**labels, **({"back": "Unmark"} if self._marked else {}), **super().labels_now}

    @property
    def concerns_now(self) -> Mapping[str, str]:
        """By action, the run that it would be done to, where that is the one under the cursor."""
        if (run := self.selected) is None:
            return {}
        of_marked = ON_MARKED if self._marked else ()
        name = self.names.get(run.run_id, run.label)
        return {action: name for action in OF_THE_RUN if action not in of_marked}

    @property
    def _in_list(self) -> bool:
        return isinstance(self.focused, KeyedTable) and not self.panels.alone

    @property
    def _follows(self) -> str:
        log = self.panels.log_panel
        return "Hold" if log.following else "To the end" if self._able.ended else "Follow"

    @property
    def _may_follow(self) -> bool:
        """Or hold its log, which is in sight, and which a run that has ended or was left does not
        write any more."""
        log = self.panels.log_panel
        going = not (log.following and self._able.ended)
        return bool(self._able.hosts) and log.display and going

    @property
    def urgent_now(self) -> Collection[str]:
        away = ("back",) * (not self._in_list)  # at the front: no other key leads to the list
        over = "repeat" in self._able.changes and "cancel_all" not in self._able.changes
        told = {"diagnose": self._able.silent, "repeat": over, "zoom": bool(self._able.zoomed)}
        told["window"] = self._able.window and self.panels.schedule.display
        return (*(action for action, urgent in told.items() if urgent), *away)

    def never(self, action: str) -> str:
        if action not in (*CHANGES, "mark", "mark_all", "unmark") or not self.session.readonly:
            return ""
        return ONLY_LOOKS if self.session.playing is None else NO_HOST_ASKED

    def not_now(self, action: str) -> str:
        able = self._able
        zoomed = bool(able.zoomed)
        reasons = {
            "view": (able.all_in_sight, "all of it is in sight"),
            "to_work": (able.goes_on, GOES_ALONG),
            "follow": (
                bool(able.hosts) and not self.panels.log_panel.display,
                "Enter brings the log into sight",
            ),
            "window": (
                self.panels.schedule.display or able.zoomed not in ("", "chart"),
                "all times are in sight"
                if self.panels.schedule.display
                else "z or Esc leads back to where the chart is",
            ),
            "sort": (zoomed, TO_LIST),
            "mark": (zoomed, TO_LIST),
            "mark_all": (zoomed or self._filters_all, TO_LIST if zoomed else NO_ROW),
            "unmark": (True, NONE_IS_MARKED),
        }
        so, words = reasons.get(action, (False, ""))
        if so or (words := self._why_none_marked(action)):
            return words
        opening = self.session.playing is not None
        told = self.panels.told_in_sight
        return why_not(action, self.viewed, self.selected, opening=opening, told=told)

    def _why_none_marked(self, action: str) -> str:
        viewed, marked = self.viewed, self.marked_runs
        if action not in ON_MARKED or viewed is None or not marked:
            return ""
        return why_none(verb_of(action, marked), viewed, marked, self.names)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        changes, hosts = self._able.changes, self._able.hosts
        at_once = ("retry_all", "pause_all", *(("retry", "pause") if not self._marked else ()))
        if action in at_once and not self.sight.seen:
            return False  # others ask first, by the names of what they are for
        if action in CHANGES:
            return action in changes
        marks = hosts is not None and not self._able.zoomed and self._may_mark
        there = {  # of a run that waits there is nothing to follow
            "next_log": hosts is not None and hosts > 1,
            "follow": self._may_follow,
            "to_work": self._held and self._able.goes_on,
            "trouble": bool(self._able.troubled),
            "window": self._able.window,
            "mark": marks,
            "mark_all": marks and bool(self.main_panel().table.matching_keys),
            "unmark": self._able.marked > 0,
        }
        if action in there:
            return there[action]
        if action in ("view", "zoom", "copy", "open", "meters", "schedule", "sort"):
            apt = action != "meters" or self.panels.meters.may_tell
            if action == "view":
                apt = not self._able.all_in_sight
            if action == "open":
                apt = bool(hosts) and not isinstance(self.focused, LogPanel)
            if action == "sort":
                apt = not self._able.zoomed
            return hosts is not None and apt
        if action == "back" and (self.panels.alone or self._able.marked):
            return True
        return super().check_action(action, parameters)

    def action_diagnose(self) -> None:
        run, viewed, controller = self.selected, self.viewed, self.session.controller
        if run is None or viewed is None:
            return
        if self.session.opened is not None:
            self._change(Verb.DIAGNOSE, [run.run_id])
        elif controller is not None and controller.diagnose(run.run_id):
            self.panels.asks_why(viewed.state.run(run.run_id), self.names[run.run_id])
        else:
            return
        self.panels.view = "details"  # where the answer will stand
        self._give_room("")
        self.tick()

    def action_view(self) -> None:
        """The next; where one is alone, the next alone, as on Results."""
        view = self.panels.view = self.panels.next_view
        self._give_room(view if self.panels.alone else "")

    def _give_room(self, alone: str, before: str | None = None) -> None:
        """All of it, and the keys, to one panel; the list has them where none is ``alone`` any
        more. ``before``: which one was, where that is not so still."""
        panels = self.panels
        before, panels.alone = panels.alone if before is None else before, alone
        self._show_selected()
        if alone != before:
            self._zoomed_here = bool(alone)
            kept = alone or self.main_panel().table.id
            self.set_focus(None if alone in CURVES else self.query_one(f"#{kept}"))
        self.call_after_refresh(self._show_selected)

    def action_window(self) -> None:
        """The chart of the window alone; again: of all of the run."""
        self.panels.toggle_window()
        self._show_selected()
        self.call_after_refresh(self._show_selected)

    def action_schedule(self) -> None:
        """Hosts over time; again: what was there before. The list has the keys, with which the
        schedule tells of another run."""
        before = self.panels.alone
        self.panels.toggle_schedule()
        self._give_room(self.panels.alone, before)
        table = self.main_panel().table
        table.focus()
        self.call_after_refresh(table.show_cursor_row)  # the list is shorter

    def action_open(self) -> None:
        """Enter: read the log; alone, where it has a few lines below the others."""
        if self.has_class("-tall") and not self.has_class("-high"):
            self._give_room("log")
            return
        self._bring_log()
        self.panels.log_panel.focus()

    def _bring_log(self) -> None:
        """Into sight: in the place of what is alone, or of the upper panel where one has room."""
        panels = self.panels
        if not self.has_class("-tall"):
            panels.view = "log"
        if panels.alone and panels.alone != "log":
            panels.alone = "log"
            panels.log_panel.focus()
        self._show_selected()

    def action_filter(self) -> None:
        """Of the list, which has to be in sight for that; in what is read words are found."""
        if isinstance(self.focused, Details):
            reading = Reading(*self.focused.said)
            self.app.push_screen(reading)
            reading.call_after_refresh(reading.action_find)
            return
        if self.panels.alone:
            self.panels.alone = ""
            self._show_selected()
        super().action_filter()

    def action_back(self) -> None:
        """Esc: first a search of the log goes, then to the list, then its filter goes."""
        log = self.panels.log_panel
        if log.has_focus and log.searched:
            log.forget_search()
        elif not self._in_list:
            self.to_list()
        elif self.panels.schedule.display and not self.main_panel().filter_text:
            self.action_schedule()
        elif self._marked and not self.main_panel().filter_text:
            self.action_unmark()
        else:
            super().action_back()
        self._show_selected()

    def to_list(self) -> None:
        self.panels.alone = ""
        self._show_selected()
        self.main_panel().table.focus()

    def action_follow(self) -> None:
        """Follow the log, or hold it still."""
        self.panels.log_panel.toggle_follow()
        self._show_selected()
        self.refresh_bindings()

    @property
    def _filters_all(self) -> bool:
        panel = self.main_panel()
        return bool(panel.filter_text) and not panel.table.matching_keys

    @property
    def _may_mark(self) -> bool:
        viewed = self.viewed
        return not self.session.readonly and viewed is not None and may_change(viewed)

    def action_mark(self) -> None:
        """The run under the cursor, or take its mark away; not one that nobody has seen there, or
        led the cursor to."""
        if (run := self.selected) is None:
            return
        if self._led_at < inf and not self._led.seen:
            self.app.bell()
            self.post_message(Said(NOT_MARKED))
            typed_ahead(self).drop_unseen(self._led)
            return
        self._hold()
        if run.run_id in self._marked:
            del self._marked[run.run_id]
        else:
            self._marked[run.run_id] = None
        self.pull()

    def action_mark_all(self) -> None:
        self._hold()
        toggle_marks(self._marked, self.main_panel().table.matching_keys)
        self.pull()

    def action_unmark(self) -> None:
        self._marked.clear()
        self.pull()

    @on(TablePanel.Filtered)
    def _filtered(self) -> None:
        self.pull()

    def action_sort(self) -> None:
        """By the next of the orders; the cursor stays on its run."""
        self._order = self._order.next
        self.pull()

    def action_to_work(self) -> None:
        """The cursor goes with what is at work, until a key concerns its run."""
        table = self.main_panel().table
        before, self._held = table.current_key, False
        self._steer(self.viewed)
        if table.current_key != before:
            self._led_at = -inf  # as was asked for: whatever key comes then leads on from there
        else:
            self.post_message(Said(GOES_ALONG))
        self._show_selected()
        self.refresh_bindings()

    def action_trouble(self, step: int) -> None:
        if others := self._others:
            self.main_panel().table.select(others[0 if step > 0 else -1])

    def action_next_log(self) -> None:
        self.panels.next_host()
        self._bring_log()

    def action_zoom(self) -> None:
        """The panel that is looked at alone, which has the keys then; again: all."""
        panels, table = self.panels, self.main_panel().table
        back, self._zoomed_here = self._zoomed_here, table.has_focus
        beside, read = panels.beside.has_focus, panels.details.has_focus
        panels.toggle_zoom(self.focused)
        self._show_selected()
        if panels.alone in CURVES:
            self.set_focus(None)
        elif panels.alone and (self._zoomed_here or beside):
            self.query_one(f"#{panels.alone}").focus()
        elif back and not panels.alone:
            table.focus()
        elif read and panels.beside.display:
            panels.beside.focus()
        self.call_after_refresh(self._show_selected)

    def action_meters(self) -> None:
        """The telemetry, which comes into sight, or the next of its figures."""
        before = self.panels.alone
        self.panels.next_figure()
        self._give_room(self.panels.alone, before)

    def action_copy(self) -> None:
        run, panels = self.selected, self.panels
        if run is not None and panels.told_in_sight:
            details = panels.beside if panels.beside.display else panels.details
            said = hand_over(self.app, details.text)
            self.post_message(Said(f"{self.names[run.run_id]}, its details and commands: {said}"))
        elif run is not None:
            lines = [*run.commands, self.session.told_log(run)]
            said = hand_over(self.app, "\n".join(plain(line) for line in lines if line))
            self.post_message(Said(f"{self.names[run.run_id]}, its commands and log path: {said}"))


def around(keys: Sequence[str], here: str, kinds: Sequence[Collection[str]]) -> tuple[str, ...]:
    """The key that comes next in a round of those of each kind, one kind after the other, and the
    one before; none, where there is no other than ``here``, which may be of none."""
    at = keys.index(here)
    which = next((n for n, kind in enumerate(kinds) if here in kind), None)
    rest = (*keys[at + 1 :], *keys[:at])
    found = [[key for key in (keys if which is not None else rest) if key in k] for k in kinds]
    ring = [key for kind in found for key in kind]
    if which is None:
        return (ring[0], next(kind for kind in found if kind)[-1]) if ring else ()
    place = ring.index(here)
    return (ring[(place + 1) % len(ring)], ring[place - 1]) if len(ring) > 1 else ()
