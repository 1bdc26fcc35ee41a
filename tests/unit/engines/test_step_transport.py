"""What became of a step is told from what srun says of it."""

from __future__ import annotations

import pytest

from backends.engines.slurm.step_transport import StepTransport
from backends.inventory.host_entry import Host, this_machine
from backends.transports.local import LocalTransport
from backends.transports.transport import Completed, HostUnreachableError, Problem

BEGUN = "\x1edlperf\x1e\n"
OF_AN_END = [  # of Slurm 22.05
    "srun: error: Slurm job 1 has expired\n"
    "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 1\n",
    "srun: error: Unable to confirm allocation for job 9: Invalid job id specified\n",
    "srun: error: Unable to create step for job 7: Job/step already completing or completed\n",
    f"{BEGUN}slurmstepd-node1: error: *** STEP 1.1 ON node1 CANCELLED AT 2026-11-23T02:23:28 DUE"
    " TO TIME LIMIT ***\nsrun: error: node1: task 0: Terminated\n",
]


class Saying(LocalTransport):
    """A login node whose srun says this, and fails."""

    def __init__(self, said: str) -> None:
        super().__init__(this_machine("login"))
        self._said = said

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        return Completed(1, b"", self._said.encode())


async def problem(said: str) -> HostUnreachableError:
    steps = StepTransport(Host("node1"), "1", Saying(said), lambda: False)
    with pytest.raises(HostUnreachableError) as error:
        await steps.run("true")
    return error.value


@pytest.mark.parametrize("said", OF_AN_END)
async def test_of_a_job_that_ends_it_is_said_that_it_does(said: str) -> None:
    assert (await problem(said)).what == Problem.JOB_ENDS


async def test_of_a_job_that_takes_no_step_srun_says_why() -> None:
    found = await problem(
        "srun: error: Unable to create step for job 1: Requested nodes are busy\n"
    )
    assert found.problem is Problem.NO_STEP
    assert found.detail == "Unable to create step for job 1: Requested nodes are busy"


async def test_a_step_that_ended_with_nobody_saying_so_is_a_lost_connection() -> None:
    assert (await problem(f"{BEGUN}srun: error: node1: task 0: Killed\n")).problem is Problem.LOST
