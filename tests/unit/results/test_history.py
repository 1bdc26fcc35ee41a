"""Many campaigns: where a figure changed, and no verdict that they do not carry."""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.compare_campaigns import on_recorded
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.hosts.host_facts import HostSnapshot
from backends.hosts.machines import Machines, machines_of
from backends.results.change_points import change_points, last_against_level, tellable
from backends.results.comparison import Verdict, compare, judge
from backends.results.comparison_report import comparison_table
from backends.results.history import Campaign, CaseHistory, History, Why, history
from backends.results.history_json import history_document
from backends.results.history_report import (
    case_name,
    history_tables,
    history_words,
    rests_on,
    what_changed,
)
from backends.results.numbers import percent
from backends.results.ratios import Welch, welch
from backends.results.recipes import Recipe
from backends.results.repeats_needed import needed_words
from backends.results.run_result import RunResult
from backends.results.sparkline import sparkline
from profiles.counted import first_of
from profiles.errors import SelectionError
from tests.unit.campaign.strategies import planned
from tests.unit.hosts.test_machines import EXAMPLES
from tests.unit.results.conftest import Dlperf
from tui.cli import main

Runs = Callable[..., list[RunResult]]
STEADY = [99.8, 100.0, 100.2, 100.1, 99.9]
NIGHTS = [1.001, 0.999, 1.0, 1.002, 0.998, 1.001, 1.0, 0.999, 1.002, 0.998]


def times(factor: float, values: Sequence[float] = STEADY) -> list[float]:
    return [factor * value for value in values]


def campaign(place: int, runs: Sequence[RunResult], **fields: object) -> Campaign:
    """``machines`` and ``recipe``: of all hosts alike, or by their names."""
    for name in {"machines", "recipe"} & {*fields}:
        if not callable(fields[name]):
            fields[name] = partial(lambda known, _hosts: known, fields[name])
    name = f"night-{place}"
    known = Campaign(
        name=name,
        path=Path(name),
        began_at=float(place),
        finished=True,
        simulated=any(run.simulated for run in runs),
        imported=any(run.imported for run in runs),
        runs=tuple(replace(run, campaign=name) for run in runs),
    )
    return replace(known, **fields)  # type: ignore[arg-type]


@pytest.fixture
def watched(runs_of: Runs) -> Callable[..., CaseHistory]:
    """The history of one case whose campaigns have these levels of the steady repeats."""

    def watched(levels: Sequence[float], threshold: float = 0.02, **fields: object) -> CaseHistory:
        nights = [
            campaign(at, runs_of("1n1g", times(level), **fields)) for at, level in enumerate(levels)
        ]
        return history(nights, threshold).cases[0]

    return watched


@pytest.mark.parametrize(
    ("levels", "verdict", "why", "since"),
    [
        ([1.0], Verdict.INSUFFICIENT, Why.ONE, None),
        ([1.0, 1.0], Verdict.SAME, Why.LAST, None),
        ([1.0, 0.97], Verdict.REGRESSION, Why.CHANGE, 1),
        ([1.0, 1.03], Verdict.IMPROVEMENT, Why.CHANGE, 1),
        ([1.0, 0.985], Verdict.SAME, Why.CHANGE, None),
        ([*NIGHTS, 0.97], Verdict.REGRESSION, Why.CHANGE, 10),
        ([*NIGHTS, *times(0.97, NIGHTS)], Verdict.REGRESSION, Why.CHANGE, 10),
        ([*NIGHTS, *times(0.97, NIGHTS[:3]), *NIGHTS], Verdict.IMPROVEMENT, Why.CHANGE, 13),
        ([*NIGHTS, *times(1.05, NIGHTS), 1.0], Verdict.REGRESSION, Why.CHANGE, 20),
        (NIGHTS, Verdict.SAME, Why.LAST, None),
        ([1 - 0.004 * at for at in range(9)], Verdict.REGRESSION, Why.TREND, None),
        ([1 + 0.004 * at for at in range(9)], Verdict.IMPROVEMENT, Why.TREND, None),
    ],
)
def test_verdict_is_that_of_the_level_now(watched, levels, verdict, why, since):
    found = watched(levels)
    trending = found.why is Why.TREND or why is Why.TREND
    assert found.verdict is verdict
    if trending:  # a straight slope may also be told as steps
        assert found.why in (Why.TREND, Why.CHANGE)
        return
    assert found.why is why
    assert (found.last_change.point if found.last_change else None) == since
    assert found.decisive == (verdict is Verdict.REGRESSION)


