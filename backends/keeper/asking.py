"""Asking whoever is at work on a campaign, console or keeper, and waiting for the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.state import CampaignState, campaign_of
from backends.keeper.request import Answer, Request, Verb, new_id
from backends.keeper.spool import Spool
from profiles.errors import DlperfError, SelectionError

PATIENCE_S = 150.0
"""On NFS another machine may see a new file a minute late: the request, and then the answer."""
LOOK_EVERY_S = 0.2


class NoAnswerError(DlperfError):
    """Whoever is at work gave no answer in time."""

    exit_code = 1


async def ask(
    campaign: Path,
    state: CampaignState,
    verb: Verb,
    run_ids: Sequence[str] | None = None,
    *,
    repeats: int = 0,
    clock: Callable[[], float] = time.time,
    patience_s: float = PATIENCE_S,
    say: Callable[[str], None] = lambda words: None,
) -> Answer | None:
    """The answer; None: nobody is at work on the campaign, and nothing was asked of anybody.

    ``run_ids``: None: all that can be meant. ``say``: whom it waits for, when that takes a moment.

    Raises
    ------
    SelectionError: it was refused. NoAnswerError: nobody answered; it says whether the request was
        taken. DlperfError: it cannot be written.
    """
    lock = CampaignLock(campaign, clock)
    if (holder := await asyncio.to_thread(lock.living)) is None:
        return None
    spool = Spool(campaign, clock)
    runs = None if run_ids is None else tuple(run_ids)
    of = campaign_of(next(iter(state.runs), ""))
    request = Request(new_id(), of, verb, runs, repeats)
    await asyncio.to_thread(spool.put, request)
    answer = None
    try:
        answer = await _answer(spool, request, lock, patience_s, lambda: say(f"asking {holder} …"))
    finally:
        # What nobody has taken is not left to be done at some later time.
        back = answer is None and await asyncio.to_thread(spool.take_back, request.id)
    if answer is None and not back:  # it was taken, and perhaps answered just now
        answer = await asyncio.to_thread(spool.answer, request.id)
    if answer is None:
        if await asyncio.to_thread(lock.living) is None and back:
            return None
        raise _no_answer(campaign, str(holder), taken=not back)
    if not answer.done:
        raise SelectionError(answer.text)
    return answer


async def _answer(
    spool: Spool,
    request: Request,
    lock: CampaignLock,
    patience_s: float,
    waits: Callable[[], None],
) -> Answer | None:
    """None: there is none in time, or nobody is there any more who could give one."""
    until = asyncio.get_running_loop().time() + patience_s
    looks = 0
    while asyncio.get_running_loop().time() < until:
        if (answer := await asyncio.to_thread(spool.answer, request.id)) is not None:
            return answer
        if looks % 10 == 9 and await asyncio.to_thread(lock.living) is None:
            return await asyncio.to_thread(spool.answer, request.id)
        if looks == 5:
            waits()
        looks += 1
        await asyncio.sleep(LOOK_EVERY_S)
    return await asyncio.to_thread(spool.answer, request.id)


def _no_answer(campaign: Path, holder: str, *, taken: bool) -> NoAnswerError:
    if taken:
        return NoAnswerError(
            f"{holder} took the request and has not answered",
            where=str(campaign),
            remedy="'dlperf-tui status' shows what came of it; whoever goes on with the campaign "
            "does it first",
        )
    return NoAnswerError(
        f"{holder} gives no answer; the request was taken back, and nothing was done",
        where=str(campaign),
        remedy="try again, or end that process and ask again",
    )
