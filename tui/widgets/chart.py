"""The one place that draws with plotext, and everything that keeps plotext from hurting us.

plotext 5 hangs on limits far narrower than a line, chokes on infinities, and is not safe for
threads: what reaches it is finite, inside the limits, at most two points per column, with clean
labels, and drawn on the UI thread. It is imported on first use.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from operator import itemgetter
from types import ModuleType

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.text import cell, plain, shorten
from tui.theme import MUTED, SERIES, TEXT
from tui.widgets.chart_scale import AXIS_ABOVE_0, DOTS, Scale, named_scale, value_scale

Point = tuple[float, float]
MAX_LINES = 5
MIN_WIDTH, MIN_HEIGHT = 24, 4
AXIS_ROWS = 2
CURVE_ROWS = 24
"""Lines beyond which a curve is no easier to read."""
_X, _Y = itemgetter(0), itemgetter(1)
BRAILLE = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""The bit of each dot in its character: left and right, from below."""
LEAST_LABEL = 8
LAST = "last "
"""Before a figure of a legend that goes on; left out where names have no room beside it."""
CURSOR, BAR, EDGE = "◉", "│", "┊"
ABOVE = "↑"
"""At the upper end of a bar that goes on beyond the chart."""


@dataclass(frozen=True, slots=True)
class Line:
    """One curve. ``lead``: how many of the first points are drawn as single dots (warm-up).

    ``tag``: one character drawn at its end and before its legend; colour is not all that tells.
    ``band``: what nobody measured: the line is dashed, and ends between these values.
    ``marks``: points of it that are drawn as ``mark``. ``bars``: (x, low, high) of intervals.
    ``alone``: its points are marked, and no line joins them. ``solid``: the character that a level
    line is made of, for a bar. Without a label it is not in the legend. ``key``: what it is of.
    """

    label: str
    points: tuple[Point, ...]
    colour: str
    tag: str = ""
    lead: int = 0
    note: str = ""
    band: tuple[float, float] | None = None
    marks: tuple[Point, ...] = ()
    mark: str = ""
    bars: tuple[tuple[float, float, float], ...] = ()
    alone: bool = False
    solid: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """What to draw, from at most ``bottom`` to at least ``top``; the first of ``lines`` on top.

    Ticks: (place, words). ``more``: curves that are left out. ``label_width``: columns that the
    words of the value axis take at least. ``cursor``: a point that is drawn over everything else.
    ``unit`` stands behind the words of the value axis. ``edges``: places of vertical lines, which
    lie below everything else. ``names``: of rows, from above, in the place of the value axis; the
    lowest is at 0, and the one above it at 1. ``zoom``: the key that gives the chart more room.
    """

    lines: tuple[Line, ...] = ()
    x_limits: tuple[float, float] = (0.0, 1.0)
    top: float = 1.0
    x_ticks: tuple[tuple[float, str], ...] = ()
    legend: tuple[str, ...] = field(default=())
    more: int = 0
    empty: str = "no data yet"
    label_width: int = 0
    cursor: Point | None = None
    bottom: float = 0.0
    unit: str = ""
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    zoom: str = ""


def finite(points: Sequence[Point]) -> list[Point]:
    if math.isfinite(sum(chain.from_iterable(points))):  # all are, as nearly always
        return list(points)
    return list(filter(_is_finite, points))


def _is_finite(point: Point) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def clipped(points: Sequence[Point], x: tuple[float, float], y: tuple[float, float]) -> list[Point]:
    """Finite points inside the limits of x; y is moved to the nearest limit."""
    low, high = y
    return [
        (px, min(max(py, low), high))
        for px, py in points
        if x[0] <= px <= x[1] and math.isfinite(py)
    ]


def decimated(points: Sequence[Point], limits: tuple[float, float], columns: int) -> list[Point]:
    """At most two points per column, its lowest and its highest, in their order."""
    span = limits[1] - limits[0]
    if len(points) <= 2 * columns or span <= 0 or columns < 1:
        return list(points)
    ordered = sorted(points, key=_X)
    result: list[Point] = []
    start = 0
    for column in range(1, columns + 1):
        edge = limits[0] + span * column / columns if column < columns else math.inf
        end = bisect_left(ordered, edge, lo=start, key=_X)
        if end > start:
            inside = ordered[start:end]
            result += sorted({min(inside, key=_Y), max(inside, key=_Y)})
            start = end
    return result


