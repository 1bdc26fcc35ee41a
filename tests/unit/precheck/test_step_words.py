"""What a precheck will do, in words."""

from __future__ import annotations

import pytest

from backends.precheck.figures import Stage
from backends.precheck.plan_precheck import Step
from backends.precheck.words import step_text


@pytest.mark.parametrize(
    ("pairs", "rounds", "said"),
    [(1, 1, ", 1 pair in 1 round, "), (3, 3, ", 3 pairs in 3 rounds, ")],
)
def test_pairs_are_counted_as_one_or_several(pairs: int, rounds: int, said: str) -> None:
    step = Step(Stage.PAIRS, ("node1", "node2"), pairs, rounds, 10.0, "torch")
    assert said in step_text(step)
