"""A run's own clock ends with it, in whatever moment that is."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.transports.local import LocalTransport
from tests.support.waiting import until

AT_ONCE = 12


def carrying(marker: str) -> list[str]:
    """The commands of what has it in its environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes().split(b"\0"):
                found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("script", ["exit 0", "sleep 0.01"])
async def test_no_clock_of_a_run_is_left_however_short_it_was(
    local_host: Host, script: str
) -> None:
    remote = RemoteHost(LocalTransport(local_host))

    async def once(run_id: str) -> None:
        await remote.start(RunSpec(run_id, script, lease="", timeout_s=3000.0, grace_s=1.0))
        async with asyncio.timeout(120):
            await remote.follow(run_id, 0, lambda _: None)
        await until(lambda: not carrying(f"DLPERF_RUN_ID={run_id}"))

    await asyncio.gather(*(once(f"short-{number}") for number in range(AT_ONCE)))


async def test_a_clock_that_is_ended_in_any_moment_of_its_start_leaves_no_sleep() -> None:
    text = resources.files("backends.remote").joinpath("host.sh").read_text()
    (clock,) = re.findall(r"sh -c '(trap .*?)' \\\n", text, re.DOTALL)
    marker = f"DLPERF_CLOCK={os.getpid()}"
    script = """for n in $(seq 400); do
        sh -c "$1" sh 300 $$ 0 </dev/null >/dev/null 2>&1 &
        i=0
        while [ $i -lt $((n % 200 * 3)) ]; do i=$((i + 1)); done
        kill $!
    done"""
    started = subprocess.run(
        ["sh", "-c", script, "sh", clock],
        env={**os.environ, "DLPERF_CLOCK": str(os.getpid())},
        check=False,
    )
    assert started.returncode in (0, 1)
    await until(lambda: not carrying(marker))
