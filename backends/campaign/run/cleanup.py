"""After a run has ended and is recorded: nothing of it stays on its hosts."""

from __future__ import annotations

import asyncio

from backends.campaign.record.state import RunRecord
from backends.remote.client import RemoteHost
from backends.remote.messages import RemoteError
from backends.transports.base import HostUnreachableError

LIMIT_S = 20.0
GRACE_S = 3.0


async def tidy_up(remote: RemoteHost, run: RunRecord) -> str:
    """Remove a run's files from one host, and end what still runs of it there.

    Returns what is left to do, in words; empty when nothing is.
    """
    try:
        async with asyncio.timeout(LIMIT_S):
            if run.clean.startswith("unverified"):
                return await _end(remote, run)
            try:
                await remote.remove(run.run_id)
            except RemoteError:  # it has not ended there
                return await _end(remote, run)
            return ""
    except HostUnreachableError as error:
        return str(error.problem)
    except TimeoutError:
        return "no answer"
    except RemoteError as error:
        return error.what


async def _end(remote: RemoteHost, run: RunRecord) -> str:
    report = await remote.cancel(run.run_id, grace_s=GRACE_S)
    if report.left is None:
        return report.detail
    if report.left:
        return f"{report.left} processes do not end"
    await remote.remove(run.run_id)
    return ""
