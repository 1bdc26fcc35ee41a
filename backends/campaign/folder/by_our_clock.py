"""When something of a demo's campaign was, by the clock of who reads of it: its own runs ahead."""

from __future__ import annotations

import contextlib
from pathlib import Path

from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import journal
from backends.campaign.record.state import CampaignState


def begun_at(state: CampaignState, directory: Path) -> float | None:
    """Seconds since the epoch; what was asked for is written first, and never again."""
    at = state.created_at
    return at if at is None else _at_most(at, state, directory, REQUEST_NAME, journal.FILE_NAME)


def was_at(at: float, state: CampaignState, directory: Path) -> float:
    """Of what the journal says was ``at`` that time: as far from its begin to its newest event, by
    the clock of who reads, as by the campaign's own."""
    began, begun = state.created_at, begun_at(state, directory)
    wrote = _at_most(at, state, directory, journal.FILE_NAME)
    if not state.simulated or began is None or begun is None or wrote >= at:
        return wrote
    ends = (end for run in state.runs.values() for end in (run.ended_at, run.last_reading_at))
    newest = max([at, *(end for end in ends if end is not None)])
    return begun + (at - began) / max(newest - began, 1.0) * max(0.0, wrote - begun)


def _at_most(at: float, state: CampaignState, directory: Path, *files: str) -> float:
    """Time flies for simulated hosts: nothing was later than it was written down."""
    for name in files if state.simulated else ():
        with contextlib.suppress(OSError):
            at = min(at, (directory / name).stat().st_mtime)
    return at
