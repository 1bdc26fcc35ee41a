"""The simulation is no theatre: it finds the faults of the past when they are put back."""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, find

MOST_SEEDS = 400
SOON_FOUND = {
    "cancel says so at once and deletes the log": 28,
    "a copy of a campaign goes on beside it": 21,
    "hosts are assigned before what is there is adopted": 20,
    "what a handler of TERM starts is ended at once": 7,
    "what is paused is started all the same": 2,
    "the first of several runs on a host gives it back": 5,
}
"""With the seed that told of it last; another story of it is looked for where that does no more.
All of them take minutes: ``make simulate-mutations``."""


@pytest.mark.parametrize("name", SOON_FOUND)
def test_a_fault_of_the_past_is_found(name: str) -> None:
    assert name in MUTATIONS
    found = find(name, MOST_SEEDS, jobs=2, likely=SOON_FOUND[name])
    assert found is not None
    print(f"{name}: found after {found.seeds} seeds: {found.violation}")
