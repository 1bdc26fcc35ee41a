"""What a host tells while it trains, on its way into a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.run.host_watch import HostWatch
from backends.engines.engine import AllocatedHost


class Telling:
    """Hands these over, and is then silent for ever."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks
        self.told = asyncio.Event()

    async def stream(
        self, _command: str, on_stdout: Callable[[bytes], None], *, spare: bool
    ) -> None:
        assert spare
        for chunk in self._chunks:
            on_stdout(chunk)
        self.told.set()
        await asyncio.Event().wait()


async def test_empty_lines_are_signs_of_life_and_wake_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_bytes(b"torn by a kill")
    chunks = [b"\n", b"host, 1", b"\n", b"\n", b"host, 2\nhost", b", 3\n", *[b"\n"] * 5]
    transport = Telling(chunks)
    host = cast(AllocatedHost, SimpleNamespace(has_gpus=False, transport=transport))
    following = asyncio.create_task(HostWatch(host, RawLog(path)).follow())
    await transport.told.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert path.read_bytes() == b"torn by a kill\nhost, 1\nhost, 2\nhost, 3\n"