def draw(plot: Plot, width: int, height: int, console: Console) -> list[Strip]:
    """The picture as lines of at most ``width`` columns; the UI thread only."""
    import plotext as plt  # noqa: PLC0415 - 58 ms that the first paint does not need

    plt.clear_figure()
    plt.limit_size(False, False)
    plt.plot_size(width, height)
    plt.canvas_color("default")
    plt.axes_color("default")
    plt.ticks_color(_rgb(MUTED))
    scale = _scale(plot, height - AXIS_ROWS)
    plt.xlim(*plot.x_limits)
    plt.ylim(*scale.limits)
    plt.xticks([x for x, _ in plot.x_ticks], [plain(words) for _, words in plot.x_ticks])
    plt.yticks([y for y, _ in scale.ticks], [w.rjust(plot.label_width) for _, w in scale.ticks])
    plt.xaxes(True, False)
    plt.yaxes(True, False)
    columns = width - 1 - max(plot.label_width, *(len(words) for _, words in scale.ticks))
    _draw_below(plt, plot, scale)
    ends: list[tuple[Line, Point]] = []
    tags: set[tuple[int, float]] = set()
    column = (plot.x_limits[1] - plot.x_limits[0]) / width
    for line in reversed(plot.lines):  # the first one lies on top
        points = clipped(line.points, plot.x_limits, (scale.bottom, plot.top))
        lead = points[: line.lead]
        rest = decimated(points[line.lead :], plot.x_limits, width)
        if line.band is not None:
            _draw_dashed(plt, line, line.band, scale, 2 * column)
            continue
        _draw_marks(plt, lead, "·", MUTED, scale)
        if rest:
            if not line.alone:
                along = _solid if line.solid else _curve
                cells = along(rest, plot.x_limits, scale, columns)
                signs = line.solid or [*cells.values()]
                plt.scatter(*_columns(list(cells)), color=_rgb(line.colour), marker=signs)
            _draw_bars(plt, line, scale)
            ends.append((line, rest[-1]))
    for line, end in ends:  # no curve and no bar of another lies on a mark
        marks = finite(line.marks)
        _draw_marks(plt, marks, line.mark, line.colour, scale)
        if line.tag and not line.alone:
            x, y = end[0], scale.middle(end[1])
            x -= 2 * column if marks else 0.0  # beside the mark
            while (place := (round(x / column), y)) in tags:
                x -= 2 * column  # beside the tag of a curve that ends there too
            tags.add(place)
            plt.text(line.tag, x, y, color=_rgb(line.colour), alignment="right")
    if plot.cursor is not None:
        _draw_marks(plt, finite([plot.cursor]), CURSOR, TEXT, scale)
    picture: str = plt.build()
    strips = []
    for text in AnsiDecoder().decode(picture):
        text.no_wrap = True
        strips.append(Strip(text.render(console)).crop(0, width))
    return strips[:height]


def _draw_below(plt: ModuleType, plot: Plot, scale: Scale) -> None:
    """What lies under everything else; without a point plotext draws no axis either."""
    if plot.names:
        plt.scatter([plot.x_limits[0]], [scale.bottom], marker=" ")
    rows = scale.between(scale.bottom, plot.top)
    for edge in finite([(x, 0.0) for x in plot.edges]):
        plt.scatter([edge[0]] * len(rows), rows, color=_rgb(MUTED), marker=EDGE)


def _scale(plot: Plot, rows: int) -> Scale:
    if plot.names:
        return named_scale(plot.names, rows)
    return value_scale(plot.top, rows, plot.bottom, plot.unit)


