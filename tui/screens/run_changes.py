"""What the operator changes of a campaign's runs, by the key: end, leave out, do again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from textual import work

from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import RunView
from backends.campaign.record.status_view import CampaignSnapshot
from backends.keeper.request import Verb
from profiles.errors import DlperfError
from tui.messages import CampaignStarted, NoMore, Problem, Said
from tui.plan_words import device_word
from tui.row_marks import hidden_marks
from tui.screens.dialogs import Choice
from tui.screens.end_question import EndQuestion
from tui.screens.marked_runs import able, marked_question, past_marked, verb_of, why_none
from tui.screens.page import Page
from tui.screens.possible_changes import (
    RETRIABLE,
    cancel_all_question,
    cancel_question,
    change,
    failed_runs,
    kept_words,
    may_go_on,
    past_asking,
    repeat_question,
    retry_all_question,
    retry_question,
    waiting_runs,
)
from tui.session import Session
from tui.widgets.filter_table import TablePanel


class RunChanges(Page):
    """A page with a list of runs, of which one is under the cursor."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._end_question = EndQuestion(session)
        self._tried_again = ""  # the run under the cursor, of which another attempt is to come
        self._ending: tuple[str, Sequence[str]] = ("", ())  # words, and the runs that they are of
        self._marked: dict[str, None] = {}  # ids of runs of the campaign that is shown

    def main_panel(self) -> TablePanel:
        """Of the runs."""
        raise NotImplementedError

    @property
    def selected(self) -> RunView | None:
        """The run under the cursor."""
        raise NotImplementedError

    @property
    def names(self) -> Mapping[str, str]:
        """By run id, as the list calls them."""
        raise NotImplementedError

    @property
    def marked_runs(self) -> list[RunView]:
        """Those too that a filter hides."""
        runs = self.viewed.runs if self.viewed is not None else ()
        return [run for run in runs if run.run_id in self._marked]

    def _listed(self, viewed: CampaignSnapshot | None) -> Sequence[RunView]:
        """The runs in the list: where it is filtered, those that are shown."""
        panel = self.main_panel()
        runs = viewed.runs if viewed is not None else ()
        if not panel.filter_text:
            return runs
        shown = frozenset(panel.table.shown_keys)
        return [one for one in runs if one.run_id in shown]

    def action_cancel_run(self) -> None:
        viewed, run = self.viewed, self.selected
        if viewed is None or run is None or self._ask_of_marked("cancel_run"):
            return
        if run.state.ended:
            self.post_message(
                Said(f"{self.names[run.run_id]} has ended; there is nothing to cancel")
            )
            return
        self._ask_whether(partial(cancel_question, run=run), viewed, run)

    def _ask_whether(
        self,
        asked: Callable[[CampaignSnapshot], Choice],
        viewed: CampaignSnapshot,
        run: RunView | None = None,
    ) -> None:
        """To end a run as it is now, or all."""
        runs = None if run is None else [run.run_id]
        cancel = partial(self._change, Verb.CANCEL, runs, of=viewed.identity)
        past, kept = partial(past_asking, run), partial(kept_words, run)
        self._end_question.ask(self.app, asked, viewed, cancel, past=past, kept=kept)

    def _ask_of_marked(self, action: str) -> bool:
        """Whether there are marks, so that the key of ``action`` is for those runs."""
        viewed, marked, names = self.viewed, self.marked_runs, self.names
        if viewed is None or not marked:
            return False
        verb = verb_of(action, marked)
        if none := why_none(verb, viewed, marked, names):
            self.post_message(Said(none))
            return True
        hidden = hidden_marks(self._marked, self.main_panel())

        def words(now: CampaignSnapshot) -> Choice:
            return marked_question(verb, now, marked, names, hidden)

        self._end_question.ask(
            self.app,
            words,
            viewed,
            partial(self._change_marked, verb, viewed, marked),
            past=lambda now: past_marked(verb, now, marked),
            kept=lambda _: "nothing was changed",
        )
        return True

    def _change_marked(
        self, verb: Verb, asked_of: CampaignSnapshot, marked: Sequence[RunView]
    ) -> None:
        """Those that it can be done to now; then none is marked any more."""
        now = self.session.viewed
        if now is None or not self._still_shown(asked_of.identity):
            return
        run_ids = able(verb, now, marked).run_ids
        goes_on = verb is Verb.RETRY and may_go_on(now)
        if goes_on and self._going_on():
            return
        self._marked.clear()
        if verb is Verb.RETRY:
            self._go_with(run_ids)
        if goes_on:
            self._go_on(now.path, run_ids)
        else:
            self._change(verb, run_ids)
        self.tick()

    def _tick(self) -> None:
        super()._tick()
        self._end_question.look()
        self._take_back_ended()

    def _take_back_ended(self) -> None:
        """That runs are being ended is not said any more once they have."""
        words, run_ids = self._ending
        known = self.session.viewed.state.runs if self.session.viewed is not None else {}
        if run_ids and all(known[one].state.ended for one in run_ids if one in known):
            self._ending = "", ()
            self.post_message(NoMore(words))

    def action_cancel_all(self) -> None:
        if (viewed := self.viewed) is None:
            return
        if viewed.done == viewed.total:
            self.post_message(Said("every run has ended; there is nothing to cancel"))
            return
        self._ask_whether(cancel_all_question, viewed)

    def action_retry(self) -> None:
        if (run := self.selected) is None or self._ask_of_marked("retry"):
            return
        if run.state not in RETRIABLE:
            called = self.names[run.run_id]
            self.post_message(
                Said(f"{called} {run.state.said}; only failed and cancelled runs are retried")
            )
            return
        viewed = self.viewed
        if viewed is not None and may_go_on(viewed):
            self._ask_to_go_on(retry_question(viewed, run), viewed, [run.run_id])
            return
        self._go_with([run.run_id])
        self._change(Verb.RETRY, [run.run_id])

    def _go_with(self, again: Sequence[str]) -> None:
        """The cursor goes to the next attempt of its run, where that is tried again."""
        here = self.selected.run_id if self.selected is not None else ""
        self._tried_again = here if here in again else ""

    def action_retry_all(self) -> None:
        """Every one in the list that failed."""
        viewed = self.viewed
        failed = [] if viewed is None else failed_runs(viewed, self._listed(viewed))
        if viewed is None or not failed:
            return
        again = [run.run_id for run in failed]
        if may_go_on(viewed):
            self._ask_to_go_on(retry_all_question(viewed, failed), viewed, again)
            return

        def answered(said: str | None) -> None:
            if said == "yes":
                self._go_with(again)
                self._change(Verb.RETRY, again, of=viewed.identity)

        if len(failed) == 1:
            answered("yes")
        else:
            self.app.push_screen(retry_all_question(viewed, failed), answered)

    def _ask_to_go_on(
        self, question: Choice, viewed: CampaignSnapshot, again: Sequence[str]
    ) -> None:
        def answered(said: str | None) -> None:
            if said == "yes" and self._still_shown(viewed.identity) and not self._going_on():
                self._go_with(again)
                self._go_on(viewed.path, again)

        if not self._going_on():
            self.app.push_screen(question, answered)

    def _going_on(self) -> bool:
        """That it was asked for just now, which is said."""
        going = self._runs_worker("go-on")
        if going:
            self.post_message(Said("the campaign is just being taken up: press it again then"))
        return going

    def _runs_worker(self, group: str) -> bool:
        return any(worker.group == group and worker.is_running for worker in self.workers)

    @work(exclusive=True, group="go-on", description="go on with a campaign that is over")
    async def _go_on(self, path: Path, again: Sequence[str]) -> None:
        self.post_message(Said("going on with the campaign …"))
        try:
            await self.session.go_on(path, again)
        except DlperfError as error:
            self._tried_again = ""
            self.post_message(Problem(error))
        else:
            self.post_message(CampaignStarted())

    def action_pause(self) -> None:
        """Hold the run back; the same key lets it start again."""
        if (run := self.selected) is not None and not self._ask_of_marked("pause"):
            self._change(Verb.UNPAUSE if run.paused else Verb.PAUSE, [run.run_id])

    def action_pause_all(self) -> None:
        """All in the list that has not started; where nothing is left to pause, let it start."""
        if waiting := waiting_runs(self._listed(self.viewed)):
            pause = not all(run.paused for run in waiting)
            chosen = [run.run_id for run in waiting if run.paused is not pause]
            self._change(Verb.PAUSE if pause else Verb.UNPAUSE, chosen)

    def action_repeat(self) -> None:
        if self._runs_worker("ask"):
            self.post_message(Said("what was asked for before is not answered yet"))
            return
        if (viewed := self.viewed) is None:
            return
        if may_go_on(viewed):
            self._ask_to_go_on(repeat_question(viewed, self._on_gpus), viewed, ())
            return

        def answered(said: str | None) -> None:
            if said == "yes":
                self._change(Verb.REPEAT, of=viewed.identity)

        self.app.push_screen(repeat_question(viewed, self._on_gpus), answered)

    def _on_gpus(self, profile: str) -> bool:
        """As the Matrix says it, by the hosts that have answered."""
        catalog, hosts = self.session.workspace.catalog, self.session.hosts
        gpus = [host.facts.gpus for host in hosts if host.facts is not None]
        known = catalog.find(profile)
        return known is not None and device_word([known], gpus) == "GPU"

    def _change(
        self, verb: Verb, run_ids: Sequence[str] | None = None, *, of: object = None
    ) -> None:
        """By the campaign at work here, or by whoever is at work on the one that is looked at.

        ``run_ids``: None: all, where that can be meant. ``of``: the campaign that was asked about.
        """
        if of is not None and not self._still_shown(of):
            return
        if self.session.opened is not None:
            self._ask(verb, run_ids)
        elif self.session.controller is not None:
            ending = [
                run.run_id
                for run in (self.session.controller.snapshot().runs if verb is Verb.CANCEL else ())
                if (run_ids is None or run.run_id in run_ids)
                and not (run.state is RunState.PLANNED or run.state.ended)
            ]
            try:
                said = change(self.session.controller, verb, run_ids)
            except DlperfError as error:
                self.post_message(Problem(error))
                return
            if said:
                self.post_message(Said(said))
            if verb is Verb.CANCEL:
                self._ending = said, ending
            self.tick()

    def _still_shown(self, asked: object) -> bool:
        """The campaign that was asked about."""
        now = self.session.viewed
        if now is not None and now.identity == asked:
            return True
        self.post_message(Said("another campaign is shown now; nothing was changed"))
        return False

    @work(group="ask", description="ask whoever is at work on the campaign")
    async def _ask(self, verb: Verb, run_ids: Sequence[str] | None) -> None:
        repeats = int(verb is Verb.REPEAT)
        self.post_message(Said("asking whoever goes on with it …"))
        try:
            answer = await self.session.ask(verb, run_ids, repeats=repeats)
        except DlperfError as error:
            self.post_message(Problem(error))
        else:
            self.post_message(Said(answer))
