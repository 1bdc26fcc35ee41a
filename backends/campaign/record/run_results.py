"""From a campaign's state to the runs that statistics and reports take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath

from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import concerns
from backends.campaign.record.run_window import window_seen
from backends.campaign.record.sharing import beside_on_its_machine, shared_with
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.hosts.placement import Placement
from backends.results.auto_repeats import Stop
from backends.results.run_result import RunResult


def run_results(state: CampaignState) -> tuple[RunResult, ...]:
    """Every attempt at every repeat, in planning order; statistics take the last that ended."""
    shared = shared_with(state.runs.values()) if state.pack else {}
    beside = beside_on_its_machine(state.runs.values())
    return tuple(
        run_result(run, state, shared.get(run.run_id, ()), beside.get(run.run_id, ()))
        for run in state.runs.values()
    )


def run_result(
    run: RunRecord,
    state: CampaignState,
    shared: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> RunResult:
    """One attempt at one repeat; ``shared``: with which runs it shared a host; ``beside``: as in
    :class:`RunResult`."""
    measured = run.throughput if run.state is RunState.SUCCEEDED else None
    used, window_s, speeds = window_seen(run)
    stops = tuple(_stops(run, state))
    return RunResult(
        run_id=run.run_id,
        profile=run.profile,
        framework=run.framework,
        model=run.model,
        workload=run.workload,
        arithmetic=run.arithmetic,
        case_tag=run.case.tag,
        nodes=run.nodes,
        gpus_per_node=run.gpus_per_node,
        parameters=run.parameters,
        repeat=run.repeat,
        attempt=run.attempt,
        state=str(run.state),
        throughput=measured,
        unit=run.unit,
        reason=run.reason,
        slow_ranks=run.slow_ranks,
        diagnosis=run.diagnosis,
        diagnosed_at=run.diagnosed_at,
        hosts=run.hosts,
        boot_ids=run.boot_ids,
        devices=run.devices,
        placement=run.placement or (Placement.FIRST if run.devices else ""),
        job_id=run.job_id,
        shared_with=shared,
        beside=beside,
        log=run.log or None,
        metrics=run.metrics,
        gpu_memory_mib=run.gpu_memory_mib,
        window=run.window,
        statistic=run.statistic,
        readings=run.reading_count,
        used=used,
        window_s=window_s,
        speeds=speeds,
        warnings=run.warnings,
        log_changed=run.log_changed,
        log_differs=_differs(run),
        doubts=run.doubts,
        fingerprint=run.fingerprint,
        steady=run.steady,
        telemetry=run.telemetry,
        trained_s=times[-1] - times[0] if len(times := run.came_at) else None,
        started_at=run.started_at,
        ended_at=run.over_at or run.ended_at,
        profiled=run.profiled,
        ranks=run.ranks,
        imported=state.imported,
        simulated=state.simulated,
        forced=state.forced and bool(stops or not state.overridden),  # an older journal names none
        stops=stops if state.forced else (),
        left_out=state.hosts_left_out,
        warned=tuple(text for text, bearing in state.warned if concerns(bearing, run)),
        stopped=_stopped(run, state),
        campaign=state.campaign,
        paused_by=run.paused_by if run.paused else None,
        paused_at=run.paused_at if run.paused else None,
    )


def _stops(run: RunRecord, state: CampaignState) -> Iterator[str]:
    """What was overridden that is about it, or not known to be about others alone."""
    for stop, bearing in zip_longest(state.overridden, state.forced_on[: len(state.overridden)]):
        if bearing is None or concerns(bearing, run):
            yield stop


def _differs(run: RunRecord) -> str:
    """Why its logs do not give its figure; those of other hosts by name."""
    told = (
        why if log == run.log else f"{PurePosixPath(log).name}: {why}"
        for log, why in run.log_differs
    )
    return "; ".join(told)


def _stopped(run: RunRecord, state: CampaignState) -> str | None:
    if state.auto:
        return str(state.settled.get(run.case.key, ""))
    return str(Stop.FAILING) if run.category == Cause.IN_VAIN else None
