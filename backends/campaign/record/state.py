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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.outages import NO_OUTAGES, Outages, outage_notes, outages_after
from backends.campaign.record.run_changes import RUN_CHANGES, planned_runs, planning, record_of
from backends.campaign.record.run_record import ENDS, NewReadings, RunRecord
from backends.campaign.record.run_state import RunState
from backends.engines.engine import Held
from backends.hosts.preflight_finding import Bearing
from backends.results.attempts import latest_attempts
from backends.results.auto_repeats import AutoRepeats, Quantity, Stop
from profiles.counted import counted
from profiles.errors import SelectionError
from profiles.format.case import Case

__all__ = [
    "CampaignState",
    "Place",
    "RunRecord",
    "RunState",
    "apply",
    "campaign_of",
    "fold",
    "next_attempt_id",
]


_READINGS = (ev.ReadingsSampled, ev.ReadingsArrived)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory: its inode numbers, and on which machine it was seen under which path."""

    inodes: str = ""
    host: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asked whoever was at work; ``done``: None as long as it is not answered."""

    verb: str
    by: str
    run_ids: tuple[str, ...] = ()
    everything: bool = False
    repeats: int = 0
    first: int = 0
    done: bool | None = None
    text: str = ""
    changed: tuple[str, ...] = ()
    answered_at: float = 0.0


def hosts_of(left_out: Iterable[str]) -> tuple[str, ...]:
    """The hosts of :attr:`CampaignState.left_out`, which also names the cases that this cost."""
    names = (line.partition(": ")[0] for line in left_out)
    return tuple(name for name in names if " " not in name)  # a case has its profile before it


