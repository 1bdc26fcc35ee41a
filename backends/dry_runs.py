"""What a plan would run, with its hosts and exact commands; nothing is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from backends.campaign.folder.create import planned_run
from backends.campaign.plan.plan import DryRun, Plan, PlannedCase
from backends.campaign.record.run_changes import record_of
from backends.campaign.run.factory import RunFactory, rank_address
from backends.cluster import Cluster
from backends.engines.choice import job_for
from backends.engines.engine import Wanted
from backends.engines.first_fit_schedule import Offer, first_fit
from backends.hosts.host_facts import AWAY, HostFacts
from backends.hosts.placement import Placement, choose
from backends.inventory.host_entry import Host
from backends.inventory.queue import queue_of_inventory
from backends.launchers.launcher import LaunchSite
from profiles.durations import parse_duration

RUN = "RUN"
"""Stands for the id of a run."""


@dataclass(frozen=True, slots=True)
class _CaseRun:
    """What all runs of a case have in common: hosts, rank 0 first, the devices on each, and the
    script for a queue."""

    hosts: tuple[str, ...]
    sites: tuple[LaunchSite, ...]
    job: str


class DryRuns:
    """Of one plan. ``factory``: of a plan's commands."""

    def __init__(self, plan: Plan, cluster: Cluster, factory: Callable[[Plan], RunFactory]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._factory = factory

    def runs(self) -> tuple[DryRun, ...]:
        """Every run of the plan in the order of starting, with its hosts and exact commands.

        Hosts are those that an idle cluster would give; ports are chosen when a run starts, so
        29500 stands for them.
        """
        plan = self._plan
        factory = self._factory(plan)
        cases = self._case_runs()
        queue = queue_of_inventory(self._cluster.inventory, plan.hosts)
        of_all = queue is not None and queue.one_job
        runs = []
        profiled = [(planned.repeats + 1, planned) for planned in plan.profiled]
        rounds = plan.rounds()
        for number, (repeat, planned) in enumerate([*rounds, *profiled]):
            run = cases[planned.case.key]
            again = number >= len(rounds)
            which = "profiled" if again else f"#{repeat}"
            label = f"{planned.profile.name} {planned.case.label} {which}"
            texts = _texts(factory, planned, repeat, run.sites, profiled=again)
            runs.append(DryRun(label, run.hosts, texts, run.job, of_all))
        return tuple(runs)

    def _case_runs(self) -> dict[str, _CaseRun]:
        """By the case's key."""
        plan = self._plan
        hosts = {host.name: self._reached(host) for host in plan.hosts}
        known = {name: self._cluster.snapshot(host) for name, host in hosts.items()}
        there = [snapshot for snapshot in known.values() if snapshot.state not in AWAY]
        offers = [Offer(snapshot.capacity) for snapshot in there]
        queue = queue_of_inventory(self._cluster.inventory, plan.hosts)
        placement = plan.selection.placement
        gpus = any(snapshot.capacity.gpus for snapshot in self._cluster.snapshots())
        of_all = ""
        if queue is not None and queue.one_job:
            of_all = job_for([want_of(planned) for _, planned in plan.rounds()], queue, gpus=gpus)
        runs = {}
        for planned in plan.cases:
            want = want_of(planned)
            names = first_fit([want], offers, 0.0).starts.get(RUN, ())
            sites = tuple(
                self._named(_site(hosts[name], planned, len(names), known[name].facts, placement))
                for name in names
            )
            job = of_all
            if queue is not None and not queue.one_job:
                job = job_for([want], queue, gpus=gpus)
            runs[planned.case.key] = _CaseRun(names, sites, job)
        return runs

    def _reached(self, host: Host) -> Host:
        """Which nodes a queue will give, and by which addresses they are known, it says later."""
        return host if self._cluster.inventory.login is None else replace(host, address=host.name)

    def _named(self, site: LaunchSite) -> LaunchSite:
        """As the queue's own launchers call its host."""
        queued = self._cluster.inventory.login is not None
        return replace(site, node_name=site.host.name) if queued else site

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
            runs.append(DryRun(label, tuple(names), _texts(factory, planned, 1, sites)))
        return tuple(runs)


def want_of(planned: PlannedCase) -> Wanted:
    """What an engine has to know of a run of the case."""
    profile, case = planned.profile, planned.case
    return Wanted(
        RUN,
        case.nodes,
        case.gpus_per_node,
        gpu_only=profile.devices == "gpu",
        limit_s=parse_duration(profile.launch_for(case).timeout),
        on_cpus=profile.on_cpus,
        expected_s=planned.expected_s,
    )


def _site(
    host: Host, planned: PlannedCase, nodes: int, facts: HostFacts | None, placement: Placement
) -> LaunchSite:
    if facts is not None and planned.profile.on_cpus:
        facts = facts.without_gpus()
    site = choose(placement, facts, planned.case.gpus_per_node)
    has_gpus = bool(facts and facts.gpus)
    address = rank_address(host, alone=nodes == 1)
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
    commands = factory.commands(record, sites, 29500)
    return tuple(command.text for command in commands)
