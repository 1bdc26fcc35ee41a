"""A case in words: what sets its grade comes first, in the table as in its panel."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from backends.hosts.telemetry_summary import GpuUse, HostUse, Telemetry
from backends.results.findings import Concern, Finding, Grade, gravest_first
from backends.results.grade import CEILINGS
from backends.results.grade_words import found_lines
from backends.results.layouts.cells import flags_cell
from backends.results.layouts.speedup import speedup_tables
from backends.results.run_result import RunResult
from backends.results.short_flags import SHORT
from backends.results.summary import Group, summarise
from tests.console.conftest import screen_text
from tui.screens.result_text import (
    CV_COLUMNS,
    case_text,
    flags,
    flags_below,
    labels_of,
    result_columns,
    result_rows,
    shared_reasons,
)
from tui.text import cell, first_part, gravest_parts, whole_parts, whole_words
from tui.theme import WARN
from tui.widgets.distribution import ends_line
from tui.widgets.keyed_table import KeyedTable

SCROLLBAR = "▁▂▃▄▅▆▇█"
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
    free = [found for found, _ in found_lines(case, group) if found.ceiling is Grade.A]
    assert panel.count(" · costs no grade\n") == len(free) == len(told) - len(grades)
    assert ("→ more repeats" in panel) == bool(sets & {"few repeats", "wide interval"}) * (
        case.grade > Grade.A
    )


@given(
    st.lists(st.floats(0.001, 1e9), min_size=2, max_size=40),
    st.floats(0.0, 1.0),
)
@example([3335.5, 531.6, 9653.1], 1.0)
@example([100.0, 102.828428], 1.0)
@example([1e-3, *([1e-3] * 38), 1e9], 1.0)
@settings(max_examples=300, deadline=None)
def test_a_cv_in_its_column_is_the_cv(speeds: list[float], near: float) -> None:
    """However large, small or near to a limit; with as many digits as there is room for."""
    middle = sum(speeds) / len(speeds)
    (group,) = summarise(runs([middle + near * (speed - middle) for speed in speeds], 0))
    (case,) = group.cases
    assert case.spread is not None
    cv = case.spread.cv
    assert cv is not None
    labels = labels_of([group])
    columns = [column.key for column in result_columns([group], labels)]
    (row,) = result_rows([group], labels)
    shown = row.cells[columns.index("cv")].plain
    assert cell_len(shown) <= CV_COLUMNS
    if shown[0] in "<>":
        bound = float(shown[1:-1]) / 100
        assert cv < bound if shown[0] == "<" else cv >= bound
        return
    digits = len(shown[:-1].partition(".")[2])
    assert abs(float(shown[:-1]) - 100 * cv) <= 0.5000001 * 10**-digits


@given(
    st.lists(st.sets(st.sampled_from(sorted(CEILINGS))), min_size=2, max_size=4),
    st.sets(st.sampled_from([*sorted(CEILINGS), Concern.FEW_REPEATS])),
)
@settings(max_examples=150, deadline=None)
def test_of_what_costs_the_same_a_row_has_first_what_other_rows_do_not(
    own: list[set[Concern]], every: set[Concern]
) -> None:
    (group,) = summarise(runs([100.0, 101.0, 102.0], 0))
    costs = {**CEILINGS, Concern.FEW_REPEATS: Grade.C}
    cases = tuple(
        replace(
            group.cases[0],
            case=f"1n{n}g",
            gpus_per_node=n,
            findings=gravest_first(Finding(one, costs[one]) for one in mine | every),
        )
        for n, mine in enumerate(own, 1)
    )
    groups = [replace(group, cases=cases)]
    shared = set.intersection(*({*case.concerns} for case in cases))
    for row, case in zip(result_rows(groups, labels_of(groups)), cases, strict=True):
        told = row.cells[-1].plain.partition(" ")[2].split(", ")
        place = {one: told.index(word) for one in case.concerns if (word := SHORT[one]) in told}
        moved = {Concern.LOG_CHANGED, Concern.FEW_REPEATS}
        for one in place.keys() - shared - moved:
            for other in place.keys() & shared - moved:
                assert (place[one] < place[other]) == (costs[one] >= costs[other]), told
        if Concern.FEW_REPEATS in shared:
            few = place.pop(Concern.FEW_REPEATS)
            for one in place.keys() - moved:
                costs_more = costs[one] >= (Grade.C if one in shared else Grade.B)
                assert (place[one] < few) == costs_more, told
        assert flags_below(case, groups, 999) in (row.cells[-1].plain, "")


@given(SPEEDS, st.integers(0, 3), st.integers(0, 2))
@settings(max_examples=150, deadline=None)
def test_a_row_its_panel_and_the_reports_table_have_the_same_flags(
    speeds: list[float], failed: int, again: int
) -> None:
    every = runs(speeds, failed)
    every[:again] = [replace(run, attempt=2) for run in every[:again]]
    lost = (
        replace(run, run_id=f"{run.run_id}-1", attempt=1, state="failed", throughput=None)
        for run in every[:again]
    )
    (group,) = summarise([*every, *lost])
    (case,) = group.cases
    told = flags_cell([case]).split(";") if case.findings else []
    row = flags(case).plain
    assert len(row.partition(" ")[2].split(", ")) * (row != "–") == len(told)
    assert {found.concern for found, _ in found_lines(case, group)} == {*told}
    assert flags_below(case, [group], 999) == row * bool(told)


@given(SPEEDS, st.integers(0, 3), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_row_says_what_sets_its_grade_or_that_the_line_below_the_list_does(
    speeds: list[float], failed: int, simulated: bool
) -> None:
    groups = summarise(replace(run, simulated=simulated) for run in runs(speeds, failed))
    (case,) = groups[0].cases
    assert case.grade is not None
    (row,) = result_rows(groups, labels_of(groups))
    grade, told = row.cells[-2].plain, row.cells[-1].plain
    below = shared_reasons(groups)
    assert below == ["all simulated: grade D"] * simulated
    sets = {SHORT[found.concern] for found in case.findings if found.ceiling is case.grade}
    sets -= {"simulated"} if simulated else set()
    if grade.endswith("↓"):
        assert f"grade {grade[0]}" in below[0]
    elif case.grade >= Grade.C and not sets <= {"few repeats"}:
        assert told[2:].partition(", ")[0] in sets - {"few repeats"}


def test_what_sets_no_grade_is_told_no_remedy_and_a_past_campaign_no_key() -> None:
    (group,) = summarise(runs([100.0] * 3, 0))
    (case,) = group.cases
    assert "+ on page 3" in case_text(case, group, retriable=True).plain
    past = case_text(case, group).plain
    assert "→ more repeats would narrow it" in past
    assert "page 3" not in past
    (alone,) = summarise(runs([100.0], 0))
    assert "narrow" not in case_text(alone.cases[0], alone).plain


def test_page_1_is_named_where_it_has_the_hosts_of_the_case() -> None:
    (group,) = summarise(replace(r, hosts=("node1",)) for r in runs([100.0, 150.0, 50.0], 0))
    for watched in ([], ["node2"], ["node1", "node2"]):
        text = case_text(group.cases[0], group, watched=watched).plain
        assert "something else may use the hosts" in text
        assert ("page 1" in text) is ("node1" in watched)


@pytest.mark.parametrize("figures", [[100.0] * 3, [100.0, 104.0, 98.0], [100.0, 150.0, 50.0]])
def test_where_the_campaigns_own_runs_were_beside_no_others_are_suspected(
    figures: list[float],
) -> None:
    beside = (replace(r, hosts=("v100-a",), beside=("h200-a",)) for r in runs(figures, 0))
    (group,) = summarise(beside)
    text = case_text(group.cases[0], group, watched=["v100-a"]).plain
    assert "→ keep to one name of each machine: o on page 2 chooses hosts" in text
    assert "something else" not in text


USES = st.fixed_dictionaries(
    {},
    optional={
        "throttled_s": st.dictionaries(
            st.sampled_from(["software thermal slowdown", "power brake", "power cap"]),
            st.sampled_from([0.5, 5.0, 60.0]),
        ),
        "other_processes": st.integers(0, 2),
        "ecc_errors": st.integers(0, 2),
    },
)


@given(
    st.sampled_from([[100.0] * 3, [100.0, 104.0, 98.0], [100.0, 150.0, 50.0]]),
    st.lists(USES, min_size=3, max_size=3),
    st.sampled_from([0, 200_000]),
)
@settings(deadline=None)
def test_what_is_known_to_have_slowed_a_case_is_what_its_panel_advises_on(
    figures: list[float], uses: list[dict[str, Any]], swapped: int
) -> None:
    """And where nothing is, that something may use the hosts."""
    every = [
        replace(
            run,
            hosts=("node1",),
            telemetry=Telemetry(
                (GpuUse("node1", 5, 100.0, **own),), (HostUse("node1", 64, 1.5, 0.3, swapped),)
            ),
        )
        for run, own in zip(runs(figures, 0), uses, strict=True)
    ]
    (group,) = summarise(every)
    case = group.cases[0]
    advice = [line for line in case_text(case, group).plain.splitlines() if line[0:1] == "→"]
    sets = {found.concern for found in case.findings if found.ceiling is case.grade}
    shaky = {"cv_amber", "cv_red", "drift", "unsteady"}
    told = {
        "see to what throttled GPU5 of node1": "throttled" in case.concerns,
        "repeat when no other process": any(own.get("other_processes") for own in uses),
        "see to the memory of GPU5": any(own.get("ecc_errors") for own in uses),
        "does not swap": bool(swapped),
    }
    concerned = bool(sets & {*shaky, "throttled", "disturbed"}) or "cv_red" in case.concerns
    for words, known in told.items():
        assert any(words in line for line in advice) == (known and concerned), words
    suspected = any("something else may use" in line for line in advice)
    unquiet = bool(sets & shaky) or "cv_red" in case.concerns
    assert suspected == (unquiet and not any(told.values()))


def test_median_speedup_and_repeats_stand_before_what_is_odd() -> None:
    larger = runs([200.0, 210.0, 120.0], 0)
    two = [replace(r, case_tag="1n2g", gpus_per_node=2, run_id=f"two-{r.run_id}") for r in larger]
    (group,) = summarise([*runs([100.0, 150.0, 50.0], 0), *two])
    _, said, grade, *_ = case_text(group.cases[1], group).plain.splitlines()
    assert said == "median 200.0 samples/s · speedup 2.00 · n 3"
    assert grade.startswith("grade ")


@given(st.integers(0, 200), st.text("0123456789.,%+-", min_size=1), st.text("01,%", min_size=1))
def test_the_figures_at_the_ends_of_a_line_are_apart_at_any_width(
    width: int, low: str, high: str
) -> None:
    line = ends_line(low, high, width)
    assert line.split() == [low, high]
    assert len(line) == max(width, len(low) + len(high) + 1)


LOST_WORDS = ("failed", "not begun", "cancelled", "skipped")
WORDS = st.lists(st.sampled_from(sorted(SHORT.values())), min_size=2, max_size=6)


COUNTS = st.lists(st.integers(1, 999), min_size=1, max_size=4).map(
    lambda told: [f"{n} {word}" for n, word in zip(told, LOST_WORDS, strict=False)]
)


@given(st.sampled_from(["", "live", "unfinished"]), COUNTS, st.integers(16, 60))
def test_of_a_state_the_gravest_count_is_whole_and_none_is_a_number_of_others(
    state: str, counts: list[str], width: int
) -> None:
    whole = cell(f"✗ {', '.join(filter(None, [state, *counts]))}", WARN)
    shown = gravest_parts(whole, width)
    assert shown.cell_len <= width
    assert shown.style == whole.style
    assert counts[0] in shown.plain.removeprefix("✗ ").split(", ")
    assert "+" not in shown.plain
    if width >= whole.cell_len:
        assert shown == whole
    assert (state in shown.plain) or cell_len(f"✗ {state}, {counts[0]}") > width


@given(SPEEDS, st.integers(0, 3), st.booleans(), st.integers(16, 60), st.randoms())
@settings(deadline=None)
def test_that_a_log_was_changed_or_is_missing_is_the_first_flag_at_any_width(
    speeds: list[float], failed: int, simulated: bool, width: int, random: Random
) -> None:
    every = [replace(run, simulated=simulated) for run in runs(speeds, failed)]
    every[0] = replace(every[0], log_differs="x.log: missing; the campaign has 1 of it")
    (group,) = summarise(every)
    (case,) = group.cases
    case = replace(case, findings=gravest_first(random.sample(case.findings, len(case.findings))))
    shown = whole_parts(flags(case), width).plain
    assert shown[2:].startswith("log chang")


@given(WORDS, st.integers(4, 60))
@settings(max_examples=400)
def test_flags_are_whole_and_those_without_room_are_counted(told: list[str], width: int) -> None:
    whole = cell(f"▲ {', '.join(told)}", WARN)
    shown = whole_parts(whole, width)
    assert shown.cell_len <= max(width, 4)
    assert shown.style == whole.style
    words, _, more = shown.plain.partition(" +")
    kept = [word for word in words.removeprefix("▲").strip().split(", ") if word]
    begun = kept.pop().removesuffix("…") if "…" in words else ""
    assert kept == told[: len(kept)]
    assert len(kept) + bool(begun) + int(more or 0) == len(told)
    if width >= whole.cell_len:
        assert shown == whole
        return
    if begun:
        assert not kept, "of another than the first no beginning stands there"
        assert told[0].startswith(begun)
        assert len(begun) >= 5
    if not kept:
        assert width < first_part(whole).cell_len, "with room for it the first says what it is"
    elif len(kept) < len(told):
        others = len(told) - len(kept) - 1
        another = f"▲ {', '.join(told[: len(kept) + 1])}{f' +{others}' * bool(others)}"
        assert cell_len(another) > width


def drawn_groups(random: Random) -> tuple[Group, ...]:
    """Of cases by names from short to longer than the table, with figures of any length."""
    values = random.choice((("on", "off"), ("x" * random.randint(3, 40), "y" * 20)))
    profiles = random.choice((("p",), ("torch-gpt-nanogpt-fsdp", "torch-gpt-nanogpt-ddp")))
    found = []
    for profile, value, nodes in product(profiles, values, (1, 4)):
        one = RunResult("r", profile, "F", "M", f"{nodes}n8g", nodes, 8, {"compile": value}, 1)
        speed = random.uniform(1, 10 ** random.randint(1, 7)) * nodes
        for n in range(random.randint(1, 12)):
            name = f"{profile}{value}{nodes}{n}"
            found.append(replace(one, run_id=name, repeat=n + 1, throughput=speed * (1 + n / 50)))
    return summarise(found)


async def test_the_gravest_flag_and_n_are_on_a_row_at_80_columns_whatever_else_is() -> None:
    class Results(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(result_columns((), labels_of(())))

    random, app = Random(3), Results()
    async with app.run_test(size=(78, 6)) as pilot:  # within the panel's frame, with a scrollbar
        table = app.query_one(KeyedTable)
        for _ in range(40):
            groups = drawn_groups(random)
            labels = labels_of(groups)
            rows, told = [], {}
            for row in result_rows(groups, labels):
                words = random.sample(sorted(SHORT.values()), random.randint(1, 6))
                told[row.key] = words[0]
                flags_cell = cell(f"▲ {', '.join(words)}", WARN)
                rows.append(replace(row, cells=(*row.cells[:-1], flags_cell)))
            table.refill(rows, result_columns(groups, labels))
            await pilot.pause()
            heading, *lines = screen_text(app).splitlines()[:5]
            assert " n " in heading
            for key, line in zip(table.shown_keys, lines, strict=False):
                flagged = line.partition("▲ ")[2].rstrip(f"{SCROLLBAR} ")
                first = flagged.partition("+")[0].partition(",")[0].rstrip()
                several = len({group.profile for group in groups}) > 1
                assert told[key].startswith(first.removesuffix("…" * several)), lines
                assert several or len(told[key]) - len(first) <= 2, "as many as the repeats take"


@given(st.sets(st.text("abc", min_size=8, max_size=20), min_size=2, max_size=4))
@settings(max_examples=10, deadline=None)
async def test_beside_other_profiles_a_case_says_its_size_and_its_parameters_at_80_columns(
    profiles: set[str],
) -> None:
    class Results(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(result_columns((), labels_of(())))

    one = RunResult("r", "p", "F", "M", "1n8g", 1, 8, {"batch_size": 128, "precision": "fp32"}, 1)
    other = replace(one, parameters={"batch_size": 256, "precision": "amp"})
    alike = [
        replace(run, run_id=f"{profile}{n}{nodes}", profile=profile, throughput=11536.4 * nodes,
                case_tag=f"{nodes}n8g", nodes=nodes)
        for profile in sorted(profiles) for n, run in enumerate((one, other)) for nodes in (1, 4)
    ]  # fmt: skip
    groups = summarise(alike)
    labels = labels_of(groups)
    app = Results()
    async with app.run_test(size=(78, 20)) as pilot:
        table = app.query_one(KeyedTable)
        told = cell(f"▲ {', '.join(sorted(SHORT.values(), key=len, reverse=True))}", WARN)
        rows = [replace(one, cells=(*one.cells[:-1], told)) for one in result_rows(groups, labels)]
        table.refill(rows, result_columns(groups, labels))
        await pilot.pause()
        heading, *lines = (line.rstrip() for line in screen_text(app).splitlines())
        assert {"Speedup", "Effic.", "n", "Gr", "Flags"} <= {*heading.split()}
        wide = table.ordered_columns[0].width
        names = [line[1 : 1 + wide].rstrip() for line in lines if line]
        cases = [case for group in groups for case in group.cases]
        assert len(set(names)) == len(cases), "no two look alike"
        for case, name in zip(cases, names, strict=True):
            assert name.startswith(f"{labels.label(case.as_case)} ")
        assert not table.max_scroll_x


async def test_of_cases_alone_scatter_stays_before_what_is_held_against_others() -> None:
    class Results(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(result_columns((), labels_of(())))

    groups = summarise(runs([100.0, 101.0, 99.0], 0))
    labels = labels_of(groups)
    for width in range(40, 100, 4):
        app = Results()
        async with app.run_test(size=(width, 6)) as pilot:
            table = app.query_one(KeyedTable)
            table.refill(result_rows(groups, labels), result_columns(groups, labels))
            await pilot.pause()
            heading = screen_text(app).splitlines()[0].split()
            assert "CV" in heading or not {"Speedup", "Effic."} & {*heading}, width


async def test_numbers_are_whole_and_their_units_stand_where_there_is_room() -> None:
    """Of two units: no figure, and no column that says how sure it is, gives way to them."""

    class Results(App[None]):
        def compose(self) -> ComposeResult:
            yield KeyedTable(result_columns((), labels_of(())))

    one = RunResult("r", "lm-gpt", "F", "M", "1n1g", 1, 1, {}, 1, unit="samples/s")
    every = [
        replace(
            one,
            run_id=f"{unit}{gpus}{n}",
            repeat=n,
            profile=profile,
            unit=unit,
            gpus_per_node=gpus,
            case_tag=f"1n{gpus}g",
            throughput=21001.4 * gpus + n,
            fingerprint="H200",
        )
        for profile, unit in (("lm-gpt", "samples/s"), ("resnet50-tf", "images/s"))
        for gpus in (1, 8)
        for n in range(1, 7)
    ]
    groups = summarise(every)
    labels = labels_of(groups)
    for width, units in ((118, True), (78, False)):
        app = Results()
        async with app.run_test(size=(width, 8)) as pilot:
            table = app.query_one(KeyedTable)
            table.refill(result_rows(groups, labels), result_columns(groups, labels))
            await pilot.pause()
            lines = screen_text(app).splitlines()
            assert ("images/s" in "".join(lines[1:])) is units, lines
            for heading in (" n ", *["Devices", "CV"] * units):
                assert heading in lines[0], lines
            for row in lines[1:5]:
                assert "21,00" in row or "168,01" in row, lines
                assert " sa…" not in row
                assert " im…" not in row


@given(st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_that_no_repeat_has_succeeded_comes_before_what_preflight_warned_of(
    failed: int, waits: int, warned: bool
) -> None:
    lost = [
        replace(one, warned=("node1: load 9",) * warned, started_at=1.0) for one in runs([], failed)
    ]
    again = [
        replace(one, attempt=2, run_id=f"{one.run_id}again", state="planned", warned=(), reason="")
        for one in lost[:waits]
    ]
    (group,) = summarise([*lost, *again])
    (case,) = group.cases
    first, *others = flags(case).plain.split(", ")
    assert first == ("✗ failed so far" if waits >= failed else "✗ failed runs"), case.findings
    assert ("preflight warned" in others) is warned


@given(
    st.lists(st.text("abcµ界", min_size=1, max_size=8), min_size=1, max_size=9), st.integers(1, 60)
)
def test_a_sentence_without_room_ends_behind_a_word(told: list[str], width: int) -> None:
    whole = cell(" ".join(told), WARN)
    shown = whole_words(whole, width)
    assert shown.cell_len <= width
    assert shown.style == whole.style
    if width >= whole.cell_len:
        assert shown == whole
        return
    assert shown.plain.endswith("…")
    kept = shown.plain[:-1].split(" ")
    assert kept == told[: len(kept)] or len(kept) == 1, "of the first word a beginning"


@given(st.lists(st.sampled_from(["1n1g", "1n2g", "2n2g"]), min_size=1, unique=True))
def test_a_base_has_others_only_where_there_are_some(tags: list[str]) -> None:
    (one,) = runs([100.0], failed=0)
    sizes = {"1n1g": (1, 1), "1n2g": (1, 2), "2n2g": (2, 2)}
    of_all = [
        replace(one, run_id=tag, case_tag=tag, nodes=sizes[tag][0], gpus_per_node=sizes[tag][1])
        for tag in tags
    ]
    (group,) = summarise(of_all)
    panel = " ".join(case_text(group.base_case, group, retriable=True).plain.split())
    assert ("1, the base of the others" in panel) is (len(tags) > 1)
    assert ("–, as there is no other size to compare with" in panel) is (
        tags in (["1n2g"], ["2n2g"])
    )
    assert ("1, its own base: no other size" in panel) is (tags == ["1n1g"])
    (table,) = speedup_tables([group])
    told = dict(zip(table.headings, table.rows[0], strict=True))
    of_one_device = "1n1g" in tags
    alone = len(tags) == 1 and not of_one_device
    none_or_base = ("–", "–") if alone else ("1", "100.0%")
    assert (told["speedup"], told["efficiency"]) == none_or_base
    assert ("relative to" in table.caption) is not alone
    assert ("No case of one device" in table.caption) is not (alone or of_one_device)