@dataclass(frozen=True, slots=True)
class CampaignState:
    campaign: str = ""
    created_at: float | None = None
    version: str = ""
    simulated: bool = False
    imported: bool = False
    forced: bool = False
    overridden: tuple[str, ...] = ()
    forced_on: tuple[Bearing, ...] = ()
    left_out: tuple[str, ...] = ()  # hosts that it began without, and why
    warned: tuple[tuple[str, Bearing], ...] = ()  # by preflight, and of which runs
    finished: bool = False
    turns: tuple[tuple[float, str], ...] = ()  # when it ended, and how its runs had; "": it went on
    cancel_asked: bool = False  # of all that is; nothing is started while it holds
    hosts: int = 0  # it was planned on so many; 0: an older journal does not say
    explain: tuple[str, ...] = ()  # profiles whose cases get a profiled run each
    placement: str = "first"  # how the devices of a host are chosen
    pack: bool = False  # runs on one host share it
    devices: int = 0  # … of which a host had so many; 0: nobody said
    auto: AutoRepeats | None = None  # repeats until it is known; None: so many were asked for
    settled: Mapping[str, Stop] = field(default_factory=dict)  # by case: why no further repeats
    runs: Mapping[str, RunRecord] = field(default_factory=dict)  # in planning order
    wishes: Mapping[str, Wish] = field(default_factory=dict)  # by the id of the request
    notes: tuple[tuple[float, str, str], ...] = ()  # (time, level, text), the last 50
    writers: tuple[ev.WriterChanged, ...] = ()  # who went on with it and who left it, the last 50
    noted_of_results: tuple[tuple[float, str, str], ...] = ()  # those that go with the results
    outages: Outages = NO_OUTAGES  # of hosts, while runs were at work there
    told: Mapping[str, tuple[float, str, str]] = field(
        default_factory=dict
    )  # by key: t, kind, text
    lost_lines: int = 0  # of the journal; what they said is not known
    frozen: str = ""  # SHA-256 of what it began with
    frozen_damage: str = ""  # what of that is not as it was
    held: Held | None = None  # asked for all runs together, and perhaps held
    place: Place = Place()  # where it goes on
    handed_to: Place | None = None  # nothing is run from this directory any more, but from there
    copy_of: Place | None = None  # this directory is a copy; the journal does not know
    directory: str = field(default="", compare=False)  # its name; it can be another by now
    strays: frozenset[str] = frozenset()  # runs that something happened to, and nobody planned
    lost_ends: frozenset[str] = frozenset()  # active when the campaign finished: their end is lost

    @property
    def called(self) -> str:
        """As its directory is: what lists have and commands take."""
        return self.directory or self.campaign

    @property
    def stem(self) -> str:
        """What the ids of its runs begin with, and no other campaign's."""
        return campaign_of(next(iter(self.runs), ""))

    @property
    def damage(self) -> str:
        """What the operator must know of a damaged campaign; empty when it is whole."""
        told = [self.frozen_damage] if self.frozen_damage else []
        if self.lost_lines:
            told.append(
                f"{counted(self.lost_lines, 'line')} of the journal could not be read: runs may be "
                "missing, and with them the base of the speedups"
            )
        return "; ".join(told)

    @property
    def notes_of_outages(self) -> list[tuple[float, str, str]]:
        """As :attr:`notes`, one of each outage of a host."""
        return outage_notes(self.outages, self.runs)

    @property
    def hosts_left_out(self) -> tuple[str, ...]:
        """See :func:`hosts_of`."""
        return hosts_of(self.left_out)

    @property
    def hosts_forced(self) -> tuple[str, ...]:
        """Those that preflight stopped and its operator used all the same; empty where none was, or
        the journal does not name those of every stop."""
        about = [on.hosts[0] for on in self.forced_on if len(on.hosts) == 1]
        if not self.forced or len(about) < max(len(self.overridden), len(self.forced_on)):
            return ()
        return tuple(dict.fromkeys(chain.from_iterable(about)))

    @property
    def notes_of_unwatched(self) -> list[tuple[float, str, str]]:
        """As :attr:`notes`, of outages and of when nobody was at work, the oldest first."""
        return sorted((*self.notes_of_outages, *self.noted_of_results), key=lambda note: note[0])

    @property
    def begun_without(self) -> str:
        """Which hosts its operator left out, and why; empty when none was."""
        return f"It began without {'; '.join(self.left_out)}" if self.left_out else ""

    @property
    def forced_over(self) -> str:
        """Which stops of preflight its operator overrode; empty when none was, or an older journal
        does not name them."""
        return f"Forced in spite of: {'; '.join(self.overridden)}" if self.overridden else ""

    @property
    def notes_of_begin(self) -> list[tuple[float, str, str]]:
        """As :attr:`notes`, of what its operator decided when it began."""
        begun = self.created_at or 0.0
        notes = (("info", self.begun_without), ("warn", self.forced_over))
        return [(begun, level, text) for level, text in notes if text]

    @property
    def notes_of_results(self) -> list[tuple[float, str, str]]:
        """As :attr:`notes`, those that go with its results."""
        return [*self.notes_of_begin, *self.notes_of_unwatched]

    @property
    def open_ended(self) -> bool:
        """Some case gets further repeats until it is known, and nobody knows how many."""
        if self.auto is None:
            return False
        return any(run.case.key not in self.settled for run in self.runs.values())

    @property
    def unfinished(self) -> str:
        """That it goes on, and how far it is; empty when it has finished, or was imported."""
        if self.finished or self.imported:
            return ""
        latest = self.latest_attempts()
        ended = sum(run.state.ended and not run.skipped for run in latest)
        return f"it has not finished: {ended} of {counted(len(latest), 'run')} ended"

    def found(self, directory: str, *, frozen_damage: str, copy_of: Place | None) -> CampaignState:
        """With what a look at its directory says; the journal does not know."""
        known = (self.directory, self.frozen_damage, self.copy_of)
        if (directory, frozen_damage, copy_of) == known:
            return self
        return replace(self, directory=directory, frozen_damage=frozen_damage, copy_of=copy_of)

    @property
    def cancel_wished(self) -> frozenset[str]:
        """Runs whose end somebody asked for and was not refused, whatever became of them."""
        return frozenset(run_id for wish in self._wishes_to_cancel for run_id in wish.run_ids)

    def end_wished_by(self, run_id: str) -> str:
        """The user who first asked a keeper for the end of a run; "": nobody."""
        return next((w.by for w in self._wishes_to_cancel if run_id in w.run_ids), "")

    @property
    def _wishes_to_cancel(self) -> Iterator[Wish]:
        every = self.wishes.values()
        return (wish for wish in every if wish.verb == "cancel" and wish.done is not False)

    def run(self, run_id: str) -> RunRecord:
        """The run of that id; raises SelectionError where there is none."""
        if run_id not in self.runs:
            raise SelectionError(
                f"no run {run_id!r} in this campaign",
                where=self.called,
                remedy="'dlperf-tui status CAMPAIGN --json' lists them",
            )
        return self.runs[run_id]

    def latest_attempts(self) -> tuple[RunRecord, ...]:
        """The last attempt of every planned repeat, in planning order."""
        return latest_attempts(self.runs.values())

    def tries(self, run: RunRecord) -> int:
        """Attempts up to this one that tell something of the run: that a demo was left does not."""
        of_it = (one for one in self.runs.values() if one.slot == run.slot)
        left = sum(one.category == Cause.LEFT and one.attempt <= run.attempt for one in of_it)
        return run.attempt - left

    @property
    def lost(self) -> tuple[RunRecord, ...]:
        """What has ended without success and is to have no further attempt: failed, cancelled, or
        skipped."""
        latest = self.latest_attempts()
        return tuple(r for r in latest if r.state.ended and r.state is not RunState.SUCCEEDED)


