"""The adapter keeps away from plotext what hangs or kills it; see tui/widgets/chart.py."""

from __future__ import annotations

import itertools
import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import replace

import plotext as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from textual.app import App, ComposeResult
from textual.strip import Strip

from backends.campaign.record.chart_points import TOGETHER_S, spread
from backends.campaign.record.run_record import Series
from backends.campaign.record.run_view import ChartSeries
from backends.campaign.record.run_window import Jitter, RunWindow
from backends.results.numbers import percent, scatter
from backends.results.projection import Projected
from backends.results.steady_words import disturbance_brief
from profiles.case_tag import parse_tag
from profiles.throughput.steady import Disturbance, Shape
from tests.console.conftest import screen_text, until
from tui.key_bindings import PANELS
from tui.text import number, plain
from tui.theme import ACCENT, MUTED
from tui.widgets import chart as chart_module
from tui.widgets.chart import (
    AXIS_ROWS,
    LAST,
    Chart,
    Line,
    Plot,
    _curve,
    clipped,
    decimated,
    draw,
    finite,
    legend,
)
from tui.widgets.chart_scale import AXIS_ABOVE_0, DOTS, THREE_TICKS, nice_step, value_scale
from tui.widgets.scaling_plot import Measured, Published, Quantity, scaling_plot
from tui.widgets.throughput_plot import jitter_text, throughput_plot, time_ticks, window_plot

pytestmark = pytest.mark.painted

CONSOLE = Console(width=80, color_system="truecolor")


def series(
    name: str, points: list[tuple[float, float]], *, warmup: int = 0, unit: str = "images/s"
) -> ChartSeries:
    times, values = zip(*points, strict=True) if points else ((), ())
    readings = Series(times=array("d", times), values=array("d", values))
    return ChartSeries(name, name, unit, readings, warmup=warmup)


def of(tag: str, speedup: float) -> Measured:
    return Measured(*parse_tag(tag), speedup)


def picture(plot: Plot, width: int = 60, height: int = 12) -> str:
    return "\n".join(strip.text for strip in draw(plot, width, height, CONSOLE))


def test_what_is_not_finite_never_reaches_plotext() -> None:
    points = [(0, 1), (1, math.nan), (math.inf, 2), (2, -math.inf), (3, 4)]
    assert finite(points) == [(0, 1), (3, 4)]
    plot = throughput_plot([series("a", points)], "a", width=60, window=RunWindow())
    assert all(math.isfinite(v) for pair in (plot.x_limits, (0.0, plot.top)) for v in pair)
    assert "┤" in picture(plot)


def test_a_series_of_nothing_but_nan_is_no_data() -> None:
    plot = throughput_plot([series("a", [(math.nan, math.nan)])], "a", width=60, window=RunWindow())
    assert plot.lines == ()


def test_points_are_clipped_to_the_limits() -> None:
    assert clipped([(-1, 5), (0, 50), (1, -5)], (0, 1), (0, 10)) == [(0, 10), (1, 0)]


