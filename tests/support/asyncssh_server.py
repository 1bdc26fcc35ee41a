"""An SSH server that runs real commands, for machines without sshd.

python -m tests.support.asyncssh_server ADDRESS PORT HOST_KEY AUTHORIZED_KEYS
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

import asyncssh

_CHUNK = 65536


async def _run(process: asyncssh.SSHServerProcess[bytes]) -> None:
    server = process.get_extra_info("sockname")
    client = process.get_extra_info("peername")
    environment = {
        **os.environ,
        "SSH_CONNECTION": f"{client[0]} {client[1]} {server[0]} {server[1]}",
    }
    child = await asyncio.create_subprocess_exec(
        os.environ.get("SHELL", "/bin/sh"),
        "-c",
        process.command or "exit 1",
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
    address, port, host_key, authorized_keys = sys.argv[1:]
    server = await asyncssh.listen(
        address,
        int(port),
        server_host_keys=[host_key],
        authorized_client_keys=authorized_keys,
        process_factory=_run,
        encoding=None,
    )
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
