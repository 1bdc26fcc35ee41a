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
    """Of what the journal says was ``at`` that time."""
    return _at_most(at, state, directory, journal.FILE_NAME)


def _at_most(at: float, state: CampaignState, directory: Path, *files: str) -> float:
    """Time flies for simulated hosts: nothing was later than it was written down."""
    for name in files if state.simulated else ():
        with contextlib.suppress(OSError):
            at = min(at, (directory / name).stat().st_mtime)
    return at
