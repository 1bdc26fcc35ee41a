"""Ending runs of a campaign that no console is at work on: what is asked for, what came of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from backends.campaign.record.cleanup_doubts import Cleanup, Doubt
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState

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
