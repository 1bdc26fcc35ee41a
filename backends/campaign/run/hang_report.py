"""What the hosts of a run tell about it while it does not move."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.run.host_part import Member
from backends.remote.wrapper_messages import RemoteError
from backends.results.result_files import write_in_campaign
from backends.transports.transport import HostUnreachableError

ANSWER_LIMIT_S = 30.0


async def all_answer(members: Sequence[Member], run_id: str) -> bool:
    """Whether every host of the run can be asked at this moment."""

    async def answers(member: Member) -> bool:
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                await member.remote.status(run_id)
        except (HostUnreachableError, TimeoutError):
            return False
        except RemoteError:
            pass  # a strange answer is one
        return True

    return all(await asyncio.gather(*map(answers, members)))


async def diagnose(members: Sequence[Member], run_id: str, path: Path) -> str:
    """Keep what the hosts can tell about the stalled ranks before they are ended.

    Returns why it could not be written; empty when it was.
    """
    answers = await asyncio.gather(
        *(member.remote.diagnose(run_id) for member in members), return_exceptions=True
    )
    parts = [
        f"== {member.name}\n{answer}\n" for member, answer in zip(members, answers, strict=True)
    ]
    try:
        await asyncio.to_thread(write_in_campaign, path, "".join(parts))
    except OSError as error:
        return f"cannot write {path.name}: {error.strerror}"
    return ""
