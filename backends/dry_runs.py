"""What a plan would run, with its hosts and exact commands; nothing is started."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from backends.campaign.folder.create import planned_run
from backends.campaign.plan.plan import (
    RUN,
    STAND_IN_PORT,
    DryRun,
    Plan,
    PlannedCase,
    want_of,
    wants_of,
)
from backends.campaign.record.run_changes import record_of
from backends.campaign.run.factory import RunFactory, rank_address
from backends.cluster import Cluster
from backends.engines.choice import job_for
from backends.engines.hosts_schedule import Slot
from backends.hosts.host_facts import HostFacts
from backends.hosts.placement import Site, beside, choose
from backends.inventory.host_entry import Host
from backends.inventory.queue import Queue, queue_of_inventory
from backends.launchers.build import differs_by_repeat
from backends.launchers.launcher import LaunchSite


class _Case(NamedTuple):
    """What its runs have in common. ``differs``: their commands, from repeat to repeat."""

    planned: PlannedCase
    key: str
    title: str
    tag: str
    differs: bool
    job: str
    of_all: bool


class DryRuns:
    """Of one plan. ``factory``: of a plan's commands."""

    def __init__(self, plan: Plan, cluster: Cluster, factory: Callable[[Plan], RunFactory]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._factory = factory
        self._hosts = {host.name: self._reached(host) for host in plan.hosts}
        self._known: dict[tuple[str, str, tuple[int, ...]], LaunchSite] = {}
        self._until: dict[str, dict[int, float]] = {}
        self._texts: dict[object, tuple[str, ...]] = {}

    def runs(self) -> tuple[DryRun, ...]:
        """Every run of the plan in the order of starting, with its hosts and exact commands.

        Hosts, and devices of those that are shared, are those that an idle cluster would give;
        ports are chosen when a run starts, and :data:`STAND_IN_PORT` stands for them.
        """
        plan = self._plan
        factory = self._factory(plan)
        queue = queue_of_inventory(self._cluster.inventory_for(plan.job_keys), plan.hosts)
        jobs = {} if queue is None else self._jobs(queue)
        of_all = queue is not None and queue.one_job
        cases = {id(planned): _case(planned, jobs, of_all=of_all) for planned in plan.cases}
        repeats = len(plan.rounds())
        in_turn = enumerate(zip(plan.runs(), plan.timeline, strict=True), 1)
        by_start = sorted(
            in_turn, key=lambda run: math.inf if run[1][1] is None else run[1][1].start
        )
        return tuple(
            self._run(factory, cases[id(planned)], repeat, slot, number, again=number > repeats)
            for number, ((repeat, planned), slot) in by_start
        )

    def _run(
        self,
        factory: RunFactory,
        case: _Case,
        repeat: int,
        slot: Slot | None,
        number: int,
        *,
        again: bool,
    ) -> DryRun:
        planned = case.planned
        names = self._plan.idle_hosts(planned) if slot is None else slot.hosts
        own = self._devices(planned, slot)
        key = case.key, names, own, again, repeat if case.differs else 0
        if (texts := self._texts.get(key)) is None:
            sites = [self._site(name, planned, own, alone=len(names) == 1) for name in names]
            texts = self._texts[key] = _texts(factory, planned, repeat, sites, profiled=again)
        which = "profiled" if again else f"#{repeat}"
        return DryRun(
            f"{case.title} {which}",
            f"{case.tag} {which}",
            names,
            texts,
            case.job,
            case.of_all,
            None if slot is None else slot.start,
            None if slot is None or slot.end == math.inf else slot.end,
            number,
        )

    def _jobs(self, queue: Queue) -> dict[str, str]:
        """The script of a case, by its key."""
        plan = self._plan
        nodes = self._cluster.probed
        if queue.one_job:
            of_all = job_for(wants_of(plan.rounds()), queue, nodes)
            return {planned.case.key: of_all for planned in plan.cases}
        return {
            planned.case.key: job_for([want_of(planned, pack=plan.selection.pack)], queue, nodes)
            for planned in plan.cases
        }

    def _devices(self, planned: PlannedCase, slot: Slot | None) -> tuple[int, ...]:
        """Of a run that shares its host, asked in the order of starting; of any other none."""
        want = want_of(planned, pack=self._plan.selection.pack)
        if slot is None or not want.pack:
            return ()
        (name,) = slot.hosts
        facts, free = self._facts(name, planned), None
        until = self._until.setdefault(name, {})
        if count := self._cluster.snapshot(self._hosts[name]).capacity.devices(gpu_only=False):
            free = [device for device in range(count) if until.get(device, 0.0) <= slot.start]
        placement = self._plan.selection.placement
        devices = choose(placement, facts, want.gpus_per_node, free).devices
        until.update(dict.fromkeys(devices, slot.end + want.settle_s))
        return devices

    def _facts(self, name: str, planned: PlannedCase) -> HostFacts | None:
        facts = self._cluster.snapshot(self._hosts[name]).facts
        return facts.without_gpus() if facts is not None and planned.profile.on_cpus else facts

    def _site(
        self, name: str, planned: PlannedCase, devices: tuple[int, ...], *, alone: bool
    ) -> LaunchSite:
        """``devices``: none: those that the placement chooses of all."""
        key = name, planned.case.key, devices
        if key not in self._known:
            placement, facts = self._plan.selection.placement, self._facts(name, planned)
            count = planned.case.gpus_per_node
            chosen = (
                beside(placement, facts, devices) if devices else choose(placement, facts, count)
            )
            site = _site(self._hosts[name], facts, chosen, alone=alone)
            shared = bool(devices) and not self._queued
            self._known[key] = self._named(replace(site, shared=shared))
        return self._known[key]

    def _reached(self, host: Host) -> Host:
        """Which nodes a queue will give, and by which addresses they are known, it says later."""
        return replace(host, address=host.name) if self._queued else host

    def _named(self, site: LaunchSite) -> LaunchSite:
        """As the queue's own launchers call its host."""
        return replace(site, node_name=site.host.name) if self._queued else site

    @property
    def _queued(self) -> bool:
        return self._cluster.inventory.login is not None

    def elsewhere(self) -> tuple[DryRun, ...]:
        """The refused cases as they would be if the hosts could run them.

        On those of the inventory, reachable or not, with the addresses and interfaces that it
        gives; HOST3 … stands where it has too few.
        """
        plan, runs = self._plan, []
        for planned in plan.refused:
            nodes = planned.case.nodes
            blanks = [f"HOST{number}" for number in range(len(plan.hosts) + 1, nodes + 1)]
            hosts = [*plan.hosts[:nodes], *(Host(name, address=name) for name in blanks)]
            names = [host.name for host in hosts]
            sites = [self._named(_blank_site(host, planned, nodes)) for host in hosts]
            factory = self._factory(replace(plan, cases=(planned,)))
            label = f"{planned.profile.name} {planned.case.label}"
            runs.append(
                DryRun(label, planned.case.tag, tuple(names), _texts(factory, planned, 1, sites))
            )
        return tuple(runs)


def _case(planned: PlannedCase, jobs: Mapping[str, str], *, of_all: bool) -> _Case:
    profile, case = planned.profile, planned.case
    title, differs = f"{profile.name} {case.label}", differs_by_repeat(profile, case)
    return _Case(planned, case.key, title, case.tag, differs, jobs.get(case.key, ""), of_all)


def _site(host: Host, facts: HostFacts | None, site: Site, *, alone: bool) -> LaunchSite:
    has_gpus = bool(facts and facts.gpus)
    address = rank_address(host, alone=alone)
    return LaunchSite(host, address, has_gpus, site.devices, site.cpus, site.nics)


def _blank_site(host: Host, planned: PlannedCase, nodes: int) -> LaunchSite:
    devices = tuple(range(planned.case.gpus_per_node))
    address, gpus = rank_address(host, alone=nodes == 1), not planned.profile.on_cpus
    return LaunchSite(host, address, has_gpus=gpus, devices=devices)


def _texts(
    factory: RunFactory,
    planned: PlannedCase,
    repeat: int,
    sites: Sequence[LaunchSite],
    *,
    profiled: bool = False,
) -> tuple[str, ...]:
    if not sites:
        return ()
    record = replace(record_of(planned_run(planned, repeat, RUN, 0.0)), profiled=profiled)
    commands = factory.commands(record, sites, STAND_IN_PORT)
    return tuple(command.text for command in commands)
