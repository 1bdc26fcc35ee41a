"""The way to a simulated host: how long it takes, and how it is cut and mended."""

from __future__ import annotations

import asyncio

from backends.transports.transport import Problem

CONNECT_TIMEOUT_S = 10.0
LATENCY_S = 0.0005
NOTICE_S = 20.0
"""After how long a silent connection counts as lost: the keepalive's business."""


class Connection:
    """One console's connection to the host. What is under way on it is stirred when it changes."""

    def __init__(self) -> None:
        self.broken = False
        self._stirs: dict[asyncio.Event, None] = {}

    def join(self, stir: asyncio.Event) -> None:
        """``stir`` is set whenever something happens to the connection or its wire."""
        self._stirs[stir] = None

    def leave(self, stir: asyncio.Event) -> None:
        self._stirs.pop(stir, None)

    def stir(self) -> None:
        for stir in self._stirs:
            stir.set()

    def cut_off(self) -> None:
        self.broken = True
        self.stir()


class Link:
    """One host's wire. Seconds are the simulated world's; ``speed`` of them pass in one.

    A cut that is mended within NOTICE_S only delays what was on its way.
    """

    def __init__(self, *, speed: float = 1.0) -> None:
        self._speed = speed
        self._connections: dict[Connection, None] = {}
        self._refusing: Problem | None = None
        self._passable = asyncio.Event()
        self._passable.set()
        self._notice: asyncio.TimerHandle | None = None

    # What happens to it --------------------------------------------------------------------------

    def cut(self) -> None:
        """Pull the cable: nothing answers, nothing is refused."""
        self._passable.clear()
        if self._notice is None:
            loop = asyncio.get_running_loop()
            self._notice = loop.call_later(NOTICE_S / self._speed, self.reset)

    def refuse(self, problem: Problem = Problem.REFUSED) -> None:
        """Break what there is, and refuse new connections."""
        self._refusing = problem
        self.reset()

    def mend(self) -> None:
        self._refusing = None
        self._passable.set()
        self._forget_notice()
        for connection in self._connections:
            connection.stir()

    def reset(self) -> None:
        """Break all connections; new ones can be made if the wire allows it."""
        self._forget_notice()
        connections, self._connections = self._connections, {}
        for connection in connections:
            connection.cut_off()

    def close(self, connection: Connection) -> None:
        """One end has closed it."""
        self._connections.pop(connection, None)
        connection.cut_off()

    def _forget_notice(self) -> None:
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None

    # What travels on it --------------------------------------------------------------------------

    async def connect(self) -> Connection | Problem:
        """A new connection, or why there can be none."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S / self._speed):
                await asyncio.sleep(2 * LATENCY_S / self._speed)
                if self._refusing is None:
                    await self._passable.wait()
        except TimeoutError:
            return Problem.TIMEOUT
        if self._refusing is not None:
            return self._refusing
        connection = Connection()
        self._connections[connection] = None
        return connection

    @property
    def passable(self) -> bool:
        return self._passable.is_set()

    async def travel(self) -> None:
        """The time of one way."""
        await asyncio.sleep(LATENCY_S / self._speed)
