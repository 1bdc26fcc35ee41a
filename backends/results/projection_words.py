"""The section PROJECTED of a report: a table of its own, apart from all that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.results.device_words import words_of
from backends.results.escaping import md_text
from backends.results.layouts.common import group_title, speedup_notes
from backends.results.numbers import NOTHING, percent, significant
from backends.results.projection import (
    FACTORS,
    WIDEST,
    Projected,
    Projection,
    Reason,
    ScalingModel,
    project_group,
)
from backends.results.render import Column, Table, render_markdown
from backends.results.summary import Group
from backends.results.translations import Lang, pick

MODELS: Mapping[ScalingModel, tuple[str, str]] = {
    ScalingModel.AMDAHL: ("Amdahl", "Amdahl"),
    ScalingModel.ALPHA_BETA: ("alpha-beta", "alpha-beta"),
    ScalingModel.USL: ("USL", "USL"),
    ScalingModel.TWO_LINKS: ("alpha-beta, two links", "alpha-beta（两级链路）"),
}
_REASONS: Mapping[Reason, tuple[str, str]] = {
    Reason.ONE_NODE: (
        "Nothing is projected: all cases ran on one node, and what the link between nodes costs "
        "was not measured. One case on two nodes would tell.",
        "不作推算：所有配置都在单个节点上，节点间链路的代价未曾测得。补测一个双节点配置即可。",
    ),
    Reason.NO_BETTER: (
        "Nothing is projected: no scaling model predicts the measured cases better than a straight "
        "line does.",
        "不作推算：没有任何扩展模型比直线更好地预测已测配置。",
    ),
    Reason.WIDE: (
        "Nothing is projected: the band would reach beyond {widest} of the figure.",
        "不作推算：区间会超出推算值的 {widest}。",
    ),
}


def projection_section(groups: Sequence[Group], lang: Lang = "en") -> list[str]:
    """Blocks of markdown, its heading first; none where no group has four scales."""
    projections = [(group, project_group(group)) for group in groups]
    tables = [_table(group, found, groups, lang) for group, found in projections if found]
    if not tables:
        return []
    if any(found.points for _, found in projections if found):
        warning = pick(
            lang,
            "Nobody measured these figures: scaling models that were fitted to the measured cases "
            f"say them, at most {FACTORS[-1]} times farther out. The chosen model is the one that "
            "predicts each measured scale best from the others.",
            "以下数字并非实测，而是由拟合已测配置的扩展模型推算，最多外推至 "
            f"{FACTORS[-1]} 倍规模。所选模型由留一法误差最小者决定。",
        )
        return [f"## {_heading(lang)}", f"> **{warning}**", *tables]
    return [f"## {_heading(lang)}", *tables]


def _heading(lang: Lang) -> str:
    return pick(lang, "PROJECTED", "推算（PROJECTED）")


def _table(group: Group, found: Projection, groups: Sequence[Group], lang: Lang) -> str:
    title = group_title(group, groups)
    if found.reason is not None:
        said = pick(lang, *_REASONS[found.reason]).format(widest=percent(WIDEST, 0))
        return f"### {md_text(title)}\n\n{said}"
    w = words_of([group], lang)
    headings = (
        _heading(lang),
        w.gpus,
        w.throughput,
        pick(lang, "band", "区间"),
        w.speedup,
        pick(lang, "band of speedup", "加速比区间"),
        w.efficiency,
    )
    return render_markdown(
        [
            Table(
                title,
                tuple(Column(heading) for heading in headings),
                tuple(_row(point, group) for point in found.points),
                caption=_caption(group, found, lang),
                notes=(*_notes(found, lang), *speedup_notes([group], w)),
            )
        ]
    )


def _row(point: Projected, group: Group) -> tuple[str, ...]:
    base = group.base_case
    cells = (point.case, str(point.gpus), _figure(point.throughput), _band(point))
    if not base.throughput:
        return (*cells, *([NOTHING] * 3))
    speedup = point.over(base.throughput)
    efficiency = percent(speedup.throughput * base.gpus / point.gpus)
    return (*cells, _figure(speedup.throughput), _band(speedup), efficiency)


def _band(point: Projected) -> str:
    return f"{_figure(point.low)} … {_figure(point.high)}"


def _figure(value: float) -> str:
    """Three digits: more would say more than a band of percents does."""
    return significant(value)


def model_name(model: ScalingModel, lang: Lang = "en") -> str:
    return pick(lang, *MODELS[model])


def _caption(group: Group, found: Projection, lang: Lang) -> str:
    model = model_name(found.model, lang) if found.model else NOTHING
    error = percent(found.error)
    return pick(
        lang,
        f"Throughput in {group.unit}, projected by the model {model}; "
        f"leave-one-out error {error}. Speedup relative to {group.base}.",
        f"吞吐单位为 {group.unit}，由模型 {model} 推算，留一法误差 {error}。"
        f"加速比以 {group.base} 为基准。",
    )


def _notes(found: Projection, lang: Lang) -> tuple[str, ...]:
    if not found.withheld:
        return ()
    cases, widest = ", ".join(found.withheld), percent(WIDEST, 0)
    return (
        pick(
            lang,
            f"{cases}: not projected, the band would reach beyond {widest} of the figure",
            f"{cases}：不作推算，区间会超出推算值的 {widest}",
        ),
    )
