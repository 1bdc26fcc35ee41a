"""The flags of a case, as the console's table says them."""

from dataclasses import replace

from backends.results.grade_words import finding_lines
from backends.results.summary import summarise
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
        assert flags(group.cases[0]).plain == f"✗ {said}"


def test_what_was_skipped_has_no_log_and_is_said_to_have_never_started(runs_of):
    cancelled = [
        replace(run, state="cancelled", started_at=1.0) for run in runs_of("1n1g", [None, None])
    ]
    skipped = [replace(run, started_at=None) for run in cancelled]
    for runs, words, way_on in (
        (skipped, "2 of 2 repeats were never started", "3, and t there starts it"),
        (cancelled, "2 of 2 repeats did not succeed", "3 has its log, and t there tries it again"),
    ):
        [group] = summarise(runs)
        lines = finding_lines(group.cases[0], group)
        assert any(words in line for line in lines)
        text = case_text(group.cases[0], group, retriable=True).plain
        assert way_on in text
        for told in (text, case_text(group.cases[0], group).plain):
            assert ("has its log" in told) == (runs is cancelled)
