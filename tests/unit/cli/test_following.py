"""What is said when nobody follows a campaign any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tui.cli.shared.follow import left_behind


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ({"active": 2}, "the runs go on. Come back with: dlperf-tui resume NAME"),
        ({}, "no run is at work. Go on with: dlperf-tui resume NAME"),
        ({"held": True}, "what is left is paused. Start it with: dlperf-tui unpause NAME"),
        ({"finished": True}, "the campaign has ended"),
        (
            {"active": 2, "simulated": True},
            "the simulated hosts are gone. Go on with it in: dlperf-tui demo",
        ),
    ],
)
def test_only_runs_that_are_at_work_are_said_to_go_on(left: dict[str, Any], words: str) -> None:
    usual = {"active": 0, "held": False, "finished": False, "simulated": False}
    snapshot: Any = SimpleNamespace(**usual | left)
    assert next(left_behind(snapshot, "NAME")) == f"interrupted; {words}"
