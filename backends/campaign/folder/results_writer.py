"""The result files of a live campaign: rewritten one at a time, each time from the newest state."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from backends.campaign.folder.calls_in_turn import Strand
from backends.campaign.record.state import CampaignState

LET_END_S = 10.0
"""How long who lets go waits for a disk that hangs."""


class ResultsWriter:
    """Who stops waiting for a writing (a cancelled task) does not stop it: it is in a thread. The
    next one begins after it, with what is known then, so the newest state is always the last.

    Parameters
    ----------
    write: brings the files in a directory up to a state; called in a thread.
    state: the newest; called in that thread.
    owned: whether the campaign is still ours to write; blocking.
    """

    def __init__(
        self,
        path: Path,
        write: Callable[[CampaignState, Path], None],
        state: Callable[[], CampaignState],
        owned: Callable[[], bool],
    ) -> None:
        self._path = path
        self._write = write
        self._state = state
        self._owned = owned
        self._strand = Strand(None)

    async def write(self) -> None:
        """Until the files are on disk as they are to be now. Raises OSError."""
        await self._strand.call(self._write_newest)

    async def ended(self) -> None:
        """Until nothing is being written any more; for 10 s at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LET_END_S):
                await self._strand.call(lambda: None)

    def _write_newest(self) -> None:
        if self._owned():
            self._write(self._state(), self._path)
