"""This machine as a host: the same commands, in a subprocess of /bin/sh."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from backends.inventory.host_entry import Host
from backends.transports.transport import Completed, HostUnreachableError, Problem, Said

_STDOUT, _STDERR = 1, 2
# A console that was reached over SSH must look to the host like any other local one.
_NOT_PASSED_ON = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
MAX_COMMANDS = 16
"""That run at once, beside streams: those last as long as runs do."""


class LocalTransport:
    """A :class:`~backends.transports.transport.Transport` without a network.

    Parameters
    ----------
    host: what :attr:`host` returns.
    environment: what commands see; None: this process's environment.
    """

    def __init__(self, host: Host, *, environment: Mapping[str, str] | None = None) -> None:
        self._host = host
        given = os.environ if environment is None else environment
        self._environment = {k: v for k, v in given.items() if k not in _NOT_PASSED_ON}
        self._slots = asyncio.Semaphore(MAX_COMMANDS)

    @property
    def host(self) -> Host:
        return self._host

    async def connect(self) -> None:
        """Nothing to connect to."""

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        stdout = Said(self._host.name)
        async with asyncio.timeout(timeout_s), self._slots:
            status, stderr = await self._execute(command, stdout.take, stdin)
        return Completed(status, bytes(stdout.content), stderr)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        status, stderr = await self._execute(command, on_stdout, b"")
        return Completed(status, b"", stderr)

    async def close(self) -> None:
        """Nothing is held between commands."""

    async def _execute(
        self, command: str, on_stdout: Callable[[bytes], None], stdin: bytes
    ) -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        stderr = Said(self._host.name)
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Process(on_stdout, stderr.take, done),
                "/bin/sh",
                "-c",
                command,
                env=self._environment,
                start_new_session=True,
                # A console whose directory was removed must still be able to run commands.
                cwd=Path("/"),
            )
        )
        try:
            # asyncio never comes back from a process that is cancelled while it starts.
            transport, _ = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_at_once)
            raise
        except OSError as error:
            detail = f"cannot start /bin/sh: {error.strerror}"
            raise HostUnreachableError(self._host.name, Problem.OTHER, detail) from error
        try:
            _feed(transport, stdin)
            await done
            return transport.get_returncode() or 0, bytes(stderr.content)
        finally:
            _end(transport)


def _end(transport: asyncio.SubprocessTransport) -> None:
    """Its process and whoever is with it; what it still says is not waited for."""
    if transport.get_returncode() is not None:
        transport.close()
        return
    # The transport's own close() would reap the process, and asyncio's watcher, which waits for it,
    # complain of an unknown one. With its pipes closed it closes when the process has ended.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(transport.get_pid(), signal.SIGTERM)
        os.kill(transport.get_pid(), signal.SIGKILL)
    for fd in range(3):
        if (pipe := transport.get_pipe_transport(fd)) is not None:
            pipe.close()


def _end_at_once(starting: asyncio.Future[tuple[asyncio.SubprocessTransport, _Process]]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        _end(starting.result()[0])


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        if stdin:
            pipe.write(stdin)
        pipe.write_eof()


class _Process(asyncio.SubprocessProtocol):
    """Hands stdout on as it comes. ``done`` resolves when the process and its pipes have ended."""

    def __init__(
        self,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        done: asyncio.Future[None],
    ) -> None:
        self._on_stdout = on_stdout
        self._on_stderr = on_stderr
        self._done = done
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._done.done():
            return
        try:
            (self._on_stderr if fd == _STDERR else self._on_stdout)(data)
        except Exception as error:  # the caller's own error goes back to the caller
            self._done.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        # asyncio calls this when the process has exited and all of its pipes are closed.
        if self._transport is not None:
            self._transport.close()
        if not self._done.done():
            self._done.set_result(None)


def open_transport(host: Host, _pool: object) -> LocalTransport:
    """For :class:`backends.transports.pool.TransportPool`: nothing is shared."""
    return LocalTransport(host)
