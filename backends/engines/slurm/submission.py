"""How runs become jobs: our wrapper where the nodes find it, and one ``sbatch``."""

from __future__ import annotations

from collections.abc import Callable

from backends.engines.slurm.batch_script import JobRequest, batch_script
from backends.engines.slurm.commands import RefusedError, SlurmCommands, SlurmError, is_number, said
from backends.inventory.job_options import JobOptions
from backends.remote.client import RemoteHost
from backends.remote.installation import remote_path, wrapper
from backends.transports.transport import Transport

_LIMIT_S = 60.0


class Submission:
    """``login``: the machine that has sbatch; a job's directory is its ``work_dir``. ``options``:
    what a job is asked for, by the name of its cluster."""

    def __init__(
        self, login: Transport, commands: SlurmCommands, options: Callable[[str], JobOptions]
    ) -> None:
        self._login = login
        self._commands = commands
        self._options = options
        self._directory = ""

    def script(self, request: JobRequest) -> str:
        options = self._options(request.cluster)
        return batch_script(request, options, wrapper(), self._login.host.work_dir)

    async def refusal(self, request: JobRequest) -> str:
        """Why such a job can never start, in Slurm's words; empty: it can, now or later.

        Raises
        ------
        SlurmError, HostUnreachableError: nobody knows.
        """
        try:
            await self._commands.run("sbatch", "--test-only", stdin=self.script(request).encode())
        except RefusedError as error:
            return error.words
        return ""

    async def submit(self, request: JobRequest) -> str:
        """The job's id.

        Raises
        ------
        RefusedError: it is not in the queue, in Slurm's words. Other SlurmError,
        HostUnreachableError: nobody knows whether it is. RemoteError: our wrapper cannot be stored.
        """
        if not self._directory:
            self._directory = await self._prepared()
        answer = await self._commands.run(
            "sbatch",
            "--parsable",
            f"--chdir={self._directory}",
            stdin=self.script(request).encode(),
        )
        return job_id_in(answer, self._login.host.name)

    async def _prepared(self) -> str:
        """The path that the nodes know work_dir by, once it has all that a job needs."""
        await RemoteHost(self._login).install(self._login)
        work_dir = remote_path(self._login.host.work_dir)
        command = f"cd {work_dir} && mkdir -p jobs && pwd"
        done = await self._login.run(command, timeout_s=_LIMIT_S)
        if done.exit_status:
            raise RefusedError(said(done.stderr), where=self._login.host.name, program="mkdir")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def job_id_in(answer: str, where: str) -> str:
    """What ``sbatch --parsable`` says last; in a federation its cluster stands behind it.

    Raises
    ------
    SlurmError: it is no id.
    """
    last = answer.rstrip().rpartition("\n")[2]
    job_id = last.partition(";")[0]
    if not is_number(job_id):
        raise SlurmError(f"sbatch answers with no id: {said(answer.encode())}", where=where)
    return job_id
