"""What is doubtful about a case, in sentences that name the figures; and the grade's reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from backends.hosts.fingerprint import fields_apart
from backends.inventory.nodesets import fold_nodeset, ranked_nodeset
from backends.results.case_result import CaseResult
from backends.results.device_words import devices_text
from backends.results.findings import Concern, Finding, Grade
from backends.results.grade import (
    OF_THE_LOGS,
    SUPERLINEAR,
    WIDEST_INTERVAL,
    known_within,
    not_looked_at,
    other_warnings,
    outlier_by,
    over_other_devices,
    slower_than,
    unrecorded,
    unsteady_by,
)
from backends.results.mixed_environments import mixed_models, shares_of
from backends.results.numbers import fixed, percent, rounded, scatter, signed_percent, significant
from backends.results.ratios import FEWEST
from backends.results.recorded_sentences import translated
from backends.results.run_result import RunResult
from backends.results.short_flags import short_of
from backends.results.statistics import CV_LIMITS, MATERIAL, Spread
from backends.results.steady_words import steadiness_text, unsteady_lines
from backends.results.summary import Group
from backends.results.telemetry_figures import (
    disturbed,
    idle_gpus,
    judged,
    neighbours,
    throttled,
    unplaced,
    unwatched,
    watched_s,
)
from backends.results.telemetry_words import disturbed_line, throttled_line
from backends.results.translations import LANGUAGES, Lang, pick
from backends.results.unsuccessful_words import unsuccessful_line
from profiles.counted import counted

_NEXT_LOG = re.compile(r"; (?=\S+\.log: )")
"""Before the name of one, in what is said of several."""


def finding_lines(case: CaseResult, group: Group, lang: Lang = "en") -> list[str]:
    """At least one sentence per finding of ``case``, the gravest first."""
    return [line for _, line in found_lines(case, group, lang)]


def found_lines(case: CaseResult, group: Group, lang: Lang = "en") -> list[tuple[Finding, str]]:
    """The same, each with the finding that it tells: with the grade that this line alone would
    leave."""
    told = (one for found in case.findings for one in _told(found, case, group, lang))
    return sorted(told, key=lambda one: one[0].rank)


def named_lines(case: CaseResult, group: Group, lang: Lang = "en") -> list[tuple[Finding, str]]:
    """The same for people, who know flags by their short names: each begins with that of its."""
    return [
        (found, with_name(line, short_of(found.concern, case, lang), lang))
        for found, line in found_lines(case, group, lang)
    ]


def with_name(line: str, name: str, lang: Lang) -> str:
    """``unsteady: …``, unless it begins so."""
    if line.casefold().startswith(name.casefold()):
        return line
    return name + pick(lang, ": ", "：") + line


def _told(
    finding: Finding, case: CaseResult, group: Group, lang: Lang
) -> Iterator[tuple[Finding, str]]:
    """What each line alone is: of some flags one costs more than another."""
    if finding.concern is Concern.UNSTEADY:
        for cost, line in unsteady_lines(case, lang):
            yield unsteady_by(cost), line
    elif finding.concern is Concern.OUTLIERS and case.spread is not None:
        for off_by, both in _outliers(case, case.spread):
            yield outlier_by(off_by), pick(lang, *both)
    else:
        for line in _lines(finding, case, group, lang):
            yield finding, line


def grade_reasons(case: CaseResult, group: Group, lang: Lang = "en") -> list[str]:
    """The sentences of what lowers the grade, what sets it first; none for an A."""
    told = found_lines(case, group, lang)
    return [line for found, line in told if found.ceiling > Grade.A]


def lettered(found: Finding, line: str) -> str:
    """``C: …``, by the grade that the finding allows; what lowers none has no letter."""
    return f"{found.ceiling}: {line}" if found.ceiling > Grade.A else line


def worst_case(groups: Sequence[Group]) -> tuple[CaseResult, Group] | None:
    """The case with the worst grade, the first of equals; None while nothing is graded."""
    graded = [(case, group) for group in groups for case in group.cases if case.grade is not None]
    return max(graded, key=lambda pair: pair[0].grade or Grade.A, default=None)


def grade_counts(cases: Iterable[CaseResult]) -> str:
    """``3 × A, 1 × C``; empty while nothing is graded."""
    graded = [case.grade for case in cases]
    return ", ".join(f"{graded.count(grade)} × {grade}" for grade in Grade if grade in graded)


def rules_text(rules: Iterable[tuple[str, str]], unit: str) -> str:
    """``mean of last 55 readings``; ``tokens over the elapsed time of all readings``; ``the figure
    that the log sums up``."""
    over = {"elapsed": f"{unit.removesuffix('/s')} over the elapsed time"}
    return ", ".join(
        "the figure that the log sums up"
        if statistic == "summary"
        else f"{over.get(statistic, statistic)} of {window}"
        for statistic, window in sorted(rules)
    )


def _lines(finding: Finding, case: CaseResult, group: Group, lang: Lang) -> list[str]:
    concern = finding.concern
    if concern in OF_THE_LOGS:
        return _doubted(concern, case, lang)
    if concern in _OF_THE_RUNS:
        return _OF_THE_RUNS[concern](case, lang)
    if case.spread is not None and concern in _OF_THE_SPREAD:
        return [pick(lang, *both) for both in _spread_lines(concern, case, case.spread)]
    return [pick(lang, *_case_line(concern, case, group))]


def _warnings(case: CaseResult, lang: Lang) -> list[str]:
    return sorted({translated(text, lang) for run in case.runs for text in other_warnings(run)})


def _doubted(concern: Concern, case: CaseResult, lang: Lang) -> list[str]:
    runs = case.measured_runs
    told = ((r.repeat, text) for r in runs for text in r.doubts.get(concern, ()))
    return _with_repeats(((repeat, translated(text, lang)) for repeat, text in told), lang)


def _with_repeats(told: Iterable[tuple[int, str]], lang: Lang = "en") -> list[str]:
    """One sentence per text, with the repeats that it is of."""
    repeats: dict[str, list[int]] = {}
    for repeat, text in told:
        repeats.setdefault(text, []).append(repeat)
    return [
        pick(
            lang,
            f"repeat{'s' * (len(own) > 1)} {_numbers(own)}: {text}",
            f"第 {_numbers(own)} 次重复：{text}",
        )
        for text, own in repeats.items()
    ]


def _numbers(repeats: Iterable[int], mark: str = "") -> str:
    """Of repeats, however these followed one another: one that was paused may have run last."""
    return ", ".join(f"{mark}{repeat}" for repeat in sorted(repeats))


def _forced(case: CaseResult, lang: Lang) -> list[str]:
    """Past what, which names its host; an older journal does not tell."""
    between = pick(lang, "; ", "；")
    told = [
        (run.repeat, between.join(translated(one, lang) for one in run.stops))
        for run in case.runs
        if run.forced and run.stops
    ]
    untold = pick(lang, "started in spite of what preflight stops", "忽略了预检发现的问题")
    why = between.join(_with_repeats(told, lang)) or untold
    return [pick(lang, "forced: ", "强制启动：") + why]


def logs_differ(run: RunResult, lang: Lang = "en") -> str:
    """Of a run whose figure they do not give."""
    said = pick(lang, "its logs are not as they were when it ended: ", "其日志已不再给出该数值：")
    of_logs = _NEXT_LOG.split(run.log_differs)
    return said + pick(lang, "; ", "；").join(translated(why, lang) for why in of_logs)


def _log_changed(case: CaseResult, lang: Lang) -> list[str]:
    """One sentence per log: who can write to it can have written what its figure is."""
    since = [
        pick(lang, f"repeat {run.repeat}: ", f"第 {run.repeat} 次重复：") + logs_differ(run, lang)
        for run in case.runs
        if run.log_differs
    ]
    return since + [
        pick(
            lang,
            f"repeat {run.repeat}: its log was cut, edited or replaced while it ran: {text}",
            f"第 {run.repeat} 次重复：运行期间其日志被截断、编辑或替换：{text}",
        )
        for run in case.runs
        for text in run.log_changed
    ]


def warned_of(case: CaseResult) -> list[str]:
    """What preflight warned of that any of its runs has to do with, each once."""
    return list(dict.fromkeys(text for run in case.runs for text in run.warned))


def preflight_line(warned: Iterable[str], lang: Lang = "en") -> str:
    said = pick(lang, "preflight warned before the first start: ", "首次启动前预检警告：")
    told = pick(lang, "; ", "；").join(translated(text, lang) for text in warned)
    return said + told


def _preflight(case: CaseResult, lang: Lang) -> list[str]:
    return [preflight_line(warned, lang)] if (warned := warned_of(case)) else []


def _throttled(case: CaseResult, lang: Lang) -> list[str]:
    found = throttled(case.measured_runs, at_its_limit=False)
    return [throttled_line(found, lang)] if found else []


def _power_capped(case: CaseResult, lang: Lang) -> list[str]:
    found = throttled(case.measured_runs, at_its_limit=True)
    return [throttled_line(found, lang)] if found else []


def _idle(case: CaseResult, lang: Lang) -> list[str]:
    told = [(run.repeat, idle_line(run, lang)) for run in case.measured_runs if idle_gpus(run)]
    return _with_repeats(told, lang)


def idle_line(run: RunResult, lang: Lang = "en") -> str:
    """The log may be of other devices, or of CPUs that took their place. Empty of a run whose GPUs
    were busy."""
    if not (idle := idle_gpus(run)):
        return ""
    first, of = f"GPU{idle[0].gpu} of {idle[0].host}", len(judged(run).gpus)
    first_zh = f"{idle[0].host} 的 GPU{idle[0].gpu}"
    which = first if of == 1 else f"{len(idle)} of its {of} GPUs ({first} …)"
    which_zh = first_zh if of == 1 else f"{of} 块GPU中的 {len(idle)} 块（{first_zh} 等）"
    verb = "was" if of == 1 else "were"
    text = f"{which} {verb} idle while it was measured: what did the work?"
    return pick(lang, text, f"测量期间 {which_zh} 空闲：由谁计算？")


def _disturbed(case: CaseResult, lang: Lang) -> list[str]:
    return [disturbed_line(found, lang) for found in disturbed(case.measured_runs)]


def _shared_machine(case: CaseResult, lang: Lang) -> list[str]:
    """Which repeats, on which host, and under which names of it others ran; and of which the nodes
    were one machine themselves."""
    return [*_beside(case, lang), *_no_network(case, lang)]


def _no_network(case: CaseResult, lang: Lang) -> Iterator[str]:
    places: dict[str, list[int]] = {}
    for run in case.measured_runs:
        for hosts in run.one_machine:
            places.setdefault(ranked_nodeset(hosts), []).append(run.repeat)
    for names, repeats in places.items():
        every = len(repeats) == len(case.measured_runs)
        english = "" if every else f" in repeat {_numbers(repeats)}"
        chinese = "" if every else f"（重复 {_numbers(repeats)}）"
        yield pick(
            lang,
            f"{names} are one machine of several names{english}: nothing went over a network",
            f"{names} 是同一台机器的多个名称{chinese}：没有经过网络",
        )


def _beside(case: CaseResult, lang: Lang) -> Iterator[str]:
    places: dict[tuple[str, str], list[int]] = {}
    for run in case.measured_runs:
        if run.beside:
            names = ranked_nodeset(list(dict.fromkeys(run.hosts))), fold_nodeset(run.beside)
            places.setdefault(names, []).append(run.repeat)
    told = sorted((sorted(repeats), *names) for names, repeats in places.items())
    listed = [(_numbers(repeats, "#"), own, others) for repeats, own, others in told]
    which = "; ".join(f"{own} on {host}, beside runs on {others}" for own, host, others in listed)
    which_zh = "；".join(
        f"{host} 上的 {own}，同时 {others} 上有运行" for own, host, others in listed
    )
    if told:
        yield pick(
            lang,
            f"repeats that ran beside others on one machine of several names: {which}",
            f"与其他运行同时使用同一台机器（有多个名称）的重复：{which_zh}",
        )


def _packed(case: CaseResult, lang: Lang) -> list[str]:
    which = [run.repeat for run in case.measured_runs if run.shared_with]
    count, of = len(which), len(case.measured_runs)
    listed = f" ({_numbers(which, '#')})" * (count < of)
    english = "the only repeat" if of == 1 else f"{count} of {of} repeats{listed}"
    return [
        pick(
            lang,
            f"packed: {english} shared a host with other runs of the campaign, on other devices: "
            "memory, links, CPUs, power and cooling were shared too",
            f"打包运行：{of} 次重复中有 {count} 次{listed}与本次测试的其他运行共用主机"
            "（设备各自独立）：内存、链路、CPU、供电与散热并非独占",
        )
    ]


def _unobserved(case: CaseResult, lang: Lang) -> list[str]:
    if not any(run.readings for run in case.measured_runs):
        return [
            pick(
                lang,
                "a figure without readings or telemetry: "
                "whether it was steady and undisturbed is not known",
                "既无读数也无监测数据：是否稳定、是否受到干扰未知",
            )
        ]
    unseen = [run for run in case.measured_runs if unwatched(run)]
    late = [run for run in unseen if unplaced(run)]
    unseen = [run for run in unseen if not unplaced(run)]
    return [
        *([_came_at_once(late, lang)] if late else []),
        *([_unseen(unseen, len(case.measured_runs), lang)] if unseen else []),
    ]


def _came_at_once(late: Sequence[RunResult], lang: Lang) -> str:
    repeats = _numbers(run.repeat for run in late)
    one = len(late) == 1
    which, its = ("the log of repeat", "its") if one else ("the logs of repeats", "their")
    return pick(
        lang,
        f"{which} {repeats} came in one burst, so that {its} readings cannot be placed in time: "
        f"what {its} machines did while {'it was' if one else 'they were'} measured is not known",
        f"第 {repeats} 次重复的日志一次性到达，无法得知各读数的时间：测量期间机器的状态未知",
    )


def _unseen(unseen: Sequence[RunResult], of: int, lang: Lang) -> str:
    longest = max(unseen, key=watched_s)
    part, part_zh = "", ""
    if len(unseen) < of:
        part = f" in {len(unseen)} of {of} repeats"
        part_zh = f"{of} 次重复中有 {len(unseen)} 次"
    seen, seen_zh = f"its machines were not seen{part} while it was measured", "没有机器监测数据"
    if seen_s := watched_s(longest):
        most, trained = (significant(s, zeros=True) for s in (seen_s, longest.trained_s))
        seen = f"its machines were seen{part} for no more than {most} s of the {trained} s from "
        seen += f"its first reading to its last (repeat {longest.repeat})"
        seen_zh = f"最多监测了 {trained} 秒中的 {most} 秒（第 {longest.repeat} 次重复）"
    return pick(
        lang,
        f"{seen}: whether anything disturbed it is not known",
        f"{part_zh}{seen_zh}：是否受到干扰未知",
    )


def _retried(case: CaseResult, lang: Lang) -> list[str]:
    alike = Counter(
        (run.repeat, f" ({run.reason})" * bool(run.reason)) for run in case.retried_runs
    )
    times = {1: "", 2: " twice"}
    which = (f"repeat {n}{times.get(k, f' {k} times')}{why}" for (n, why), k in alike.items())
    which_zh = (f"第 {n} 次重复{f' {k} 次' * (k > 1)}{why}" for (n, why), k in alike.items())
    return [
        pick(
            lang,
            f"tried again: {', '.join(which)}",
            f"已重试：{'，'.join(which_zh)}",
        )
    ]


def _not_looked_at(case: CaseResult, lang: Lang) -> list[str]:
    why = steadiness_text(list(filter(not_looked_at, case.measured_runs)), lang)
    return [pick(lang, f"whether its runs were steady was {why}", f"运行是否稳定：{why}")]


_OF_THE_RUNS: Mapping[Concern, Callable[[CaseResult, Lang], list[str]]] = {
    Concern.FORCED: _forced,
    Concern.LOG_CHANGED: _log_changed,
    Concern.WARNINGS: _warnings,
    Concern.RETRIED: _retried,
    Concern.PREFLIGHT: _preflight,
    Concern.THROTTLED: _throttled,
    Concern.POWER_CAPPED: _power_capped,
    Concern.IDLE_GPUS: _idle,
    Concern.DISTURBED: _disturbed,
    Concern.SHARED_MACHINE: _shared_machine,
    Concern.PACKED: _packed,
    Concern.UNOBSERVED: _unobserved,
    Concern.STEADINESS_UNKNOWN: _not_looked_at,
}
_OF_THE_SPREAD = frozenset(
    {
        Concern.FEW_REPEATS,
        Concern.WIDE_INTERVAL,
        Concern.CV_AMBER,
        Concern.CV_RED,
        Concern.FIRST_RUN_SLOW,
        Concern.DRIFT,
        Concern.DEPENDENT_REPEATS,
    }
)


def _outliers(case: CaseResult, spread: Spread) -> Iterator[tuple[float, tuple[str, str]]]:
    """By how much each is off, and the sentence in English and Chinese."""
    for position in spread.outliers:
        run = case.measured_runs[position]
        off_by = (run.measured or 0.0) / spread.median - 1
        off, value = signed_percent(off_by, beyond=[MATERIAL]), _figure(run.measured)
        mild, mild_zh = " by the rule, too near to matter", "（影响甚微）"
        if abs(off_by) > MATERIAL:
            mild = mild_zh = ""
        yield (
            off_by,
            (
                f"outlier{mild}: repeat {run.repeat}, {value}, {off} from the median; it counts",
                f"离群值{mild_zh}：第 {run.repeat} 次重复，{value}，偏离中位数 {off}，仍计入统计",
            ),
        )


def _spread_lines(concern: Concern, case: CaseResult, spread: Spread) -> Iterator[tuple[str, str]]:
    """The sentence(s) in English and Chinese."""
    if concern is Concern.FIRST_RUN_SLOW:
        first = case.measured_runs[0]
        off = percent(1 - (first.measured or 0.0) / spread.median)
        yield (
            f"first run slow: repeat {first.repeat} is {off} below the median of all "
            "(cold caches or clocks?)",
            f"首次运行较慢：第 {first.repeat} 次重复低于中位数 {off}（缓存或频率未预热？）",
        )
    elif concern is Concern.DRIFT and spread.drift is not None:
        trend = spread.drift
        change = signed_percent(trend.change)
        evidence = f"Kendall τ = {rounded(trend.tau):+f}, p = {significant(trend.p, 2)}"
        yield (
            f"drift: {change} of the median over the repeats ({evidence}); "
            "temperature, clocks or other users?",
            f"漂移：从首次到末次变化为中位数的 {change}（{evidence}）；温度、频率或其他用户？",
        )
    elif concern is Concern.DEPENDENT_REPEATS:
        r = f"{rounded(spread.dependence or 0.0)}"
        yield (
            f"each repeat takes after the one before (r = {r}): the intervals are too narrow",
            f"各次重复与前一次相关（r = {r}）：区间偏窄",
        )
    elif concern is Concern.FEW_REPEATS:
        yield _few(spread.n)
    elif concern is Concern.WIDE_INTERVAL:
        half = known_within(spread)
        of_median = spread.interval is not None and half == spread.half_width
        yield _wide(half_text(half), of_median=of_median)
    elif spread.cv is not None:
        limit = "5%" if concern is Concern.CV_RED else "2%"
        cv = scatter(spread.cv, beyond=CV_LIMITS)
        yield f"CV above {limit}: {cv}", f"变异系数超过{limit}：{cv}"


def _figure(value: float | None) -> str:
    """As a table has it, with the console's commas."""
    return fixed(value, thousands=True)


