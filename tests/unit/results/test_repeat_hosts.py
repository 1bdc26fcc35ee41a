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
