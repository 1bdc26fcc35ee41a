"""How far each result can be trusted, for the person at the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from backends.results.grade_words import finding_lines
from backends.results.summary import Group
from tui.cli.shared.output import say


def say_findings(groups: Sequence[Group]) -> None:
    """The grade of each case, and everything that is to be known of it."""
    for group in groups:
        for case in group.cases:
            name = f"{case.profile} {case.case}" if len(groups) > 1 else case.case
            grade = f", grade {case.grade}" if case.grade else ""
            for line in finding_lines(case, group) or ["nothing to distrust"][: bool(case.grade)]:
                say(f"note: {name}{grade}: {line}")
