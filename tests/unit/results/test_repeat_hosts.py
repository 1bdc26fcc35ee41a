"""Which repeats ran on which hosts is said where that is not the same for all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.inventory.nodesets import expand_nodeset
from backends.results.campaign_report import ReportContext, render_report
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.cli.shared.say_findings import say_findings
from tui.screens.repeats import REPEAT_COLUMNS, repeat_rows, repeats_text
from tui.screens.result_text import case_text

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


def test_repeats_beside_others_on_one_machine_are_told_of_their_case_everywhere(runs_of, capsys):
    one, two, three = runs_of("1n1g", [100.0] * 3, hosts=("node1",))
    (other,) = runs_of("1n2g", [200.0], hosts=("node2",))
    runs = [replace(one, beside=("node2",)), two, replace(three, beside=("node2", "node3"))]
    text = render_report(ReportContext("c"), [*runs, other], summarise([*runs, other]))
    heading = "### Repeats that ran beside others on one machine of several names"
    section = text.split(heading)[1].split("\n#")[0].replace("\\", "")
    assert section.split("\n- ")[1:] == [
        "1n1g: #1 on node1, beside runs on node2; #3 on node1, beside runs on node[2-3]\n"
    ]
    (group,) = summarise([*runs, other])
    base, many = (case_text(case, group).plain for case in group.cases)
    words = heading.removeprefix("### R")
    assert f"▲ r{words}: #1 on node1, beside runs on node2; #3 on" in base
    assert f"▲ of the base 1n1g: r{words}: #1 on node1" in many
    say_findings([group])
    assert f"note: 1n1g: r{words}: #1 on node1" in " ".join(capsys.readouterr().err.split())
    alone = [one, two, three, other]
    assert heading not in render_report(ReportContext("c"), alone, summarise(alone))


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