def test_at_most_two_points_per_column_and_the_extremes_survive() -> None:
    points = [(float(i), float(i % 97)) for i in range(10_000)]
    points[5_000] = (5_000.0, 1e6)
    kept = decimated(points, (0, 10_000), 50)
    assert len(kept) <= 100
    assert (5_000.0, 1e6) in kept
    assert kept == sorted(kept)


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(-50, 50)), min_size=101, max_size=400))
@settings(max_examples=50, deadline=None)
def test_of_each_column_the_lowest_and_the_highest_point_are_kept(
    points: list[tuple[int, int]],
) -> None:
    kept = decimated([(float(x), float(y)) for x, y in points], (0.0, 1000.0), 50)
    assert set(kept) <= set(points)
    for column in range(50):
        before = [y for x, y in points if x // 20 == column]
        after = [y for x, y in kept if x // 20 == column]
        assert len(after) <= 2
        assert (min(before, default=0), max(before, default=0)) == (
            min(after, default=0),
            max(after, default=0),
        )


def test_a_long_curve_says_its_last_value_whatever_is_drawn_of_it() -> None:
    points = [(float(i), 100.0 + i % 7) for i in range(1_000)]
    [line] = throughput_plot([series("a", points)], "a", width=40, window=RunWindow()).lines
    assert len(line.points) <= 80
    assert line.note == number(points[-1][1])


@given(
    st.lists(st.floats(1.0, 1e6), min_size=1, max_size=60),
    st.floats(1.0, 1e6),
    st.sampled_from(["median", "trimmed_mean", "elapsed", "summary", ""]),
)
@settings(max_examples=60)
def test_once_a_run_is_measured_the_chart_tells_its_figure_and_never_the_last_reading(
    values: list[float], measured: float, statistic: str
) -> None:
    read = series("a", [(float(i), value) for i, value in enumerate(values)])
    over = replace(read, end=100.0, measured=measured, statistic=statistic)
    failed = replace(read, end=100.0)
    notes = [
        throughput_plot([one], "a", width=80, window=RunWindow()).lines[0].note
        for one in (read, over, failed)
    ]
    figure, how = notes[1].split(" ", 1)
    assert figure == number(measured)
    assert how, "it has a name"
    assert "_" not in how
    last = number(values[-1])
    assert (notes[0], notes[2]) == (last, f"{last} at last"), "and the list has the first"


def test_few_points_are_left_alone() -> None:
    points = [(1.0, 2.0), (2.0, 3.0)]
    assert decimated(points, (0, 10), 50) == points


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
        ),
        max_size=40,
    ),
    st.integers(24, 100),
    st.integers(6, 30),
)
@settings(max_examples=40, deadline=None)
def test_any_readings_give_a_picture_of_the_asked_size(
    points: list[tuple[float, float]], width: int, height: int
) -> None:
    bounded = [(x, y) for x, y in points if not (abs(x) > 1e12 or abs(y) > 1e12)]
    plot = throughput_plot([series("a", bounded)], "a", width=width, window=RunWindow())
    if plot.lines:
        strips = draw(plot, width, height, CONSOLE)
        assert len(strips) <= height
        assert all(strip.cell_length <= width for strip in strips)


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 997)), min_size=1, max_size=60),
    st.integers(10, 60),
    st.integers(4, 20),
)
@settings(max_examples=60, deadline=None)
def test_a_curve_is_the_one_that_plotext_draws(
    places: list[tuple[int, int]], columns: int, rows: int
) -> None:
    points = [(float(x), float(y)) for x, y in sorted(places)]
    scale = value_scale(997.0, rows)
    plt.clear_figure()
    plt.limit_size(False, False)
    plt.plot_size(columns, rows)
    plt.xlim(0, 1000)
    plt.ylim(*scale.limits)
    plt.xaxes(False, False)
    plt.yaxes(False, False)
    plt.xticks([])
    plt.yticks([])
    plt.plot(*zip(*points, strict=True), marker="braille")
    grid = [[" "] * columns for _ in range(rows)]
    for (x, y), character in _curve(points, (0.0, 1000.0), scale, columns).items():
        row = round(y / (4 * scale.dot))
        grid[rows - 1 - row][round(x / 1000 * (columns - 1))] = character
    assert "\n".join(map("".join, grid)) == plt.uncolorize(plt.build()).rstrip("\n")


def test_labels_from_outside_are_cleaned() -> None:
    plot = Plot(
        (Line("\x1b[31m[/nope]", ((0, 1), (1, 2)), ACCENT),),
        (0, 1),
        2,
        ((0, "\x1b]52;c;AAAA\x07a"),),
    )
    assert "\x1b" not in picture(plot)


def test_the_warm_up_is_drawn_as_dots_apart_from_the_line() -> None:
    points = [(float(i), 10.0 if i < 3 else 100.0) for i in range(20)]
    plot = throughput_plot([series("a", points, warmup=3)], "a", width=60, window=RunWindow())
    assert plot.lines[0].lead == 3
    assert "· warm-up" in plot.legend
    assert picture(plot).count("·") == 3


def test_the_window_its_warm_up_and_what_was_not_steady_are_marked_and_named() -> None:
    points = [(float(i), 100.0) for i in range(101)]
    window = RunWindow(
        warmup=20,
        used=70,
        start=20.0,
        end=90.0,
        disturbed=(
            (Disturbance(Shape.STEP, -0.1, 0.05, 50, step=500.0), (50.0, 90.0)),
            (Disturbance(Shape.STALLS, -0.6, 0.01, 70, count=3), (70.0, 40.0)),
            (Disturbance(Shape.TREND, 0.03, 0.01, 20), (20.0, 100.0)),
        ),
    )
    plot = throughput_plot([series("a", points, warmup=20)], "a", width=80, window=window)
    assert plot.legend == (
        "· warm-up, 20 readings",
        "┊ 70 readings that count",
        "◆ dropped 10.0% at step 500",
        "× 3 stalls, first at reading 71",
        "drift +3.0%",
    )
    shown = picture(plot, 80, 12).splitlines()
    columns = [{row.index("┊"), row.rindex("┊")} for row in shown if "┊" in row]
    assert len(columns) >= 8
    (edges,) = {tuple(sorted(found)) for found in columns}
    first, last = next((row.index("◆"), shown) for row in shown if "◆" in row)[0], edges[1]
    assert edges[0] < first < last
    assert (sum(row.count("◆") for row in shown), sum(row.count("×") for row in shown)) == (1, 1)
    assert throughput_plot([series("a", points)], "a", width=80, window=RunWindow()).edges == ()


