"""Two campaigns: no verdict that the repeats do not carry."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from backends.hosts.machines import Machines
from backends.results.comparison import (
    Comparison,
    Ground,
    Verdict,
    compare,
    judge,
    p_slower,
)
from backends.results.comparison_files import comparison_document, comparison_junit
from backends.results.comparison_report import (
    comparison_markdown,
    comparison_table,
    comparison_words,
)
from backends.results.numbers import fixed, signed_percent
from backends.results.ratios import Welch
from backends.results.repeats_needed import repeats_needed
from backends.results.run_result import RunResult
from profiles.errors import SelectionError

Runs = Callable[..., list[RunResult]]
STEADY = [99.8, 100.0, 100.2, 100.1, 99.9]
NOISY = [90.0, 94.0, 100.0, 101.0, 110.0]


def times(factor: float, values: Sequence[float]) -> list[float]:
    return [factor * value for value in values]


def verdicts(comparison: Comparison) -> dict[str, str]:
    return {case.case: str(case.verdict) for case in comparison.cases}


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "ground"),
    [
        (STEADY, times(0.97, STEADY), "regression", Ground.BEYOND),
        (STEADY, times(1.03, STEADY), "improvement", Ground.BEYOND),
        (STEADY, times(0.99, STEADY), "same", Ground.WITHIN),
        (STEADY, STEADY, "same", Ground.WITHIN),
        (STEADY, times(0.979, STEADY), "regression", Ground.BEYOND),
        (STEADY, times(0.981, STEADY), "inconclusive", Ground.UNPROVEN),
        (NOISY, times(0.99, NOISY), "inconclusive", Ground.UNPROVEN),
        (NOISY, times(0.9, NOISY), "inconclusive", Ground.NOISE),
        (NOISY, times(1.1, NOISY), "inconclusive", Ground.NOISE),
        (STEADY[:2], times(0.5, STEADY[:2]), "inconclusive", Ground.TOO_FEW),
        (STEADY, [50.0], "inconclusive", Ground.TOO_FEW),
        (STEADY[:3], times(0.9, STEADY[:3]), "regression", Ground.BEYOND),
        (STEADY, [None, None], "insufficient", Ground.CANDIDATE_FAILED),
        ([None], STEADY, "insufficient", Ground.BASELINE_FAILED),
    ],
)
def test_verdict_goes_by_the_interval_and_the_threshold(runs_of, ours, theirs, verdict, ground):
    (case,) = compare(runs_of("1n1g", ours), runs_of("1n1g", theirs), 0.02).cases
    assert (str(case.verdict), case.ground) == (verdict, ground)
    assert (case.repeats_needed is not None) <= (verdict == "inconclusive")


@pytest.mark.parametrize("percent", range(1, 10))
@pytest.mark.parametrize("sign", [-1, 1])
def test_exactly_the_threshold_is_still_the_same(runs_of, percent: int, sign: int):
    ours, theirs = runs_of("1n1g", [100] * 3), runs_of("1n1g", [100 + sign * percent] * 3)
    assert verdicts(compare(ours, theirs, percent / 100)) == {"1n1g": "same"}


def test_estimate_is_the_ratio_of_the_means_and_printed_is_that_of_the_medians(runs_of):
    ours, theirs = [100, 101, 102, 103, 104], [97, 98, 99, 100, 103.9]
    (case,) = compare(runs_of("1n1g", ours), runs_of("1n1g", theirs)).cases
    assert case.ratio == 99 / 102
    assert case.evidence is not None
    assert case.evidence.ratio == pytest.approx(stats.gmean(theirs) / stats.gmean(ours))


logs = st.floats(-0.2, 0.2)
evidences = st.builds(Welch, logs, st.floats(1e-6, 0.1), st.floats(2, 50))


@given(evidences, st.floats(0, 0.1))
def test_every_verdict_is_carried_by_the_interval(evidence: Welch, threshold: float):
    verdict, _ = judge(evidence, threshold)
    interval = evidence.interval()
    if verdict is Verdict.REGRESSION:
        assert interval.high < 1
        assert evidence.ratio < 1 - threshold
    elif verdict is Verdict.IMPROVEMENT:
        assert interval.low > 1
        assert evidence.ratio > 1 + threshold
    elif verdict is Verdict.SAME:
        assert 1 - threshold - 1e-8 <= interval.low <= interval.high <= 1 + threshold + 1e-8
    else:
        assert verdict is Verdict.INCONCLUSIVE


@given(evidences)
def test_a_slow_down_is_more_likely_chance_the_larger_the_error(evidence: Welch):
    p = p_slower(evidence)
    assert p == pytest.approx(stats.t.cdf(evidence.log_ratio / evidence.error, evidence.df))


@pytest.mark.parametrize("change", [0.99, 0.975, 1.0, 1.018, 1.04])
@pytest.mark.parametrize("cv", [0.01, 0.03])
def test_repeats_that_are_needed_are_the_fewest_that_decide(change: float, cv: float):
    scatter = [math.exp(cv * z) for z in (-1.2, -0.6, 0.0, 0.6, 1.2)]
    ours, theirs = times(100, scatter), times(100 * change, scatter)
    needed = repeats_needed(ours[:3], theirs[:3], 0.02)
    assert needed is not None
    assert needed > 3
    # The verdict that so many repeats with the same means and spread would have.
    spread = math.sqrt(2 / needed) * stats.tstd([math.log(v) for v in ours[:3]])
    enough = Welch(math.log(change), spread, 2 * (needed - 1))
    fewer = Welch(math.log(change), spread * math.sqrt(needed / (needed - 1)), 2 * (needed - 2))
    assert judge(enough, 0.02)[0] is not Verdict.INCONCLUSIVE
    assert needed == 4 or judge(fewer, 0.02)[0] is Verdict.INCONCLUSIVE


def test_no_number_of_repeats_decides_what_lies_at_the_threshold(runs_of):
    theirs = times(0.9802, NOISY)
    (case,) = compare(runs_of("1n1g", NOISY), runs_of("1n1g", theirs)).cases
    assert (case.verdict, case.repeats_needed) == (Verdict.INCONCLUSIVE, None)
    document = comparison_document(Comparison(0.02, (case,)))
    assert document["cases"][0]["reason"].endswith(
        "more than 1000 repeats on either side would be needed to decide"
    )


@pytest.mark.parametrize(("needed", "told"), [(990, True), (1010, False)])
def test_more_than_a_thousand_repeats_are_no_advice(needed: int, told: bool):
    """What lies within the threshold of 2% by as much as an interval of so many would reach."""
    scatter = [math.exp(0.02 * z) for z in (-1.0, 0.0, 1.0)]
    reach = stats.t.ppf(0.975, 2 * (needed - 1)) * math.sqrt(2 / needed) * 0.02
    change = 0.98 * math.exp(reach)
    found = repeats_needed(scatter, times(change, scatter), 0.02)
    assert found == (pytest.approx(needed, abs=1) if told else None)


@pytest.mark.parametrize(("factor", "verdict"), [(0.9805, "inconclusive"), (0.9795, "regression")])
def test_threshold_is_two_percent_where_none_is_given(runs_of, factor: float, verdict: str):
    runs = runs_of("1n1g", STEADY), runs_of("1n1g", times(factor, STEADY))
    assert verdicts(compare(*runs)) == {"1n1g": verdict}


def test_one_repeat_needs_three(runs_of):
    (case,) = compare(runs_of("1n1g", [100]), runs_of("1n1g", [50])).cases
    assert (case.verdict, case.repeats_needed, case.interval) == (Verdict.INCONCLUSIVE, 3, None)


def many(runs_of, slower: dict[str, float], cases: int = 24, scatter=(-1.0, 0.0, 1.0)):
    """``cases`` cases of three repeats at CV 1%, equal but for those that are named."""
    before, after = [], []
    for number in range(1, cases + 1):
        tag = f"1n{number}g"
        values = [100 * math.exp(0.01 * z) for z in scatter]
        before += runs_of(tag, values)
        after += runs_of(tag, times(slower.get(tag, 1.0), values))
    return before, after


def test_exit_code_rests_on_what_stands_among_all_cases(runs_of):
    """−3% at this spread is a regression by itself (p = 0.02 two-sided), and one of 24 unchanged
    cases may well look so."""
    alone = compare(*many(runs_of, {"1n3g": 0.97}, cases=3))
    among = compare(*many(runs_of, {"1n3g": 0.97}))
    assert verdicts(alone)["1n3g"] == verdicts(among)["1n3g"] == "regression"
    assert [case.case for case in alone.fails()] == ["1n3g"]
    assert among.fails() == ()
    assert "may look so by chance (Holm)" in comparison_markdown(among)
    clear = compare(*many(runs_of, {"1n3g": 0.97, "1n9g": 0.9}))
    assert [case.case for case in clear.fails()] == ["1n9g"]
    text = comparison_markdown(clear)
    assert "so that the exit code is 1: cpu-smoke 1n9g" in text
    assert "the exit code does not rest on it: cpu-smoke 1n3g" in text


def test_holm_steps_down(runs_of):
    """A slow-down that is clear leaves fewer among which the next one must stand."""
    before, after = many(runs_of, {"1n1g": 0.9, "1n2g": 0.9752}, cases=3)
    comparison = compare(before, after)
    second = comparison.cases[1]
    assert second.evidence is not None
    assert 0.05 / 3 < p_slower(second.evidence) < 0.05 / 2
    assert [case.case for case in comparison.fails()] == ["1n1g", "1n2g"]
    (_, alone, _) = compare(*many(runs_of, {"1n2g": 0.9752}, cases=3)).cases
    assert (alone.verdict, alone.decisive) == (Verdict.REGRESSION, False)


@pytest.mark.parametrize(("p", "stands"), [(0.98 * 0.05 / 3, True), (1.02 * 0.05 / 3, False)])
def test_a_comparison_fails_by_chance_once_in_twenty(runs_of, p: float, stands: bool):
    """The first of three cases must be as unlikely as a third of that, one-sided."""
    factor = math.exp(stats.t.ppf(p, 4) * 0.01 * math.sqrt(2 / 3))
    comparison = compare(*many(runs_of, {"1n2g": factor}, cases=3))
    evidence = comparison.cases[1].evidence
    assert evidence is not None
    assert p_slower(evidence) == pytest.approx(p)
    assert comparison.cases[1].verdict is Verdict.REGRESSION
    assert bool(comparison.fails()) is stands


def test_single_case_exits_as_its_verdict_says(runs_of):
    for factor in (0.9, 0.96, 0.97, 0.975, 0.979, 0.99, 1.0, 1.05):
        for values in (STEADY, STEADY[:3], NOISY):
            runs = runs_of("1n1g", values), runs_of("1n1g", times(factor, values))
            comparison = compare(*runs)
            assert bool(comparison.fails()) == bool(comparison.regressions)


def test_strict_fails_on_what_is_inconclusive_too(runs_of):
    comparison = compare(runs_of("1n1g", [100]), runs_of("1n1g", [100]))
    assert comparison.fails() == ()
    assert [case.case for case in comparison.fails(strict=True)] == ["1n1g"]


def test_missing_cases_are_named_and_fail_nothing(runs_of):
    before = runs_of("1n1g", STEADY) + runs_of("1n2g", [200]) + runs_of("1n8g", [None])
    after = runs_of("1n1g", STEADY) + runs_of("1n4g", [400]) + runs_of("1n8g", [800])
    comparison = compare(before, after)
    grounds = {case.case: case.ground for case in comparison.cases}
    assert grounds["1n2g"] is Ground.NOT_IN_CANDIDATE
    assert grounds["1n4g"] is Ground.NOT_IN_BASELINE
    assert grounds["1n8g"] is Ground.BASELINE_FAILED
    assert {str(c.verdict) for c in comparison.cases} == {"same", "insufficient"}
    table = comparison_table(comparison)
    shown = {
        case.case: row[table.headings.index("verdict") :][:2]
        for case, row in zip(comparison.cases, table.rows, strict=True)
    }
    assert shown["1n2g"] == ("only in the baseline", "")
    assert shown["1n4g"] == ("only in the candidate", "")
    assert shown["1n8g"][0] == "insufficient"
    told = {case["case"]: case["verdict"] for case in comparison_document(comparison)["cases"]}
    assert {told[case] for case in ("1n2g", "1n4g", "1n8g")} == {"insufficient"}
    assert comparison.fails(strict=True) == ()


def test_case_that_no_longer_succeeds_fails_the_comparison(runs_of):
    comparison = compare(runs_of("1n1g", [100]), runs_of("1n1g", [None]))
    assert verdicts(comparison) == {"1n1g": "insufficient"}
    assert [case.case for case in comparison.fails()] == ["1n1g"]
    assert "never in the candidate; the exit code is 1: cpu-smoke" in comparison_markdown(
        comparison
    )


def planned(runs: Sequence[RunResult]) -> list[RunResult]:
    return [replace(run, state="planned", throughput=None, reason="") for run in runs]


def test_what_has_not_ended_yet_is_no_regression_and_is_said(runs_of):
    before = runs_of("1n1g", STEADY) + runs_of("1n2g", STEADY) + runs_of("1n4g", STEADY)
    failing = runs_of("1n2g", [None, 1.0])
    after = [*runs_of("1n1g", STEADY), failing[0], *planned([failing[1], *runs_of("1n4g", [1.0])])]
    comparison = compare(before, after)
    grounds = {case.case: case.ground for case in comparison.cases}
    assert grounds["1n2g"] is grounds["1n4g"] is Ground.CANDIDATE_UNFINISHED
    assert comparison.fails(strict=True) == ()
    text = comparison_markdown(comparison)
    assert "The candidate is unfinished: 6 of 8 runs ended." in text
    assert text.count("not in the candidate yet") == 2
    assert "never in the candidate" not in text
    ended = compare(before, [*after[:6], replace(after[6], state="failed"), *after[7:]])
    assert [case.case for case in ended.fails()] == ["1n2g"]


def test_a_candidate_that_has_ended_no_common_case_yet_is_said_to_be_unfinished(runs_of):
    with pytest.raises(SelectionError, match="the candidate has no results yet"):
        compare(runs_of("1n1g", STEADY), planned(runs_of("1n1g", STEADY)))


@pytest.mark.parametrize("ended", [True, False])
def test_campaigns_of_other_profiles_never_get_a_case_in_common_whatever_has_ended(runs_of, ended):
    theirs = [replace(run, profile="other") for run in runs_of("1n1g", STEADY)]
    with pytest.raises(SelectionError, match=r"no case in common: .* other in the candidate"):
        compare(runs_of("1n1g", STEADY), theirs if ended else planned(theirs))


def test_a_figure_that_was_entered_as_open_leaves_nothing_unfinished(runs_of):
    open_ = [replace(run, imported=True) for run in planned(runs_of("1n2g", [1.0]))]
    found = compare(runs_of("1n1g", STEADY), [*runs_of("1n1g", STEADY), *open_])
    assert found.unfinished == (None, None)


def test_environments_that_differ_are_said_first(runs_of):
    ours = runs_of("1n1g", STEADY, fingerprint="H100, driver 570")
    theirs = runs_of("1n1g", STEADY, fingerprint="H100, driver 580")
    comparison = compare(ours, theirs)
    assert comparison.environments == (("H100, driver 570", "H100, driver 580"),)
    first = comparison_markdown(comparison).splitlines()[0]
    assert first.startswith("> **The environments differ")
    assert "driver 570" in first
    assert "driver 580" in first
    assert compare(ours, runs_of("1n1g", STEADY)).environments == ()
    assert compare(ours, ours).environments == ()


def test_only_what_differs_between_two_environments_is_shown(runs_of):
    ours = runs_of("1n1g", STEADY, fingerprint="H100, driver 570; ECC: on; image: sha256:1")
    theirs = runs_of("1n1g", STEADY, fingerprint="H100, driver 570; ECC: on; image: sha256:2")
    first = comparison_markdown(compare(ours, theirs)).splitlines()[0]
    assert "Baseline: image: sha256:1. Candidate: image: sha256:2." in first
    unsaid = runs_of("1n1g", STEADY, fingerprint="H100, driver 570")
    assert compare(ours, unsaid).environments == ()


def test_campaigns_that_are_mixed_differ_by_what_they_do_not_share(runs_of):
    mixed = runs_of("1n1g", STEADY, fingerprint="A; ECC: on")
    mixed[1:] = [replace(run, fingerprint="A") for run in mixed[1:]]
    off = runs_of("1n1g", STEADY, fingerprint="A; ECC: off")
    assert compare(mixed, off).environments == (("A; ECC: on", "A; ECC: off"),)
    assert compare(mixed, mixed).environments == ()


def test_environments_that_differ_say_of_which_cases_unless_it_is_all(runs_of):
    v100 = "Tesla V100-SXM2-16GB, driver 440.1, Debian"
    h200 = "NVIDIA H200, driver 580.1, Debian"
    cases = [f"1n{gpus}g" for gpus in (1, 2, 4, 8)]
    ours = [run for case in cases for run in runs_of(case, STEADY, fingerprint=v100)]
    for moved in range(1, len(cases) + 1):
        theirs = [
            run
            for place, case in enumerate(cases)
            for run in runs_of(case, STEADY, fingerprint=h200 if place < moved else v100)
        ]
        comparison = compare(ours, theirs)
        (line,) = (w for w in comparison_words(comparison)[0] if "environments differ" in w)
        which = "" if moved == 4 else f" ({moved} of 4 cases: {', '.join(cases[:moved])})"
        assert line == (
            f"The environments differ{which}, so that more than the change under test may show. "
            "Baseline: V100-SXM2-16GB, driver 440.1. Candidate: H200, driver 580.1."
        )
        (told,) = comparison_document(comparison)["environments"]
        assert told["cases"] == [
            f"cpu-smoke {case} batch_size=64, precision=fp32" for case in cases[:moved]
        ]
        assert (told["baseline"], told["candidate"]) == (v100, h200)


def test_a_case_of_several_environments_is_told_in_one_line(runs_of):
    def on(*prints):
        return [
            replace(run, fingerprint=prints[place % len(prints)])
            for place, run in enumerate(runs_of("1n1g", STEADY))
        ]

    (line, *_), _ = comparison_words(compare(on("A; ECC: on", "B; ECC: on"), on("B; ECC: on")))
    assert line.endswith("Baseline: A / B. Candidate: B.")
    (line, *_), _ = comparison_words(compare(on("A; x: 1", "B; x: 2"), on("A; x: 1", "B; x: 3")))
    assert line.endswith("Baseline: x: 1 / 2. Candidate: x: 1 / 3.")
    (line, *_), _ = comparison_words(compare(on("A; x: 1", "B; x: 2"), on("A; x: 2", "B; x: 1")))
    assert line.endswith("Baseline: A / B, x: 1 / 2. Candidate: A / B, x: 2 / 1.")


def test_simulated_figures_are_said_first(runs_of):
    comparison = compare(runs_of("1n1g", STEADY, simulated=True), runs_of("1n1g", STEADY))
    assert comparison_markdown(comparison).startswith("> **SIMULATED")


def test_different_units_are_refused(runs_of):
    with pytest.raises(SelectionError, match="baseline is in samples/s, candidate in images/s"):
        compare(runs_of("1n1g", [100]), runs_of("1n1g", [100], unit="images/s"))


def test_nothing_in_common_is_refused(runs_of):
    with pytest.raises(SelectionError, match="no case in common"):
        compare(runs_of("1n1g", [100]), runs_of("1n2g", [100]))


@pytest.mark.parametrize("state", [None, "planned", "running", "cancelled"])
def test_a_side_without_results_is_told_instead_of_what_is_not_in_common(runs_of, state):
    """Whatever the other one has measured."""
    some = runs_of("1n1g", STEADY)
    none = (
        []
        if state is None
        else [replace(run, state=state) for run in runs_of("1n2g", [None, None])]
    )
    yet = "" if state in (None, "cancelled") else " yet"
    for ours, theirs, side in ((none, some, "baseline"), (some, none, "candidate")):
        with pytest.raises(SelectionError, match=f"^the {side} has no results{yet}; "):
            compare(ours, theirs)
        with pytest.raises(SelectionError, match=f"^the {side} has no results{yet}; "):
            compare(ours, theirs, across=("precision",))


def test_threshold_out_of_range_is_refused(runs_of):
    with pytest.raises(SelectionError, match="threshold 2 is out of range"):
        compare(runs_of("1n1g", [100]), runs_of("1n1g", [100]), 2)


@given(
    *(st.lists(st.floats(90, 110), min_size=1, max_size=9) for _ in range(2)),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_printed_ratio_is_of_the_medians_and_whose_the_interval_is_is_said(
    runs_of: Runs, ours: list[float], theirs: list[float]
) -> None:
    comparison = compare(runs_of("1n1g", ours), runs_of("1n1g", theirs))
    (case,) = comparison.cases
    (row,) = comparison_table(comparison).rows
    shown, interval = row[-5], row[-4]
    assert shown == fixed(statistics.median(theirs) / statistics.median(ours), 3)
    (told,) = comparison_document(comparison)["cases"]
    assert told["ratio_method"] == (case.interval and str(case.interval.method))
    if interval.endswith(" w"):
        assert told["ratio_method"] == "welch"
        assert case.evidence is not None
        change = signed_percent(case.evidence.ratio - 1)
        assert f"differ by {change}," in row[-1]
        of_medians = signed_percent(case.ratio - 1)
        assert (f"the medians differ by {of_medians}" in row[-1]) == (of_medians != change)
        (low, high), ratio = told["estimate_interval"], told["ratio"]
        assert told["ratio_interval"] == [min(low, ratio), max(high, ratio)]
    elif interval != "–":
        low, high = map(float, interval.split(" … "))
        assert low <= float(shown) <= high


def test_each_row_of_a_comparison_says_how_far_both_figures_can_be_trusted(runs_of):
    ours = [*runs_of("1n1g", times(1.3, STEADY), simulated=True), *runs_of("1n4g", [None])]
    theirs = [*runs_of("1n1g", STEADY, fingerprint="A, driver 1"), *runs_of("1n2g", [100, 120])]
    comparison = compare(ours, theirs)
    table = comparison_table(comparison)
    place = [column.heading for column in table.columns].index("grades")
    told = {row[0].split()[0]: row[place] for row in table.rows}
    assert told == {"1n1g": "D → B", "1n2g": "– → D", "1n4g": "– → –"}
    assert table.columns[place].below, "it is never left out for want of room"
    documents = comparison_document(comparison)["cases"]
    for case in documents:
        grades = (case[f"{side}_grade"] or "–" for side in ("baseline", "candidate"))
        assert told[case["case"]] == " → ".join(grades)


def test_comparison_prints_what_its_verdict_rests_on(runs_of):
    comparison = compare(runs_of("1n1g", STEADY), runs_of("1n1g", times(0.9, STEADY)))
    text = comparison_markdown(comparison)
    assert "| 1n1g b64 fp32 | 100.00 | 5 | 90.00 | 5 | 0.900 | 0.898 … 0.902 w | " in text
    assert "the geometric means differ by -10.0%, 95% -10.2% to -9.8%" in text
    assert "w: Welch's interval, of the ratio of the geometric means, which need not lie" in text
    assert "'why'" not in text, "which tells no change of what is in doubt"


def test_document_has_what_other_programs_rely_on(runs_of):
    comparison = compare(
        runs_of("1n1g", STEADY) + runs_of("1n2g", [1]),
        runs_of("1n1g", times(0.9, STEADY)) + runs_of("1n2g", [1]),
    )
    document = json.loads(json.dumps(comparison_document(comparison), allow_nan=False))
    assert (document["threshold"], document["regressions"], document["inconclusive"]) == (
        0.02,
        1,
        1,
    )
    slower, unknown = document["cases"]
    assert set(slower) >= {
        *("profile", "case", "parameters", "baseline", "candidate", "ratio", "ratio_interval"),
        *("verdict", "reason", "repeats_needed"),
    }
    assert (slower["verdict"], slower["ratio"]) == ("regression", pytest.approx(0.9))
    low, high = slower["ratio_interval"]
    assert low < 0.9 < high
    assert (unknown["ratio_interval"], unknown["repeats_needed"]) == (None, 3)
    assert document["decisive"] == ["cpu-smoke 1n1g batch_size=64, precision=fp32"]


def said(estimate: float, interval: Sequence[float], threshold: float = 0.02) -> str:
    """The verdict that anybody reckons from the document's own figures."""
    low, high = interval
    if 1 - threshold <= low and high <= 1 + threshold:
        return "same"
    if abs(estimate - 1) <= threshold or low <= 1 <= high:
        return "inconclusive"
    return "regression" if estimate < 1 else "improvement"


