"""How a run's end is written down."""

from __future__ import annotations

from collections.abc import Sequence

from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import UNKNOWN, Cleanup
from backends.campaign.record.run_record import LogStamp
from backends.campaign.record.state import RunRecord, next_attempt_id
from backends.campaign.run.end_reason import Ended, judge_allocation_end
from backends.engines.engine import AllocationEnd
from backends.hosts.telemetry_summary import Telemetry
from backends.remote.wrapper_messages import RunStatus
from profiles.cleantext import clean_text
from profiles.throughput.measure_run import Measurement


def ran_s(ends: Sequence[tuple[str, RunStatus | None]]) -> float:
    """How long a run ran, by its hosts' own clocks; 0 where none of them has told."""
    times = ((end.started_at, end.ended_at) for _, end in ends if end is not None)
    return max((last - first for first, last in times if first and last), default=0.0)


def failed(
    run: RunRecord, ended: Ended, now: float, ran_s: float = 0.0, fingerprint: str = ""
) -> ev.RunFailed:
    return ev.RunFailed(
        t=now,
        run_id=run.run_id,
        reason=clean_text(ended.reason),
        evidence=ended.evidence,
        category=ended.category or "",
        host=ended.host,
        exit_status=ended.exit_status,
        retry=ended.retry,
        cleanup=ended.cleanup,
        ran_s=max(0.0, ran_s),
        fingerprint=fingerprint,
    )


def cancelled(run: RunRecord, ended: Ended, now: float, fingerprint: str = "") -> ev.RunCancelled:
    return ev.RunCancelled(t=now, run_id=run.run_id, cleanup=ended.cleanup, fingerprint=fingerprint)


def succeeded(
    run: RunRecord,
    measured: Measurement,
    now: float,
    *,
    gpu_memory_mib: int | None,
    warnings: tuple[str, ...],
    telemetry: Telemetry | None = None,
    fingerprint: str = "",
    cleanup: Cleanup = UNKNOWN,
    ran_s: float = 0.0,
    log_stamps: tuple[LogStamp, ...] = (),
) -> ev.RunSucceeded:
    """Of a run that could be measured."""
    return ev.RunSucceeded(
        t=now,
        run_id=run.run_id,
        throughput=measured.throughput,
        readings=measured.readings,
        used=measured.used,
        first=measured.first,
        window=measured.window,
        statistic=measured.statistic,
        metrics=dict(measured.metrics),
        gpu_memory_mib=gpu_memory_mib,
        warnings=warnings,
        doubts=measured.doubts,
        fingerprint=fingerprint,
        steady=measured.steady,
        ranks=measured.ranks,
        telemetry=telemetry,
        cleanup=cleanup,
        log=run.log,
        hosts=run.hosts,
        ran_s=max(0.0, ran_s),
        log_stamps=log_stamps,
    )


def requeued(run: RunRecord, end: AllocationEnd, now: float) -> ev.RunRequeued:
    """The attempt that takes a run's place in the engine's queue."""
    return ev.RunRequeued(
        t=now,
        run_id=run.run_id,
        next_id=next_attempt_id(run.run_id, run.attempt),
        reason=judge_allocation_end(end).reason,
        job_id=end.job_id,
    )
