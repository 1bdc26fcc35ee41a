"""What parameters are where nobody asks for anything else, as campaigns and the catalogue say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder import frozen
from backends.campaign.record import journal
from backends.results.gained_parameters import Defaults

if TYPE_CHECKING:
    from profiles.format.catalog import Catalog
    from profiles.format.profile import Profile
    from profiles.scalars import Scalar


def defaults_of(campaigns: Sequence[Path], catalog: Callable[[], Catalog]) -> Defaults:
    """By the profiles that these campaigns began with, else by the catalogue's of today.

    Blocking; nothing is read before it is asked.
    """

    @cache
    def began_with() -> Mapping[str, Mapping[str, Scalar]]:
        found: dict[str, dict[str, Scalar]] = {}
        for path in campaigns:
            for profile in _frozen_profiles(path):
                found.setdefault(profile.name, {}).update(profile.defaults)
        return found

    @cache
    def defaults(name: str) -> Mapping[str, Scalar]:
        today = catalog()
        known = today.get(name).defaults if name in today.names else {}
        return {**known, **began_with().get(name, {})}

    return defaults


def _frozen_profiles(directory: Path) -> tuple[Profile, ...]:
    """Those that are whole; that others are damaged is said where the campaign is read."""
    begun = journal.beginning(directory / journal.FILE_NAME)
    if begun is None or not begun.frozen:
        return ()
    return tuple(frozen.profiles_of(directory, begun.frozen).values())
