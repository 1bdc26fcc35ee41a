"""What campaigns that have no case in common are compared across, told of whom it is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tests.unit.results.test_history import STEADY
from tui.screens.compare_text import below_rows, labels_of
from tui.side_by_side import Side, held_against

Runs = Callable[..., list[RunResult]]
PARAMETERS = st.frozensets(st.sampled_from(["off", "on", "auto"]), min_size=1)


def side(runs_of: Runs, name: str, graphs: frozenset[str]) -> Side:
    runs = [
        run
        for value in sorted(graphs)
        for run in runs_of("1n1g", STEADY, parameters={"graphs": value}, campaign=name)
    ]
    about = SimpleNamespace(name=name, path=Path(name))
    return Side(about, tuple(runs), summarise(runs), "", ())  # type: ignore[arg-type]


@given(st.lists(PARAMETERS, min_size=2, max_size=4), st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_else_is_common_is_said_of_those_of_which_it_is_so(
    runs_of: Runs, values: list[frozenset[str]], baseline: int
) -> None:
    baseline %= len(values)
    sides = [side(runs_of, f"c{at}", graphs) for at, graphs in enumerate(values)]
    found = held_against(sides, baseline, 0.02)
    said = below_rows(found, labels_of(found)).plain
    others = [at for at in range(len(values)) if at != baseline]
    apart = [at for at in others if values[at].isdisjoint(values[baseline])]
    assert ("nothing else is common" in said) == bool(apart)
    some = f"with {' and '.join(str(at + 1) for at in apart)} " * (len(apart) < len(others))
    assert (f"▲ {some}across graphs: nothing else is common; a changes it" in said) == bool(apart)
    assert [at for at in others if found.across_with(at)] == apart
