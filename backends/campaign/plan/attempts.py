"""Another attempt at a repeat that failed, or that was cancelled."""

from __future__ import annotations

from backends.campaign.record import events as ev
from backends.campaign.record.state import RunRecord, next_attempt_id


def next_attempt(run: RunRecord, now: float, not_before: float) -> ev.RunPlanned:
    """Another attempt at the same repeat."""
    return ev.RunPlanned(
        t=now,
        run_id=next_attempt_id(run.run_id, run.attempt),
        profile=run.profile,
        framework=run.framework,
        model=run.model,
        unit=run.unit,
        nodes=run.nodes,
        gpus_per_node=run.gpus_per_node,
        parameters=run.parameters,
        repeat=run.repeat,
        attempt=run.attempt + 1,
        not_before=not_before,
        retry_of=run.run_id,
    )
