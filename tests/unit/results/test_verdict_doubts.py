"""A change is called one where the figures judge what was changed; else its word says why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.hosts.machines import Machines
from backends.results.comparison import compare
from backends.results.comparison_files import comparison_document, comparison_junit, comparisons_csv
from backends.results.comparison_report import comparison_table, comparison_words
from backends.results.history import history
from backends.results.history_json import history_document
from backends.results.history_report import history_tables, history_words
from backends.results.run_result import RunResult
from backends.results.verdict_doubts import Doubt, why_doubted
from tests.unit.results.test_history import campaign, times
from tui.key_bindings import PANELS

Runs = Callable[..., list[RunResult]]
HERE = Machines(1, 1, 8, 64, frozenset({"GPU-a"}))
THERE = Machines(1, 1, 8, 64, frozenset({"GPU-b"}))
OLD, NEW = "V100, driver 450.80; ECC: on", "V100, driver 470.10; ECC: on"
H200 = "H200, driver 580.1; ECC: on"

sides = st.fixed_dictionaries(
    {
        "simulated": st.booleans(),
        "fingerprint": st.sampled_from(["", OLD, NEW, H200]),
        "machines": st.sampled_from([None, HERE, THERE]),
        "rule": st.sampled_from([("", ""), ("mean", "all readings"), ("median", "all readings")]),
    }
)


def expected(one: dict[str, object], other: dict[str, object]) -> list[str]:
    told = ["grade"] * bool(one["simulated"] or other["simulated"])
    rules = {one["rule"], other["rule"]} - {("", "")}
    told += ["rule"] * (len(rules) > 1)
    told += ["hosts"] * ({HERE, THERE} == {one["machines"], other["machines"]})
    prints = {str(side["fingerprint"]) for side in (one, other)}
    if len(prints) > 1 and "" not in prints:
        told += ["devices" if H200 in prints else "environment"]
    return told


@pytest.mark.parametrize("doubt", [doubt for doubt in Doubt if why_doubted([doubt])])
def test_help_of_compare_names_every_reason_for_doubt(doubt: Doubt) -> None:
    [line] = [one for one in PANELS["compare"].about.split("\n") if "in doubt: so" in one]
    assert why_doubted([doubt]) in line


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sides, sides, st.sampled_from([0.9, 1.1]))
def test_a_change_that_the_figures_do_not_judge_is_called_none_anywhere(
    runs_of: Runs, one, other, factor: float
):
    other["simulated"] = one["simulated"]  # they are two series in a history
    before, after = (
        runs_of(
            "1n1g",
            times(level),
            simulated=side["simulated"],
            fingerprint=side["fingerprint"],
            statistic=side["rule"][0],
            window=side["rule"][1],
        )
        for side, level in ((one, 1.0), (other, factor))
    )
    compared = compare(before, after).on(one["machines"], other["machines"])
    seen = history(
        [
            campaign(0, before, machines=one["machines"]),
            campaign(1, after, machines=other["machines"]),
        ]
    )
    doubts = expected(one, other)
    plain, change = ("regression", "slower") if factor < 1 else ("improvement", "faster")
    (case,) = compared.cases
    assert list(case.doubts) == doubts
    assert seen.cases[0].words == case.words
    if not doubts:
        assert case.words == plain
    elif doubts == ["environment"]:
        assert case.words == f"{change}, in another environment"
    else:
        assert case.words.startswith(f"{change}, in doubt: ")
    for table in (comparison_table(compared), history_tables(seen)[0]):
        at = [column.heading for column in table.columns].index("verdict")
        assert table.rows[0][at] == case.words
    (told,), (past,) = comparison_document(compared)["cases"], history_document(seen)["cases"]
    for document in (told, past, *past["changes"]):
        assert (document["verdict"], document["doubts"]) == (plain, doubts), "a contract"
    junit = comparison_junit(compared)
    assert f"{case.words}: " in "".join(ET.fromstring(junit).itertext())
    assert ";".join(doubts) in comparisons_csv([compared])
    for words in (comparison_words(compared)[1], history_words(seen)[1]):
        why_doubted = {*doubts} & {"grade", "rule", "hosts", "devices"}
        named = any("in doubt: " in line for line in words)
        assert named == bool(why_doubted and factor < 1), words
    assert bool(compared.fails()) == bool(seen.fails) == (factor < 1)
    json.dumps([told, past])


def test_one_repeat_a_night_is_judged_for_the_nights_tell_how_they_scatter(runs_of: Runs):
    """Each is of grade D by that, and a history is made for them."""
    levels = [1.0, 1.001, 0.999, 1.0, 1.002, 0.9, 0.901, 0.899, 0.9, 0.902]
    nights = [campaign(at, runs_of("1n1g", [100 * x])) for at, x in enumerate(levels)]
    (case,) = history(nights).cases
    assert {str(point.case.grade) for point in case.points} == {"D"}
    assert case.words == "regression"


@pytest.mark.parametrize(("doubtful", "words"), [(1, "regression"), (3, "slower, in doubt: ")])
def test_a_level_is_in_doubt_where_all_of_its_figures_are(runs_of: Runs, doubtful, words):
    levels = [1.0] * 4 + [0.9] * 3
    nights = []
    for at, level in enumerate(levels):
        runs = runs_of("1n1g", times(level))
        if at >= len(levels) - doubtful:
            runs = [replace(run, doubts={"clock": ("the clock was set",)}) for run in runs]
        nights.append(campaign(at, runs))
    assert history(nights).cases[0].words.startswith(words)


def test_a_trend_over_other_hosts_is_none_of_what_was_changed(runs_of: Runs):
    def seen(machines: list[Machines]) -> str:
        nights = [
            campaign(at, runs_of("1n1g", [100 - 0.35 * at]), machines=own)
            for at, own in enumerate(machines)
        ]
        return history(nights, 0.02).cases[0].words

    assert seen([HERE] * 10) == "regression"
    assert seen([HERE] * 5 + [THERE] * 5) == "slower, in doubt: other hosts"


def test_names_of_one_machine_are_named(runs_of: Runs):
    runs = runs_of("1n1g", times(1))
    one = replace(HERE, by_names=(("node1", "node2", "node3"),))
    words = comparison_words(compare(runs, runs).on(one, HERE))[0]
    gpus = ", with the GPUs of all whose cases are compared" if HERE.gpus else ""
    said = f"One machine has several names in the baseline, and counts once{gpus}: node[1-3]."
    assert said in words
    assert not any("candidate, and counts once" in line for line in words)
    words = comparison_words(compare(runs, runs).on(replace(one, gpus=0), HERE))[0]
    assert "One machine has several names in the baseline, and counts once: node[1-3]." in words
