"""An SSH server that runs real commands: for machines without sshd, and for what sshd cannot do.

It does what the tests need of sshd: keys with a forced command, forwarding for those who jump,
MaxSessions. While the file SILENT exists it logs everybody in and answers no command.

python -m tests.support.asyncssh_server ADDRESS PORT HOST_KEY AUTHORIZED_KEYS SILENT MAX_SESSIONS
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import asyncssh

_CHUNK = 65536


class _Server(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, authorized_keys: Path, silent: Path, max_sessions: int) -> None:
        self._authorized_keys = authorized_keys
        self._silent = silent
        self._max_sessions = max_sessions
        self._forced = ""
        self._sessions = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._address: str = conn.get_extra_info("peername")[0]

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        # Read at every login, as sshd does; asyncssh itself would hide what a forced command is
        # forced upon.
        options = asyncssh.read_authorized_keys(str(self._authorized_keys)).validate(
            key, self._address, self._address
        )
        self._forced = str((options or {}).get("command", ""))
        return options is not None

    def auth_completed(self) -> None:
        print("Accepted publickey", file=sys.stderr, flush=True)  # as sshd says

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> bool:
        return True

    def session_requested(self) -> asyncssh.SSHServerProcess[bytes] | bool:
        if self._sessions >= self._max_sessions:
            return False
        self._sessions += 1
        return asyncssh.SSHServerProcess(self._run, None, 3, False)

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            if self._silent.exists():
                await process.channel.wait_closed()
            else:
                await _execute(process, self._forced)
        finally:
            self._sessions -= 1


async def _execute(process: asyncssh.SSHServerProcess[bytes], forced: str) -> None:
    server = process.get_extra_info("sockname")
    client = process.get_extra_info("peername")
    environment = {
        **os.environ,
        "SSH_CONNECTION": f"{client[0]} {client[1]} {server[0]} {server[1]}",
        "SSH_ORIGINAL_COMMAND": process.command or "",
    }
    child = await asyncio.create_subprocess_exec(
        os.environ.get("SHELL", "/bin/sh"),
        "-c",
        forced or process.command or "exit 1",
        env=environment,
        cwd=os.environ["HOME"],
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    # Not process.redirect: it takes the whole connection down when a client closes a channel.
    feeding = asyncio.create_task(_feed(process, child.stdin))
    pumping = asyncio.gather(
        _pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr), child.wait()
    )
    closed = asyncio.create_task(process.channel.wait_closed())
    either: list[asyncio.Future[Any]] = [pumping, closed]  # of different results
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not pumping.done():  # the client closed the channel
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        await pumping
    status = child.returncode or 0
    if not closed.done():
        if status < 0:
            process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
        else:
            process.exit(status)
    closed.cancel()
    feeding.cancel()


async def _feed(process: asyncssh.SSHServerProcess[bytes], stdin: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncssh.Error, asyncssh.SignalReceived):
        while data := await process.stdin.read(_CHUNK):
            stdin.write(data)
            await stdin.drain()
    stdin.close()


async def _pump(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()


async def main() -> None:
    address, port, host_key, authorized_keys, silent, max_sessions = sys.argv[1:]
    server = await asyncssh.listen(
        address,
        int(port),
        server_factory=lambda: _Server(Path(authorized_keys), Path(silent), int(max_sessions)),
        server_host_keys=[host_key],
        encoding=None,
    )
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
