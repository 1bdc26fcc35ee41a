"""What a screen, the progress bar and ``status`` show of a campaign: one frozen value, pulled.

A screen asks for :func:`take` at most a few times a second and diffs by ``run_id``; nothing is
pushed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from backends.campaign.record.cause import Cause
from backends.campaign.record.lock import Holder, Role
from backends.campaign.record.profiled_to_come import profiled_to_come
from backends.campaign.record.run_estimates import Estimates, Remaining
from backends.campaign.record.run_results import run_result
from backends.campaign.record.run_view import ChartSeries, RunView, chart_series, view_of
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.engines.engine import Waiting, WaitKind
from backends.inventory.nodesets import fold_nodeset
from backends.results.run_counts import lost_words, run_counts, succeeded
from backends.results.run_flags import run_flags
from profiles.durations import format_duration
from profiles.format.case_labels import apart


@dataclass(frozen=True, slots=True)
class CampaignSnapshot:
    """``name``: that its journal has, which stays where its directory gets another."""

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
    guessed: bool  # the ETA: nothing of it rests on a run that was measured
    settles_s: float | None  # until hosts that settle let the first run begin
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
    logs_unread: bool = False  # whether some still give their figures is not known yet
    undated: frozenset[str] = frozenset()  # texts of notes of which nobody knows since when
    no_eta: str = ""  # why nobody knows when it ends, where that has a name: "dgx1 is out of reach"

    @property
    def called(self) -> str:
        """As its directory is: what lists have and commands take."""
        return self.path.name or self.name

    @property
    def identity(self) -> tuple[Path, str]:
        """The same of all snapshots of a campaign, and no other's: its directory can be that of one
        that was taken away, the ids of its runs are its own."""
        return self.path, self.state.stem

    @property
    def unattended(self) -> bool:
        """It is only looked at, and nobody is at work on it who could be asked for a change."""
        return self.read_only and self.kept_by is None

    @property
    def deserted(self) -> bool:
        """It is only looked at, it is not over, and nobody goes on with it."""
        return self.unattended and not (self.finished or self.state.imported)

    @property
    def handed_over(self) -> bool:
        """Who was at work on it has let go, and a keeper is about to begin."""
        return self.kept_by is not None and self.kept_by.role == Role.HANDOVER

    def with_note(self, t: float, text: str, level: str = "stop") -> CampaignSnapshot:
        """With a warning that is not in the journal (because that cannot be written, or not by
        us)."""
        return replace(self, notes=(*self.notes, (t, level, text)))

    def of_its_begin(self, lines: Iterable[tuple[str, str]]) -> CampaignSnapshot:
        """With such warnings, by level and text, of all that there is of it. They are as old as it
        in a document; nobody knows since when they are so."""
        begun = self.state.created_at or 0.0
        more = tuple((begun, level, text) for level, text in lines)
        undated = self.undated | {text for _, _, text in more}
        return replace(self, notes=(*self.notes, *more), undated=undated) if more else self

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
        eta = "" if self.finished else self.eta_text
        return " · ".join([self.progress, *[eta] * bool(eta)])

    @property
    def progress(self) -> str:
        """Without an ETA, which only one has with which somebody goes on."""
        well = succeeded(self)
        parts = [f"{well}/{self.total} {'runs' if well == self.done else 'succeeded'}"]
        parts += lost_words(self)
        if self.paused:
            parts.append(f"{self.paused} paused")
        if self.finished:
            parts.append("finished")
        return " · ".join(parts)

    @property
    def eta_text(self) -> str:
        """ "ETA 41m", or nothing; "no ETA: dgx1 is out of reach". "ETA at least 41m": cases get
        further repeats until they are known. "ETA ≈41m": by what profiles say alone.

        "ETA 41m once node3 can be used": nobody knows when that is. "ETA 41m of the others": than
        those that are paused. "ETA 41m of simulated time": for who looks from outside, whose own
        time passes slower. "ETA any moment": the last one is late, and not overdue.
        """
        least = f"{'at least ' * self.state.open_ended}{'≈' * self.guessed}"
        flies = " of simulated time" * (self.simulated and self.read_only)
        if self.blocked_by and self.after_that_s is not None:
            some = "enough of " * (len(self.blocked_by) > 1)  # several runs may need them, or one
            hosts = f"{some}{fold_nodeset(self.blocked_by)}"
            return (
                f"ETA {least}{format_duration(self.after_that_s)}{flies} once {hosts} can be used"
            )
        if self.eta_s is None:
            return f"no ETA: {self.no_eta}" if self.no_eta else ""
        if self.paused and not self.eta_s:  # what is at work is being ended
            return ""
        if round(self.eta_s) == 0 and not self.state.open_ended:
            return "ETA any moment"
        others = " of the others" * bool(self.paused)
        return f"ETA {least}{format_duration(self.eta_s)}{flies}{others}"


def _is_replay(kept_by: Holder | None) -> bool:
    return kept_by is not None and kept_by.role == Role.REPLAY


def take(
    state: CampaignState,
    path: Path,
    *,
    now: float,
    waiting: Mapping[str, Waiting] | None = None,
    starting: Mapping[str, str] | None = None,
    given_up: Mapping[str, float] | None = None,
    unread: Mapping[str, float] | None = None,
    revision: int = 0,
    read_only: bool = False,
    kept_by: Holder | None = None,
    kept: Kept | None = None,
) -> CampaignSnapshot:
    """A snapshot at ``now`` (seconds since the epoch).

    ``waiting``: by run id, what a planned run waits for; ``starting``: what a start is at, where
    that is known here; ``given_up``: when one is ended as stalled; ``unread``: since when what one
    printed waits to be read. ``kept_by``: who else is at work on it.
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
    called = _names_ahead(waiting, state)
    for run in state.runs.values():
        what_for = _with_name(waiting.get(run.run_id), called)
        view = kept.view(run, what_for)
        if view is None:
            expected = durations.expected(run) if run.state.active else None
            start = (starting or {}).get(run.run_id, "")
            view = view_of(
                run,
                path,
                now,
                expected,
                what_for,
                start,
                given_up_at=(given_up or {}).get(run.run_id),
                unread_since=(unread or {}).get(run.run_id),
                watched=watched,
                simulated=state.simulated,
            )
            view = view if estimated else replace(view, eta_s=None)
            if run.steady or run.telemetry is not None:
                view = replace(view, flags=run_flags(run_result(run, state)))
            kept.keep(run, what_for, view)
        views.append(view)
    to_come = len(profiled_to_come(state, latest))
    every, devices = state.runs.values(), state.devices
    why = [waiting[run.run_id] for run in to_do if run.run_id in waiting]
    blocked = (one.hosts for one in why if one.kind is WaitKind.UNUSABLE)
    lost = _lost_to_others(state, active, to_do, waiting)
    blocked_by = tuple(sorted({*chain.from_iterable(blocked), *lost}))
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
    counts = run_counts(every, latest)
    if not state.finished:  # of a demo that was left: another attempt is planned at once
        begins_anew = sum(run.category == Cause.LEFT for run in latest)
        counts["done"] -= begins_anew
        counts["failed"] -= begins_anew
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
        guessed=not (durations.measured or any(run.timed for run in to_do)),
        settles_s=min(
            (
                one.expected_at - now
                for one in why
                if one.kind is WaitKind.SETTLING and one.expected_at is not None
            ),
            default=None,
        ),
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
        **counts,
    )


