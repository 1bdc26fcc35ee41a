"""What is doubtful about the cases of a report, each once, with the cases of which it is so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backends.results.case_result import CaseResult
from backends.results.grade_words import found_lines
from backends.results.summary import Group, parameters_text
from backends.results.told_of import Name, told_of, told_once
from backends.results.translations import Lang


def flag_lines(groups: Sequence[Group], lang: Lang = "en") -> Iterator[tuple[str, str]]:
    """Whose it is and what, the gravest first."""
    told = (
        (found.rank, line, case_parts(case, groups))
        for group in groups
        for case in group.cases
        for found, line in found_lines(case, group, lang)
    )
    return told_once(told, lang)


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
