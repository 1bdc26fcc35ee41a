"""MLPerf Training's table: the minutes that a system takes to train a benchmark's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.results.layouts.common import DEFAULT, LayoutOptions, simulated
from backends.results.layouts.layout import Results, layout_of_tables
from backends.results.mlperf_score import NoScore, Score, scores
from backends.results.numbers import NOTHING, significant
from backends.results.render import Column, Table
from backends.results.results_json import document, to_json
from backends.results.summary import Group
from backends.results.translations import Lang, pick, words

_WHY = {
    NoScore.TOO_MANY_FAILED: (
        "{failed} of {runs} runs failed; {dropped} may",
        "{runs} 次运行中有 {failed} 次失败，至多允许 {dropped} 次",
    ),
    NoScore.TOO_FEW_RUNS: (
        "{runs} runs leave none when the fastest {dropped} and the slowest {dropped} are left out",
        "{runs} 次运行，去掉最快和最慢各 {dropped} 次后没有剩余",
    ),
    NoScore.FACTORS_DIFFER: (
        "its runs have different scaling factors",
        "各次运行的缩放系数不同",
    ),
    NoScore.SIZES_DIFFER: (
        "its runs are of different numbers of accelerators: import them apart",
        "各次运行的加速器数量不同，请分别导入",
    ),
}


def mlperf_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table: a row per system and benchmark."""
    found = list(scores(groups))
    lang = options.lang
    headings = (
        pick(lang, "accelerators", "加速器数"),
        pick(lang, "score (min)", "得分(分钟)"),
        pick(lang, "runs", "运行次数"),
    )
    several = len({score.campaign for score in found}) > 1
    first = (pick(lang, "system", "系统"), pick(lang, "benchmark", "基准"))
    return (
        Table(
            title="MLPerf Training",
            columns=(
                *(Column(heading, "left") for heading in first),
                *(Column(heading) for heading in headings),
            ),
            rows=tuple(
                (
                    f"{score.system} · {score.campaign}" if several else score.system,
                    score.benchmark,
                    NOTHING if score.accelerators is None else str(score.accelerators),
                    options.throughput(score.minutes, 3),
                    f"{len(score.times)}/{score.runs}" if score.failed else str(score.runs),
                )
                for score in found
            ),
            caption=_rule(lang),
            notes=(
                *((words(lang).simulated,) if simulated(groups) else ()),
                *(note for score in found for note in _notes(score, lang)),
            ),
        ),
    )


def _rule(lang: Lang) -> str:
    return pick(
        lang,
        "Minutes from run_start to run_stop: the mean of the runs without the fastest and the "
        "slowest, a failed run counting as the slowest, times the scaling factor.",
        "从 run_start 到 run_stop 的分钟数：去掉最快和最慢的运行后取平均（失败的运行视为最慢），"
        "再乘以缩放系数。",
    )


def _notes(score: Score, lang: Lang) -> list[str]:
    name = f"{score.system} {score.benchmark}"
    notes = []
    if score.factor != 1:
        text = pick(lang, "{name}: scaling factor {factor}", "{name}：缩放系数 {factor}")
        notes.append(text.format(name=name, factor=significant(score.factor, 6)))
    if score.why is not None:
        text = pick(lang, *_WHY[score.why])
        why = text.format(failed=score.failed, runs=score.runs, dropped=score.dropped)
        notes.append(pick(lang, f"{name}: no score: {why}", f"{name}：无得分：{why}"))
    return notes


def _json(results: Results, _options: LayoutOptions) -> str:
    """The document of results.json, with ``scores``."""
    written = document(results.campaign, results.runs, results.groups, results.path)
    return to_json({**written, "scores": [_document(score) for score in scores(results.groups)]})


def _document(score: Score) -> dict[str, Any]:  # JSON
    return {
        "campaign": score.campaign or None,
        "system": score.system,
        "benchmark": score.benchmark,
        "accelerators": score.accelerators,
        "score_minutes": score.minutes,
        "reason": str(score.why) if score.why else None,
        "scaling_factor": score.factor,
        "minutes": list(score.times),
        "runs": score.runs,
        "failed": score.failed,
    }


LAYOUT = layout_of_tables(
    "mlperf",
    "MLPerf's score of a system: minutes to train",
    mlperf_tables,
    json=_json,
    fits=lambda groups: any(True for _score in scores(groups)),
    lacks=("no result of an MLPerf benchmark", "leave --layout out; mlperf-training has them"),
)
