"""A host over SSH: one multiplexed connection, made on first use and again after a loss; a further
one where more streams are wanted than leave room for commands beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from backends import debug
from backends.inventory.host_entry import Host
from backends.transports.channel_limit import ChannelLimit, NoChannelError
from backends.transports.login_shell import login_shell_command
from backends.transports.ssh_settings import SshSettings
from backends.transports.transport import Completed, HostUnreachableError, Problem, Said

if TYPE_CHECKING:
    from backends.transports.ssh_session import Connection, Logins


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
        self._channels = ChannelLimit(channels)
        self._most_streams = max(1, channels // 2)
        self._streams = 0
        self._further: SshTransport | None = None
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
        stdout = Said(self._host.name)
        async with asyncio.timeout(timeout_s):
            status, stderr = await self._execute(command, stdout.take, stdin)
        return Completed(status, bytes(stdout.content), stderr)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        if self._streams >= self._most_streams:
            return await self._beside().stream(command, on_stdout, spare=spare)
        self._streams += 1
        try:
            status, stderr = await self._execute(command, on_stdout, b"", spare=spare)
        finally:
            self._streams -= 1
        return Completed(status, b"", stderr)

    def _beside(self) -> SshTransport:
        """A connection of its own: each of a server's takes so many sessions (MaxSessions), and
        streams end when their runs do."""
        if self._further is None:
            self._further = open_transport(self._host, self._pool)
            self._further._closed = self._closed
        return self._further

    async def close(self) -> None:
        self._closed = True
        if self._further is not None:
            await self._further.close()
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
        target = await logins.target(self._host)
        jump = self._host.jump or target.jump
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
        return await logins.open(target, through)

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


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def open_transport(host: Host, pool: Logging) -> SshTransport:
    """For :class:`backends.transports.pool.TransportPool`, which holds what logins share."""
    return SshTransport(host, pool, channels=pool.settings.channels)