def campaign_of(run_id: str) -> str:
    """What the ids of all runs of a campaign begin with, and no other campaign's."""
    return run_id.partition("-")[0]


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
        if isinstance(event, _READINGS):
            waiting = readings.get(event.run_id)
            if waiting is None:
                run = runs.get(event.run_id)
                if run is None or not run.state.active:
                    continue
                waiting = readings[event.run_id] = NewReadings(run)
            waiting.take(event)
        elif (change := RUN_CHANGES.get(type(event))) is not None:
            run_id: str = event.run_id  # type: ignore[attr-defined]  # all of these have one
            settle(run_id)
            if (run := runs.get(run_id)) is not None:
                runs[run_id] = change(run, event)
                state = _with_contact(state, run, runs[run_id], event)
            elif run_id not in state.strays:
                state = replace(state, strays=state.strays | {run_id})
        elif type(event) is ev.RunPlanned:
            settle(event.retry_of)
            if changed := planned_runs(runs, event, imported=state.imported):
                for before in (runs[run_id] for run_id in changed if run_id in runs):
                    state = _with_contact(state, before, changed[before.run_id], event)
                runs.update(changed)
                state = replace(_went_on(state, event.t), cancel_asked=False)
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
        changed_runs = planned_runs(state.runs, event, imported=state.imported)
        if not changed_runs:
            return state
        runs = {**state.runs, **changed_runs}
        for before in (state.runs[run_id] for run_id in changed_runs if run_id in state.runs):
            state = _with_contact(state, before, runs[before.run_id], event)
        return replace(_went_on(state, event.t), runs=runs, cancel_asked=False)
    change = RUN_CHANGES.get(type(event))
    if change is None:
        return state
    run_id: str = event.run_id  # type: ignore[attr-defined]  # all of these have one
    run = state.runs.get(run_id)
    if run is None:
        stray = not isinstance(event, _READINGS)
        return replace(state, strays=state.strays | {run_id}) if stray else state
    changed = change(run, event)
    state = _with_contact(state, run, changed, event)
    return state if changed is run else replace(state, runs={**state.runs, run_id: changed})


def _with_contact(
    state: CampaignState, before: RunRecord, after: RunRecord, event: ev.Event
) -> CampaignState:
    """With the outages of hosts that ``after`` tells, and ``before`` did not."""
    asked = not (isinstance(event, ev.ContactChanged) and event.reason == ev.NOT_ASKED_SINCE)
    outages = outages_after(state.outages, before, after, event.t, asked=asked)
    return state if outages is state.outages else replace(state, outages=outages)


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
        forced_on=event.forced_on,
        left_out=event.left_out,
        hosts=event.hosts,
        explain=event.explain,
        placement=event.placement,
        pack=event.pack,
        devices=event.devices,
        warned=tuple(zip(event.warned, chain(event.bearings, repeat(Bearing())), strict=False)),
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
    note = (event.t, event.level, event.text)
    of_results = (*state.noted_of_results, *[note] * event.of_results)[-50:]
    return replace(state, notes=(*state.notes, note)[-50:], noted_of_results=of_results)


