"""What a plan cannot give, said before it costs anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from backends.campaign.plan.plan import Plan, PlannedCase
from backends.results.auto_repeats import LOOKS, AutoRepeats
from profiles.case_tag import format_tag, parse_tag
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.format.case import GLOBAL_BATCH
from profiles.format.case_matrix import exclusion, make_case

FEWEST_FOR_A_RATIO = 3
"""Below, a ratio has no interval, so that no comparison can be decided (docs/reports.md)."""


def plan_remarks(plan: Plan) -> tuple[str, ...]:
    """About what it leaves out, how it scales, its repeats, and what explains them."""
    return (
        *_excluded_remarks(plan),
        *_scaling_remarks(plan),
        *_packed_remarks(plan),
        *_repeats_remarks(plan),
        *_explain_remarks(plan),
    )


def _excluded_remarks(plan: Plan) -> Iterator[str]:
    """Cases that were named, and that a profile has not in any form."""
    there: dict[str, set[tuple[int, int]]] = {}
    profiles = {}
    for planned in (*plan.cases, *plan.refused):
        profiles[planned.profile.name] = planned.profile
        case = planned.case
        there.setdefault(planned.profile.name, set()).add((case.nodes, case.gpus_per_node))
    named = () if plan.selection.picked else map(parse_tag, dict.fromkeys(plan.selection.cases))
    for size in named:
        for name, sizes in there.items():
            if size not in sizes:
                why = exclusion(profiles[name], make_case(profiles[name], *size, {}))
                yield f"{name} excludes {format_tag(*size)}" + (f": {why}" if why else "")


def _scaling_remarks(plan: Plan) -> Iterator[str]:
    """What a device gets of each global batch: the least and the most of its cases."""
    shares: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for planned in plan.cases:
        case = planned.case
        if total := case.text(GLOBAL_BATCH):
            of = shares.setdefault((planned.profile.name, total), [])
            of.append((case.batch_size or 0, case.tag))
    for (name, total), found in shares.items():
        ends = (max(found, key=itemgetter(0)), min(found, key=itemgetter(0)))
        said = ", ".join(f"{batch} per device on {tag}" for batch, tag in dict.fromkeys(ends))
        yield f"strong scaling of {name}: global batch {total}, {said}"


def _explain_remarks(plan: Plan) -> tuple[str, ...]:
    if not plan.selection.explain:
        return ()
    silent = dict.fromkeys(p.profile.name for p in plan.cases if p.profile.explain is None)
    remarks = []
    if plan.profiled:
        runs = counted(len(plan.profiled), "profiled run")
        remarks.append(f"{runs}, one per case, when all repeats are done; they count for nothing")
    if silent:
        remarks.append(
            f"nothing will explain the cases of {', '.join(silent)}: the profile has no [explain]"
        )
    return tuple(remarks)


def _packed_remarks(plan: Plan) -> Iterator[str]:
    """How many runs a host may have at once."""
    if not plan.selection.pack:
        return
    of_one = [planned.case.gpus_per_node for planned in plan.cases if planned.case.nodes == 1]
    most = plan.most_devices // min(of_one, default=plan.most_devices + 1)
    if most > 1 or (of_one and not plan.most_devices):
        up_to = f"up to {most} runs" if most > 1 else "several runs"
        yield (
            f"packed: {up_to} of one host at once, each on devices of its own; "
            "what shared a host is marked, and graded B at best"
        )
    else:
        yield "packing changes nothing: no host has room for two of these runs"


def _repeats_remarks(plan: Plan) -> tuple[str, ...]:
    """What the repeats will be, or what too few of them cannot give: a line for each number of
    them."""
    if plan.selection.auto is not None:
        return (_until(plan.selection.auto),)
    few: dict[int, list[PlannedCase]] = {}
    for planned in plan.cases:
        if planned.repeats < FEWEST_FOR_A_RATIO:
            few.setdefault(planned.repeats, []).append(planned)
    return tuple(_remark(repeats, few[repeats], plan) for repeats in sorted(few))


def _until(rule: AutoRepeats) -> str:
    budget = ""
    if rule.budget_gpu_s is not None:
        budget = f", within {format_duration(rule.budget_gpu_s)} of GPU time"
    return (
        f"repeats go on until the 95% interval of the {rule.quantity} is within "
        f"±{rule.target * 100:g}%: {LOOKS[0]} to {rule.max_repeats} of each case{budget}"
    )


def _remark(repeats: int, cases: Sequence[PlannedCase], plan: Plan) -> str:
    profiles = dict.fromkeys(planned.profile.name for planned in cases)
    whose = "" if len(cases) == len(plan.cases) else f" of {', '.join(profiles)}"
    own = all(planned.profile.matrix.repeats == repeats for planned in cases)
    why = ", the profile's own number" if own and plan.selection.repeats is None else ""
    if repeats == 1:
        said = "it cannot tell how far repeats scatter, or whether a difference is one"
    else:
        said = "they give a ratio no interval, so that no difference can be told from noise"
    return (
        f"{counted(repeats, 'repeat')} per case{whose}{why}: {said}; {FEWEST_FOR_A_RATIO} repeats "
        f"can, and {LOOKS[0]} give an interval of the median"
    )