def test_a_slope_without_a_step_beyond_the_threshold_is_a_trend(watched):
    rng = np.random.default_rng(5)
    levels = [1 - 0.0035 * at + 0.0005 * rng.standard_normal() for at in range(10)]
    found = watched(levels, 0.025)
    assert (found.verdict, found.why) == (Verdict.REGRESSION, Why.TREND)
    assert found.trend is not None
    assert found.trend.change == pytest.approx(-0.031, abs=0.008)
    assert found.decisive


_sides = st.tuples(
    st.lists(st.floats(95, 105), min_size=1, max_size=12),
    st.lists(st.floats(90, 110), min_size=1, max_size=12),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_sides, st.sampled_from([0.0, 0.005, 0.02, 0.05]))
def test_of_two_campaigns_it_says_what_compare_says(runs_of: Runs, sides, threshold: float):
    ours, theirs = (runs_of("1n1g", values) for values in sides)
    compared = compare(ours, theirs, threshold)
    seen = history([campaign(0, ours), campaign(1, theirs)], threshold)
    assert seen.cases[0].verdict is compared.cases[0].verdict
    assert bool(seen.fails) == bool(compared.fails())
    if seen.cases[0].why is Why.LAST:
        open_yet = compared.cases[0].verdict is Verdict.INCONCLUSIVE
        needed = needed_words(compared.cases[0].repeats_needed)
        assert (needed in rests_on(seen.cases[0])) == open_yet
    counts = f"a change counts beyond {threshold * 100:g}%"
    for table in (history_tables(seen)[0], comparison_table(compared)):
        assert counts in table.caption, "who pastes it has no command line beside it"
        assert f" in {ours[0].unit};" in table.caption


_nights = st.lists(st.lists(st.floats(50, 150), min_size=1, max_size=6), min_size=2, max_size=12)


