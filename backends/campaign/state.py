"""A campaign's state as a fold of its events: pure, total, and the same live as on resume.

``state = reduce(apply, events, CampaignState())``. An event that is not legal in the present state
changes nothing (a torn or doubled journal still yields a legal state). The run's state machine:

    planned ◄─► starting ──► running
       │            │           │
       │            ├───────────┴──► cancelling
       ▼            ▼                    │
    cancelled   succeeded, failed ◄──────┴──► cancelled

``starting`` means that hosts are assigned and something may exist on them; a run leaves it only
with every host's answer, or back to ``planned`` when the hosts turn out to be held by others.
``cancelling`` may still end in ``failed`` (the clean-up went wrong) or in ``succeeded`` (it was
over before the word arrived).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from types import MappingProxyType
from typing import Any

from backends.campaign import events as ev
from profiles.matrix import Case
from profiles.model import Scalar

SERIES_POINTS = 512


class RunState(StrEnum):
    PLANNED = "planned"
    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def active(self) -> bool:
        """Something of the run may exist on its hosts."""
        return self in (RunState.STARTING, RunState.RUNNING, RunState.CANCELLING)

    @property
    def ended(self) -> bool:
        return self in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Series:
    """At most 2 × SERIES_POINTS points of a run, evenly thinned: (seconds, samples/s) each."""

    stride: int = 1
    points: tuple[tuple[float, float], ...] = ()

    def extended(self, start: int, readings: Iterable[tuple[float, float]]) -> Series:
        """With the readings numbered ``start`` …; keeps every ``stride``-th."""
        stride = self.stride
        kept = [p for i, p in enumerate(readings, start) if i % stride == 0]
        points = self.points + tuple(kept)
        while len(points) >= 2 * SERIES_POINTS:
            points = points[::2]
            stride *= 2
        return Series(stride, points)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything known of one run. Times are seconds since the epoch on the login node."""

    run_id: str
    profile: str
    framework: str
    model: str
    unit: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]
    repeat: int
    attempt: int
    state: RunState = RunState.PLANNED
    not_before: float = 0.0
    retry_of: str = ""
    hosts: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    port: int = 0
    log: str = ""
    boot_ids: tuple[str, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None
    reading_count: int = 0
    warmup: int = 0
    last_step: float | None = None
    last_throughput: float | None = None
    last_reading_at: float | None = None
    series: Series = Series()
    lost_hosts: Mapping[str, tuple[float, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    throughput: float | None = None
    used: int = 0
    window: str = ""
    statistic: str = ""
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    gpu_memory_mib: int | None = None
    warnings: tuple[str, ...] = ()
    fingerprint: str = ""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    category: str = ""
    failed_host: str = ""
    exit_status: int | None = None
    retry: str = "never"
    clean: str = ""

    @property
    def case(self) -> Case:
        return Case(self.profile, self.nodes, self.gpus_per_node, self.parameters)

    @property
    def slot(self) -> tuple[str, int]:
        """The repeat that this run is an attempt at."""
        return (self.case.key, self.repeat)


@dataclass(frozen=True, slots=True)
class CampaignState:
    campaign: str = ""
    created_at: float | None = None
    version: str = ""
    simulated: bool = False
    imported: bool = False
    forced: bool = False
    finished: bool = False
    runs: Mapping[str, RunRecord] = field(default_factory=dict)  # in planning order
    notes: tuple[tuple[float, str, str], ...] = ()  # (time, level, text), the last 50

    def latest_attempts(self) -> tuple[RunRecord, ...]:
        """The last attempt of every planned repeat, in planning order."""
        latest: dict[tuple[str, int], RunRecord] = {}
        for run in self.runs.values():
            latest[run.slot] = run
        return tuple(latest.values())


def fold(events: Iterable[ev.Event], state: CampaignState | None = None) -> CampaignState:
    return reduce(apply, events, state or CampaignState())


def apply(state: CampaignState, event: ev.Event) -> CampaignState:
    """The state after ``event``. Never raises; an event without meaning here changes nothing."""
    handler = _HANDLERS.get(type(event))
    return handler(state, event) if handler else state


def _created(state: CampaignState, event: ev.CampaignCreated) -> CampaignState:
    if state.campaign:
        return state
    return replace(
        state,
        campaign=event.campaign,
        created_at=event.t,
        version=event.version,
        simulated=event.simulated,
        imported=event.imported,
        forced=event.forced,
    )


def _planned(state: CampaignState, event: ev.RunPlanned) -> CampaignState:
    if event.run_id in state.runs:
        return state
    record = RunRecord(
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
        not_before=event.not_before,
        retry_of=event.retry_of,
    )
    return replace(state, runs={**state.runs, event.run_id: record}, finished=False)


def _change(
    state: CampaignState, run_id: str, legal: tuple[RunState, ...], /, **changes: Any
) -> CampaignState:
    run = state.runs.get(run_id)
    if run is None or run.state not in legal:
        return state
    return replace(state, runs={**state.runs, run_id: replace(run, **changes)})


def _assigned(state: CampaignState, event: ev.RunAssigned) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.PLANNED,),
        state=RunState.STARTING,
        hosts=event.hosts,
        commands=event.commands,
        port=event.port,
        log=event.log,
        started_at=event.t,
    )


def _launched(state: CampaignState, event: ev.RunLaunched) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.STARTING,),
        state=RunState.RUNNING,
        boot_ids=event.boot_ids,
    )


