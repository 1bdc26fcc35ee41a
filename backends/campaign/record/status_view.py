"""What a screen, the progress bar and ``status`` show of a campaign: one frozen value, pulled.

A screen asks for :func:`take` at most a few times a second and diffs by ``run_id``; nothing is
pushed. Estimates are labelled as such by their names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from backends.campaign.record.chart_points import spread
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.lock import Holder, Role
from backends.campaign.record.profiled_to_come import profiled_to_come
from backends.campaign.record.run_estimates import Estimates, Expected, Remaining
from backends.campaign.record.run_record import Series
from backends.campaign.record.silence import silent_s
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.campaign.record.waiting_words import waiting_text
from backends.engines.engine import Waiting, WaitKind
from backends.hangs.slow_rank_words import still_slow
from backends.inventory.nodesets import fold_nodeset
from backends.results.run_counts import lost_words, run_counts, succeeded
from backends.transports.transport import Problem
from profiles.durations import clock_text, format_duration
from profiles.format.case import Case

NO_READING = "no reading"
NO_READING_YET = f"{NO_READING} yet"
WARMING_UP = "warming up"
COLLECTING = "collecting"
TAKEN_UP = "being taken up again"
"""Of a run that was at work before: its hosts have not told yet how far it is."""
NOT_COLLECTED = "ended, not collected yet"


@dataclass(frozen=True, slots=True)
class RunView:
    """One row of the run table. Throughputs are global samples/s; times seconds."""

    run_id: str
    profile: str
    case: Case
    label: str  # "1n2g b64 fp32 #1", with "attempt 2" when it is a retry
    repeat: int
    attempt: int
    state: RunState
    paused: bool  # planned or queued, and not to be started
    collecting: bool  # running by its state, but its program has ended
    state_text: str  # "running", "host2: connection lost 12 s ago, retrying", "waiting for node3"
    hosts: tuple[str, ...]
    out_of_reach: tuple[str, ...]  # of its hosts, while it is active
    unit: str
    progress: float | None  # 0 … 1, estimated: when its last reading came, else by the clock; None
    # where nothing is known
    eta_s: float | None
    elapsed_s: float | None
    readings: int
    last_step: float | None
    throughput_now: float | None
    throughput: float | None  # the measured result, once succeeded
    reason: str
    evidence: tuple[str, ...]
    log: Path | None  # the local raw log of rank 0
    commands: tuple[str, ...]
    cleanup: Cleanup
    doing: str = ""  # of its state_text, where that is no trouble: "copying files to node2";
    # where nobody is at work on it, all of it
    silent_s: float | None = None  # without a reading, where that is longer than they take to come
    brief: str = ""  # for a row: of one that waits, without what others wait for as well
    outlived: bool = False  # it runs for longer than was expected: nobody knows what share is done
    skipped: bool = False  # it was cancelled before it had started
    over: str = ""  # of one whose program has ended: "collecting", "ended" where nobody does that
    behind: str = ""  # the label of the run that keeps hosts from it
    waiting: WaitKind | None = None  # why it waits, where state_text says that


@dataclass(frozen=True)
class ChartSeries:
    """A run's thinned readings, from ``start`` to its ``end``; the first ``warmup`` are warm-up.

    :attr:`points` are made when they are first asked for: a screen draws a few of the runs at work.
    """

    run_id: str
    label: str
    unit: str
    readings: Series
    start: float = 0.0
    warmup: int = 0
    end: float = math.inf
    measured: float | None = None  # the run's throughput, once it succeeded; ``statistic``: how
    statistic: str = ""

    @cached_property
    def points(self) -> tuple[tuple[float, float], ...]:
        """samples/s over seconds since the run's start, as they were made, not as they came."""
        came = self.readings.times
        times = spread(
            came if self.end == math.inf else [min(t, self.end) for t in came], self.start
        )
        return tuple((t - self.start, v) for t, v in zip(times, self.readings.values, strict=True))


