"""Campaigns on disk: what was left unfinished, and the list to look at any of them."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.widgets import Static

from backends.campaign.folder.paths import KEEPER_LOG, check_name
from backends.campaign.folder.tags_and_note import checked_note, checked_tags
from backends.campaign.record.journal import FILE_NAME as JOURNAL
from backends.campaign.record.lock import CampaignLockedError, Role
from backends.results.numbers import bytes_text
from profiles.counted import counted
from profiles.errors import DlperfError, SelectionError
from tui.backend_protocols import CampaignSummary
from tui.campaign_words import state_words
from tui.key_bindings import bindings
from tui.messages import Problem, Said
from tui.past_reading import PastReading
from tui.row_marks import NO_ROW, NONE_IS_MARKED, UNMARK, all_marked, marks_words, toggle_marks
from tui.row_order import RowOrder
from tui.screens.campaign_text import (
    AGE_S,
    BY_AGE,
    COLUMNS,
    Listed,
    Results,
    ages,
    called,
    campaign_rows,
    chosen_words,
    fastest_of,
    not_removable,
    remove_question,
)
from tui.screens.dialogs import Answer, Choice, Dialog, Prompt
from tui.session import Session
from tui.text import ago, plain, shorten
from tui.theme import ACCENT
from tui.typed_ahead import Sight, typed_ahead
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import KeyedTable, current_key

LOOK_S = 0.5
AGAIN_S = 10.0
"""Others start and end campaigns meanwhile."""
AGAIN = "campaigns-again"
READING = "reading the campaigns …"
FOUND = f"bold {ACCENT}"
CHANGES = ("resume", "keep", "tag", "note", "rename", "remove")
NONE_MARKED = {"compare": "space marks what is to be compared", "unmark": NONE_IS_MARKED}


def name_of(text: str) -> str:
    """Raises SelectionError where a campaign cannot be called so."""
    name = text.strip()
    if not name or "/" in name or name.startswith("."):
        raise SelectionError(
            "that is no name of a campaign",
            remedy="letters, digits and . _ -, and no . at the begin",
        )
    check_name(Path(name))
    return name


def tags_of(text: str) -> tuple[str, ...]:
    """Raises SelectionError where one is no tag."""
    return checked_tags(tuple(tag.removeprefix("#") for tag in text.split()))


class Saying(Prompt):
    """What is said of a campaign, in the place of what was said before: that has to be seen.
    Where nothing was said before all of a burst is taken (:class:`Prompt`)."""

    AHEAD = Dialog.AHEAD


class CampaignList(Dialog[str]):
    """Choose a campaign; the result is ``open:PATH``, ``resume:PATH`` or ``keep:PATH``. Those that
    are marked are compared on top of it."""

    PANEL = "campaigns"
    READS_RESULTS = True
    BINDINGS = bindings("campaigns")
    AHEAD = Dialog.AHEAD | {"open", "mark", "compare", "replay", "filter", "sort", "reverse"}
    AHEAD |= {"tag", "note", "rename", "mark_all", "unmark", "remove"}
    """They start nothing, or name in a dialog of their own what they are for."""
    WORDS = "One that is not finished can be resumed; c compares what is marked."
    WORDS_READONLY = "This console is read-only. c compares what is marked."

    def __init__(
        self, title: str, session: Session, summaries: Sequence[CampaignSummary] | None = None
    ) -> None:
        """``summaries``: None while they are being read."""
        super().__init__(title)
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]
        self._session = session
        self._now, self._progress = session.now, session.progress
        self._summaries = summaries
        self._marked = session.marked  # for the next list of this sitting, until they were compared
        self._compared = False
        self._order = BY_AGE
        self._past = PastReading(session)
        self._panel = TablePanel(KeyedTable(COLUMNS), title, bare=True)
        self._about = Static(classes="chosen", markup=False)  # of the campaign under the cursor
        self._results: Results = self._past.by_campaign
        self._led = Sight(self, self.paint)  # since when the cursor is where it went by itself
        self._led.since = -inf

    def compose(self) -> ComposeResult:
        with self.box(widest=True) as box:
            box.add_class("-lists")
            yield Static(Text(self._words), classes="message", markup=False)
            yield self._panel
            yield self._about

    def finish(self, result: str | None = None) -> None:
        if self._compared:
            self._marked.clear()
        super().finish(result)

    @property
    def heading(self) -> Text | str:
        return self._panel.heading

    @property
    def _words(self) -> str:
        return self.WORDS_READONLY if self._session.readonly else self.WORDS

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self._fill()
        self.set_interval(AGAIN_S, self._look_again)
        self.set_interval(AGE_S, self._look)
        if self.READS_RESULTS:
            self.set_interval(LOOK_S, self._show_results)

    def on_unmount(self) -> None:
        self._past.stop()

    @work(group="campaign-results", description="read what the campaigns measured")
    async def read_results(self) -> None:
        await self._past.read()
        self._show_results()
        if self.here:
            self._fill()  # where there is nothing of them: that is known now
        await self._look_at_logs()

    async def _look_at_logs(self) -> None:
        await self._past.look_at_logs()
        self._show_results()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.run_worker(self._look_at_logs(), group="campaign-results")

    def _show_results(self) -> None:
        read = self._past.by_campaign
        if read is not self._results and self.here:
            self._results = read
            self._fill()
            self._say_chosen()

    @work(group=AGAIN, description="which campaigns there are by now")
    async def _look_again(self) -> None:
        """The look before goes on where it takes long: ended, none would ever come to its end."""
        before = self._summaries
        looking = sum(one.group == AGAIN and not one.is_finished for one in self.workers)
        if not self.here or before is None or looking > 1:  # this one is the other
            return
        self._progress = self._session.progress
        try:
            found = await self._session.campaigns()
        except DlperfError:
            found = before  # said when it is asked for
        if self.here and self._summaries is before:
            self._take(found)
            self.refresh_bindings()
        await self._look_at_logs()

    def show(self, summaries: Sequence[CampaignSummary]) -> None:
        """They have been read. The cursor begins on the one in view: what is pressed then is
        likeliest to be meant for that."""
        first = self._summaries is None
        self._take(summaries)
        if self.here:
            in_view = self._session.moved_to or self._session.viewed_path
            if first and in_view is not None:
                self.call_after_refresh(self._panel.table.select, str(in_view))
            self.sight.renew()

    def _listed_of(self, found: Sequence[CampaignSummary]) -> Sequence[CampaignSummary]:
        """Of all that there are those that it is about."""
        return found

    def _take(self, found: Sequence[CampaignSummary]) -> None:
        summaries = self._listed_of(found)
        new = summaries != self._summaries
        self._summaries, self._now = summaries, self._session.now
        there = {one.path for one in summaries}
        for gone in [path for path in self._marked if path not in there]:
            del self._marked[gone]
        if self.here:
            before = self._panel.table.current_key
            self._fill()
            if before not in (None, self._panel.table.current_key):  # it was removed
                self._led.changed()
            self._say_chosen()
            if new and self.READS_RESULTS:
                self.read_results()

    def _look(self) -> None:
        """What goes on here or is looked at is told as the page behind tells it; ages anew where
        they are others in words."""
        if self._session.progress != self._progress:
            self._look_again()
        every, now = self._summaries or (), self._session.now
        if self.here and ages(every, now) != ages(every, self._now):
            self._now = now
            self._fill()
            self._say_chosen()

    def _fill(self) -> None:
        panel = self._panel
        every = (Listed(one, fastest_of(one, self._results)) for one in self._summaries or ())
        listed = [one.summary for one in self._order.of(every)]
        panel.table.refill(campaign_rows(listed, self._now, self._marked, self._results))
        self._about.display = bool(self._summaries)
        self._retitle()
        panel.say_when_empty(self._why_empty())
        self.refresh_bindings()

    def _retitle(self) -> None:
        marks = marks_words([str(path) for path in self._marked], self._panel)
        order = "" if self._order == BY_AGE else f" · {self._order.words}"
        reading = " · reading figures …" * (self.READS_RESULTS and not self._past.known)
        self._panel.retitle(f"{self._title}{marks}{order}{reading}")

    def _why_empty(self) -> str:
        if self._summaries is None:
            return READING
        if self._summaries:
            return "No campaign has these words; Esc takes the filter away"
        return "No campaigns yet; mark cases on page 2 and start them"

    @on(KeyedTable.Moved)
    def _other_row(self) -> None:
        self.sight.changed()
        self._panel.say_when_empty(self._why_empty())
        self._say_chosen()
        self.refresh_bindings()

    @on(TablePanel.Filtered)
    def _filtered(self) -> None:
        self._retitle()
        self._say_chosen()

    def _say_chosen(self) -> None:
        """With what the filter found, also where no column has it."""
        chosen = self._chosen()
        words = Text()
        if chosen is not None:
            ours = self._ours(chosen)
            words = chosen_words(chosen, self._now, self._results, ours=ours)
        if found := self._panel.filter_text.split():
            words.highlight_words(found, FOUND, case_sensitive=False)
        self._about.update(words)

    def _chosen(self) -> CampaignSummary | None:
        key = current_key(self)
        return next((s for s in self._summaries or () if str(s.path) == key), None)

    def never(self, action: str) -> str:
        return "this console is read-only" if self._session.readonly and action in CHANGES else ""

    def not_now(self, action: str) -> str:
        """In the order in which the reasons would have to go."""
        chosen = self._chosen()
        if not self._summaries:
            return READING if self._summaries is None else "there are no campaigns yet"
        if none := NONE_MARKED.get(action):
            return none
        if chosen is None:
            return NO_ROW if action == "mark_all" else "no campaign is under the cursor"
        if action in ("resume", "keep"):
            return self._why_not_on(chosen, action)
        live = action == "rename" and chosen.state == "live"
        return "somebody is at work on it" if live else "no run of it is known"

    def _why_not_on(self, chosen: CampaignSummary, action: str) -> str:
        """Why it does not go on: what is so of it, before what is so of this console."""
        if self._ours(chosen):
            return "it is at work here"
        same = chosen.simulated == self._session.simulated
        again = "; t on Runs tries a failed run again"
        real = same and not chosen.simulated
        again *= bool(action == "resume" and chosen.failed and real)
        over = {"live": "somebody is at work on it", "finished": f"it is over{again}"}
        if chosen.state in over:
            return over[chosen.state]
        if not same:
            if chosen.simulated:
                return "its hosts were simulated: 'dlperf-tui demo' goes on with it"
            return "its hosts are real, and a demo has none of them: 'dlperf-tui' goes on with it"
        if action == "keep" and chosen.simulated:
            return "its simulated hosts go when the console does"
        return chosen.problem or "nothing of it can go on"

    def _ours(self, chosen: CampaignSummary) -> bool:
        ours = self._session.controller
        return self._session.at_work and ours is not None and ours.path == chosen.path

    @property
    def labels_now(self) -> Mapping[str, str]:
        labels = {"mark_all": UNMARK} if all_marked(self._marked, self._markable) else {}
        return labels | ({"leave": "All"} if self._panel.filter_text else {})

    def able(self, action: str) -> bool:
        if self.never(action):
            return False
        of_list = {
            **dict.fromkeys(("filter", "sort", "reverse"), bool(self._summaries)),
            **dict.fromkeys(("compare", "unmark"), bool(self._marked and self._summaries)),
            "mark_all": bool(self._markable),
        }
        if action in of_list:
            return of_list[action]
        if action not in ("open", "mark", "replay", *CHANGES):
            return True
        if (chosen := self._chosen()) is None:
            return False
        simulated = self._session.simulated  # hosts that are go on with no other campaign
        same = chosen.simulated == simulated
        return {
            "open": True,
            "mark": chosen.total > 0 and self._led.seen,
            "replay": chosen.total > 0,
            "keep": same and not simulated and chosen.state == "unfinished",
            "resume": same and chosen.state != "finished" and not self._ours(chosen),
            "tag": chosen.total > 0,
            "note": chosen.total > 0,
            "rename": chosen.total > 0 and chosen.state != "live",
            "remove": True,
        }[action]

    def action_filter(self) -> None:
        self._panel.start_filter()

    def action_leave(self) -> None:
        if not (self._panel.filter_text and self._panel.clear_filter()):
            super().action_leave()

    def action_mark(self) -> None:
        if (chosen := self._chosen()) is not None:
            if chosen.path in self._marked:
                del self._marked[chosen.path]
            else:
                self._marked[chosen.path] = None
            self._fill()
            self.refresh_bindings()

    @property
    def _markable(self) -> Sequence[Path]:
        """Those that the list shows and of which a run is known."""
        shown = {*self._panel.table.matching_keys}
        return [one.path for one in self._summaries or () if one.total and str(one.path) in shown]

    def action_mark_all(self) -> None:
        toggle_marks(self._marked, self._markable)
        self._fill()

    def action_unmark(self) -> None:
        self._marked.clear()
        self._compared = False
        self._fill()

    def action_compare(self) -> None:
        from tui.screens.compare_screen import Compare  # noqa: PLC0415 (seldom needed)

        marked = [one for one in self._summaries or () if one.path in self._marked]
        self._compared = True
        self.app.push_screen(Compare(self._session, marked))

    @work(exclusive=True, group="replay", description="lend the terminal to a replay")
    async def action_replay(self) -> None:
        """What is at work goes on meanwhile."""
        from tui.lent_terminal import lend_from  # noqa: PLC0415 (seldom needed)

        if (chosen := self._chosen()) is None:
            return
        command = self._session.replay_command(chosen.path)
        opening = f"opening the replay of {plain(chosen.path.name)} …"
        lent = await lend_from(self, command, leads_back=True, says=opening)
        if lent is not None and lent[0]:
            self.post_message(Problem(DlperfError(lent[1] or f"the replay ended with {lent[0]}")))

    def action_sort(self) -> None:
        self._reorder(self._order.next)

    def action_reverse(self) -> None:
        self._reorder(self._order.reversed)

    def _reorder(self, order: RowOrder[Listed]) -> None:
        self._order = order
        if self.here:
            self._fill()
            self.call_after_refresh(self._panel.table.show_cursor_row)

    def action_tag(self) -> None:
        if len(self._marked) > 1:
            self._tag_marked()
        elif (chosen := self._chosen()) is not None:
            tags = " ".join(chosen.about.tags)
            words = f"Tags of {called(chosen)}, with spaces between; an empty line takes them away."
            words += " What is typed takes their place, behind End it is one more." * bool(tags)
            asking = Saying if tags else Prompt
            prompt = asking(
                "Tags", words, value=tags, check=tags_of, placeholder="e.g. baseline v100"
            )
            self._ask(prompt, lambda text: self._describe(chosen.path, tags=tags_of(text)))

    def _tag_marked(self) -> None:
        marked = [one for one in self._summaries or () if one.path in self._marked]
        words = f"One more tag for each of the {len(marked)} that are marked, or several, with "
        words += "spaces between:"

        def tag(text: str) -> None:
            for one in marked:
                tags = dict.fromkeys((*one.about.tags, *tags_of(text)))
                self._describe(one.path, tags=tuple(tags))

        self._ask(Prompt("Tags", words, check=tags_of, placeholder="e.g. baseline v100"), tag)

    def action_note(self) -> None:
        if (chosen := self._chosen()) is not None:
            words = (
                f"A note on {called(chosen)}, which its report has; an empty line takes it away."
            )
            asking = Saying if chosen.about.note else Prompt
            prompt = asking("Note", words, value=chosen.about.note, check=checked_note)
            self._ask(prompt, lambda text: self._describe(chosen.path, note=checked_note(text)))

    def action_rename(self) -> None:
        if (chosen := self._chosen()) is not None:
            words = f"Another name for {called(chosen)}; it stays the campaign."
            old = chosen.path.name
            prompt = Saying(
                "Rename",
                words,
                value=old,
                check=name_of,
                take=lambda text: self._rename(chosen.path, name_of(text)),
            )

            def said(text: str) -> None:
                if name_of(text) != old:
                    self.app.post_message(Said(plain(f"{old} is called {name_of(text)} now")))

            self._ask(prompt, said)

    async def _rename(self, path: Path, name: str) -> None:
        if name != path.name:
            new = await self._session.rename(path, name)
            await self._read_again()
            if str(new) not in self._panel.table.shown_keys:  # else it is gone from sight
                self._panel.clear_filter()
            self._panel.table.select(str(new))

    def _ask(self, prompt: Prompt, take: Callable[[str], object]) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                take(text)

        self.app.push_screen(prompt, answered)

    def _describe(
        self, path: Path, *, tags: tuple[str, ...] | None = None, note: str | None = None
    ) -> None:
        async def described() -> None:
            about = await self._session.describe(path, tags=tags, note=note)
            self._take([s.saying(about) if s.path == path else s for s in self._summaries or ()])
            tagged = f"is tagged {', '.join(about.tags)}" if about.tags else "has no tags"
            said = tagged if tags is not None else "has its note" if about.note else "has no note"
            self.app.post_message(Said(plain(f"{path.name} {said}")))

        self._change(described(), "campaign-said")

    @work(exclusive=True, group="campaign-size", description="look at a campaign to be removed")
    async def action_remove(self) -> None:
        if (chosen := self._chosen()) is None:
            return
        try:
            with typed_ahead(self).held():  # keys are for the question
                asked = await self._session.look_at_removable(chosen.path)
        except DlperfError as error:
            self.post_message(Problem(not_removable(error)))
            return

        async def removed() -> None:
            await self._session.remove(asked)
            self.app.post_message(
                Said(plain(f"{asked.summary.called} is removed, {bytes_text(asked.size)}"))
            )

        def answered(answer: str | None) -> None:
            if answer == "yes":
                self._change(removed(), "campaign-removed")

        if self.here:
            self.app.push_screen(remove_question(asked), answered)

    def _change(self, work: Awaitable[None], group: str) -> None:
        """The console waits for it, and tells of it, whether this list is left meanwhile or not."""
        app = self.app

        async def changed() -> None:
            try:
                await work
            except DlperfError as error:
                app.post_message(Problem(error))
            await self._read_again()

        app.run_worker(changed(), group=group, description="change a campaign on disk")

    async def _read_again(self) -> None:
        try:
            self.show(await self._session.campaigns())
        except DlperfError as error:
            self.app.post_message(Problem(error))

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


class Unfinished(CampaignList, inherit_bindings=False):
    """On start: what to do with campaigns that were left before their end."""

    PANEL = "unfinished"
    READS_RESULTS = False  # while the console begins
    BINDINGS = bindings("unfinished")
    WORDS = (
        "Nobody goes on with these. Resuming re-attaches to runs that are still going, collects "
        "those that have ended meanwhile, and starts the rest; so does a keeper, while no console "
        "is open. Nothing is lost by ignoring them: O has them again."
    )
    WORDS_OF_SIMULATED = (
        "Nobody goes on with these. Their simulated hosts went with the demo that had them. "
        "Resuming begins anew what was at work there, and starts the rest. Nothing is lost by "
        "ignoring them: O has them again."
    )

    def _listed_of(self, found: Sequence[CampaignSummary]) -> Sequence[CampaignSummary]:
        return unfinished_of(found, simulated=self._session.simulated)

    def _take(self, found: Sequence[CampaignSummary]) -> None:
        super()._take(found)
        if self.here and not self._summaries:  # somebody else goes on with them
            self.finish(None)

    @property
    def _words(self) -> str:
        return self.WORDS_OF_SIMULATED if self._session.simulated else self.WORDS


def unfinished_of(
    summaries: Sequence[CampaignSummary], *, simulated: bool
) -> Sequence[CampaignSummary]:
    """Those that could be gone on with here: simulated hosts go on with no measured campaign, nor
    real ones with a simulated one."""
    return [s for s in summaries if s.state == "unfinished" and s.simulated == simulated]


def unfinished_question(
    summaries: Sequence[CampaignSummary], session: Session
) -> Unfinished | None:
    """The dialog to push on start, or None when everything is finished."""
    if not (left := unfinished_of(summaries, simulated=session.simulated)):
        return None
    title = f"Unfinished · {counted(len(left), 'campaign')}"
    return Unfinished(title, session, left).by_itself()


def kept_campaign(summaries: Sequence[CampaignSummary], *, simulated: bool) -> Path | None:
    """The newest that a keeper goes on with, on hosts that are ``simulated`` as ours are, or
    None."""
    ours = (one for one in summaries if one.keeper and one.simulated == simulated)
    return next((summary.path for summary in ours), None)


KEPT_LATELY_S = 12 * 3600.0
LAST_WORD_S = 2.0
"""A keeper logs its end when all of it is in the journal."""


def ended_by_keeper(summaries: Sequence[CampaignSummary], now: float, since: float = 0.0) -> str:
    """That a keeper brought a campaign to its end lately, the last of several; "" where none did
    after ``since``, when a console was left last and may have seen or told it. ``now``: like that
    seconds since the epoch. Blocking."""
    ends = []
    for summary in summaries:
        if summary.state == "finished" and not summary.simulated:
            with contextlib.suppress(OSError):
                at = (summary.path / KEEPER_LOG).stat().st_mtime
                written = (summary.path / JOURNAL).stat().st_mtime
                if written <= at + LAST_WORD_S:  # else somebody went on with it
                    ends.append((at, summary))
    at, last = max(ends, key=lambda one: one[0], default=(0.0, None))
    if last is None or not 0 <= now - at < KEPT_LATELY_S or at < since:
        return ""
    return f"O opens {last.called}: a keeper ended it {ago(now - at)}, {state_words(last)}"


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
