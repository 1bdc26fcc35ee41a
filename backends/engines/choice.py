"""Which engine gives a campaign its hosts. Nothing outside this room names one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backends.engines.direct import DirectEngine, Pool
from backends.engines.engine import Engine, Wanted
from backends.engines.plain_job import PlainJob
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host
from backends.inventory.queue import Queue
from backends.transports.transport import Transport


def engine_for(
    hosts: Sequence[tuple[Host, HostSnapshot]],
    pool: Pool,
    *,
    lease: str,
    force: bool,
    placement: Placement,
    sought: Sequence[Sought],
    clock: Callable[[], float],
    queue: Queue | None = None,
) -> Engine:
    """The engine of these hosts: the one of the queue that gives them, else :class:`DirectEngine`,
    whose parameters the others are."""
    if queue is not None:
        from backends.engines.slurm.slurm_engine import SlurmEngine  # noqa: PLC0415 (when needed)

        login = pool.get(queue.login)
        return SlurmEngine(login, hosts, queue.options, sought=sought, clock=clock)
    return DirectEngine(
        hosts, pool, lease=lease, force=force, placement=placement, sought=sought, clock=clock
    )


async def why_never(want: Wanted, queue: Queue, login: Transport, *, gpus: bool) -> str:
    """Why the queue would never start such a run, in its words; empty: it would.

    Raises
    ------
    DlperfError: it does not answer.
    """
    from backends.engines.slurm.batch_script import request_for  # noqa: PLC0415
    from backends.engines.slurm.commands import SlurmCommands  # noqa: PLC0415 (as below)
    from backends.engines.slurm.submission import Submission  # noqa: PLC0415

    submission = Submission(login, SlurmCommands(login), queue.options)
    return await submission.refusal(request_for(want, gpus=gpus))


def job_for(want: Wanted, queue: Queue, *, gpus: bool) -> str:
    """The script that the queue is handed for a run. ``gpus``: whether its hosts have some."""
    from backends.engines.slurm.batch_script import batch_script, request_for  # noqa: PLC0415
    from backends.remote.installation import wrapper  # noqa: PLC0415 (as above)

    return batch_script(
        request_for(want, gpus=gpus), queue.options, wrapper(), queue.login.work_dir
    )


def plain_job_for(job: PlainJob, want: Wanted, queue: Queue, *, gpus: bool) -> str:
    """A script for the queue that runs without us. ``gpus``: whether its hosts have some."""
    from backends.engines.slurm.batch_script import request_for  # noqa: PLC0415 (as above)
    from backends.engines.slurm.plain_script import plain_script  # noqa: PLC0415

    return plain_script(job, request_for(want, gpus=gpus), queue.options)


def plain_submission(queue: Queue, paths: Sequence[str]) -> str:
    """A script that hands such scripts in, in this order."""
    from backends.engines.slurm.plain_script import submit_script  # noqa: PLC0415 (as above)

    return {"slurm": submit_script}[queue.engine](paths)
