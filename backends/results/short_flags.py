"""What a flag is called where there is room for two words."""

from __future__ import annotations

from collections.abc import Iterable

from backends.results.case_result import CaseResult
from backends.results.findings import Concern, Grade, gravest_first
from backends.results.translations import Lang, pick

SHORT = {
    Concern.SIMULATED: "simulated",
    Concern.FORCED: "forced",
    Concern.FAILED_RUNS: "failed runs",
    Concern.FEW_REPEATS: "few repeats",
    Concern.WIDE_INTERVAL: "wide interval",
    Concern.WEAK_BASE: "weak base",
    Concern.UNKNOWN_ENVIRONMENT: "unknown environment",
    Concern.UNOBSERVED: "not watched",
    Concern.STEADINESS_UNKNOWN: "steadiness unknown",
    Concern.CV_AMBER: "CV above 2%",
    Concern.CV_RED: "CV above 5%",
    Concern.OUTLIERS: "outlier",
    Concern.FIRST_RUN_SLOW: "first run slow",
    Concern.DRIFT: "drift",
    Concern.DEPENDENT_REPEATS: "dependent repeats",
    Concern.UNSTEADY: "unsteady",
    Concern.PREFLIGHT: "preflight warned",
    Concern.THROTTLED: "throttled",
    Concern.POWER_CAPPED: "power cap",
    Concern.IDLE_GPUS: "GPUs idle",
    Concern.SHARED_MACHINE: "shared machine",
    Concern.DISTURBED: "disturbed",
    Concern.PACKED: "packed",
    Concern.NEGATIVE_SCALING: "negative scaling",
    Concern.NEGATIVE_IN_DOUBT: "negative in doubt",
    Concern.SUPERLINEAR: "superlinear",
    Concern.NO_BASE: "no base",
    Concern.MIXED_ENVIRONMENT: "several environments",
    Concern.OTHER_ENVIRONMENT: "other environment",
    Concern.OTHER_HOSTS: "elsewhere",
    Concern.OTHER_RULE: "other rule than base",
    Concern.SHARED_UNLIKE: "shared unlike base",
    Concern.LOG_CHANGED: "log changed",
    Concern.CLOCK: "clock was set",
    Concern.FAR_ABOVE: "readings far above",
    Concern.SAME_LOG: "same log twice",
    Concern.OTHER_DIRECTORY: "several directories",
    Concern.WARNINGS: "warned in a run",
    Concern.RETRIED: "tried again",
}


_ZH = {
    Concern.SIMULATED: "模拟数据",
    Concern.FORCED: "强制启动",
    Concern.FAILED_RUNS: "有失败的运行",
    Concern.FEW_REPEATS: "重复次数少",
    Concern.WIDE_INTERVAL: "区间较宽",
    Concern.WEAK_BASE: "基准可信度低",
    Concern.UNKNOWN_ENVIRONMENT: "环境未知",
    Concern.UNOBSERVED: "未监测",
    Concern.STEADINESS_UNKNOWN: "是否稳定未知",
    Concern.CV_AMBER: "变异系数超过2%",
    Concern.CV_RED: "变异系数超过5%",
    Concern.OUTLIERS: "离群值",
    Concern.FIRST_RUN_SLOW: "首次运行较慢",
    Concern.DRIFT: "漂移",
    Concern.DEPENDENT_REPEATS: "重复之间相关",
    Concern.UNSTEADY: "不稳定",
    Concern.PREFLIGHT: "预检警告",
    Concern.THROTTLED: "降频",
    Concern.POWER_CAPPED: "达到功耗上限",
    Concern.IDLE_GPUS: "GPU空闲",
    Concern.SHARED_MACHINE: "共用机器",
    Concern.DISTURBED: "受到干扰",
    Concern.PACKED: "打包运行",
    Concern.NEGATIVE_SCALING: "比更少设备更慢",
    Concern.NEGATIVE_IN_DOUBT: "比更少设备更慢（存疑）",
    Concern.SUPERLINEAR: "超线性",
    Concern.NO_BASE: "无基准",
    Concern.MIXED_ENVIRONMENT: "多种环境",
    Concern.OTHER_ENVIRONMENT: "环境与基准不同",
    Concern.OTHER_HOSTS: "主机与基准不同",
    Concern.OTHER_RULE: "统计规则与基准不同",
    Concern.SHARED_UNLIKE: "机器共用情况与基准不同",
    Concern.LOG_CHANGED: "日志被改动",
    Concern.CLOCK: "时钟被调整",
    Concern.FAR_ABOVE: "读数远高于其他",
    Concern.SAME_LOG: "同一日志重复",
    Concern.OTHER_DIRECTORY: "多个目录",
    Concern.WARNINGS: "运行有警告",
    Concern.RETRIED: "已重试",
}


def short_words(concern: Concern, lang: Lang) -> str:
    """As :data:`SHORT`, in either language."""
    return pick(lang, SHORT[concern], _ZH[concern])


def short_of(concern: Concern, case: CaseResult, lang: Lang = "en") -> str:
    """As :data:`SHORT`; what nobody started, or somebody cancelled, has not failed."""
    if concern is Concern.FAILED_RUNS and (lost := case.lost_runs):
        if all(run.never_begun for run in lost):
            skipped = pick(lang, "skipped", "已跳过")
            return pick(lang, "repeats missing", "缺少重复") if case.succeeded else skipped
        if all(run.state == "cancelled" for run in lost):
            return pick(lang, "cancelled runs", "有已取消的运行")
    return short_words(concern, lang)


def set_by(cases: Iterable[CaseResult], grade: Grade, lang: Lang = "en") -> list[str]:
    """What leaves cases of ``grade`` no better one, what does so for most of them first, and of
    equals the gravest: ``wide interval in 1`` where nothing does so for all, else those alone that
    do. Nothing that would allow a better one; the base's grade only of cases that nothing else
    holds down."""
    graded = [case for case in cases if case.grade is grade]
    of: dict[Concern, list[CaseResult]] = {}
    for finding in gravest_first(finding for case in graded for finding in case.findings):
        of.setdefault(finding.concern, [])
    for case in graded:
        for concern in _setting(case, grade):
            of[concern].append(case)
    most_first = sorted(of, key=lambda concern: -len(of[concern]))
    most = max(map(len, of.values()), default=0)
    fewest = len(graded) if most == len(graded) else 1
    return [
        _short_together(concern, of[concern], lang)
        + pick(lang, f" in {n}", f" {n} 个") * (n < len(graded))
        for concern in most_first
        if (n := len(of[concern])) >= fewest
    ]


def _setting(case: CaseResult, grade: Grade) -> set[Concern]:
    found = {finding.concern for finding in case.findings if finding.ceiling is grade}
    return found - {Concern.WEAK_BASE} if len(found) > 1 else found


def _short_together(concern: Concern, cases: Iterable[CaseResult], lang: Lang) -> str:
    words = dict.fromkeys(short_of(concern, case, lang) for case in cases)
    return next(iter(words)) if len(words) == 1 else short_words(concern, lang)


def fell_by(before: CaseResult | None, now: CaseResult | None) -> str:
    """``grade B → C: forced``; empty where it is no worse than before."""
    if before is None or now is None or before.grade is None or now.grade is None:
        return ""
    if now.grade <= before.grade:
        return ""
    return f"grade {before.grade} → {now.grade}: {', '.join(set_by([now], now.grade))}"