def half_text(half: float | None, *limits: float) -> str:
    """Half of an interval over the median, or mean, that it is of: ``0.26%``; beyond each limit of
    grades that it is, and beyond ``limits``."""
    return scatter(half, beyond=(*WIDEST_INTERVAL.values(), *limits))


def within(spread: Spread | None, lang: Lang = "en", *, asked: float | None = None) -> str:
    """``±0.26% of the median``: half of its 95% interval, or of the mean's where there is none of
    that; empty below three repeats. ``asked``: beyond which it shows that it is."""
    if spread is None or spread.half_width is None:
        return ""
    half = f"±{half_text(spread.half_width, *([] if asked is None else [asked]))}"
    if spread.interval is not None:
        return pick(lang, f"{half} of the median", f"中位数的 {half}")
    return pick(lang, f"{half} of the mean (Student's)", f"均值的 {half}（t分布）")


def _wide(half: str, *, of_median: bool) -> tuple[str, str]:
    """The interval of a median is seldom as far above it as below."""
    if of_median:
        return (
            f"half of the 95% interval of the median is {half} of it",
            f"中位数95%区间的一半为中位数的 {half}",
        )
    return (
        f"half of the 95% interval of the mean (Student's) is {half} of it",
        f"均值95%区间（t分布）的一半为均值的 {half}",
    )


