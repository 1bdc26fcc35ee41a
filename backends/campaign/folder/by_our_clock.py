"""When something of a demo's campaign was, by the clock of who reads of it: its own runs ahead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import journal
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState


def begun_at(state: CampaignState, directory: Path) -> float | None:
    """Seconds since the epoch; what was asked for is written first, and never again."""
    at = state.created_at
    return at if at is None else _at_most(at, state, directory, REQUEST_NAME, journal.FILE_NAME)


def was_at(at: float, state: CampaignState, directory: Path) -> float:
    """Of what the journal says was ``at`` that time: as far from its begin to its newest event, by
    the clock of who reads, as by the campaign's own."""
    began, begun = state.created_at, begun_at(state, directory)
    newest, log = max(map(_last_of, _runs(state)), default=(0.0, ""))
    newest = max(at, newest)
    # A campaign that is moved is written to again; the log of what ran last is not.
    wrote = _at_most(at, state, directory, journal.FILE_NAME, *filter(None, [log]))
    if not state.simulated or began is None or begun is None or wrote >= at:
        return wrote
    return begun + (at - began) / max(newest - began, 1.0) * max(0.0, wrote - begun)


def _runs(state: CampaignState) -> Iterable[RunRecord]:
    return state.runs.values() if state.simulated else ()


def _last_of(run: RunRecord) -> tuple[float, str]:
    return max(run.ended_at or 0.0, run.last_reading_at or 0.0), run.log


def _at_most(at: float, state: CampaignState, directory: Path, *files: str) -> float:
    """Time flies for simulated hosts: nothing was later than it was written down."""
    for name in files if state.simulated else ():
        with contextlib.suppress(OSError):
            at = min(at, (directory / name).stat().st_mtime)
    return at
