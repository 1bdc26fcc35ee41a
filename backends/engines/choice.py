"""Which engine gives a campaign its hosts. Nothing outside this room names one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from backends.engines.direct import DirectEngine, Pool
from backends.engines.engine import Engine, Held, Wanted
from backends.engines.plain_job import PlainJob
from backends.engines.refusal import Refusal
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host
from backends.inventory.queue import Queue
from backends.transports.transport import Transport

if TYPE_CHECKING:
    from backends.engines.slurm.batch_script import JobRequest


def engine_for(
    hosts: Sequence[tuple[Host, HostSnapshot]],
    pool: Pool,
    *,
    lease: str,
    force: bool,
    placement: Placement,
    sought: Sequence[Sought],
    learnt: Callable[[HostSnapshot], Awaitable[None]],
    clock: Callable[[], float],
    queue: Queue | None = None,
    campaign: str = "",
    held: Held | None = None,
) -> Engine:
    """The engine of these hosts: the one of the queue that gives them, else :class:`DirectEngine`,
    whose parameters the others are.

    ``campaign``: the id that its runs' begin with; ``held``: for all of them, says the journal.
    """
    if queue is not None and queue.one_job:
        from backends.engines.slurm.campaign_engine import CampaignEngine  # noqa: PLC0415 (as next)

        return CampaignEngine(
            pool.get(queue.login),
            hosts,
            queue.options_of(""),
            campaign=campaign,
            held=held,
            placement=placement,
            sought=sought,
            clock=clock,
        )
    if queue is not None:
        from backends.engines.slurm.slurm_engine import SlurmEngine  # noqa: PLC0415 (when needed)

        login = pool.get(queue.login)
        return SlurmEngine(login, hosts, queue.options_of, sought=sought, clock=clock)
    return DirectEngine(
        hosts,
        pool,
        lease=lease,
        group=campaign,
        force=force,
        placement=placement,
        sought=sought,
        learnt=learnt,
        clock=clock,
    )


async def why_never(
    wanted: Sequence[Wanted], queue: Queue, login: Transport, nodes: Sequence[HostSnapshot]
) -> Refusal | None:
    """Why the queue would never start the job of these runs; None: it would. ``nodes``: those that
    it knows.

    Raises
    ------
    DlperfError: it does not answer.
    """
    from backends.engines.slurm.commands import SlurmCommands  # noqa: PLC0415 (as below)
    from backends.engines.slurm.refusals import refusal  # noqa: PLC0415
    from backends.engines.slurm.submission import Submission  # noqa: PLC0415

    commands = SlurmCommands(login)
    submission = Submission(login, commands, queue.options_of)
    words = await submission.refusal(_request(wanted, queue, nodes))
    return await refusal(words, commands) if words else None


def job_for(wanted: Sequence[Wanted], queue: Queue, nodes: Sequence[HostSnapshot]) -> str:
    """The script that the queue is handed for these runs: one, or where they have one job all of a
    campaign. ``nodes``: as above."""
    from backends.engines.slurm.batch_script import batch_script  # noqa: PLC0415 (when needed)
    from backends.remote.installation import wrapper  # noqa: PLC0415 (as above)

    request = _request(wanted, queue, nodes)
    options = queue.options_of(request.cluster)
    return batch_script(request, options, wrapper(), queue.login.work_dir)


def _request(wanted: Sequence[Wanted], queue: Queue, nodes: Sequence[HostSnapshot]) -> JobRequest:
    from backends.engines.slurm.batch_script import request_for, request_for_all  # noqa: PLC0415
    from backends.engines.slurm.node_share import partition_of, share_told  # noqa: PLC0415

    if queue.one_job:
        options = queue.options_of("")
        share = share_told(nodes, partition_of(wanted[0], options))
        return request_for_all("CAMPAIGN", wanted, options, share)
    share = share_told(nodes, partition_of(wanted[0], queue.options_of(wanted[0].cluster)))
    return request_for(wanted[0], share)


def plain_job_for(job: PlainJob, want: Wanted, queue: Queue, nodes: Sequence[HostSnapshot]) -> str:
    """A script for the queue that runs without us. ``nodes``: as above."""
    from backends.engines.slurm.batch_script import request_for  # noqa: PLC0415 (as above)
    from backends.engines.slurm.node_share import partition_of, share_told  # noqa: PLC0415
    from backends.engines.slurm.plain_script import plain_script  # noqa: PLC0415

    options = queue.options_of(want.cluster)
    request = request_for(want, share_told(nodes, partition_of(want, options)))
    return plain_script(job, request, options)


def plain_campaign(
    runs: Sequence[tuple[Wanted, str]], queue: Queue, nodes: Sequence[HostSnapshot]
) -> str:
    """A script for the queue that does such scripts in one job; ``runs``: each with its path."""
    from backends.engines.slurm.node_share import partition_of, share_told  # noqa: PLC0415
    from backends.engines.slurm.plain_campaign import campaign_script  # noqa: PLC0415

    options = queue.options_of("")
    share = share_told(nodes, partition_of(runs[0][0], options))
    return campaign_script(runs, options, share)


def plain_submission(queue: Queue, paths: Sequence[str]) -> str:
    """A script that hands such scripts in, in this order."""
    from backends.engines.slurm.plain_script import submit_script  # noqa: PLC0415 (as above)

    return {"slurm": submit_script}[queue.engine](paths)
