"""The start in words: what would run, what it takes, and what preflight found, host by host."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.text import Text

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.remarks import plan_remarks
from backends.hosts.host_facts import AWAY, HostSnapshot
from backends.hosts.preflight_finding import Finding
from backends.inventory.nodesets import ranked_nodeset
from profiles.counted import counted, first_of
from profiles.durations import format_duration
from profiles.format.case import GLOBAL_BATCH, in_order
from tui.plan_words import (
    READING_PAST,
    about,
    alone_words,
    expected_on,
    not_counted,
    price_text,
    time_text,
    unjudged_gpus,
    waiting_time,
)
from tui.text import plain
from tui.theme import BAD, GOOD, MUTED, WARN

ORDER = ("stop", "away", "warn", "ok")

_LEVELS = {
    "stop": ("✗", BAD),
    "away": ("–", MUTED),
    "warn": ("▲", WARN),
    "ok": ("✓", GOOD),
}


def totals_text(
    plan: Plan,
    states: Mapping[str, str],
    foreseen: Mapping[str, str] | None = None,
    *,
    reading: bool = False,
    told: Callable[[Mapping[str, str]], str] = not_counted,
    alone: Mapping[str, Sequence[str]] | None = None,
) -> Text:
    """What the plan comes to, and where it can run; ``states``: of its hosts, ``foreseen``: before
    preflight. ``told``: what is said of the hosts that are not counted. ``reading``: past results,
    so that nobody knows how long. ``alone``: of :func:`~tui.plan_words.able_alone`."""
    rule = plan.selection.auto
    text = Text(end="")
    text.append(f"{counted(plan.run_count, 'run')}{' first' if rule else ''}", "bold")
    if plan.profiled:
        text.append(f" + {len(plan.profiled)} profiled", "bold")
    if reading:
        text.append(f" · {READING_PAST}\n", MUTED)
    else:
        if taken := time_text(plan, states, foreseen):
            text.append(f" · {about(plan)}{taken}")
        text.append(f" · {price_text(plan)}\n")
    there = [host.name for host in plan.hosts if not states.get(host.name)]
    any_of = "any of " if len(there) > max(planned.case.nodes for planned in plan.cases) else ""
    nowhere = "on no host for now"
    if words := alone_words(plan, alone or {}):
        nowhere = f"no host takes all of it for now, {plain(words)}"
    text.append(f"on {any_of}{_names(there)}" if there else nowhere, MUTED)
    able = set(itertools.chain(*(alone or {}).values()))  # stopped for the others alone
    if others := told({name: why for name, why in states.items() if name not in able}):
        text.append(f"; {others}", WARN)
    text.append("\n")
    for remark in plan_remarks(plan):
        text.append(f"▲ {plain(remark)}\n", WARN)
    if unjudged := unjudged_gpus(plan):
        text.append(f"{plain(unjudged)}\n", MUTED)
    return text


def cases_text(plan: Plan) -> Text:
    """Every profile of the plan with its cases, those of the same parameters in one line, and their
    repeats."""
    rule = plan.selection.auto
    most = "" if rule is None else f" to {rule.max_repeats}"
    by_profile: dict[str, dict[str, list[str]]] = {}
    for planned in plan.cases:
        case, own = planned.case, ""
        names = in_order(case.parameters)
        if GLOBAL_BATCH in names:  # the batch of each device follows from it
            names.remove("batch_size")
            own = f" {case.value_label('batch_size')},"
        values = [case.value_label(name) for name in names]
        what = " ".join([*values, f"× {planned.repeats}{most}"])
        tags = by_profile.setdefault(planned.profile.name, {}).setdefault(what, [])
        tags.append(f"{case.tag}{own}")
    text = Text(end="")
    for name, groups in by_profile.items():
        text.append(f"{plain(name)}\n", "bold")
        for what, tags in groups.items():
            text.append(f"  {plain(what)}: ", MUTED).append(f"{' '.join(tags).rstrip(',')}\n")
    return text


def checklist_text(
    plan: Plan, findings: Sequence[Finding], away: Sequence[HostSnapshot] = ()
) -> Text:
    """Every host of the plan once, with all that is said of it: what stops it first; of equals
    what all together are short of, as one GPU model, and last what cannot change a figure.

    Hosts of which the same is said share a line; those that do not answer are there, too.
    """
    together = [""] if any(not one.host for one in findings) else []
    said: dict[str, list[tuple[str, str, str]]]
    said = {name: [] for name in (*together, *(host.name for host in plan.hosts))}
    for finding in sorted(findings, key=lambda one: one.harmless):
        entry = (str(finding.level), plain(finding.what), plain(finding.remedy))
        said.setdefault(finding.host, []).append(entry)
    for host in away:
        words = f"does not answer: {plain(host.reason)}" if host.reason else "does not answer"
        said[host.name] = [("away", words, plain(host.remedy))]
    groups: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for name, entries in said.items():
        ordered = sorted(entries, key=lambda entry: ORDER.index(entry[0]))
        known = tuple(ordered or [("ok", "nothing to object", "")])
        groups.setdefault(known, []).append(name)
    text = Text(end="")
    for group, names in sorted(groups.items(), key=lambda item: ORDER.index(item[0][0][0])):
        symbol, colour = _LEVELS[group[0][0]]
        text.append(f"{symbol} ", colour).append(f"{_names(names) or 'all hosts'}\n", "bold")
        for (level, what, remedy), after in itertools.zip_longest(group, group[1:]):
            word = "" if level in ("ok", "away") else f"{level} "
            text.append(f"    {word}", _LEVELS[level][1])
            text.append(f"{what}\n", MUTED if level == "ok" else "")
            if remedy and (after is None or after[2] != remedy):  # once for all that it mends
                text.append(f"    → {remedy}\n", MUTED)
    return text


def _names(names: Iterable[str]) -> str:
    named = [name for name in names if name]
    return plain(ranked_nodeset(named)) if named else ""


def stopped_text(
    plan: Plan,
    without: Plan | None,
    states: Mapping[str, str] | None = None,
    *,
    reading: bool = False,
) -> Text:
    """What the keys would start though preflight stops hosts or profiles: without these, where that
    is possible, and in spite of it; how long each takes, where that differs. ``states``: of the
    hosts whatever stops them: who is held is so with either key. ``reading``: past results, so
    that nobody knows."""
    kept, every = ("", "")
    if without is not None and not reading:
        kept, every = _times_of_keys(plan, without, states or {})
    text = Text(end="")
    if without is not None:
        text.append_text(_left_out_text(plan, without, kept))
    takes = f", {about(plan)}{every}" if every else ""
    text.append(f"F starts anyway{takes}; the campaign will say that it was forced\n\n", WARN)
    return text


def _times_of_keys(plan: Plan, without: Plan, states: Mapping[str, str]) -> tuple[str, str]:
    """How long it takes ``without`` the stopped hosts, and with them, each with those hosts that it
    counts though no run can go there now: where one has to wait for who is held, both count them.
    Empty where they take the same time, or nobody knows."""
    kept = {host.name for host in without.hosts}
    ours = {name: state for name, state in states.items() if name in kept}
    waits = expected_on(without, ours) is None or expected_on(plan, states) is None
    used = dict.fromkeys(states, "") if waits else states
    own, every = expected_on(without, used), expected_on(plan, used)
    if own is None or every is None or format_duration(own) == format_duration(every):
        return "", ""
    there = [host.name for host in plan.capacities if not used.get(host.name)]
    alone = all(states.get(name) for name in there if name in kept)
    said = (
        (own, [name for name in there if name in kept and states.get(name)]),
        (every, [name for name in there if name not in kept or states.get(name)]),
    )
    x, force = (waiting_time(seconds, names, alone=alone) for seconds, names in said)
    return x, force


def _left_out_text(plan: Plan, without: Plan, takes: str) -> Text:
    """What one key would start without what is stopped, and what that leaves undone."""
    used, profiles = [host.name for host in without.hosts], without.profile_names
    others = [plain(name) for name in plan.profile_names if name not in profiles]
    there, hosts = _names(used), _names(h.name for h in plan.hosts if h.name not in used)
    text = Text("x ", "bold")
    text.append(f"leaves out {', '.join(filter(None, (hosts, *others)))} and starts ")
    kept = {planned.case.key for planned in without.cases}
    several = len(profiles) > 1
    lost = [
        f"{planned.profile.name} " * several + planned.case.label
        for planned in plan.cases
        if planned.case.key not in kept and planned.profile.name in profiles
    ]
    fewer = without.run_count < plan.run_count
    of = f"{without.run_count} of {plan.run_count} runs" if fewer else "every run"
    text.append(f"{of} on {there}{f', {about(plan)}{takes}' if takes else ''}")
    if lost:
        text.append(f", without {plain(first_of(lost, 4))}", WARN)
    return text.append("\n")


def unreachable(plan: Plan, snapshots: Iterable[HostSnapshot]) -> tuple[HostSnapshot, ...]:
    """The plan's hosts that did not answer when they were last asked."""
    planned = {host.name for host in plan.hosts}
    return tuple(
        snapshot for snapshot in snapshots if snapshot.state in AWAY and snapshot.name in planned
    )