def _few(n: int) -> tuple[str, str]:
    if n == 1:
        return (
            "one repeat: nothing says how far another would be off",
            "只有一次重复：无法得知再测一次会差多少",
        )
    return (
        f"{n} repeats are too few for an interval of the median, which takes 6",
        f"只有 {n} 次重复：中位数的区间需要6次",
    )


def _case_line(concern: Concern, case: CaseResult, group: Group) -> tuple[str, str]:
    """The sentence in English and in Chinese."""
    if concern is Concern.SIMULATED:
        return "SIMULATED: no hardware was measured", "模拟数据(SIMULATED)：并非真实硬件测得"
    if concern is Concern.FAILED_RUNS:
        return unsuccessful_line(case)
    if concern is Concern.UNKNOWN_ENVIRONMENT:
        runs = case.measured_runs
        n, unknown = len(runs), sum(map(unrecorded, runs))
        some = unknown < n
        whose = f"the environment of {unknown} of {n} repeats" if some else "its environment"
        whose_zh = f"{n} 次重复中有 {unknown} 次" if some else ""
        return (
            f"{whose} is not recorded (driver, CUDA, image …)",
            f"{whose_zh}没有环境记录（驱动、CUDA、镜像等）",
        )
    if concern is Concern.MIXED_ENVIRONMENT:
        found = fields_apart(sorted(case.fingerprints))
        differs = "; ".join(f"{key}: {own}" for key, (own,) in found.items())
        return (
            f"its repeats come from different environments ({differs})",
            f"各次重复来自不同的环境（{differs}）",
        )
    return _scaling_line(concern, case, group)


