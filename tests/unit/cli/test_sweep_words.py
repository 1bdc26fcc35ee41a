"""``sweep`` says who is measuring what it lets be."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.campaign.record.lock import Holder, Role
from backends.campaign.record.state import fold
from backends.leftovers import Claim
from backends.remote.wrapper_messages import Leftover, RunPhase
from tests.unit.cli.conftest import planned
from tui.cli.sweep import _describe


@pytest.mark.parametrize(
    ("by", "who"),
    [
        (Holder("alice", "vm", 7, 1, "n", Role.KEEPER), "the keeper of alice on vm (pid 7)"),
        (Holder("alice", "vm", 7, 1, "n"), "a console"),
        (None, "a console"),
    ],
)
def test_a_run_that_is_measured_is_told_with_who_measures_it(by: Holder | None, who: str) -> None:
    left = Leftover("node1", "a", RunPhase.RUNNING, processes=2)
    claim = Claim(Path("/c"), "live", fold([planned("a")]).runs["a"], by)
    assert f"still running, {who} is measuring it, 2 processes" in _describe(left, claim)
