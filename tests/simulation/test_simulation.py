"""The simulation itself: a seed plays the same story each time, and its stories are rich."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.keeping import play_kept
from tests.simulation.playing import play_all
from tests.simulation.scenario import play_power_failure
from tests.support.campaigns import ROOT


@pytest.mark.parametrize("seed", [8, 133])
def test_a_seed_plays_to_the_same_event_each_time(seed: int) -> None:
    """In another process with other hashes, too."""

    def played(hashes: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tests.simulation", "--replay", str(seed)],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.count("\n") > 20, done.stderr
        return done.stdout

    assert played("1") == played("2")


def test_a_power_failure_at_any_step_loses_nothing_that_was_promised() -> None:
    """What was not synced is gone, and the campaign is taken up again from what is left."""
    (whole,) = play_all([1_000_000], 1, play_power_failure)
    told = play_all(range(1, whole.steps, 12), 2, play_power_failure)
    assert [(one.seed, one.violations) for one in told if one.violations] == []


def test_what_the_seeds_tell_is_rich_and_breaks_no_promise() -> None:
    told = list(play_all(range(25, 60), 2))
    assert [(one.seed, one.violations) for one in told if one.violations] == []
    text = "\n".join(line for one in told for line in one.trace)
    for happened in (
        *("killed at step", "loses its power", "is cut off", "answer is lost", "suspended"),
        *("starts on login2: resume", "cancel", "is killed", "bytes are left here"),
        *("succeeded", "failed", "a neighbour wants it", ", which packs too"),
    ):
        assert happened in text, happened
    assert sum(one.steps for one in told) > 35 * 300


def test_five_hours_with_keepers_that_are_killed_and_two_operators_who_ask_at_once() -> None:
    """Everything is done once, and every request answered once."""
    told = list(play_all([1], 1, play_kept, 1))
    assert [(one.seed, one.violations) for one in told if one.violations] == []
    text = "\n".join(line for one in told for line in one.trace)
    for happened in ("keep[", "killed at step", "goes on with"):
        assert happened in text, happened