def _deferred(state: CampaignState, event: ev.RunDeferred) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.STARTING,),
        state=RunState.PLANNED,
        hosts=(),
        commands=(),
        port=0,
        started_at=None,
        lost_hosts={},
    )


def _readings(state: CampaignState, event: ev.ReadingsArrived) -> CampaignState:
    run = state.runs.get(event.run_id)
    if run is None or not run.state.active or event.first > run.reading_count:
        return state
    new = event.readings[run.reading_count - event.first :]
    if not new:
        return state
    step, value, at = new[-1]
    return _change(
        state,
        event.run_id,
        (run.state,),
        reading_count=run.reading_count + len(new),
        warmup=event.warmup,
        last_step=step,
        last_throughput=value,
        last_reading_at=at,
        series=run.series.extended(run.reading_count, ((r[2], r[1]) for r in new)),
    )


def _contact(state: CampaignState, event: ev.ContactChanged) -> CampaignState:
    run = state.runs.get(event.run_id)
    if run is None or not run.state.active or event.host not in run.hosts:
        return state
    lost = {h: since for h, since in run.lost_hosts.items() if h != event.host}
    if event.lost:
        lost[event.host] = run.lost_hosts.get(event.host, (event.t, event.reason))
    return _change(state, event.run_id, (run.state,), lost_hosts=lost)


def _cancelling(state: CampaignState, event: ev.RunCancelling) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.STARTING, RunState.RUNNING),
        state=RunState.CANCELLING,
        reason=f"cancelled by {event.by}",
    )


_LIVE = (RunState.STARTING, RunState.RUNNING, RunState.CANCELLING)


def _succeeded(state: CampaignState, event: ev.RunSucceeded) -> CampaignState:
    run = state.runs.get(event.run_id)
    if run is None:
        return state
    return _change(
        state,
        event.run_id,
        (*_LIVE, RunState.PLANNED) if state.imported else _LIVE,
        state=RunState.SUCCEEDED,
        ended_at=event.t,
        lost_hosts={},
        throughput=event.throughput,
        reading_count=max(run.reading_count, event.readings),
        used=event.used,
        window=event.window,
        statistic=event.statistic,
        metrics=event.metrics,
        gpu_memory_mib=event.gpu_memory_mib,
        warnings=event.warnings,
        fingerprint=event.fingerprint,
        log=event.log or run.log,
        reason="",
    )


def _failed(state: CampaignState, event: ev.RunFailed) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.PLANNED, *_LIVE),
        state=RunState.FAILED,
        ended_at=event.t,
        lost_hosts={},
        reason=event.reason,
        evidence=event.evidence,
        category=event.category,
        failed_host=event.host,
        exit_status=event.exit_status,
        retry=event.retry,
        clean=event.clean,
    )


def _cancelled(state: CampaignState, event: ev.RunCancelled) -> CampaignState:
    return _change(
        state,
        event.run_id,
        (RunState.PLANNED, *_LIVE),
        state=RunState.CANCELLED,
        ended_at=event.t,
        lost_hosts={},
        clean=event.clean,
    )


def _noted(state: CampaignState, event: ev.Noted) -> CampaignState:
    return replace(state, notes=(*state.notes, (event.t, event.level, event.text))[-50:])


def _finished(state: CampaignState, event: ev.CampaignFinished) -> CampaignState:
    if any(not run.state.ended for run in state.runs.values()):
        return state
    return replace(state, finished=True)


def _reopened(state: CampaignState, event: ev.CampaignReopened) -> CampaignState:
    return replace(state, finished=False)


_HANDLERS: Mapping[type[ev.Event], Callable[[CampaignState, Any], CampaignState]] = {
    ev.CampaignCreated: _created,
    ev.RunPlanned: _planned,
    ev.RunAssigned: _assigned,
    ev.RunLaunched: _launched,
    ev.RunDeferred: _deferred,
    ev.ReadingsArrived: _readings,
    ev.ContactChanged: _contact,
    ev.RunCancelling: _cancelling,
    ev.RunSucceeded: _succeeded,
    ev.RunFailed: _failed,
    ev.RunCancelled: _cancelled,
    ev.Noted: _noted,
    ev.CampaignFinished: _finished,
    ev.CampaignReopened: _reopened,
}