@given(st.integers(0, 60), st.integers(0, 40), st.booleans(), st.booleans())
def test_an_edge_in_the_chart_is_named_also_while_the_run_trains_and_never_without_one(
    before: int, behind: int, at_work: bool, summed_up: bool
) -> None:
    points = [(float(i), 100.0) for i in range(101)]
    behind *= not (at_work or summed_up)
    window = RunWindow(
        warmup=before,
        used=None if at_work or summed_up else 101 - before - behind,
        summed_up=summed_up,
        start=float(before) if before else None,
        end=100.0 - behind if behind else None,
    )
    plot = throughput_plot([series("a", points, warmup=before)], "a", width=80, window=window)
    named = sum(words.startswith("┊ ") for words in plot.legend)
    assert named == bool(plot.edges) == ("┊" in picture(replace(plot, legend=()), 80, 12))


@pytest.mark.parametrize("silent", [(), ("r0",), ("r1",), ("r0", "r1")])
@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize("selected", ["r0", "waits"])
def test_where_no_reading_comes_any_more_is_marked(
    silent: Sequence[str], others: int, selected: str
) -> None:
    many = [series(f"r{n}", [(t, 90.0 + 20 * n) for t in range(60)]) for n in range(others + 1)]
    window = RunWindow()
    plot = throughput_plot(many, selected, width=80, window=window, until_s=600.0, silent=silent)
    shown = picture(plot, 80, 12).splitlines()
    marked = {n + 1 for n in range(others + 1) if f"r{n}" in silent}
    whose = {f"{n}: " * bool(others) for n in marked}
    assert {f"× {who}no reading after 59s" for who in whose} <= set(plot.legend)
    columns = [row.index("×") for row in shown if "×" in row]
    assert len(columns) == len(marked)
    assert all(8 < column < 24 for column in columns), "a tenth of the axis, behind its words"
    throughput_plot(many, "r0", width=0, window=window, silent=silent)  # not laid out yet


def test_the_selected_run_comes_first_and_what_is_left_out_is_counted() -> None:
    many = [series(f"r{i}", [(0.0, 1.0), (1.0, 2.0)]) for i in range(8)]
    plot = throughput_plot(many, "r6", width=60, window=RunWindow())
    assert plot.lines[0].label == "r6"
    assert len(plot.lines) == 5
    assert plot.more == 3


def test_curves_that_end_in_the_same_place_keep_their_tags() -> None:
    both = [(f"c{n}", [of("1n1g", 1.0), of("1n4g", 3.98 - n / 1000)]) for n in range(3)]
    shown = picture(scaling_plot(both, width=60))
    assert all(shown.count(f"{n}") >= 1 for n in (1, 2, 3))
    last = next(row for row in shown.splitlines() if "1" in row and "2" in row)
    assert last.index("1") < last.index("2") < last.index("3")


@given(st.lists(st.integers(0, 8), max_size=3))
@settings(max_examples=30, deadline=None)
def test_curves_that_are_asked_for_are_never_left_out(kept: list[int]) -> None:
    many = [(f"c{n}", [of("1n1g", 1.0), of("1n4g", 3.0 + n / 10)]) for n in range(9)]
    plot = scaling_plot(many, width=60, kept=kept)
    drawn = [line.label for line in plot.lines if line.label != "ideal"]
    assert {f"c{place}" for place in kept} <= set(drawn)
    assert drawn == sorted(drawn), "in their order"
    assert len(drawn) == 4
    assert plot.more == 5
    assert all(line.tag == str(int(line.label[1:]) + 1) for line in plot.lines[:-1])


def test_a_curve_keeps_its_colour_when_another_is_selected() -> None:
    pair = [series("a", [(0.0, 1.0)]), series("b", [(0.0, 2.0)])]
    first = {
        x.label: x.colour for x in throughput_plot(pair, "a", width=60, window=RunWindow()).lines
    }
    second = {
        x.label: x.colour for x in throughput_plot(pair, "b", width=60, window=RunWindow()).lines
    }
    assert first == second


@pytest.mark.parametrize(
    ("span", "steps", "step"),
    [(100, 4, 25), (431, 4, 200), (7, 7, 1), (0, 3, 1), (0.03, 3, 0.01)],
)
def test_steps_are_round(span: float, steps: int, step: float) -> None:
    assert nice_step(span, steps) == pytest.approx(step)


@given(st.floats(1e-6, 1e9), st.integers(3, 60))
@settings(max_examples=200, deadline=None)
def test_value_ticks_are_round_equally_many_rows_apart_and_hold_the_top(
    top: float, rows: int
) -> None:
    scale = value_scale(top, rows)
    assert scale.ticks[0] == (0.0, "0")
    assert 2 <= len(scale.ticks) <= 7
    assert scale.limits[1] >= top * 0.998
    places = [value / (4 * scale.dot) for value, _ in scale.ticks]
    apart = {round(b - a, 6) for a, b in itertools.pairwise(places)}
    assert len(apart) == 1
    assert apart.pop() == pytest.approx(round(places[1]))
    assert len({words for _, words in scale.ticks}) == len(scale.ticks)
    step = scale.ticks[1][0]
    digits = step / 10 ** math.floor(math.log10(step * 1.001))
    assert min(abs(digits - round_one) for round_one in (1, 2, 2.5, 5)) < 0.001
    assert scale.limits[1] <= top * 2.02, "no more than half of it is empty"


