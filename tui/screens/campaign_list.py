"""Campaigns on disk: what was left unfinished, and the list to look at any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Static

from backends.campaign.record.lock import CampaignLockedError, Role
from tui.backend_protocols import CampaignSummary
from tui.key_bindings import bindings
from tui.screens.campaign_text import COLUMNS, campaign_rows, summary_words
from tui.screens.dialogs import Answer, Choice, Dialog
from tui.session import Session
from tui.text import count, plain, shorten
from tui.typed_ahead import Sight
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import KeyedTable, current_key

READING = "reading the campaigns …"


class CampaignList(Dialog[str]):
    """Choose a campaign; the result is ``open:PATH``, ``resume:PATH`` or ``keep:PATH``. Those that
    are marked are compared on top of it."""

    PANEL = "campaigns"
    BINDINGS = bindings("campaigns")
    AHEAD = Dialog.AHEAD | {"open", "mark", "compare", "filter"}  # which start nothing
    WORDS = (
        "Any campaign can be looked at; one that is not finished can be resumed; two or more that "
        "are marked can be compared."
    )
    WORDS_READONLY = (
        "Any campaign can be looked at; two or more that are marked can be compared. This console "
        "is read-only."
    )

    def __init__(
        self, title: str, session: Session, summaries: Sequence[CampaignSummary] | None = None
    ) -> None:
        """``summaries``: None while they are being read."""
        super().__init__(title)
        self._session = session
        self._now = session.workspace.cluster.now()
        self._summaries = summaries
        self._marked: dict[Path, None] = {}
        self._listed = Sight(self, self.paint)  # since when these campaigns are shown

    def compose(self) -> ComposeResult:
        with self.box(wide=True):
            words = self.WORDS_READONLY if self._session.readonly else self.WORDS
            yield Static(Text(words), classes="message", markup=False)
            yield TablePanel(KeyedTable(COLUMNS), "Campaigns")
            yield Static(classes="chosen", markup=False)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self._fill()
        self._listed.changed()

    def show(self, summaries: Sequence[CampaignSummary]) -> None:
        """They have been read."""
        self._summaries = summaries
        if self.is_mounted:
            self._fill()
            self._listed.changed()
            self.sight.renew()

    def _fill(self) -> None:
        panel = self.query_one(TablePanel)
        panel.table.refill(campaign_rows(self._summaries or (), self._now, self._marked))
        marks = f" · {len(self._marked)} marked" if self._marked else ""
        panel.retitle(f"Campaigns{marks}")
        none = "No campaigns yet; mark cases on page 2 and start them"
        panel.say_when_empty(READING if self._summaries is None else none)

    @on(KeyedTable.Moved)
    def _other_row(self) -> None:
        self.sight.changed()
        chosen = self._chosen()
        words = Text() if chosen is None else summary_words(chosen, self._now)
        self.query_one(".chosen", Static).update(words)
        self.refresh_bindings()

    def _chosen(self) -> CampaignSummary | None:
        key = current_key(self)
        return next((s for s in self._summaries or () if str(s.path) == key), None)

    def able(self, action: str) -> bool:
        if action not in ("open", "resume", "keep", "filter", "mark", "compare"):
            return True
        if action == "filter":
            return bool(self._summaries)
        if action == "compare":
            return bool(self._marked)
        if (chosen := self._chosen()) is None:
            return False
        simulated = self._session.simulated  # hosts that are go on with no other campaign
        changes = not self._session.readonly and chosen.simulated == simulated
        return {
            "open": True,
            "mark": chosen.total > 0 and self._listed.seen,
            "keep": changes and not simulated and chosen.state == "unfinished",
            "resume": changes and chosen.state != "finished",
        }[action]

    def action_filter(self) -> None:
        self.query_one(TablePanel).start_filter()

    def action_mark(self) -> None:
        """And go to the next row, where there is one."""
        if (chosen := self._chosen()) is not None:
            if chosen.path in self._marked:
                del self._marked[chosen.path]
            else:
                self._marked[chosen.path] = None
            self._fill()
            self.query_one(KeyedTable).action_cursor_down()
            self.refresh_bindings()

    def action_compare(self) -> None:
        from tui.screens.compare_screen import Compare  # noqa: PLC0415 (seldom needed)

        marked = [one for one in self._summaries or () if one.path in self._marked]
        self.app.push_screen(Compare(self._session, marked))

    def action_open(self) -> None:
        self._answer("open")

    def action_resume(self) -> None:
        self._answer("resume")

    def action_keep(self) -> None:
        self._answer("keep")

    def _answer(self, verb: str) -> None:
        key = self.query_one(KeyedTable).current_key
        if key is not None:
            self.finish(f"{verb}:{key}")


class Unfinished(CampaignList):
    """On start: what to do with campaigns that were left before their end."""

    PANEL = "unfinished"
    BINDINGS = bindings("unfinished")
    WORDS = (
        "Nobody goes on with these. Resuming re-attaches to runs that are still going, collects "
        "those that have ended meanwhile, and starts the rest; so does a keeper, while no console "
        "is open. Nothing is lost by ignoring them."
    )


def unfinished_question(
    summaries: Sequence[CampaignSummary], session: Session
) -> Unfinished | None:
    """The dialog to push on start, or None when everything is finished. Simulated hosts go on with
    no measured campaign, nor real ones with a simulated one: those are not asked about."""
    left = [s for s in summaries if s.state == "unfinished" and s.simulated == session.simulated]
    if not left:
        return None
    return Unfinished(count(len(left), "unfinished campaign"), session, left).by_itself()


def kept_campaign(summaries: Sequence[CampaignSummary], *, simulated: bool) -> Path | None:
    """The newest that a keeper goes on with, on hosts that are ``simulated`` as ours are, or
    None."""
    ours = (one for one in summaries if one.keeper and one.simulated == simulated)
    return next((summary.path for summary in ours), None)


async def resume_with_consent(app: App[str], session: Session, path: Path) -> bool:
    """Resume; a campaign that another console may still hold is taken over only after a question.
    One that a keeper goes on with is looked at, for a keeper does what it is asked.

    Returns whether the campaign is attached now; raises DlperfError as the engine does.
    """
    try:
        await session.resume(path)
    except CampaignLockedError as error:
        if error.holder is not None and error.holder.role == Role.KEEPER and not error.stale:
            await session.open(path)
            return True
        question = Choice(
            "Another console",
            f"{shorten(plain(error.what), 200)}. Two consoles must not write one campaign.",
            (
                Answer("o", "open it read-only", "open"),
                Answer("t", "take it over; the other console stops writing", "take"),
            ),
        )
        answer = await app.push_screen_wait(question.by_itself())
        if answer == "take":
            await session.resume(path, take_over=True)
            return True
        if answer == "open":
            await session.open(path)
            return True
        return False
    return True
