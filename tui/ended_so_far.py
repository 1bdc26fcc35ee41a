"""What results hang on: equal while there is nothing new to summarise."""

from __future__ import annotations

from collections.abc import Iterator

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.status_view import CampaignSnapshot


def ended_so_far(viewed: CampaignSnapshot) -> object:
    """Not what runs at work read out: no result is made of that, and it changes all the time."""
    runs = tuple(tuple(_of(run)) for run in viewed.state.runs.values())
    return viewed.path, runs, tuple(viewed.state.notes_of_results), viewed.finished


def _of(run: RunRecord) -> Iterator[object]:
    yield from (run.run_id, run.state, run.paused, run.log_differs)
    if run.state.ended:
        yield from (run.reason, run.warnings, run.throughput, run.diagnosed_at)
        yield from (run.telemetry is None, run.steady is None, run.slow_ranks is None)
