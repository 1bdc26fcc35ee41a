"""What a campaign's directory says: its journal, read over the plan that it began with."""

from __future__ import annotations

import contextlib
from collections.abc import Set
from dataclasses import replace
from pathlib import Path

from backends.campaign.folder import frozen
from backends.campaign.folder.directory_identity import copied_from
from backends.campaign.folder.refuse_foreign_files import refuse_strange
from backends.campaign.folder.unbegun import NothingStartedError, is_unbegun
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.run_changes import planning, record_of, without_its_end
from backends.campaign.record.state import CampaignState, fold, next_attempt_id

FIRST_LINE = 4096
"""Bytes of a journal that are no other's: when it was begun, how, and by whom."""


class CampaignReader:
    """Follows a campaign that somebody else may write: each :meth:`state` reads only what is new.

    A run that the journal has lost is in the frozen plan, so that what happened to it still counts.
    Another campaign in the place of one that was taken away is read from its beginning.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.changed = ""  # what lies elsewhere now than when it began, in words, after a look
        self._journal: journal.JournalReader | None = None
        self._damage = ""
        self._begins = b""  # the journal's first line, which says which campaign it is of

    def state(self) -> CampaignState:
        """The state now.

        Raises
        ------
        JournalError: there is no journal, it is unreadable, newer, or has no beginning;
            NothingStartedError where it was never begun.
        ForeignFileError: reading it would have no end.
        """
        begins = _first_line(self.directory)
        if self._journal is None or begins != self._begins:
            self.changed = self._damage = ""
            self._journal, self._begins = self._begin(), begins
        state = self._journal.state()
        if planned := _with_lost_attempts(state):
            known = CampaignState(runs={event.run_id: record_of(event) for event in planned})
            self._journal = journal.JournalReader(self._journal.path, known)
            state = self._journal.state()
        state = _with_lost_ends(state)
        if not state.campaign:
            self._journal = None  # it may come yet
            self._refuse_unbegun()
            raise journal.JournalError(
                "the journal has no beginning, so nothing in it can be trusted",
                where=str(self.directory),
                remedy="import the raw logs in it: 'dlperf-tui import --profile P LOGS -o DIR'",
            )
        copy_of = copied_from(self.directory, state)
        return state.found(self.directory.name, frozen_damage=self._damage, copy_of=copy_of)

    @property
    def planned(self) -> Set[str]:
        """Ids of the runs that the journal plans, as far as it was read."""
        return frozenset() if self._journal is None else self._journal.planned

    def _refuse_unbegun(self) -> None:
        with contextlib.suppress(OSError):  # which reading it tells
            if is_unbegun(self.directory):
                raise NothingStartedError(self.directory)

    def _begin(self) -> journal.JournalReader:
        refuse_strange(self.directory)
        self._refuse_unbegun()
        path = self.directory / journal.FILE_NAME
        begun = journal.beginning(path)
        if begun is None or not begun.frozen:
            return journal.JournalReader(path)
        self._damage = frozen.damage(self.directory, begun.frozen)
        try:
            manifest = frozen.read_manifest(self.directory, begun.frozen)
        except frozen.FrozenError:
            return journal.JournalReader(path)
        changed = frozen.changed_since(self.directory, manifest, simulated=begun.simulated)
        self.changed = frozen.changed_words(changed)
        planned = (replace(run, t=begun.t) for run in manifest.planned)
        return journal.JournalReader(path, fold(planned))


def _first_line(directory: Path) -> bytes:
    """Empty where there is none, which reading the journal tells."""
    path = directory / journal.FILE_NAME
    with contextlib.suppress(OSError):
        if path.is_file():  # no pipe, which would be waited for
            with path.open("rb") as file:
                return file.readline(FIRST_LINE)
    return b""


def _with_lost_attempts(state: CampaignState) -> list[ev.RunPlanned]:
    """Every run that is known, and the retries that something happened to although no line plans
    them, or only a later one does; empty where there are none."""
    waiting = {next_attempt_id(run.run_id, run.attempt): run for run in state.runs.values()}
    late = state.strays & state.runs.keys()
    lost: list[ev.RunPlanned] = []
    for run_id in sorted(state.strays - late, key=lambda name: (len(name), name)):
        if (before := waiting.get(run_id)) is not None:
            lost.append(next_attempt(before, 0.0))
            attempt = fold(lost[-1:]).runs[run_id]
            waiting[next_attempt_id(run_id, attempt.attempt)] = attempt
    if not (late or lost):
        return []
    return [*(planning(run, run.planned_at) for run in state.runs.values()), *lost]


def _with_lost_ends(state: CampaignState) -> CampaignState:
    """What was tried again had ended, although no line says how, nor that it was planned again."""
    again = {run.retry_of for run in state.runs.values()}
    lost = {
        run_id: without_its_end(run, run.started_at or run.planned_at)
        for run_id in again
        if (run := state.runs.get(run_id)) is not None and not run.state.ended
    }
    return replace(state, runs={**state.runs, **lost}) if lost else state


def read_campaign(directory: Path) -> CampaignState:
    """The state of any campaign; raises like :meth:`CampaignReader.state`. Blocking."""
    return CampaignReader(directory).state()
