"""Which runs of a campaign somebody has to see through, and which hosts are wanted for now."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from backends import debug
from backends.campaign.cancelling import CancelOrder
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_estimates import CaseKey, Durations, Estimates, case_key
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.run.factory import RunFactory
from backends.clocks import loop_time
from backends.engines.engine import Schedule, Wanted


class DueRuns:
    """Asked by the dispatcher whenever something changed.

    Parameters
    ----------
    order: only these runs are ours, to be ended.
    clock: seconds since the epoch.
    """

    def __init__(
        self,
        recorder: Recorder,
        factory: RunFactory,
        order: CancelOrder | None,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._recorder = recorder
        self._factory = factory
        self._order = order
        self._clock = clock
        self.left_open: dict[str, Cleanup] = {}
        """Runs that are left ``cancelling``, with what could not be verified of them."""
        self._wanted: dict[str, tuple[CaseKey, Wanted]] = {}
        self._estimates = Estimates()
        self._durations = Durations()

    def ours(self) -> list[RunRecord]:
        """The runs that we are to see through."""
        chosen = None if self._order is None else self._order.run_ids
        runs = self._recorder.state.runs.values()
        return [
            run
            for run in runs
            if run.run_id not in self.left_open and (chosen is None or run.run_id in chosen)
        ]

    def left_behind(self, under_way: Collection[str]) -> list[RunRecord]:
        """Runs that something was done for and that nobody sees through: after a restart, all."""
        self._learn()
        return [
            run
            for run in self.ours()
            if (run.state.active or run.state is RunState.QUEUED) and run.run_id not in under_way
        ]

    def wanted(self, under_way: Collection[str]) -> list[Wanted]:
        """Planned runs that may start; one that is paused may not, whatever engine is at work."""
        self._learn()
        return [
            self.want(run)
            for run in self.ours()
            if run.state is RunState.PLANNED and not run.paused and run.run_id not in under_way
        ]

    def want(self, run: RunRecord) -> Wanted:
        """``not_before`` by a clock that never jumps: the calendar is asked once."""
        if (known := self._wanted.get(run.run_id)) is None:
            due_at = loop_time() + run.delay_s(self._clock())
            known = case_key(run), self._factory.wanted(run, self._recorder.state.runs, due_at)
        case, want = known
        expected_s = self._durations.by_case.get(case, math.inf)
        expected_s *= self._durations.pace(run.hosts)
        if run.state.active and run.started_at is not None:
            expected_s = max(0.0, expected_s - (self._clock() - run.started_at))
        slowness = self._durations.slowness
        if want.expected_s != expected_s or want.slowness is not slowness:
            want = replace(want, expected_s=expected_s, slowness=slowness)
        self._wanted[run.run_id] = case, want
        return want

    def _learn(self) -> None:
        """How long runs take, where one more has told."""
        self._durations = self._estimates.of(self._recorder.state.runs.values())

    def hopeless(self, schedule: Schedule) -> list[ev.RunFailed]:
        """The ends of runs that need hosts which are not coming back."""
        runs = self._recorder.state.runs
        limits = {
            run_id: self._factory.profile(runs[run_id].profile).launch.lost_limit
            for run_id in schedule.vain
        }
        return [
            ev.RunFailed(
                t=self._clock(),
                run_id=run_id,
                reason=f"{waiting.detail}, not back within {limits[run_id]}",
                category=Cause.LOST,
            )
            for run_id, waiting in schedule.vain.items()
        ]


def tell_why(schedule: Schedule, before: Schedule) -> None:
    """In the debug log, why runs wait, where that is not what it was."""
    if (why := _reasons(schedule)) != _reasons(before):
        debug.log().info("%d runs wait: %s", len(schedule.waiting), "; ".join(why[:10]))


def _reasons(schedule: Schedule) -> list[str]:
    why = ((wait.kind, *wait.hosts, wait.detail) for wait in schedule.waiting.values())
    return sorted({" ".join(filter(None, words)) for words in why})
