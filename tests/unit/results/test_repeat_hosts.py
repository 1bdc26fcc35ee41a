"""Which repeats ran on which hosts is said where that is not the same for all; that others were on
their machine is a finding."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.inventory.nodesets import expand_nodeset
from backends.results.campaign_report import ReportContext, render_report
from backends.results.comparison import compare
from backends.results.comparison_report import cautions
from backends.results.findings import Concern, Finding, Grade
from backends.results.grade_words import finding_lines
from backends.results.result_files import write_results
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.cli.shared.say_findings import say_findings
from tui.screens.repeats import REPEAT_COLUMNS, repeat_rows, repeats_text
from tui.screens.result_text import case_text, flags

HEADING = "### Which cases ran on which hosts"
places = st.lists(
    st.sampled_from(["node1", "node2", "node3", "gpu-a"]), max_size=3, unique=True
).map(tuple)


def told(report: str) -> dict[str, str]:
    """By case what the section says of it."""
    section = report.split(HEADING)[1].split("\n#", maxsplit=1)[0].replace("\\", "")
    found = {}
    for line in filter(None, section.splitlines()):
        names, said = re.fullmatch(r"- (.*?): (.*)", line).groups()  # type: ignore[union-attr]
        found |= dict.fromkeys(re.findall(r"\dn\dg", names), said)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(places, min_size=1, max_size=5), min_size=1, max_size=3))
def test_every_repeat_has_its_hosts_by_rank_where_not_all_are_on_the_same(
    runs_of: Callable[..., list[RunResult]], cases: list[list[tuple[str, ...]]]
):
    tags = ["1n1g", "1n2g", "1n4g"]
    runs = []
    for tag, hosts in zip(tags, cases, strict=False):
        own = runs_of(tag, [100.0] * len(hosts))
        runs += [replace(r, hosts=h) for r, h in zip(own, hosts, strict=True)]
    report = render_report(ReportContext("c"), runs, summarise(runs))
    differ = len({hosts for own in cases for hosts in own if hosts}) > 1
    assert (HEADING in report) == differ
    if not differ:
        return
    found = {}
    for tag, said in told(report).items():
        placed = found.setdefault(tag, {})
        known = [n for n, hosts in enumerate(cases[tags.index(tag)], 1) if hosts]
        for part in said.split("; "):
            hosts, *repeats = re.split(" (?=[#×])", part, maxsplit=1)
            if repeats and repeats[0].startswith("#"):
                numbers = [int(repeat[1:]) for repeat in repeats[0].split(", ")]
            else:
                assert len(known) == (int(repeats[0][1:]) if repeats else 1)
                numbers = known
            placed |= dict.fromkeys(numbers, expand_nodeset(hosts))
    expected = {
        tag: placed
        for tag, own in zip(tags, cases, strict=False)
        if (placed := {n: hosts for n, hosts in enumerate(own, 1) if hosts})
    }
    assert found == expected


def test_a_report_names_the_base_s_host_where_other_cases_ran_elsewhere(runs_of):
    runs = [
        *runs_of("1n1g", [100.0] * 4, hosts=("v100b",)),
        *runs_of("1n4g", [400.0] * 4, hosts=("v100b",)),
        *runs_of("1n8g", [800.0] * 2, hosts=("v100b",)),
        *runs_of("2n8g", [1600.0], hosts=("v100b", "h200a")),
    ]
    runs[-2] = replace(runs[-2], hosts=("v100a",))
    assert told(render_report(ReportContext("c"), runs, summarise(runs))) == {
        "1n1g": "v100b ×4",
        "1n4g": "v100b ×4",
        "1n8g": "v100b #1; v100a #2",
        "2n8g": "v100b,h200a",
    }


def test_repeats_beside_others_on_one_machine_are_a_finding_with_a_grade_everywhere(
    runs_of, capsys, tmp_path
):
    runs = runs_of("1n1g", [100.0] * 7, hosts=("node1",))
    many = runs_of("1n2g", [200.0] * 7, hosts=("node2",))
    runs[0] = replace(runs[0], beside=("node2",))
    runs[2] = replace(runs[2], beside=("node2", "node3"))
    every = [*runs, *many]
    (group,) = summarise(every)
    base, other = group.cases
    assert Finding(Concern.SHARED_MACHINE, Grade.C) in base.findings
    assert other.grade is Grade.C, "no speedup is better than its base"
    said = "repeats that ran beside others on one machine of several names: "
    said += "#1 on node1, beside runs on node2; #3 on node1, beside runs on node[2-3]"
    assert f"▲ C shared machine: {said}" in case_text(base, group).plain
    assert f"▲ C weak base: its base {group.base} is graded C" in case_text(other, group).plain
    assert "shared machine" in flags(base).plain
    write_results(tmp_path, ReportContext("c"), every)
    report = (tmp_path / "report.md").read_text().replace("\\", "")
    assert said in report.partition("Flags and warnings")[2]
    assert said in report.partition("\n## ")[0]
    (told, _) = json.loads((tmp_path / "results.json").read_text())["results"]
    assert "shared_machine" in told["flags"]
    assert said in told["grade_reasons"]
    with (tmp_path / "results.csv").open() as file:
        row = next(csv.DictReader(file))
    assert "shared_machine" in row["flags"]
    assert said in row["grade_reasons"]
    say_findings([group])
    told = " ".join(capsys.readouterr().err.split())
    assert f"note: 1n1g, grade C: shared machine: {said}" in told
    alone = [replace(run, beside=()) for run in every]
    assert "shared_machine" not in [*summarise(alone)[0].cases[0].concerns]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(boots=st.lists(st.sampled_from(["", "b1", "b2"]), min_size=2, max_size=5))
def test_nodes_that_are_one_machine_are_no_case_of_several_nodes(runs_of, boots):
    hosts = tuple(f"n{number}" for number in range(len(boots)))
    same = [
        {host for host, boot in zip(hosts, boots, strict=True) if boot == one}
        for one in ("b1", "b2")
    ]
    same = [names for names in same if len(names) > 1]
    runs = runs_of("2n1g", [200.0, 201.0, 199.0], hosts=hosts)
    runs[1] = replace(runs[1], boot_ids=tuple(boots))
    (group,) = summarise(runs)
    (case,) = group.cases
    assert (Finding(Concern.SHARED_MACHINE, Grade.C) in case.findings) is bool(same)
    end = " are one machine of several names in repeat 2: nothing went over a network"
    said = [line.removesuffix(end) for line in finding_lines(case, group) if line.endswith(end)]
    assert sorted(sorted(expand_nodeset(names)) for names in said) == sorted(map(sorted, same))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sharing=st.sets(st.integers(1, 4), min_size=1), of_base=st.booleans())
def test_of_a_case_and_its_base_those_repeats_are_named_that_shared_a_machine(
    runs_of, sharing, of_base
):
    sides = runs_of("1n1g", [100.0] * 4), runs_of("1n2g", [200.0] * 4)
    beside = sides[0 if of_base else 1]
    beside[:] = [
        replace(run, shared_with=("x",)) if run.repeat in sharing else run for run in beside
    ]
    (group,) = summarise([*sides[0], *sides[1]])
    lines = " ".join(finding_lines(group.cases[1], group))
    numbers = ", ".join(f"#{number}" for number in sorted(sharing))
    told = f"{len(sharing)} of 4" + f" ({numbers})" * (len(sharing) < 4)
    ours, theirs = ("0 of 4", told) if of_base else (told, "0 of 4")
    said = f"repeats that ran beside other runs: {ours}, of the base 1n1g {theirs}: the speedup"
    assert (said in lines) is (len(sharing) >= 2)


def test_in_chinese_it_is_told_in_chinese(runs_of, capsys):
    runs = runs_of("1n1g", [100.0] * 2, hosts=("v100-a",))
    runs[0] = replace(runs[0], beside=("h200-a",))
    say_findings(summarise(runs), "zh")
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "v100-a" in line]
    assert "v100-a 上的 #1，同时 h200-a 上有运行" in told
    assert not re.search("[a-z]{3,}", re.sub("v100-a|h200-a|1n1g", "", told))


def test_a_comparison_says_that_one_side_alone_shared_a_machine(runs_of):
    quiet = runs_of("1n1g", [100.0] * 6, hosts=("node1",))
    shared = [replace(run, beside=("node2",)) for run in quiet]
    told = cautions(compare(quiet, shared))
    assert any("shared a machine of several names on one side alone" in line for line in told)
    assert not any("one side alone" in line for line in cautions(compare(shared, shared)))


def test_the_repeats_that_packed_are_named_where_it_was_not_all(runs_of):
    one, two, three = runs_of("1n1g", [100.0] * 3)
    packed = [replace(one, shared_with=("x",)), two, replace(three, shared_with=("y",))]
    assert "packed: 2 of 3 repeats (#1, #3) shared a host" in render_report(
        ReportContext("c"), packed, summarise(packed)
    ).replace("\\", "")


MODELS = {
    "NVIDIA H200, driver 580.159.04, Debian; ECC: on": "H200",
    "NVIDIA H200, driver 570.1, Debian; ECC: off": "H200",
    "NVIDIA H200": "H200",  # all that a log told
    "NVIDIA H200, driver 580 + Tesla V100-SXM2-16GB, driver 440": "H200 + V100-SXM2-16GB",
    "Tesla V100-SXM2-16GB, driver 440.33.01, Debian": "V100-SXM2-16GB",
    "AMD EPYC 7742, Debian": "",
    "": "",
}
"""By fingerprint."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from([*MODELS]), min_size=1, max_size=5))
def test_which_gpu_model_a_repeat_ran_on_is_said_where_the_repeats_of_its_case_differ(
    runs_of: Callable[..., list[RunResult]], prints: list[str]
) -> None:
    runs = runs_of("1n1g", [100.0] * len(prints), hosts=("node1",))
    runs = [replace(run, fingerprint=text) for run, text in zip(runs, prints, strict=True)]
    (group,) = summarise(runs)
    (case,) = group.cases
    models = [MODELS[text] for text in prints]
    differ = len({model for model in models if model}) > 1
    expected = models if differ else [""] * len(models)
    columns = [column.key for column in REPEAT_COLUMNS]
    cells = [row.cells[columns.index("model")].plain for row in repeat_rows(case)]
    assert cells == expected
    beside = repeats_text(case, group, 80).plain.splitlines()
    lines = [line for line in beside if line.lstrip().startswith("#")]
    assert [line.partition("node1")[2].strip() for line in lines] == expected
