"""Why the cases of a group are below ideal, a line each."""

from __future__ import annotations

from collections.abc import Collection

from backends.results.case_result import CaseResult, machine_names
from backends.results.layouts.cells import efficiency_cell
from backends.results.numbers import percent, trimmed
from backends.results.ratios import FEWEST
from backends.results.scaling_loss import (
    NOTABLE,
    Cause,
    Explanation,
    NodeSet,
    Scaling,
    explain,
    node_set,
    scaling,
)
from backends.results.statistics import MATERIAL
from backends.results.summary import Group
from backends.results.translations import Lang, pick
from profiles.format.case import GLOBAL_BATCH

_CAUSES = {
    Cause.COMMUNICATION: ("exposed all-reduce", "未重叠的all-reduce"),
    Cause.STRAGGLERS: ("stragglers", "慢节点"),
    Cause.INPUT: ("input", "数据输入"),
    Cause.COMPUTE: ("slower compute", "计算变慢"),
}
_HOSTS = {
    NodeSet.SAME: ("on the base's hosts", "与基准相同的主机"),
    NodeSet.SHARED_OTHERWISE: (
        "on the base's hosts but not as often on each",
        "基准的主机，但使用各主机的比例不同",
    ),
    NodeSet.WIDER: ("on the base's hosts and more", "基准的主机及更多主机"),
    NodeSet.OTHER: ("on other hosts than the base", "与基准不同的主机"),
}
_SOME_HOSTS = ("on some of the base's hosts", "基准的部分主机")
_SOME_AND_OTHERS = ("on some of the base's hosts and others", "基准的部分主机及其他主机")


def scaling_text(group: Group, lang: Lang = "en") -> str:
    """``strong scaling: global batch 1024``; empty where nothing was scaled, or it is unknown."""
    if len(group.cases) < 2:
        return ""
    if scaling(group) is Scaling.STRONG:
        total = group.parameters[GLOBAL_BATCH]
        return pick(
            lang,
            f"strong scaling: the global batch is always {total}",
            f"强扩展：全局batch size固定为 {total}",
        )
    if scaling(group) is Scaling.WEAK:
        return pick(
            lang,
            f"weak scaling: always {group.batch_size} per device",
            f"弱扩展：单卡batch size固定为 {group.batch_size}",
        )
    return ""


def explained_lines(group: Group, lang: Lang = "en") -> list[str]:
    """Per measured case; empty with fewer than two of them, for then nothing was scaled."""
    cases = group.measured_cases
    return [_line(case, group, lang) for case in cases] if len(cases) > 1 and group.scales else []


def explained_text(case: CaseResult, group: Group) -> str:
    """What the case is lost to and how that is known; empty of the base, and of what has none."""
    explained = explain(case, group.base_case) if group.scales else None
    if explained is None or case is group.base_case:
        return ""
    told = [shares_text(explained)]
    if explained.profiled is not None:
        told.append(_measured_by(explained, "en"))
    return "; ".join(told)


def shares_text(explained: Explanation, lang: Lang = "en") -> str:
    """``exposed all-reduce 9.1%, stragglers 2.4% (node3), input 0.3%, unexplained 1.0%``"""
    parts = []
    for cause, share in explained.shares.items():
        part = f"{pick(lang, *_CAUSES[cause])} {percent(share)}"
        if cause is Cause.STRAGGLERS and share >= MATERIAL:
            part += f" ({_who(explained)})"
        parts.append(part)
    parts.append(f"{pick(lang, 'unexplained', '原因不明')} {percent(explained.unexplained)}")
    return pick(lang, ", ", "，").join(parts)


def _line(case: CaseResult, group: Group, lang: Lang) -> str:
    base = group.base_case
    speed = f"{trimmed(case.throughput_per_device)} {group.unit}"
    each = pick(lang, f"{speed} per device", f"每卡 {speed}")
    if case is base:
        return pick(lang, f"{case.case}, the base: {each}", f"{case.case}（基准）：{each}")
    hosts = _hosts_words(case, base)
    told = [each, pick(lang, *hosts)] if hosts else [each]
    explained = explain(case, base)
    if explained is not None and explained.profiled is not None:
        told.append(_measured_by(explained, lang))
    below = case.efficiency is not None and case.efficiency < 1
    if below and case.efficiency_interval is None:
        few = f"fewer than {FEWEST} repeats do not tell whether anything is lost"
        told.append(pick(lang, few, f"重复少于 {FEWEST} 次，无法判断是否有损失"))
    if below and _reaches_1(case):
        told.insert(0, pick(lang, "its interval reaches 100%", "其置信区间包含 100%"))
    rest = pick(lang, ", ", "，").join(told)
    efficiency = f" {efficiency_cell(case, group)}" if case.efficiency is not None else ""
    if explained is None:
        return f"{case.case}{efficiency}{pick(lang, ': ', '：')}{rest}"
    return pick(
        lang,
        f"{case.case}{efficiency}: {shares_text(explained, lang)}; {rest}",
        f"{case.case}{efficiency}：{shares_text(explained, lang)}；{rest}",
    )


def _reaches_1(case: CaseResult) -> bool:
    """Whether anything is lost its efficiency does not tell."""
    interval = case.efficiency_interval
    return interval is not None and interval.high >= 1


def _hosts_words(case: CaseResult, base: CaseResult) -> tuple[str, str] | None:
    """Of machines that both ran on, but by other names, that this is so; None where the hosts of
    one of them are not known."""
    found = node_set(case, base)
    if found is None:
        return None
    machine = machine_names(case, base)

    def machines_of(hosts: Collection[str]) -> set[str]:
        return {machine[host] for host in hosts}

    ours, theirs = machines_of(case.measured_hosts), machines_of(base.measured_hosts)
    words = _HOSTS[found]
    if found is NodeSet.OTHER and ours & theirs:
        words = _SOME_HOSTS if ours < theirs else _SOME_AND_OTHERS
    both = machines_of(case.measured_hosts & base.measured_hosts)
    more = machines_of(case.measured_hosts - base.measured_hosts)
    if (ours & theirs) <= both - more:
        return words
    some = "some " * bool(both), "部分" * bool(both)
    machines = f"machine{'s' * (len(theirs) > 1)}, {some[0]}by other names,"
    return (
        words[0].replace("hosts", machines, 1).rstrip(","),
        words[1].replace("主机", f"机器（{some[1]}主机名不同）", 1),
    )


def _measured_by(explained: Explanation, lang: Lang) -> str:
    """One run of the case and one of its base, and what profiling did to them."""
    off = percent(explained.slower)
    if not explained.shares:
        return pick(
            lang,
            f"profiling made steps up to {off} longer, so that it tells nothing of this",
            f"剖析使每步最多延长 {off}，因此不能说明原因",
        )
    told = pick(lang, "by one profiled run", "依据一次剖析运行")
    if (explained.slower or 0.0) > NOTABLE:
        told += pick(lang, f", its steps up to {off} longer", f"（每步最多延长 {off}）")
    if explained.found is not None and percent(explained.found) != percent(explained.loss):
        found = percent(explained.found)
        told += pick(lang, f"; it finds {found}, scaled to the loss", f"；共计 {found}，按损失缩放")
    return told


def _who(explained: Explanation) -> str:
    run = explained.profiled
    several = run is not None and len(run.hosts) > 1
    host = explained.straggler_host if several else None
    return host or f"rank {explained.straggler}"