def _writer_changed(state: CampaignState, event: ev.WriterChanged) -> CampaignState:
    return replace(state, writers=(*state.writers, event)[-50:])


def _told(state: CampaignState, event: ev.Told) -> CampaignState:
    return replace(state, told={**state.told, event.key: (event.t, event.occasion, event.text)})


def _allocation_asked(state: CampaignState, event: ev.AllocationAsked) -> CampaignState:
    held = Held(event.nodes, event.gpus_per_node, event.limit_s)
    return replace(state, held=held)


def _allocation_over(state: CampaignState, event: ev.AllocationOver) -> CampaignState:
    return replace(state, held=None)


def _lines_lost(state: CampaignState, event: ev.LinesLost) -> CampaignState:
    return replace(state, lost_lines=state.lost_lines + event.lines)


def _finished(state: CampaignState, event: ev.CampaignFinished) -> CampaignState:
    if not state.imported:  # figures left open are never run
        active = {run.run_id for run in state.runs.values() if run.state.active}
        if any(not run.state.ended for run in state.runs.values()):
            return replace(state, lost_ends=frozenset(active))
    if state.finished:
        return state
    counts = Counter(run.ended_as for run in state.latest_attempts())
    ends = [run.ended_at for run in state.runs.values() if run.ended_at is not None]
    end = (
        max(ends, default=event.t),
        ", ".join(f"{counts[how]} {how}" for how in ENDS if how in counts),
    )
    return replace(state, finished=True, turns=(*state.turns, end))


def _reopened(state: CampaignState, event: ev.CampaignReopened) -> CampaignState:
    return _went_on(state, event.t)


def _went_on(state: CampaignState, t: float) -> CampaignState:
    turns = (*state.turns, (t, "")) if state.finished else state.turns
    return replace(state, finished=False, turns=turns)


def _cancel_asked(state: CampaignState, event: ev.CancelAsked) -> CampaignState:
    return replace(state, cancel_asked=True)


def _request_taken(state: CampaignState, event: ev.RequestTaken) -> CampaignState:
    if event.request in state.wishes:
        return state
    wish = Wish(event.verb, event.by, event.run_ids, event.everything, event.repeats, event.first)
    return replace(state, wishes={**state.wishes, event.request: wish})


def _request_answered(state: CampaignState, event: ev.RequestAnswered) -> CampaignState:
    wish = state.wishes.get(event.request, Wish(event.verb, event.by))
    if wish.done is not None:
        return state
    wish = replace(
        wish, done=event.done, text=event.text, changed=event.run_ids, answered_at=event.t
    )
    return replace(state, wishes={**state.wishes, event.request: wish})


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
    planned = replace(
        planning(run, event.t),
        run_id=event.next_id,
        attempt=run.attempt + 1,
        not_before=0.0,
        retry_of=run.run_id,
    )
    again = replace(record_of(planned), state=RunState.QUEUED, job_id=event.job_id or run.job_id)
    runs = {**state.runs, run.run_id: ended, again.run_id: again}
    outages = outages_after(state.outages, run, ended, event.t)
    return replace(state, runs=runs, finished=False, outages=outages)


_HANDLERS: Mapping[type[ev.Event], Callable[[CampaignState, Any], CampaignState]] = {
    ev.CampaignCreated: _created,
    ev.RepeatsAsked: _repeats_asked,
    ev.CaseSettled: _case_settled,
    ev.CampaignPlaced: _placed,
    ev.CampaignHandedOn: _handed_on,
    ev.Noted: _noted,
    ev.WriterChanged: _writer_changed,
    ev.Told: _told,
    ev.AllocationAsked: _allocation_asked,
    ev.AllocationOver: _allocation_over,
    ev.LinesLost: _lines_lost,
    ev.CancelAsked: _cancel_asked,
    ev.RequestTaken: _request_taken,
    ev.RequestAnswered: _request_answered,
    ev.CampaignFinished: _finished,
    ev.CampaignReopened: _reopened,
    ev.RunRequeued: _requeued,
}
