"""A plan in few words: how long, at what price, on which hosts; and whether it needs a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from backends.campaign.plan.cost_estimate import PlanPrice, plan_price
from backends.campaign.plan.plan import RUN, STAND_IN_PORT, Basis, Plan
from backends.engines.engine import HELD_BY
from backends.hosts.host_condition import busy_reason, host_findings
from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from backends.hosts.preflight_finding import Finding, Level, gpus_unjudged
from backends.inventory.nodesets import ranked_nodeset
from backends.results.gpu_time import device_time
from profiles.counted import counted, first_of
from profiles.durations import format_duration
from profiles.format.profile import Profile
from tui.backend_protocols import DryRun
from tui.text import age_text, number, plain

UNKNOWN_TIME = "nobody knows how long they take"
READING_PAST = "reading past results …"
SHORT_S = 60.0
"""A plan that takes no longer than this starts without a question when preflight finds nothing."""


def why_not_short(plan: Plan) -> str | None:
    """Why it is looked at before it starts, "" where its own totals say that; None: it is short, by
    what was measured and by the profiles alone: past times may be from anybody's campaign, and are
    no reason to ask nothing."""
    if plan.selection.auto is not None:  # nobody knows how long they will go on
        return ""
    said, own = plan.expected_s, plan.by_profile.expected_s
    if said is None or own is None:
        return "nobody knows how long it takes"
    if said <= SHORT_S < own:
        return f"by its profile alone it may take {format_duration(own)}"
    return None if said <= SHORT_S else ""


def same_runs(one: Plan | None, other: Plan | None) -> bool:
    """Whether both run the same, whatever was found out of how long it takes."""
    if one is None or other is None:
        return one is other
    return one is other or one.by_profile == other.by_profile


def objections(findings: Sequence[Finding]) -> list[Finding]:
    """What is worth a question: a warning may cost the results their grade."""
    return [finding for finding in findings if finding.level != "ok"]


def least(plan: Plan) -> str:
    """ "at least ", of what a plan takes whose repeats go on until it is known; else empty."""
    return "at least " * (plan.selection.auto is not None)


def about(plan: Plan) -> str:
    """ "at least " of such a plan, else "about "."""
    return least(plan) or "about "


def plan_totals(plan: Plan) -> str:
    """ "4 cases, 12 runs on any of node[1-4], ≈ 40m by the profile's estimate, about 12.5
    GPU-hours, costs 31.25 to 50", "at least ≈ 40m"; what rests on measurements says that behind
    the price."""
    expected = UNKNOWN_TIME
    if plan.expected_s:
        expected = f"{least(plan)}≈ {format_duration(plan.expected_s)}"
    if plan.expected_s and all(planned.basis is Basis.PROFILE for planned in plan.cases):
        several = len({planned.profile.name for planned in plan.cases}) > 1
        expected += " by the profiles' estimates" if several else " by the profile's estimate"
    cases, runs = counted(len(plan.cases), "case"), counted(plan.run_count, "run")
    profiled = f" + {len(plan.profiled)} profiled" if plan.profiled else ""
    most = max((planned.case.nodes for planned in plan.cases), default=0)
    there = answering(plan)
    any_of = "any of " if len(there) > most else ""
    hosts = ranked_nodeset(there)
    totals = f", {expected}, {price_text(plan)}" if plan.cases else ""
    return f"{cases}, {runs}{profiled} on {any_of}{hosts}{totals}"


def answering(plan: Plan) -> list[str]:
    """Its hosts without those that did not answer when it was made; all where none did."""
    there = {host.name for host in plan.capacities}
    every = [host.name for host in plan.hosts]
    return [name for name in every if name in there] or every


def forced_hosts(plan: Plan) -> str:
    """What a start in spite of preflight goes on with: "all", "node[1-2]" where others are away."""
    there = answering(plan)
    return "all" if len(there) == len(plan.hosts) else ranked_nodeset(there)


def unjudged_gpus(plan: Plan) -> str:
    """``preflight does not judge GPUs: cpu-smoke uses none``; empty where there are none, or where
    a profile uses them."""
    profiles = dict.fromkeys(one.profile.name for one in plan.cases)
    if not any(host.gpus for host in plan.capacities) or not profiles:
        return ""
    if not all(one.profile.on_cpus for one in plan.cases):
        return ""
    return gpus_unjudged([*profiles])


def stand_ins(runs: Iterable[DryRun]) -> dict[str, str]:
    """What stands in their commands for what is known only when they start, and for what."""
    named = {
        RUN: "the run's id, which it gets with its campaign",
        str(STAND_IN_PORT): "a free port, which is chosen when the run starts",
    }
    commands = [command for run in runs for command in run.commands]
    return {
        name: words
        for name, words in named.items()
        if any(re.search(rf"\b{name}\b", command) for command in commands)
    }


def stand_in_lines(runs: Iterable[DryRun]) -> list[str]:
    return [f"{name} stands for {words}" for name, words in stand_ins(runs).items()]


def price_text(plan: Plan) -> str:
    """ "about 12.5 GPU-hours, costs 31.25 to 50", "about 11 device-minutes"; "at least": repeats go
    on until it is known."""
    price = plan_price(plan)
    device = device_word(
        [planned.profile for planned in plan.cases], [one.gpus for one in plan.capacities]
    )
    if price is None:
        return f"an unknown number of {device}-hours"
    bases = {planned.basis for planned in plan.cases}
    source = f", {estimate_source(bases)}" if bases - {Basis.PROFILE} else ""
    return f"{about(plan)}{device_time(price.device_hours, device)}{_cost(price)}{source}"


def device_word(profiles: Iterable[Profile], hosts: Sequence[object]) -> str:
    """ "GPU" where all of them can be on nothing else, or use what there is and every host has
    GPUs; else "device". ``hosts``: the GPUs of each, or how many."""
    gpus = bool(hosts) and all(hosts)
    only = (one.devices == "gpu" or (gpus and not one.on_cpus) for one in profiles)
    return "GPU" if all(only) else "device"


def estimate_source(bases: Collection[Basis]) -> str:
    """ "as measured", "partly by other cases": the best of what an estimate of cases rests on."""
    best = next(basis for basis in Basis if basis in bases)
    return f"{'partly ' * (len(bases) > 1)}{best}"


def _cost(price: PlanPrice) -> str:
    if price.cost is None:
        return ""
    low, high = (number(value, 2) for value in price.cost)
    return f", costs {low}" if low == high else f", costs {low} to {high}"


PLACES_IN_PLAN = "the number of a run is its place in the plan; listed as they start"
MAY_CHANGE = "what runs take, as it is measured, may change their order and hosts"
"""Of a plan, which is by what they are expected to take."""

NOT_COUNTED: Mapping[HostState, str] = {
    HostState.UNREACHABLE: "away",
    HostState.OFFLINE: "offline",
    HostState.UNKNOWN: "not asked yet",
    HostState.PROBING: "asked now",
}


HELD, BUSY, BROKEN = "held", "busy", "broken"
TO_BE_STOPPED, STOPPED = "to be stopped by preflight", "stopped by preflight"
_STOPPED = frozenset({BUSY, BROKEN, TO_BE_STOPPED, STOPPED})
"""States of hosts that preflight stops; the others are waited for."""


def hosts_text(states: Mapping[str, str]) -> str:
    """ "3 hosts", "2 of 3 hosts": those that can take a run as far as is known, of the plan's; of
    :func:`host_states`."""
    usable = sum(not state for state in states.values())
    every = counted(len(states), "host")
    return every if usable == len(states) else f"{usable} of {every}"


def usable_text(states: Mapping[str, str]) -> str:
    """ "2 of 3 hosts can be used now", "no host can be used now"; empty where all can."""
    usable = sum(not state for state in states.values())
    if usable == len(states):
        return ""
    return f"{hosts_text(states) if usable else 'no host'} can be used now"


def expected_on(plan: Plan, states: Mapping[str, str]) -> float | None:
    """Wall time on the hosts of :func:`host_states` that can take a run, in seconds; None where
    nobody knows, or where some case needs more than these."""
    used = tuple(host for host in plan.capacities if not states.get(host.name))
    if len(used) == len(plan.capacities):
        return plan.expected_s
    return replace(plan, capacities=used).expected_s


def time_text(
    plan: Plan, states: Mapping[str, str], foreseen: Mapping[str, str] | None = None
) -> str:
    """ "59s", as :func:`expected_on`; "41s with node3 too" where the others cannot take every case,
    of those that the plan's time is by, "41s" where no host can be used for now; "" where nobody
    knows. Those that preflight stops are counted only where the plan cannot do without them, and
    first those that it was not ``foreseen`` to stop, by the states before it was made."""
    if (seconds := expected_on(plan, states)) is not None:
        return format_duration(seconds)
    stopped, foreseen_stops = (
        {name: said.get(name, "") * (said.get(name) in _STOPPED) for name in states}
        for said in (states, foreseen or {})
    )
    for left_out in (stopped, foreseen_stops, dict.fromkeys(states, "")):
        if (seconds := expected_on(plan, left_out)) is not None:
            counted_too = (name for name, state in states.items() if state and not left_out[name])
            too = _planned_with(plan, counted_too) if "" in states.values() else ()
            return waiting_time(seconds, too, alone=False)
    return ""


def waiting_time(seconds: float, names: Sequence[str], *, alone: bool) -> str:
    """ "41s with node3 too", of hosts that no run can go to now; "41s on node3" where there are no
    others, "41s" without any."""
    where = "" if not names else " on {}" if alone else " with {} too"
    return format_duration(seconds) + where.format(plain(ranked_nodeset(names)))


def _planned_with(plan: Plan, names: Iterable[str]) -> list[str]:
    """Those of which the plan makes use: not of one that was out of reach when it was made."""
    used = {host.name for host in plan.capacities}
    return [name for name in names if name in used]


def not_counted(states: Mapping[str, str]) -> str:
    """ "node3 busy, node[4-5] away": the other hosts of the plan; of :func:`host_states`."""
    others: dict[str, list[str]] = {}
    for name, state in states.items():
        if state:
            others.setdefault(state, []).append(name)
    return ", ".join(f"{plain(ranked_nodeset(names))} {state}" for state, names in others.items())


def host_states(
    plan: Plan, snapshots: Iterable[HostSnapshot], findings: Sequence[Finding] | None = None
) -> dict[str, str]:
    """Every host of the plan, and why no run can go there now; "" where one can.

    ``findings``: of preflight, where it was made; without it, what the hosts' facts say.
    """
    return {name: state for name, (state, _) in _standing(plan, snapshots, findings).items()}


def is_of_campaigns(state: str) -> bool:
    """A campaign at work may know better of that state, of :func:`host_states`, than a probe."""
    return state in (HELD, NOT_COUNTED[HostState.UNREACHABLE])


def able_alone(
    plan: Plan, snapshots: Iterable[HostSnapshot], findings: Sequence[Finding] | None = None
) -> dict[str, list[str]]:
    """Of several profiles those that some host can take now if they start without the others, and
    which hosts; of hosts and findings as :func:`host_states` has them."""
    names = plan.profile_names
    able = {}
    for name in names if len(names) > 1 else ():
        alone = replace(plan, cases=tuple(one for one in plan.cases if one.profile.name == name))
        found = findings and [one for one in findings if one.of_any([name])]
        states = host_states(alone, snapshots, found)
        if there := [host.name for host in plan.hosts if not states.get(host.name, "unknown")]:
            able[name] = there
    return able


def alone_words(plan: Plan, alone: Mapping[str, Sequence[str]]) -> str:
    """What to do where no host takes all of it, of :func:`able_alone`: "cpu-smoke alone could start
    on node[1-3]: unmark torch-resnet50"; empty where nothing could."""
    could = "; ".join(
        f"{name} alone could start on {ranked_nodeset(alone[name])}" for name in alone
    )
    others = [name for name in plan.profile_names if name not in alone]
    unmark = ", ".join(others) if len(alone) == 1 else "the others"
    return f"{could}: unmark {unmark}" if could else ""


