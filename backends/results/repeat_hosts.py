"""Which cases and repeats ran on which hosts, where these were not the same for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from backends.inventory.nodesets import ranked_nodeset
from backends.results.case_result import CaseResult
from backends.results.findings import LEAST
from backends.results.flag_lines import case_parts
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.told_of import told_once
from backends.results.translations import Lang, pick


def repeat_hosts_text(runs: Iterable[RunResult]) -> str:
    """``node[1-2] ×4`` where all were on the same hosts, ``node[1-2] #1, #3; node[3-4] #2`` where
    not: of the latest attempts, rank 0's host first. Empty where nobody knows."""
    places: dict[tuple[str, ...], list[int]] = {}
    for run in runs:
        if run.hosts:
            places.setdefault(_ranked(run), []).append(run.repeat)
    if len(places) == 1:
        ((hosts, repeats),) = places.items()
        return ranked_nodeset(hosts) + f" ×{len(repeats)}" * (len(repeats) > 1)
    told = [(sorted(repeats), ranked_nodeset(hosts)) for hosts, repeats in places.items()]
    return "; ".join(f"{hosts} {_listed(repeats)}" for repeats, hosts in sorted(told))


def repeat_hosts_lines(groups: Sequence[Group], lang: Lang = "en") -> Iterator[tuple[str, str]]:
    """Of which cases, and what, once where it is the same of several; nothing where every run was
    on the same hosts."""
    cases = [case for group in groups for case in group.cases]
    if len({_ranked(run) for case in cases for run in case.runs if run.hosts}) < 2:
        return
    told = [
        (LEAST, text, case_parts(case, groups))
        for case in cases
        if (text := repeat_hosts_text(_tried(case)))
    ]
    yield from told_once(told, lang)


def _tried(case: CaseResult) -> list[RunResult]:
    """What was cancelled says nothing of a case that has a figure."""
    tried = [run for run in case.runs if run.state != "cancelled"]
    return tried if case.spread is not None else list(case.runs)


def _ranked(run: RunResult) -> tuple[str, ...]:
    """Its hosts, each once: the first is rank 0's."""
    return tuple(dict.fromkeys(run.hosts))


def _listed(repeats: Iterable[int]) -> str:
    return ", ".join(f"#{repeat}" for repeat in repeats)


def repeat_hosts_heading(lang: Lang) -> str:
    return pick(lang, "Which cases ran on which hosts", "各用例所用的主机")
