"""An operator's command, started for an occasion: words, JSON on its stdin, and a limit of time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any  # JSON

from profiles.cleantext import clean_text

LIMIT_S = 30.0
POLL_S = 0.05
_SHOWN = 200


async def run_command(
    command: Sequence[str],
    document: Mapping[str, Any],
    started: Callable[[], None] = lambda: None,
    limit_s: float = LIMIT_S,
) -> str:
    """Start it without a shell; returns why it failed, in one line, or nothing.

    It is in a session of its own and its input is a file, so that it goes on, and hears all of it,
    where this process ends or nobody waits for it any more: asyncio would kill a process of its
    own then. ``started``: called once nothing can keep it from beginning.
    """
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        told.write(json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        told.write(b"\n")
        told.seek(0)
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 (milliseconds, and it must outlive us)
                command, stdin=told, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )
        except (OSError, ValueError) as error:
            return f"cannot be started: {getattr(error, 'strerror', None) or error}"
        finally:
            started()
        try:
            async with asyncio.timeout(limit_s):
                while (status := process.poll()) is None:  # noqa: ASYNC110 (nobody else tells)
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"was ended after {limit_s:g} s"
        if status == 0:
            return ""
        said.seek(max(0, said.seek(0, os.SEEK_END) - 4096))
        lines = said.read().decode("utf-8", "replace").strip().splitlines()
    last = f": {clean_text(lines[-1])[:_SHOWN]}" if lines else ""
    return f"ended with {status}{last}"