@dataclass(frozen=True, slots=True)
class CampaignSnapshot:
    name: str
    path: Path
    revision: int  # grows with every event; equal revisions show equal content but for clocks
    state: CampaignState
    runs: tuple[RunView, ...]
    series: tuple[ChartSeries, ...]  # of the runs that are running now, else of the last ended one
    done: int
    failed: int
    cancelled: int
    active: int
    paused: int
    total: int
    eta_s: float | None
    finished: bool
    simulated: bool
    read_only: bool
    notes: tuple[tuple[float, str, str], ...]
    kept_by: Holder | None = None  # who else is at work on it; None: nobody, or we are
    profiled: int = 0  # of those that succeeded: uncounted, for where the time goes
    skipped: int = 0  # of the cancelled: before they had started
    not_begun: int = 0  # of the failed: running them was in vain
    to_come: int = 0  # of all: profiled runs, planned when the repeats have ended
    tried_again: int = 0  # beside all: attempts with a later one in their place
    planned_again: int = 0  # likewise: what was never begun, which is no attempt
    blocked_by: tuple[str, ...] = ()  # hosts that a run waits for and nobody knows how long
    unusable: Mapping[str, str] = field(default_factory=dict)  # why, of those that a run might have
    after_that_s: float | None = None  # what all of it takes once these can be used
    no_eta: str = ""  # why nobody knows when it ends, where that has a name: "dgx1 is out of reach"

    @property
    def deserted(self) -> bool:
        """It is only looked at, it is not over, and nobody goes on with it."""
        over = self.finished or self.state.imported
        return self.read_only and not over and self.kept_by is None

    def with_note(self, t: float, text: str, level: str = "stop") -> CampaignSnapshot:
        """With a warning that is not in the journal (because that cannot be written, or not by
        us)."""
        return replace(self, notes=(*self.notes, (t, level, text)))

    @property
    def held(self) -> bool:
        """All that is left to do is paused: nothing happens until somebody unpauses it."""
        return 0 < self.paused == self.total - self.to_come - self.done

    @property
    def replayed(self) -> bool:
        """It is not what is so today, but what was at some moment."""
        return _is_replay(self.kept_by)

    @property
    def ended(self) -> int:
        """How many runs: what was skipped never began, and is told apart."""
        return self.done - self.skipped

    @property
    def summary(self) -> str:
        """For the header: "9/24 runs · ETA 41m", "8/24 succeeded · 1 failed · ETA 41m"."""
        well = succeeded(self)
        parts = [f"{well}/{self.total} {'runs' if well == self.done else 'succeeded'}"]
        parts += lost_words(self)
        if self.paused:
            parts.append(f"{self.paused} paused")
        if self.finished:
            parts.append("finished")
        elif self.eta_text:
            parts.append(self.eta_text)
        return " · ".join(parts)

    @property
    def eta_text(self) -> str:
        """ "ETA 41m", or nothing; "no ETA: dgx1 is out of reach".

        "ETA 41m once node3 can be used": nobody knows when that is. "ETA 41m of the others": than
        those that are paused. "ETA 41m of simulated time": for who looks from outside, whose own
        time passes slower.
        """
        flies = " of simulated time" * (self.simulated and self.read_only)
        if self.blocked_by and self.after_that_s is not None:
            some = "enough of " * (len(self.blocked_by) > 1)  # several runs may need them, or one
            hosts = f"{some}{fold_nodeset(self.blocked_by)}"
            return f"ETA {format_duration(self.after_that_s)}{flies} once {hosts} can be used"
        if self.eta_s is None:
            return f"no ETA: {self.no_eta}" if self.no_eta else ""
        others = " of the others" * bool(self.paused)
        return f"ETA {format_duration(self.eta_s)}{flies}{others}"


def _is_replay(kept_by: Holder | None) -> bool:
    return kept_by is not None and kept_by.role == Role.REPLAY


