"""Which repeats of a case ran on which hosts, where these were not the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from backends.inventory.nodesets import fold_nodeset
from backends.results.findings import LEAST
from backends.results.flag_lines import case_parts
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.told_of import told_once
from backends.results.translations import Lang, pick


def repeat_hosts_text(runs: Iterable[RunResult]) -> str:
    """``node[1-2] #1, #3; node[3-4] #2``: of the latest attempts; empty where all were on the same
    hosts, or nobody knows."""
    places: dict[frozenset[str], list[int]] = {}
    for run in runs:
        if run.hosts:
            places.setdefault(frozenset(run.hosts), []).append(run.repeat)
    if len(places) < 2:
        return ""
    told = [(sorted(repeats), fold_nodeset(sorted(hosts))) for hosts, repeats in places.items()]
    return "; ".join(
        f"{hosts} {', '.join(f'#{repeat}' for repeat in repeats)}"
        for repeats, hosts in sorted(told)
    )


def repeat_hosts_lines(groups: Sequence[Group], lang: Lang = "en") -> Iterator[tuple[str, str]]:
    """Of which cases, and what; once where it is the same of several."""
    told = [
        (LEAST, text, case_parts(case, groups))
        for group in groups
        for case in group.cases
        if (text := repeat_hosts_text(case.runs))
    ]
    yield from told_once(told, lang)


def repeat_hosts_heading(lang: Lang) -> str:
    return pick(lang, "Repeats that ran on different hosts", "在不同主机上运行的重复")
