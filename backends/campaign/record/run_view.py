"""What is shown of one run: a row of the run table, and its chart.

Estimates are labelled as such by their names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from backends.campaign.record.cause import Cause
from backends.campaign.record.chart_points import spread
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.run_estimates import Expected
from backends.campaign.record.run_record import LEFT, MISSING, MISSING_BESIDE, Series
from backends.campaign.record.run_window import came_at_once
from backends.campaign.record.silence import late_s, silent_s
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.record.waiting_words import waiting_text
from backends.engines.engine import Waiting, WaitKind
from backends.hangs.slow_rank_words import still_slow
from backends.transports.transport import Problem
from profiles.durations import clock_text, format_duration
from profiles.format.case import Case

NO_READING = "no reading"
NO_READING_YET = f"{NO_READING} yet"
WARMING_UP = "warming up"
COLLECTING = "collecting"
TAKEN_UP = "being taken up again"
"""Of a run that was at work before: its hosts have not told yet how far it is."""
DEMO_LEFT = "its demo was left"
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
    progress: float | None  # 0 … 1: of elapsed_s + eta_s, as long as there is an estimate; None
    # where nothing is known, and of a run that is silent, late with a reading, or overdue
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
    given_up_in_s: float | None = None  # until it is ended as stalled unless a reading comes
    brief: str = ""  # for a row: of one that waits, without what others wait for as well; of one
    # at work that nobody looks after, without its state
    outlived: bool = False  # it is overdue: nobody knows what share is done
    skipped: bool = False  # it was cancelled before it had started
    over: str = ""  # of one whose program has ended: "collecting", "ended" where nobody does that,
    # "left" of a simulated one, whose hosts went with a console
    behind: str = ""  # the run that keeps hosts from it: its label, after the profile of several
    waiting: WaitKind | None = None  # why it waits, where state_text says that
    log_changed: bool = False  # its logs do not give its figure any more
    log_missing: bool = False  # which is all that is known: they are gone
    flags: tuple[str, ...] = ()  # what is to be distrusted about its figure: "throttled"

    @property
    def warms_up(self) -> bool:
        """It runs, and no reading of it counts yet."""
        return self.doing in (WARMING_UP, NO_READING_YET)


@dataclass(frozen=True)
class ChartSeries:
    """A run's thinned readings, from ``start`` to its ``end``; the first ``warmup`` are warm-up.
    ``by_number``: nobody knows when they were made.

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
    by_number: bool = False

    @property
    def begun(self) -> bool:
        """Whether there are any points, without making them."""
        return bool(self.readings.times)

    @cached_property
    def points(self) -> tuple[tuple[float, float], ...]:
        """samples/s over seconds since the run's start, as they were made, not as they came; over
        the numbers of the readings, from 1 on, where nobody knows when that was."""
        if self.by_number:
            stride = self.readings.stride
            return tuple((1.0 + n * stride, v) for n, v in enumerate(self.readings.values))
        came = self.readings.times
        times = spread(
            came if self.end == math.inf else [min(t, self.end) for t in came], self.start
        )
        return tuple((t - self.start, v) for t, v in zip(times, self.readings.values, strict=True))


def view_of(
    run: RunRecord,
    path: Path,
    now: float,
    takes: Expected | None,
    waiting: Waiting | None,
    start: str,
    *,
    given_up_at: float | None = None,
    unread_since: float | None = None,
    watched: bool,
    simulated: bool = False,
) -> RunView:
    """``given_up_at``: when it is ended as stalled if no reading comes. ``unread_since``: what it
    has printed since then is not read yet. ``watched``: somebody is at work on it. ``simulated``:
    else its hosts went with a console."""
    elapsed = None
    # Without watching nobody knows whether it still runs.
    expected = takes.due if takes is not None and watched else None
    if run.started_at is not None:
        ends = (end for end in (run.ended_at, run.over_at) if end is not None)
        until = next(ends, now if watched else _last_seen(run))
        elapsed = max(0.0, until - run.started_at)
    untold = start == TAKEN_UP and run.state is RunState.RUNNING
    may_be_over = untold and (elapsed or 0.0) >= (expected or 0.0)
    read_by = now if unread_since is None else min(now, unread_since)
    quiet_s = silent_s(run, read_by) if watched and not untold else None
    late = late_s(run, read_by) if watched and not untold and quiet_s is None else None
    expected = None if may_be_over or late is not None else expected
    overdue = None if takes is None or expected is None else takes.overdue
    progress = eta = None
    if run.state.ended:
        progress = 1.0 if run.state is RunState.SUCCEEDED else None
    elif run.collecting:
        progress = 1.0
    elif run.state is RunState.CANCELLING:
        pass  # it is over as soon as its hosts say so
    elif run.state in (RunState.PLANNED, RunState.STARTING):
        progress = 0.0  # a start may wait for a lease, and be taken back
    elif quiet_s is not None:
        pass  # nobody knows whether it goes on
    elif takes is not None and overdue and elapsed is not None and elapsed < overdue:
        progress = elapsed / takes.total(elapsed)
        eta = takes.total(elapsed) - elapsed
    given_up_in_s = given_up_at - now if given_up_at and given_up_at > now else None
    silent = "" if quiet_s is None else _silent(run, quiet_s, given_up_in_s)
    trouble = _state_text(run, now, waiting, watched=watched, simulated=simulated) or silent
    if run.state.active and not watched and not trouble:
        ago = f"last seen {format_duration(now - _last_seen(run))} ago"
        seen = _left(run, elapsed) if simulated else ago
        at_work = doing = NOT_COLLECTED if run.collecting else f"{run.state} when {seen}"
        brief = NOT_COLLECTED.removeprefix("ended, ") if run.collecting else seen
    else:
        trouble = trouble or _slow(run)
        doing = "" if trouble or _outlived(run, now, expected) else _doing(run, start, late)
        at_work = _at_work(run, now, expected, doing)
        brief = _brief(run, now, waiting, trouble, expected)
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
        given_up_in_s=given_up_in_s,
        brief=brief,
        outlived=quiet_s is None and _outlived(run, now, overdue),
        skipped=run.skipped,
        log_changed=bool(run.log_differs),
        log_missing=bool(run.log_differs) and all(_is_gone(why) for _, why in run.log_differs),
        over=_over(run, watched=watched, simulated=simulated),
        behind=waiting.behind if waiting is not None and run.state.waits else "",
        waiting=waiting.kind if waiting is not None and _only_waits(run, now) else None,
    )


