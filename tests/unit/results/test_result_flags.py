"""The flags of a case, as the console's table says them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.campaign_junit import campaign_junit
from backends.results.campaign_report import ReportContext, render_report
from backends.results.findings import Concern, Finding, Grade
from backends.results.grade_words import finding_lines, grade_reasons
from backends.results.run_result import RunResult
from backends.results.scaling_loss_words import explained_lines
from backends.results.summary import summarise
from tests.unit.results.test_grade import STEADY
from tui.screens.result_text import case_text, flags


def test_what_was_cancelled_is_not_said_to_have_failed(runs_of):
    failed = runs_of("1n1g", [None, None])
    cancelled = [replace(run, state="cancelled", started_at=1.0) for run in failed]
    skipped = [replace(run, started_at=None) for run in cancelled]
    for runs, said in (
        (cancelled, "cancelled"),
        (skipped, "skipped"),
        ([cancelled[0], skipped[1]], "cancelled"),
        (failed, "failed"),
        ([cancelled[0], failed[1]], "failed"),
        ([failed[0], replace(failed[1], state="running")], "failed runs"),
    ):
        [group] = summarise(runs)
        assert flags(group.cases[0]).plain == f"{'✗' if 'failed' in said else '▲'} {said}"


def test_what_was_skipped_has_no_log_and_is_said_to_have_never_started(runs_of):
    cancelled = [
        replace(run, state="cancelled", started_at=1.0) for run in runs_of("1n1g", [None, None])
    ]
    skipped = [replace(run, started_at=None) for run in cancelled]
    for runs, words, way_on in (
        (skipped, "2 of 2 repeats were never started", "3, and t there starts it"),
        (cancelled, "2 of 2 repeats were cancelled", "3 has its log, and t there tries it again"),
    ):
        [group] = summarise(runs)
        lines = finding_lines(group.cases[0], group)
        assert any(words in line for line in lines)
        text = case_text(group.cases[0], group, retriable=True).plain
        assert way_on in text
        for told in (text, case_text(group.cases[0], group).plain):
            assert ("has its log" in told) == (runs is cancelled)


@pytest.mark.parametrize("failed", [1, 2])
def test_a_failed_attempt_that_was_tried_again_is_noted_and_costs_nothing(
    runs_of, failed: int
) -> None:
    runs = runs_of("1n1g", STEADY, fingerprint="a")
    runs[:failed] = [replace(run, attempt=2) for run in runs[:failed]]
    lost = [
        replace(
            run, run_id=f"f{n}", attempt=1, state="failed", throughput=None, reason="out of memory"
        )
        for n, run in enumerate(runs[:failed])
    ]
    [group] = summarise([*lost, *runs])
    [case] = group.cases
    assert (case.grade, case.concerns) == (Grade.A, (Concern.RETRIED,))
    assert grade_reasons(case, group) == []
    (said,) = finding_lines(case, group)
    assert said.endswith(
        "tried again: " + ", ".join(f"repeat {n} (out of memory)" for n in range(1, failed + 1))
    )
    assert flags(case).plain == f"▲ {failed} tried again"
    assert said in case_text(case, group).plain
    assert said in campaign_junit("c", [*lost, *runs])
    assert said in render_report(ReportContext("c"), [*lost, *runs], [group])


@pytest.mark.parametrize(("times", "said"), [(1, ""), (2, " twice"), (3, " 3 times")])
def test_attempts_at_one_repeat_that_failed_alike_are_told_once(
    runs_of, times: int, said: str
) -> None:
    runs = runs_of("1n1g", STEADY, fingerprint="a")
    runs[3] = replace(runs[3], attempt=times + 1)
    lost = [
        replace(runs[3], run_id=f"f{n}", attempt=n, state="failed", throughput=None, reason="OOM")
        for n in range(1, times + 1)
    ]
    [group] = summarise([*lost, *runs])
    (line,) = finding_lines(group.cases[0], group)
    assert line.endswith(f"tried again: repeat 4{said} (OOM)")


@given(st.sets(st.sampled_from("abc"), min_size=1), st.sets(st.sampled_from("abc"), min_size=1))
def test_a_case_on_none_of_its_bases_hosts_says_so_and_keeps_its_grade(
    ours: set[str], theirs: set[str]
) -> None:
    runs = [
        RunResult(
            *(f"r{tag}{host}", "p", "F", "M", tag, 1, devices),
            parameters={},
            repeat=repeat,
            throughput=100.0 * devices,
            hosts=(host,),
        )
        for tag, devices, hosts in (("1n1g", 1, theirs), ("1n2g", 2, ours))
        for repeat, host in enumerate(sorted(hosts), 1)
    ]
    (group,) = summarise(runs)
    base, case = group.cases
    flagged = Concern.OTHER_HOSTS in case.concerns
    assert Concern.OTHER_HOSTS not in base.concerns
    assert flagged == ours.isdisjoint(theirs)
    assert flagged == any("on other hosts than the base" in line for line in explained_lines(group))
    assert not flagged or Finding(Concern.OTHER_HOSTS, Grade.A) in case.findings
