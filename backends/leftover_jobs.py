"""Jobs of ours that a queue still has: whose they are, and how those end that nobody needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.record.state import campaign_of
from backends.engines.engine import QueuedJob
from backends.engines.queue_hosts import QueueHosts

if TYPE_CHECKING:
    from backends.use_cases import Workspace

ENDS_WITHIN_S = 30.0
LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class LeftoverJob:
    """``campaign``: its directory, None where no campaign here knows the job; ``state``: of that
    campaign, live, unfinished, finished or copy."""

    job: QueuedJob
    campaign: Path | None = None
    state: str = ""

    @property
    def in_use(self) -> bool:
        """A console follows it, or whoever resumes or cancels its campaign would."""
        return self.state in ("live", "unfinished", "copy")


async def look_for_jobs(workspace: Workspace, queue: QueueHosts) -> tuple[LeftoverJob, ...]:
    """Every job of ours in the queue.

    Raises
    ------
    DlperfError: it does not answer.
    """
    jobs = await queue.jobs()
    campaigns = await asyncio.to_thread(_campaigns, workspace)
    found = (campaigns.get(campaign_of(job.of), (None, "")) for job in jobs)
    return tuple(LeftoverJob(job, *its) for job, its in zip(jobs, found, strict=True))


def _campaigns(workspace: Workspace) -> Mapping[str, tuple[Path, str]]:
    """Directory and state, by what the ids of a campaign's runs begin with."""
    # A copy does not know what became of its runs: the campaign itself does.
    copies_first = sorted(workspace.campaigns(), key=lambda campaign: not campaign.elsewhere)
    return {
        campaign_of(run_id): (campaign.path, "copy" if campaign.elsewhere else campaign.state)
        for campaign in copies_first
        for run_id in list(workspace.state(campaign.path).runs)[:1]
    }


async def end_jobs(queue: QueueHosts, jobs: Sequence[LeftoverJob]) -> tuple[LeftoverJob, ...]:
    """Those that the queue still has a while after it was told to end them. Raises as above."""
    for one in jobs:
        await queue.end(one.job.job_id)
    left = tuple(jobs)
    for _ in range(round(ENDS_WITHIN_S / LOOK_EVERY_S)):
        there = {job.job_id for job in await queue.jobs()}
        left = tuple(one for one in left if one.job.job_id in there)
        if not left:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    return left
