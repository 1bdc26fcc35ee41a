"""So many at once of what may take long: who does makes room for others and goes on beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turn:
    """One of them, until it takes too long or has to wait."""

    def __init__(self, total: asyncio.Semaphore) -> None:
        self._total = total
        self._ours = False
        self._until: asyncio.TimerHandle | None = None

    async def take(self, seconds: float) -> None:
        await self._total.acquire()
        self._ours = True
        self.last(seconds)

    def last(self, seconds: float) -> None:
        """It is given back after so long. One that came late goes on without."""
        self._stop_clock()
        if self._ours:
            self._until = asyncio.get_running_loop().call_later(seconds, self.give_back)

    def give_back(self) -> None:
        self._stop_clock()
        if self._ours:
            self._ours = False
            self._total.release()

    def _stop_clock(self) -> None:
        if self._until is not None:
            self._until.cancel()


class Turns:
    """At most ``total`` at once."""

    def __init__(self, total: int) -> None:
        self._total = asyncio.Semaphore(total)

    @asynccontextmanager
    async def one(self, seconds: float) -> AsyncIterator[Turn]:
        """Wait for a turn, which lasts so long at most."""
        turn = Turn(self._total)
        await turn.take(seconds)
        try:
            yield turn
        finally:
            turn.give_back()
