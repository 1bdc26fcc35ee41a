"""The simulation is no theatre: it finds the faults of the past when they are put back."""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, find

MOST_SEEDS = 400


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_of_the_past_is_found(name: str) -> None:
    found = find(name, MOST_SEEDS, jobs=2)
    assert found is not None
    print(f"{name}: found after {found.seeds} seeds: {found.violation}")
