"""How each event changes a run, as pure functions: what it means there, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.run_record import TOLD_LATE_S, NewReadings, RunRecord, Series
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_window import came_at_once
from profiles.throughput.mfu import beyond, credible, is_fp8

MOST_DIAGNOSES = MOST_PAUSES = 20
"""Of a run; older ones are forgotten."""
SOMEBODY = "somebody"
"""Who paused a run, where an older journal does not say."""
END_LOST = "how it ended is in a line of the journal that cannot be read"


def planned_runs(
    runs: Mapping[str, RunRecord], event: ev.RunPlanned, *, imported: bool
) -> dict[str, RunRecord]:
    """The planned run where it is new, and the one that it is a retry of where that has ended
    without a word."""
    changed: dict[str, RunRecord] = {}
    before = runs.get(event.retry_of)
    if before is not None and not before.state.ended:
        changed[before.run_id] = without_its_end(before, event.t)
    if event.run_id not in runs:
        changed[event.run_id] = record_of(event, imported=imported)
    return changed


def without_its_end(run: RunRecord, now: float) -> RunRecord:
    """A run that has ended by ``now``, of which the journal has lost how."""
    return _failed(run, ev.RunFailed(t=now, run_id=run.run_id, reason=END_LOST))


def planned_since(run: RunRecord, runs: Mapping[str, RunRecord], now: float) -> float:
    """When to say that a run was planned of which the journal has lost that: what it is a retry of
    ends by it where that end is lost as well, which is known to be so already."""
    before = runs.get(run.retry_of)
    return (before.ended_at or now) if before and before.reason == END_LOST else now


def place_lost(run: RunRecord) -> bool:
    """Whether it has ended and the journal has lost where it was, too."""
    return run.state is RunState.FAILED and run.reason == END_LOST and not run.hosts


def planning(run: RunRecord, now: float) -> ev.RunPlanned:
    """What planned the run."""
    return ev.RunPlanned(
        t=now,
        run_id=run.run_id,
        profile=run.profile,
        framework=run.framework,
        model=run.model,
        unit=run.unit,
        nodes=run.nodes,
        gpus_per_node=run.gpus_per_node,
        parameters=run.parameters,
        repeat=run.repeat,
        attempt=run.attempt,
        not_before=run.not_before,
        retry_of=run.retry_of,
        profiled=run.profiled,
        workload=run.workload,
        arithmetic=run.arithmetic,
        expected_s=run.expected_s,
        timed=run.timed,
        settle_s=run.settle_s,
    )


def launching(run: RunRecord, boot_ids: tuple[str, ...], now: float) -> ev.RunLaunched:
    """That every host's wrapper answered, with all that its assignment said."""
    return ev.RunLaunched(
        t=now,
        run_id=run.run_id,
        boot_ids=boot_ids,
        hosts=run.hosts,
        devices=run.devices,
        placement=run.placement,
        port=run.port,
        log=run.log,
    )


def record_of(event: ev.RunPlanned, *, imported: bool = False) -> RunRecord:
    """A run as it is when it was planned."""
    return RunRecord(
        run_id=event.run_id,
        profile=event.profile,
        framework=event.framework,
        model=event.model,
        unit=event.unit,
        nodes=event.nodes,
        gpus_per_node=event.gpus_per_node,
        parameters=event.parameters,
        repeat=event.repeat,
        attempt=event.attempt,
        imported=imported,
        planned_at=event.t,
        not_before=event.not_before,
        retry_of=event.retry_of,
        profiled=event.profiled,
        workload=event.workload,
        arithmetic=event.arithmetic,
        expected_s=event.expected_s,
        timed=event.timed,
        settle_s=event.settle_s,
    )


def _queued(run: RunRecord, event: ev.RunQueued) -> RunRecord:
    if not run.state.waits:
        return run
    return replace(run, state=RunState.QUEUED, job_id=event.job_id or run.job_id)


def _assigned(run: RunRecord, event: ev.RunAssigned) -> RunRecord:
    if place_lost(run):  # and found: nobody has looked yet how it is there
        unlooked = Cleanup(False, tuple(Doubt(host, Why.NOT_LOOKED) for host in event.hosts))
        return replace(run, hosts=event.hosts, log=event.log, cleanup=unlooked)
    # A second assignment comes after a deferral, whose line may be lost.
    if not (run.state.waits or run.state is RunState.STARTING):
        return run
    return replace(
        run,
        state=RunState.STARTING,
        hosts=event.hosts,
        devices=event.devices,
        placement=event.placement,
        job_id=event.job_id or run.job_id,
        commands=event.commands,
        port=event.port,
        log=event.log,
        started_at=event.t,
    )


