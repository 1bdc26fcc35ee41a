"""The runs that will be done, and what cannot be run: the same for ``plan``, ``run``, Matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from backends.campaign.plan.selection import Selection
from backends.engines.engine import Wanted
from backends.engines.filling import Offer
from backends.engines.hosts_schedule import Slot, ends_at, timeline
from backends.inventory.host_entry import Host
from profiles.durations import parse_duration
from profiles.format.case import Case
from profiles.format.expected_duration import expected_s
from profiles.format.host_capacity import HostCapacity

if TYPE_CHECKING:
    from profiles.format.profile import Profile


RUN = "RUN"
"""Stands for the id of a run."""
STAND_IN_PORT = 29500
"""Of runs that have not started, where processes meet."""


class Basis(StrEnum):
    """What an estimate of how long a run takes rests on."""

    MEASURED = "as measured"
    OTHERS = "by other cases"
    PROFILE = "by the profile"


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case with everything needed to run it, or the reason why it cannot be run."""

    profile: Profile
    case: Case
    repeats: int
    settings: Mapping[str, str]
    infeasible: str = ""
    measured_s: float | None = None  # what a run of it took before
    share: float | None = None  # what other cases took of what the profile says

    @property
    def expected_s(self) -> float | None:
        """How long a run of it takes: as it was measured, else by its profile times what others
        took of that; None where nobody says."""
        if self.measured_s is not None:
            return self.measured_s
        seconds = expected_s(self.profile, self.case, self.settings)
        return None if seconds is None else seconds * (self.share or 1.0)

    @property
    def basis(self) -> Basis:
        """Of that."""
        if self.measured_s is not None:
            return Basis.MEASURED
        return Basis.PROFILE if self.share is None else Basis.OTHERS


def want_of(planned: PlannedCase, *, pack: bool = False) -> Wanted:
    """What an engine has to know of a run of the case; ``pack``: of a campaign that packs."""
    profile, case = planned.profile, planned.case
    wanted = Wanted(
        RUN,
        case.nodes,
        case.gpus_per_node,
        gpu_only=profile.devices == "gpu",
        limit_s=parse_duration(profile.launch_for(case).timeout),
        on_cpus=profile.on_cpus,
        settle_s=parse_duration(profile.launch.settle),
        cluster=case.cluster,
        asks=profile.job_keys,
        pack=pack and case.nodes == 1,
    )
    seconds = planned.expected_s
    return wanted if seconds is None else replace(wanted, expected_s=seconds)


def wants_of(runs: Iterable[tuple[int, PlannedCase]], *, pack: bool = False) -> list[Wanted]:
    """Of runs in planning order, each with its repeat; their places stand for their ids."""
    known: dict[int, Wanted] = {}
    wanted = []
    for number, (repeat, planned) in enumerate(runs):
        if (want := known.get(id(planned))) is None:
            want = known[id(planned)] = want_of(planned, pack=pack)
        wanted.append(replace(want, run_id=str(number), repeat=repeat))
    return wanted


@dataclass(frozen=True)
class Plan:
    selection: Selection
    hosts: tuple[Host, ...]
    cases: tuple[PlannedCase, ...]  # feasible ones, in matrix order
    refused: tuple[PlannedCase, ...]  # asked for but infeasible, with reasons
    capacities: tuple[HostCapacity, ...] = ()  # of the hosts that can be used
    left_out: tuple[str, ...] = ()  # hosts, and cases for want of them: "node3: in use"

    @property
    def profile_names(self) -> list[str]:
        """Of what can be run, in matrix order."""
        return [profile.name for profile in self.profiles]

    @property
    def profiles(self) -> list[Profile]:
        """The same."""
        return [*{planned.profile.name: planned.profile for planned in self.cases}.values()]

    @property
    def job_keys(self) -> dict[str, Mapping[str, object]]:
        """What each profile asks of a queue."""
        planned = (*self.cases, *self.refused)
        return {one.profile.name: dict(one.profile.job_keys) for one in planned}

    @property
    def most_devices(self) -> int:
        """Of one host; 0 where nobody knows."""
        return max((offer.devices for offer in self._offers), default=0)

    @cached_property
    def by_profile(self) -> Plan:
        """As if nothing was measured before: what is run, whatever it took."""
        cases = (replace(one, measured_s=None, share=None) for one in self.cases)
        return replace(self, cases=tuple(cases))

    @property
    def run_count(self) -> int:
        return sum(planned.repeats for planned in self.cases)

    @property
    def profiled(self) -> tuple[PlannedCase, ...]:
        """The cases that get a profiled run, once their repeats are done."""
        wanted = self.cases if self.selection.explain else ()
        return tuple(planned for planned in wanted if planned.profile.explain is not None)

    def runs(self) -> Sequence[tuple[int, PlannedCase]]:
        """Each with its repeat, in planning order; last the profiled ones, which have none."""
        return [*self.rounds(), *((planned.repeats + 1, planned) for planned in self.profiled)]

    @cached_property
    def timeline(self) -> tuple[Slot | None, ...]:
        """Of :meth:`runs`, on hosts that are idle at 0; None where nobody knows when it would be
        its turn."""
        wanted = wants_of(self.rounds(), pack=self.selection.pack)
        slots = timeline(self._offers, wanted)
        repeats = tuple(slots.get(want.run_id) for want in wanted)
        settled = (
            math.inf if slot is None else slot.end + want.settle_s
            for slot, want in zip(repeats, wanted, strict=True)
        )
        after = self._wants_of_profiled()
        start = max(settled, default=0.0)
        slots = timeline(self._offers, after, start) if start < math.inf else {}
        return (*repeats, *(slots.get(want.run_id) for want in after))

    @cached_property
    def expected_s(self) -> float | None:
        """Wall time on these hosts; None where a profile says nothing."""
        profiled = self._wants_of_profiled()
        end = ends_at(self._offers, wants_of(self.rounds(), pack=self.selection.pack))
        if profiled:
            end = ends_at(self._offers, profiled, end + max(want.settle_s for want in profiled))
        return end if end < math.inf else None

    def _wants_of_profiled(self) -> list[Wanted]:
        return wants_of(((0, planned) for planned in self.profiled), pack=self.selection.pack)

    @property
    def _offers(self) -> list[Offer]:
        return [Offer(capacity) for capacity in self.capacities]

    def idle_hosts(self, planned: PlannedCase) -> tuple[str, ...]:
        """Those that a run of the case has when it is the only one."""
        slots = timeline(self._offers, [want_of(planned)])
        return slots[RUN].hosts if RUN in slots else ()

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
    """A run as it would be done: one exact command per host, rank 0 first. ``short``: its label
    where there is little room. ``number``: its place in the plan, and so in the list of runs.

    ``job``: the script that a queue is handed for it, or for all runs (``of_all``); empty without
    one. ``start_s``, ``end_s``: from the start of the campaign, if all takes as long as is
    expected; None: nobody knows.
    """

    label: str
    short: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
    job: str = ""
    of_all: bool = False
    start_s: float | None = None
    end_s: float | None = None
    number: int = 1
