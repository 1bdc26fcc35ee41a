"""An SSH server that runs real commands, for machines without sshd.

python -m tests.support.asyncssh_server ADDRESS PORT HOST_KEY AUTHORIZED_KEYS
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import asyncssh


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
        cwd=Path.home(),
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
    status = await child.wait()
    await process.stdout.drain()
    if status < 0:
        process.exit_with_signal("KILL" if status == -9 else "TERM")
    else:
        process.exit(status)


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
