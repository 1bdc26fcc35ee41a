"""Figures of GPUs and hosts as one line each: a name, the newest value, and how it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from statistics import fmean, median

from rich.text import Text

from backends.hosts.host_facts import HostFacts
from backends.hosts.live_telemetry import GPU_FIGURES, HOST_FIGURES, Figure, LiveTelemetry
from tui.text import shorten
from tui.theme import ACCENT, MUTED

_EIGHTHS = "▁▂▃▄▅▆▇██↑"
"""Of the scale; the last: beyond it by more than one."""
NOTHING = " "
_VALUE = 7
LABEL_WIDTH = 19
"""Columns of a name, a value, and what a full line stands for."""
GAP, LEAST_CURVE = 2, 12
"""Columns between lines that stand beside one another, and of what such a one draws at least."""
ODD = 0.25
"""Of a full line: a GPU whose figure is that far from the median of all is unlike them."""
LOWER, LONG = 0.1, 0.1
"""Of a full line, and of the time drawn: a GPU whose clock was lower than the mean by so much for
so long stands apart from it."""
STANDS_S = 15.0
"""What a host's telemetry tells comes in portions of so long at most."""

Span = tuple[float, float]
"""From when to when, in seconds."""


@dataclass(frozen=True, slots=True)
class Words:
    """``least_top``: what a full line stands for, unless more was measured."""

    name: str
    title: str
    unit: str = ""
    form: str = ".0f"
    least_top: float = 0.0