def _scaling_line(concern: Concern, case: CaseResult, group: Group) -> tuple[str, str]:
    if concern in (Concern.NEGATIVE_SCALING, Concern.NEGATIVE_IN_DOUBT):
        return _slower(case, group)
    if concern is Concern.WEAK_BASE:
        grade = group.base_case.grade
        return (
            f"its base {group.base} is graded {grade}, and a speedup is no better than its base",
            f"其基准 {group.base} 评级为 {grade}，加速比不会更可靠",
        )
    if concern is Concern.SUPERLINEAR:
        return _more_than_linear(case, group)
    if concern is Concern.OTHER_RULE:
        ours, theirs = (rules_text(one.rules, case.unit) for one in (case, group.base_case))
        return (
            f"measured by another rule than the base {group.base} ({ours}; there {theirs}): "
            "the speedup divides unlike figures",
            f"统计规则与基准 {group.base} 不同（{ours}；基准为 {theirs}）：加速比不可直接比较",
        )
    if concern is Concern.NO_BASE:
        return (
            f"no speedup: the base {group.base} has no successful run",
            f"无加速比：基准 {group.base} 没有成功的运行",
        )
    unlike = {Concern.SHARED_UNLIKE: _shared_unlike, Concern.OTHER_HOSTS: _other_hosts}
    return unlike.get(concern, _other_environment)(case, group)