def left_words(plan: Plan, without: Plan) -> str:
    """Where the plan goes on ``without`` what stops it: "node[1-3] alone", "node[1-3], with
    cpu-smoke alone" where a profile is left out."""
    there = ranked_nodeset([host.name for host in without.hosts])
    kept = without.profile_names
    fewer = len(kept) < len(plan.profile_names)
    return f"{there}, with {first_of(kept, 3)} alone" if fewer else f"{there} alone"


def why_not_without(findings: Iterable[Finding]) -> str:
    """Of a plan that cannot go on without what stops it."""
    of_all = any(one.level == Level.STOP and not one.host for one in findings)
    return "what stops it is of no host" if of_all else "too few hosts would be left"


OF_NOW_S = 30.0
"""What a host said before that it said some time ago."""


def unfit_lines(
    plan: Plan,
    snapshots: Iterable[HostSnapshot],
    findings: Sequence[Finding] | None = None,
    age_s: Callable[[HostSnapshot], float | None] | None = None,
) -> list[str]:
    """Which hosts of the plan no run can go to now, and why, though it has runs there; and which
    cases need more than the others. As :func:`host_states`; a queue knows better of its own.
    ``age_s``: how old what a host said is, by whose clock it is told; None: it was asked for
    this."""
    probed = [host for host in snapshots if not host.partitions and host.state not in _UNASKED]
    standing = _standing(plan, probed, findings)
    unfit: dict[str, list[str]] = {}
    for name, (state, why) in standing.items():
        if state:
            unfit.setdefault(why, []).append(name)
    if not unfit:
        return []
    ages = {
        host.name: age_s(host) or 0.0
        for host in probed
        if age_s is not None and host.name in standing
        if not (host.told_now and is_of_campaigns(standing[host.name][0]))
    }
    lines = []
    for why, names in unfit.items():
        age = max(ages.get(name, 0.0) for name in names)
        when = "now" if age < OF_NOW_S else f"as of {age_text(age)} ago"
        lines.append(f"{ranked_nodeset(names)} cannot be used {when}: {why}")
    left = len(plan.hosts) - sum(map(len, unfit.values()))
    for nodes in sorted({case.case.nodes for case in plan.cases if case.case.nodes > left}):
        tags = dict.fromkeys(one.case.tag for one in plan.cases if one.case.nodes == nodes)
        needs = "needs" if len(tags) == 1 else "need"
        lines.append(f"{', '.join(tags)} {needs} {counted(nodes, 'host')}, {left} can be used now")
    return lines


