"""The planning of another attempt at a repeat that failed or was cancelled."""

from __future__ import annotations

from dataclasses import replace

from backends.campaign.record import events as ev
from backends.campaign.record.run_changes import planning
from backends.campaign.record.state import RunRecord, next_attempt_id


def next_attempt(run: RunRecord, now: float, not_before: float = 0.0) -> ev.RunPlanned:
    """Another attempt at the same repeat."""
    return replace(
        planning(run, now),
        run_id=next_attempt_id(run.run_id, run.attempt),
        attempt=run.attempt + 1,
        not_before=not_before,
        retry_of=run.run_id,
    )