def _other_hosts(_: CaseResult, group: Group) -> tuple[str, str]:
    return (
        f"measured on none of the hosts of the base {group.base}: "
        "the speedup shows how these differ, too",
        f"所用主机与基准 {group.base} 完全不同：加速比也反映主机的差异",
    )


def _slower(case: CaseResult, group: Group) -> tuple[str, str]:
    """Than fewer devices, and whether the repeats tell it from noise."""
    slower = slower_than(case, group.cases)
    if slower is None:
        return "", ""
    faster = slower.than
    called = devices_text([group]), devices_text([group], "zh")
    name, value, mine = faster.case, _figure(faster.throughput), _figure(case.throughput)
    doubt, doubt_zh = ("", "") if slower.surely else _not_told_apart(case, faster)
    return (
        f"slower than fewer {called[0]}: {mine} is less than the {value} of {name}{doubt}",
        f"{mine} 低于{called[1]}更少的 {name} 的 {value}{doubt_zh}",
    )


def _shared_unlike(case: CaseResult, group: Group) -> tuple[str, str]:
    (ours, ours_zh), (theirs, theirs_zh) = map(_sharing, (case, group.base_case))
    return (
        f"repeats that ran beside other runs: {ours}, of the base {group.base} {theirs}: the "
        "speedup shows that, too",
        f"与其他运行共用机器的重复：{ours_zh}，基准 {group.base} 为 {theirs_zh}："
        "加速比也反映这一点",
    )


