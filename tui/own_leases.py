"""Hosts as they are by now: what a probe found, and what the campaigns at work know since."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backends.campaign.record.run_state import RunState
from backends.hosts.host_condition import at_load, concerns, state_of
from backends.hosts.host_facts import AWAY, HostSnapshot, HostState, LoadOf
from backends.hosts.same_machine import by_machine
from backends.remote.lease import Lease
from backends.transports.transport import Problem
from profiles.durations import format_duration
from tui.run_names import names_in_each

if TYPE_CHECKING:
    from backends.campaign.record.run_record import RunRecord
    from backends.campaign.record.status_view import CampaignSnapshot


LATELY_S = 120.0
"""So long before a host was asked a run of ours may have made the load that it tells."""


class OwnLeases:
    """A probe is up to a minute old: by then the run that it met may have ended, and another one
    have the host. A snapshot is the same object as before while it says the same."""

    def __init__(self) -> None:
        self._called: Mapping[str, str] = {}
        self._made: dict[str, tuple[HostSnapshot, tuple[object, ...], HostSnapshot]] = {}

    def of(
        self,
        hosts: Iterable[HostSnapshot],
        campaigns: Sequence[CampaignSnapshot],
        now: float | None = None,
    ) -> tuple[HostSnapshot, ...]:
        """``campaigns``: those that tell what becomes of their runs. ``now``: seconds since the
        epoch, by the clock of the probes; None: how long ago something was is not told."""
        hosts = tuple(hosts)
        if not campaigns:
            return hosts
        runs = _runs_of(campaigns)
        self._called = names_in_each(campaigns)
        oldest = min((host.probed_at or 0.0 for host in hosts), default=0.0)
        there: dict[str, list[str]] = {}
        for run in runs.values():
            if run.state.active or (run.ended_at is not None and run.ended_at >= oldest - LATELY_S):
                for name in run.hosts:
                    there.setdefault(name, []).append(run.run_id)
        boots = ((host.name, host.facts.boot_id if host.facts else "") for host in hosts)
        beside = {
            name: [run_id for other in names if other != name for run_id in there.get(other, ())]
            for names in by_machine(boots)
            for name in names
        }
        return tuple(
            self._of(host, there.get(host.name, ()), beside[host.name], runs, now) for host in hosts
        )

    def _of(
        self,
        host: HostSnapshot,
        there: Iterable[str],
        beside: Iterable[str],
        runs: Mapping[str, RunRecord],
        now: float | None,
    ) -> HostSnapshot:
        """``there``: the runs that are there, or were when it was asked or since; ``beside``: on
        its machine under other names."""
        known = tuple(runs[name] for name in dict.fromkeys((*there, *_met(host))) if name in runs)
        lost = _lost(host, known, now)
        if host.state in AWAY or lost:
            known = tuple(run for run in known if run.state.active)
        others = tuple(runs[run_id] for run_id in dict.fromkeys(beside))
        if not (known or others) or host.partitions:
            return host
        seen, of_these, made = self._made.get(host.name, (None, (), host))
        if seen is not host or of_these != (lost, known, others):
            made = _with_load(host, (*known, *others))
            if known and not lost and host.state not in AWAY:
                made = _as_of_now(made, known)
            elif known:
                called = self._called.get(known[0].run_id, known[0].run_id)
                away = _out_of_reach(host, lost) if lost else host
                made = replace(
                    away, reason=f"our run {called} is on it; {away.reason or 'no answer'}"
                )
            self._made[host.name] = (host, (lost, known, others), made)
        return made


def _runs_of(campaigns: Sequence[CampaignSnapshot]) -> Mapping[str, RunRecord]:
    """By run id."""
    return {run_id: run for one in campaigns for run_id, run in one.state.runs.items()}


def back_again(hosts: Iterable[HostSnapshot], campaigns: Sequence[CampaignSnapshot]) -> set[str]:
    """Those that were out of reach when they were asked, and that a campaign at work has been in
    touch with since."""
    there: set[str] = set()
    asked = {h.name: h.probed_at or 0.0 for h in hosts if h.state is HostState.UNREACHABLE}
    for run in _runs_of(campaigns).values() if asked else ():
        touched = run.state is RunState.RUNNING and not run.collecting
        for name in run.hosts:
            since = run.ended_at if run.state is RunState.SUCCEEDED else run.launched_at
            told = since is not None and since > asked.get(name, math.inf)
            if name in asked and name not in run.lost_hosts and (touched or told):
                there.add(name)
    return there


def left_since(hosts: Iterable[HostSnapshot], campaigns: Sequence[CampaignSnapshot]) -> set[str]:
    """Those that a run of ours has left since they were asked, and that no other one has."""
    left: set[str] = set()
    taken: set[str] = set()
    asked = {host.name: host.probed_at for host in hosts if host.probed_at is not None}
    for run in _runs_of(campaigns).values():
        if run.state.active:
            taken.update(run.hosts)
        elif run.ended_at is not None:
            end = run.ended_at
            left.update(name for name in run.hosts if end >= asked.get(name, math.inf))
    return left - taken


def _lost(host: HostSnapshot, known: Iterable[RunRecord], now: float | None) -> str:
    """Since when the campaign has no contact, in words; empty where it has, or where the
    host was asked later than that."""
    for run in known if host.state not in AWAY else ():
        since, reason = run.lost_hosts.get(host.name, (-math.inf, ""))
        if run.state.active and since >= (host.probed_at or 0.0):
            ago = "" if now is None else f" {format_duration(max(0.0, now - since))} ago"
            return f"{reason or Problem.LOST}{ago}"
    return ""


def _out_of_reach(host: HostSnapshot, reason: str) -> HostSnapshot:
    """As a probe would have it."""
    return HostSnapshot(
        host.name,
        host.address,
        HostState.UNREACHABLE,
        reason,
        slots=host.slots,
        probed_at=host.probed_at,
        seen=host if host.tells else host.seen,
        told_now=True,
    )


def _with_load(host: HostSnapshot, on_machine: Iterable[RunRecord]) -> HostSnapshot:
    """With what of ours may have made its load, by the runs of its machine."""
    asked, load_of = host.probed_at or 0.0, LoadOf.ANYBODY
    for run in on_machine:
        if run.launched_at is None or run.launched_at >= asked:
            continue
        if run.state.active:
            load_of = LoadOf.RUN
        elif asked - (run.ended_at or 0.0) < LATELY_S and load_of is not LoadOf.RUN:
            load_of = LoadOf.ENDED
    if host.facts is None or load_of is host.facts.load_of:
        return host
    return at_load(host, replace(host.facts, load_of=load_of))


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
    had = [run for run in over.values() if (run.launched_at or asked) < asked]
    lease = host.lease
    lately = [r for r in known if r.state.ended and 0 <= asked - (r.ended_at or 0) < LATELY_S]
    # Of one that had just ended and left nothing the host met the lease on its way out.
    released = {*over, *(run.run_id for run in lately if not run.cleanup.doubts)}
    if lease is not None and (lease.run_id in released or not lease.by_a_run):
        # Where no note could be left the host cannot tell whose lease it is.
        lease = None if lease.run_id in released or had else lease
    # A run that was started has it, whoever did when the host was asked.
    if there and (lease is None or any(run.launched_at is not None for run in there)):
        lease = Lease(f"run {there[0].run_id}", run_id=there[0].run_id)
    left = tuple(p for p in host.facts.gpu_processes if p.run_id not in over)
    facts = replace(host.facts, lease=lease, gpu_processes=left)
    outdated = ""
    if facts.of_a_moment and any(run.launched_at and run.launched_at >= asked for run in there):
        outdated = "before our run began"
    elif facts.of_a_moment and had:
        outdated = "before our run ended"
    judged = facts.without_load(warm=True) if outdated else facts
    facts = facts.without_load() if outdated else facts
    ours = [run.run_id for run in there]
    our_gpus = {gpu for run in there for gpu in run.devices_on(host.name)}
    alone = concerns(host.facts)
    state, reason = host.state, host.reason
    if state is not HostState.PROBING:
        state, reason = state_of(judged, ours=ours)
    return replace(
        host,
        state=state,
        reason=reason,
        facts=facts,
        concerns=(
            *concerns(judged, ours=ours, our_gpus=our_gpus),
            # More may be known of it than its facts tell.
            *(concern for concern in host.concerns if concern not in alone),
        ),
        outdated=outdated,
        told_now=lease is not host.lease,
    )
