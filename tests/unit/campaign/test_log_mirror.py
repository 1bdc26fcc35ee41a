"""A log on its way from a host into a file here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, cast

import pytest

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.run.mirror import LogMirror
from backends.campaign.run.reconnect import Contact
from backends.remote.client import RemoteHost
from backends.transports.transport import HostUnreachableError, Problem


class Lost:
    """A host that says something, and is then gone."""

    async def follow(self, _run_id: str, offset: int, take: Callable[[bytes], None]) -> NoReturn:
        assert offset == 0
        take(b"first\n")
        take(b"RuntimeError: what explains it\n")
        raise HostUnreachableError("node1", Problem.CHANGED_HOST_KEY, "host key has CHANGED")


async def test_what_is_read_is_of_when_it_came_however_late_it_is_written(tmp_path: Path) -> None:
    now, read = iter([100.0, 101.0]), []
    waits: list[float | None] = []
    log = RawLog(tmp_path / "a.log", collect_s=3600)
    mirror = LogMirror(
        "r",
        cast(RemoteHost, Lost()),
        log,
        Contact("node1", lambda _lost, _reason: None),
        take=lambda data: read.append((data, mirror.came_at)),
        clock=lambda: next(now),
    )
    await mirror.open(fresh=True)
    append = log.append

    def appended(data: bytes) -> None:
        append(data)
        asyncio.get_running_loop().call_soon(lambda: waits.append(mirror.unread_since))

    log.append = appended  # type: ignore[method-assign]
    with pytest.raises(HostUnreachableError):
        await mirror.follow(30.0)
    assert set(waits) <= {100.0, 101.0, None}
    assert waits[0] == 100.0
    assert mirror.unread_since is None
    assert read == [(b"first\n", 100.0), (b"RuntimeError: what explains it\n", 101.0)]
    await mirror.close()


async def test_all_that_came_is_read_before_the_loss_of_its_host_is_told(tmp_path: Path) -> None:
    read, told = bytearray(), []

    def changed(lost: bool, _reason: str) -> None:
        told.append((lost, bytes(read)))

    log = RawLog(tmp_path / "a.log", collect_s=3600)
    remote = cast(RemoteHost, Lost())
    mirror = LogMirror("r", remote, log, Contact("node1", changed), take=read.extend)
    await mirror.open(fresh=True)
    with pytest.raises(HostUnreachableError):
        await mirror.follow(30.0)
    assert told == [(True, b"first\nRuntimeError: what explains it\n")]
    assert log.path.read_bytes() == bytes(read)
    await mirror.close()
