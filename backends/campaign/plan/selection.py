"""What was asked for: the same for ``plan``, ``run``, Matrix and a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backends.hosts.placement import Placement
from backends.results.auto_repeats import LOOKS, AutoRepeats

if TYPE_CHECKING:
    from profiles.format.profile import Profile

ATTEMPTS = 2
MANY_RUNS = 20_000
"""A plan of more of them is started only when somebody says that it is meant."""
REQUEST_NAME = "campaign.toml"
"""The file that says what was asked."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one press of "start" asks for; ``campaign.toml`` holds it.

    ``cases``: tags; empty means the profile's own. ``values``: parameter choices and profile
    settings by name, or by ``PROFILE:NAME`` where they are of one profile alone. ``repeats``: by
    profile where they are not the same for all; None, and a profile without: its own number.
    ``hosts``: a nodeset, empty: all.
    ``attempts``: how often a run is tried where another attempt can help; 1: never again.
    ``auto``: repeats until it is known, in place of a number of them. ``explain``: one profiled run
    of each case after all repeats, where its profile can tell where the time goes.
    ``placement``: which devices of a host a run gets. ``pack``: runs on one host share it, each on
    devices of its own.
    ``picked``: exact case keys marked on the matrix; when given they win over ``cases``.
    """

    profiles: tuple[str, ...]
    cases: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repeats: int | Mapping[str, int] | None = None
    hosts: str = ""
    picked: tuple[str, ...] = ()
    name: str = ""
    attempts: int = ATTEMPTS
    auto: AutoRepeats | None = None
    explain: bool = False
    placement: Placement = Placement.FIRST
    pack: bool = False

    def first_repeats(self, profile: Profile) -> int:
        """Of each of its cases, planned from the beginning."""
        own = profile.matrix.repeats
        if self.auto is not None:
            return LOOKS[0]
        if isinstance(self.repeats, Mapping):
            return self.repeats.get(profile.name, own)
        return self.repeats or own
