"""Campaigns on disk: what was left unfinished, and the list to look at any of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Static

from backends.campaign.record.lock import CampaignLockedError, Role
from tui.backend_protocols import CampaignSummary
from tui.key_bindings import bindings
from tui.screens.dialogs import Answer, Choice, Dialog
from tui.session import Session
from tui.text import ago, cell, count, plain, shorten
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import Column, KeyedTable, Row, current_key

READING = "reading the campaigns …"
COLUMNS = (
    Column("state", "State", 12),
    Column("name", "Campaign", None),
    Column("runs", "Runs", 7, right=True),
    Column("failed", "Failed", 6, right=True, from_width=72),
    Column("cancelled", "Cancelled", 9, right=True, from_width=96),
    Column("measures", "Measures", 18, from_width=84, most=52),
    Column("begun", "Begun", 10, right=True),
)

_STATES = {
    "live": ("▶", ACCENT),
    "finished": ("✓", GOOD),
    "unfinished": ("◌", WARN),
}


def _state(summary: CampaignSummary) -> tuple[str, str]:
    """Symbol and colour: what came to its end is good where all runs did so by themselves and well,
    bad where some failed and none succeeded."""
    lost = summary.failed + summary.cancelled
    if summary.state == "finished" and lost:
        if lost < summary.total:
            return "✓", WARN
        return ("✗", BAD) if summary.failed else ("–", WARN)
    return _STATES.get(summary.state, ("·", MUTED))


def campaign_rows(summaries: Sequence[CampaignSummary], now: float) -> list[Row]:
    """``now``: seconds since the epoch, from which ages are counted."""
    rows = []
    for summary in summaries:
        symbol, colour = _state(summary)
        name = plain(summary.name) + (" · SIMULATED" if summary.simulated else "")
        name += "".join(f" #{plain(tag)}" for tag in summary.about.tags)
        rows.append(
            Row(
                str(summary.path),
                (
                    cell(f"{symbol} {summary.state}", colour),
                    cell(name, "bold"),
                    cell(f"{summary.done}/{summary.total}", right=True),
                    cell(str(summary.failed or ""), BAD, right=True),
                    cell(str(summary.cancelled or ""), MUTED, right=True),
                    cell(summary.measures),
                    cell(_age(summary, now), MUTED, right=True),
                ),
            )
        )
    return rows


def _age(summary: CampaignSummary, now: float) -> str:
    return "–" if summary.created_at is None else ago(now - summary.created_at)


def summary_words(summary: CampaignSummary, now: float) -> Text:
    """What tells the campaign under the cursor from others of its day, on one line or two."""
    parts = [summary.measures or "no run is known", f"{summary.done} of {summary.total} runs ended"]
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    if summary.cancelled:
        parts.append(f"{summary.cancelled} cancelled")
    if summary.created_at is not None:
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.created_at))
        parts.append(f"begun {begun}, {_age(summary, now)}")
    parts += [said for said in (summary.problem, summary.about.note) if said]
    return Text(" · ".join(map(plain, parts)), MUTED)


class CampaignList(Dialog[str]):
    """Choose a campaign; the result is ``open:PATH``, ``resume:PATH`` or ``keep:PATH``."""

    PANEL = "campaigns"
    BINDINGS = bindings("campaigns")
    WORDS = "Any campaign can be looked at; one that is not finished can be resumed."

    def __init__(
        self, title: str, now: float, summaries: Sequence[CampaignSummary] | None = None
    ) -> None:
        """``summaries``: None while they are being read. ``now``: seconds since the epoch."""
        super().__init__(title)
        self._now = now
        self._summaries = summaries

    def compose(self) -> ComposeResult:
        with self.box(wide=True):
            yield Static(Text(self.WORDS), classes="message", markup=False)
            yield TablePanel(KeyedTable(COLUMNS), "Campaigns")
            yield Static(classes="chosen", markup=False)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self._fill()

    def show(self, summaries: Sequence[CampaignSummary]) -> None:
        """They have been read."""
        self._summaries = summaries
        if self.is_mounted:
            self._fill()
            self.sight.renew()

    def _fill(self) -> None:
        panel = self.query_one(TablePanel)
        panel.table.refill(campaign_rows(self._summaries or (), self._now))
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
        if action not in ("open", "resume", "keep", "filter"):
            return True
        if action == "filter":
            return bool(self._summaries)
        chosen = self._chosen()
        if action == "keep":
            return chosen is not None and chosen.state == "unfinished"
        return chosen is not None and (action == "open" or chosen.state != "finished")

    def action_filter(self) -> None:
        self.query_one(TablePanel).start_filter()

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


def unfinished_question(summaries: Sequence[CampaignSummary], now: float) -> Unfinished | None:
    """The dialog to push on start, or None when everything is finished."""
    left = [summary for summary in summaries if summary.state == "unfinished"]
    if not left:
        return None
    return Unfinished(count(len(left), "unfinished campaign"), now, left).by_itself()


def kept_campaign(summaries: Sequence[CampaignSummary]) -> Path | None:
    """The newest that a keeper goes on with, or None."""
    return next((summary.path for summary in summaries if summary.keeper), None)


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
