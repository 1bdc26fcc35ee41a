"""How far each result can be trusted, for the person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from backends.results.auto_repeats import AutoRepeats
from backends.results.case_result import CaseResult
from backends.results.findings import LEAST, Grade, Rank
from backends.results.grade_words import named_lines
from backends.results.missed_targets import missed_targets
from backends.results.summary import Group
from backends.results.told_of import Name, told_once
from backends.results.translations import Lang, pick
from profiles.format.case_labels import case_labels
from tui.cli.shared.output import say_folded

MOST = 5
"""Findings below a report, the gravest; its ``report.md`` has all."""


def say_findings(groups: Sequence[Group], lang: Lang = "en", most: int | None = None) -> None:
    """The grade of each case, and everything that is to be known of it, once of all cases of which
    it is so, the gravest first. The grade stands before what it comes from; the best
    that the others allow stands before these. ``most``: how many are said."""
    note = pick(lang, "note: ", "注：")
    lines = [f"{whose}{what}" for whose, what in told_once(_told(groups, lang), lang)]
    for line in lines[:most]:
        say_folded(f"{note}{line}")
    if more := len(lines[most:]) if most is not None else 0:
        say_folded(
            pick(lang, f"note: … and {more} more: report.md", f"注：……另有 {more} 条：report.md")
        )


def _told(groups: Sequence[Group], lang: Lang) -> Iterator[tuple[Rank, str, Name]]:
    called = _names(groups)
    comma = pick(lang, ", ", "，")
    colon, good = pick(lang, ": ", "："), pick(lang, "nothing to distrust", "未发现可疑之处")
    for group in groups:
        for case in group.cases:
            name = called(group, case)
            words = f", grade {case.grade}", f"，评级 {case.grade}"
            grade = pick(lang, *words) if case.grade else ""
            for found, line in named_lines(case, group, lang):
                allows = "" if found.ceiling is Grade.A else f"{comma}{found.ceiling}"
                decides = allows and found.ceiling is case.grade
                yield found.rank, f"{grade if decides else allows}{colon}{line}", name
            if case.grade is Grade.A:
                yield LEAST, f"{grade}{colon}{good}", name


def say_missed(rule: AutoRepeats, groups: Sequence[Group]) -> None:
    """Where repeats until it is known ended before it was."""
    called = _names(groups)
    for group in groups:
        for case, line in missed_targets(rule, group):
            say_folded(f"note: {' '.join(filter(None, called(group, case)))}: {line}")


def _names(groups: Sequence[Group]) -> Callable[[Group, CaseResult], Name]:
    """What cases are called beside one another."""
    labels = case_labels(case.as_case for group in groups for case in group.cases)
    campaigns = len({group.campaign for group in groups}) > 1
    profiles = len({group.profile for group in groups}) > 1

    def called(group: Group, case: CaseResult) -> Name:
        label = labels.label(case.as_case) if len(groups) > 1 else case.case
        shared = (group.campaign * campaigns, case.profile * profiles)
        return " ".join(filter(None, shared)), label

    return called
