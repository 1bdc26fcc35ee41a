"""A log on its way from a host into a file here."""

from __future__ import annotations

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
