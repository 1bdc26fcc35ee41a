"""What happened in a campaign, as its notes tell it: runs that started and how they ended."""

from __future__ import annotations

from collections.abc import Iterator

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from tui.text import rate_text

Note = tuple[float, str, str]
STARTED, ENDED = "started", "ended"
MOST = 200
"""Of a campaign of many runs the last ones."""


def happened(state: CampaignState) -> list[Note]:
    """As :attr:`CampaignState.notes`: time, what in a word, and of which run; the oldest first."""
    return sorted(_all(state), key=lambda note: note[0])[-MOST:]


def _all(state: CampaignState) -> Iterator[Note]:
    several = len({run.profile for run in state.runs.values()}) > 1
    tried_again = {run.retry_of for run in state.runs.values()}
    for run in state.runs.values():
        name = f"{run.profile} {run.label}" if several else run.label
        if run.started_at is not None:
            yield run.started_at, STARTED, name
        if run.state.ended and run.ended_at is not None:
            again = "; tried again" * (run.run_id in tried_again)
            yield run.ended_at, str(run.state), f"{name}{_outcome(run)}{again}"
    ends = [run.ended_at for run in state.runs.values() if run.ended_at is not None]
    if state.finished and ends:
        states = [run.state for run in state.latest_attempts()]
        counts = ((states.count(one), one) for one in RunState if one.ended)
        yield max(ends), ENDED, ", ".join(f"{many} {one}" for many, one in counts if many)


def _outcome(run: RunRecord) -> str:
    if run.throughput is not None:
        return f": {rate_text(run.throughput, run.unit)}"
    return f": {run.reason}" if run.reason else ""
