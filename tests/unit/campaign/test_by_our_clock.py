"""Ages of what a demo measured: by the clock of who reads, whatever else happens meanwhile."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.by_our_clock import was_at
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.state import fold
from tests.unit.cli.conftest import assigned, planned, succeeded

BEGUN, MADE_UP = 1_000_000.0, 5_000_000.0


@settings(deadline=None)
@given(
    st.lists(st.floats(1, 600), min_size=1, max_size=8),
    st.floats(1, 60),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 86400.0]),
)
def test_what_ended_so_long_ago_did_so_however_many_events_came_since(
    passed: list[float], speed: float, simulated: bool, renamed_after: float
) -> None:
    at, events = 0.0, [ev.CampaignCreated(t=MADE_UP, campaign="c", simulated=simulated)]
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for file in (REQUEST_NAME, journal.FILE_NAME):
            (directory / file).touch()
        os.utime(directory / REQUEST_NAME, (BEGUN, BEGUN))
        for number, seconds in enumerate(passed):
            at += seconds
            run = f"r{number}"
            told = (planned(run), replace(assigned(run), t=MADE_UP), succeeded(run))
            events += [*told[:2], replace(told[2], t=MADE_UP + at * speed)]
            ends.append(at)
            state = fold(events)
            log = directory / state.runs[run].log
            log.parent.mkdir(exist_ok=True)
            log.touch()
            os.utime(log, (BEGUN + at,) * 2)
            os.utime(directory / journal.FILE_NAME, (BEGUN + at + renamed_after,) * 2)
            for end in ends:
                when = was_at(MADE_UP + end * speed, state, directory)
                expected = BEGUN + end if simulated else MADE_UP + end * speed
                assert when == pytest.approx(expected, abs=0.01)
