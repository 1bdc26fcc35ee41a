"""What is doubtful about the cases of a report, each once, with the cases of which it is so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backends.results.case_result import CaseResult
from backends.results.findings import Concern
from backends.results.grade_words import (
    lettered,
    named_lines,
    preflight_line,
    warned_of,
    with_name,
    worst_case,
)
from backends.results.short_flags import short_of
from backends.results.summary import Group, parameters_text
from backends.results.told_of import Name, told_of, told_once
from backends.results.translations import Lang
from profiles.counted import first_of


def flag_lines(groups: Sequence[Group], lang: Lang = "en") -> Iterator[tuple[str, str]]:
    """Whose it is and what, behind the grade that it allows: the gravest first. What preflight
    warned of is told once, with all cases that it is about."""
    about: dict[str, tuple[int, ...]] = {}
    for number, case in enumerate(case for group in groups for case in group.cases):
        for text in warned_of(case):
            about[text] = (*about.get(text, ()), number)
    told = (
        (found.rank, lettered(found, line), case_parts(case, groups))
        for group in groups
        for case in group.cases
        for found, whole in named_lines(case, group, lang)
        for line in (
            _by_cases(case, about, lang) if found.concern is Concern.PREFLIGHT else (whole,)
        )
    )
    return told_once(told, lang)


def _by_cases(case: CaseResult, about: Mapping[str, tuple[int, ...]], lang: Lang) -> Iterator[str]:
    """A sentence of what preflight warned of the same cases; ``about``: which those are."""
    warned = warned_of(case)
    for cases in dict.fromkeys(about[text] for text in warned):
        line = preflight_line((text for text in warned if about[text] == cases), lang)
        yield with_name(line, short_of(Concern.PREFLIGHT, case, lang), lang)


def reasons_elsewhere(groups: Sequence[Group], lang: Lang = "en") -> str:
    """``wide interval (1n4g), forced (1n8g, 2n8g)``: what sets the grade of the :func:`worst_case`
    in other cases, and is none of that one's; a base's grade is no reason of its own."""
    if (worst := worst_case(groups)) is None:
        return ""
    told: dict[tuple[Concern, str], list[str]] = {}
    for case in (case for group in groups for case in group.cases if case.grade is not None):
        for found in case.findings:
            if found.ceiling is worst[0].grade:
                name = " ".join(filter(None, case_parts(case, groups)))
                called = found.concern, short_of(found.concern, case, lang)
                told.setdefault(called, []).append(name)
    order = {concern: place for place, concern in enumerate(Concern)}
    known = {Concern.WEAK_BASE, *worst[0].concerns}
    return first_of(
        [
            f"{words} ({first_of(names)})"
            for (concern, words), names in sorted(told.items(), key=lambda one: order[one[0][0]])
            if concern not in known
        ]
    )


def case_parts(case: CaseResult, groups: Sequence[Group]) -> Name:
    """The profile, where there are several; what the case is called in it."""
    if len(groups) == 1:
        return "", case.case
    several = len({group.profile for group in groups}) > 1
    own = (case.case, parameters_text(case.parameters) if case.parameters else "")
    return case.profile * several, " ".join(filter(None, own))


def forced_cases(groups: Sequence[Group]) -> str:
    """``all cases``; ``1n4g, 1n8g``: which have a run that was started in spite of what preflight
    stops; ``no case`` where no run has come to what that is about."""
    cases = {case_parts(case, groups): case for group in groups for case in group.cases}
    forced = [name for name, case in cases.items() if any(run.forced for run in case.runs)]
    if len(forced) == len(cases) > 1:
        return "all cases"
    return told_of(forced, cases.keys()) if forced else "no case"
