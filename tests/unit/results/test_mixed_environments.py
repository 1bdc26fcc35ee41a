"""A case whose repeats ran in several environments is judged by no interval, and of which these
were is told by their numbers."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import record_environment
from backends.campaign.folder.compare_campaigns import compare_campaigns
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.hosts.fingerprint import OR, devices_of_several, joined, short_devices
from backends.hosts.host_facts import HostSnapshot
from backends.hosts.machines import machines_of, machines_text
from backends.results.comparison import Verdict, compare
from backends.results.comparison_files import comparison_document, comparison_junit, comparisons_csv
from backends.results.comparison_report import comparison_markdown, comparison_words, what_differs
from backends.results.grade_words import found_lines, lettered
from backends.results.history import history
from backends.results.history_report import history_words, rests_on, what_changed
from backends.results.layouts.cells import efficiency_cell, speedup_cell
from backends.results.publish import publish
from backends.results.run_result import RunResult
from backends.results.short_flags import SHORT, set_by
from backends.results.summary import summarise
from profiles.counted import counted
from profiles.format.catalog import Catalog
from tests.unit.hosts.test_machines import EXAMPLES
from tests.unit.results.test_history import campaign
from tui.screens.compare_file import copied_text
from tui.screens.compare_panels import machines_shown
from tui.screens.compare_text import columns_of, compared_rows
from tui.screens.compare_text import labels_of as compare_labels
from tui.screens.result_text import labels_of, result_rows
from tui.side_by_side import Side, held_against

Runs = Callable[..., list[RunResult]]
V100 = "Tesla V100-SXM2-16GB, driver 440.33; ECC: on"
H200 = "NVIDIA H200, driver 580.1; ECC: on"
NEWER = "Tesla V100-SXM2-16GB, driver 470.10; ECC: on"
BOTH = "NVIDIA H200, driver 580.1 + Tesla V100-SXM2-16GB, driver 440.33; ECC: on"
SPEED = {V100: 100.0, NEWER: 101.0, H200: 220.0, BOTH: 160.0}


def mixed(runs_of: Runs, tag: str, prints: Sequence[str], factor: float = 1.0) -> list[RunResult]:
    values = [SPEED[text] * factor * (1 + at % 3 / 1000) for at, text in enumerate(prints)]
    runs = runs_of(tag, values)
    return [replace(run, fingerprint=text) for run, text in zip(runs, prints, strict=True)]


def test_other_shares_of_the_same_models_are_no_noise_but_are_counted(runs_of: Runs):
    ours = mixed(runs_of, "1n8g", [H200] * 2 + [V100] * 4)
    found = compare(ours, mixed(runs_of, "1n8g", [H200] * 3 + [V100] * 3))
    (case,) = found.cases
    counted = "2 on H200, 4 on V100-SXM2-16GB against 3 on H200, 3 on V100-SXM2-16GB"
    (told,) = comparison_document(found)["cases"]
    assert (told["verdict"], told["doubts"]) == ("inconclusive", ["mixed"])
    assert (told["reason"], told["repeats_needed"]) == (counted, None)
    assert case.words == "in doubt: mixed environments"
    (line,) = (line for line in comparison_words(found)[0] if "several environments" in line)
    assert f"cpu-smoke 1n8g b64 fp32 ({counted})" in line
    assert what_differs(found) == ("shares of environments",)
    for text in (comparison_markdown(found), comparison_junit(found), comparisons_csv([found])):
        assert counted in text
        for claim in ("noise", "would decide", "No case is slower"):
            assert claim not in text
    _, after = comparison_words(found)
    assert not [line for line in after if "No other case" in line]
    beside = comparison_words(
        compare(
            [*ours, *mixed(runs_of, "1n1g", [H200] * 6)],
            [*mixed(runs_of, "1n8g", [H200] * 3 + [V100] * 3), *mixed(runs_of, "1n1g", [H200] * 6)],
        )
    )[1]
    assert list(beside) == [
        "No verdict on 1 case with repeats of several environments.",
        "No other case is slower by more than 2% and beyond what chance does among the tests of "
        "2 cases (Holm).",
    ]
    assert found.fails() == ()
    assert found.fails(strict=True) == (case,)


PRINTS = st.lists(st.sampled_from([V100, H200, NEWER, BOTH]), min_size=1, max_size=7)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(PRINTS, PRINTS, st.sampled_from([0.9, 1.0, 1.1]))
def test_no_interval_judges_what_is_mixed_on_either_side(
    runs_of: Runs, before: list[str], after: list[str], factor: float
):
    ours, theirs = mixed(runs_of, "1n1g", before), mixed(runs_of, "1n1g", after, factor)
    found = compare(ours, theirs)
    (case,) = found.cases
    (told,) = comparison_document(found)["cases"]
    for side, prints in (("baseline", before), ("candidate", after)):
        listed = {one["environment"]: one["repeats"] for one in told[f"{side}_environments"]}
        assert sorted(itertools.chain(*listed.values())) == [*range(1, len(prints) + 1)]
        assert all(prints[repeat - 1] == text for text in listed for repeat in listed[text])
    counts = [
        {text: Fraction(side.count(text), len(side)) for text in side} for side in (before, after)
    ]
    mixture = len({*before, *after}) > 1 and max(map(len, counts)) > 1
    if mixture and "environments" not in what_differs(found):
        assert ("shares of environments" in what_differs(found)) is (counts[0] != counts[1])
    one_each = len({*before}) == len({*after}) == 1
    assert ("mixed environments" in case.words) is not one_each
    if one_each:
        return
    assert case.verdict is not Verdict.SAME
    assert case.repeats_needed is None
    assert told["reason"] == case.mixed
    for prints, side in zip((before, after), case.mixed.split(" against "), strict=True):
        counts = [part.split(" on ")[0] for part in side.split(", ") if " on " in part]
        assert sum(map(int, counts)) == len(prints)
        assert len(side.split(" on ")) - 1 == len({*prints}) or "driver" not in side
    # What is slower in doubt is to be looked at, not passed over.
    unmixed = (
        [replace(run, fingerprint="") for run in ours],
        [replace(run, fingerprint="") for run in theirs],
    )
    assert len(found.fails()) == len(compare(*unmixed).fails())


def test_a_history_says_it_too(runs_of: Runs):
    past = history(
        [
            campaign(0, mixed(runs_of, "1n1g", [H200] * 2 + [V100] * 4)),
            campaign(1, mixed(runs_of, "1n1g", [H200] * 3 + [V100] * 3)),
        ]
    )
    (case,) = past.cases
    assert case.words == "in doubt: mixed environments"
    assert "a drop of" not in rests_on(case)
    no_verdict = "No verdict on 1 case with repeats of several environments."
    assert no_verdict in history_words(past)[1]
    assert not [line for line in history_words(past)[1] if line.startswith("No regression")]
    beside = [
        campaign(
            n, [*mixed(runs_of, "1n1g", [H200, V100] * 3), *mixed(runs_of, "1n8g", [H200] * 6)]
        )
        for n in (0, 1)
    ]
    said = history_words(history(beside))[1]
    assert [no_verdict, "No regression of the others stands among all cases."] == list(said[:2])


def test_what_is_mixed_is_in_no_level_of_a_history(runs_of: Runs):
    quiet, noisy = [V100] * 6, [H200, V100, V100]
    past = history(
        [campaign(n, mixed(runs_of, "1n1g", p)) for n, p in enumerate([quiet, noisy, quiet])]
    )
    (case,) = past.cases
    assert not case.changes
    assert case.words == "same"
    assert not case.decisive
    (last,) = history(
        [campaign(n, mixed(runs_of, "1n1g", p)) for n, p in enumerate([quiet, quiet, noisy])]
    ).cases
    assert last.words == "in doubt: mixed environments"


@pytest.mark.parametrize("prints", [[BOTH] * 4, [V100] * 4])
def test_runs_on_hosts_of_two_models_are_of_one_environment(runs_of: Runs, prints: list[str]):
    found = compare(*(mixed(runs_of, "2n1g", prints) for _ in "ab"))
    assert found.cases[0].words == "same"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ([H200, V100], "H200 / V100-SXM2-16GB → H200"),
        ([BOTH, BOTH], "H200 + V100-SXM2-16GB → H200"),
        ([BOTH, V100], "H200 + V100-SXM2-16GB / V100-SXM2-16GB → H200"),
    ],
)
def test_a_history_tells_the_hosts_of_a_run_from_several_runs(
    runs_of: Runs, before: list[str], said: str
):
    past = history(
        [
            campaign(0, mixed(runs_of, "1n1g", before * 2)),
            campaign(1, mixed(runs_of, "1n1g", [H200] * 4)),
        ]
    )
    assert past.cases[0].points[1].environment_changes.startswith(f"{said}, driver ")
    assert short_devices(devices_of_several(before)) == said.removesuffix(" → H200")


def test_what_several_runs_had_is_parted_by_what_no_run_had_both_of() -> None:
    said = joined([H200, V100], OR)
    assert said.split("; ")[0] == "NVIDIA H200, driver 580.1 / Tesla V100-SXM2-16GB, driver 440.33"
    assert joined([BOTH, BOTH], OR) == BOTH


NAMES = ("ha", "va", "vb")


def hosts_of_one_machine() -> tuple[HostSnapshot, ...]:
    """Three names of one kernel, one with other GPUs than the others."""
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    old = tuple(replace(gpu, name="Tesla V100-SXM2-16GB") for gpu in vm.facts.gpus)
    return tuple(
        replace(
            vm,
            name=name,
            facts=replace(vm.facts, boot_id="b", gpus=vm.facts.gpus if name == "ha" else old),
        )
        for name in NAMES
    )


def test_compare_and_the_console_write_the_same_of_what_the_common_cases_ran_on(
    runs_of: Runs, tmp_path: Path
):
    """A case that one side alone has, on other hosts, is none of what is compared."""
    snapshots = hosts_of_one_machine()
    sides = []
    for place, hosts in enumerate((["va"], ["ha", "va"])):
        path = tmp_path / f"c{place}"
        (path / "frozen").mkdir(parents=True)
        runs = mixed(runs_of, "1n1g", [H200 if "ha" in hosts else V100] * 3)
        used = [*hosts, hosts[0], hosts[0]]
        own = [replace(r, hosts=(h,), campaign=path.name) for r, h in zip(runs, used, strict=False)]
        if not place:
            own += [
                replace(run, hosts=("ha", "vb"), campaign=path.name)
                for run in mixed(runs_of, "2n1g", [BOTH] * 3)
            ]
        record_environment(path, snapshots, (), 0.0)
        sides.append((path, tuple(own)))
    paths = [path for path, _ in sides]
    read = dict(sides)
    by_command = compare_campaigns(
        *paths, read.__getitem__, lambda path: path, Catalog.load, threshold=0.02, across=()
    )
    about = [SimpleNamespace(name=path.name, path=path) for path in paths]
    found = held_against(
        tuple(
            Side(one, own, summarise(own), "", (), recorded=recorded_hosts(path, 0.0))  # type: ignore[arg-type]
            for one, (path, own) in zip(about, sides, strict=True)
        ),
        0,
        0.02,
    )
    assert copied_text(found).splitlines()[-3:] == comparison_markdown(by_command).splitlines()[-3:]
    assert "ha,va,vb (1 machine), " in copied_text(found)
    names = [line for line in comparison_words(by_command)[0] if "in the baseline, and" in line]
    assert [line.rpartition(": ")[2] for line in names] == ["ha,va,vb."]
    (told,) = (line for line in comparison_words(by_command)[0] if "hosts differ" in line)
    assert "V100-SXM2-16GB → H200 + V100-SXM2-16GB" in told
    assert "The hosts differ: " in told
    shown = machines_shown(found.machines()).plain
    assert "differ" in shown
    assert "8 GPUs (H200 + V100-SXM2-16GB)" in shown


@given(st.lists(st.integers(1, 3), min_size=2, max_size=3))
def test_hosts_that_are_alike_are_told_of_each_side_where_one_had_more_of_them(hosts: list[int]):
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    every = [
        replace(vm, name=str(n), facts=replace(vm.facts, boot_id=f"b{n}", machine="", gpus=()))
        for n in range(3)
    ]
    sides = [machines_of(every, [one.name for one in every[:n]]) for n in hosts]
    shown = machines_shown(sides).plain
    assert shown.startswith("Hosts  alike")
    for n, side in zip(hosts, sides, strict=True):
        assert side is not None
        assert f"{counted(n, 'host')}, " in machines_text(side)
        assert machines_text(side) in shown


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(*[st.lists(st.sampled_from([V100, H200]), min_size=1, max_size=6)] * 2)
def test_a_history_tells_other_shares_of_models(runs_of: Runs, before: list[str], after: list[str]):
    past = history(
        [campaign(n, mixed(runs_of, "1n8g", prints)) for n, prints in enumerate([before, after])]
    )
    told = what_changed(past)[1]
    shares = [
        Counter({t: prints.count(t) / len(prints) for t in prints}) for prints in (before, after)
    ]
    several = max(len({*before}), len({*after})) > 1
    said = [line for line in told if line.startswith("repeats of 1n8g: ")]
    environments = past.cases[0].points[1].environment
    assert bool(said) is (several and shares[0] != shares[1] and environments is None)
    for line in said:
        for prints, side in zip((before, after), line.split(": ")[1].split(" → "), strict=True):
            counts = [int(part.split(" on ")[0]) for part in side.split(", ")]
            assert sorted(counts) == sorted(Counter(prints).values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(PRINTS)
def test_cells_of_the_pivot_are_marked_where_repeats_or_devices_are_of_several_environments(
    runs_of: Runs, prints: list[str]
):
    runs = [*mixed(runs_of, "1n1g", prints), *runs_of("1n2g", [200.0, 200.1, 200.2])]
    table = publish("c", runs, layout="pivot")
    one, two = (line for line in table.splitlines() if re.match(r"\| [12] ", line))
    cv = summarise(runs)[0].cases[0].spread.cv or 0.0
    assert ("†" in one) is (len({*prints}) > 1 or BOTH in prints)
    assert one.count("!") == (cv > 0.02) + (cv > 0.05)
    assert not re.search("[†!]", two)
    for mark in ("†", "!", "!!"):
        marked = re.search(rf" {mark} ", one) is not None
        assert any(line.startswith(f"- {mark} ") for line in table.splitlines()) is marked
    assert "†" not in publish("c", runs, layout="pivot", format="csv")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(PRINTS, st.booleans())
def test_a_grade_is_set_by_what_has_that_letter_alone(
    runs_of: Runs, prints: list[str], forced: bool
):
    runs = mixed(runs_of, "1n1g", prints)
    runs = [replace(run, forced=forced) for run in runs]
    (group,) = summarise(runs)
    (case,) = group.cases
    assert case.grade is not None
    sets = [SHORT[found.concern] for found in case.findings if found.ceiling is case.grade]
    assert set_by([case], case.grade) == sets
    lines = [lettered(found, line) for found, line in found_lines(case, group)]
    assert (f"{case.grade}: its repeats come from different environments" in "".join(lines)) is (
        "several environments" in sets
    )


def test_a_base_has_no_mark_of_another_environment(runs_of: Runs):
    """Its speedup is 1 whatever it ran on: in no table."""
    runs = [*mixed(runs_of, "1n1g", [H200, V100]), *mixed(runs_of, "1n2g", [V100] * 3, 2.0)]
    (group,) = summarise(runs)
    base, other = (
        {speedup_cell(case, group), efficiency_cell(case, group)} for case in group.cases
    )
    assert base == {"1", "100.0%"}
    assert all("†" in cell for cell in other)
    shown = [[cell.plain for cell in row.cells] for row in result_rows([group], labels_of([group]))]
    assert ["†" in " ".join(cells) for cells in shown] == [False, True]
    for layout in ("speedup", "compare", "airank"):
        table = publish("c", runs, layout=layout).splitlines()
        assert [line for line in table if "†" in line and line.startswith("| 1 ")] == [
            line for line in table if "†" in line and " 2 " in line and line.startswith("| 1 ")
        ], layout


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4))
def test_the_repeats_of_a_row_of_compare_are_the_baselines_then_the_candidates(
    runs_of: Runs, counts: list[tuple[int, int]]
):
    counts = [pair for pair in counts if any(pair)] or [(1, 0)]
    sides = [
        [
            run
            for nth, pair in enumerate(counts, 1)
            for run in runs_of(f"1n{nth}g", [9.0] * pair[at])
        ]
        for at in (0, 1)
    ]
    about = [SimpleNamespace(name=name, path=Path(name)) for name in "ab"]
    found = held_against(
        tuple(
            Side(one, tuple(own), summarise(own), "", ())  # type: ignore[arg-type]
            for one, own in zip(about, sides, strict=True)
        ),
        0,
        0.02,
    )
    place = [column.key for column in columns_of(found)].index("n")
    rows = compared_rows(found, compare_labels(found))
    said = {row.cells[place].plain for row in rows}
    assert said <= {f"{a or '–'}, {b or '–'}" for a, b in counts}
    if rows:
        assert said == {f"{a or '–'}, {b or '–'}" for a, b in counts}