REPEATS = st.lists(st.floats(97, 103), min_size=2, max_size=9)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ours=REPEATS, theirs=REPEATS, factor=st.sampled_from([0.95, 0.975, 0.99, 1.0, 1.03]))
@example([100.0] * 5 + [103.0], [96.0] * 5 + [103.0], 1.0)
def test_the_verdict_follows_from_the_figures_beside_it(
    runs_of: Runs, ours: list[float], theirs: list[float], factor: float
) -> None:
    compared = compare(runs_of("1n1g", ours), runs_of("1n1g", times(factor, theirs)))
    (case,) = comparison_document(compared)["cases"]
    if min(len(ours), len(theirs)) < 3:
        assert (case["estimate"], case["estimate_interval"]) == (None, None)
        return
    low, high = case["estimate_interval"]
    assert low <= case["estimate"] <= high
    assert case["verdict"] == said(case["estimate"], (low, high))
    means = [math.fsum(map(math.log, side)) / len(side) for side in (ours, times(factor, theirs))]
    assert case["estimate"] == pytest.approx(math.exp(means[1] - means[0]))
    by_medians = case["verdict"]
    if min(len(ours), len(theirs)) >= 6:
        by_medians = said(case["ratio"], case["ratio_interval"])
    differs = by_medians != case["verdict"]
    assert ("ratio of medians" in case["reason"]) == differs
    assert (f"would say: {by_medians}" in case["reason"]) == differs


