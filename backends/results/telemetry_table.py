"""What the machines did while each case was measured, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from backends.hosts.same_machine import by_machine
from backends.hosts.telemetry_summary import GpuUse, HostUse
from backends.results.layouts.common import group_title
from backends.results.numbers import NOTHING, fixed, percent, significant, trimmed
from backends.results.render import Column, Table
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.telemetry_figures import (
    counted_word,
    cpus_busy,
    hosts_alone,
    joules_per_sample,
    judged,
    known_of,
    most_throttled,
    of_gpus,
    throttled,
    typical,
    unwatched,
)
from backends.results.telemetry_words import reason_text
from backends.results.translations import Lang, pick

_NOT_ASKED_TWICE = (
    "CPUs busy: asked every five seconds or more often; – where a run trained for too short a time "
    "to be asked twice",
    "CPU忙碌：每5秒查询一次或更频繁；– 表示训练时间太短，不足两次查询",
)


def telemetry_table(groups: Sequence[Group], lang: Lang = "en") -> Table | None:
    """A row per case, of medians over its repeats, and the hottest of them all; None where nobody
    watched any of them."""
    cases = [(case, group) for group in groups for case in group.cases]
    runs = [case.measured_runs for case, _ in cases]
    english = counted_word(group.unit for group in groups)
    counted = pick(lang, english, "token" if english == "token" else "样本")
    columns = [
        (pick(lang, *name).format(sample=counted), cells)
        for name, cell in _CELLS
        if any(cells := [cell(of_case, lang) for of_case in runs])
    ]
    if not columns:
        return None
    if any(unwatched(run) for of_case in runs for run in of_case):
        seen = [_watched(of_case) for of_case in runs]
        columns.append((pick(lang, "repeats watched", "有监测的重复"), seen))
    several = len(groups) > 1
    heads = [Column(pick(lang, "case", "用例"), "left")]
    heads += [Column(pick(lang, "parameters", "参数"), "left")] if several else []
    rows = []
    for number, (case, group) in enumerate(cases):
        which = [group_title(group, groups)] if several else []
        rows.append((case.case, *which, *(cells[number] or NOTHING for _, cells in columns)))
    hottest = any(_hottest(of_case, lang) for of_case in runs)
    medians = [pick(lang, *(_BUT_HOTTEST if hottest else _MEDIANS))]
    medians *= any(len(of_case) > 1 for of_case in runs)
    return Table(
        title=pick(lang, "What the machines did meanwhile", "测试期间的机器状态"),
        columns=(*heads, *(Column(name) for name, _ in columns)),
        rows=tuple(rows),
        notes=(*medians, *_notes(runs, chain.from_iterable(cells for _, cells in columns), lang)),
    )


_MEDIANS = ("medians of the repeats", "各次重复的中位数")
_BUT_HOTTEST = (
    "medians of the repeats, but the hottest °C of any",
    "各次重复的中位数；最高温度取所有重复中的最高值",
)
_OF_SO_MANY = (
    "(k/n): of k of n repeats, for no other that was watched has the figure",
    "(k/n)：仅来自 n 次重复中的 k 次，其余有监测的重复没有该数值",
)


def _notes(runs: Sequence[Sequence[RunResult]], cells: Iterable[str], lang: Lang) -> Iterator[str]:
    """How many repeats a figure is of, and what explains one that is missing beside others of the
    same case, or of other cases."""
    if any("/" in cell and cell.endswith(")") for cell in cells):
        yield pick(lang, *_OF_SO_MANY)
    busy = [typical(of_case, cpus_busy) for of_case in runs]
    short = [
        value is None and any(judged(run).hosts for run in of_case)
        for value, of_case in zip(busy, runs, strict=True)
    ]
    if any(short) and not all(value is None for value in busy):
        yield pick(lang, *_NOT_ASKED_TWICE)


def _watched(runs: Sequence[RunResult]) -> str:
    return f"{sum(not unwatched(run) for run in runs)}/{len(runs)}" if runs else ""


def _hottest(runs: Sequence[RunResult], _lang: Lang) -> str:
    known = [gpu.temperature_c_max for run in runs for gpu in judged(run).gpus]
    return _number(max((value for value in known if value is not None), default=None))


def _number(value: float | None) -> str:
    return "" if value is None else trimmed(value, 0)


def _share(value: float | None) -> str:
    return "" if value is None else percent(value, 0)


def _joules(value: float | None) -> str:
    return significant(value, zeros=True, nothing="")


def _of_maximum(gpu: GpuUse) -> float | None:
    if gpu.sm_clock_mhz_mean is None or not gpu.sm_clock_mhz_max:
        return None
    return gpu.sm_clock_mhz_mean / gpu.sm_clock_mhz_max


def _throttled(runs: Sequence[RunResult], lang: Lang, *, at_its_limit: bool) -> str:
    """``3%``; ``0%, most 65.2%`` where that of one repeat is let pass no more, and over twice the
    median."""
    middle = typical(runs, partial(most_throttled, at_its_limit=at_its_limit))
    worst = throttled(runs, at_its_limit=at_its_limit)
    if middle is None or worst is None or not worst.repeats or worst.share <= 2 * middle:
        return _share(middle)
    return _share(middle) + pick(lang, ", most ", "，最多 ") + percent(worst.share)


def _throttled_cell(runs: Sequence[RunResult], lang: Lang) -> str:
    share = _throttled(runs, lang, at_its_limit=False)
    return _of_so_many(share, runs, partial(most_throttled, at_its_limit=False))


def _at_its_limit(runs: Sequence[RunResult], lang: Lang) -> str:
    """``98% (power cap)``: for how much of the time, and by which limit most of all."""
    share = _throttled(runs, lang, at_its_limit=True)
    found = throttled(runs, at_its_limit=True)
    if found is None or not found.seconds:
        return share
    reason = reason_text(found.reason, lang)
    return pick(lang, f"{share} ({reason})", f"{share}（{reason}）")


Cell = Callable[[Sequence[RunResult], Lang], str]


def _typical(
    figure: Callable[[RunResult], float | None], text: Callable[[float | None], str]
) -> Cell:
    """The median over those of the runs that have such a figure; ``100% (2/4)`` where these are not
    all that were watched."""

    return lambda runs, _lang: _of_so_many(text(typical(runs, figure)), runs, figure)


def _of_so_many(
    shown: str, runs: Sequence[RunResult], figure: Callable[[RunResult], float | None]
) -> str:
    known = known_of(runs, figure)
    return f"{shown} ({known}/{len(runs)})" if shown and known else shown


def _without_gpus(
    figure: Callable[[RunResult, Sequence[HostUse]], float],
) -> Callable[[RunResult], float | None]:
    def found(run: RunResult) -> float | None:
        hosts = hosts_alone(run)
        return figure(run, hosts) if hosts else None

    return found


def _cpus(run: RunResult, hosts: Sequence[HostUse]) -> float:
    """Of a machine that has several names, once."""
    cpus = {host.host: host.cpus for host in hosts}
    boots = dict(zip(run.hosts, run.boot_ids, strict=False))
    machines = by_machine((name, boots.get(name, "")) for name in cpus)
    return sum(max(cpus[name] for name in names) for names in machines)


def _load(_run: RunResult, hosts: Sequence[HostUse]) -> float:
    return max(host.load_start for host in hosts)


_CELLS: tuple[tuple[tuple[str, str], Cell], ...] = (
    (("GPU busy %", "GPU利用率%"), _typical(of_gpus(lambda gpu: gpu.utilization_mean), _number)),
    (("W per GPU", "每GPU功率W"), _typical(of_gpus(lambda gpu: gpu.power_w_mean), _number)),
    (("J per {sample}", "每{sample}焦耳"), _typical(joules_per_sample, _joules)),
    (("SM clock MHz", "SM频率MHz"), _typical(of_gpus(lambda gpu: gpu.sm_clock_mhz_mean), _number)),
    (("of its maximum", "频率占最高值"), _typical(of_gpus(_of_maximum), _share)),
    (("hottest °C", "最高温度°C"), _hottest),
    (("throttled", "降频占时"), _throttled_cell),
    (("at its limit", "达到上限占时"), _at_its_limit),
    (("CPUs", "CPU数"), _typical(_without_gpus(_cpus), _number)),
    (("load at start", "开始时负载"), _typical(_without_gpus(_load), partial(fixed, nothing=""))),
    (("CPUs busy", "CPU忙碌"), _typical(cpus_busy, _share)),
)
