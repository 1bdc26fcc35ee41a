"""One command over a connection that is there already: its bytes, its end, and what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable

import asyncssh

from backends.transports.channel_limit import NoChannelError
from backends.transports.login_shell import MARK
from backends.transports.ssh_errors import login_shell_problem, loss, silence
from backends.transports.transport import Said
from profiles.cleantext import clean_text


async def execute(
    connection: asyncssh.SSHClientConnection,
    host: str,
    line: str,
    on_stdout: Callable[[bytes], None],
    stdin: bytes,
    answer_timeout_s: float,
) -> tuple[int, bytes]:
    """Run one line of the login shell; returns exit status (-signal) and stderr.

    ``answer_timeout_s``: how long the server may take to begin it.

    Raises HostUnreachableError when the connection ends first or no command begins there,
    NoChannelError when the server opens no session.
    """
    ended = asyncio.get_running_loop().create_future()
    session = _Session(host, on_stdout, ended)
    channel: asyncssh.SSHClientChannel[bytes] | None = None
    try:
        # One host that logs in and then does nothing must not hold up what asks all of them.
        async with asyncio.timeout(answer_timeout_s) as patience:

            def begun() -> None:
                if not patience.expired():
                    patience.reschedule(None)

            session.on_begun = begun
            channel, _ = await connection.create_session(
                lambda: session, line, encoding=None, request_pty=False, send_env=(), env={}
            )
            # A command may end without reading; how it ended is what counts.
            with contextlib.suppress(BrokenPipeError):
                if stdin:
                    channel.write(stdin)
                channel.write_eof()
            await ended
    except TimeoutError as error:  # the kernel's is one, too
        raise (
            silence(host, answer_timeout_s) if patience.expired() else loss(host, error)
        ) from error
    except asyncssh.ChannelOpenError as error:
        if connection.is_closed():
            raise loss(host, error) from error
        raise NoChannelError(clean_text(str(error.reason))) from error
    except (asyncssh.Error, OSError) as error:
        raise loss(host, error) from error
    finally:
        session.on_begun = lambda: None
        if channel is not None and not session.closed:
            with contextlib.suppress(asyncssh.Error, OSError):
                channel.terminate()
            channel.close()
    if session.error is not None:
        raise session.error
    if session.status is None:
        raise loss(host, session.lost) from session.lost
    if not session.begun:
        raise login_shell_problem(host, session.status, session.before + session.stderr)
    return session.status, session.command_stderr()


class _Session(asyncssh.SSHClientSession[bytes]):
    """One command's channel: bytes go straight to a callback, without streams between."""

    def __init__(
        self, host: str, on_stdout: Callable[[bytes], None], ended: asyncio.Future[None]
    ) -> None:
        self._on_stdout = on_stdout
        self._stderr = Said(host)
        self._before = Said(host)
        self._ended = ended
        self.status: int | None = None
        self.begun = False
        self.closed = False
        self.error: Exception | None = None
        self.lost: Exception | None = None  # what ended the connection before the command
        self.on_begun: Callable[[], None] = lambda: None

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if self._ended.done():
            return
        try:
            self._take(data, on_stderr=datatype == asyncssh.EXTENDED_DATA_STDERR)
        except Exception as error:  # the caller's own error goes back to the caller
            self.error = error
            self._ended.set_result(None)

    def _take(self, data: bytes, *, on_stderr: bool) -> None:
        if on_stderr:
            self._stderr.take(data)
            return
        if not self.begun:
            self._before.take(data)
            _, mark, data = bytes(self._before.content).partition(MARK)
            if not mark:
                return
            self.begun = True
            self._before.content.clear()
            self.on_begun()
        if data:
            self._on_stdout(data)

    def command_stderr(self) -> bytes:
        """The command's own; all that came when it never began."""
        _, mark, own = self.stderr.partition(MARK)
        return own if mark else self.stderr

    @property
    def stderr(self) -> bytes:
        return bytes(self._stderr.content)

    @property
    def before(self) -> bytes:
        """What came on stdout before the command began."""
        return bytes(self._before.content)

    def exit_status_received(self, status: int) -> None:
        self.status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.status = -_signal_number(signal)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.lost = exc
        if not self._ended.done():
            self._ended.set_result(None)


def _signal_number(name: str) -> int:
    try:
        return int(signal.Signals[f"SIG{name}"])
    except KeyError:
        return 1
