"""Hosts as they are by now: what a probe found, and what the campaign at work knows since."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from backends.campaign.record.run_state import RunState
from backends.hosts.host_condition import concerns, state_of
from backends.hosts.host_facts import AWAY, HostSnapshot, HostState
from backends.remote.lease import Lease

if TYPE_CHECKING:
    from backends.campaign.record.run_record import RunRecord
    from backends.campaign.record.status_view import CampaignSnapshot


class OwnLeases:
    """A probe is up to a minute old: by then the run that it met may have ended, and another one
    have the host. A snapshot is the same object as before while it says the same."""

    def __init__(self) -> None:
        self._called: Mapping[str, str] = {}
        self._made: dict[str, tuple[HostSnapshot, tuple[RunRecord, ...], HostSnapshot]] = {}

    def of(
        self, hosts: Iterable[HostSnapshot], live: CampaignSnapshot | None
    ) -> tuple[HostSnapshot, ...]:
        """``live``: the campaign at work; None: none is."""
        hosts = tuple(hosts)
        if live is None:
            return hosts
        runs = live.state.runs
        self._called = {run.run_id: run.label for run in live.runs}
        oldest = min((host.probed_at or 0.0 for host in hosts), default=0.0)
        there: dict[str, list[str]] = {}
        for run in runs.values():
            if run.state.active or (run.ended_at is not None and run.ended_at >= oldest):
                for name in run.hosts:
                    there.setdefault(name, []).append(run.run_id)
        return tuple(self._of(host, there.get(host.name, ()), runs) for host in hosts)

    def _of(
        self, host: HostSnapshot, there: Iterable[str], runs: Mapping[str, RunRecord]
    ) -> HostSnapshot:
        """``there``: the runs that are there, or were when it was asked or since."""
        known = tuple(runs[name] for name in dict.fromkeys((*there, *_met(host))) if name in runs)
        if host.state in AWAY:
            known = tuple(run for run in known if run.state.active)
        if not known or host.partitions:
            return host
        seen, of_these, made = self._made.get(host.name, (None, (), host))
        if seen is not host or of_these != known:
            called = self._called.get(known[0].run_id, known[0].run_id)
            away = replace(host, reason=f"our run {called} is on it; {host.reason or 'no answer'}")
            made = away if host.state in AWAY else _as_of_now(host, known)
            self._made[host.name] = (host, known, made)
        return made


def back_again(hosts: Iterable[HostSnapshot], live: CampaignSnapshot | None) -> set[str]:
    """Those that were out of reach when they were asked, and that the campaign at work has been in
    touch with since."""
    there: set[str] = set()
    asked = {h.name: h.probed_at or 0.0 for h in hosts if h.state is HostState.UNREACHABLE}
    for run in live.state.runs.values() if live is not None and asked else ():
        touched = run.state is RunState.RUNNING and not run.collecting
        for name in run.hosts:
            since = run.ended_at if run.state is RunState.SUCCEEDED else run.launched_at
            told = since is not None and since > asked.get(name, math.inf)
            if name in asked and name not in run.lost_hosts and (touched or told):
                there.add(name)
    return there


def _met(host: HostSnapshot) -> Iterable[str]:
    """The runs that the probe met there."""
    if host.facts is not None:
        yield from (process.run_id for process in host.facts.gpu_processes if process.run_id)
    if host.lease is not None and host.lease.run_id:
        yield host.lease.run_id


def _as_of_now(host: HostSnapshot, known: Iterable[RunRecord]) -> HostSnapshot:
    """``known``: the runs of ours that are there, or were when it was asked or since."""
    if host.facts is None:
        return host
    asked = host.probed_at or 0.0
    over = {run.run_id: run for run in known if run.state.ended and (run.ended_at or 0) >= asked}
    there = [run for run in known if run.state.active]
    lease = host.lease
    if lease is not None and (lease.run_id in over or not lease.by_a_run):
        # Where no note could be left the host cannot tell whose lease it is.
        had = [run for run in over.values() if (run.launched_at or asked) < asked]
        lease = None if lease.run_id in over or had else lease
    # A run that was started has it, whoever did when the host was asked.
    if there and (lease is None or any(run.launched_at is not None for run in there)):
        lease = Lease(f"run {there[0].run_id}", run_id=there[0].run_id)
    left = tuple(p for p in host.facts.gpu_processes if p.run_id not in over)
    facts = replace(host.facts, lease=lease, gpu_processes=left)
    ours = [run.run_id for run in there]
    state, reason = host.state, host.reason
    if state is not HostState.PROBING:
        state, reason = state_of(facts, ours=ours)
    return replace(
        host, state=state, reason=reason, facts=facts, concerns=concerns(facts, ours=ours)
    )
