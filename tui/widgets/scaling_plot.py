"""How cases scale, as a plot: speedup, efficiency or samples/s per device, over devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from rich.text import Text

from backends.results.case_result import CaseResult
from backends.results.device_words import devices_text
from backends.results.layouts.cells import speedup_marks
from backends.results.numbers import percent, significant
from backends.results.projection import Projected
from backends.results.reference_comparison import held_figures
from backends.results.summary import Group
from profiles.case_tag import format_tag
from profiles.references.reference_tables import Measured as Figure
from tui.text import join, number, plain
from tui.theme import MUTED, TEXT
from tui.widgets.chart import (
    ABOVE,
    BAR,
    CURSOR,
    MAX_LINES,
    Line,
    Plot,
    Point,
    finite,
    series_colour,
)
from tui.widgets.chart_scale import AXIS_ABOVE_0

ONE_HOST, HOSTS, PUBLISHED = "●", "◆", "☆"
"""What marks the cases on one host, those on several, and what others published."""
IDEAL = "·"
DOUBTS = {"†": "other environment", "‡": "other rule", "§": "shared unlike base"}
"""Of a speedup's marks, in the legend."""
NAMED = 90
"""Columns with room for what the mark of the case under the cursor is."""
WIDE = 50
"""Columns from which a curve may go on to twice its length without hiding what was measured."""
FROM_ZERO, LEAST = 0.5, 0.99
"""Where all values are above this share of the highest, the axis begins above 0; the share that
it shows at least is what the other one leaves."""


FAR = 1.5
"""Times the highest point or ideal: intervals that end beyond it are cut, so that they do not
flatten the curves."""
TOO_FEW = "a curve needs two sizes of the same case"


class Quantity(StrEnum):
    """What a curve is of. Each is the throughput times a factor."""

    SPEEDUP = "speedup"
    EFFICIENCY = "efficiency"
    PER_DEVICE = "per_device"

    @property
    def next(self) -> Quantity:
        every = list(Quantity)
        return every[(every.index(self) + 1) % len(every)]

    def of(self, throughput: float, gpus: int, base: CaseResult) -> float | None:
        """A throughput on so many devices as this quantity, efficiency in percent; None without a
        measured base."""
        if self is Quantity.PER_DEVICE:
            return throughput / gpus
        if not base.throughput:
            return None
        speedup = throughput / base.throughput
        return speedup if self is Quantity.SPEEDUP else 100 * speedup * base.gpus / gpus


def quantity_label(quantity: Quantity) -> str:
    """For a key."""
    return str(quantity).replace("_", " ").capitalize()


def curve_title(
    quantity: Quantity, unit: str, groups: Sequence[Group], base: str = "", *, room: int
) -> Text:
    """Every quantity by name, the one that is shown set off; of the others those that have
    ``room``, whole. ``unit``: of the throughput; ``base``: the case that it refers to, where that
    is not said elsewhere."""
    refers = f", base {base}" if base and quantity is not Quantity.PER_DEVICE else ""
    parts: dict[Quantity, Text | str | tuple[str, str]] = {
        one: f"▸ {curve_name(one, unit, groups)}{refers}"
        if one is quantity
        else (_figure_name(one, unit, groups), MUTED)
        for one in Quantity
    }
    for other in reversed([one for one in Quantity if one is not quantity]):
        if join(parts.values(), " · ").cell_len > room:
            del parts[other]
    return join(parts.values(), " · ")


def curve_name(quantity: Quantity, unit: str, groups: Sequence[Group]) -> str:
    """Of one beside those of the others."""
    drawn = _drawn(quantity, unit, groups)
    return f"{_figure_name(quantity, unit, groups)} over {devices_text(drawn)}"


def _drawn(quantity: Quantity, unit: str, groups: Sequence[Group]) -> Sequence[Group]:
    """Those with a curve of it, beside one of this unit."""
    same = [g for g in groups if quantity is not Quantity.PER_DEVICE or g.unit == unit]
    return [g for g in same if curve(g, quantity)] or same