def usable_now(
    plan: Plan, snapshots: Iterable[HostSnapshot], findings: Sequence[Finding] | None = None
) -> tuple[Plan, str]:
    """The plan on those of its hosts that can take a run now, as :func:`expected_on`, and which
    others are left out of it; of hosts and findings as :func:`unfit_lines` has them.

    The same plan where all can, and where some case needs more than these; a line says that.
    """
    probed = [host for host in snapshots if not host.partitions and host.state not in _UNASKED]
    unfit = [name for name, why in host_states(plan, probed, findings).items() if why]
    if not unfit:
        return plan, ""
    left = replace(
        plan,
        hosts=tuple(host for host in plan.hosts if host.name not in unfit),
        capacities=tuple(host for host in plan.capacities if host.name not in unfit),
    )
    them = ranked_nodeset(unfit)
    if not all(left.idle_hosts(planned) for planned in left.cases):
        used = _planned_with(plan, unfit)
        rest = ranked_nodeset([name for name in unfit if name not in used])
        without = f", and leave out {rest}" * bool(rest)
        as_if = f"as if {ranked_nodeset(used)} could be used{without}"
        return plan, f"times and hosts of the runs are {as_if}"
    return left, f"times and hosts of the runs leave out {them}"


def keys_line(plan: Plan, without: Plan | None, shown: Plan) -> str:
    """What Enter comes to where preflight stops some host: of the start dialog's keys that which
    goes on ``without`` it, if one can, and that which does not; which of them runs on the hosts of
    the plan that is ``shown`` is said."""
    named = [host.name for host in shown.hosts]
    more = "; preflight may find more"
    every = ", as here" * (named in (answering(plan), [host.name for host in plan.hosts]))
    them = plain(forced_hosts(plan))
    if without is None:
        return f"Enter asks first; F starts with {them}{' hosts' * (them == 'all')}{every}{more}"
    hosts = [host.name for host in without.hosts]
    fewer = without.run_count < plan.run_count
    of = f" ({without.run_count} of {plan.run_count} runs)" if fewer else ""
    alone = ", as here" * (not every and named == hosts)
    there = plain(left_words(plan, without))
    return f"Enter asks first: x goes on with {there}{of}{alone}, F with {them}{every}{more}"


