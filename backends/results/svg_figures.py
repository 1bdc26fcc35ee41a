"""SVG figures beside the report: throughput per case, and speedup against the ideal.

The same results give the same bytes: no dates, no random ids. matplotlib is an optional extra and
is imported only when figures are asked for.
"""

from __future__ import annotations

import io
import math
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backends.results.busbw_curve import curve, size_text
from backends.results.case_result import CaseResult
from backends.results.device_words import devices_heading
from backends.results.escaping import one_line
from backends.results.layouts.common import group_title, simulated
from backends.results.projection import Projected, project_group
from backends.results.summary import Group
from backends.results.translations import Lang, pick
from profiles.errors import DlperfError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LABEL = 60
_STYLE: Any = {  # the keys are typed as a Literal of three hundred names
    "svg.hashsalt": "dlperf-tui",  # ids inside the file do not change from run to run
    "svg.fonttype": "none",  # text stays text, the viewer's fonts have the Chinese characters
    "text.parse_math": False,  # a $ in a host's text is a $
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}
_MARKERS = "osD^vP*X"  # told apart without colour
_SIZE_INCHES = (7.2, 4.2)
_DRAWING = threading.Lock()
"""matplotlib's settings and the filters of warnings are the whole process's."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """``name`` is a file name that ends in .svg."""

    name: str
    title: str
    svg: str


def require_matplotlib() -> None:
    """Raise DlperfError with the remedy where the extra is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError as error:
        raise DlperfError(
            "figures need matplotlib, which is not installed",
            remedy="pip install 'dlperf-tui[figures]'",
        ) from error


def draw_figures(groups: Sequence[Group], lang: Lang = "en") -> tuple[Drawing, ...]:
    """Two figures per model: throughput and speedup, one series per group; of a collective instead
    its bandwidth over sizes. Without figures: none.

    Raises
    ------
    DlperfError: without matplotlib, with the command that installs it.
    """
    require_matplotlib()
    by_model: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.measured_cases:
            by_model.setdefault((group.model, group.unit), []).append(group)
    drawings: list[Drawing] = []
    for (model, unit), own in by_model.items():
        slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or "model"
        firsts = (f"throughput-{slug}", f"bandwidth-{slug}")
        taken = sum(drawing.name.startswith(firsts) for drawing in drawings)
        name = f"{slug}-{taken + 1}.svg" if taken else f"{slug}.svg"
        with _DRAWING:
            drawings += _draw_model(own, model, unit, name, lang)
    return tuple(drawings)


def _draw_model(
    own: Sequence[Group], model: str, unit: str, name: str, lang: Lang
) -> Iterator[Drawing]:
    if any(len(curve(case)) > 1 for group in own for case in group.cases):
        title = pick(lang, f"Bus bandwidth of {model}", f"{model} 总线带宽")
        yield Drawing(f"bandwidth-{name}", title, _bandwidth(own, title, unit, lang))
        return
    title = pick(lang, f"Throughput of {model}", f"{model} 吞吐")
    yield Drawing(f"throughput-{name}", title, _throughput(own, title, unit, lang))
    if any(case.speedup is not None for group in own for case in group.cases):
        title = pick(lang, f"Speedup of {model}", f"{model} 加速比")
        yield Drawing(f"speedup-{name}", title, _speedup(own, title, lang))