@given(_nights, st.floats(0.01, 100))
def test_changes_do_not_know_the_unit(nights: list[list[float]], factor: float):
    scaled = [[factor * value for value in night] for night in nights]
    ours, theirs = change_points(nights, 0.02), change_points(scaled, 0.02)
    assert [c.at for c in ours] == [c.at for c in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.evidence.ratio == pytest.approx(other.evidence.ratio)


@given(_nights)
def test_a_change_stands_between_two_levels_and_excludes_one(nights: list[list[float]]):
    changes = change_points(nights, 0.02)
    assert [c.at for c in changes] == sorted({c.at for c in changes})
    for change in changes:
        assert 0 < change.at < len(nights)
        assert 0 <= change.p <= 0.05
        assert abs(change.evidence.ratio - 1) >= 0.01
        interval = change.evidence.interval()
        assert interval.low <= change.evidence.ratio <= interval.high
        assert not interval.low < 1 < interval.high
    assert tellable(nights) or not changes


@given(_nights)
def test_turned_round_in_time_the_changes_are_the_same_inverse_ones(nights: list[list[float]]):
    forth, back = change_points(nights, 0.02), change_points(nights[::-1], 0.02)
    if len(forth) == len(back) == 1:  # of several, which is the weakest may be a tie
        assert forth[0].at == len(nights) - back[0].at
        assert forth[0].evidence.ratio * back[0].evidence.ratio == pytest.approx(1)


@pytest.mark.parametrize(
    ("sizes", "known"),
    [
        ([5], False), ([3, 3], True), ([3, 2], False), ([1, 1, 1], False), ([1, 2, 1], True),
        ([1] * 4, False), ([1] * 5, True),
    ],
)  # fmt: skip
def test_how_few_campaigns_tell_nothing_is_said(runs_of: Runs, sizes: list[int], known: bool):
    nights = [[100.0 + 0.01 * at + 0.1 * i for i in range(n)] for at, n in enumerate(sizes)]
    assert tellable(nights) == known
    seen = history([campaign(at, runs_of("1n1g", v)) for at, v in enumerate(nights)]).cases[0]
    assert (seen.why in (Why.ONE, Why.SCATTER)) == (not known)
    assert (seen.would_see is not None) == known
    if len(sizes) > 1 and not known:
        assert seen.verdict is Verdict.INCONCLUSIVE


def test_a_change_stands_at_5_percent_over_all_its_places_and_from_1_percent_on():
    def found(change: float, spread: float) -> bool:
        base = [1 - spread, 1.0, 1 + spread]
        return bool(change_points([base, times(1 + change, base)], 0.02))

    def p(change: float, spread: float) -> float:
        base = [1 - spread, 1.0, 1 + spread]
        return welch(base, times(1 + change, base)).p

    assert (found(-0.0095, 1e-4), found(-0.0105, 1e-4)) == (False, True)
    assert 0.05 < p(-0.0435, 0.02) < 0.06
    assert 0.04 < p(-0.0455, 0.02) < 0.05
    assert (found(-0.0435, 0.02), found(-0.0455, 0.02)) == (False, True)


def test_numbers_that_a_reviewer_would_want_to_talk_about(watched, runs_of: Runs):
    nights = [campaign(at, runs_of("1n1g", times(level))) for at, level in enumerate(NIGHTS)]
    assert [history(nights[:n]).judged for n in (1, 2, 5, 6)] == [0, 1, 1, 2]
    assert history(nights).threshold == 0.02
    assert watched(NIGHTS[:8]).would_see == pytest.approx(0.006661, rel=1e-3)


def test_what_days_scatter_is_no_change():
    """Their repeats agree to 0.1%, and the campaigns differ by 1%: that is how they are."""
    levels = [1.01, 0.99, 1.0, 0.985, 1.015, 1.01, 0.99, 1.005, 0.985]
    values = [times(level) for level in levels]
    assert change_points(values, 0.02) == ()
    found = last_against_level([*values, times(0.99)], [])
    assert found is not None
    assert found[0].error > 0.009


def test_one_campaign_too_many_is_told_by_what_would_be_seen(watched):
    """The drop that is promised to be seen is seen, and half of it is not."""
    few = watched(NIGHTS[:8])
    assert few.would_see is not None
    assert 0.002 < few.would_see < 0.02
    rng = np.random.default_rng(2)
    seen = [
        any(
            change.at == 8
            for change in change_points(
                [
                    [100 * level * (1 + 0.004 * rng.standard_normal()) for _ in range(5)]
                    for level in [*[1.0] * 8, 0.98]
                ],
                0.01,
            )
        )
        for _ in range(60)
    ]
    assert statistics.fmean(seen) > 0.9


def test_simulated_campaigns_and_other_units_are_series_of_their_own(runs_of: Runs):
    nights = [
        campaign(0, runs_of("1n1g", STEADY)),
        campaign(1, runs_of("1n1g", times(0.5), simulated=True)),
        campaign(2, runs_of("1n1g", times(0.1), unit="tokens/s")),
        campaign(3, runs_of("1n1g", STEADY)),
    ]
    seen = history(nights)
    series = {(c.simulated, c.unit): [p.campaign for p in c.points] for c in seen.cases}
    assert series == {
        (False, "samples/s"): [0, 3],
        (True, "samples/s"): [1],
        (False, "tokens/s"): [2],
    }
    assert not seen.fails
    assert "SIMULATED" in str(history_words(seen)[0])


def test_the_environment_that_changed_stands_beside_the_change(runs_of: Runs):
    def night(at: int, level: float, driver: str) -> Campaign:
        environment = f"H200, driver {driver}, Debian; image: sha256:a"
        return campaign(at, runs_of("1n1g", times(level), fingerprint=environment))

    unknown = campaign(3, runs_of("1n1g", times(1.0)))
    seen = history(
        [night(0, 1, "1"), night(1, 1, "1"), night(2, 1, "1"), unknown, night(4, 0.9, "2")]
    )
    (case,) = seen.cases
    assert [p.environment is not None for p in case.points] == [False] * 4 + [True]
    text = str(history_tables(seen))
    assert "driver 1 → 2" in text
    document = history_document(seen)["cases"][0]
    assert "driver 2" in document["changes"][-1]["environment"]["after"]
    assert document["points"][3]["environment"] is None


def test_a_case_that_only_fails_now_fails_the_watch(runs_of: Runs):
    nights = [campaign(at, runs_of("1n1g", STEADY)) for at in range(3)]
    nights.append(campaign(3, runs_of("1n1g", [None, None])))
    seen = history(nights)
    assert seen.cases[0].why is Why.FAILED
    assert seen.fails
    assert "×" in history_tables(seen)[0].rows[0][3]


def test_a_case_that_was_only_cancelled_is_not_there(runs_of: Runs):
    nights = [campaign(at, runs_of("1n1g", STEADY)) for at in range(3)]
    cancelled = [replace(run, state="cancelled") for run in runs_of("1n1g", [None, None])]
    seen = history([*nights, campaign(3, cancelled)])
    assert not seen.fails
    assert seen.cases[0] == history(nights).cases[0]
    assert history_tables(seen)[0].rows[0][3].endswith("·")
    failed = history([*nights, campaign(3, [*cancelled, *runs_of("1n1g", [None])])])
    assert failed.fails == failed.cases


def test_a_case_that_succeeded_without_a_throughput_has_not_failed(runs_of: Runs):
    unread = [
        replace(run, throughput=None, metrics={"loss": 1.0}) for run in runs_of("1n1g", STEADY)
    ]
    nights = [campaign(at, runs_of("1n1g", STEADY)) for at in range(3)]
    seen = history([*nights, campaign(3, unread)])
    assert not seen.fails
    assert "×" not in history_tables(seen)[0].rows[0][3]
    assert seen.cases[0].verdict is Verdict.SAME
    failed = history([campaign(0, unread), campaign(1, runs_of("1n1g", [None]))])
    assert failed.fails == failed.cases


def test_campaigns_stand_in_the_order_in_which_they_began(runs_of: Runs):
    nights = [campaign(at, runs_of("1n1g", times(level))) for at, level in enumerate([1, 1, 0.9])]
    assert history(nights[::-1]).cases == history(nights).cases


def test_among_many_unchanged_cases_a_doubtful_one_is_not_decisive(runs_of: Runs):
    def night(at: int, level: float) -> Campaign:
        doubtful = runs_of("1n1g", times(level, [95, 97, 100, 103, 105]))
        others = [
            run
            for batch in range(40)
            for run in runs_of("1n1g", STEADY, parameters={"batch_size": batch})
        ]
        return campaign(at, [*doubtful, *others])

    def doubtful(seen: History) -> CaseHistory:
        return next(case for case in seen.cases if "precision" in dict(case.parameters))

    level = next(
        x for x in np.arange(1.0, 0.8, -0.002).tolist()
        if doubtful(history([night(0, 1), night(1, x)])).verdict is Verdict.REGRESSION
    )  # fmt: skip
    seen = history([night(0, 1), night(1, level)])
    assert not doubtful(seen).decisive
    (said,) = [line for line in history_words(seen)[1] if "chance" in line]
    assert said.startswith("No regression stands among all cases: what is slower may be chance")
    assert doubtful(history([night(0, 1), night(1, 0.5)])).decisive


@given(
    st.lists(st.none() | st.just(math.nan) | st.floats(1, 1e9), max_size=60),
    st.sets(st.integers(0, 60)),
)
def test_a_sparkline_has_a_mark_for_each_of_its_campaigns(values, changed):
    line = sparkline(values, changed)
    shown = values[-40:]
    if all(v is None or math.isnan(v) for v in shown):
        assert line == "–"
        return
    marks = line.removeprefix("…").replace("│", "")
    assert len(marks) == len(shown)
    for value, mark in zip(shown, marks, strict=True):
        expected = "×" if value is None else "·" if math.isnan(value) else "▁▂▃▄▅▆▇█"
        assert mark in expected
    order = [(v, m) for v, m in zip(shown, marks, strict=True) if v is not None and v == v]
    assert [m for _, m in sorted(order)] == sorted(m for _, m in order)


def test_noise_below_the_threshold_is_flat():
    assert set(sparkline([100.0, 100.1, 99.9, 100.0])) <= set("▄▅")


# Through the command line ----------------------------------------------------------------------


@pytest.fixture
def nightly(dlperf: Dlperf, tmp_path: Path) -> Callable[[Sequence[float]], list[Path]]:
    """Imported campaigns with the tag nightly."""

    def nightly(levels: Sequence[float]) -> list[Path]:
        paths = []
        for at, level in enumerate(levels):
            values = times(level)
            file = tmp_path / f"{at}.toml"
            file.write_text(
                f'framework = "F"\nmodel = "M"\n'
                f'figures = [{{ case = "1n1g", throughput = {values} }}]\n'
            )
            path = tmp_path / "kept" / f"night-{at}"
            dlperf("import", file, "-o", path)
            dlperf("--campaigns", tmp_path / "kept", "campaigns", "tag", path, "nightly")
            paths.append(path)
        return paths

    return nightly


def test_exit_code_1_for_a_regression_by_tag_and_by_name(
    dlperf: Dlperf, nightly: Callable[..., list[Path]], tmp_path: Path
):
    paths = nightly([1.0, 1.001, 0.95])
    kept = ("--campaigns", tmp_path / "kept")
    said = dlperf(*kept, "history", "--tag", "nightly", code=1)
    assert "| regression |" in said
    assert "night-2" in said
    assert dlperf(*kept, "history", *paths, code=1) == said
    assert "| same |" in dlperf(*kept, "history", *paths[:2])
    assert "1 campaign with a figure" in dlperf(*kept, "history", paths[0])
    assert "| same |" in dlperf(*kept, "history", *paths, "--threshold", "10%")
    wide = dlperf(*kept, "history", *paths, "--wide", code=1)
    assert wide.count("night-1") == said.count("night-1") + 1
    document = json.loads(dlperf(*kept, "history", "--tag", "nightly", "--json", code=1))
    assert [set(c) >= {"campaign", "path"} for c in document["campaigns"]] == [True] * 3
    (case,) = document["cases"]
    assert [p["throughput"] for p in case["points"]] == pytest.approx([100, 100.1, 95])
    (change,) = case["changes"]
    assert change["campaign"] == "night-2"
    assert change["ratio_interval"][0] < change["ratio"] < change["ratio_interval"][1] < 1


@pytest.mark.parametrize(
    "words",
    [[], ["--tag", "none"], ["x", "--tag", "y"], ["nowhere"], ["x", "--threshold", "much"]],
)
def test_a_wrong_request_is_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["--campaigns", str(tmp_path), "history", *words]) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    if not words:
        assert "no campaign is named" in said
        assert "'dlperf-tui campaigns' lists" in said