def host_lines(
    plan: Plan,
    snapshots: Iterable[HostSnapshot],
    findings: Sequence[Finding],
    narrowed: str,
    of_used: Sequence[Finding],
    age_s: Callable[[HostSnapshot], float | None] | None = None,
) -> list[str]:
    """Of a dry-run: what is said of its hosts together, as that they differ or are one machine;
    what preflight warns of each; :func:`unfit_lines`; and ``narrowed``, of :func:`usable_now`.
    ``of_used``: findings of the plan that that gives, on the hosts which the runs are shown on."""
    together = (one for one in of_used if not one.host and one.level == Level.WARN)
    lines = [f"{one.what}; {one.remedy}" for one in together]
    of_host: dict[str, list[str]] = {}
    for one in of_used:
        if one.host and one.level == Level.WARN:
            of_host.setdefault(one.host, []).append(one.what)
    alike: dict[str, list[str]] = {}
    for host, warned in of_host.items():
        alike.setdefault("; ".join(warned), []).append(host)
    lines += [f"{ranked_nodeset(hosts)}: {warned}" for warned, hosts in alike.items()]
    return [*lines, *unfit_lines(plan, snapshots, findings, age_s), *[narrowed] * bool(narrowed)]


_UNASKED = (HostState.UNKNOWN, HostState.PROBING)