@pytest.mark.parametrize(
    ("top", "rows", "words"),
    [
        (2954.8, 7, ["0", "1,000", "2,000", "3,000"]),
        (33, 18, ["0", "10", "20", "30"]),
        (3.98, 13, ["0", "1", "2", "3", "4"]),
        (1.97, 12, ["0", "1", "2"]),
        (0.02, 5, ["0", "0.01", "0.02"]),
        (1_045_130, 7, ["0", "500,000", "1,000,000", "1,500,000"]),
        (2_053_005, 12, ["0", "1,000,000", "2,000,000"]),
    ],
)
def test_value_ticks_of_usual_charts(top: float, rows: int, words: list[str]) -> None:
    assert [said for _, said in value_scale(top, rows).ticks] == words


@pytest.mark.parametrize("height", range(6, 24))
@pytest.mark.parametrize("value", [1000.0, 1950.0, 2954.8, 3999.0, 17.0])
def test_a_level_curve_its_tag_and_the_label_of_its_value_stand_in_one_row(
    height: int, value: float
) -> None:
    scale = value_scale(4000.0, height - 2)
    line = Line("a", ((0.0, value), (10.0, value)), ACCENT, tag="Q")
    rows = picture(Plot((line,), (0, 10), 4000.0, ((0, "0s"),)), 60, height).splitlines()
    curve = [n for n, row in enumerate(rows) if any("\u2801" <= c <= "\u28ff" for c in row)]
    assert len(curve) == 1
    assert "Q" in rows[curve[0]]
    for tick, words in scale.ticks:
        row = next(n for n, row in enumerate(rows) if row.strip().startswith(f"{words}┤"))
        dots_off = (value - tick) / scale.dot - 4 * (row - curve[0])
        assert abs(dots_off) <= 2.5, "nearer to another row"


def test_time_ticks_are_said_in_seconds_minutes_and_hours() -> None:
    assert [w for _, w in time_ticks(40, 60)] == ["0s", "10s", "20s", "30s", "40s"]
    assert [w for _, w in time_ticks(7200, 60)][1] == "30m00s"


def test_the_speedup_curve_has_the_ideal_and_ticks_at_the_measured_sizes() -> None:
    plot = scaling_plot([("b128", [of("1n1g", 1.0), of("1n8g", 7.6), of("4n8g", 29.6)])], width=60)
    assert plot.lines[-1].label == "ideal"
    ideal = plot.lines[-1].points
    assert (ideal[0], ideal[-1]) == ((1, 1.0), (32, 32.0))
    assert all(x == pytest.approx(y) for x, y in ideal)
    assert [words for _, words in plot.x_ticks] == ["1", "8", "32"]


MEASURED = [of("1n1g", 1.0), of("1n8g", 7.6), of("2n8g", 15.0), of("4n8g", 29.6)]
FARTHER = Projected(8, 8, 57.0, low=45.0, high=69.0)


def test_a_projection_is_dashed_with_its_band_and_says_what_it_is() -> None:
    plot = scaling_plot([("b128", MEASURED), ("b160", MEASURED)], FARTHER, width=70)
    (projected,) = (line for line in plot.lines if line.band is not None)
    assert (projected.label, projected.note) == ("PROJECTED", "64: 57, 45 to 69")
    shown = picture(plot, 70, 20)
    assert (shown.count("◇"), shown.count("┊") > 2, shown.count("-") > 4) == (1, True, True)
    assert [words for _, words in plot.x_ticks][-2:] == ["32", "64"]
    measured = [line for line in plot.lines if line.band is None and line.label != "ideal"]
    assert max(x for line in measured for x, _ in line.points) == 32


def test_a_narrow_chart_keeps_its_room_for_what_was_measured() -> None:
    plot = scaling_plot([("b128", MEASURED)], FARTHER, width=40)
    assert plot == scaling_plot([("b128", MEASURED)], width=40)


@pytest.mark.parametrize("quantity", Quantity)
def test_the_ideal_is_told_from_curves_without_colours(quantity: Quantity) -> None:
    plot = scaling_plot([("b128", MEASURED), ("b160", MEASURED)], width=60, quantity=quantity)
    ideal = plot.lines[-1]
    assert ideal.label not in {line.label for line in plot.lines[:-1]}
    assert ideal.tag not in {"", *(line.tag for line in plot.lines[:-1])}
    assert picture(plot, 60, 16).count(ideal.tag) > 10
    alone = replace(plot, lines=plot.lines[:-1])
    assert ideal.tag not in picture(alone, 60, 16)


def test_a_base_of_several_devices_is_where_the_ideal_begins() -> None:
    plot = scaling_plot([("b128", [of("1n8g", 1.0), of("4n8g", 3.9)])], width=60)
    ideal = plot.lines[-1].points
    assert (ideal[0], ideal[-1]) == ((8, 1.0), (32, 4.0))