def _lost_to_others(
    state: CampaignState,
    active: Sequence[RunRecord],
    to_do: Sequence[RunRecord],
    waiting: Mapping[str, Waiting],
) -> set[str]:
    """Hosts out of reach without which too few are left for a run that is to come: as whoever is at
    work will say when it has looked at its hosts again."""
    lost = {host for run in active for host in run.lost_hosts}
    left = state.hosts - len(lost)
    queued = (run_id for run_id, one in waiting.items() if one.kind is WaitKind.QUEUED)
    apart = {*queued, *(run.run_id for run in active)}
    short = (run.case.nodes > left for run in to_do if run.run_id not in apart)
    return lost if lost and state.hosts and any(short) else set()


def _names_ahead(waiting: Mapping[str, Waiting], state: CampaignState) -> dict[str, str]:
    """By run id, of runs that others are behind: of several profiles with what tells its own from
    them, as in the list."""
    ahead = [state.runs[run_id] for one in waiting.values() if (run_id := one.behind) in state.runs]
    if not ahead:
        return {}
    profiles, _ = apart(dict.fromkeys(run.profile for run in state.runs.values()))
    several = len(profiles) > 1
    return {run.run_id: f"{profiles[run.profile]} " * several + run.label for run in ahead}


def _with_name(waiting: Waiting | None, called: Mapping[str, str]) -> Waiting | None:
    """``behind`` whom, as it is called on a screen."""
    name = called.get(waiting.behind) if waiting is not None else None
    return waiting if waiting is None or name is None else replace(waiting, behind=name)


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


def _series(state: CampaignState, active: Sequence[RunRecord]) -> tuple[ChartSeries, ...]:
    shown = [run for run in active if len(run.series)]
    if not shown:
        ended = [r for r in state.runs.values() if r.ended_at and len(r.series)]
        shown = [max(ended, key=lambda r: r.ended_at or 0.0)] if ended else []
    return tuple(chart_series(run) for run in shown)