def _launched(run: RunRecord, event: ev.RunLaunched) -> RunRecord:
    if run.state.waits and event.hosts:
        run = replace(  # the line of its assignment is lost
            run,
            state=RunState.STARTING,
            hosts=event.hosts,
            devices=event.devices,
            placement=event.placement,
            port=event.port,
            log=event.log,
            started_at=event.t,
        )
    if run.state is not RunState.STARTING:
        return run
    return replace(run, state=RunState.RUNNING, boot_ids=event.boot_ids, launched_at=event.t)


def _over(run: RunRecord, event: ev.RunOver) -> RunRecord:
    if not run.state.active or run.over_at is not None:
        return run
    over = replace(run, over_at=_end_of(run, event), launched_at=_launch_of(run, event))
    return _slow_by_its_end(over)


def _deferred(run: RunRecord, event: ev.RunDeferred) -> RunRecord:
    if run.state not in (RunState.QUEUED, RunState.STARTING):
        return run
    return replace(
        run,
        state=RunState.PLANNED,
        hosts=(),
        devices={},
        placement="",
        job_id="",
        commands=(),
        port=0,
        log="",
        started_at=None,
        launched_at=None,
        over_at=None,
        lost_hosts={},
    )


def _readings(run: RunRecord, event: ev.ReadingsSampled | ev.ReadingsArrived) -> RunRecord:
    if not run.state.active:
        return run
    waiting = NewReadings(run)
    waiting.take(event)
    return waiting.added()


def _contact(run: RunRecord, event: ev.ContactChanged) -> RunRecord:
    if not run.state.active or event.host not in run.hosts:
        return run
    lost = {h: since for h, since in run.lost_hosts.items() if h != event.host}
    if event.lost:
        lost[event.host] = run.lost_hosts.get(event.host, (event.t, event.reason))
    return replace(run, lost_hosts=lost)


def _cancelling(run: RunRecord, event: ev.RunCancelling) -> RunRecord:
    if run.state not in (RunState.STARTING, RunState.RUNNING):
        return run
    by = f" by {event.by}" if event.by else ""
    return replace(run, state=RunState.CANCELLING, reason=f"cancelled{by}")


def _end_of(run: RunRecord, event: ev.RunOver | ev.RunSucceeded | ev.RunFailed) -> float:
    """When it ended on its hosts, which may be long before anybody learnt it."""
    began = _launch_of(run, event)
    return event.t if began is None or not event.ran_s else min(event.t, began + event.ran_s)


def _launch_of(run: RunRecord, event: ev.RunOver | ev.RunSucceeded | ev.RunFailed) -> float | None:
    """When it was launched; when it was assigned, where its launch was learnt late, as by who comes
    back after an outage, maybe after its end."""
    began, started = run.launched_at, run.started_at
    if began is None or started is None or not event.ran_s:
        return began
    late = began + event.ran_s > (run.over_at or event.t) + TOLD_LATE_S
    return started if late else began


def _succeeded(run: RunRecord, event: ev.RunSucceeded) -> RunRecord:
    # An imported run was never started by us; of another the lines of its start may be lost.
    started = run.state.active or (not run.state.ended and event.hosts)
    if not started and not (run.state is RunState.PLANNED and run.imported):
        return run
    ended = replace(
        run,
        state=RunState.SUCCEEDED,
        launched_at=_launch_of(run, event),
        ended_at=_end_of(run, event),
        lost_hosts={},
        throughput=event.throughput,
        reading_count=max(run.reading_count, event.readings),
        used=event.used,
        warmup=run.warmup if event.first is None else event.first,
        window_known=event.first is not None or _tells_window(run, event),
        window=event.window,
        statistic=event.statistic,
        metrics=credible(event.metrics, fp8=_in_fp8(run)),  # also of what others entered
        gpu_memory_mib=event.gpu_memory_mib,
        warnings=(
            *run.warnings,
            *event.warnings,
            *beyond(event.metrics, fp8=_in_fp8(run), whose="the entered"),
        ),
        doubts=event.doubts,
        fingerprint=event.fingerprint,
        steady=event.steady,
        ranks=event.ranks,
        telemetry=event.telemetry,
        cleanup=event.cleanup,
        log=event.log or run.log,
        log_stamps=event.log_stamps,
        hosts=run.hosts or event.hosts,
        reason="",
    )
    ended = _slow_by_its_end(ended)
    if event.telemetry is None or not came_at_once(ended):
        return ended
    return replace(ended, telemetry=event.telemetry.untimed)


