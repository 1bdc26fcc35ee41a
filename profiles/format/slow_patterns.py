"""Which of a profile's patterns cannot be left to the fast engine: what ``profiles check`` says."""

from __future__ import annotations

from collections.abc import Iterator

from profiles.format.every_pattern import every_pattern
from profiles.format.profile import Profile
from profiles.format.regex.line_pattern import costly


def costly_patterns(profile: Profile) -> Iterator[tuple[str, str]]:
    """The first key of each pattern that runs in linear time instead, and what makes it costly."""
    seen: set[str] = set()
    for at in every_pattern(profile):
        text = at.reading.reading
        if text not in seen and (reason := costly(text)):
            yield at.key, reason
        seen.add(text)
