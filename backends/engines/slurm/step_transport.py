"""A node of a job, reached by short steps that share what the job has (``srun --overlap``).

A step that ended by itself said so; of one that did not, the job or the way to it was lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote

from backends.inventory.host_entry import Host
from backends.transports.transport import Completed, HostUnreachableError, Problem, Transport
from profiles.cleantext import clean_text

# What srun itself says is on stderr as well: before the first mark, and behind the second.
_MARKED = (
    r"""printf "\036dlperf\036\n" >&2; sh -c "$0"; s=$?; printf "\036dlperf %d\036\n" $s >&2; """
    "exit $s"
)
_OVER = "export DLPERF_JOB_OVER=1\n"  # for the wrapper: all that ran in the job was ended
_BEGUN = b"\x1edlperf\x1e\n"
_OF_ITS_END = (
    b" has expired",
    b"Invalid job id specified",
    b"already completing or completed",
    b"credential revoked",
    b" CANCELLED AT ",
)
"""What srun says of a step whose job is ending or over, whyever: that is for Slurm to tell."""
_ENDED = re.compile(rb"\x1edlperf (\d+)\x1e\n")


class StepTransport:
    """One node of one job; :class:`~backends.transports.transport.Transport`.

    Parameters
    ----------
    host: the node.
    login: of the machine that has srun.
    ended: whether the job is over. What ran in it is gone then, and ``login``, which shares the
        node's files, answers in its place.
    post: where the step waits that a run is handed to, if not the job's own.
    """

    def __init__(
        self,
        host: Host,
        job_id: str,
        login: Transport,
        ended: Callable[[], bool],
        post: str = "",
    ) -> None:
        self._host = host
        self._job_id = job_id
        self._login = login
        self._ended = ended
        self._post = f"export DLPERF_POST={quote(post)}\n" if post else ""

    @property
    def host(self) -> Host:
        return self._host

    async def connect(self) -> None:
        await self._login.connect()

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        if self._ended():
            return await self._login.run(_OVER + command, stdin=stdin, timeout_s=timeout_s)
        done = await self._login.run(self._step(command), stdin=stdin, timeout_s=timeout_s)
        return self._of_step(done)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        if self._ended():
            return await self._login.stream(_OVER + command, on_stdout, spare=spare)
        return self._of_step(await self._login.stream(self._step(command), on_stdout, spare=spare))

    async def close(self) -> None:
        """The way to the login node is not ours."""

    def _step(self, command: str) -> str:
        where = f"--jobid={quote(self._job_id)} --nodelist={quote(self._host.name)}"
        words = f"{where} --nodes=1 --ntasks=1"
        command = self._post + command
        # Not "exec": whoever gives up ends the group, and srun its step when it has TERM.
        return f"srun --overlap {words} sh -c {quote(_MARKED)} {quote(command)}; exit $?"

    def _of_step(self, done: Completed) -> Completed:
        said, begun, own = done.stderr.partition(_BEGUN)
        if not begun:
            raise self._lost(Problem.NO_STEP, said)
        end = _ENDED.search(own)
        if end is None:
            raise self._lost(Problem.LOST, own)
        return Completed(int(end[1]), done.stdout, own[: end.start()])

    def _lost(self, problem: Problem, said: bytes) -> HostUnreachableError:
        if any(words in said for words in _OF_ITS_END):
            return HostUnreachableError(self._host.name, Problem.JOB_ENDS)
        lines = said.decode("utf-8", "replace").splitlines()
        errors = [line.partition("error: ")[2] for line in lines if "error: " in line]
        detail = clean_text(next(iter(errors), ""), cap=500)
        return HostUnreachableError(self._host.name, problem, detail)
