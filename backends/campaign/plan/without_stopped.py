"""A plan without the hosts and profiles that preflight stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import AWAY, HostSnapshot
from backends.hosts.preflight_finding import Finding, Level
from profiles.errors import DlperfError
from profiles.format.case import read_key


def without_stopped(
    plan: Plan,
    findings: Sequence[Finding],
    snapshots: Iterable[HostSnapshot],
    replan: Callable[[Selection], Plan],
) -> Plan | None:
    """The plan without the profiles that a finding stops on every host while another has one, then
    without the hosts that a finding stops, and without those that did not answer, which could only
    be waited for; it says which and why, and which cases that costs (``left_out``). The same where
    there are none.

    None where that leaves nothing to run, or what stops it is said of no host.
    """
    away = {snapshot.name: "did not answer" for snapshot in snapshots if snapshot.state in AWAY}
    names = plan.profile_names
    stops = {name: _stopped(findings, [name]) for name in names}
    hosts = {host.name for host in plan.hosts}
    kept = [name for name in names if "" not in stops[name] and hosts - {*stops[name], *away}]
    why = {**_stopped(findings, kept), **away}
    left = [host.name for host in plan.hosts if host.name not in why]
    if not kept or not left:
        return None
    if (len(kept), len(left)) == (len(names), len(plan.hosts)):
        return plan
    try:
        made = replan(_narrowed(plan.selection, kept, left))
    except DlperfError:
        return None
    out = [f"{host.name}: {why[host.name]}" for host in plan.hosts if host.name in why]
    out += [
        f"every case of {name}: {'; '.join(dict.fromkeys(stops[name].values()))}"
        for name in names
        if name not in kept
    ]
    lost = {planned.case.key for planned in plan.cases}
    out += [
        f"{planned.profile.name} {planned.case.label}: {planned.infeasible}"
        for planned in made.refused
        if planned.case.key in lost
    ]
    return replace(made, left_out=(*plan.left_out, *out)) if made.cases else None


def _stopped(findings: Sequence[Finding], profiles: Sequence[str]) -> dict[str, str]:
    """What first stops runs of these, by host."""
    stops = [one for one in findings if one.level == Level.STOP and one.of_any(profiles)]
    return {one.host: one.what for one in reversed(stops)}


def _narrowed(selection: Selection, profiles: Sequence[str], hosts: Sequence[str]) -> Selection:
    """The same of these profiles on these hosts; a value of another profile alone is none of it."""
    others = set(selection.profiles) - set(profiles)
    return replace(
        selection,
        profiles=tuple(profiles),
        hosts=",".join(hosts),
        picked=tuple(key for key in selection.picked if read_key(key)[0] not in others),
        values={
            name: value
            for name, value in selection.values.items()
            if name.rpartition(":")[0] not in others
        },
    )


def stopped_last(plan: Plan, findings: Sequence[Finding]) -> Plan:
    """The same with the hosts that a finding stops behind the others: a run that is forced takes
    them when no other is free."""
    stopped = {finding.host for finding in findings if finding.level == Level.STOP}
    return replace(plan, hosts=tuple(sorted(plan.hosts, key=lambda host: host.name in stopped)))
