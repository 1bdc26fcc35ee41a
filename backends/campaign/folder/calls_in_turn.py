"""Blocking calls off the event loop, one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

_T = TypeVar("_T")


class Strand:
    """Makes calls in the threads of an executor, each after the one before it has ended.

    Who stops waiting for a call (a cancelled task) does not stop the call: the next one still
    waits for it, so that no two of them ever use a file at once.

    ``executor``: whose threads; None: the event loop's own.
    """

    def __init__(self, executor: Executor | None) -> None:
        self._executor = executor
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._since: float | None = None

    def call(self, function: Callable[[], _T]) -> asyncio.Future[_T]:
        """Its result, or what it raises. Only from the event loop's thread."""
        result: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._waiting.append((function, result))
        if self._since is None:
            self._next()
        return result

    @property
    def busy_s(self) -> float:
        """For how long the present call has been under way; 0 when there is none."""
        if self._since is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._since

    def _next(self) -> None:
        loop = asyncio.get_running_loop()
        function, result = self._waiting.popleft()
        self._since = loop.time()
        loop.run_in_executor(self._executor, function).add_done_callback(
            lambda done: self._ended(done, result)
        )

    def _ended(self, done: asyncio.Future[Any], result: asyncio.Future[Any]) -> None:
        self._since = None
        if not result.done():
            if done.cancelled():  # the executor was shut down
                result.cancel()
            elif (error := done.exception()) is None:
                result.set_result(done.result())
            else:
                result.set_exception(error)
        if self._waiting:
            self._next()
