"""How many commands run on one connection at once: no more than the server allows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LEARNED_FOR_S = 20.0
"""A server that refused a session is asked for as many again after so long: others' may have been
in the way, or ours of before."""


class NoChannelError(Exception):
    """There is no further session on this connection."""


class ChannelLimit:
    """At most so many at once; for a while fewer when the server allows fewer."""

    def __init__(self, limit: int) -> None:
        self._most = limit
        self._learned = limit
        self._learned_until = 0.0
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._spare: list[asyncio.Timeout] = []

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """One of them; waits for it, and ends a spare one if it must."""
        while self._busy >= self._limit:
            self._end_spare()
            await self._turn()
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._call_next()

    @asynccontextmanager
    async def spare(self) -> AsyncIterator[None]:
        """One that nobody needs, with another left free. NoChannelError: there is none, or not any
        more: it is taken away when somebody waits."""
        if self._busy + 1 >= self._limit:
            raise NoChannelError("all are in use")
        try:
            async with self.one(), asyncio.timeout(None) as ours:
                self._spare.append(ours)
                try:
                    yield
                finally:
                    if ours in self._spare:
                        self._spare.remove(ours)
        except TimeoutError:
            if ours.expired():
                raise NoChannelError("another command needs it") from None
            raise

    def learn_limit(self) -> bool:
        """The server allows none beside the others that are open. False when none is."""
        self._learned = max(1, self._busy)
        self._learned_until = self._now() + LEARNED_FOR_S
        return self._busy > 0

    @property
    def _limit(self) -> int:
        return min(self._most, self._learned) if self._now() < self._learned_until else self._most

    async def _turn(self) -> None:
        """Until one has ended, or what was learned is forgotten."""
        left = self._learned_until - self._now()
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(left if left > 0 else None):
                await turn
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            if not turn.cancelled():  # called up in the moment of being cancelled
                self._call_next()
            raise

    def _end_spare(self) -> None:
        if self._spare:
            self._spare.pop().reschedule(self._now())

    def _call_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
