"""A target that was missed is told with what was reached and what it would likely take."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.auto_repeats import LOOKS, AutoRepeats, Quantity, Stop, width_of
from backends.results.grade import WIDEST_INTERVAL
from backends.results.missed_targets import missed_targets
from backends.results.numbers import percent
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from tui.cli.shared.say_findings import say_missed

Runs = Callable[..., list[RunResult]]
MISSED = [stop for stop in Stop if stop not in (Stop.ASKED, Stop.REACHED)]


def group_of(runs_of: Runs, n: int, scatter: float, stop: Stop, seed: int = 1) -> Group:
    chance = random.Random(seed)
    runs = [
        replace(run, stopped=str(stop))
        for tag in ("1n1g", "1n2g")
        for run in runs_of(tag, [100 * (1 + scatter * chance.uniform(-1, 1)) for _ in range(n)])
    ]
    (group,) = summarise(runs)
    return group


@given(
    n=st.integers(1, 40),
    scatter=st.floats(0.005, 0.1),
    target=st.floats(0.001, 0.1),
    quantity=st.sampled_from(list(Quantity)),
    stop=st.sampled_from(list(Stop)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_missed_target_is_told_with_what_was_reached_and_how_many_more(
    runs_of: Runs, n: int, scatter: float, target: float, quantity: Quantity, stop: Stop
) -> None:
    group = group_of(runs_of, n, scatter, stop)
    told = list(missed_targets(AutoRepeats(target, quantity), group))
    assert [case.case for case, _ in told] == (["1n1g", "1n2g"] if stop in MISSED else [])
    for case, line in told:
        assert f"asked for ±{100 * target:g}% of its " in line
        speedup = quantity is Quantity.SPEEDUP and case.case == "1n2g"
        assert ("of its speedup" in line) is speedup
        base = group.base_case.throughputs if speedup else None
        width = width_of(case.throughputs, base)
        if width is None:
            assert n < LOOKS[0]
            assert "not known from" in line
            continue
        reached = percent(width, 2, beyond=[target, *WIDEST_INTERVAL.values()])
        assert f"reached ±{reached} with {n} repeats" in line
        more = re.search(r"about (\d+) more", line)
        assert (more is None) is (stop is Stop.PLATEAU)
        if more is not None:
            sides = [case.throughputs, *([base] if base else [])]
            error = math.hypot(*(stdev(side) / fmean(side) for side in sides)) * 1.96 * 1.2533
            in_all = n + int(more[1])
            assert int(more[1]) >= 2
            assert error / math.sqrt(in_all) < 1.02 * target
            assert in_all <= math.ceil(max(1.4 * (error / target) ** 2 + 2, 1.4 * n, 8))


def test_run_says_it_of_each_case(runs_of: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    group = group_of(runs_of, 8, 0.05, Stop.MAX_REPEATS)
    say_missed(AutoRepeats(0.01), [group])
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("asked for ±1% of its throughput, reached ±") == 2
    assert "note: 1n2g: " in said
