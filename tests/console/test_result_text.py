"""A case in words: what sets its grade comes first, in the table as in its panel."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from backends.results.findings import Grade
from backends.results.grade_words import found_lines
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.screens.result_text import SHORT, case_text, flags
from tui.text import cell, whole_parts
from tui.theme import WARN

SPEEDS = st.lists(st.floats(50, 150), min_size=1, max_size=9)


def runs(speeds: list[float], failed: int) -> list[RunResult]:
    one = RunResult("r", "p", "F", "M", "1n1g", 1, 1, {}, 1, throughput=100.0)
    done = [replace(one, run_id=f"r{n}", repeat=n, throughput=v) for n, v in enumerate(speeds, 1)]
    lost = replace(one, state="failed", throughput=None, reason="out of memory")
    return [*done, *(replace(lost, run_id=f"f{n}", repeat=10 + n) for n in range(failed))]


@given(SPEEDS, st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_what_sets_the_grade_stands_first(speeds: list[float], failed: int) -> None:
    (group,) = summarise(runs(speeds, failed))
    (case,) = group.cases
    assert case.grade is not None
    sets = {SHORT[found.concern] for found in case.findings if found.ceiling is case.grade}
    shown = flags(case).plain
    if case.grade >= Grade.C:
        assert shown[2:].partition(", ")[0] in sets
    panel = case_text(case, group, retriable=True).plain
    told = [line[2:4] for line in panel.splitlines() if line.startswith("▲ ")]
    grades = [letter[0] for letter in told if letter[0] in "ABCD" and letter[1] == " "]
    assert grades == sorted(grades, reverse=True)
    assert len(told) == len(found_lines(case, group))
    assert ("→ more repeats" in panel) == bool(sets & {"few repeats", "wide interval"}) * (
        case.grade > Grade.A
    )


def test_what_sets_no_grade_is_told_no_remedy_and_a_past_campaign_no_key() -> None:
    (group,) = summarise(runs([100.0] * 3, 0))
    (case,) = group.cases
    assert "+ on page 3" in case_text(case, group, retriable=True).plain
    past = case_text(case, group).plain
    assert "→ more repeats would narrow it" in past
    assert "page 3" not in past


WORDS = st.lists(st.sampled_from(sorted(SHORT.values())), min_size=2, max_size=6)


@given(WORDS, st.integers(4, 60))
def test_flags_are_whole_and_those_without_room_are_counted(told: list[str], width: int) -> None:
    whole = cell(f"▲ {', '.join(told)}", WARN)
    shown = whole_parts(whole, width)
    assert shown.cell_len <= max(width, 4)
    assert shown.style == whole.style
    words, _, more = shown.plain.partition("+")
    kept = [word for word in words.removeprefix("▲").strip().split(", ") if word]
    assert kept == told[: len(kept)]
    assert len(kept) + int(more or 0) == len(told)
    if width >= whole.cell_len:
        assert shown == whole
    elif len(kept) < len(told) - 1:
        one_more = f"▲ {', '.join(told[: len(kept) + 1])}+{len(told) - len(kept) - 1}"
        assert cell_len(one_more) > width