def test_where_none_is_named_it_says_what_it_could_be_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = 'framework = "F"\nmodel = "M"\nfigures = [{ case = "1n1g", throughput = [5.0] }]\n'
    (tmp_path / "figures.toml").write_text(figures, encoding="utf-8")
    kept = ["--campaigns", str(tmp_path / "kept")]
    for name in ("one", "two"):
        where = tmp_path / "kept" / name
        assert main([*kept, "import", str(tmp_path / "figures.toml"), "-o", str(where)]) == 0
        if name == "one":
            capsys.readouterr()
            assert main([*kept, "history"]) == 2
            assert "no two that have finished" in capsys.readouterr().err
    assert main([*kept, "campaigns", "tag", "one", "nightly"]) == 0
    capsys.readouterr()
    assert main([*kept, "history"]) == 2
    refused, *ways = capsys.readouterr().err.splitlines()
    assert refused.endswith("or a tag, as")
    assert [way.split()[2:4] for way in ways] in (
        [["--tag", "nightly"], names] for names in (["one", "two"], ["two", "one"])
    )
    for way in ways:
        assert main(way.split()[1:]) == 0, "as printed"


@given(measured=st.lists(st.sets(st.sampled_from([1, 2, 4])), max_size=4))
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_what_is_proposed_shares_a_case_with_figures_or_nothing_is(
    measured: list[set[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A campaign without any figure is the newest."""
    with TemporaryDirectory() as directory:
        kept = ["--campaigns", str(Path(directory, "kept"))]
        for at, sizes in enumerate([*measured, {1, 2, 4}]):
            values = [] if at == len(measured) else [5.0]
            cases = [f'{{ case = "1n{size}g", throughput = {values} }}' for size in sizes]
            if not values:  # planned, and not begun
                open_ = Path(directory, "kept", "open")
                open_.mkdir(parents=True)
                created = ev.CampaignCreated(t=2e9, campaign="open", version="1")
                (open_ / journal.FILE_NAME).write_bytes(
                    encode(created) + encode(planned("r-0001-a1"))
                )
            elif sizes:
                file = Path(directory, f"{at}.toml")
                file.write_text(
                    f'framework = "F"\nmodel = "M"\nfigures = [{", ".join(cases)}]\n', "utf-8"
                )
                where = Path(directory, "kept", f"c{at}")
                assert main([*kept, "import", str(file), "-o", str(where)]) == 0
        capsys.readouterr()
        assert main([*kept, "history"]) == 2
        refused, *ways = capsys.readouterr().err.splitlines()
        proposed = [[int(word[1:]) for word in re.findall(r"\bc\d\b", way)] for way in ways]
        share = any(one & two for at, one in enumerate(measured) for two in measured[:at])
        assert bool(ways) is share
        assert ("no two that have finished" in refused) is not share
        for named in proposed:
            assert len(named) > 1
            assert all(measured[named[0]] & measured[one] for one in named)
        for way in ways:
            assert main(way.split()[1:]) == 0, "as printed"
        capsys.readouterr()


def test_no_campaigns_and_no_threshold_at_all_are_refused(runs_of: Runs):
    with pytest.raises(SelectionError):
        history([])
    with pytest.raises(SelectionError):
        history([campaign(0, runs_of("1n1g", STEADY))], 1.5)


@pytest.mark.parametrize(
    ("fingerprint", "told"), [("EPYC, Debian 12", False), ("V100, driver 1", True)]
)
def test_what_gpus_a_host_has_is_told_of_runs_that_used_them(
    runs_of: Runs, fingerprint: str, told: bool
) -> None:
    """A profile that computes on CPUs leaves them alone."""
    one, two = (
        Machines(1, gpus, 64, 500, boots=frozenset({"b"}), setup=(("driver", driver),))
        for gpus, driver in ((16, "440.33.01"), (8, "580.159.04"))
    )
    nights = [
        campaign(at, runs_of("1n1g", STEADY, fingerprint=fingerprint), machines=on)
        for at, on in enumerate((one, two))
    ]
    (case,) = history(nights).cases
    assert case.points[1].hosts == "16 → 8 GPUs, driver 440.33.01 → 580.159.04" * told


def test_hosts_that_changed_are_told_with_the_campaign_and_with_the_change(runs_of: Runs) -> None:
    one, two = (Machines(1, 8, 64, 500, uuids=frozenset({name})) for name in ("a", "b"))
    levels = [1.0, 1.001, 0.9]
    for machines, changed in (([one, one, one], None), ([one, None, two], 2), ([one, two, two], 1)):
        nights = [
            campaign(at, runs_of("1n1g", times(level)), machines=on)
            for at, (level, on) in enumerate(zip(levels, machines, strict=True))
        ]
        cases, campaigns, *_ = history_tables(history(nights), wide=True)
        assert [("no GPU in common" in row[-1]) for row in campaigns.rows] == [
            at == changed for at in range(3)
        ]
        assert ("with other hosts" in cases.notes[1]) is (changed == 2)
        assert "no GPU in common" not in cases.notes[1], "the table of campaigns has it"


@pytest.mark.parametrize(
    ("levels", "shown"), [([1.0], "–"), ([1.0, 1.0], "none"), ([1.0, 0.985], "(-1.5%)")]
)
def test_no_change_has_a_word_where_it_was_looked_for(
    runs_of: Runs, levels: list[float], shown: str
) -> None:
    nights = [campaign(at, runs_of("1n1g", times(level))) for at, level in enumerate(levels)]
    table = history_tables(history(nights))[0]
    assert table.rows[0][table.headings.index("change")] == shown
    assert ("none: " in table.notes[0]) is (shown == "none")
    assert ("(…): " in table.notes[0]) is (shown[0] == "(")
    assert ("–: " in table.notes[0]) is (shown == "–")
    assert ("│ " in table.notes[0]) is ("│" in table.rows[0][table.headings.index("history")])


def _recipe(digest: str, **variables: str) -> Recipe:
    return Recipe({"cpu-smoke": {("file", "train.py"): digest}}, variables)


def test_another_script_is_told_with_the_change_with_the_campaign_and_in_json(
    runs_of: Runs,
) -> None:
    for levels, begins, where in (
        ([1.0, 1.001, 0.9], "with", 2),
        ([1.0, 1.001, 1.0], "the last with", 2),
    ):
        recipes = [_recipe("a"), None, _recipe("b", NCCL_DEBUG="INFO")]
        nights = [
            campaign(at, runs_of("1n1g", times(level)), recipe=recipe)
            for at, (level, recipe) in enumerate(zip(levels, recipes, strict=True))
        ]
        seen = history(nights)
        cases, campaigns, points = history_tables(seen, wide=True)
        parts = [
            "cpu-smoke: other versions of train.py",
            "variables: NCCL_DEBUG not set → INFO",
        ]
        assert f"; {begins} other scripts or settings" in cases.notes[1]
        assert not [part for part in parts if part in cases.notes[1]]
        for table in (campaigns, points):
            assert [row[-1] for row in table.rows] == [
                "; ".join(parts) if at == where else "" for at in range(3)
            ]
        document = history_document(seen)
        assert [c["changed"] for c in document["campaigns"]] == [[], [], parts]
        (case,) = document["cases"]
        told = [case["points"][where], *case["changes"]]
        assert [[one["name"] for one in point["unlike"]] for point in told] == [
            ["train.py", "NCCL_DEBUG"]
        ] * len(told)
        assert told[0]["unlike"][0]["before"] == "a"
        assert told[0]["unlike"][1]["before"] is None
        assert case["points"][1]["unlike"] == []
        (note,) = document["notes"]
        assert "the runs of night-1 were started from is not recorded" in note
        assert note in history_words(seen)[0]


def test_what_changed_with_a_campaign_that_failed_is_told_with_the_next_figure(
    runs_of: Runs,
) -> None:
    one, two = (Machines(1, 8, 64, 500, uuids=frozenset({name})) for name in ("a", "b"))
    before = {"machines": one, "recipe": _recipe("a")}
    after = {"machines": two, "recipe": _recipe("b")}
    nights = [
        campaign(0, runs_of("1n1g", STEADY, fingerprint="H200, driver 1"), **before),
        campaign(1, runs_of("1n1g", [None] * 3, fingerprint="H200, driver 2"), **after),
        campaign(2, runs_of("1n1g", times(0.9), fingerprint="H200, driver 2"), **after),
    ]
    (case,) = history_document(history(nights))["cases"]
    (change,) = case["changes"]
    assert change["hosts"] == "no GPU in common"
    assert "driver 2" in change["environment"]["after"]
    assert [one["name"] for one in change["unlike"]] == ["train.py"]
    assert case["points"][0]["hosts"] is None


def test_a_change_that_does_not_count_is_in_the_table_as_in_json(runs_of: Runs) -> None:
    nights = [campaign(at, runs_of("1n1g", times(level))) for at, level in enumerate((1, 0.985))]
    seen = history(nights)
    table = history_tables(seen)[0]
    row = dict(zip(table.headings, table.rows[0], strict=True))
    (change,) = history_document(seen)["cases"][0]["changes"]
    assert row["change"] == "(-1.5%)"
    assert row["since"] == change["campaign"] == "night-1"
    assert "(…): the last, and none counts" in table.notes[0]
    assert "│" in row["history"]
    assert "change of level, whether it counts or not" in table.notes[0]


@given(others=st.lists(st.booleans(), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_changed_in_some_cases_alone_is_told_with_these(
    runs_of: Runs, others: list[bool]
) -> None:
    tags = [f"1n{1 << place}g" for place in range(len(others))]
    first = [run for tag in tags for run in runs_of(tag, STEADY, fingerprint="H200, driver 1")]
    then = [
        run
        for tag, other in zip(tags, others, strict=True)
        for run in runs_of(tag, STEADY, fingerprint=f"H200, driver {1 + other}")
    ]
    seen = history([campaign(0, first), campaign(1, then)])
    _, told = what_changed(seen)
    said = [one for one in told if "driver" in one]
    assert len(said) == any(others)
    if any(others):
        names = [case_name(c) for c in seen.cases if c.points[1].environment]
        assert len(names) == sum(others)
        whose = f"({first_of(names, 3)})"
        assert said[0].endswith(whose) == (not all(others))


@given(st.lists(st.booleans(), min_size=1, max_size=7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_other_hosts_are_told_with_the_cases_that_had_others_before(
    runs_of: Runs, before: list[bool]
) -> None:
    def night(place: int, host: str, cases: list[int]) -> Campaign:
        runs = [run for at in cases for run in runs_of(f"1n{1 << at}g", STEADY)]
        return campaign(place, runs, machines=Machines(1, 8, 64, 500, uuids=frozenset({host})))

    had = [at for at, known in enumerate(before) if known]
    seen = history([night(0, "n1", had or [9]), night(1, "n2", list(range(len(before))))])
    if not had:
        assert what_changed(seen) == [(), ()], "no case was on any host before"
        return
    _, (told,) = what_changed(seen)
    names = [case_name(case) for case in seen.cases if case.points[-1].hosts]
    assert len(names) == len(had)
    some = 0 < len(had) < len(before)
    assert told.startswith("hosts: ")
    more = f", +{len(names) - 3}" * (len(names) > 3)
    assert told.endswith(f" ({', '.join(names[:3])}{more})" * some)
    assert some or "1n1g" not in told


PLACES = ("h1", "h2", "v1")
ONE_OF = st.frozensets(st.sampled_from(PLACES), min_size=1, max_size=2)


def _recorded(hosts: frozenset[str]) -> tuple[HostSnapshot, ...]:
    """As many hosts, each with GPUs of its own."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    return tuple(
        replace(
            vm,
            name=name,
            facts=replace(
                vm.facts,
                boot_id=name,
                driver_version=name[0],
                gpus=tuple(replace(g, uuid=f"{name} {g.index}") for g in vm.facts.gpus),
            ),
        )
        for name in sorted(hosts)
    )


def _set_on(hosts: frozenset[str]) -> Recipe:
    return Recipe({}, {"NCCL_IB_HCA": " and ".join(sorted(hosts))})


@given(
    nights=st.lists(st.tuples(ONE_OF, ONE_OF, st.sampled_from([1.0, 1.1])), min_size=2, max_size=4)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_case_is_told_the_same_whatever_hosts_other_cases_ran_on(
    runs_of: Runs, nights: list[tuple[frozenset[str], frozenset[str], float]]
) -> None:
    def seen(*, alone: bool) -> tuple[Any, ...]:
        campaigns = []
        for place, (own, others, level) in enumerate(nights):
            runs = runs_of("1n1g", times(level), hosts=tuple(sorted(own)))
            if not alone:
                runs += runs_of("1n8g", STEADY, hosts=tuple(sorted(others)))
            known = partial(machines_of, _recorded(frozenset(PLACES)))
            campaigns.append(campaign(place, runs, machines=known, recipe=_set_on))
        found = history(campaigns)
        case = next(case for case in found.cases if case.case == "1n1g")
        table = history_tables(found)[0]
        rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
        row = next(row for row in rows if row["case"] == "1n1g")
        row = {name: cell for name, cell in row.items() if name not in ("profile", "parameters")}
        both = [one.runs for one in campaigns[-2:]]
        compared = on_recorded(compare(*both), *[_recorded(frozenset(PLACES))] * 2)
        (pair,) = (case for case in compared.cases if case.case == "1n1g")
        return row, [point.hosts for point in case.points], rests_on(case), pair.words

    row, hosts, *rest = seen(alone=True)
    assert seen(alone=False) == (row, hosts, *rest)
    before = [own for own, *_ in nights]
    for (one, other), said in zip(itertools.pairwise(before), hosts[1:], strict=True):
        assert bool(said) or not one.isdisjoint(other)
        assert not said or one != other


@given(st.floats(0.0001, 0.01), st.floats(0.0001, 0.01), st.floats(-1, 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_drop_that_would_be_seen_is_told_with_the_scatter_that_it_rests_on(
    runs_of: Runs, days: float, repeats: float, skew: float
) -> None:
    """That of geometric means, however far medians are from these."""
    levels = [1 + days * sign for sign in (1, -1, 1, -1, 1, 0)]
    off = [skew * sign for sign in (1, -1, -1, 1, 1, 0)]
    runs = [
        [1000.0 * level * (1 + repeats * i) for i in (-1, middle, 1)]
        for level, middle in zip(levels, off, strict=True)
    ]
    seen = history([campaign(at, runs_of("1n1g", v)) for at, v in enumerate(runs)]).cases[0]
    if seen.why is Why.LAST and not seen.changes:
        figures = [statistics.geometric_mean(values) for values in runs[:-1]]
        between = percent(statistics.stdev(figures) / statistics.fmean(figures))
        said = rests_on(seen)
        assert f"only a drop of {percent(seen.would_see)} or more would " in said
        assert f"(means of campaigns before it scatter by {between}, their repeats by " in said
        assert ("not decided" in said) == ("(95%, as campaigns scatter)" in said)
        assert ("not decided" in said) == (
            "campaigns like it, and as many before it, would" in said
        )


@pytest.mark.parametrize("last", [0.972, 0.975, 0.985, 0.99])
def test_so_many_campaigns_as_it_says_decide(watched, last: float):
    """By the test that a comparison of both levels is; the least that do, half or twice as many."""
    before = [1 + 0.008 * sign for sign in (1, -1, 0.5, -0.5, 1, -1, 0)]
    found = watched([*before, last])
    assert (found.verdict, found.why) == (Verdict.INCONCLUSIVE, Why.LAST)
    number = int(found.needed.removeprefix("about ").split()[0])
    words = f"about {number} campaigns like it, and as many before it, would decide"
    assert found.needed == words
    scatter = statistics.stdev(map(math.log, before))
    for enough, of in ((True, 2 * number), (False, number // 2)):
        error = scatter * math.sqrt(2 / of)
        so_many = Welch(math.log(last / statistics.geometric_mean(before)), error, 2 * (of - 1))
        assert (judge(so_many, 0.02)[0] is not Verdict.INCONCLUSIVE) == enough
