"""The directory through which a campaign's job is told what to begin, from the login node."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from backends.engines.slurm.batch_script import step_post, step_script, steps_directory
from backends.engines.slurm.commands import said
from backends.remote.installation import remote_path, wrapper
from backends.transports.transport import HostUnreachableError, Problem, Transport

_LIMIT_S = 60.0


class JobSteps:
    """``login``: a machine that shares its ``work_dir`` with the nodes.

    Every method raises HostUnreachableError where that cannot be reached.
    """

    def __init__(self, login: Transport) -> None:
        self._login = login

    async def begin(
        self, job_id: str, run_id: str, nodes: Sequence[str], others: Sequence[str]
    ) -> None:
        """Have the job begin the run's step, on ``nodes`` and none of the ``others`` that it has.
        What waits for it from before ends.

        Raises
        ------
        HostUnreachableError: also where the job takes no more steps.
        """
        work_dir = self._login.host.work_dir
        post, steps = step_post(job_id, run_id), steps_directory(job_id)
        script = step_script(run_id, post, nodes, wrapper(), work_dir, others)
        command = (
            f"umask 077; rm -rf jobs/{post}.* && cat >{steps}/{post} && "
            f"mv {steps}/{post} {steps}/{post}.step"
        )
        done = await self._do(command, script)
        if done:
            raise HostUnreachableError(nodes[0], Problem.NO_STEP, done)

    async def withdraw(self, job_id: str, run_id: str) -> None:
        """Nothing waits for the run any more; one that was handed over goes on."""
        post = step_post(job_id, run_id)
        await self._do(f"rm -rf {steps_directory(job_id)}/{post}.step jobs/{post}.*")

    async def wait(self, job_id: str, run_id: str, nodes: Sequence[str]) -> bool:
        """Whether on each of the nodes the run is, or a step waits for it."""
        post = step_post(job_id, run_id)
        there = " && ".join(
            f"{{ [ -d runs/{quote(f'{run_id}.{name}')} ] || [ -d jobs/{post}.{quote(name)} ]; }}"
            for name in nodes
        )
        return not await self._do(f"{{ {there}; }} || {{ echo no >&2; exit 1; }}")

    async def close(self, job_id: str) -> None:
        """The job ends by itself, and what is left of it here goes."""
        await self._do(f"rm -rf {steps_directory(job_id)} jobs/{quote(job_id)}_*")

    async def _do(self, command: str, stdin: str = "") -> str:
        """Below work_dir; what went wrong, in words."""
        work_dir = remote_path(self._login.host.work_dir)
        whole = f"cd {work_dir} && {command}"
        done = await self._login.run(whole, stdin=stdin.encode(), timeout_s=_LIMIT_S)
        if done.exit_status == 0:
            return ""
        return said(done.stderr) or f"exit status {done.exit_status}"
