"""Repeats until it is known: the looks, the confirming batch, the plateau, the limits."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.auto_repeats import (
    LOOKS,
    AutoRepeats,
    Decision,
    Progress,
    Quantity,
    Stop,
    decide,
    expected_repeats,
    limited,
    narrow,
    parse_repeats,
)
from backends.results.ratios import ratio_interval
from backends.results.statistics import half_width
from profiles.errors import SelectionError
from tests.statistics import stopping
from tests.statistics.noise import normal

RULE = AutoRepeats(max_repeats=100)


def noise(n: int, cv: float, seed: int = 1, center: float = 100.0) -> list[float]:
    numbers = random.Random(seed)
    return [numbers.gauss(center, cv * center) for _ in range(n)]


def calm(n: int, half: float) -> list[float]:
    """Repeats whose interval is ±``half`` whatever their number, as long as that is even."""
    return [100 * (1 + half * (-1) ** i) for i in range(n)]


def case(values: Sequence[float], key: str = "1n1g", **more: object) -> Progress:
    fields: dict[str, object] = {"repeats": len(values), "base": key, **more}
    return Progress(key, tuple(values), **fields)  # type: ignore[arg-type]


def alone(values: Sequence[float], rule: AutoRepeats = RULE, **more: object) -> Decision:
    return decide(rule, [case(values, **more)])


@pytest.mark.parametrize("n", range(6))
def test_six_repeats_come_first(n: int):
    assert alone(noise(n, 0.0001)) == Decision({"1n1g": 6 - n}, {})


@pytest.mark.parametrize(("n", "more"), [(6, 2), (8, 3), (9, 2), (11, 4), (15, 5), (20, 7)])
def test_what_is_not_narrow_goes_on_to_the_next_look(n: int, more: int):
    assert alone(calm(n, 0.05)) == Decision({"1n1g": more}, {})


def test_looks_are_a_third_apart():
    assert LOOKS[:8] == (6, 8, 11, 15, 20, 27, 36, 48)
    for earlier, later in pairwise(LOOKS):
        assert math.floor(earlier * 4 / 3) <= later <= math.ceil(earlier * 4 / 3)
    assert LOOKS[-1] * 4 / 3 > 1000, "no campaign takes more"


def test_narrow_interval_is_confirmed_by_two_repeats():
    assert alone(calm(6, 0.005)) == Decision({"1n1g": 2}, {})
    assert alone(calm(8, 0.005)) == Decision({}, {"1n1g": Stop.REACHED})
    # It has become narrow at this look; two repeats ago it was not.
    late = [*calm(8, 0.02)[:2], *calm(18, 0.004)]
    assert half_width(late) == pytest.approx(0.004, rel=0.01)
    assert half_width(late[:9]) == pytest.approx(0.004, rel=0.01)
    assert not narrow(RULE, late[:9])


def test_what_two_more_repeats_take_back_goes_on_to_the_next_look():
    values = [*calm(6, 0.005), 103.0, 97.0]
    assert half_width(values) == pytest.approx(0.03)
    assert alone(values) == Decision({"1n1g": 3}, {})


@pytest.mark.parametrize(("target", "stopped"), [(0.0049, False), (0.0051, True)])
def test_target_is_half_of_the_interval_over_the_median(target: float, stopped: bool):
    assert bool(alone(calm(8, 0.005), replace(RULE, target=target)).stopped) is stopped


def test_interval_that_no_longer_narrows_is_given_up():
    drifting = [100 - 0.3 * i for i in range(27)]
    assert alone(drifting) == Decision({}, {"1n1g": Stop.PLATEAU})
    assert alone(drifting[:20]) == Decision({"1n1g": 7}, {})
    assert alone(drifting[:26]) == Decision({"1n1g": 1}, {})
    assert alone(noise(27, 0.03, seed=5)).more == {"1n1g": 9}


def test_interval_must_be_narrower_than_with_less_than_half_of_the_repeats():
    """Of 27 that is the look at 11: 8 are much less than half, 15 are more."""
    values = noise(27, 0.03, seed=49)
    at_8, at_11, at_15, now = (half_width(values[:n]) or 0.0 for n in (8, 11, 15, 27))
    assert at_11 < now < min(at_8, at_15)
    assert alone(values).stopped == {"1n1g": Stop.PLATEAU}


def test_most_repeats_count_failures_too():
    rule = replace(RULE, max_repeats=11)
    assert alone(calm(8, 0.05), rule).more == {"1n1g": 3}
    assert alone(calm(8, 0.05), rule, repeats=10).more == {"1n1g": 1}
    assert alone(calm(8, 0.05), rule, repeats=11) == Decision({}, {"1n1g": Stop.MAX_REPEATS})


def test_three_failures_in_a_row_end_a_case():
    assert alone([], repeats=3, failed_in_a_row=3).stopped == {"1n1g": Stop.FAILING}
    assert alone(calm(6, 0.05), repeats=8, failed_in_a_row=2).more == {"1n1g": 2}


def test_a_cancelled_repeat_ends_its_case():
    assert alone(calm(6, 0.05), cancelled=True).stopped == {"1n1g": Stop.CANCELLED}


def test_budget_is_of_device_time_and_the_first_six_are_free():
    rule = replace(RULE, budget_gpu_s=100.0)
    slow = case(calm(6, 0.05), gpu_s=30.0)
    assert decide(rule, [slow], spent_gpu_s=30.0).more == {"1n1g": 2}
    assert decide(rule, [slow], spent_gpu_s=60.0).more == {"1n1g": 1}
    assert decide(rule, [slow], spent_gpu_s=80.0) == Decision({}, {"1n1g": Stop.BUDGET})
    assert decide(rule, [case(calm(4, 0.05))], spent_gpu_s=500.0).more == {"1n1g": 2}


def test_budget_is_shared_by_the_cases():
    rule = replace(RULE, budget_gpu_s=100.0)
    cases = [case(calm(6, 0.05), key, gpu_s=30.0) for key in ("a", "b", "c")]
    decision = decide(rule, cases, spent_gpu_s=0.0)
    assert sum(decision.more.values()) == 3
    assert decision.stopped == {"c": Stop.BUDGET}


SPEEDUP = replace(RULE, quantity=Quantity.SPEEDUP)


def pair(base: Sequence[float], values: Sequence[float], **more: object) -> list[Progress]:
    return [case(base, "base", gpu_s=1.0), case(values, "big", base="base", gpu_s=1.0, **more)]


def test_speedup_stops_where_its_interval_is_narrow():
    base, values = calm(8, 0.003), [8 * v for v in calm(8, 0.003)]
    assert decide(SPEEDUP, pair(base, values)) == Decision(
        {}, {"big": Stop.REACHED, "base": Stop.REACHED}
    )
    interval = ratio_interval(base, values)
    assert interval is not None
    assert (interval.high - interval.low) / 16 <= 0.01


def test_repeats_go_where_they_narrow_the_speedup_most():
    wide, tight = calm(8, 0.03), calm(8, 0.002)
    assert decide(SPEEDUP, pair(wide, tight)).more == {"base": 3}
    assert decide(SPEEDUP, pair(tight, wide)).more == {"big": 3}
    assert decide(SPEEDUP, pair(wide, wide)).more == {"base": 3, "big": 3}


def test_a_repeat_that_costs_more_gpu_time_must_narrow_more():
    wide = calm(8, 0.03)
    cases = [case(wide, "base", gpu_s=1.0), case(wide, "big", base="base", gpu_s=8.0)]
    assert decide(SPEEDUP, cases).more == {"base": 3}


@pytest.mark.parametrize(("gain", "waits"), [(0.45, True), (0.55, False)])
def test_what_gains_half_as_much_is_worth_its_repeats_too(gain: float, waits: bool):
    """Of a base that is as wide and costs less."""
    wide = calm(8, 0.03)
    cases = [case(wide, "base", gpu_s=1.0), case(wide, "big", base="base", gpu_s=1 / gain)]
    assert ("big" not in decide(SPEEDUP, cases).more) is waits


def test_base_counts_for_all_of_its_cases():
    base, others = calm(8, 0.02), calm(8, 0.02)
    cases = [case(base, "base", gpu_s=1.0)]
    cases += [case(others, key, base="base", gpu_s=1.0) for key in ("two", "four", "eight")]
    assert decide(SPEEDUP, cases).more == {"base": 3}
    assert decide(SPEEDUP, cases[:2]).more == {"base": 3, "two": 3}


def test_speedup_without_a_base_that_succeeds_is_given_up():
    cases = [
        case([], "base", repeats=3, failed_in_a_row=3),
        case(calm(8, 0.03), "big", base="base"),
    ]
    assert decide(SPEEDUP, cases).stopped == {"base": Stop.FAILING, "big": Stop.FAILING}


def test_base_alone_is_measured_for_its_own_sake():
    assert decide(SPEEDUP, [case(calm(8, 0.003), "base")]).stopped == {"base": Stop.REACHED}


@given(
    st.lists(st.tuples(st.integers(0, 60), st.floats(1e-5, 0.05)), min_size=1, max_size=4),
    st.sampled_from(Quantity),
    st.integers(6, 60),
    st.none() | st.floats(0, 1e4),
)
def test_every_case_gets_more_or_stops_or_waits_for_one_that_gets_more(
    shapes: list[tuple[int, float]], quantity: Quantity, most: int, budget: float | None
):
    rule = AutoRepeats(0.01, quantity, most, budget)
    cases = [
        replace(case(noise(min(n, most), cv, seed=i), str(i), gpu_s=10.0), base="0")
        for i, (n, cv) in enumerate(shapes)
    ]
    decision = decide(rule, cases, spent_gpu_s=50.0)
    assert not set(decision.more) & set(decision.stopped)
    assert all(wanted > 0 for wanted in decision.more.values())
    for progress in cases:
        known = progress.key in decision.more or progress.key in decision.stopped
        assert known or decision.more
        assert progress.repeats + decision.more.get(progress.key, 0) <= max(most, progress.repeats)


def test_every_campaign_comes_to_an_end_and_does_the_same_after_a_resume():
    for seed in range(20):
        base, big = noise(100, 0.02, seed), noise(100, 0.01, seed + 50)
        n, m = stopping.speedup_campaign(base, big, SPEEDUP)
        assert 8 <= n <= 100
        assert 8 <= m <= 100


def test_simulated_stopping_is_that_of_the_product():
    rng = np.random.default_rng(4)
    for cv in (0.004, 0.01, 0.02, 0.03):
        values = normal(rng, 40, stopping.RULE.max_repeats, cv)
        expected = stopping.repeats_of(values)
        for row, taken in zip(values.tolist(), expected, strict=True):
            n = 0
            while more := decide(stopping.RULE, [case(row[:n])]).more:
                n += more["1n1g"]
            assert n == taken


def test_what_is_still_needed_is_a_look_that_is_to_come():
    values = calm(8, 0.02)
    assert expected_repeats(RULE, values[:5]) is None
    assert expected_repeats(RULE, values) in LOOKS[LOOKS.index(8) + 1 :]
    assert expected_repeats(RULE, calm(8, 0.001)) == 8
    assert expected_repeats(RULE, calm(6, 0.001)) == 8  # it has to be confirmed


@pytest.mark.parametrize("n", [6, 8, 11, 20])
@pytest.mark.parametrize("cv", [0.015, 0.02, 0.03])
def test_what_is_told_to_be_needed_is_about_what_it_takes(n: int, cv: float):
    """The median of what is told, over what the rule then takes."""
    rng = np.random.default_rng(11)
    told = []
    for row in normal(rng, 120, stopping.RULE.max_repeats, cv).tolist():
        taken = n
        while more := decide(stopping.RULE, [case(row[:taken])]).more:
            taken += more["1n1g"]
        if taken > n and (expected := expected_repeats(stopping.RULE, row[:n])):
            told.append(expected / taken)
    assert 0.65 <= np.median(told) <= 1.35, (len(told), np.median(told))


def test_a_speedup_takes_as_many_more_as_both_sides_scatter():
    values, steady = calm(20, 0.02), calm(20, 0.0001)
    alone = expected_repeats(RULE, values)
    assert expected_repeats(RULE, values, steady) == alone
    both = expected_repeats(RULE, values, values)
    assert alone is not None
    assert both is not None
    assert both > alone


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("auto", AutoRepeats(0.01, Quantity.THROUGHPUT, 50, None)),
        ("auto:0.01%", AutoRepeats(0.0001)),
        ("auto:50%", AutoRepeats(0.5)),
        ("auto:0.5%", AutoRepeats(0.005)),
        ("AUTO:2%:speedup", AutoRepeats(0.02, Quantity.SPEEDUP)),
        ("auto:speedup", AutoRepeats(quantity=Quantity.SPEEDUP)),
    ],
)
def test_rule_is_read_and_written(text: str, rule: AutoRepeats):
    assert parse_repeats(text) == rule
    assert parse_repeats(str(rule)) == rule
    assert parse_repeats("7") == 7


@pytest.mark.parametrize(
    "text", ["", "many", "auto:", "auto:1", "auto:0%", "auto:0.009%", "auto:51%", "auto:x%"]
)
def test_wrong_repeats_are_told_in_one_line(text: str):
    with pytest.raises(SelectionError) as raised:
        parse_repeats(text)
    assert "\n" not in str(raised.value)


def test_limits_are_checked():
    assert limited(RULE, 12, "2h") == replace(RULE, max_repeats=12, budget_gpu_s=7200.0)
    assert limited(RULE, 1000, None).max_repeats == 1000
    for most in (5, 1001):
        with pytest.raises(SelectionError, match="max_repeats must be 6 to 1000"):
            limited(RULE, most, None)
    with pytest.raises(SelectionError, match="budget"):
        limited(RULE, None, "much")
