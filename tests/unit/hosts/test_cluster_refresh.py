"""Hosts that are asked again by themselves, and watched while somebody looks at them."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.cluster import Cluster
from backends.hosts.host_facts import HostSnapshot, HostState, Sought
from backends.hosts.live_telemetry import Figure, LiveTelemetry
from backends.hosts.preflight_finding import Level
from backends.inventory.host_entry import Host, Inventory
from backends.plan_preflight import FRESH_S, plan_preflight
from backends.remote.lease import Lease
from tests.support.waiting import until


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def cluster(local_host: Host) -> AsyncIterator[Cluster]:
    away = Host("away", address="127.0.0.1", port=9)
    found = Cluster(Inventory((local_host, away)), clock=Clock())
    yield found
    await found.close()


def clock_of(cluster: Cluster) -> Clock:
    assert isinstance(cluster._clock, Clock)
    return cluster._clock


def snapshots(cluster: Cluster) -> tuple[HostSnapshot, HostSnapshot]:
    first, second = cluster.snapshots()
    return first, second


async def test_only_what_is_old_is_asked_again(cluster: Cluster) -> None:
    await cluster.refresh(60)
    assert [host.state for host in snapshots(cluster)] == [HostState.UNKNOWN] * 2
    await cluster.probe()
    first, away = snapshots(cluster)
    assert (first.probed_at, away.probed_at) == (1000.0, 1000.0)
    clock_of(cluster).now = 1059.0
    await cluster.refresh(60)
    assert snapshots(cluster) == (first, away)
    clock_of(cluster).now = 1060.0
    await cluster.refresh(60)
    again, still_away = snapshots(cluster)
    assert (again.probed_at, still_away.probed_at) == (1060.0, 1060.0)
    assert still_away.state is HostState.UNREACHABLE


async def test_what_a_host_had_is_known_while_it_does_not_tell(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.probe()
    told, away = snapshots(cluster)
    gone = replace(away, name=told.name)
    dumb = replace(told, facts=told.facts and replace(told.facts, gpu_problem="it hangs"))
    answers = [(told, None), (gone, told), (gone, told), (dumb, told), (told, None), (dumb, told)]
    for answer, seen in answers:

        async def answered(
            *_: object, answer: HostSnapshot = answer, **__: object
        ) -> AsyncIterator[HostSnapshot]:
            yield answer

        monkeypatch.setattr("backends.hosts.probe.probe_all", answered)
        await cluster.probe([told.name])
        found = snapshots(cluster)[0].seen
        assert (found and found.facts) == (seen and seen.facts)
    assert snapshots(cluster)[1].seen is None


async def test_it_is_quiet_and_leaves_alone_who_is_being_asked(cluster: Cluster) -> None:
    await cluster.probe()
    before = snapshots(cluster)[0]
    clock_of(cluster).now = 2000.0
    refreshing = asyncio.create_task(cluster.refresh(60))
    await asyncio.sleep(0)
    assert snapshots(cluster)[0] == before, "what is known stays until there is an answer"
    await refreshing
    probing = replace(snapshots(cluster)[0], state=HostState.PROBING)
    cluster._known[probing.name] = probing
    clock_of(cluster).now = 3000.0
    await cluster.refresh(60)
    assert snapshots(cluster)[0] == probing


async def test_software_that_was_looked_for_is_not_forgotten(cluster: Cluster) -> None:
    sought = (Sought("python", "python3", "python"),)
    await cluster.probe_unknown(cluster.inventory.hosts[:1], sought)
    before = snapshots(cluster)[0].facts
    clock_of(cluster).now = 2000.0
    await cluster.refresh(60)
    after = snapshots(cluster)[0].facts
    assert before is not None
    assert after is not None
    assert after is not before
    assert (after.sought, after.software) == (sought, before.software)


async def test_software_is_looked_for_again_where_a_host_is_asked_by_hand(
    cluster: Cluster,
) -> None:
    first, other = (Sought("python", "python3", role) for role in ("python", "interpreter"))
    here = cluster.inventory.hosts[:1]
    await cluster.probe_unknown(here, [first])
    await cluster.probe_unknown(here, [other])
    await cluster.probe([here[0].name])
    facts = snapshots(cluster)[0].facts
    assert facts is not None
    assert set(facts.sought) == {first, other}
    assert facts.software


async def test_a_check_looks_for_the_software_of_its_plan_the_first_time_already(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.probe()
    sought = (Sought("python", "python3", "python"),)
    monkeypatch.setattr("backends.plan_preflight.sought_for", lambda _cases: sought)
    here = cluster.inventory.hosts[:1]
    plan = SimpleNamespace(job_keys={}, hosts=here, cases=(), selection=Selection(()))
    for _ in range(2):
        await plan_preflight(cluster, cast(Plan, plan), clock_of(cluster))
        facts = snapshots(cluster)[0].facts
        assert facts is not None
        assert facts.sought == sought
        assert facts.software


@pytest.mark.parametrize("busy", [True, False], ids=["busy", "held"])
async def test_a_host_that_was_in_use_is_asked_again_by_a_check_however_soon(
    cluster: Cluster, *, busy: bool
) -> None:
    """Whoever had it, a run of ours maybe, may have gone since."""
    await cluster.probe()
    found = snapshots(cluster)[0]
    assert found.facts is not None
    held = replace(found, facts=replace(found.facts, lease=Lease("root@vm, run r1", run_id="r1")))
    used = replace(found, state=HostState.BUSY, reason="GPU0 at 97%") if busy else held
    cluster._known[found.name] = used
    clock, here = clock_of(cluster), cluster.inventory.hosts[:1]
    clock.now += 1.0
    plan = SimpleNamespace(job_keys={}, hosts=here, cases=(), selection=Selection(()))
    said = await plan_preflight(cluster, cast(Plan, plan), clock)
    assert snapshots(cluster)[0].probed_at == clock.now
    assert not any("held" in one.what or "in use" in one.what for one in said)


async def test_a_host_is_watched_until_nobody_looks_any_more(cluster: Cluster) -> None:
    live = LiveTelemetry()
    name = cluster.inventory.hosts[0].name
    await cluster.watch(name, live.feed)
    assert not live.seen, "it was never looked at, and returns at once"
    await cluster.probe([name])
    watching = asyncio.create_task(cluster.watch(name, live.feed))
    await until(lambda: live.last(Figure.LOAD) is not None)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching


async def test_a_check_asks_the_hosts_of_its_plan_unless_they_have_just_answered(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.probe()
    clock, here = clock_of(cluster), cluster.inventory.hosts[:1]
    for passed, asked in ((FRESH_S - 1, False), (FRESH_S, True), (1.0, False), (80.0, True)):
        clock.now += passed
        before = snapshots(cluster)[0].probed_at
        plan = SimpleNamespace(job_keys={}, hosts=here, cases=(), selection=Selection(()))
        found = await plan_preflight(cluster, cast(Plan, plan), clock)
        assert (snapshots(cluster)[0].probed_at != before) is asked
        assert snapshots(cluster)[0].probed_at == (clock.now if asked else before)
        assert {finding.host for finding in found} == {here[0].name}
    assert snapshots(cluster)[1].probed_at == 1000.0, "it has no part in that plan"
    held = replace(snapshots(cluster)[0], probed_at=clock.now)
    assert held.facts is not None
    lease = Lease("bob@vm, campaign other", since=None)
    held = replace(held, facts=replace(held.facts, lease=lease))

    async def answered(*_: object, **__: object) -> AsyncIterator[HostSnapshot]:
        yield held

    monkeypatch.setattr("backends.hosts.probe.probe_all", answered)
    await cluster.probe([held.name])
    [said] = [f for f in await plan_preflight(cluster, cast(Plan, plan), clock) if "held" in f.what]
    assert (said.level, said.harmless) == (Level.WARN, True)
    assert "bob@vm, campaign other" in said.what
    assert said.remedy
    mine = Lease(f"{getpass.getuser()}@{cluster.login_host}, campaign c, run r", run_id="r")
    held = replace(held, facts=held.facts and replace(held.facts, lease=mine))
    await cluster.probe([held.name])
    [said] = [f for f in await plan_preflight(cluster, cast(Plan, plan), clock) if "held" in f.what]
    whose = f"another campaign of {cluster.person} (c, run r)"
    assert said.what == f"held by {whose}: runs wait for it"
    assert "ask them" not in said.remedy