def _curve(
    points: Sequence[Point], x_limits: tuple[float, float], scale: Scale, columns: int
) -> dict[Point, str]:
    """A line through the points: characters of braille by the places in whose middle they are.

    plotext draws the same line, which took more than half of the time of a picture.
    """
    left, apart = x_limits[0], (x_limits[1] - x_limits[0]) / max(1, 2 * columns - 1)
    low = scale.limits[0]
    dots = [
        (int(round((x - left) / apart + 0.5, 8)), int(round((y - low) / scale.dot + 0.5, 8)))
        for x, y in points
    ]
    cells: dict[tuple[int, int], int] = {}
    for (x, y), (to_x, to_y) in pairwise([*dots, dots[-1]]):
        steps = max(abs(to_x - x), abs(to_y - y), 1)
        for step in range(steps):
            column, right = divmod(x + (to_x - x) * step // steps, 2)
            row, above = divmod(y + (to_y - y) * step // steps, DOTS)
            cells[column, row] = cells.get((column, row), 0) | BRAILLE[right][above]
    wide = (x_limits[1] - left) / max(1, columns - 1)
    return {
        (left + column * wide, scale.bottom + row * DOTS * scale.dot): chr(0x2800 + dots_set)
        for (column, row), dots_set in cells.items()
    }


def _solid(
    points: Sequence[Point], x_limits: tuple[float, float], scale: Scale, columns: int
) -> dict[Point, str]:
    """Places in every column from the first point to the last, which are level."""
    (start, _), (end, y) = points[0], points[-1]
    apart = (x_limits[1] - x_limits[0]) / max(1, columns - 1)
    steps = int((end - start) / apart)
    return {(start + step * apart, scale.middle(y)): "" for step in range(steps + 1)}


def _draw_marks(
    plt: ModuleType, points: Sequence[Point], mark: str, colour: str, scale: Scale
) -> None:
    if points and mark:
        places = [(x, scale.middle(y)) for x, y in points]
        plt.scatter(*_columns(places), color=_rgb(colour), marker=mark)


def _draw_bars(plt: ModuleType, line: Line, scale: Scale) -> None:
    """What is narrower than a row is behind its mark; what goes on beyond the chart says so."""
    bars = [(x, y) for x, low, high in line.bars for y in scale.between(low, high)]
    if bars:
        plt.scatter(*_columns(bars), color=_rgb(line.colour), marker=BAR)
    beyond = [(x, scale.middle(high)) for x, _, high in line.bars if high > scale.limits[1]]
    _draw_marks(plt, beyond, ABOVE, line.colour, scale)


def _draw_dashed(
    plt: ModuleType, line: Line, band: tuple[float, float], scale: Scale, apart: float
) -> None:
    """One character every ``apart`` of the straight line, and a bar where its band is."""
    (x0, y0), (x1, y1) = line.points[0], line.points[-1]
    steps = (i * apart for i in range(1, max(1, int((x1 - x0) / apart))))
    dashes = [(x0 + step, scale.middle(y0 + (y1 - y0) * step / (x1 - x0))) for step in steps]
    bar = [(x1, y) for y in scale.between(*band)]
    for marker, points in (("-", dashes), ("┊", bar), (line.tag, [(x1, scale.middle(y1))])):
        if points and marker:
            plt.scatter(*_columns(points), color=_rgb(line.colour), marker=marker)


def _columns(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _rgb(colour: str) -> tuple[int, int, int]:
    triplet = Color.parse(colour).get_truecolor()
    return (triplet.red, triplet.green, triplet.blue)


def series_colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def legend(plot: Plot, width: int, height: int) -> list[Text]:
    """The curves by name above a chart of that size, in two lines or in a quarter of it; names are
    cut as far as that takes, and what still has no room is counted. The first curve and what nobody
    measured are always named, for which there is one more line, where the chart keeps room."""
    most = max(2, height // 4)
    named = [line for line in plot.lines if line.label]
    whole = min(width, max((cell_len(plain(line.label)) for line in named), default=0))
    if len(_legend_lines(plot, named, width, whole)) > most:
        named = [replace(line, note=line.note.removeprefix(LAST)) for line in named]
    least = max(LEAST_LABEL, min(whole, width // 2 - 6))
    rooms = range(least, max(least, whole) + 1)
    fit = bisect_right(rooms, most, key=lambda room: len(_legend_lines(plot, named, width, room)))
    if fit:
        return _legend_lines(plot, named, width, rooms[fit - 1])
    others = [line for line in named if not line.tag or line.tag.isdigit()]
    always = [line for line in named if line.tag and not line.tag.isdigit()]
    always.sort(key=lambda line: line.band is None)
    lines = _legend_lines(plot, always, width, least)
    for lines_had in (most, most + (height - most > MIN_HEIGHT)):
        for shown in range(len(others), 0, -1):
            lines = _legend_lines(plot, [*others[:shown], *always], width, least)
            if len(lines) <= lines_had:
                return lines
    return lines[:most]


def _legend_lines(plot: Plot, named: Sequence[Line], width: int, longest: int) -> list[Text]:
    entries = []
    for line in named:
        tag = f"{line.tag} " if line.tag else ""
        note = f" {plain(line.note)}" if line.note else ""
        room = max(LEAST_LABEL, min(longest, width - 1 - cell_len(tag + note)))
        entry = Text(f"{tag}{_without_middle(plain(line.label), room)}", line.colour)
        entry.append(note, MUTED)
        entries.append((entry, 3))
    unnamed = sum(bool(line.label) for line in plot.lines) - len(named)
    if more := plot.more + unnamed:
        zoom = f": {plot.zoom}" * bool(plot.zoom and (unnamed or plot.names))
        entries.append((Text(f"+{more} more{zoom}", MUTED), 2))
    entries += [(Text(words, MUTED), 2) for words in plot.legend]
    lines = [Text(" ", no_wrap=True, end="")]
    for entry, apart in entries:
        if lines[-1].cell_len + entry.cell_len > width and lines[-1].cell_len > 1:
            lines.append(Text(" ", no_wrap=True, end=""))
        lines[-1].append_text(entry).append(" " * apart)
    return lines


def _from_0(plot: Plot, width: int, height: int) -> Plot:
    """Without the words of an axis above 0 where, at that height, its round values begin there."""
    rows = height - AXIS_ROWS - len(legend(plot, width, height))
    if AXIS_ABOVE_0 not in plot.legend or rows < 2 or _scale(plot, rows).bottom > 0:
        return plot
    return replace(plot, legend=tuple(words for words in plot.legend if words != AXIS_ABOVE_0))


def _without_middle(text: str, width: int) -> str:
    """Names differ at both ends: at their beginning the profile, at their end the parameters."""
    if cell_len(text) <= width:
        return text
    end = text[-(width // 2) :]
    return shorten(text, width - cell_len(end)) + end


def rows_of(plot: Plot, width: int, most: int) -> int:
    """Lines that it takes with its legend: as many as it has names, or enough to read a curve."""
    if not plot.names:
        return min(most, CURVE_ROWS)
    return len(plot.names) + AXIS_ROWS + len(legend(plot, width, most))


def _instead(words: str, width: int, console: Console) -> list[Strip]:
    """What stands where there is nothing drawn, indented, in as many lines as it takes."""
    lines = cell(words, MUTED).wrap(console, max(1, width - 1), no_wrap=False, overflow="fold")
    for line in lines:
        line.rstrip()
        line.pad_left(1)
        line.end = ""
    return [Strip(line.render(console), line.cell_len) for line in lines]


class Chart(Widget, can_focus=False):
    """A plot with its legend; drawn again only when the plot or the size changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="panel")
        self._plot = Plot(empty="")  # what there is to draw is not known yet
        self._drawn_for: tuple[Plot, int, int] | None = None
        self._strips: list[Strip] = []
        self._pictured_for: tuple[Plot, int, int] | None = None  # without the legend's notes
        self._pictured: list[Strip] = []
        self._base: Style | None = None

    def show(self, plot: Plot) -> None:
        if plot != self._plot:
            self._plot = plot
            self.refresh()

    def say(self, notes: Mapping[str, str]) -> None:
        """What the legend says of lines, by their keys; no curve is drawn anew for that."""
        said = (replace(line, note=notes.get(line.key, line.note)) for line in self._plot.lines)
        self.show(replace(self._plot, lines=tuple(said)))

    def rows_needed(self, most: int) -> int:
        """Lines that it takes, without its frame."""
        return rows_of(self._plot, self.size.width, most)

    @property
    def axis(self) -> tuple[int, tuple[float, float]]:
        """The column in which the curves begin, and what lies at both ends of it."""
        named = legend(_from_0(self._plot, *self.size), *self.size)
        rows = max(2, self.size.height - AXIS_ROWS - len(named))
        scale = _scale(self._plot, rows)
        words = [len(words) for _, words in scale.ticks]
        return max(self._plot.label_width, *words) + 1, self._plot.x_limits

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style  # looked up once, and not for each line
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        wanted = (self._plot, width, height)
        if self._drawn_for != wanted:
            self._strips = self._paint(width, height)
            self._drawn_for = wanted
        base = self._base or self.rich_style
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(width)
        return strip.crop_extend(0, width, base).apply_style(base)

    def _paint(self, width: int, height: int) -> list[Strip]:
        console = self.app.console
        points = chain.from_iterable(line.points for line in self._plot.lines)
        if not self._plot.names and not any(map(_is_finite, points)):
            return [Strip.blank(width), *_instead(self._plot.empty, width, console)]
        named = legend(_from_0(self._plot, width, height), width, height)
        least = AXIS_ROWS + len(self._plot.names) if self._plot.names else MIN_HEIGHT
        strips = [Strip(text.render(console), text.cell_len) for text in named]
        if width < MIN_WIDTH or height - len(named) < least:
            return [*strips, *_instead("too small for a chart", width, console)]
        return strips + self._picture(width, height - len(named), console)

    def _picture(self, width: int, height: int, console: Console) -> list[Strip]:
        lines = tuple(replace(line, note="") for line in self._plot.lines)
        wanted = (replace(self._plot, lines=lines), width, height)
        if self._pictured_for != wanted:
            self._pictured = draw(self._plot, width, height, console)
            self._pictured_for = wanted
        return self._pictured
