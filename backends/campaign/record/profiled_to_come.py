"""Which cases get a profiled run: planned once the repeats have ended, no event until then."""

from __future__ import annotations

from collections.abc import Iterable

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState


def profiled_to_come(state: CampaignState, latest: Iterable[RunRecord]) -> frozenset[str]:
    """Keys of the cases that will have one and have none yet, as far as is known; ``latest``: the
    last attempt of each run. A case of which nothing was measured gets none."""
    if not state.explain or state.finished or state.cancel_asked or state.imported:
        return frozenset()
    told: set[str] = set()
    may_be: set[str] = set()
    for run in latest:
        if run.profiled:
            told.add(run.case.key)
        elif run.profile in state.explain and (not run.state.ended or run.throughput):
            may_be.add(run.case.key)
    return frozenset(may_be - told)
