"""What was not steady about a run, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from backends.hangs.verdict_words import verdict_line
from backends.results.case_result import CaseResult
from backends.results.grade import MOST_DISTURBED
from backends.results.numbers import percent, scatter, signed_percent, significant, trimmed
from backends.results.run_result import BANDWIDTH, RunResult
from backends.results.statistics import CV_RED
from backends.results.telemetry_figures import typical
from backends.results.telemetry_words import coinciding
from backends.results.translations import Lang, pick
from profiles.counted import counted
from profiles.throughput.steady import FEWEST_READINGS, Disturbance, Shape


def disturbance_text(found: Disturbance, lang: Lang = "en") -> str:
    """``the speed changes by -15.0% at step 420``"""
    return pick(lang, *_TEXTS[found.shape](found))


def disturbance_brief(found: Disturbance) -> str:
    """``dropped 15.0% at step 420``: beside the mark in a chart."""
    where = _where(found)[0]
    match found.shape:
        case Shape.WARM_UP:
            return f"not level before {where}"
        case Shape.STEP:
            changed = "dropped" if found.size < 0 else "rose"
            return f"{changed} {percent(abs(found.size))} at {where}"
        case Shape.TREND:
            return f"drift {signed_percent(found.size)}"
        case Shape.STALLS if found.count > 1:
            return f"{found.count} stalls, first at {where}"
        case Shape.STALLS:
            return f"stall at {where}"


def window_text(runs: Sequence[RunResult], lang: Lang = "en") -> str:
    """``8 readings, arrived within 4.8 s, CV of speeds within a run 0.30%``, medians over the runs;
    empty of none. ``arrived within 4.8 s (of 1 of 2 repeats)`` where not all of them have one."""
    counts = sorted(run.used for run in runs if run.used)
    if not counts:
        return ""
    few, many = counts[0], counts[-1]
    number = str(few) if few == many else pick(lang, f"{few} to {many}", f"{few}至{many}")
    parts = [f"{number} {pick(lang, 'reading' if many == 1 else 'readings', '个读数')}"]
    if (seconds := typical(runs, lambda run: run.window_s)) is not None:
        of = _of_how_many([run.window_s for run in runs], lang)
        length = f"{significant(seconds)} s"
        parts.append(pick(lang, f"arrived within {length}", f"{length} 内到达") + of)
    if (cv := typical(runs, lambda run: run.within_cv)) is not None:
        of = _of_how_many([run.within_cv for run in runs], lang)
        parts.append(
            pick(lang, "CV of speeds within a run ", "单次运行内速度变异系数 ") + scatter(cv) + of
        )
    return pick(lang, ", ", "，").join(parts)


def _of_how_many(figures: Sequence[float | None], lang: Lang) -> str:
    """Empty where all of them are known."""
    n, known = len(figures), sum(figure is not None for figure in figures)
    if known == n:
        return ""
    return pick(lang, f" (of {known} of {n} repeats)", f"（{n} 次重复中的 {known} 次）")


def steadiness_text(runs: Sequence[RunResult], lang: Lang = "en") -> str:
    """``yes (no drift, step or stall)``, ``no, in 2 of 8 repeats``,
    ``not looked at (8 readings, it takes 10)``,
    ``no drift, step or stall stands out of readings that scatter by 20% (CV)``: whose scatter
    is such that nobody would call them steady, and hides what is smaller. The most of the repeats,
    ``by up to 20% (CV, in repeat 2)`` where that is not their median."""
    if any(run.unit == BANDWIDTH for run in runs):
        return pick(
            lang,
            "not looked at (its readings are trials of a collective)",
            "未检查（读数为集合通信的试验）",
        )
    unsteady = sum(bool(run.steady) for run in runs)
    if unsteady:
        of = len(runs)
        return pick(
            lang, f"no, in {unsteady} of {of} repeats", f"否，{of} 次重复中有 {unsteady} 次"
        )
    unseen = [run for run in runs if run.steady is None]
    if not unseen:
        return _even_or_not(runs, lang)
    fewest = min((run.used for run in unseen if run.used), default=FEWEST_READINGS)
    if fewest >= FEWEST_READINGS:
        return pick(lang, "not looked at", "未检查")
    return pick(
        lang,
        f"not looked at ({counted(fewest, 'reading')}, it takes {FEWEST_READINGS})",
        f"未检查（{fewest} 个读数，需要 {FEWEST_READINGS} 个）",
    )


def _even_or_not(runs: Sequence[RunResult], lang: Lang) -> str:
    """Of runs in which nothing was found."""
    if not runs:
        return ""
    usual = typical(runs, lambda run: run.within_cv)
    worst = max(runs, key=lambda run: run.within_cv or 0.0)
    most = worst.within_cv
    if usual is None or most is None or most <= CV_RED:
        return pick(lang, "yes (no drift, step or stall)", "是（无漂移、阶跃或停顿）")
    up_to, where, where_zh = "", "", ""
    shown = scatter(most, beyond=[CV_RED])
    if scatter(most) != scatter(usual):
        up_to, where = "up to ", f", in repeat {worst.repeat}"
        where_zh = f"，第 {worst.repeat} 次重复"
    return pick(
        lang,
        "no drift, step or stall stands out of readings that scatter by "
        f"{up_to}{shown} (CV{where})",
        f"读数离散达 {shown}（变异系数{where_zh}），其中看不出漂移、阶跃或停顿",
    )


def unsteady_lines(case: CaseResult, lang: Lang = "en") -> list[tuple[float, str]]:
    """What it costs and a line, per shape: of the repeat that it costs most, and how many others
    have it."""
    lines = []
    for shape in Shape:
        having = [
            (found, run, number)
            for run in case.measured_runs
            for number, found in enumerate(run.steady or ())
            if found.shape is shape
        ]
        if having:
            found, run, number = max(having, key=lambda one: one[0].cost)
            whose = _whose(run, len(having), case.succeeded, lang)
            text = disturbance_text(found, lang) + coinciding(run, number, lang)
            told = diagnosed(run, lang) if shape is Shape.STALLS else ""
            lines.append(
                (found.cost, pick(lang, "; ", "；").join(filter(None, (whose + text, told))))
            )
    return lines


def diagnosed(run: RunResult, lang: Lang = "en") -> str:
    """Who kept a run that succeeded after all, by its hosts; empty where nobody asked them, or
    nobody stood out."""
    if run.diagnosis is None or not run.diagnosis.suspects:
        return ""
    told = verdict_line(run.diagnosis, past=True)
    return pick(lang, f"diagnosed meanwhile: {told}", f"其间诊断：{told}")


def _whose(run: RunResult, having: int, of: int, lang: Lang) -> str:
    if having == 1:
        return pick(lang, f"repeat {run.repeat}: ", f"第 {run.repeat} 次重复：")
    return pick(
        lang,
        f"{having} of {of} repeats, costliest in repeat {run.repeat}: ",
        f"{of} 次重复中的 {having} 次，以第 {run.repeat} 次代价最大：",
    )


def _where(found: Disturbance) -> tuple[str, str]:
    if found.step is not None:
        step = trimmed(found.step)
        return f"step {step}", f"第 {step} 步"
    return f"reading {found.reading + 1}", f"第 {found.reading + 1} 个读数"


def _warm_up(found: Disturbance) -> tuple[str, str]:
    (en, zh), size, cost = (
        _where(found),
        percent(abs(found.size)),
        percent(found.cost, 2, beyond=MOST_DISTURBED.values()),
    )
    slow = found.size < 0
    return (
        f"the window begins {size} {'slow' if slow else 'fast'} and is not level before {en}: by "
        f"the shape that fits best its mean is {cost} {'below' if slow else 'above'} its level",
        f"统计窗口起始{'慢' if slow else '快'} {size}，{zh}之前不平稳："
        f"按拟合最佳的形状，均值比其水平{'低' if slow else '高'} {cost}",
    )


def _step(found: Disturbance) -> tuple[str, str]:
    (en, zh), size = _where(found), signed_percent(found.size)
    return (
        f"the speed changes by {size} at {en}",
        f"速度在{zh}变化 {size}",
    )


def _trend(found: Disturbance) -> tuple[str, str]:
    size = signed_percent(found.size)
    return (
        f"the speed drifts by {size} over the window, by a straight line",
        f"速度在窗口内漂移 {size}（按直线拟合）",
    )


def _stalls(found: Disturbance) -> tuple[str, str]:
    (en, zh), size, cost = (
        _where(found),
        signed_percent(found.size),
        percent(found.cost, 2, beyond=MOST_DISTURBED.values()),
    )
    if found.count == 1:
        return (
            f"a reading stalls at {en} ({size}), which costs the figure {cost}",
            f"{zh}停顿（{size}），使结果降低 {cost}",
        )
    every_en = f", one every {found.every}" if found.every else ""
    every_zh = f"，每 {found.every} 个读数一次" if found.every else ""
    return (
        f"{found.count} readings stall{every_en}, the first at {en}, the deepest by {size}; they "
        f"cost the figure {cost}",
        f"{found.count} 个读数停顿{every_zh}，首次在{zh}，最深 {size}，使结果降低 {cost}",
    )


_TEXTS = {
    Shape.WARM_UP: _warm_up,
    Shape.STEP: _step,
    Shape.TREND: _trend,
    Shape.STALLS: _stalls,
}