def _figure_name(quantity: Quantity, unit: str, groups: Sequence[Group]) -> str:
    if quantity is not Quantity.PER_DEVICE:
        return quantity_label(quantity)
    return f"{plain(unit)} per {devices_text(_drawn(quantity, unit, groups)).removesuffix('s')}"


@dataclass(frozen=True, slots=True)
class Measured:
    """A case's value of the quantity, with its 95% interval where it has one; ``of_mean``: that
    is Student's, as few repeats have none of their median. ``marks``: as the list has them behind
    it."""

    nodes: int
    gpus_per_node: int
    value: float
    interval: tuple[float, float] | None = None
    of_mean: bool = False
    marks: tuple[str, ...] = ()

    @property
    def point(self) -> Point:
        return float(self.nodes * self.gpus_per_node), self.value


def measured(case: CaseResult, group: Group, quantity: Quantity) -> Measured | None:
    """The case as a point of its group's curve; None for what was not measured."""
    if case.throughput is None:
        return None
    value = quantity.of(case.throughput, case.gpus, group.base_case)
    if value is None:
        return None
    of_mean = case.spread is not None and case.spread.interval is None
    marks = () if quantity is Quantity.PER_DEVICE else speedup_marks(case, group)
    interval = _interval(case, quantity)
    return Measured(case.nodes, case.gpus_per_node, value, interval, of_mean, marks)


def _interval(case: CaseResult, quantity: Quantity) -> tuple[float, float] | None:
    if quantity is Quantity.PER_DEVICE:
        spread = case.spread
        if spread is None or spread.half_width is None:
            return None
        if spread.interval is not None:
            low, high = spread.interval.low, spread.interval.high
        else:  # of the mean, as few repeats have none of their median
            low, high = (spread.mean * (1 + sign * spread.half_width) for sign in (-1, 1))
            low = max(0.0, low)  # no throughput is below
        return low / case.gpus, high / case.gpus
    if quantity is Quantity.SPEEDUP:
        found = case.speedup_interval
        return None if found is None else (found.low, found.high)
    found = case.efficiency_interval
    return None if found is None else (100 * found.low, 100 * found.high)


def curve(group: Group, quantity: Quantity) -> list[Measured]:
    found = (measured(case, group, quantity) for case in group.cases if case.scales)
    return [one for one in found if one is not None]


def why_no_curve(group: Group, quantity: Quantity) -> str:
    """What stands where nothing can be drawn."""
    known = [case for case in group.cases if case.scales and case.throughput is not None]
    if known and quantity is not Quantity.PER_DEVICE and not group.base_case.throughput:
        name = str(quantity).replace("_", " ")
        return (
            f"no {name} while its base {group.base} has no result; c: {plain(group.unit)} of each"
        )
    return TOO_FEW


def curves_beside(
    group: Group, groups: Sequence[tuple[str, Group]], quantity: Quantity
) -> list[tuple[str, list[Measured]]]:
    """Of all by name; without points where what is drawn has a unit, and theirs is another."""
    own = {g.unit for _, g in groups} if quantity is not Quantity.PER_DEVICE else {group.unit}
    return [(name, curve(g, quantity) if g.unit in own else []) for name, g in groups]