def take(
    state: CampaignState,
    path: Path,
    *,
    now: float,
    waiting: Mapping[str, Waiting] | None = None,
    starting: Mapping[str, str] | None = None,
    revision: int = 0,
    read_only: bool = False,
    kept_by: Holder | None = None,
    kept: Kept | None = None,
) -> CampaignSnapshot:
    """A snapshot at ``now`` (seconds since the epoch).

    ``waiting``: by run id, what a planned run waits for; ``starting``: what a start is at, where
    that is known here. ``kept_by``: who else is at work on it.
    ``kept``: what the caller keeps between snapshots of one campaign.
    """
    waiting = waiting or {}
    kept = kept or Kept()
    latest = kept.latest(state)
    done: list[RunRecord] = []
    left: list[RunRecord] = []
    for run in latest:
        (done if run.state.ended else left).append(run)
    active = [run for run in left if run.state.active]
    to_do = [run for run in left if not run.paused]
    durations = kept.estimates.of(state.runs.values())
    watched = not read_only or kept_by is not None
    estimated = watched and not _is_replay(kept_by)  # whose end is known
    views = []
    for run in state.runs.values():
        what_for = _with_label(waiting.get(run.run_id), state)
        view = kept.view(run, what_for)
        if view is None:
            expected = durations.expected(run) if run.state.active else None
            start = (starting or {}).get(run.run_id, "")
            view = _view(run, path, now, expected, what_for, start, watched=watched)
            view = view if estimated else replace(view, eta_s=None)
            kept.keep(run, what_for, view)
        views.append(view)
    to_come = len(profiled_to_come(state, latest))
    every, devices = state.runs.values(), state.devices
    why = [waiting[run.run_id] for run in to_do if run.run_id in waiting]
    blocked = (one.hosts for one in why if one.kind is WaitKind.UNUSABLE)
    blocked_by = tuple(sorted({*chain.from_iterable(blocked)}))
    together = {id(one.unusable): one.unusable for one in why}.values()  # as most of them share it
    unusable = dict(chain.from_iterable(together))
    left_s = None
    if estimated and (to_do or not left) and not any(view.silent_s is not None for view in views):
        left_s = kept.remaining.seconds(
            to_do,
            durations,
            now,
            state.hosts,
            waiting,
            devices,
            every,
            unusable.keys() - set(blocked_by),
        )
    return CampaignSnapshot(
        name=state.campaign,
        path=path,
        revision=revision,
        state=state,
        runs=tuple(views),
        series=_series(state, active),
        active=len(active),
        paused=len(left) - len(to_do),
        total=len(latest) + to_come,
        to_come=to_come,
        eta_s=None if blocked_by else left_s,
        finished=state.finished,
        simulated=state.simulated,
        read_only=read_only,
        notes=_notes(state),
        kept_by=kept_by,
        profiled=sum(run.profiled and run.state is RunState.SUCCEEDED for run in done),
        blocked_by=blocked_by,
        unusable=unusable,
        after_that_s=left_s if blocked_by else None,
        no_eta=_no_eta(views, blocked_by) if estimated and to_do and left_s is None else "",
        **run_counts(every, latest),
    )


def _with_label(waiting: Waiting | None, state: CampaignState) -> Waiting | None:
    """``behind`` whom, as it is called on a screen."""
    ahead = state.runs.get(waiting.behind) if waiting is not None else None
    return waiting if waiting is None or ahead is None else replace(waiting, behind=ahead.label)


def _no_eta(views: Sequence[RunView], blocked_by: Sequence[str]) -> str:
    """Why nobody knows when the last of these runs has ended; nothing where no estimate was given
    of one of them, which its profile says from the beginning."""
    lost = sorted({host for view in views for host in view.out_of_reach})
    if lost:
        return f"{fold_nodeset(lost)} {'is' if len(lost) == 1 else 'are'} out of reach"
    if blocked_by:
        return f"{fold_nodeset(blocked_by)} cannot be used"
    if any(view.silent_s is not None for view in views):
        return "a run is silent"
    if any(view.outlived for view in views):
        return "a run is overdue"
    return ""


class Kept:
    """What snapshots of one campaign have in common: views of runs that no clock changes, and what
    is worked out anew only when a run has ended."""

    def __init__(self) -> None:
        self.remaining = Remaining()
        self.estimates = Estimates()
        self._views: dict[str, tuple[RunRecord, Waiting | None, RunView]] = {}
        self._latest: tuple[str, ...] = ()
        self._attempts = 0

    def latest(self, state: CampaignState) -> list[RunRecord]:
        """The last attempt of every repeat, in planning order; runs are never taken away."""
        if len(state.runs) != self._attempts:
            self._attempts = len(state.runs)
            self._latest = tuple(run.run_id for run in state.latest_attempts())
        return [state.runs[run_id] for run_id in self._latest]

    def view(self, run: RunRecord, waiting: Waiting | None) -> RunView | None:
        """None where it may be another one by now."""
        known = self._views.get(run.run_id)
        if known is None or known[0] is not run:
            return None
        return known[2] if run.state.ended or known[1] == waiting else None

    def keep(self, run: RunRecord, waiting: Waiting | None, view: RunView) -> None:
        """For as long as it holds: words for a run that waits may have the time in them."""
        dated = run.paused or run.not_before or (waiting and waiting.expected_at is not None)
        if run.state.ended or (run.state is RunState.PLANNED and not dated):
            self._views[run.run_id] = (run, waiting, view)


