"""What the four pages share: the lines above and below, the clockwork, opening dialogs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.notifications import Notifications
from textual.widget import Widget

from profiles.errors import DlperfError
from tui.hosts_now import AGAIN_EVERY_S, HostsNow
from tui.key_bindings import PAGES
from tui.messages import Problem
from tui.screens.front_screen import REFRESH_S, FrontScreen
from tui.session import Session
from tui.text import GRAVE
from tui.typed_ahead import typed_ahead
from tui.widgets.filter_table import TablePanel
from tui.widgets.header import SEARCHING, Header, Tabs
from tui.widgets.keybar import KeyBar
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.told import fits_a_line

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot

WAITS_S = 1.0
"""For keys a refresh waits so long at most."""
PAUSE_S = 0.12
"""Between two keys; longer, and no other is to be expected at once."""
LEAST_TOLD = 48
"""Columns of what is said beside a whole note; where there are fewer, the note gives way."""
NO_HOST_ASKED = "not in a replay, which asks no host"
ONLY_LOOKS = "not here: this console only looks"


def header_of(session: Session) -> Header:
    """The first line, of what the session shows."""
    return Header(
        session.workspace.cluster.login_host,
        session.hosts,
        session.viewed,
        only_looks=session.readonly,
        simulated=session.simulated_word,
        replay=session.playing is not None,
    )


class Page(FrontScreen[None]):
    """One of the four pages. Pulls what it shows at most twice a second, while in front."""

    PANEL = ""
    AUTO_FOCUS = "KeyedTable"
    hosts_now: HostsNow | None = None
    """Of a page that shows them."""
    TOLD_LINES = 2  # beside the pages' names, and in the header: no panel's title is there

    def __init__(self, session: Session) -> None:
        super().__init__()
        # Not of the application: a dialog that got such a class would be laid out once more.
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]
        self.session = session
        self.viewed: CampaignSnapshot | None = None  # as of the last tick
        self._ticked = -inf
        self._put_off = False
        self._theme = ""  # that its styles are of

    @property
    def labels_now(self) -> Mapping[str, str]:
        """By action: what its key would do at this moment, where that is not always the same."""
        filtered = any(panel.filter_text for panel in self.query(TablePanel))
        return {"back": "All rows"} if filtered else {}

    @property
    def urgent_now(self) -> Collection[str]:
        """Actions that the moment calls for."""
        return ()

    def body(self) -> Iterable[Widget]:
        """The page's own widgets."""
        raise NotImplementedError

    def pull(self) -> None:
        """Show what is so now."""

    @property
    def whole(self) -> bool:
        """Its widgets are there: it was composed, and is not on its way out."""
        return self.is_mounted and self.display

    @property
    def told_room(self) -> int:
        return super().told_room - self.query_one(Tabs).names_width - 1

    def tell(self, said: Notifications) -> None:
        """Beside the note where both have room; a problem that needs more than these lines has the
        whole width."""
        told = self._last_told
        if not (told.is_attached and self.whole):
            return
        tabs = self.query_one(Tabs)
        if tabs.replay:  # the moment is what was asked to change
            width = super().told_room
            beside = width - self.query_one(Header).campaign_width
            room = beside if fits_a_line(said, beside) else width
            told.show(said, room, 1)
            told.styles.margin = (0, width - room, 0, 0)
            return
        beside = self.told_room - tabs.note_width
        room = beside if beside >= LEAST_TOLD else self.told_room
        lines = told.show(said, room, self.TOLD_LINES)
        if lines > self.TOLD_LINES:
            lines = told.show(said, super().told_room, self.TOLD_LINES)
        told.styles.margin = (max(0, self.TOLD_LINES - lines), 0, 0, 0)
        tabs.covered = told.columns

    def tell_no_more(self) -> None:
        super().tell_no_more()
        if self.whole:
            self.query_one(Tabs).covered = 0

    def main_panel(self) -> TablePanel | None:
        """The list that ``/`` filters and Esc comes back to."""
        return None

    def compose(self) -> ComposeResult:
        yield header_of(self.session)
        yield Tabs(self.PANEL, left_out="matrix" if self.session.playing is not None else "")
        with Vertical(id="body"):
            yield from self.body()
        yield KeyBar()

    def on_mount(self) -> None:
        self._theme = self.app.theme
        self.set_interval(REFRESH_S, self._tick)
        if self.hosts_now is not None:
            self.set_interval(AGAIN_EVERY_S, self._ask_again)
        self.call_after_refresh(self.tick)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Textual matches every widget with all styles again; they are another's with the theme."""
        event.refresh_styles = self.app.theme != self._theme
        self._theme = self.app.theme
        self.call_after_refresh(self.tick)
        self._ask_again()

    @property
    def asks_hosts(self) -> bool:
        """Hosts are asked again by themselves: somebody sees their state."""
        return self.is_current

    def _ask_again(self) -> None:
        """Who takes long to answer is waited for, not asked anew."""
        asking = any(w.group == "refresh" and not w.is_finished for w in self.workers)
        if self.hosts_now is not None and self.asks_hosts and not asking:
            self._ask_hosts(self.hosts_now)

    @work(group="refresh", description="ask hosts again that were asked long ago")
    async def _ask_hosts(self, hosts_now: HostsNow) -> None:
        try:
            await hosts_now.ask_again(self.session.viewed)
        except DlperfError as error:
            self.post_message(Problem(error))

    def _tick(self) -> None:
        """Keys first: what they ask for is drawn before what came by itself."""
        late = monotonic() - self._ticked >= WAITS_S
        if not self.is_current:
            return
        if late or typed_ahead(self).over_for(PAUSE_S):
            self.tick()
        elif not self._put_off:
            self._put_off = True
            self.set_timer(PAUSE_S, self._tick_then)

    def _tick_then(self) -> None:
        self._put_off = False
        self._tick()

    def tick(self) -> None:
        """Bring everything on the page up to date."""
        if not self.whole:
            return
        self._ticked = monotonic()
        viewed = self.viewed = self.session.viewed
        session = self.session
        self.query_one(Header).show(
            session.hosts,
            viewed,
            simulated=session.simulated_word,
            leaving=session.leaving,
            without=SEARCHING if session.looking else session.without,
        )
        tabs = self.query_one(Tabs)
        notes = session.standing_notes(viewed)
        if not PAGES[self.PANEL].of_campaign:  # something else is planned here
            notes = tuple(note for note in notes if note[1] in GRAVE)
        tabs.note = notes[-1][2] if notes else ""
        tabs.level = notes[-1][1] if notes else "warn"
        tabs.more = len(viewed.notes) - 1 if viewed and notes else 0
        tabs.replay = self.session.playing() if self.session.playing is not None else ""
        tabs.seek = self.session.seek_bar() if self.session.seek_bar is not None else None
        self.pull()
        self.query_one(KeyBar).renew()

    @on(KeyedTable.Moved)
    def _other_row(self) -> None:
        self.sight.changed()

    def never(self, action: str) -> str:
        """Why this console does not do it at all; empty: it may."""
        return ""

    def not_now(self, action: str) -> str:
        """Why it cannot be done at this moment; empty where there are no better words."""
        return ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.whole or self.never(action):
            return False
        if action == "filter" and not self._filterable:
            return False
        panels = self.query(TablePanel) if action == "back" else ()
        return all(
            panel.filter_text or (panel.table.display and not panel.table.has_focus)
            for panel in panels
        )

    @property
    def _filterable(self) -> bool:
        panel = self.main_panel()
        return panel is not None and bool(panel.table.found or panel.filter_text)

    def action_filter(self) -> None:
        panel = self.main_panel()
        if panel is not None:
            panel.start_filter()

    def see(self, key: str) -> None:
        """Put the cursor of its list on a row."""
        if self.whole and (panel := self.main_panel()) is not None:
            panel.unhide(key)
            panel.table.select(key)
            panel.table.focus()

    def to_list(self) -> None:
        """Its own key was pressed: the keys are for its list, where what is read has them."""

    def action_back(self) -> None:
        """Esc: first the filter goes, then the focus returns to the list."""
        panel = self.main_panel()
        if panel is not None and not (panel.filter_text and panel.clear_filter()):
            panel.table.focus()
