"""The way to a simulated host: how long it takes, and how it is cut and mended."""

from __future__ import annotations

import asyncio

from backends.transports.base import Problem

CONNECT_TIMEOUT_S = 10.0
NOTICE_S = 20.0
"""After how long a silent connection counts as lost: the keepalive's business."""


class Connection:
    """What exchanges share until it breaks."""

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


class Link:
    """One host's wire. Seconds are the simulated world's; ``speed`` of them pass in one.

    A cut that is mended within NOTICE_S only delays what was on its way.
    """

    def __init__(self, *, latency_s: float = 0.0005, speed: float = 1.0) -> None:
        self.latency_s = latency_s
        self._speed = speed
        self._connection: Connection | None = None
        self._refusing: Problem | None = None
        self._passable = asyncio.Event()
        self._passable.set()
        self._notice: asyncio.TimerHandle | None = None

    @property
    def connected(self) -> bool:
        return self._connection is not None

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
        if self._connection is not None:
            self._connection.stir()

    def reset(self) -> None:
        """Break the connection that there is; a new one can be made if the wire allows it."""
        self._forget_notice()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.broken = True
            connection.stir()

    def _forget_notice(self) -> None:
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None

    # What travels on it --------------------------------------------------------------------------

    async def connect(self) -> Connection | Problem:
        """The connection that there is, or a new one, or why there can be none."""
        if self._connection is not None:
            return self._connection
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S / self._speed):
                await asyncio.sleep(2 * self.latency_s / self._speed)
                if self._refusing is None:
                    await self._passable.wait()
        except TimeoutError:
            return Problem.TIMEOUT
        if self._refusing is not None:
            return self._refusing
        if self._connection is None:
            self._connection = Connection()
        return self._connection

    @property
    def passable(self) -> bool:
        return self._passable.is_set()

    async def travel(self) -> None:
        """The time of one way."""
        await asyncio.sleep(self.latency_s / self._speed)