def _throughput(own: Sequence[Group], title: str, unit: str, lang: Lang) -> str:
    """Bars from zero: their lengths are the throughputs. The whiskers are min and max."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure, axes = _blank(own, title)
        sizes = sorted({(c.gpus, c.nodes, c.case) for g in own for c in g.measured_cases})
        width = 0.8 / len(own)
        for i, group in enumerate(own):
            found = {case.case: case for case in group.measured_cases}
            at = [j for j, (_, _, tag) in enumerate(sizes) if tag in found]
            cases = [found[sizes[j][2]] for j in at]
            heights = [case.throughput or 0.0 for case in cases]
            spreads = [case.spread for case in cases]
            pairs = list(zip(heights, spreads, strict=True))
            below = [h - s.minimum if s and s.n > 1 else math.nan for h, s in pairs]
            above = [s.maximum - h if s and s.n > 1 else math.nan for h, s in pairs]
            axes.bar(
                [j + (i - (len(own) - 1) / 2) * width for j in at],
                heights,
                width * 0.92,
                yerr=[below, above],
                capsize=2,
                error_kw={"elinewidth": 0.8},
                label=_label(group, own),
            )
        axes.set_xticks(range(len(sizes)), [tag for _, _, tag in sizes])
        axes.set_ylabel(one_line(unit))
        axes.grid(axis="y", linewidth=0.5, alpha=0.5)
        return _svg(figure, axes)


def _bandwidth(own: Sequence[Group], title: str, unit: str, lang: Lang) -> str:
    """A series per case over sizes on a logarithmic axis to base 2; a size of 0 has no place."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure, axes = _blank(own, title)
        series = [(group, case) for group in own for case in group.cases if curve(case)]
        sizes: set[int] = set()
        for i, (group, case) in enumerate(series):
            points = {size: busbw for size, busbw in curve(case).items() if size > 0}
            sizes.update(points)
            label = f"{case.case} {_label(group, own)}" if len(own) > 1 else case.case
            marker = _MARKERS[i % len(_MARKERS)]
            axes.plot(list(points), list(points.values()), marker=marker, label=label[:_LABEL])
        axes.set_xscale("log", base=2)
        ticks = sorted(sizes)[:: max(1, len(sizes) // 8)]
        axes.set_xticks(ticks, [size_text(size) for size in ticks], minor=False)
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel(pick(lang, "size", "大小"))
        axes.set_ylabel(f"busbw ({one_line(unit)})")
        axes.grid(linewidth=0.5, alpha=0.5)
        return _svg(figure, axes)


def _speedup(own: Sequence[Group], title: str, lang: Lang) -> str:
    """Both axes logarithmic to base 2: ideal scaling is a straight line of slope 1.

    The whiskers are the 95% intervals, where the repeats allow one.
    """
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure, axes = _blank(own, title)
        farther = [_projected(group) for group in own]
        measured = {case.gpus for group in own for case in group.measured_cases}
        all_gpus = sorted(measured.union(point.gpus for points in farther for point in points))
        bases = {group.base_case.gpus for group in own if group.base_case.throughput}
        smallest = min(bases)
        axes.plot(
            all_gpus,
            [gpus / smallest for gpus in all_gpus],
            color="0.5",
            linestyle="--",
            linewidth=1,
            label=pick(lang, "ideal", "理想"),
        )
        for i, group in enumerate(own):
            cases = [case for case in group.measured_cases if case.speedup is not None]
            if not cases:
                continue
            # A base of its own shifts a series onto the ideal line it is to be held against.
            shift = group.base_case.gpus / smallest
            series = axes.errorbar(
                [case.gpus for case in cases],
                [(case.speedup or 0.0) * shift for case in cases],
                yerr=[[reach * shift for reach in side] for side in _whiskers(cases)],
                capsize=2,
                elinewidth=0.8,
                marker=_MARKERS[i % len(_MARKERS)],
                label=_label(group, own),
            )
            last = (cases[-1].gpus, (cases[-1].speedup or 0.0) * shift)
            _draw_projected(axes, series.lines[0], last, [p.over(1 / shift) for p in farther[i]])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(all_gpus, [str(gpus) for gpus in all_gpus], minor=False)
        ticks = sorted({gpus / smallest for gpus in all_gpus})
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
        axes.set_xlabel(devices_heading(own, lang))
        axes.set_ylabel(pick(lang, "speedup", "加速比"))
        axes.grid(linewidth=0.5, alpha=0.5)
        return _svg(figure, axes)


def _projected(group: Group) -> list[Projected]:
    """Speedups that nobody measured."""
    found, base = project_group(group), group.base_case.throughput
    return [point.over(base) for point in found.points] if found and base else []


def _draw_projected(
    axes: Axes, measured: Line2D, last: tuple[int, float], points: Sequence[Projected]
) -> None:
    """Dashed on from the last measured point, with hollow markers and a band."""
    if not points:
        return
    colour = measured.get_color()
    x = [last[0], *(point.gpus for point in points)]
    low = [last[1], *(point.low for point in points)]
    high = [last[1], *(point.high for point in points)]
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        x,
        [last[1], *(point.throughput for point in points)],
        color=colour,
        linestyle="--",
        marker=measured.get_marker(),
        markerfacecolor="white",
        markevery=slice(1, None),
        label="PROJECTED",
    )


def _whiskers(cases: Sequence[CaseResult]) -> tuple[list[float], list[float]]:
    """How far the intervals reach below and above the speedups; 0 where there is none.

    Welch's interval is that of other means: it may end a hair before the ratio of the medians.
    """
    known = [(case.speedup or 0.0, case.speedup_interval) for case in cases]
    below = [max(0.0, ratio - span.low) if span else 0.0 for ratio, span in known]
    above = [max(0.0, span.high - ratio) if span else 0.0 for ratio, span in known]
    return below, above


def _blank(own: Sequence[Group], title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # noqa: PLC0415 -- without pyplot: no global figures

    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    mark = " · SIMULATED" if simulated(own) else ""
    axes.set_title(one_line(title)[:_LABEL] + mark)
    return figure, axes


def _label(group: Group, own: Sequence[Group]) -> str:
    text = one_line(group_title(group, own))
    # A leading underscore would hide the series from the legend.
    return text.lstrip("_")[:_LABEL] or "?"


def _svg(figure: Figure, axes: Axes) -> str:
    axes.legend(frameon=False, fontsize=8)
    out = io.StringIO()
    with warnings.catch_warnings():
        # The font at hand may lack Chinese; the text stays text and the viewer's font has it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "dlperf-tui"})
    return out.getvalue()