def _tells_window(run: RunRecord, event: ev.RunSucceeded) -> bool:
    """Without the number of the first reading that counts, as in journals of old."""
    if not run.window_known or not event.used:
        return False  # the figure is that of a summary line, and says nothing of readings
    return bool(run.warmup) or event.used >= event.readings


def _in_fp8(run: RunRecord) -> bool:
    return is_fp8(run.arithmetic) or is_fp8(run.case.precision or "")


def _failed(run: RunRecord, event: ev.RunFailed) -> RunRecord:
    if run.state.ended:
        return run
    failed = replace(
        run,
        state=RunState.FAILED,
        launched_at=_launch_of(run, event),
        ended_at=_end_of(run, event),
        lost_hosts={},
        reason=event.reason,
        evidence=event.evidence,
        category=event.category,
        failed_host=event.host,
        exit_status=event.exit_status,
        retry=event.retry,
        cleanup=event.cleanup.on_hosts(run.hosts),
        fingerprint=event.fingerprint,
        log=event.log or run.log,
    )
    return _slow_by_its_end(failed)


def _cancelled(run: RunRecord, event: ev.RunCancelled) -> RunRecord:
    if run.state.ended:
        return run
    cancelled = replace(
        run,
        state=RunState.CANCELLED,
        ended_at=event.t,
        lost_hosts={},
        cleanup=event.cleanup.on_hosts(run.hosts),
        fingerprint=event.fingerprint,
    )
    return _slow_by_its_end(cancelled)


def _diagnosed(run: RunRecord, event: ev.RunDiagnosed) -> RunRecord:
    if not run.state.active:
        return run
    return replace(run, diagnoses=(*run.diagnoses, (event.t, event.diagnosis))[-MOST_DIAGNOSES:])


def _slow_ranks(run: RunRecord, event: ev.SlowRanksTold) -> RunRecord:
    if not run.state.active:
        return run
    before = {one.rank: one for one in run.slow_ranks or ()}
    slow = tuple(
        one.after(before.get(one.rank)) if one.others is None else one for one in event.slow_ranks
    )
    return _slow_by_its_end(replace(run, slow_ranks=slow))


def _slow_by_its_end(run: RunRecord) -> RunRecord:
    """No rank of it was slow for longer than it ran, whenever that was told."""
    end = run.over_at or run.ended_at
    if end is None or not run.slow_ranks:
        return run
    return replace(run, slow_ranks=tuple(slow.by(end) for slow in run.slow_ranks))


def _paused(run: RunRecord, event: ev.RunPaused) -> RunRecord:
    if not run.pausable:
        return run
    pauses = (*run.pauses, (event.t, event.by or SOMEBODY))[-MOST_PAUSES:]
    return replace(run, paused_at=event.t, paused_by=event.by, pauses=pauses)


def _unpaused(run: RunRecord, event: ev.RunUnpaused) -> RunRecord:
    if not run.paused:
        return run
    pauses = (*run.pauses, (event.t, ""))[-MOST_PAUSES:]
    return replace(run, paused_at=None, paused_by="", pauses=pauses)


def _host_verified(run: RunRecord, event: ev.HostVerified) -> RunRecord:
    if not run.state.ended or (cleanup := run.cleanup.without(event.host)) is run.cleanup:
        return run
    return replace(run, cleanup=cleanup)


def _restarted(run: RunRecord, event: ev.ReadingsRestarted) -> RunRecord:
    if not run.state.active:
        return run
    told = (event.why,) if event.why and event.why not in run.warnings else ()
    return replace(
        run,
        warnings=(*run.warnings, *told),
        log_changed=(*run.log_changed, *told),
        reading_count=0,
        warmup=0,
        window_known=True,
        sums_up=False,
        last_step=None,
        last_throughput=None,
        last_reading_at=None,
        series=Series(),
    )


RUN_CHANGES: Mapping[type[ev.Event], Callable[[RunRecord, Any], RunRecord]] = {
    ev.RunQueued: _queued,
    ev.RunAssigned: _assigned,
    ev.RunLaunched: _launched,
    ev.RunOver: _over,
    ev.RunDeferred: _deferred,
    ev.ReadingsArrived: _readings,
    ev.ReadingsSampled: _readings,
    ev.ContactChanged: _contact,
    ev.RunCancelling: _cancelling,
    ev.RunSucceeded: _succeeded,
    ev.RunFailed: _failed,
    ev.RunCancelled: _cancelled,
    ev.RunDiagnosed: _diagnosed,
    ev.SlowRanksTold: _slow_ranks,
    ev.RunPaused: _paused,
    ev.RunUnpaused: _unpaused,
    ev.HostVerified: _host_verified,
    ev.ReadingsRestarted: _restarted,
}