def _is_gone(why: str) -> bool:
    return why.startswith(MISSING) or MISSING_BESIDE in why


def _only_waits(run: RunRecord, now: float) -> bool:
    """It could go, if there were hosts for it."""
    delayed = run.state is RunState.PLANNED and run.delay_s(now)
    return run.state.waits and not run.paused and not delayed


def _state_text(
    run: RunRecord, now: float, waiting: Waiting | None, *, watched: bool, simulated: bool
) -> str:
    """What keeps it, or nothing. ``watched``: by who asks; others cannot know whether anybody
    tries again."""
    if run.paused:
        return paused_text(run, now, simulated=simulated)
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


def _silent(run: RunRecord, quiet_s: float, given_up_in_s: float | None) -> str:
    """``running, no reading for 4m; ended as stalled in 6m unless one comes``"""
    said = f"{run.state}, {NO_READING} for {format_duration(quiet_s)}"
    if given_up_in_s is None:
        return said
    return f"{said}; ended as stalled in {format_duration(given_up_in_s)} unless one comes"


def _left(run: RunRecord, elapsed: float | None) -> str:
    """``its demo was left, last reading at 51s``, where its elapsed time ends."""
    read = elapsed is not None and run.last_reading_at is not None
    return f"{DEMO_LEFT}{f', last reading at {format_duration(elapsed or 0.0)}' * read}"


def _last_seen(run: RunRecord) -> float:
    """When its last reading came, or it began."""
    return max(run.last_reading_at or 0.0, run.started_at or 0.0)


def _brief(
    run: RunRecord, now: float, waiting: Waiting | None, said: str, expected: float | None
) -> str:
    if not said and expected and _outlived(run, now, expected) and run.reading_count:
        return f"expected ≈{format_duration(expected)}"
    told = waiting is not None and said == waiting_text(waiting, now)
    return waiting_text(waiting, now, brief=True) if waiting is not None and told else said


def _throughput_now(run: RunRecord) -> float | None:
    return None if run.state is RunState.CANCELLING else run.last_throughput


def _slow(run: RunRecord) -> str:
    """Its state, and a rank that keeps all others back."""
    slow = still_slow(run.slow_ranks) if run.state is RunState.RUNNING else ""
    return f"{run.state}, {slow}" if slow else ""


def _outlived(run: RunRecord, now: float, expected: float | None) -> bool:
    running = run.state is RunState.RUNNING and not run.collecting
    began = run.started_at if running else None
    return began is not None and expected is not None and now - began >= expected > 0


def _over(run: RunRecord, *, watched: bool, simulated: bool) -> str:
    if run.collecting:
        return COLLECTING if watched else "ended"
    gone = run.state.active and simulated and not watched
    return LEFT if gone or run.category == Cause.LEFT else ""


def _doing(run: RunRecord, start: str, late: float | None) -> str:
    """What it is at before there is a figure of it, or how ``late`` its next reading is. ``start``:
    what its start is at."""
    if run.state is RunState.STARTING:
        return start
    if run.state is RunState.RUNNING and start == TAKEN_UP:
        return start
    if late is not None:
        return f"{NO_READING} for {format_duration(late)}"
    counts_from = 0 if run.sums_up else run.warmup
    if run.state is not RunState.RUNNING or run.reading_count > counts_from:
        return ""
    return WARMING_UP if run.reading_count else NO_READING_YET


def _at_work(run: RunRecord, now: float, expected: float | None, doing: str) -> str:
    """Its state and what it is at, or whether it has outlived the estimate, which then says no
    more."""
    if run.category == Cause.LEFT:
        return LEFT
    if not expected or not _outlived(run, now, expected):
        return f"{run.state}, {doing}" if doing else str(run.state)
    none = "" if run.reading_count else f", {NO_READING_YET}"
    return f"{run.state} longer than ≈{format_duration(expected)}{none}"


def paused_text(run: RunRecord, now: float, *, simulated: bool = False) -> str:
    """ "paused by alice since 14:02": the reader's time of day; of another day with the date. Of a
    simulated run "paused by alice for 3m05s", as time passes there."""
    by = f" by {run.paused_by}" if run.paused_by else ""
    if simulated:
        return f"paused{by} for {format_duration(now - (run.paused_at or now))}"
    return f"paused{by} since {clock_text(run.paused_at or 0.0, now)}"


def chart_series(run: RunRecord) -> ChartSeries:
    """The thinned readings of one run."""
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
        by_number=came_at_once(run),
    )