def test_one_size_is_no_curve() -> None:
    plot = scaling_plot([("b128", [of("1n8g", 1.0)])], width=60)
    assert plot.lines == ()
    assert "two sizes" in plot.empty


def test_as_many_devices_on_one_host_and_on_several_are_two_lines() -> None:
    found = [of("1n1g", 1.0), of("1n4g", 3.9), of("1n8g", 7.6), of("2n4g", 6.1), of("4n4g", 11.0)]
    plot = scaling_plot([("b128", found)], width=60)
    one, several, ideal = plot.lines
    assert one.points == ((1, 1.0), (4, 3.9), (8, 7.6)) == one.marks
    assert several.points == ((4, 3.9), (8, 6.1), (16, 11.0))
    assert several.marks == ((8, 6.1), (16, 11.0)), "the case on one host is marked as such"
    assert (one.label, several.label, ideal.label) == ("b128", "", "ideal")
    for line in plot.lines:
        places = [x for x, _ in line.points]
        assert len(set(places)) == len(places), "nothing goes straight up"
    shown = picture(plot, height=16)
    assert (shown.count("●"), shown.count("◆")) == (3, 2)
    assert "● one host  ◆ several" in plot.legend


def test_points_are_marked_and_their_mark_is_explained() -> None:
    plot = scaling_plot([("b128", [of("1n1g", 1.0), of("1n2g", 1.9)])], width=60)
    assert picture(plot).count("●") == 2
    assert plot.legend == ("● one host",)


@pytest.mark.parametrize(("width", "said"), [(60, "◉ 2n8g 15.00"), (90, "◉ cursor: 2n8g 15.00")])
def test_the_case_under_the_cursor_is_marked_and_said(width: int, said: str) -> None:
    plot = scaling_plot([("b128", MEASURED)], width=width, cursor=of("2n8g", 15.0))
    assert said in plot.legend
    shown = picture(plot)
    assert (shown.count("◉"), shown.count("◆")) == (1, 1)


def test_readings_that_came_together_are_no_vertical_line() -> None:
    assert spread([1.0, 2.0, 3.0, 9.0, 9.01, 9.02, 10.0], 0.0) == pytest.approx(
        [1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 10.0], abs=0.02
    )
    assert spread([8.0, 8.0], 0.0) == [4.0, 8.0], "nobody was attached when they were made"
    many = [n / 25 for n in range(1, 51)]
    assert spread(many, 0.0) == pytest.approx(many, abs=0.05), "a fast log is no single piece"


def test_what_a_run_said_before_it_ended_unwatched_is_not_stretched_to_the_return() -> None:
    """Its end comes after its log, and the chart stood stretched over minutes till then."""
    rest = [150.0] * 3 + [150.2] * 2  # two pieces of what it said from 5 s to 9 s
    assert spread([1.0, 2.0, 3.0, 4.0, *rest], 0.0) == pytest.approx(
        [float(n) for n in range(1, 10)]
    )
    stall = [1.0, 2.0, 3.0, 60.0, 61.0]
    assert spread(stall, 0.0) == stall, "a reading alone came when it was made"


@given(st.lists(st.floats(0, 1e6), max_size=50).map(sorted), st.floats(0, 1e6))
def test_spreading_keeps_the_order_and_never_goes_past_the_receipt(
    times: list[float], start: float
) -> None:
    made = spread(times, start)
    assert len(made) == len(times)
    assert made == sorted(made)
    assert all(at <= received + TOGETHER_S for at, received in zip(made, times, strict=True))


def test_intervals_stand_on_their_points_and_behind_them_where_they_are_narrow() -> None:
    wide = Measured(1, 8, 6.0, (4.0, 8.0))
    narrow = Measured(1, 4, 3.9, (3.89, 3.91))
    plot = scaling_plot([("b128", [of("1n1g", 1.0), narrow, wide])], width=60)
    rows = picture(plot, 60, 20).splitlines()
    bars = [n for n, row in enumerate(rows) if "│" in row[8:]]
    point = next(n for n, row in enumerate(rows) if "●" in row)
    scale = value_scale(plot.top, 18)
    tall = round((scale.middle(8.0) - scale.middle(4.0)) / (4 * scale.dot))
    assert len(bars) in (tall, tall + 1)
    assert min(bars) <= point <= max(bars)
    assert len({row.rindex("│") for row in rows if "│" in row[8:]}) == 1
    assert "│ 95% of speedup" in "  ".join(plot.legend)


@given(st.lists(st.floats(1.0, 4.0), min_size=2, max_size=4), st.floats(0.1, 2.0))
@settings(max_examples=50, deadline=None)
def test_no_interval_of_another_curve_lies_on_a_point(values: list[float], half: float) -> None:
    curves = [
        (f"c{n}", [of("1n1g", 1.0), Measured(1, 2, value, (value - half, value + half))])
        for n, value in enumerate(values)
    ]
    plot = scaling_plot([*curves, ("end", [of("1n1g", 1.0), of("1n8g", 7.0)])], width=60)
    bare = replace(plot, lines=tuple(replace(line, bars=()) for line in plot.lines))
    points, told = (
        [n for n, char in enumerate(picture(one, 60, 20)) if char == "●"] for one in (bare, plot)
    )
    assert points == told


