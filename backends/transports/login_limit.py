"""How many logins go on at once: in total, and at one server, which drops what is too much.

sshd counts connections that have not logged in yet (``MaxStartups``), whichever hosts of the
inventory they are for; and each login keeps the event loop busy for milliseconds.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

CONNECTING_S = 0.5
LOGGING_IN_S = 3.0
"""A login that has not reached its server by then, or is not through with it, makes room for
others: what it waits for may be dead."""


class Turn:
    """A login's part of the total, until it takes too long or waits for an answer."""

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


class LoginLimit:
    """At most ``total`` logins at once, and ``at_one_server`` at each of those."""

    def __init__(self, total: int, at_one_server: int) -> None:
        self._total = asyncio.Semaphore(total)
        self._servers: defaultdict[Hashable, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(at_one_server)
        )

    @asynccontextmanager
    async def one(self, server: Hashable) -> AsyncIterator[Turn]:
        """Wait until there is room for one more at this server."""
        async with self._servers[server]:
            turn = Turn(self._total)
            await turn.take(CONNECTING_S)
            try:
                yield turn
            finally:
                turn.give_back()
