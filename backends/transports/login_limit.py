"""How many logins go on at once: in total, and at one server, which drops what is too much.

sshd counts connections that have not logged in yet (``MaxStartups``), whichever hosts of the
inventory they are for; and each login keeps the event loop busy for milliseconds.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from backends.transports.turns import Turn, Turns

CONNECTING_S = 0.5
LOGGING_IN_S = 3.0
"""A login that has not reached its server by then, or is not through with it, makes room for
others: what it waits for may be dead."""


class LoginLimit:
    """At most ``total`` logins at once, and ``at_one_server`` at each of those."""

    def __init__(self, total: int, at_one_server: int) -> None:
        self._turns = Turns(total)
        self._servers: defaultdict[Hashable, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(at_one_server)
        )

    @asynccontextmanager
    async def one(self, server: Hashable) -> AsyncIterator[Turn]:
        """Wait until there is room for one more at this server."""
        async with self._servers[server], self._turns.one(CONNECTING_S) as turn:
            yield turn