WORDS = {
    Figure.UTILIZATION: Words("util", "utilisation", "%", least_top=100.0),
    Figure.POWER: Words("power", "power", "W"),
    Figure.CLOCK: Words("clock", "SM clock", "MHz"),
    Figure.MEMORY: Words("mem", "memory", "GiB", ".1f"),
    Figure.TEMPERATURE: Words("temp", "temperature", "°C", least_top=100.0),
    Figure.CPU_BUSY: Words("CPU", "CPU", "%", least_top=100.0),
    Figure.LOAD: Words("load", "load", "", ".1f"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """The telemetry of a host, and which of its GPUs count; none: the host's own figures do.

    ``ahead_s``: its clock minus ours. ``limits``: what a full line stands for, where it is known,
    by GPU; None: of the host.
    """

    host: str
    telemetry: LiveTelemetry
    gpus: tuple[int, ...] = ()
    ahead_s: float = 0.0
    limits: Mapping[int | None, Mapping[Figure, float]] = field(default_factory=dict)


def source_of(
    host: str, telemetry: LiveTelemetry, gpus: Iterable[int], facts: HostFacts | None
) -> Source:
    """``gpus``: those that count, if they were seen; ``facts``: of a probe, for what is full."""
    seen = tuple(gpu for gpu in gpus if gpu in telemetry.gpus)
    if facts is None:
        return Source(host, telemetry, seen)
    limits: dict[int | None, Mapping[Figure, float]] = {
        gpu.index: {
            Figure.MEMORY: float(gpu.memory_total_mib or 0),
            Figure.POWER: gpu.power_limit_w or 0.0,
            Figure.CLOCK: float((gpu.application_clocks_mhz or (0,))[0]),
        }
        for gpu in facts.gpus
    }
    limits[None] = {Figure.LOAD: float(facts.cpus)}
    return Source(host, telemetry, seen, facts.certain_clock_offset_s, limits)


def value_text(figure: Figure, value: float | None) -> str:
    """``97%``, ``302 W``, ``1530MHz``, ``12.1GiB``, ``61°C``; a dash where nothing is known."""
    if value is None:
        return "–"
    if figure is Figure.MEMORY:
        value /= 1024
    return f"{value:{WORDS[figure].form}}{WORDS[figure].unit}"


def scaled_text(figure: Figure, value: float | None, top: float) -> str:
    """With what a full line stands for: ``97/100%``, ``302/400W``, ``12.1/15.8GiB``."""
    said, full = value_text(figure, value), value_text(figure, top)
    if value is None or top <= 0:
        return said
    return f"{said.removesuffix(WORDS[figure].unit)}/{full}"


def sparkline(values: Sequence[float | None], top: float) -> str:
    """One character per value, from 0 to ``top``, and for what is beyond; a gap where there is
    none."""
    return "".join(
        NOTHING
        if value is None
        else _EIGHTHS[max(0, int(min(9.0, value / top * 8)))]
        if top > 0
        else _EIGHTHS[0]
        for value in values
    )


def tall_sparkline(values: Sequence[float | None], top: float, rows: int) -> list[str]:
    """As :func:`sparkline`, on several rows, the highest first."""
    if rows == 1 or top <= 0:
        return [NOTHING * len(values)] * (rows - 1) + [sparkline(values, top)]
    part = top / rows
    lines = []
    for below in reversed(range(rows)):
        above = [None if v is None or (v <= below * part and below) else v for v in values]
        most = part if below < rows - 1 else inf  # what is higher goes on in the row above
        lines.append(
            sparkline([None if v is None else min(v - below * part, most) for v in above], part)
        )
    return lines


def figures_of(sources: Sequence[Source]) -> tuple[Figure, ...]:
    """Which figures there are: of the GPUs where there are some, else of the hosts."""
    return GPU_FIGURES if any(source.gpus for source in sources) else HOST_FIGURES


def means(
    sources: Sequence[Source],
    span: Span,
    columns: int,
    *,
    label: int = LABEL_WIDTH,
    counted: Span | None = None,
) -> list[Text]:
    """A line per figure: the mean over all GPUs, of temperatures the hottest.

    ``span``: seconds since the epoch, our clock.
    ``counted``: of a run that has ended, the time whose mean is said, and not the newest value.
    """
    each = _each(sources)
    return [
        _line(name_of(figure, sources), figure, each, span, columns, label, counted=counted)
        for figure in figures_of(sources)
    ]


def all_known(sources: Sequence[Source], counted: Span) -> bool:
    """Each figure that was seen at all has a mean over the time."""
    curves = _each(sources)
    return all(
        _of_time(figure, curves, counted) is not None
        for figure in figures_of(sources)
        if _now(figure, curves) is not None
    )


def none_known(sources: Sequence[Source], counted: Span) -> bool:
    """No figure has a mean over the time."""
    curves = _each(sources)
    return all(_of_time(figure, curves, counted) is None for figure in figures_of(sources))


def name_of(figure: Figure, sources: Sequence[Source]) -> str:
    """Of what is said of all of them: "util"; of several GPUs' temperatures "hottest"."""
    several = len(_each(sources)) > 1
    return "hottest" if figure is Figure.TEMPERATURE and several else WORDS[figure].name


def each_gpu(
    sources: Sequence[Source],
    figure: Figure,
    span: Span,
    columns: int,
    *,
    label: int = LABEL_WIDTH,
    counted: Span | None = None,
    odd_first: bool = False,
) -> list[Text]:
    """A line per GPU, or per host where the figure is the host's; all to the one :func:`scale`.

    ``counted``: as for :func:`means`. ``odd_first``: those come first that are far from most.
    """
    several = len(sources) > 1
    lines = []
    each = _each(sources)
    top = _top(figure, each)
    for source, gpu in _odd_first(figure, each, top, counted) if odd_first else each:
        name = _gpu_name(source, gpu, several=several)
        curves = [(source, gpu)]
        lines.append(_line(name, figure, curves, span, columns, label, top, counted))
    return lines


def _gpu_name(source: Source, gpu: int | None, *, several: bool) -> str:
    """``several``: hosts."""
    return source.host if gpu is None else f"{source.host}:{gpu}" if several else f"GPU{gpu}"


def lowest_clock(
    sources: Sequence[Source],
    span: Span,
    columns: int,
    *,
    label: int = LABEL_WIDTH,
    counted: Span | None = None,
) -> Text | None:
    """The line of the GPU whose clock is far below the mean, by which all of them wait; None where
    there is none, or GPUs of several kinds. As :func:`means` otherwise."""
    figure, each = Figure.CLOCK, [one for one in _each(sources) if one[1] is not None]
    if len(each) < 2 or _differ(figure, each):
        return None
    top, ended = _top(figure, each), counted[1] if counted else inf
    drawn = _drawn(figure, each, span, columns, ended)
    lacks = [0.0] * len(each)
    for column in zip(*drawn, strict=True):
        mean = _of_all(figure, column)
        for n, value in enumerate(column):
            if mean is not None and value is not None and mean - value > LOWER * top:
                lacks[n] += mean - value
    known = max(sum(value is not None for value in one) for one in drawn)
    worst = max(range(len(each)), key=lacks.__getitem__)
    if lacks[worst] <= LOWER * top * LONG * known:
        return None
    source, gpu = each[worst]
    name = _gpu_name(source, gpu, several=len(sources) > 1)
    return _line(name, figure, [each[worst]], span, columns, label, top, counted)


def columns_for(number: int, rows: int, width: int, label: int = LABEL_WIDTH) -> int:
    """How many lines stand beside one another, so that ``number`` of them need no more than
    ``rows``, as far as ``width`` has room; one, where ``rows`` is 0: then they are cut."""
    most = max(1, (width + GAP) // (label + LEAST_CURVE + GAP))
    if not (rows and number):
        return 1
    lines = ceil(number / min(ceil(number / rows), most))
    return ceil(number / lines)  # which is fewer where a last column would be empty


def in_columns(lines: Sequence[Text], columns: int, width: int) -> list[Text]:
    """Down the first column, then the next: a host's GPUs stay together. ``width``: of a column."""
    rows, apart, shown = ceil(len(lines) / columns), width + GAP, []
    for at in range(rows):
        row = lines[at].copy()
        for line in lines[at + rows :: rows]:
            row.pad_right(apart - row.cell_len % apart)
            row.append_text(line)
        shown.append(row)
    return shown


def scale(sources: Sequence[Source], figure: Figure) -> str:
    """What a full line stands for where each GPU has its own: "100%"."""
    return value_text(figure, _top(figure, _each(sources)))


_Curves = Sequence[tuple[Source, int | None]]


def _each(sources: Sequence[Source]) -> _Curves:
    return [(source, gpu) for source in sources for gpu in (source.gpus or (None,))]


def _odd_first(
    figure: Figure, curves: _Curves, top: float, counted: Span | None
) -> Sequence[tuple[Source, int | None]]:
    values = [_of_time(figure, [c], counted) if counted else _now(figure, [c]) for c in curves]
    known = [value for value in values if value is not None]
    if not known:
        return curves
    usual = median(known)
    near = [value is None or abs(value - usual) < ODD * top for value in values]
    return [curves[at] for at in sorted(range(len(curves)), key=near.__getitem__)]


def _limits(figure: Figure, curves: _Curves) -> list[float]:
    return [
        source.limits.get(gpu, {}).get(figure) or source.telemetry.limit(figure, gpu)
        for source, gpu in curves
    ]


def _differ(figure: Figure, curves: _Curves) -> bool:
    """No GPU has the mean of their limits."""
    return len({value_text(figure, one) for one in _limits(figure, curves) if one}) > 1


def unlike(sources: Sequence[Source]) -> bool:
    """Its GPUs have several limits of a figure."""
    return any(_differ(figure, _each(sources)) for figure in figures_of(sources))


def _top(figure: Figure, curves: _Curves, *, mean: bool = False) -> float:
    """What is full, whatever was seen (a load may be beyond the CPUs); where nobody knows, the most
    that was. ``mean``: for the mean of GPUs that differ, else for the largest of them."""
    limits = _limits(figure, curves)
    known = max(limits) if not mean else fmean(limits) if all(limits) else 0.0
    tops = [source.telemetry.top(figure, gpu) for source, gpu in curves]
    return known or max(WORDS[figure].least_top, *tops)


def _line(
    name: str,
    figure: Figure,
    curves: _Curves,
    span: Span,
    columns: int,
    label: int,
    top: float | None = None,
    counted: Span | None = None,
) -> Text:
    values = _columns(figure, curves, span, columns, counted[1] if counted else inf)
    counts = _of_time(figure, curves, counted) if counted else _now(figure, curves)
    full = _top(figure, curves, mean=True) if top is None else top
    scaled = top is None and not _differ(figure, curves)
    said = scaled_text(figure, counts, full) if scaled else value_text(figure, counts)
    text = Text(no_wrap=True, end="")
    room = max(0, label - len(said) - 2)
    text.append(shorten(name, room).ljust(room + 1), MUTED).append(f"{said} "[-label:])
    if counted and counts is None:  # a curve of what is not in the figure would belie it
        few = "no reading" if figure is Figure.TEMPERATURE else "no two readings"
        return text.append(shorten(f"{few} in that time", columns), MUTED)
    return text.append(sparkline(values, full), ACCENT)


def _columns(
    figure: Figure, curves: _Curves, span: Span, number: int, ended: float
) -> list[float | None]:
    """Of all in each of ``number`` equal parts of the time; None: nothing was seen."""
    drawn = _drawn(figure, curves, span, number, ended)
    return [_of_all(figure, column) for column in zip(*drawn, strict=True)]


def _drawn(
    figure: Figure, curves: _Curves, span: Span, number: int, ended: float
) -> list[list[float | None]]:
    """The same of each. The last sample of each stands until the last of all, as far as
    :data:`STANDS_S`: the hosts tell by turns."""
    parts = [
        source.telemetry.columns(
            figure,
            span[0] + source.ahead_s,
            span[1] + source.ahead_s,
            number,
            gpu,
            ended + source.ahead_s,
        )
        for source, gpu in curves
    ]
    ends = [max((n for n, one in enumerate(part) if one is not None), default=-1) for part in parts]
    last, most = max(ends, default=-1), ceil(STANDS_S * number / (span[1] - span[0]))
    for part, end in zip(parts, ends, strict=True):
        if 0 <= end < last:
            stands = min(last - end, most)
            part[end + 1 : end + 1 + stands] = [part[end]] * stands
    return parts


def _of_all(figure: Figure, values: Iterable[float | None]) -> float | None:
    """The mean; of temperatures the hottest, which slows all of them down."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if figure is Figure.TEMPERATURE else fmean(known)


def _of_time(figure: Figure, curves: _Curves, span: Span) -> float | None:
    """Of all over the time, both ends included."""
    over = (
        (source.telemetry, span[0] + source.ahead_s, span[1] + source.ahead_s, gpu)
        for source, gpu in curves
    )
    hottest = figure is Figure.TEMPERATURE
    return _of_all(
        figure,
        [
            told.most(figure, start, end, gpu) if hottest else told.mean(figure, start, end, gpu)
            for told, start, end, gpu in over
        ],
    )


def newest(figure: Figure, sources: Sequence[Source]) -> float | None:
    """The mean of the newest samples of all; of temperatures the hottest."""
    return _now(figure, _each(sources))


def _now(figure: Figure, curves: _Curves) -> float | None:
    return _of_all(figure, [source.telemetry.last(figure, gpu) for source, gpu in curves])


def side_by_side(
    source: Source, span: tuple[float, float], width: int, rows: int = 1
) -> list[Text]:
    """All figures of a GPU, or of a host that has none, beside one another; above them their names,
    and where there is room what a full line stands for.

    ``span``: seconds since the epoch, by the host's clock. ``rows``: lines of each.
    """
    figures = figures_of([source])
    names = [f"GPU{gpu}" for gpu in source.gpus] or [shorten(source.host, 12)]
    first = max(map(len, names)) + 1
    room = min(40, (width - first) // len(figures))
    tops = {figure: _top(figure, _each([source])) for figure in figures}
    titles = [
        f"{WORDS[figure].title} of {value_text(figure, top)}" if top else WORDS[figure].title
        for figure, top in tops.items()
    ]
    before = min(_VALUE + 1, room - 1 - max(map(len, titles)))
    cells = [
        f"{'':{before}}{title}".ljust(room)
        if before >= 0
        else f"{WORDS[figure].name:>{_VALUE}}".ljust(room)
        for figure, title in zip(figures, titles, strict=True)
    ]
    lines = [Text(" " * first + "".join(cells), MUTED, no_wrap=True, end="")]
    for name, gpu in zip(names, source.gpus or (None,), strict=True):
        drawn = [Text(" " * first, no_wrap=True, end="") for _ in range(rows - 1)]
        drawn.append(Text(name.ljust(first), MUTED, no_wrap=True, end=""))
        for figure in figures:
            said = value_text(figure, source.telemetry.last(figure, gpu))
            values = source.telemetry.columns(figure, *span, room - _VALUE - 2, gpu)
            for line, spark in zip(drawn, tall_sparkline(values, tops[figure], rows), strict=True):
                line.append(f"{said if line is drawn[-1] else '':>{_VALUE}} ")
                line.append(spark, ACCENT).append(" ")
        lines += drawn
    return lines