@given(
    st.floats(0, 1e6),
    st.floats(0.01, 10),
    st.integers(3, 60),
)
@settings(max_examples=200, deadline=None)
def test_an_axis_that_begins_above_zero_has_round_ticks_and_holds_all(
    bottom: float, share: float, rows: int
) -> None:
    span = share * max(bottom, 1.0)
    top = bottom + span
    scale = value_scale(top, rows, bottom)
    assert scale.limits[0] <= bottom
    assert scale.limits[1] >= top - 0.003 * span
    values = [value for value, _ in scale.ticks]
    step = values[1] - values[0]
    assert values[0] == pytest.approx(round(values[0] / step) * step, abs=1e-9 * top)
    assert bottom - values[0] <= step * (1 + 1e-6)
    assert len({words for _, words in scale.ticks}) == len(scale.ticks)


EFFICIENCIES = [Measured(1, 1, 100.0), Measured(1, 8, 96.0, (95.0, 97.0)), Measured(2, 8, 93.0)]


def test_efficiency_is_held_against_a_hundred_and_says_where_its_axis_begins() -> None:
    plot = scaling_plot([("b128", EFFICIENCIES)], width=60, quantity=Quantity.EFFICIENCY)
    assert {y for _, y in plot.lines[-1].points} == {100.0}
    assert "axis not from 0" in plot.legend
    shown = picture(plot, 60, 16)
    assert "100%┤" in shown
    assert next(row for row in shown.splitlines() if "100%┤" in row).count("·") > 10, "the ideal"
    assert "0┤" not in shown.replace("100%┤", "").replace("90%┤", "")
    low = [Measured(1, 8, 30.0)]
    from_zero = scaling_plot([("b", [*EFFICIENCIES, *low])], width=60, quantity=Quantity.EFFICIENCY)
    assert from_zero.bottom == 0
    assert "axis not from 0" not in from_zero.legend


def test_published_figures_are_points_of_their_own_and_named() -> None:
    theirs = [Published(8, 15.0, "MLPerf v4.0 DGX H100"), Published(64, 60.0, "beyond")]
    plot = scaling_plot([("b128", MEASURED)], width=70, published=theirs)
    (line,) = (line for line in plot.lines if line.alone)
    assert (line.points, line.note) == (((8.0, 15.0),), "MLPerf v4.0 DGX H100")
    assert picture(plot, 70, 20).count("☆") == 1


def test_a_curve_without_a_point_keeps_its_number_where_that_is_one_of_places() -> None:
    plot = scaling_plot([("a", []), ("b", MEASURED)], width=70, by_place=True)
    assert [line.tag for line in plot.lines if line.label == "b"] == ["2"]


