"""A plan by what earlier campaigns measured of its cases, for the console and the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from backends.campaign.plan.plan import Plan, PlannedCase
from backends.hosts.environment import fingerprint
from backends.hosts.fingerprint import devices_of
from backends.hosts.host_facts import AWAY, HostSnapshot
from backends.results.past_result import PastOfCase, past_of_profile

if TYPE_CHECKING:
    from backends.campaign.folder.past_index import Found, PastIndex

WAIT_S = 0.5
"""So long a plan waits for what is not read yet once it is made."""


def as_measured(plan: Plan, past: Callable[[PlannedCase], PastOfCase]) -> Plan:
    """With what a run of each case took when it was measured last; ``past``: what is known of it.
    The others are as their profiles say, times what measured ones took of that."""
    known = ((one, past(one)) for one in plan.cases)
    cases = (replace(one, measured_s=of.run_s, share=of.share) for one, of in known)
    return replace(plan, cases=tuple(cases))


def past_of_plan(
    plan: Plan, found: Found, hosts: Collection[HostSnapshot], *, simulated: bool
) -> Callable[[PlannedCase], PastOfCase]:
    """For :func:`as_measured`, of what was ``found``. ``hosts``: that it would run on."""
    of_profile = {
        one.profile.name: past_of_profile(
            found,
            one.profile,
            one.settings,
            known_devices(hosts, on_cpus=one.profile.on_cpus),
            simulated=simulated,
        )
        for one in {one.profile.name: one for one in plan.cases}.values()
    }
    return lambda one: of_profile[one.profile.name](one.case)


def known_devices(hosts: Iterable[HostSnapshot], *, on_cpus: bool) -> frozenset[str]:
    """What those compute on that have answered, as results name it; empty where none has.
    ``on_cpus``: for a profile that leaves GPUs alone."""
    told = [host.facts for host in hosts if host.state not in AWAY and host.facts is not None]
    counted = (facts.without_gpus() if on_cpus else facts for facts in told)
    return frozenset(devices_of(text) for text in map(fingerprint, counted) if text)


class PastBeside:
    """What was measured before, read beside other work, and no longer than that waits for it.

    ``index``: of the campaigns, made in the thread, as is what it takes. A disk that does not
    answer holds nobody up: the thread ends with the process.
    """

    def __init__(self, index: Callable[[], PastIndex]) -> None:
        self._make = index
        self._index: PastIndex | None = None
        self._wanted = True
        self._over = threading.Event()
        threading.Thread(target=self._read, name="past results", daemon=True).start()

    def _read(self) -> None:
        try:
            self._index = self._make()
            self._index.read(lambda: self._wanted)
        finally:
            self._over.set()

    def found(self, wait_s: float = WAIT_S) -> Found:
        """What was read after so many seconds at most, the campaigns written last first; no more is
        read then. Blocking."""
        self._over.wait(wait_s)
        self.stop()
        return {} if self._index is None else self._index.found

    def stop(self) -> None:
        """Nobody asks any more."""
        self._wanted = False
