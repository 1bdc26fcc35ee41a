"""How long a run usually takes, by what its profile says: a duration, or arithmetic in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from profiles.durations import is_duration, parse_duration
from profiles.errors import ProfileError
from profiles.format.case import Case
from profiles.format.expression import parse_expression

if TYPE_CHECKING:
    from profiles.format.profile import Profile


def expected_s(profile: Profile, case: Case, settings: Mapping[str, str]) -> float | None:
    """Seconds; None where the profile says nothing, or a setting that it counts with is no number.

    ``settings``: those of the run, by name.
    """
    try:
        text = profile.launch_for(case).expected
        if text is None:
            return None
        if is_duration(text):
            return parse_duration(text)
        values = {name: _value(given) for name, given in settings.items()}
        return max(0.0, float(parse_expression(text).number({**values, **case.values()})))
    except ProfileError:  # an estimate is no reason to refuse a run
        return None


def _value(text: str) -> str | float:
    """A setting as arithmetic takes it."""
    try:
        return float(text)
    except ValueError:
        return text
