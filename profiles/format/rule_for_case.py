"""The measuring rule of a case: the profile's own, with the first variant whose condition holds."""

from __future__ import annotations

from profiles.format.case import Case
from profiles.format.expression import parse_expression
from profiles.format.measure_section import Rule
from profiles.format.profile import Profile


def rule_for(profile: Profile, case: Case) -> Rule:
    """The rule for the case. It depends on the case alone, never on a single file.

    Raises
    ------
    ProfileError: a variant's condition cannot be evaluated for the case.
    """
    values = case.values()
    for condition, rule in profile.measure.rules:
        if not condition or parse_expression(condition).holds(values):
            return rule
    raise AssertionError("the last rule has no condition")