def projected(farther: Projected, group: Group, quantity: Quantity) -> Projected | None:
    """A projected throughput as the quantity, with its band."""
    ends = (farther.throughput, farther.low, farther.high)
    middle, low, high = (quantity.of(end, farther.gpus, group.base_case) for end in ends)
    if middle is None or low is None or high is None:
        return None
    return replace(farther, throughput=middle, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Published:
    """What others measured on so many devices; ``system``: on what."""

    gpus: int
    value: float
    system: str


def published_throughputs(group: Group) -> list[Published]:
    """For each case the one that it can best be held against, where one is comparable."""
    found = []
    for case in group.cases:
        theirs = (
            held.reference
            for held in held_figures(case)
            if held.comparable and held.reference.metric is Figure.THROUGHPUT
        )
        if (there := next(theirs, None)) is not None:
            found.append(Published(case.gpus, there.value, there.system))
    return found


def published_as(
    quantity: Quantity, throughputs: Sequence[Published], group: Group
) -> list[Published]:
    """Relative to our own base, where the quantity is relative to one."""
    values = [(one, quantity.of(one.value, one.gpus, group.base_case)) for one in throughputs]
    return [replace(one, value=value) for one, value in values if value is not None]


def scaling_plot(
    curves: Sequence[tuple[str, Sequence[Measured]]],
    farther: Projected | None = None,
    *,
    width: int,
    quantity: Quantity = Quantity.SPEEDUP,
    cursor: Measured | None = None,
    published: Sequence[Published] = (),
    kept: Collection[int] = (),
    leading: int = 0,
    empty: str = TOO_FEW,
    bases: Sequence[int] = (),
    by_place: bool = False,
) -> Plot:
    """The quantity over devices for every curve, against the ideal; speedups against that of each
    base, from its devices on. The ``leading`` curve lies on top, and is named first.

    Cases on one host and cases on several, by the devices of each, are lines of their own: as many
    devices on one host and on several are two results. ``farther``: projected for the leading
    curve, drawn where the measured ones keep room.
    ``cursor``: the case under it. Curves have numbers as tags, those that are drawn from 1 on, or
    ``by_place``: those of all that there are, where other words have them, too. ``kept``: places of
    curves that are drawn where there is no room for all. ``empty``: what stands where there is
    nothing to draw. ``bases``: of each curve the devices of the case that its speedups refer to;
    empty: of its least case.
    """
    finite_ones = [[m for m in found if finite([m.point])] for _, found in curves]
    drawable = [
        (place, label, found)
        for place, ((label, _), found) in enumerate(zip(curves, finite_ones, strict=True))
        if found
    ]
    kept_first = sorted(drawable, key=lambda one: one[0] not in (leading, *kept))
    shown = sorted(kept_first[: MAX_LINES - 1], key=lambda one: (one[0] != leading, one[0]))
    places = sorted({m.point[0] for _, _, found in drawable for m in found})
    if not places or (quantity is Quantity.SPEEDUP and len(places) < 2):
        return Plot(empty=empty)
    end, start = places[-1], places[0]
    if width < WIDE or not finite_ones[leading]:
        farther = None
    if farther is not None:
        end = max(end, float(farther.gpus))
        places.append(float(farther.gpus))
    lead = next((found for place, _, found in shown if place == leading), shown[0][2])
    numbers = {place: 1 + (place if by_place else n) for n, (place, *_) in enumerate(drawable)}
    lines = [
        line
        for place, label, found in shown
        for line in _by_hosts(label, found, place, numbers[place])
    ]
    if farther is not None:
        lines.append(_projected(max(m.point for m in lead), series_colour(leading), farther))
    lines += _published([one for one in published if one.gpus <= end])
    if quantity is Quantity.SPEEDUP:
        of_each = {
            place: bases[place] if bases else int(min(m.point for m in found)[0])
            for place, _, found in shown
        }
        first = of_each.get(leading, next(iter(of_each.values())))
        lines += _ideals(first, {*of_each.values()}, (start, end), width)
    else:
        level = 100.0 if quantity is Quantity.EFFICIENCY else min(m.point for m in lead)[1]
        lines.append(_dotted("ideal", lambda _at: level, start, end, max(2, width // 3)))
    bottom, top = _limits(lines, quantity)
    on_several = {m.nodes > 1 for _, _, found in shown for m in found}
    signs = (
        f"{ONE_HOST} one host" * (False in on_several),
        f"{HOSTS} several" * (True in on_several),
        _bars_text([m for _, _, found in shown for m in found], quantity),
    )  # one entry: a bar that begins a line would be taken for the axis below it
    at_cursor = (cursor.nodes, cursor.gpus_per_node) if cursor else None
    beside = {
        numbers[place]: one
        for place, _, found in kept_first
        for one in found
        if by_place and (one.nodes, one.gpus_per_node) == at_cursor
    }
    said = (
        AXIS_ABOVE_0 * bool(bottom),
        _said(cursor, beside, quantity, width) if cursor else "",
        "  ".join(filter(None, signs)),
        _beyond(lines, top, quantity),
        *_marked_sizes({numbers[place]: found for place, _, found in shown}),
    )
    return Plot(
        tuple(lines),
        (0.0, end * 1.02),
        top,
        _device_ticks(places, end, width),
        legend=tuple(filter(None, said)),
        more=len(drawable) - len(shown),
        cursor=cursor.point if cursor else None,
        bottom=bottom,
        unit="%" * (quantity is Quantity.EFFICIENCY),
    )


def _bars_text(found: Sequence[Measured], quantity: Quantity) -> str:
    """What the bars are intervals of, as the panel of a case names them."""
    having = {one.of_mean for one in found if _finite(one)}
    if quantity is not Quantity.PER_DEVICE:
        return f"{BAR} 95% of {quantity}" * bool(having)
    middles = ["median"] * (False in having) + ["mean"] * (True in having)
    return f"{BAR} 95% of {' or '.join(middles)}" if middles else ""


def _beyond(lines: Iterable[Line], top: float, quantity: Quantity) -> str:
    """How far intervals go that the chart has no room for."""
    farthest = max((high for line in lines for *_, high in line.bars), default=top)
    if farthest <= top:
        return ""
    efficiency = quantity is Quantity.EFFICIENCY
    return f"{ABOVE} 95% up to {percent(farthest / 100) if efficiency else number(farthest)}"


def _marked_sizes(curves: Mapping[int, Sequence[Measured]]) -> Iterator[str]:
    """``‡ other rule: 1n8g 4n8g``: whose figure is not one of the same kind as its base; of several
    curves for each by its number: ``‡ other rule: 1: 1n8g 4n8g``, ``‡ 3: 1n8g``."""
    for mark, words in DOUBTS.items():
        named = f" {words}:"
        for curve_number, found in curves.items():
            sizes = (format_tag(m.nodes, m.gpus_per_node) for m in found if mark in m.marks)
            if tags := " ".join(dict.fromkeys(sizes)):
                yield f"{mark}{named}{f' {curve_number}:' * (len(curves) > 1)} {tags}"
                named = ""


def _said(on: Measured, beside: Mapping[int, Measured], quantity: Quantity, width: int) -> str:
    """As the list has it, marks included; of several curves each figure by the curve's number, of
    the first of ``beside`` two or as many as a line has room for, and how many are left out."""
    begin = f"{CURSOR} {'cursor: ' * (width >= NAMED)}{format_tag(on.nodes, on.gpus_per_node)} "
    if len(beside) < 2:
        return begin + _figure(on, quantity)
    told = ""
    for many in range(len(beside), 1, -1):
        named = sorted([*beside.items()][:many])
        left = f", … {len(beside) - many} more" * (many < len(beside))
        told = begin + ", ".join(f"{n}: {_figure(one, quantity)}" for n, one in named) + left
        if len(told) < width:
            break
    return told


def _figure(of: Measured, quantity: Quantity) -> str:
    value = percent(of.value / 100) if quantity is Quantity.EFFICIENCY else number(of.value)
    return " ".join([value, *of.marks])


def _ideals(
    leading: int, bases: Collection[int], ends: tuple[float, float], width: int
) -> Iterator[Line]:
    """What speedups were if devices cost each other nothing, of every base; the leading last."""
    start, end = ends
    several = len(bases) > 1
    for base in sorted(bases, key=lambda own: (own == leading, own)):
        begins = max(start, float(base)) if several else start
        label = f"ideal, base {base}" if several else "ideal"
        yield _dotted(label, partial(_over, base), begins, end, max(2, width // 3))


def _over(base: int, devices: float) -> float:
    return devices / base


def _dotted(label: str, at: Callable[[float], float], start: float, end: float, steps: int) -> Line:
    """Dots that nothing joins, so that it is no curve of a case also without colours."""
    places = [start + (end - start) * step / steps for step in range(steps + 1)]
    points = tuple((x, at(x)) for x in places)
    return Line(label, points, MUTED, tag=IDEAL, lead=len(points))


def _limits(lines: Sequence[Line], quantity: Quantity) -> tuple[float, float]:
    """Of the value axis. Speedups are read against 0; of what changes by percents they show only
    where the axis begins higher, which the legend says."""
    values = [y for line in lines for y in _values(line)]
    far = FAR * max(values)
    values += [end for line in lines for _, *ends in line.bars for end in ends if end <= far]
    low, high = min(values), max(values)
    if quantity is Quantity.SPEEDUP or low < FROM_ZERO * high or high <= 0:
        return 0.0, high
    return min(low, LEAST * high), high


def _values(line: Line) -> Iterable[float]:
    yield from (y for _, y in line.points)
    yield from line.band or ()


def _by_hosts(label: str, found: Sequence[Measured], place: int, number: int) -> list[Line]:
    """The cases on one host, and those on several by the devices of each, which go on from the
    case on one host that has as many."""
    alone = sorted((m for m in found if m.nodes == 1), key=_place)
    series = [(alone, alone, ONE_HOST)] if alone else []
    for size in sorted({m.gpus_per_node for m in found if m.nodes > 1}):
        of_size = (m for m in found if m.nodes > 1 and m.gpus_per_node == size)
        own = sorted(of_size, key=_place)
        series.append(([*(m for m in alone if m.gpus_per_node == size), *own], own, HOSTS))
    farthest = max(range(len(series)), key=lambda n: series[n][0][-1].point)
    return [
        Line(
            label if n == 0 else "",
            tuple(m.point for m in line),
            series_colour(place),
            tag=str(number) if n in (0, farthest) else "",
            marks=tuple(m.point for m in own),
            mark=mark,
            bars=tuple((m.point[0], *m.interval) for m in own if m.interval and _finite(m)),
        )
        for n, (line, own, mark) in enumerate(series)
    ]


def _published(found: Sequence[Published]) -> list[Line]:
    points = tuple(finite([(float(one.gpus), one.value) for one in found]))
    if not points:
        return []
    systems = list(dict.fromkeys(one.system for one in found))
    note = systems[0] + (f" +{len(systems) - 1}" if len(systems) > 1 else "")
    marked = replace(Line("published", points, TEXT, PUBLISHED), marks=points, mark=PUBLISHED)
    return [replace(marked, note=note, alone=True)]


def _place(one: Measured) -> Point:
    return one.point


def _finite(one: Measured) -> bool:
    return bool(one.interval and finite([one.interval]))


def _projected(start: Point, colour: str, farther: Projected) -> Line:
    point = (float(farther.gpus), farther.throughput)
    return Line(
        "PROJECTED",
        (start, point),
        colour,
        tag="◇",
        note=f"{farther.gpus}: {significant(farther.throughput)}, "
        f"{significant(farther.low)} to {significant(farther.high)}",
        band=(farther.low, farther.high),
    )


def _device_ticks(places: Sequence[float], end: float, width: int) -> tuple[tuple[float, str], ...]:
    """The measured sizes, without those whose words would touch; the largest is always there."""
    ticks: list[tuple[float, str]] = []
    for place in reversed(places):
        words = f"{place:g}"
        if not ticks or (ticks[-1][0] - place) / end * (width - 8) > len(words) + 2:
            ticks.append((place, words))
    return tuple(reversed(ticks))