def _notes(state: CampaignState) -> tuple[tuple[float, str, str], ...]:
    begun = state.created_at or 0.0
    damage = [(begun, "stop", state.damage)] if state.damage else []
    told = sorted((*state.notes, *state.notes_of_outages), key=lambda note: note[0])
    return (*state.notes_of_begin, *told, *damage)


def _view(
    run: RunRecord,
    path: Path,
    now: float,
    takes: Expected | None,
    waiting: Waiting | None,
    start: str,
    *,
    watched: bool,
) -> RunView:
    elapsed = None
    # Without watching nobody knows whether it still runs.
    expected = takes.due if takes is not None and watched else None
    if run.started_at is not None:
        ends = (end for end in (run.ended_at, run.over_at) if end is not None)
        until = next(ends, now if watched else _last_seen(run))
        elapsed = max(0.0, until - run.started_at)
    untold = start == TAKEN_UP and run.state is RunState.RUNNING
    may_be_over = untold and (elapsed or 0.0) >= (expected or 0.0)
    expected = None if may_be_over else expected
    quiet_s = silent_s(run, now) if watched and not untold else None
    progress = eta = None
    if run.state.ended:
        progress = 1.0 if run.state is RunState.SUCCEEDED else None
    elif run.collecting:
        progress = 1.0
    elif run.state is RunState.CANCELLING:
        pass  # it is over as soon as its hosts say so
    elif run.state in (RunState.PLANNED, RunState.STARTING):
        progress = 0.0  # a start may wait for a lease, and be taken back
    elif run.state.active and takes is not None and expected and elapsed is not None:
        if run.last_reading_at is not None:
            passed = _last_seen(run) - (run.started_at or 0.0)
            progress = min(1.0, passed / takes.total(passed))
        elif elapsed < expected:
            progress = elapsed / takes.total(elapsed)
        if elapsed < expected and quiet_s is None:
            eta = takes.total(elapsed) - elapsed
    silent = "" if quiet_s is None else f"{run.state}, {NO_READING} for {format_duration(quiet_s)}"
    trouble = _state_text(run, now, waiting, watched=watched) or silent
    if run.state.active and not watched and not trouble:
        seen = f"{run.state} when last seen {format_duration(now - _last_seen(run))} ago"
        at_work = doing = NOT_COLLECTED if run.collecting else seen
    else:
        trouble = trouble or _slow(run)
        doing = "" if trouble or _outlived(run, now, expected) else _doing(run, start)
        at_work = _at_work(run, now, expected, doing)
    return RunView(
        run_id=run.run_id,
        profile=run.profile,
        case=run.case,
        label=run.label,
        repeat=run.repeat,
        attempt=run.attempt,
        state=run.state,
        paused=run.paused,
        collecting=run.collecting,
        state_text=trouble or at_work,
        hosts=run.hosts,
        out_of_reach=tuple(run.lost_hosts) if run.state.active else (),
        unit=run.unit,
        progress=progress,
        eta_s=eta,
        elapsed_s=elapsed,
        readings=run.reading_count,
        last_step=run.last_step,
        throughput_now=_throughput_now(run),
        throughput=run.throughput,
        reason=run.reason,
        evidence=run.evidence,
        log=path / run.log if run.log else None,
        commands=run.commands,
        cleanup=run.cleanup,
        doing=doing,
        silent_s=quiet_s,
        brief=_brief(run, now, waiting, trouble, expected),
        outlived=quiet_s is None and _outlived(run, now, expected),
        skipped=run.skipped,
        over="" if not run.collecting else COLLECTING if watched else "ended",
        behind=waiting.behind if waiting is not None and run.state.waits else "",
        waiting=waiting.kind if waiting is not None and _only_waits(run, now) else None,
    )


