"""The planning of a run, and of another attempt at a repeat that failed or was cancelled."""

from __future__ import annotations

from backends.campaign.record import events as ev
from backends.campaign.record.state import RunRecord, next_attempt_id


def next_attempt(run: RunRecord, now: float, not_before: float = 0.0) -> ev.RunPlanned:
    """Another attempt at the same repeat."""
    return _planned(
        run,
        now,
        run_id=next_attempt_id(run.run_id, run.attempt),
        attempt=run.attempt + 1,
        not_before=not_before,
        retry_of=run.run_id,
    )


def planning(run: RunRecord, now: float) -> ev.RunPlanned:
    """What planned the run."""
    return _planned(
        run,
        now,
        run_id=run.run_id,
        attempt=run.attempt,
        not_before=run.not_before,
        retry_of=run.retry_of,
    )


def _planned(
    run: RunRecord, now: float, *, run_id: str, attempt: int, not_before: float, retry_of: str
) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=now,
        run_id=run_id,
        profile=run.profile,
        framework=run.framework,
        model=run.model,
        unit=run.unit,
        nodes=run.nodes,
        gpus_per_node=run.gpus_per_node,
        parameters=run.parameters,
        repeat=run.repeat,
        attempt=attempt,
        not_before=not_before,
        retry_of=retry_of,
        profiled=run.profiled,
        workload=run.workload,
        arithmetic=run.arithmetic,
        expected_s=run.expected_s,
    )
