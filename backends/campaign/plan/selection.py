"""From what was asked to the runs that will be done: the same for ``plan``, ``run``, Matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backends.inventory.host_entry import Host
from backends.results.auto_repeats import LOOKS, AutoRepeats
from profiles.format.case import Case

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
    settings by name, or by ``PROFILE:NAME`` where they are of one profile alone. ``repeats``: None
    means the profile's own. ``hosts``: a nodeset, empty: all.
    ``attempts``: how often a run is tried where another attempt can help; 1: never again.
    ``auto``: repeats until it is known, in place of a number of them. ``explain``: one profiled run
    of each case after all repeats, where its profile can tell where the time goes.
    ``picked``: exact case keys marked on the matrix; when given they win over ``cases``.
    """

    profiles: tuple[str, ...]
    cases: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repeats: int | None = None
    hosts: str = ""
    picked: tuple[str, ...] = ()
    name: str = ""
    attempts: int = ATTEMPTS
    auto: AutoRepeats | None = None
    explain: bool = False

    def first_repeats(self, own: int) -> int:
        """Of every case, planned from the beginning; ``own``: the profile's number."""
        return LOOKS[0] if self.auto is not None else self.repeats or own


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case with everything needed to run it, or the reason why it cannot be run."""

    profile: Profile
    case: Case
    repeats: int
    settings: Mapping[str, str]
    infeasible: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    selection: Selection
    hosts: tuple[Host, ...]
    cases: tuple[PlannedCase, ...]  # feasible ones, in matrix order
    refused: tuple[PlannedCase, ...]  # asked for but infeasible, with reasons
    expected_s: (
        float | None
    )  # estimated wall time on these hosts; None where a profile says nothing

    @property
    def run_count(self) -> int:
        return sum(planned.repeats for planned in self.cases)

    @property
    def profiled(self) -> tuple[PlannedCase, ...]:
        """The cases that get a profiled run, once their repeats are done."""
        wanted = self.cases if self.selection.explain else ()
        return tuple(planned for planned in wanted if planned.profile.explain is not None)

    def rounds(self) -> Sequence[tuple[int, PlannedCase]]:
        """Repeats round-robin over the cases, so that heat and time of day spread evenly."""
        deepest = max((planned.repeats for planned in self.cases), default=0)
        return [
            (repeat, planned)
            for repeat in range(1, deepest + 1)
            for planned in self.cases
            if repeat <= planned.repeats
        ]


@dataclass(frozen=True, slots=True)
class DryRun:
    """A run as it would be done: one exact command per host, rank 0 first."""

    label: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
