"""A run whose cgroup is at its limit of memory: in a job, a container, a login session."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.campaign.record.cause import Cause
from backends.campaign.run.end_reason import judge_end
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec, RunStatus
from backends.transports.local import LocalTransport
from backends.transports.transport import Completed
from tests.support.waiting import wait_until

LIMIT = 100 << 20
_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@pytest.fixture
def limited() -> Iterator[Path]:
    """A cgroup with a limit of memory."""
    root, key = (_V1, "memory.limit_in_bytes") if _V1.is_dir() else (_V2, "memory.max")
    group = root / f"dlperf-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        (group / key).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no cgroup of memory can be made here: {error.strerror}")
    yield group
    wait_until(lambda: not (group / "cgroup.procs").read_text(), what="nothing is in it")
    group.rmdir()


class InCgroup(LocalTransport):
    """What is run there, and all that it starts, is in the cgroup."""

    def __init__(self, host: Host, group: Path) -> None:
        super().__init__(host)
        self._group = group

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        inside = f"echo $$ >{self._group}/cgroup.procs\n{command}"
        return await super().run(inside, stdin=stdin, timeout_s=timeout_s)


async def end_of(host: Host, group: Path, run_id: str, code: str) -> RunStatus:
    remote = RemoteHost(InCgroup(host, group))
    await remote.start(RunSpec(run_id, f"{sys.executable} -c '{code}'", lease="", grace_s=1.0))
    ended = await remote.follow(run_id, 0, lambda data: None)
    await remote.remove(run_id, await remote.digest(run_id))
    return ended


@pytest.mark.optional
async def test_what_the_kernel_ended_for_its_memory_says_so(
    local_host: Host, limited: Path
) -> None:
    ended = await end_of(local_host, limited, "greedy", f"bytearray({3 * LIMIT})")
    assert (ended.exit_code, ended.oom_kills) == (137, 1)
    judged = judge_end("node1", ended, "2h")
    assert judged is not None
    assert (judged.category, judged.retry) == (Cause.OUT_OF_MEMORY, "never")
    assert judged.reason == "node1: out of memory: the kernel ended 1 of its processes"
    # What was counted before it began is not its own.
    ended = await end_of(local_host, limited, "killed", "import os; os.kill(os.getpid(), 9)")
    assert (ended.exit_code, ended.oom_kills) == (137, 0)
    judged = judge_end("node1", ended, "2h")
    assert judged is not None
    assert judged.category == Cause.EXIT
