"""A plan on those of its hosts that preflight does not stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import AWAY, HostSnapshot
from backends.hosts.preflight_finding import Finding, Level
from profiles.errors import DlperfError


def without_stopped(
    plan: Plan,
    findings: Sequence[Finding],
    snapshots: Iterable[HostSnapshot],
    replan: Callable[[Selection], Plan],
) -> Plan | None:
    """The plan without the hosts that a finding stops, and without those that did not answer, which
    could only be waited for; it says which and why, and which cases that costs (``left_out``). The
    same where there are none.

    None where that leaves nothing to run, or what stops it is said of no host.
    """
    why = {snapshot.name: "did not answer" for snapshot in snapshots if snapshot.state in AWAY}
    for finding in findings:
        if finding.level == Level.STOP:
            why.setdefault(finding.host, finding.what)
    left = [host.name for host in plan.hosts if host.name not in why]
    if "" in why or not left:
        return None
    if len(left) == len(plan.hosts):
        return plan
    try:
        made = replan(replace(plan.selection, hosts=",".join(left)))
    except DlperfError:
        return None
    out = [f"{host.name}: {why[host.name]}" for host in plan.hosts if host.name in why]
    lost = {planned.case.key for planned in plan.cases}
    out += [
        f"{planned.profile.name} {planned.case.label}: {planned.infeasible}"
        for planned in made.refused
        if planned.case.key in lost
    ]
    return replace(made, left_out=(*plan.left_out, *out)) if made.cases else None


def stopped_last(plan: Plan, findings: Sequence[Finding]) -> Plan:
    """The same with the hosts that a finding stops behind the others: a run that is forced takes
    them when no other is free."""
    stopped = {finding.host for finding in findings if finding.level == Level.STOP}
    return replace(plan, hosts=tuple(sorted(plan.hosts, key=lambda host: host.name in stopped)))