def _only_waits(run: RunRecord, now: float) -> bool:
    """It could go, if there were hosts for it."""
    delayed = run.state is RunState.PLANNED and run.delay_s(now)
    return run.state.waits and not run.paused and not delayed


def _state_text(run: RunRecord, now: float, waiting: Waiting | None, *, watched: bool) -> str:
    """What keeps it, or nothing. ``watched``: by who asks; others cannot know whether anybody
    tries again."""
    if run.paused:
        return paused_text(run, now)
    if run.state is RunState.PLANNED and (delay_s := run.delay_s(now)):
        return f"retry in {format_duration(delay_s)}"
    if waiting is not None and _only_waits(run, now):
        return waiting_text(waiting, now)
    if run.lost_hosts and run.state.active:
        host, (since, reason) = next(iter(run.lost_hosts.items()))
        lost = f"{host}: {reason or 'connection lost'}"
        if reason != Problem.JOB_ENDS:
            again = ", retrying" if watched else ""
            lost = f"{lost} {format_duration(now - since)} ago{again}"
        return f"{run.state}, {lost}" if run.state is RunState.CANCELLING else lost
    return COLLECTING if run.collecting and watched else ""


def _last_seen(run: RunRecord) -> float:
    """When its last reading came, or it began."""
    return max(run.last_reading_at or 0.0, run.started_at or 0.0)


def _brief(
    run: RunRecord, now: float, waiting: Waiting | None, said: str, expected: float | None
) -> str:
    if not said and expected and _outlived(run, now, expected) and run.reading_count:
        return f"past ≈{format_duration(expected)}"
    told = waiting is not None and said == waiting_text(waiting, now)
    return waiting_text(waiting, now, brief=True) if waiting is not None and told else said


def _throughput_now(run: RunRecord) -> float | None:
    over = run.collecting or run.state is RunState.CANCELLING
    return None if over else run.last_throughput


def _slow(run: RunRecord) -> str:
    """Its state, and a rank that keeps all others back."""
    slow = still_slow(run.slow_ranks) if run.state is RunState.RUNNING else ""
    return f"{run.state}, {slow}" if slow else ""


def _outlived(run: RunRecord, now: float, expected: float | None) -> bool:
    running = run.state is RunState.RUNNING and not run.collecting
    began = run.started_at if running else None
    return began is not None and expected is not None and now - began >= expected > 0


def _doing(run: RunRecord, start: str) -> str:
    """What it is at before there is a figure of it. ``start``: what its start is at."""
    if run.state is RunState.STARTING:
        return start
    if run.state is RunState.RUNNING and start == TAKEN_UP:
        return start
    counts_from = 0 if run.sums_up else run.warmup
    if run.state is not RunState.RUNNING or run.reading_count > counts_from:
        return ""
    return WARMING_UP if run.reading_count else NO_READING_YET


def _at_work(run: RunRecord, now: float, expected: float | None, doing: str) -> str:
    """Its state and what it is at, or whether it has outlived the estimate, which then says no
    more."""
    if not expected or not _outlived(run, now, expected):
        return f"{run.state}, {doing}" if doing else str(run.state)
    none = "" if run.reading_count else f", {NO_READING_YET}"
    return f"{run.state} longer than ≈{format_duration(expected)}{none}"


def paused_text(run: RunRecord, now: float) -> str:
    """ "paused by alice since 14:02": the reader's time of day; of another day with the date."""
    by = f" by {run.paused_by}" if run.paused_by else ""
    return f"paused{by} since {clock_text(run.paused_at or 0.0, now)}"


def _series(state: CampaignState, active: Sequence[RunRecord]) -> tuple[ChartSeries, ...]:
    shown = [run for run in active if len(run.series)]
    if not shown:
        ended = [r for r in state.runs.values() if r.ended_at and len(r.series)]
        shown = [max(ended, key=lambda r: r.ended_at or 0.0)] if ended else []
    return tuple(chart_series(run) for run in shown)


def chart_series(run: RunRecord) -> ChartSeries:
    """The thinned readings of one run, in seconds since it started."""
    return ChartSeries(
        run_id=run.run_id,
        label=run.label,
        unit=run.unit,
        readings=run.series,
        start=run.started_at or 0.0,
        warmup=-(-run.warmup // run.series.stride),
        end=run.ended_at or math.inf,
        measured=run.throughput,
        statistic=run.statistic,
    )
