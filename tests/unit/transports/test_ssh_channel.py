"""A command whose connection breaks: one error for the caller, and nothing left over."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import asyncssh
import pytest

from backends.transports.ssh_channel import execute
from backends.transports.transport import HostUnreachableError

Begin = Callable[[asyncssh.SSHClientSession[bytes]], None]


class Connection:
    """asyncssh's, as far as a command needs it; ``begin`` is what happens to its session."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    async def create_session(self, factory: Callable[[], Any], *_: object, **__: object) -> Any:
        session = factory()
        self._begin(session)
        raise BrokenPipeError(32, "Broken pipe")

    def is_closed(self) -> bool:
        return True


@pytest.mark.parametrize(
    "lost", [None, BrokenPipeError(32, "Broken pipe"), asyncssh.ConnectionLost("lost")]
)
async def test_a_connection_that_breaks_while_a_command_begins_is_told_once(
    lost: Exception | None,
) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    connection: Any = Connection(lambda session: session.connection_lost(lost))
    with pytest.raises(HostUnreachableError, match="node1"):
        await execute(connection, "node1", "true", lambda _: None, b"", 5.0)
    gc.collect()
    await asyncio.sleep(0)
    assert told == []
