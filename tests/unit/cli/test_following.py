"""What is said of a campaign at its end, and when nobody follows it any more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tui.cli.shared.follow import failures, left_behind

CAMPAIGN = Path("/c/NAME")


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ({"active": 2}, "the runs go on. Come back with: dlperf-tui resume NAME"),
        ({}, "no run is at work. Go on with: dlperf-tui resume NAME"),
        ({"held": True}, "what is left is paused. Start it with: dlperf-tui unpause NAME"),
        ({"finished": True}, "the campaign has ended"),
        (
            {"active": 2, "simulated": True},
            "the simulated hosts are gone. Go on with it in: dlperf-tui demo --campaigns /c",
        ),
    ],
)
def test_only_runs_that_are_at_work_are_said_to_go_on(left: dict[str, Any], words: str) -> None:
    usual = {"active": 0, "held": False, "finished": False, "simulated": False, "path": CAMPAIGN}
    snapshot: Any = SimpleNamespace(**usual | left)
    assert next(left_behind(snapshot, "NAME")) == f"interrupted; {words}"


def _failed(
    repeat: int,
    reason: str,
    label: str = "1n1g",
    *,
    profile: str = "torch-gpt",
    profiled: bool = False,
) -> Any:
    return SimpleNamespace(
        profile=profile,
        case=SimpleNamespace(label=label),
        which="profiled" if profiled else f"#{repeat}",
        reason=reason,
        in_vain=False,
        evidence=(f"line of {repeat}",),
    )


def test_repeats_that_failed_alike_are_told_once() -> None:
    memory, killed = "out of GPU memory", "killed"
    runs = [
        _failed(1, memory),
        _failed(2, memory),
        _failed(2, memory, "1n2g"),
        _failed(3, killed),
        _failed(4, memory, profiled=True),
        _failed(1, memory, profile="torch-resnet50"),
    ]
    assert list(failures(runs)) == [
        "failed: torch-gpt 1n1g #1, #2, profiled: out of GPU memory",
        "    line of 1",
        "failed: torch-gpt 1n2g #2: out of GPU memory",
        "    line of 2",
        "failed: torch-gpt 1n1g #3: killed",
        "    line of 3",
        "failed: torch-resnet50 1n1g #1: out of GPU memory",
        "    line of 1",
    ]
