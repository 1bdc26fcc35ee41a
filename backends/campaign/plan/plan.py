"""The runs that will be done, and what cannot be run: the same for ``plan``, ``run``, Matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends.campaign.plan.selection import Selection
from backends.inventory.host_entry import Host
from profiles.format.case import Case
from profiles.format.expected_duration import expected_s

if TYPE_CHECKING:
    from profiles.format.profile import Profile


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case with everything needed to run it, or the reason why it cannot be run."""

    profile: Profile
    case: Case
    repeats: int
    settings: Mapping[str, str]
    infeasible: str = ""

    @property
    def expected_s(self) -> float | None:
        """How long a run of it takes, by its profile; None where that does not say."""
        return expected_s(self.profile, self.case, self.settings)


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
    """A run as it would be done: one exact command per host, rank 0 first.

    ``job``: the script that a queue is handed for it, or for all runs (``of_all``); empty without
    one.
    """

    label: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
    job: str = ""
    of_all: bool = False
