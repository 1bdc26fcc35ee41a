"""Commands on this machine, and what is left of those that nobody waits for any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport


def children() -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(stat.parent.name))
    return found


async def test_commands_that_are_given_up_end_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whenever they are: before they began, while they talk, in the moment of their own end."""
    transport = LocalTransport(Host("here", transport="local"))
    before = children()
    commands = (
        "sleep 60",
        "while :; do echo x; done",
        "sleep 0.0$((RANDOM % 9))",
        "trap '' TERM; sleep 60 & wait",
    )
    with caplog.at_level(logging.WARNING):
        for turn in range(60):
            running = asyncio.create_task(
                transport.stream(commands[turn % len(commands)], lambda _: None)
            )
            await asyncio.sleep(turn % 7 / 200)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        async with asyncio.timeout(10):
            while children() - before:
                await asyncio.sleep(0.01)
    assert caplog.records == []


async def test_what_a_command_says_before_its_end_arrives_whole() -> None:
    transport = LocalTransport(Host("here", transport="local"))
    done = await transport.run("head -c 300000 /dev/zero; echo no >&2; exit 3")
    assert (done.exit_status, len(done.stdout), done.stderr) == (3, 300_000, b"no\n")