def test_two_intervals_that_say_different_things_are_both_told(runs_of: Runs) -> None:
    ours, theirs = [100.0] * 6 + [160.0], [96.0] * 7
    (case,) = compare(runs_of("1n1g", ours), runs_of("1n1g", theirs)).cases
    assert (case.verdict, case.by_medians) == (Verdict.INCONCLUSIVE, Verdict.REGRESSION)
    text = comparison_markdown(Comparison(0.02, (case,)))
    assert "the interval of the ratio of medians" in text
    assert "would say: regression" in text


def test_junit_fails_what_the_exit_code_rests_on_and_skips_what_is_not_decided(runs_of):
    comparison = compare(*many(runs_of, {"1n3g": 0.97, "1n9g": 0.9}))
    suite = ET.fromstring(comparison_junit(comparison))
    assert (suite.get("tests"), suite.get("failures")) == ("24", "1")
    outcomes = {test.get("name", "").split()[0]: test[0] for test in suite.iter("testcase")}
    assert suite[-1].tag == "system-out"
    before, after = comparison_words(comparison)
    assert before or after
    assert (suite[-1].text or "").splitlines() == [*before, *after]
    assert outcomes["1n9g"].tag == "failure"
    assert outcomes["1n3g"].tag == outcomes["1n1g"].tag == "skipped"
    assert (outcomes["1n3g"].get("message") or "").startswith(
        "regression: the geometric means differ by"
    )
    strict = ET.fromstring(comparison_junit(comparison, strict=True))
    assert strict.get("failures") == str(len(comparison.fails(strict=True))) == "23"