NAMES = st.lists(
    st.text(alphabet="abc 漢", min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=5
)


@given(NAMES, st.integers(24, 200), st.integers(5, 60), st.integers(0, 60))
def test_every_curve_is_in_the_legend_or_counted_there(
    names: list[str], width: int, height: int, more: int
) -> None:
    lines = tuple(
        Line(name, ((0, 1), (1, 2)), MUTED, tag=str(number)) for number, name in enumerate(names)
    )
    said = legend(Plot(lines, more=more, legend=("◉ 2n8g 15.00", "│ 95%")), width, height)
    assert len(said) <= max(2, height // 4)
    assert all(cell_len(line.plain.rstrip()) <= width for line in said)
    text = " ".join(line.plain for line in said)
    shown = sum(f" {number} " in text for number in range(len(names)))
    counted = re.search(r"\+(\d+) more", text)
    assert shown + (int(counted[1]) if counted else 0) == len(names) + more
    assert shown >= 1


@given(
    st.integers(1, 7),
    st.data(),
    st.booleans(),
    st.integers(60, 200),
    st.integers(9, 60),
    st.sampled_from(["", "z"]),
)
def test_the_curve_under_the_cursor_is_named_first(
    curves: int, data: st.DataObject, farther: bool, width: int, height: int, zoom: str
) -> None:
    leading = data.draw(st.integers(0, curves - 1))
    named = [(f"profile-{n}-resnet50 b128 fp32", MEASURED) for n in range(curves)]
    plot = scaling_plot(
        named, FARTHER if farther else None, width=width, leading=leading, cursor=MEASURED[1]
    )
    said = [line.plain for line in legend(replace(plot, zoom=zoom), width, height)]
    assert said[0].startswith(f" {leading + 1} profile")
    assert " ideal" in " ".join(said)
    more = re.search(r"\+(\d+) more(: z)?", " ".join(said))
    unnamed = int(more[1]) - plot.more if more else 0
    assert bool(more and more[2]) == bool(zoom and unnamed)


@given(
    st.lists(st.text("abc 漢", min_size=1).filter(str.strip), min_size=1, max_size=5),
    st.integers(24, 200),
    st.integers(5, 60),
)
def test_names_are_cut_only_where_the_legend_has_no_room_for_all_of_them(
    names: list[str], width: int, height: int
) -> None:
    lines = tuple(
        Line(name, ((0, 1), (1, 2)), MUTED, tag=str(number)) for number, name in enumerate(names)
    )
    said = [line.plain for line in legend(Plot(lines), width, height)]
    wanted, left = 1, width - 1
    widths = [cell_len(f"0 {plain(name)}") for name in names]
    for needed in widths:
        if needed > left and left < width - 1:
            wanted, left = wanted + 1, width - 1
        left -= needed + 3
    if wanted <= max(2, height // 4) and max(widths) < width:
        assert all(plain(name) in " ".join(said) for name in names)
    elif len(names) == 1:
        assert cell_len(said[0].rstrip()) >= width - 2, "what is cut takes all there is"


@given(st.integers(1, 5), st.integers(30, 160))
def test_a_legend_says_last_only_where_names_are_whole_beside_it(curves: int, width: int) -> None:
    lines = [Line(f"case b{n} fp32", ((0, 1), (1, 2)), MUTED, note="1,234") for n in range(curves)]
    told = [replace(line, note=f"{LAST}1,234") for line in lines]
    short, long = (
        " ".join(one.plain for one in legend(Plot(tuple(each)), width, 8)) for each in (lines, told)
    )
    assert long.replace(LAST, "").split() == short.split()
    assert long.count(LAST) in (0, curves)
    assert LAST in long or curves > 1


def test_names_are_cut_in_their_middle_before_one_is_left_out() -> None:
    names = ("oneflow-resnet50 b128 fp32", "paddle-resnet50 b128 fp32")
    names += ("ngc-tensorflow-resnet50 b256 amp", "ngc-pytorch-resnet50 b256 amp")
    lines = tuple(Line(n, ((0, 1), (1, 2)), MUTED, tag=str(i + 1)) for i, n in enumerate(names))
    two = [line.plain.rstrip() for line in legend(Plot(lines), 66, 8)]
    assert two == [
        " 1 oneflow-resnet50 b128 fp32   2 paddle-resnet50 b128 fp32",
        " 3 ngc-tensorflow…net50 b256 amp   4 ngc-pytorch-resnet50 b256 amp",
    ]


class Charted(App[None]):
    """A chart alone."""

    def compose(self) -> ComposeResult:
        yield Chart()


@pytest.mark.parametrize(("bottom", "said"), [(0.2, False), (99.0, True)])
async def test_an_axis_that_begins_at_0_after_all_is_not_said_to_begin_elsewhere(
    bottom: float, said: bool
) -> None:
    app = Charted()
    async with app.run_test(size=(80, 20)) as pilot:
        chart = app.query_one(Chart)
        line = Line("a", ((0.0, bottom + 1), (9.0, 100.0)), ACCENT)
        chart.show(Plot((line,), (0.0, 9.0), 100.0, legend=(AXIS_ABOVE_0,), bottom=bottom))
        await pilot.pause()
        seen = screen_text(app)
        assert (AXIS_ABOVE_0 in seen) is said
        assert bool(re.search(r"^ *0┤", seen, re.MULTILINE)) is not said


def test_the_chart_of_a_silent_run_goes_on_to_now() -> None:
    points = [(float(i), 100.0) for i in range(50)]
    plot = throughput_plot([series("a", points)], "a", width=80, window=RunWindow(), until_s=600.0)
    assert plot.x_limits == (0.0, 600.0)
    assert plot.lines[0].points[-1] == points[-1], "nothing is made up behind the last reading"


@given(
    st.lists(st.floats(50.0, 1e5), min_size=4, max_size=80),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(8, 30),
)
@settings(max_examples=60)
def test_the_chart_of_a_window_has_what_counts_alone_and_fills_its_axis(
    values: list[float], before: int, behind: int, height: int
) -> None:
    warm, after = [(float(i), 1e6) for i in range(before)], before + len(values)
    inside = [(float(before + i), value) for i, value in enumerate(values)]
    rest = [(float(after + i), 1.0) for i in range(behind)]
    window = RunWindow(
        warmup=before,
        used=len(values),
        start=inside[0][0] if before else None,
        end=inside[-1][0] if behind else None,
        disturbed=((Disturbance(Shape.STEP, -0.1, 0.05, 0), (after + 5.0, 1.0)),),
    )
    plot = window_plot(series("a", [*warm, *inside, *rest], warmup=before), width=60, window=window)
    (line,) = plot.lines
    assert {*line.points} <= {*inside}
    assert {min(values), max(values)} <= {y for _, y in line.points}
    assert plot.x_limits[0] == inside[0][0]
    assert inside[-1][0] <= plot.x_limits[1] < inside[-1][0] + 0.03 * len(inside)
    assert all(plot.x_limits[0] <= x <= plot.x_limits[1] for x, _ in plot.x_ticks)
    span = max(values) - min(values)
    assert plot.top - plot.bottom == pytest.approx(max(span, 0.02 * max(values)))
    assert AXIS_ABOVE_0 in plot.legend
    if span > 0.02 * max(values):
        rows = [row for row in picture(plot, 70, height).splitlines() if re.search("[⠁-⣿]", row)]
        assert len(rows) >= (height - AXIS_ROWS) // 2, "a change of a few percents can be seen"


def test_of_a_window_with_one_reading_there_is_no_curve() -> None:
    one = series("a", [(0.0, 5.0), (1.0, 6.0)], warmup=1)
    plot = window_plot(one, width=60, window=RunWindow(warmup=1, start=1.0))
    assert (plot.lines, plot.empty) == ((), "no two readings that count yet")


@pytest.mark.parametrize("width", [24, 50, 90])
async def test_what_stands_in_the_place_of_a_chart_is_whole(width: int) -> None:
    why = "no efficiency while its base 1n1g has no result; c: images/s of each"
    app = Charted()
    async with app.run_test(size=(width, 20)) as pilot:
        app.query_one(Chart).show(Plot(empty=why))
        await until(pilot, lambda: why in " ".join(screen_text(app).replace("│", " ").split()))


async def test_the_figures_of_a_legend_change_and_no_curve_is_drawn_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Plot] = []

    def watched(plot: Plot, width: int, height: int, screen: Console) -> list[Strip]:
        drawn.append(plot)
        return draw(plot, width, height, screen)

    monkeypatch.setattr(chart_module, "draw", watched)
    many = [series(name, [(float(n), 100.0 + n) for n in range(9)]) for name in ("a", "b")]
    plot = throughput_plot(many, "a", width=70, window=RunWindow(), latest={"a": "777"})
    assert [line.note for line in plot.lines] == ["777", "108.0"]

    class Alone(App[None]):
        def compose(self) -> ComposeResult:
            yield Chart()

    app = Alone()
    async with app.run_test(size=(80, 20)) as pilot:
        chart = app.query_one(Chart)
        chart.show(plot)
        await until(pilot, lambda: "a 777" in screen_text(app))
        before = len(drawn)
        chart.say({"a": "778", "b": "5", "c": "9"})
        await until(pilot, lambda: "a 778" in screen_text(app) and "b 5" in screen_text(app))
        assert len(drawn) == before


@pytest.mark.parametrize("so_far", [False, True])
@pytest.mark.parametrize("others", [0, 1, 3])
def test_what_was_not_steady_names_its_curve_where_there_are_others(
    others: int, *, so_far: bool
) -> None:
    """And of a run at work that it is what its readings tell so far."""
    points = [(float(i), 100.0) for i in range(20)]
    found = ((Disturbance(Shape.WARM_UP, -0.1, 0.05, 5), (5.0, 100.0)),)
    window = RunWindow(disturbed=found, so_far=so_far)
    every = [series(name, points) for name in "bacd"[: others + 1]]
    plot = throughput_plot(every, "b", width=80, window=window)
    assert plot.legend == (
        f"◆ {'1: ' * bool(others)}not level before reading 6{' so far' * so_far}",
    )
    assert next(line.label for line in plot.lines if line.tag == "1") == "b"


@given(st.floats(-0.9, 9.0).filter(lambda size: abs(size) >= 0.001))
def test_a_change_of_speed_is_told_as_a_drop_or_a_rise_without_a_sign(size: float) -> None:
    said = disturbance_brief(Disturbance(Shape.STEP, size, 0.05, 50, step=500.0))
    assert said == f"{'dropped' if size < 0 else 'rose'} {percent(abs(size))} at step 500"
    told = PANELS["runs"].about
    assert all(word in told for word in ("dropped or rose", "the mean of what follows", "drift: "))


@pytest.mark.parametrize("at_work", [True, False])
def test_a_cv_beside_the_chart_is_said_to_be_of_step_times(at_work: bool) -> None:
    said = jitter_text(RunWindow(jitter=Jitter(1.76, 0.277)), at_work=at_work)
    assert said.endswith(": step times p95 1.76 × median, CV 27.70%")


@given(st.floats(1e-6, 0.5))
def test_a_cv_beside_the_chart_has_the_digits_that_results_give_it(cv: float) -> None:
    """0.05% is no 0.0%."""
    said = jitter_text(RunWindow(jitter=Jitter(1.0, cv)), at_work=False)
    shown = said.rpartition(", ")[2]
    assert shown == f"CV {scatter(cv)}"
    assert float(shown.removeprefix("CV ").removesuffix("%")) > 0


@given(st.floats(1e-3, 1e9), st.integers(THREE_TICKS, 60), st.floats(0.0, 0.9))
def test_values_are_below_a_tick_or_more_than_one_is_between_them_and_the_lowest(
    top: float, rows: int, share: float
) -> None:
    scale = value_scale(top, rows, share * top)
    ticks = [value for value, _ in scale.ticks]
    assert len(ticks) > 2 or ticks[-1] >= top - DOTS * scale.dot
