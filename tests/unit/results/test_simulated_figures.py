"""The simulated figures of docs/statistics.md are what the rules give today, and they suffice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backends.results.comparison import Verdict, judge
from backends.results.ratios import ratio_interval, welch
from tests.statistics import comparisons, intervals
from tests.statistics.__main__ import DOCUMENT, SIMULATIONS
from tests.statistics.noise import normal
from tests.statistics.table import Simulation, committed, parse

TEXT = DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=lambda simulation: simulation.name)
def test_committed_figures_are_what_a_smaller_run_gives(simulation: Simulation):
    said = parse(committed(TEXT, simulation.name))
    found = simulation.run(simulation.quick)
    assert (said.corner, said.columns) == (found.corner, found.columns)
    assert list(said.rates) == list(found.rates)
    for name, rates in found.rates.items():
        for rate, rate_said in zip(rates, said.rates[name], strict=True):
            # Four standard errors, and a seed's luck where nothing is expected.
            luck = 0.003
            if not simulation.exact:
                error = math.sqrt(rate_said * (1 - rate_said) / simulation.quick)
                luck += 4 * error + 1 / simulation.quick
            assert rate == pytest.approx(rate_said, abs=luck, nan_ok=True), name


def rates_of(name: str, row: str) -> dict[int, float]:
    table = parse(committed(TEXT, name))
    repeats = [int(column.removeprefix("n = ")) for column in table.columns]
    return dict(zip(repeats, table.rates[row], strict=True))


def test_false_regressions_are_rare_at_every_spread_and_number_of_repeats():
    table = parse(committed(TEXT, "false regressions"))
    assert max(max(row) for row in table.rates.values()) <= 0.03
    exits = parse(committed(TEXT, "false exits"))
    assert max(max(row) for row in exits.rates.values()) <= 0.05


def test_true_slow_downs_are_found_and_more_repeats_never_hide_one():
    small = rates_of("found", "-3% at CV 1%")
    assert (small[3] >= 0.65, small[5] >= 0.90, small[7] >= 0.95) == (True, True, True)
    assert rates_of("found", "-5% at CV 2%")[7] >= 0.95
    for row in parse(committed(TEXT, "found")).rates.values():
        assert list(row) == sorted(row)


@pytest.mark.parametrize("noise", ["normal", "lognormal"])
def test_intervals_of_independent_noise_cover_what_they_say(noise: str):
    assert min(rates_of("ratio coverage", noise).values()) >= 0.945
    assert min(rates_of("median coverage", noise).values()) >= 0.945


def test_projected_bands_seldom_miss_what_the_measured_scales_can_show():
    for name, (_, near, _, far) in parse(committed(TEXT, "projection coverage")).rates.items():
        assert max(near, far) <= (0.1 if name.startswith("USL") else 0.05), name


def test_published_figures_lie_in_the_bands_that_were_given():
    rows = parse(committed(TEXT, "held out")).rates
    given = {name: row for name, row in rows.items() if "withheld" not in name}
    assert len(given) >= 7
    assert all(low < 0 < high for _, _, low, high in given.values())


def test_simulated_verdicts_are_those_of_the_product():
    rng = np.random.default_rng(3)
    for n, cv, factor in [(3, 0.01, 0.97), (7, 0.01, 1.0), (5, 0.02, 0.96), (6, 0.005, 1.0)]:
        a, b = normal(rng, 60, n, cv), factor * normal(rng, 60, n, cv)
        verdicts = [judge(welch(list(x), list(y)), 0.02)[0] for x, y in zip(a, b, strict=True)]
        assert list(comparisons.regressions(a, b)) == [v is Verdict.REGRESSION for v in verdicts]
        assert list(comparisons.sames(a, b)) == [v is Verdict.SAME for v in verdicts]


@pytest.mark.parametrize("n", [3, 5, 6, 7, 10])
def test_simulated_coverage_is_that_of_the_products_intervals(n: int):
    rng = np.random.default_rng(n)
    a, b = normal(rng, 150, n, 0.01), 1.004 * normal(rng, 150, n, 0.01)
    ours = [ratio_interval(list(x), list(y)) for x, y in zip(a, b, strict=True)]
    held = [interval is not None and interval.low <= 1 <= interval.high for interval in ours]
    assert intervals.ratio_holds_one(a, b) == pytest.approx(np.mean(held))
    assert 0 < np.mean(held) < 1
