"""Requests that nobody took while somebody was at work, and that nobody shall do any more: whoever
changes the campaign afterwards, here and now, has the later word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState
from backends.keeper.request import Answer
from backends.keeper.server import asker_of
from backends.keeper.spool import Spool

WHY = "nobody was at work on it when this was asked for, and it was changed since; ask again"
HALF = "whoever took this was killed, and the campaign was changed since; see 'dlperf-tui status'"


def refuse_overtaken(
    campaign: Path,
    state: CampaignState,
    clock: Callable[[], float],
    write: Callable[[Sequence[ev.Event]], None],
) -> None:
    """Answer every request that is not answered yet: it is refused. For whoever has the campaign's
    lock; ``write``: into its journal, on disk when it returns. Blocking.

    Raises OSError.
    """
    spool = Spool(campaign, clock)
    if not spool.is_there():
        return
    for request_id, wish in state.wishes.items():
        if wish.done is None:  # what of it was done, nobody knows
            write([ev.RequestAnswered(t=clock(), request=request_id, done=False, text=HALF)])
            spool.reply(Answer(request_id, False, HALF))
    while (taken := spool.take()) is not None:
        known = state.wishes.get(taken.id)
        if known is not None and known.done is not None:
            spool.reply(Answer(taken.id, known.done, known.text, known.changed))
            continue
        by, why = asker_of(campaign, taken.uid)
        why = why or taken.problem
        if not why and taken.request is not None:
            why, verb = WHY, str(taken.request.verb)
            write(
                [
                    ev.RequestAnswered(
                        t=clock(), request=taken.id, done=False, text=why, verb=verb, by=by
                    )
                ]
            )
        spool.reply(Answer(taken.id, False, why))
