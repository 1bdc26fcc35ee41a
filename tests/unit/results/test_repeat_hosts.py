"""Which repeats ran on which hosts is said where that is not the same of all."""

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

HEADING = "### Repeats that ran on different hosts"
places = st.frozensets(st.sampled_from(["node1", "node2", "node3", "gpu-a"]), max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(places, min_size=1, max_size=5), min_size=1, max_size=3))
def test_every_repeat_has_its_hosts_where_these_differ(
    runs_of: Callable[..., list[RunResult]], cases: list[list[frozenset[str]]]
):
    tags = ["1n1g", "1n2g", "1n4g"]
    runs = []
    for tag, hosts in zip(tags, cases, strict=False):
        own = runs_of(tag, [100.0] * len(hosts))
        runs += [replace(r, hosts=tuple(sorted(h))) for r, h in zip(own, hosts, strict=True)]
    report = render_report(ReportContext("c"), runs, summarise(runs))
    differing = [
        tag for tag, own in zip(tags, cases, strict=False) if len({*own} - {frozenset()}) > 1
    ]
    assert (HEADING in report) == bool(differing)
    if not differing:
        return
    section = report.split(HEADING)[1].split("\n#")[0].replace("\\", "")
    found = {}
    for line in filter(None, section.splitlines()):
        names, said = re.fullmatch(r"- (.*?): (.*)", line).groups()  # type: ignore[union-attr]
        for tag in re.findall(r"1n\dg", names):
            found[tag] = {
                int(repeat[1:]): frozenset(expand_nodeset(hosts))
                for part in said.split("; ")
                for hosts, repeats in [part.split(" ", 1)]
                for repeat in repeats.split(", ")
            }
    expected = {
        tag: {n: hosts for n, hosts in enumerate(own, 1) if hosts}
        for tag, own in zip(tags, cases, strict=False)
        if tag in differing
    }
    assert found == expected


def test_repeats_beside_others_on_one_machine_are_told_in_a_line_of_their_case(runs_of):
    one, two, three = runs_of("1n1g", [100.0] * 3, hosts=("node1",))
    (other,) = runs_of("1n2g", [200.0], hosts=("node2",))
    runs = [replace(one, beside=("node2",)), two, replace(three, beside=("node2", "node3"))]
    text = render_report(ReportContext("c"), [*runs, other], summarise([*runs, other]))
    heading = "### Repeats that ran beside others on one machine of several names"
    section = text.split(heading)[1].split("\n#")[0].replace("\\", "")
    assert section.split("\n- ")[1:] == [
        "1n1g: #1 on node1, beside runs on node2; #3 on node1, beside runs on node[2-3]\n"
    ]
    alone = [one, two, three, other]
    assert heading not in render_report(ReportContext("c"), alone, summarise(alone))


def test_the_repeats_that_packed_are_named_where_it_was_not_all(runs_of):
    one, two, three = runs_of("1n1g", [100.0] * 3)
    packed = [replace(one, shared_with=("x",)), two, replace(three, shared_with=("y",))]
    assert "packed: 2 of 3 repeats (#1, #3) shared a host" in render_report(
        ReportContext("c"), packed, summarise(packed)
    ).replace("\\", "")