def _standing(
    plan: Plan, snapshots: Iterable[HostSnapshot], findings: Sequence[Finding] | None
) -> dict[str, tuple[str, str]]:
    """Of every host of the plan its state as in :func:`host_states`, and the reason."""
    planned = {host.name for host in plan.hosts}
    on_cpus = all(case.profile.on_cpus for case in plan.cases)
    gpus_needed = any(case.profile.devices == "gpu" for case in plan.cases)
    states: dict[str, tuple[str, str]] = {}
    for snapshot in snapshots:
        name, facts = snapshot.name, snapshot.facts
        if name not in planned:
            continue
        state = NOT_COUNTED.get(snapshot.state, "")
        states[name] = (state, snapshot.reason or state)
        if facts is not None and not state:
            facts = facts.without_gpus() if on_cpus else facts
            found = findings
            if found is None:
                found = host_findings(name, facts, gpus_needed=gpus_needed)
            stops = [f.what for f in found if f.host == name and f.level == Level.STOP]
            if stops:
                states[name] = (_unfit(facts, foreseen=findings is None), "; ".join(stops))
            elif facts.lease is not None:
                states[name] = (HELD, f"{HELD_BY}{facts.lease}")
    return states


def _unfit(facts: HostFacts, *, foreseen: bool) -> str:
    if busy_reason(facts):
        return BUSY
    if facts.gpu_problem:
        return BROKEN
    return TO_BE_STOPPED if foreseen else STOPPED
