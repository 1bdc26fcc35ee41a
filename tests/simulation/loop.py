"""An event loop whose clock jumps to the next timer and whose order is the seed's."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import heapq
import random
import signal
from asyncio import events
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol


class Owner(Protocol):
    """A process of the login node: whose step comes next, and whether it still takes any."""

    dead: bool
    paused: bool
    tasks: list[asyncio.Task[Any]]
    backlog: list[Any]

    def step(self) -> None:
        """Called before each of its steps; may end it."""


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
"""Whose work is being done now; None: the world's."""


class _Task(asyncio.Task[Any]):
    """Hashed by its number, so that sets of tasks have the same order in every execution."""

    number = 0

    def __hash__(self) -> int:
        return self.number


@dataclass(eq=False)
class _Job:
    """What a thread is asked to do."""

    work: Callable[[], Any]
    future: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)
    done: bool = False

    def do(self) -> None:
        if self.done or not self.future.set_running_or_notify_cancel():
            return
        self.done = True
        try:
            result = self.work()
        except BaseException as error:  # as a thread pool hands it on
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


@dataclass
class _Lane:
    """The jobs of an executor with one thread: one after the other."""

    free_at: float = 0.0
    jobs: list[_Job] = field(default_factory=list)


class VirtualLoop(asyncio.BaseEventLoop):
    """Drive it with :meth:`step`. Threads' work is done on it, whole and a little later.

    Parameters
    ----------
    chance: decides all orders. disorder: how often, 0 to 1, the next step is any of those that are
        ready instead of the oldest.
    """

    def __init__(self, chance: random.Random, disorder: float) -> None:
        super().__init__()
        self._now = 0.0
        self._chance = chance
        self._disorder = disorder
        self._tasks_made = 0
        self.thread_delay_s: Callable[[], float] = lambda: chance.random() * 0.002
        self.failures: list[str] = []
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._note_failure)

    def time(self) -> float:
        return self._now

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **more: Any
    ) -> asyncio.Task[Any]:
        self._tasks_made += 1
        _Task.number = self._tasks_made  # hashed while it is made
        task = _Task(coro, loop=loop, **more)
        task.number = self._tasks_made
        owner = OWNER.get()
        if owner is not None:
            owner.tasks.append(task)  # a task that nobody holds would be closed: its finally runs
        return task

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    # One step ------------------------------------------------------------------------------------

    def step(self, until: float) -> bool:
        """Do the next thing that is to be done by ``until``; False: there is none."""
        ready = self._ready  # type: ignore[attr-defined]
        if not ready and not self._jump(until):
            return False
        index = 0
        if len(ready) > 1 and self._chance.random() < self._disorder:
            index = self._chance.randrange(len(ready))
        handle = ready[index]
        del ready[index]
        if handle._cancelled:
            return True
        owner = handle._context.get(OWNER)
        if owner is not None:
            if owner.dead:
                return True
            if owner.suspended:
                owner.backlog.append(handle)
                return True
            owner.step()
            if owner.dead:
                return True
        handle._run()
        return True

    def _jump(self, until: float) -> bool:
        scheduled, ready = self._scheduled, self._ready  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        if not scheduled or scheduled[0]._when > until:
            self._now = max(self._now, until)
            return False
        self._now = max(self._now, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self._now:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        return True

    def go_on(self, owner: Owner) -> None:
        """A process that was suspended finds what became due meanwhile."""
        owner.suspended = False
        waiting, owner.backlog = owner.backlog, []
        self._ready.extend(waiting)  # type: ignore[attr-defined]

    def use(self) -> None:
        """Make it the running loop of this thread."""
        events._set_running_loop(self)

    def leave(self) -> None:
        events._set_running_loop(None)

    # Threads -------------------------------------------------------------------------------------

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        future = self.submit(executor, functools.partial(func, *args))
        return asyncio.wrap_future(future, loop=self)

    def submit(self, executor: Any, work: Callable[[], Any]) -> concurrent.futures.Future[Any]:
        """What a thread would do, done as a whole at a later moment; in order for one thread."""
        job = _Job(work)
        when = self._now + self.thread_delay_s()
        if getattr(executor, "_max_workers", 0) == 1:
            lane = self._lane(executor)
            when = max(when, lane.free_at + 1e-6)
            lane.free_at = when
            lane.jobs = [*(other for other in lane.jobs if not other.done), job]
        self.call_at(when, job.do)
        return job.future

    def _lane(self, executor: Any) -> _Lane:
        if not hasattr(executor, "_lane"):
            executor._lane = _Lane()
        lane: _Lane = executor._lane
        return lane

    def finish(self, executor: Any) -> None:
        """Wait for a thread: all that it was asked to do is done when this returns."""
        for job in self._lane(executor).jobs:
            job.do()

    # What the real one does with a selector ------------------------------------------------------

    def _process_events(self, event_list: Any) -> None: ...

    def _write_to_self(self) -> None: ...

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:
        owner = OWNER.get()
        if owner is not None:
            name = "on_hang_up" if sig == signal.SIGHUP else "on_signal"
            setattr(owner, name, functools.partial(callback, *args))

    def remove_signal_handler(self, sig: int) -> bool:
        return True
