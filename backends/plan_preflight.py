"""Before a campaign starts: would its hosts do, or would the queue that gives them ever do so?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from backends.campaign.plan.plan import Plan, want_of, wants_of
from backends.cluster import Cluster
from backends.engines.choice import why_never
from backends.engines.engine import Wanted
from backends.engines.refusal import Refusal
from backends.hosts.foreseen import facts_for, foreseen, renewed
from backends.hosts.host_facts import AWAY, HostFacts, HostSnapshot, HostState
from backends.hosts.image_pull import pull_images
from backends.hosts.preflight import preflight
from backends.hosts.preflight_finding import Finding, Level, Say
from backends.hosts.software import sought_for
from backends.inventory.queue import Queue, queue_of_inventory
from backends.inventory.queue_asks import Ask, asks
from profiles.errors import DlperfError, SelectionError
from profiles.nearest import did_you_mean

FRESH_S = 10.0
"""What a host told so long ago is not asked again: load and temperature change within a minute."""


async def plan_preflight(
    cluster: Cluster,
    plan: Plan,
    clock: Callable[[], float],
    say: Say | None = None,
    before: Sequence[Finding] = (),
) -> tuple[Finding, ...]:
    """See :func:`~backends.hosts.preflight.preflight`; of a queue's hosts :func:`_of_queue`.

    Before it images are fetched where that is allowed; ``say`` takes its lines.
    """
    inventory = cluster.inventory_for(plan.job_keys)
    if (queue := queue_of_inventory(inventory, plan.hosts)) is not None:
        return await _of_queue(queue, cluster, plan)
    hosts = [host for host in plan.hosts if cluster.snapshot(host).state not in AWAY]
    if fetched := await pull_images(cluster.pool, hosts, plan.cases, say or _unsaid):
        await cluster.probe(fetched, sought=sought_for(plan.cases))  # what it is, the image tells
    await cluster.probe_unknown(hosts, sought_for(plan.cases))
    used = [host for host in hosts if _used(cluster.snapshot(host))]
    await cluster.refresh(0.0, used)  # who had it may have let it go since
    await cluster.refresh(FRESH_S, hosts)
    given = cluster.pool, hosts, plan.cases, cluster.probed
    placement, person = plan.selection.placement, cluster.person
    return await preflight(*given, placement=placement, person=person, before=before, clock=clock)


def plan_foreseen(cluster: Cluster, plan: Plan) -> tuple[Finding, ...]:
    """What :func:`plan_preflight` will find by what the hosts told when they were asked last;
    nothing of a queue's hosts, of which nobody knows which it will be."""
    if queue_of_inventory(cluster.inventory_for(plan.job_keys), plan.hosts) is not None:
        return ()
    return _foreseen(cluster, plan, [*map(cluster.snapshot, plan.hosts)])[1]


def plan_unreachable(cluster: Cluster, plan: Plan) -> tuple[Finding, ...]:
    """A warning of each of the plan's hosts that did not answer, of which :func:`plan_preflight`
    says nothing: runs go there once it does, and nobody has looked. Nothing of a queue's."""
    if queue_of_inventory(cluster.inventory_for(plan.job_keys), plan.hosts) is not None:
        return ()
    asked = [one for one in map(cluster.snapshot, plan.hosts) if one.state in AWAY]
    return tuple(
        Finding(
            one.name,
            Level.WARN,
            f"does not answer: {one.reason}" if one.reason else "does not answer",
            one.remedy,
            by_facts=True,
        )
        for one in asked
    )


def plan_renewed(
    cluster: Cluster, plan: Plan, findings: Sequence[Finding], hosts: Iterable[HostSnapshot]
) -> tuple[Finding, ...]:
    """The ``findings`` of :func:`plan_preflight` as they are with the plan's ``hosts`` as they are
    by now; its checks are not made again. A queue's are as they were."""
    if queue_of_inventory(cluster.inventory_for(plan.job_keys), plan.hosts) is not None:
        return tuple(findings)
    by_name = {host.name: host for host in hosts}
    there = [by_name[host.name] for host in plan.hosts if host.name in by_name]
    facts, now = _foreseen(cluster, plan, there)
    return renewed(findings, now, facts, [host.name for host in plan.hosts])


def _foreseen(
    cluster: Cluster, plan: Plan, hosts: Sequence[HostSnapshot]
) -> tuple[Mapping[str, HostFacts], tuple[Finding, ...]]:
    """What those hosts told that answer, and what follows from it."""
    facts = facts_for(plan.cases, hosts)
    found = foreseen(
        facts,
        plan.cases,
        capacities=[host.capacity for host in hosts],
        placement=plan.selection.placement,
        person=cluster.person,
    )
    return facts, found


def _used(host: HostSnapshot) -> bool:
    """Somebody had it when it was asked, whether that was a run of ours or not."""
    return host.state is HostState.BUSY or host.lease is not None


def _unsaid(_line: str) -> None:
    """Nobody listens."""


async def _of_queue(queue: Queue, cluster: Cluster, plan: Plan) -> tuple[Finding, ...]:
    """A stop for every kind of job that the queue says it will never start; in its own words.

    Which hosts it will be, and when, nobody knows yet; so none is looked at.

    Raises
    ------
    SelectionError: an account, a qos or a reservation that is named is not there.
    """
    nodes = cluster.probed
    jobs: dict[tuple[Wanted, ...], str]
    pack = plan.selection.pack
    jobs = {(want_of(planned, pack=pack),): planned.case.tag for planned in plan.cases}
    if queue.one_job and plan.cases:
        all_runs = tuple(wants_of(plan.rounds()))
        jobs = {all_runs: "the campaign's job"}
    login = cluster.pool.get(queue.login)
    try:
        asked = (why_never(wanted, queue, login, nodes) for wanted in jobs)
        answers = await asyncio.gather(*asked)
    except DlperfError as error:
        return (Finding(queue.login.name, Level.STOP, error.what, error.remedy),)
    told = zip(jobs.values(), answers, strict=True)
    refused = [(tag, answer) for tag, answer in told if answer is not None]
    said = asks(cluster.inventory, plan.job_keys)
    for _, refusal in refused:
        named = [ask for ask in said if ask.key == refusal.key and ask.value]
        if named:
            raise _not_there(min(named, key=lambda ask: ask.value in refusal.known), refusal)
    return tuple(
        Finding("", Level.STOP, f"{tag} would never start: {it.words}", "ask for what there is")
        for tag, it in refused
    )


def _not_there(ask: Ask, refusal: Refusal) -> SelectionError:
    known = ", ".join(refusal.known)
    meant = did_you_mean(ask.value, refusal.known)
    return SelectionError(
        f"{ask.key} {ask.value!r}: {refusal.words}{meant}",
        where=ask.where,
        remedy=f"there are {known}" if known else f"name another {ask.key}, or none",
    )
