"""A campaign's state as a fold of its events: pure, total, and the same live as on resume.

``state = reduce(apply, events, CampaignState())``. An event that is not legal in the present state
changes nothing (a torn or doubled journal still yields a legal state). The run's state machine:

    planned ◄─► queued ──► starting ──► running       (planned ──► starting where nothing queues)
       │          │           │            │
       │          │           ├────────────┴──► cancelling
       ▼          ▼           ▼                     │
      cancelled, failed   succeeded, failed ◄───────┴──► cancelled

``queued`` means that an engine was asked for hosts which it may give later; nothing exists yet.
``starting`` means that hosts are assigned and something may exist on them; a run leaves it only
with every host's answer, or back to ``planned`` when the hosts turn out to be held by others.
``cancelling`` lasts until the end is verified on every host, or a host was away for too long. It
may still end in ``failed`` (the clean-up went wrong) or in ``succeeded`` (it was over before the
word arrived).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import (
    SERIES_POINTS,
    NewReadings,
    RunRecord,
    RunState,
    Series,
)
from backends.results.auto_repeats import AutoRepeats, Quantity, Stop
from profiles.format.case import Case

__all__ = [
    "END_LOST",
    "SERIES_POINTS",
    "CampaignState",
    "Place",
    "RunRecord",
    "RunState",
    "Series",
    "apply",
    "fold",
    "next_attempt_id",
]

END_LOST = "how it ended is in a line of the journal that cannot be read"


@dataclass(frozen=True, slots=True)
class Place:
    """A directory: its inode numbers, and on which machine it was seen under which path."""

    inodes: str = ""
    host: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"


@dataclass(frozen=True, slots=True)
class CampaignState:
    campaign: str = ""
    created_at: float | None = None
    version: str = ""
    simulated: bool = False
    imported: bool = False
    forced: bool = False
    overridden: tuple[str, ...] = ()
    finished: bool = False
    cancel_asked: bool = False  # of all that is; nothing is started while it holds
    auto: AutoRepeats | None = None  # repeats until it is known; None: so many were asked for
    settled: Mapping[str, Stop] = field(default_factory=dict)  # by case: why no further repeats
    runs: Mapping[str, RunRecord] = field(default_factory=dict)  # in planning order
    notes: tuple[tuple[float, str, str], ...] = ()  # (time, level, text), the last 50
    lost_lines: int = 0  # of the journal; what they said is not known
    frozen: str = ""  # SHA-256 of what it began with
    frozen_damage: str = ""  # what of that is not as it was
    place: Place = Place()  # where it goes on
    handed_to: Place | None = None  # nothing is run from this directory any more, but from there
    copy_of: Place | None = None  # this directory is a copy; the journal does not know
    strays: frozenset[str] = frozenset()  # runs that something happened to, and nobody planned
    lost_ends: frozenset[str] = frozenset()  # active when the campaign finished: their end is lost

    @property
    def damage(self) -> str:
        """What the operator must know of a damaged campaign; empty when it is whole."""
        told = [self.frozen_damage] if self.frozen_damage else []
        if self.lost_lines:
            lines = "1 line" if self.lost_lines == 1 else f"{self.lost_lines} lines"
            told.append(
                f"{lines} of the journal could not be read: runs may be missing, and with them the "
                "base of the speedups"
            )
        return "; ".join(told)

    def found(self, *, frozen_damage: str, copy_of: Place | None) -> CampaignState:
        """With what a look at its directory says; the journal does not know."""
        if (frozen_damage, copy_of) == (self.frozen_damage, self.copy_of):
            return self
        return replace(self, frozen_damage=frozen_damage, copy_of=copy_of)

    def latest_attempts(self) -> tuple[RunRecord, ...]:
        """The last attempt of every planned repeat, in planning order."""
        latest: dict[tuple[object, ...], RunRecord] = {}
        for run in self.runs.values():
            latest[run.slot] = run
        return tuple(latest.values())


def next_attempt_id(run_id: str, attempt: int) -> str:
    """``…-a2`` after ``…-a1``."""
    stem, _, _ = run_id.rpartition("-a")
    return f"{stem}-a{attempt + 1}"


def fold(events: Iterable[ev.Event], state: CampaignState | None = None) -> CampaignState:
    """What ``reduce(apply, events, state)`` gives, in one pass: a journal's readings are by far the
    most of it, so those of a run are added up until something else happens to it."""
    state = state or CampaignState()
    runs = dict(state.runs)
    readings: dict[str, NewReadings] = {}

    def settle(run_id: str) -> None:
        if (waiting := readings.pop(run_id, None)) is not None:
            runs[run_id] = waiting.added()

    for event in events:
        if isinstance(event, ev.ReadingsSampled | ev.ReadingsArrived):
            waiting = readings.get(event.run_id)
            if waiting is None:
                run = runs.get(event.run_id)
                if run is None or not run.state.active:
                    continue
                waiting = readings[event.run_id] = NewReadings(run)
            waiting.take(event)
        elif (change := _CHANGES.get(type(event))) is not None:
            run_id: str = event.run_id  # type: ignore[attr-defined]  # all of these have one
            settle(run_id)
            if (run := runs.get(run_id)) is not None:
                runs[run_id] = change(run, event)
            elif run_id not in state.strays:
                state = replace(state, strays=state.strays | {run_id})
        elif type(event) is ev.RunPlanned:
            if event.run_id not in runs:
                settle(event.retry_of)
                runs.update(_planned(runs, event, imported=state.imported))
                state = replace(state, finished=False, cancel_asked=False)
        elif (handler := _HANDLERS.get(type(event))) is not None:
            settle(getattr(event, "run_id", ""))
            state = handler(replace(state, runs=runs), event)
            runs = dict(state.runs)
    for run_id in list(readings):
        settle(run_id)
    return replace(state, runs=runs)


def apply(state: CampaignState, event: ev.Event) -> CampaignState:
    """The state after ``event``. Never raises; an event without meaning here changes nothing."""
    if (handler := _HANDLERS.get(type(event))) is not None:
        return handler(state, event)
    if isinstance(event, ev.RunPlanned):
        if event.run_id in state.runs:
            return state
        runs = {**state.runs, **_planned(state.runs, event, imported=state.imported)}
        return replace(state, runs=runs, finished=False, cancel_asked=False)
    change = _CHANGES.get(type(event))
    if change is None:
        return state
    run_id: str = event.run_id  # type: ignore[attr-defined]  # all of these have one
    run = state.runs.get(run_id)
    if run is None:
        stray = not isinstance(event, ev.ReadingsSampled | ev.ReadingsArrived)
        return replace(state, strays=state.strays | {run_id}) if stray else state
    changed = change(run, event)
    return state if changed is run else replace(state, runs={**state.runs, run_id: changed})


# What happens to the campaign --------------------------------------------------------------------


def _created(state: CampaignState, event: ev.CampaignCreated) -> CampaignState:
    if state.created_at is not None:
        return state
    return replace(
        state,
        campaign=event.campaign,
        created_at=event.t,
        version=event.version,
        simulated=event.simulated,
        imported=event.imported,
        forced=event.forced,
        overridden=event.overridden,
        frozen=event.frozen,
        place=Place(event.place, event.host, event.path),
    )


def _repeats_asked(state: CampaignState, event: ev.RepeatsAsked) -> CampaignState:
    if event.quantity not in tuple(Quantity):
        return state
    rule = AutoRepeats(
        event.target, Quantity(event.quantity), event.max_repeats, event.budget_gpu_s
    )
    return replace(state, auto=rule)


def _case_settled(state: CampaignState, event: ev.CaseSettled) -> CampaignState:
    if event.why not in tuple(Stop):
        return state
    case = Case(event.profile, event.nodes, event.gpus_per_node, event.parameters)
    return replace(state, settled={**state.settled, case.key: Stop(event.why)})


def _placed(state: CampaignState, event: ev.CampaignPlaced) -> CampaignState:
    return replace(state, place=Place(event.place, event.host, event.path), handed_to=None)


def _handed_on(state: CampaignState, event: ev.CampaignHandedOn) -> CampaignState:
    return replace(state, handed_to=Place("", event.host, event.path))


def _noted(state: CampaignState, event: ev.Noted) -> CampaignState:
    return replace(state, notes=(*state.notes, (event.t, event.level, event.text))[-50:])


def _lines_lost(state: CampaignState, event: ev.LinesLost) -> CampaignState:
    return replace(state, lost_lines=state.lost_lines + event.lines)


def _finished(state: CampaignState, event: ev.CampaignFinished) -> CampaignState:
    if not state.imported:  # figures left open are never run
        active = {run.run_id for run in state.runs.values() if run.state.active}
        if any(not run.state.ended for run in state.runs.values()):
            return replace(state, lost_ends=frozenset(active))
    return replace(state, finished=True)


def _reopened(state: CampaignState, event: ev.CampaignReopened) -> CampaignState:
    return replace(state, finished=False)


def _cancel_asked(state: CampaignState, event: ev.CancelAsked) -> CampaignState:
    return replace(state, cancel_asked=True)


def _requeued(state: CampaignState, event: ev.RunRequeued) -> CampaignState:
    run = state.runs.get(event.run_id)
    if run is None or run.state.ended or event.next_id in state.runs:
        return state
    ended = replace(
        run,
        state=RunState.FAILED,
        ended_at=event.t,
        lost_hosts={},
        reason=event.reason,
        category=Cause.REQUEUED,
        retry="never",
    )
    again = RunRecord(
        run_id=event.next_id,
        profile=run.profile,
        framework=run.framework,
        model=run.model,
        unit=run.unit,
        nodes=run.nodes,
        gpus_per_node=run.gpus_per_node,
        parameters=run.parameters,
        repeat=run.repeat,
        attempt=run.attempt + 1,
        state=RunState.QUEUED,
        retry_of=run.run_id,
        job_id=event.job_id or run.job_id,
    )
    runs = {**state.runs, run.run_id: ended, again.run_id: again}
    return replace(state, runs=runs, finished=False)


_HANDLERS: Mapping[type[ev.Event], Callable[[CampaignState, Any], CampaignState]] = {
    ev.CampaignCreated: _created,
    ev.RepeatsAsked: _repeats_asked,
    ev.CaseSettled: _case_settled,
    ev.CampaignPlaced: _placed,
    ev.CampaignHandedOn: _handed_on,
    ev.Noted: _noted,
    ev.LinesLost: _lines_lost,
    ev.CancelAsked: _cancel_asked,
    ev.CampaignFinished: _finished,
    ev.CampaignReopened: _reopened,
    ev.RunRequeued: _requeued,
}


# What happens to a run ---------------------------------------------------------------------------


def _planned(
    runs: Mapping[str, RunRecord], event: ev.RunPlanned, *, imported: bool
) -> dict[str, RunRecord]:
    """The planned run, and the one that it is a retry of where that has ended without a word."""
    planned = _record(event, imported=imported)
    before = runs.get(event.retry_of)
    if before is None or not before.state.active:
        return {planned.run_id: planned}
    lost = ev.RunFailed(t=event.t, run_id=before.run_id, reason=END_LOST)
    return {before.run_id: _failed(before, lost), planned.run_id: planned}


def _record(event: ev.RunPlanned, *, imported: bool) -> RunRecord:
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
    )


def _queued(run: RunRecord, event: ev.RunQueued) -> RunRecord:
    if run.state not in (RunState.PLANNED, RunState.QUEUED):
        return run
    return replace(run, state=RunState.QUEUED, job_id=event.job_id or run.job_id)


def _assigned(run: RunRecord, event: ev.RunAssigned) -> RunRecord:
    # A second assignment comes after a deferral, whose line may be lost.
    if run.state not in (RunState.PLANNED, RunState.QUEUED, RunState.STARTING):
        return run
    return replace(
        run,
        state=RunState.STARTING,
        hosts=event.hosts,
        devices=event.devices,
        job_id=event.job_id or run.job_id,
        commands=event.commands,
        port=event.port,
        log=event.log,
        started_at=event.t,
    )


def _launched(run: RunRecord, event: ev.RunLaunched) -> RunRecord:
    if run.state in (RunState.PLANNED, RunState.QUEUED) and event.hosts:
        run = replace(  # the line of its assignment is lost
            run,
            state=RunState.STARTING,
            hosts=event.hosts,
            devices=event.devices,
            port=event.port,
            log=event.log,
            started_at=event.t,
        )
    if run.state is not RunState.STARTING:
        return run
    return replace(run, state=RunState.RUNNING, boot_ids=event.boot_ids)


def _deferred(run: RunRecord, event: ev.RunDeferred) -> RunRecord:
    if run.state not in (RunState.QUEUED, RunState.STARTING):
        return run
    return replace(
        run,
        state=RunState.PLANNED,
        hosts=(),
        devices={},
        job_id="",
        commands=(),
        port=0,
        log="",
        started_at=None,
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
    return replace(run, state=RunState.CANCELLING, reason=f"cancelled by {event.by}")


def _succeeded(run: RunRecord, event: ev.RunSucceeded) -> RunRecord:
    # An imported run was never started by us; of another the lines of its start may be lost.
    started = run.state.active or (not run.state.ended and event.hosts)
    if not started and not (run.state is RunState.PLANNED and run.imported):
        return run
    return replace(
        run,
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
        steady=event.steady,
        cleanup=event.cleanup,
        log=event.log or run.log,
        hosts=run.hosts or event.hosts,
        reason="",
    )


def _failed(run: RunRecord, event: ev.RunFailed) -> RunRecord:
    if run.state.ended:
        return run
    return replace(
        run,
        state=RunState.FAILED,
        ended_at=event.t,
        lost_hosts={},
        reason=event.reason,
        evidence=event.evidence,
        category=event.category,
        failed_host=event.host,
        exit_status=event.exit_status,
        retry=event.retry,
        cleanup=event.cleanup.on_hosts(run.hosts),
        log=event.log or run.log,
    )


def _cancelled(run: RunRecord, event: ev.RunCancelled) -> RunRecord:
    if run.state.ended:
        return run
    return replace(
        run,
        state=RunState.CANCELLED,
        ended_at=event.t,
        lost_hosts={},
        cleanup=event.cleanup.on_hosts(run.hosts),
    )


def _host_verified(run: RunRecord, event: ev.HostVerified) -> RunRecord:
    if not run.state.ended or (cleanup := run.cleanup.without(event.host)) is run.cleanup:
        return run
    return replace(run, cleanup=cleanup)


def _restarted(run: RunRecord, event: ev.ReadingsRestarted) -> RunRecord:
    if not run.state.active or not run.reading_count:
        return run
    return replace(
        run,
        reading_count=0,
        warmup=0,
        last_step=None,
        last_throughput=None,
        series=Series(),
    )


_CHANGES: Mapping[type[ev.Event], Callable[[RunRecord, Any], RunRecord]] = {
    ev.RunQueued: _queued,
    ev.RunAssigned: _assigned,
    ev.RunLaunched: _launched,
    ev.RunDeferred: _deferred,
    ev.ReadingsArrived: _readings,
    ev.ReadingsSampled: _readings,
    ev.ContactChanged: _contact,
    ev.RunCancelling: _cancelling,
    ev.RunSucceeded: _succeeded,
    ev.RunFailed: _failed,
    ev.RunCancelled: _cancelled,
    ev.HostVerified: _host_verified,
    ev.ReadingsRestarted: _restarted,
}
