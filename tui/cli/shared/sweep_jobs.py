"""``sweep`` where a queue gives the hosts: the jobs of ours that it still has."""

from __future__ import annotations

from collections.abc import Callable

from backends.engines.queue_hosts import QueueHosts
from backends.inventory.nodesets import fold_nodeset
from backends.leftover_jobs import LeftoverJob, end_jobs, look_for_jobs
from backends.use_cases import Workspace
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.output import say


async def sweep_jobs(
    workspace: Workspace, queue: QueueHosts, *, yes: bool, agreed: Callable[[int], bool]
) -> int:
    """List them and, when told to, have those end whose campaign is gone or over."""
    found = await look_for_jobs(workspace, queue)
    if not found:
        print("no job of ours is left")
        return OK
    for one in found:
        print(_describe(one))
    rest = [one for one in found if not one.in_use]
    if len(rest) < len(found):
        say(f"{len(found) - len(rest)} of campaigns that are not over, let be")
    if not rest:
        return OK
    if not (yes or agreed(len(rest))):
        return FAILED
    left = await end_jobs(queue, rest)
    for one in left:
        say(f"job {one.job.job_id} has not ended yet; look with: squeue -j {one.job.job_id}")
    print(f"{len(rest) - len(left)} of {len(rest)} ended")
    return FAILED if left else OK


def _describe(one: LeftoverJob) -> str:
    job = one.job
    of = f"of run {job.of}" if "-" in job.of else f"of all runs of campaign {job.of}"
    where = f"on {fold_nodeset(job.hosts)}" if job.hosts else "queued"
    whose = "no campaign here knows it"
    if one.campaign is not None:
        words = {
            "live": "a console follows it",
            "unfinished": "'resume' follows it, 'cancel' ends it",
            "copy": "of which only a copy is here",
        }
        whose = f"{one.campaign.name}, {words.get(one.state, 'which is over')}"
    return f"job {job.job_id} {of}, {where}: {whose}"