def _sharing(case: CaseResult) -> tuple[str, str]:
    """``2 of 3 (#1, #3)``."""
    runs = case.measured_runs
    sharing = [run.repeat for run in runs if neighbours(run)]
    some = 0 < len(sharing) < len(runs)
    return (
        f"{len(sharing)} of {len(runs)}" + f" ({_numbers(sharing, '#')})" * some,
        f"{len(runs)} 次中的 {len(sharing)} 次" + f"（{_numbers(sharing, '#')}）" * some,
    )


def _not_told_apart(case: CaseResult, faster: CaseResult) -> tuple[str, str]:
    fewest = min(case.succeeded, faster.succeeded)
    if fewest < FEWEST:
        return (
            f"; in doubt, as one of them has {counted(fewest, 'repeat')}",
            f"；存疑：其中之一仅有 {fewest} 次重复",
        )
    return (
        "; in doubt, as the 95% interval of their ratio reaches 1",
        "；存疑：两者之比的95%区间包含1",
    )


def _more_than_linear(case: CaseResult, group: Group) -> tuple[str, str]:
    e, base = percent(case.efficiency, beyond=[SUPERLINEAR]), group.base
    if over_other_devices(case):
        return (
            f"efficiency {e} is more than linear, over the base {base} on other devices: "
            f"{one_model(group)}",
            f"扩展效率 {e} 超线性：基准 {base} 的设备不同，请用 --hosts 限定为同一型号",
        )
    return (
        f"efficiency {e} is more than linear: is the base {base} right?",
        f"扩展效率 {e} 超线性：请检查基准 {base}",
    )


