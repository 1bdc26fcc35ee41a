"""Ending runs of a campaign that no console is at work on: what is asked for, what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from backends.campaign.record.cleanup_doubts import Cleanup, Doubt
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from backends.campaign.record.status_view import CampaignSnapshot

LOOK_EVERY_S = 1.0
PATIENCE_S = 10.0
"""A host that is away is tried for so long; then its run is left ``cancelling`` for another time.
A dead network is noticed only after 10 s more, so that it is about half a minute in all."""


@dataclass(frozen=True, slots=True)
class CancelOrder:
    """End ``run_ids`` (None: everything) of a campaign that no console is at work on; no more.

    ``patience_s``: for how long a host that is away is tried. A run whose end cannot be verified by
    then stays ``cancelling``, so that the campaign is not finished.
    """

    run_ids: frozenset[str] | None
    patience_s: float


@dataclass(frozen=True, slots=True)
class CancelOutcome:
    """``cancelled``: run ids that ended now, verified. ``unverified``: by run id, what is not."""

    cancelled: tuple[str, ...] = ()
    unverified: Mapping[str, tuple[Doubt, ...]] = field(default_factory=dict)


def order_of(run_ids: Collection[str] | None) -> CancelOrder:
    """To end these runs, or all."""
    return CancelOrder(None if run_ids is None else frozenset(run_ids), PATIENCE_S)


def outcome_of(
    runs: Mapping[str, RunRecord],
    unverified: Mapping[str, Cleanup],
    chosen: Collection[str],
    open_before: Collection[str],
) -> CancelOutcome:
    """After the end, of the ``chosen`` runs; ``open_before``: those that had not ended at first.

    ``unverified``: what nobody could verify of any run of the campaign.
    """
    doubts = {run_id: unverified[run_id].doubts for run_id in unverified if run_id in chosen}
    cancelled = tuple(
        run_id
        for run_id in open_before
        if runs[run_id].state is RunState.CANCELLED and run_id not in doubts
    )
    return CancelOutcome(cancelled, doubts)


def is_left(state: CampaignState, chosen: Collection[str]) -> bool:
    """Whether there is something to do for the end of these runs, or to give back for all."""
    runs = [state.run(run_id) for run_id in chosen]
    held = state.held is not None
    return held or any(not run.state.ended or run.cleanup.doubts for run in runs)


async def until_ended(
    ends: Coroutine[Any, Any, None],
    snapshot: Callable[[], CampaignSnapshot],
    say: Callable[[str], None],
) -> None:
    """Until what was ordered of a campaign is done; ``say``: what that waits for, when it is
    something else than before. Raises what stopped it."""
    work, told = asyncio.create_task(ends), ""
    try:
        while not (await asyncio.wait({work}, timeout=LOOK_EVERY_S))[0]:
            runs = snapshot().runs
            why = "; ".join(sorted({run.state_text for run in runs if run.state.waits}))
            if why and why != told:
                told = why
                say(f"waiting: {why}")
        await work
    finally:
        work.cancel()
