"""A campaign's results while it goes on, added up again only when there is more to add."""

from __future__ import annotations

from collections.abc import Sequence

from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.results.summary import Group, summarise


class ResultsSoFar:
    """Of one campaign, which is looked at each second."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._groups: Sequence[Group] = ()

    def of(self, state: CampaignState) -> Sequence[Group]:
        """Empty as long as no run has ended. Blocking where there are many runs."""
        ended = tuple(run for run in state.runs.values() if run.state.ended)
        # Records are never changed: most are the same objects as before, and quickly compared.
        now = (ended, len(state.runs), state.finished, state.settled)
        if now != self._of:
            self._groups = summarise(run_results(state)) if ended else ()
            self._of = now
        return self._groups
