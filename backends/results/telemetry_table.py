"""What the machines did while each case was measured, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backends.hosts.telemetry_summary import GpuUse
from backends.results.layouts.common import group_title
from backends.results.numbers import NOTHING, percent, significant, trimmed
from backends.results.render import Column, Table
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.telemetry_figures import (
    counted_word,
    cpus_busy,
    joules_per_sample,
    judged,
    most_throttled,
    of_gpus,
    typical,
    unwatched,
)
from backends.results.translations import Lang, pick


def telemetry_table(groups: Sequence[Group], lang: Lang = "en") -> Table | None:
    """A row per case, of medians over its repeats; None where nobody watched any of them."""
    cases = [(case, group) for group in groups for case in group.cases]
    english = counted_word(group.unit for group in groups)
    counted = pick(lang, english, "token" if english == "token" else "样本")
    columns = [
        (pick(lang, *name).format(sample=counted), cells)
        for name, figure, text in _FIGURES
        if any(cells := [text(typical(case.measured_runs, figure)) for case, _ in cases])
    ]
    if not columns:
        return None
    if any(unwatched(run) for case, _ in cases for run in case.measured_runs):
        seen = [_watched(case.measured_runs) for case, _ in cases]
        columns.append((pick(lang, "repeats watched", "有监测的重复"), seen))
    several = len(groups) > 1
    heads = [Column(pick(lang, "case", "用例"), "left")]
    heads += [Column(pick(lang, "parameters", "参数"), "left")] if several else []
    rows = []
    for number, (case, group) in enumerate(cases):
        which = [group_title(group, groups)] if several else []
        rows.append((case.case, *which, *(cells[number] or NOTHING for _, cells in columns)))
    return Table(
        title=pick(lang, "What the machines did meanwhile", "测试期间的机器状态"),
        columns=(*heads, *(Column(name) for name, _ in columns)),
        rows=tuple(rows),
    )


def _watched(runs: Sequence[RunResult]) -> str:
    return f"{sum(not unwatched(run) for run in runs)}/{len(runs)}" if runs else ""


def _hottest(run: RunResult) -> float | None:
    known = [gpu.temperature_c_max for gpu in judged(run).gpus]
    return max((value for value in known if value is not None), default=None)


def _number(value: float | None) -> str:
    return "" if value is None else trimmed(value, 0)


def _share(value: float | None) -> str:
    return "" if value is None else percent(value, 0)


def _joules(value: float | None) -> str:
    return significant(value, nothing="")


def _of_maximum(gpu: GpuUse) -> float | None:
    if gpu.sm_clock_mhz_mean is None or not gpu.sm_clock_mhz_max:
        return None
    return gpu.sm_clock_mhz_mean / gpu.sm_clock_mhz_max


_FIGURES: tuple[
    tuple[
        tuple[str, str],
        Callable[[RunResult], float | None],
        Callable[[float | None], str],
    ],
    ...,
] = (
    (("GPU busy %", "GPU利用率%"), of_gpus(lambda gpu: gpu.utilization_mean), _number),
    (("W per GPU", "每GPU功率W"), of_gpus(lambda gpu: gpu.power_w_mean), _number),
    (("J per {sample}", "每{sample}焦耳"), joules_per_sample, _joules),
    (("SM clock MHz", "SM频率MHz"), of_gpus(lambda gpu: gpu.sm_clock_mhz_mean), _number),
    (("of its maximum", "频率占最高值"), of_gpus(_of_maximum), _share),
    (("hottest °C", "最高温度°C"), _hottest, _number),
    (("throttled", "降频占时"), most_throttled, _share),
    (("CPUs busy", "CPU忙碌"), cpus_busy, _share),
)
