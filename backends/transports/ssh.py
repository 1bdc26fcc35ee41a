"""A host over SSH: one multiplexed connection, made on first use and again after a loss."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Protocol

from backends import debug
from backends.inventory.host_entry import Host
from backends.transports.transport import Completed, HostUnreachableError, Problem

if TYPE_CHECKING:
    from backends.transports.ssh_session import Connection, Logins


@dataclass(frozen=True, slots=True)
class SshSettings:
    """Limits and timeouts, in seconds.

    A dead network is noticed ``keepalive_interval_s`` × (``keepalive_count`` + 1) after its last
    byte. A command must have begun within ``answer_timeout_s``, or the host counts as silent. An
    sshd as it is installed refuses more than 10 logins at once and more than 10 sessions per
    connection, hence 8 and 8.
    """

    connect_timeout_s: float = 10.0
    login_timeout_s: float = 20.0
    answer_timeout_s: float = 8.0
    keepalive_interval_s: float = 5.0
    keepalive_count: int = 3
    handshakes: int = 8
    channels: int = 8


class Logging(Protocol):
    """What a transport needs of its pool."""

    @property
    def settings(self) -> SshSettings: ...

    async def logins(self) -> Logins: ...

    def jump_transport(self, host: Host, jump: str) -> SshTransport: ...


class SshTransport:
    """A :class:`~backends.transports.transport.Transport` over asyncssh.

    Parameters
    ----------
    host: where to.
    pool: holds what all connections share: keys, limits, jump hosts.
    channels: how many commands may run on the connection at once.
    """

    def __init__(self, host: Host, pool: Logging, *, channels: int = 8) -> None:
        self._host = host
        self._pool = pool
        self._connection: Connection | None = None
        self._attempt: asyncio.Task[Connection] | None = None
        self._channels = _Channels(channels)
        self._closed = False

    @property
    def host(self) -> Host:
        return self._host

    async def connect(self) -> None:
        await self.connection()

    async def connection(self) -> Connection:
        """The live connection. Callers that find none share one attempt to make it."""
        while True:
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            if self._closed:
                raise HostUnreachableError(self._host.name, Problem.LOST, "closed by us")
            if self._attempt is None:
                self._attempt = asyncio.create_task(self._open(), name=f"ssh {self._host.name}")
                self._attempt.add_done_callback(self._attempt_ended)
            attempt = self._attempt
            try:
                # A caller that is cancelled leaves the attempt to the others.
                return await asyncio.shield(attempt)
            except asyncio.CancelledError:
                if attempt.cancelled() and not self._closed and not _being_cancelled():
                    continue
                raise

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        stdout = bytearray()
        async with asyncio.timeout(timeout_s):
            status, stderr = await self._execute(command, stdout.extend, stdin)
        return Completed(status, bytes(stdout), stderr)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        status, stderr = await self._execute(command, on_stdout, b"", spare=spare)
        return Completed(status, b"", stderr)

    async def close(self) -> None:
        self._closed = True
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait([self._attempt])
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()
            try:
                async with asyncio.timeout(1):
                    await connection.wait_closed()
            except TimeoutError:
                connection.abort()

    def _attempt_ended(self, attempt: asyncio.Task[Connection]) -> None:
        self._attempt = None
        name = self._host.name
        if attempt.cancelled():
            debug.log().info("%s: the login is given up", name)
        elif (error := attempt.exception()) is not None:
            debug.log().info("%s: no login: %s", name, error)
        else:
            debug.log().info("%s: logged in", name)
            self._connection = attempt.result()
            if self._closed:
                self._connection.abort()

    async def _open(self) -> Connection:
        logins = await self._pool.logins()
        jump = await logins.jump_of(self._host)
        debug.log().info("%s: logging in%s", self._host.name, f" through {jump}" if jump else "")
        through: Connection | None = None
        if jump is not None:
            try:
                through = await self._pool.jump_transport(self._host, jump).connection()
            except HostUnreachableError as error:
                detail = f"jump host {error.host}: {error.detail or error.problem}"
                raise HostUnreachableError(
                    self._host.name, error.problem, detail, remedy=error.remedy
                ) from error
        return await logins.open(self._host, through)

    async def _execute(
        self,
        command: str,
        on_stdout: Callable[[bytes], None],
        stdin: bytes,
        *,
        spare: bool = False,
    ) -> tuple[int, bytes]:
        logins = await self._pool.logins()
        line = login_shell_command(command)
        pauses = iter(_UNTIL_NOTICED_S)
        while True:
            connection = await self.connection()
            try:
                async with self._channels.spare() if spare else self._channels.one():
                    return await logins.execute(connection, self._host.name, line, on_stdout, stdin)
            except HostUnreachableError as error:
                debug.log().info("%s: %s", self._host.name, error.what)
                raise
            except NoChannelError as error:
                # A session that is over counts until the server has noticed; else its MaxSessions
                # is lower than ours.
                pause = None if spare else next(pauses, None)
                if pause is not None:
                    await asyncio.sleep(pause)
                elif spare or not self._channels.learn_limit():
                    raise HostUnreachableError(
                        self._host.name,
                        Problem.OTHER,
                        f"no session: {error}",
                        remedy="check MaxSessions and the account's shell on the host",
                    ) from error


_UNTIL_NOTICED_S = (0.05, 0.1, 0.25, 0.5, 1.0, 1.0)
LEARNED_FOR_S = 20.0
"""A server that refused a session is asked for as many again after so long: others' may have been
in the way, or ours of before."""


class NoChannelError(Exception):
    """There is no further session on this connection."""


# Between this line and the end, stdout is the command's, and so is stderr: what the login shell's
# rc files print comes before it. Both streams need it, since neither waits for the other on the
# way. Single-quoted without \, ' or newline inside, so that csh and fish take it, too.
MARK = b"\x1edlperf\x1e\n"
_PREFIX = (
    r"""exec /bin/sh -c 'printf "\036dlperf\036\n"; printf "\036dlperf\036\n" >&2; """
    r"""eval "$(printf %b "$0")"' """
)
_HIDDEN = str.maketrans({"\\": r"\0134", "\n": r"\n", "'": r"\0047", "!": r"\0041"})


def login_shell_command(command: str) -> str:
    """A command for ``sh`` as one line that any login shell hands on unchanged."""
    return _PREFIX + quote(command.translate(_HIDDEN))


class _Channels:
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


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def open_transport(host: Host, pool: Logging) -> SshTransport:
    """For :class:`backends.transports.pool.TransportPool`, which holds what logins share."""
    return SshTransport(host, pool, channels=pool.settings.channels)
