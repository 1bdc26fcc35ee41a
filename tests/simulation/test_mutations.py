"""The simulation is no theatre: it finds the faults of the past when they are put back."""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, find

MOST_SEEDS = 400
SOON_FOUND = (
    "cancel says so at once and deletes the log",
    "a copy of a campaign goes on beside it",
    "hosts are assigned before what is there is adopted",
    "what a handler of TERM starts is ended at once",
    "what is paused is started all the same",
    "the first of several runs on a host gives it back",
)
"""All of them take minutes: ``make simulate-mutations``."""


@pytest.mark.parametrize("name", SOON_FOUND)
def test_a_fault_of_the_past_is_found(name: str) -> None:
    assert name in MUTATIONS
    found = find(name, MOST_SEEDS, jobs=2)
    assert found is not None
    print(f"{name}: found after {found.seeds} seeds: {found.violation}")
