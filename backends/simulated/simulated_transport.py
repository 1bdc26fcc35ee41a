"""A :class:`~backends.transports.transport.Transport` to a simulated host."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from backends.inventory.host_entry import Host
from backends.simulated.machine import Machine
from backends.simulated.network import Connection, Link
from backends.simulated.shell import Execution, execute, hang_up
from backends.transports.transport import Completed, HostUnreachableError, Problem

LEAST_PATIENCE_S = 10.0
"""With a host whose time flies, in our seconds: that we are busy is no silence of the host."""
TICK_S, LONGEST_TICK_S = 1 / 200, 1 / 100


class Timekeeper:
    """Carries simulated machines through an event loop's time, ``speed`` times as fast."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._said_at: float | None = None
        # The machines go on whatever becomes of the task that happens to look at them.
        self._context = contextvars.copy_context()
        self._timers: dict[Machine, asyncio.TimerHandle] = {}

    @property
    def now(self) -> float:
        """Simulated seconds since the beginning; threads may ask, too."""
        return (self._loop.time() - self._began) * self.speed

    @property
    def told_at(self) -> float:
        """As :attr:`now`; while something that a host printed is taken, when it printed that."""
        return self.now if self._said_at is None else self._said_at

    @contextmanager
    def telling(self, said_at: float) -> Iterator[None]:
        self._said_at = said_at
        try:
            yield
        finally:
            self._said_at = None

    def bring(self, machine: Machine) -> None:
        """Bring a machine to the present, and wake it when something happens on it next."""
        machine.kernel.advance(self.now)
        timer = self._timers.pop(machine, None)
        if timer is not None:
            timer.cancel()
        if (at := machine.kernel.next_at) is not None:
            when = self._began + at / self.speed
            self._timers[machine] = self._loop.call_at(
                when, self._due, machine, at, context=self._context
            )

    def end(self) -> None:
        """Time passes no more."""
        for timer in self._timers.values():
            timer.cancel()

    def _due(self, machine: Machine, at: float) -> None:
        machine.kernel.advance(at)  # exactly: the loop's clock may lag a rounding behind
        self.bring(machine)


class PatientTimekeeper(Timekeeper):
    """One whose machines wait while the event loop is busy, so that what follows them never falls
    behind: what is read of a machine was printed a moment ago, however fast its time passes.

    Only its ticks move the time. End it with :meth:`end`.
    """

    def __init__(self, speed: float) -> None:
        super().__init__(speed)
        self._now = 0.0
        self._ticked = self._loop.time()
        self._machines: dict[Machine, None] = {}
        self._next = self._loop.call_later(TICK_S, self._tick, context=self._context)

    @property
    def now(self) -> float:
        return self._now

    def bring(self, machine: Machine) -> None:
        self._machines[machine] = None
        machine.kernel.advance(self._now)

    def end(self) -> None:
        self._next.cancel()

    def _tick(self) -> None:
        ours = self._loop.time()
        self._now += min(ours - self._ticked, LONGEST_TICK_S) * self.speed
        self._ticked = ours
        for machine in self._machines:
            if (at := machine.kernel.next_at) is not None and at <= self._now:
                machine.kernel.advance(self._now)
        self._next = self._loop.call_later(TICK_S, self._tick, context=self._context)


class SimulatedTransport:
    """Commands travel over a link, are executed by the machine, and their output travels back.

    A lost link loses answers, never the work: the machine goes on with what reached it.
    """

    def __init__(self, host: Host, machine: Machine, link: Link, time: Timekeeper) -> None:
        self._host = host
        self._machine = machine
        self._link = link
        self._time = time
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    @property
    def host(self) -> Host:
        return self._host

    async def connect(self) -> None:
        await self._connected()

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        stdout = bytearray()
        if timeout_s is not None and self._time.speed > 1.0:
            timeout_s = max(timeout_s / self._time.speed, LEAST_PATIENCE_S)
        async with asyncio.timeout(timeout_s):
            status, stderr = await self._exchange(command, stdin, stdout.extend)
        return Completed(status, bytes(stdout), stderr)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        status, stderr = await self._exchange(command, b"", on_stdout)
        return Completed(status, b"", stderr)

    async def close(self) -> None:
        """Close the connection; runs go on."""
        if self._connection is not None:
            self._link.close(self._connection)

    async def _exchange(
        self, command: str, stdin: bytes, on_stdout: Callable[[bytes], None]
    ) -> tuple[int, bytes]:
        exchange = _Exchange(self._host.name, self._link, self._time, await self._connected())
        execution: Execution | None = None
        try:
            await exchange.travel()
            self._time.bring(self._machine)
            if not self._machine.kernel.up:
                raise HostUnreachableError(self._host.name, Problem.LOST)
            execution = execute(self._machine, command, stdin)
            execution.told = exchange.stir.set
            self._time.bring(self._machine)
            return await exchange.answer(execution, on_stdout)
        finally:
            exchange.end()
            if execution is not None:
                hang_up(self._machine, execution)

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or self._connection.broken:
                found = await self._link.connect()
                if isinstance(found, Problem):
                    raise HostUnreachableError(self._host.name, found)
                self._connection = found
            return self._connection


class _Exchange:
    """One command's way there and back."""

    def __init__(self, host: str, link: Link, time: Timekeeper, connection: Connection) -> None:
        self._host = host
        self._link = link
        self._time = time
        self._connection = connection
        self.stir = asyncio.Event()
        connection.join(self.stir)

    def end(self) -> None:
        self._connection.leave(self.stir)

    async def travel(self) -> None:
        await self._link.travel()
        await self._until(lambda: self._link.passable)

    async def answer(
        self, execution: Execution, on_stdout: Callable[[bytes], None]
    ) -> tuple[int, bytes]:
        """Exit status and stderr, once all of the output has arrived."""
        sent = 0

        def more(than: int) -> Callable[[], bool]:
            return lambda: execution.status is not None or len(execution.stdout) > than

        while True:
            await self._until(more(sent))
            status, output = execution.status, bytes(execution.stdout[sent:])
            said_at = execution.said_at
            await self.travel()
            if output:
                sent += len(output)
                with self._time.telling(said_at):
                    on_stdout(output)
            if status is not None:
                return status, bytes(execution.stderr)

    async def _until(self, fulfilled: Callable[[], bool]) -> None:
        """Raises HostUnreachableError when the connection breaks before."""
        while True:
            if self._connection.broken:
                raise HostUnreachableError(self._host, Problem.LOST)
            if fulfilled():
                return
            self.stir.clear()
            await self.stir.wait()
