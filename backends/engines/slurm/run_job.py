"""The job of one run, or of all of a campaign's, as far as is known, and why it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from backends.engines.engine import AllocationEnd, EndKind, Wanted
from backends.engines.slurm.batch_script import job_name
from backends.engines.slurm.jobs import Job, JobState

_ENDS = {
    JobState.BOOT_FAIL: EndKind.LAUNCH_FAILED,
    JobState.CANCELLED: EndKind.CANCELLED,
    JobState.DEADLINE: EndKind.DEADLINE,
    JobState.NODE_FAIL: EndKind.NODE_FAILED,
    JobState.OUT_OF_MEMORY: EndKind.OUT_OF_MEMORY,
    JobState.PREEMPTED: EndKind.PREEMPTED,
    JobState.TIMEOUT: EndKind.TIME_LIMIT,
}

_UNLAUNCHED = EndKind.LAUNCH_FAILED


@dataclass(slots=True)
class RunJob:
    """A run's job; ``of_all``: one that holds nodes for all runs of the campaign ``want.run_id``.

    ``seen``: what the last look said, None before the first; ``gone``: Slurm has forgotten it.
    ``fault``: of ``failed_node``, for which the job ended whatever its state says.
    ``held_up``: why it is not in the queue yet. ``restarts``: how often it had been requeued when
    it was given. ``told``: of its end, by :meth:`~backends.engines.engine.Engine.ends`.
    """

    want: Wanted
    job_id: str = ""
    seen: Job | None = None
    gone: bool = False
    given: bool = False
    restarts: int = 0
    released_at: float | None = None
    told: bool = False
    over_at: float | None = None
    failed_node: str = ""
    fault: EndKind | None = None
    held_up: str = ""
    of_all: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Slurm will do nothing more for it."""
        seen = self.seen
        return self.gone or (seen is not None and (seen.state.ended or not seen.launched))

    @property
    def waits(self) -> bool:
        """It is in the queue, as far as is known, and has not begun."""
        state = self.seen.state if self.seen is not None else JobState.PENDING
        return bool(self.job_id) and (state.waits or state is JobState.CONFIGURING)

    @property
    def requeued(self) -> bool:
        """It was given, and waits again or has begun anew since."""
        seen = self.seen
        return self.given and seen is not None and seen.restarts > self.restarts

    @property
    def end(self) -> AllocationEnd | None:
        """Why Slurm ended it; None: it did not, or the run's own end ended it."""
        if self.requeued and not self.over:
            return AllocationEnd(self.want.run_id, EndKind.REQUEUED, job_id=self.job_id)
        if self.seen is None:
            return None
        kind = self.fault or (_ENDS.get(self.seen.state) if self.seen.launched else _UNLAUNCHED)
        if kind is None:
            return None
        return AllocationEnd(self.want.run_id, kind, self.failed_node, self.seen.cancelled_by)

    def of(self, jobs: Mapping[str, Job]) -> Job | None:
        """This one among those that Slurm knows; of several of its name the newest. A campaign's
        had others before it, of the same name: only what has not ended can be it."""
        own = job_name(self.want.run_id)
        if self.job_id:  # a controller that has lost its state numbers jobs anew
            found = jobs.get(self.job_id)
            ours = found and (found.name == own or (not self.of_all and _of_one(found.name, own)))
            return found if ours else None
        named = [job for job in jobs.values() if job.name == own]
        if self.of_all:
            return min((job for job in named if not job.state.ended), key=_number, default=None)
        return max(named, key=_number, default=None)


def _of_one(name: str, own: str) -> bool:
    """Whether a job is called as that of an attempt of the same run, which Slurm has queued again.
    Of runs only: a campaign's id may begin with an "a"."""
    return name.rpartition("-a")[0] == own.rpartition("-a")[0]


def _number(job: Job) -> int:
    return int(job.job_id)