def test_junit_takes_any_text(runs_of):
    hostile = {"precision": 'x"<&>\x00\x1b[31m'}
    runs = runs_of("1n1g", STEADY, profile="a<b\x07", parameters=hostile)
    suite = ET.fromstring(comparison_junit(compare(runs, runs)))
    assert suite[0].get("classname", "").startswith("a<b")


@pytest.mark.parametrize("tags", [("1n1g",), ("1n1g", "1n2g"), ("1n1g", "1n2g", "1n4g")])
@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_one_case_is_not_said_to_be_among_others(
    runs_of: Runs, tags: Sequence[str], factor: float
) -> None:
    ours = [run for tag in tags for run in runs_of(tag, STEADY)]
    theirs = [run for tag in tags for run in runs_of(tag, times(factor, STEADY))]
    text = comparison_markdown(compare(ours, theirs, threshold=0.02))
    assert (f"among all {len(tags)} cases" in text) == (len(tags) > 1)


@given(ours=st.sets(st.sampled_from(("1n1g", "1n2g", "1n4g", "2n4g"))), data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_both_have_comes_first_and_each_case_once(
    runs_of: Runs, ours: set[str], data: st.DataObject
) -> None:
    shared = data.draw(st.sets(st.sampled_from(("2n8g", "4n8g", "1n8g")), min_size=1))
    theirs = data.draw(st.sets(st.sampled_from(("8n8g", "3n8g"))))

    def measured(tags: set[str]) -> list[RunResult]:
        return [run for tag in sorted(tags) for run in runs_of(tag, [100.0, 101.0])]

    cases = compare(measured(ours | shared), measured(theirs | shared)).cases
    assert {case.case for case in cases[: len(shared)]} == shared
    assert sorted(case.case for case in cases) == sorted(ours | theirs | shared)


def tried_twice(runs: Sequence[RunResult]) -> list[RunResult]:
    first = [replace(r, run_id=f"{r.run_id}-a1", state="failed", throughput=None) for r in runs]
    return [*first, *(replace(run, attempt=2) for run in runs)]


def test_a_run_that_was_tried_again_is_one_run_however_a_comparison_counts(runs_of):
    ours = [replace(run, campaign="a") for run in runs_of("1n1g", STEADY)]
    retried = [*tried_twice(ours[:2]), *ours[2:]]
    due = [replace(run, campaign="a") for run in planned(runs_of("1n2g", [1.0, 1.0]))]
    assert compare(ours, [*retried, *due]).unfinished[1] == (len(ours), len(ours) + 2)
    assert compare(retried, retried).same_runs == len(ours)


V100, H200 = (
    Machines(
        *(1, 8, 64, 500),
        uuids=frozenset({model}),
        gpu_models=frozenset({model}),
        setup=(("driver", driver), ("power limit", watts)),
    )
    for model, driver, watts in (
        ("V100-SXM2-16GB", "470.57.02", "300 W"),
        ("H200", "580.159.04", "700 W"),
    )
)
ALIKE = "what is recorded of software and GPU settings is alike"


@pytest.mark.parametrize(
    ("theirs", "told", "alike"),
    [
        (
            H200,
            "V100-SXM2-16GB → H200, no GPU in common, driver 470.57.02 → 580.159.04, "
            "power limit 300 W → 700 W",
            False,
        ),
        (replace(V100, uuids=frozenset("b")), "no GPU in common", True),
        (replace(V100, uuids=frozenset("b"), setup=()), "no GPU in common", False),
    ],
)
def test_nothing_is_called_alike_that_was_not_compared(
    runs_of: Runs, theirs: Machines, told: str, alike: bool
) -> None:
    gpu = "V100, driver 1"
    sides = (runs_of("1n1g", STEADY, fingerprint=gpu) for _ in range(2))
    found = compare(*sides).on(V100, theirs)
    before, _ = comparison_words(found)
    besides = f"; {ALIKE}" * alike
    assert f"The hosts differ: {told}{besides}." in before
    assert f"The hosts differ: {told}{besides}." in comparison_document(found)["notes"]


@pytest.mark.parametrize("theirs", [H200, replace(H200, uuids=V100.uuids)])
def test_gpus_and_their_drivers_differ_in_nothing_that_matters_to_runs_on_cpus(
    runs_of: Runs, theirs: Machines
) -> None:
    sides = (runs_of("1n1g", STEADY, fingerprint="EPYC, Debian 12") for _ in range(2))
    before, _ = comparison_words(compare(*sides).on(V100, theirs))
    said = [line for line in before if "host" in line]
    other = theirs.uuids != V100.uuids
    told = "The hosts differ: no host in common; what is recorded of software is alike."
    assert said == [told] * other


def test_what_the_environments_tell_is_not_told_again_of_the_hosts(runs_of: Runs) -> None:
    one, two = (
        runs_of("1n1g", STEADY, fingerprint=f"{model}, driver 1") for model in ("V100", "H200")
    )
    before, _ = comparison_words(compare(one, two).on(V100, H200))
    assert "The hosts differ: V100-SXM2-16GB → H200, no GPU in common." in before


def test_one_machine_of_several_names_is_no_other_machine_in_another_campaign(
    runs_of: Runs,
) -> None:
    sides = (runs_of("1n1g", times(factor, STEADY)) for factor in (1.0, 0.9))
    boot = frozenset({"boot"})
    found = compare(*sides).on(replace(V100, boots=boot), replace(H200, boots=boot))
    (case,) = found.cases
    assert not case.other_machines
    assert "in common" not in " ".join(comparison_words(found)[0])


@pytest.mark.parametrize("theirs", [V100, H200])
def test_what_is_not_judged_is_said_to_decide_the_exit_code_whatever_it_is_from(
    runs_of: Runs, theirs: Machines
) -> None:
    """As a history says it."""
    found = compare(*(runs_of("1n1g", times(f, STEADY)) for f in (1.0, 0.9))).on(V100, theirs)
    (line,) = [one for one in comparison_words(found)[1] if "so that the exit code is 1" in one]
    assert ("is 1, whatever it is from: " in line) == ("in doubt" in line) == (theirs is H200)
    assert found.fails()