def _other_environment(case: CaseResult, group: Group) -> tuple[str, str]:
    if any(map(mixed_models, (case, group.base_case))):
        return _on_several_models(case, group)
    found = fields_apart(sorted(group.base_case.fingerprints), sorted(case.fingerprints))
    differs = "; ".join(f"{k}: {base} for the base, {own} here" for k, (base, own) in found.items())
    its_zh = "；".join(f"{k}：基准为 {base}，此处为 {own}" for k, (base, own) in found.items())
    return (
        f"measured in another environment than the base {group.base} ({differs}): "
        f"the speedup shows more than the number of {devices_text([group])}",
        f"环境与基准 {group.base} 不同（{its_zh}）："
        f"加速比不只反映{devices_text([group], 'zh')}数量",
    )


HOSTS_OPTION = ": --hosts"


def one_model(group: Group) -> str:
    """What mends a figure of several, by the option of a command."""
    return f"keep to one {devices_text([group]).removesuffix('s')} model{HOSTS_OPTION}"


def _on_several_models(case: CaseResult, group: Group) -> tuple[str, str]:
    shares, shares_zh = (shares_of(group.base_case, case, lang) for lang in LANGUAGES)
    one, many = devices_text([group]).removesuffix("s"), devices_text([group])
    return (
        f"with the base {group.base} it ran on several {one} models ({shares}): the speedup shows "
        f"more than the number of {many}",
        f"与基准 {group.base} 使用了多种{devices_text([group], 'zh')}型号（{shares_zh}）："
        f"加速比不只反映{devices_text([group], 'zh')}数量",
    )
