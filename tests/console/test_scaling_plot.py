"""What the curves of Results and of a comparison are made of."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from backends.results.case_result import CaseResult
from backends.results.layouts.cells import speedup_marks
from backends.results.numbers import percent
from backends.results.reference_comparison import held_figures
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from tui.screens.repeats import repeats_text
from tui.screens.result_text import case_text, flags
from tui.widgets.chart import ABOVE, Line, Plot, draw, legend
from tui.widgets.distribution import (
    AT_MEDIAN,
    INTERVAL,
    MEDIAN,
    OUTLIER,
    TOGETHER,
    distribution_line,
    limits,
)
from tui.widgets.distribution import legend as distribution_legend
from tui.widgets.scaling_plot import (
    DOUBTS,
    HOSTS,
    IDEAL,
    ONE_HOST,
    Measured,
    Quantity,
    curve,
    curve_title,
    curves_beside,
    measured,
    published_as,
    published_throughputs,
    scaling_plot,
    why_no_curve,
)

SPEEDS = st.lists(st.floats(10, 1e5), min_size=1, max_size=12)
MARKS: st.SearchStrategy[tuple[str, ...]] = st.sampled_from([(), ("‡",), ("†", "‡")])
V100 = "Tesla V100-SXM2-16GB, driver 440.33.01, CUDA 10.2, Ubuntu 16.04; ECC: on"


def group_of(**speeds: list[float] | list[None]) -> Group:
    """Of DLPerf's OneFlow runs: speeds by case, None of one that failed."""
    runs = [
        RunResult(
            *(f"{tag}{n}", "oneflow-resnet50", "OneFlow", "ResNet50 V1.5"),
            *(tag, int(tag[0]), int(tag[2])),
            repeat=n + 1,
            throughput=speed,
            state="succeeded" if speed else "failed",
            parameters={"batch_size": 128, "precision": "fp32"},
            unit="images/s",
            fingerprint=V100,
            workload="ResNet50 V1.5",
            arithmetic="fp32-or-tf32",
        )
        for tag, values in speeds.items()
        for n, speed in enumerate(values)
    ]
    (group,) = summarise(runs)
    return group


def case_of(group: Group, tag: str) -> CaseResult:
    return next(case for case in group.cases if case.case == tag)


@pytest.mark.parametrize("quantity", Quantity)
def test_where_the_base_failed_a_missing_curve_is_not_laid_to_the_sizes(quantity: Quantity) -> None:
    relative = quantity is not Quantity.PER_DEVICE
    for speeds in ({"1n8g": [2900.0], "4n8g": [11_000.0]}, {"1n8g": [2900.0]}):
        group = group_of(**{"1n1g": [None]}, **speeds)
        plot = scaling_plot(
            [("b128", curve(group, quantity))],
            width=80,
            quantity=quantity,
            empty=why_no_curve(group, quantity),
        )
        assert bool(plot.lines) is not relative
        if relative:
            assert "while its base 1n1g has no result; c: images/s of each" in plot.empty
    assert "two sizes" in why_no_curve(group_of(**{"1n1g": [385.0]}), quantity)
    assert "two sizes" in why_no_curve(group_of(**{"1n1g": [None]}), quantity)


@given(SPEEDS, SPEEDS)
@settings(max_examples=60, deadline=None)
def test_points_and_intervals_are_those_of_the_table(one: list[float], eight: list[float]) -> None:
    group = group_of(**{"1n1g": one, "1n8g": eight})
    case = case_of(group, "1n8g")
    point = {quantity: measured(case, group, quantity) for quantity in Quantity}
    speedup, efficiency, per_device = (point[quantity] for quantity in Quantity)
    assert speedup and efficiency and per_device  # noqa: PT018
    assert speedup.value == case.speedup
    assert efficiency.value == pytest.approx(100 * (case.efficiency or 0))
    assert per_device.value == case.throughput_per_device
    for found, known, factor in (
        (speedup, case.speedup_interval, 1),
        (efficiency, case.efficiency_interval, 100),
    ):
        assert (found.interval is None) == (known is None)
        if found.interval and known:
            assert found.interval == pytest.approx((factor * known.low, factor * known.high))
    spread = case.spread
    assert spread is not None
    assert (per_device.interval is None) == (spread.half_width is None)
    if spread.interval is not None:
        assert per_device.interval == (spread.interval.low / 8, spread.interval.high / 8)
    assert [m.point[0] for m in curve(group, Quantity.SPEEDUP)] == [1, 8]


def test_without_a_base_there_is_a_figure_per_device_and_no_speedup() -> None:
    group = group_of(**{"1n1g": [None], "1n8g": [700.0]})
    assert [m.value for m in curve(group, Quantity.PER_DEVICE)] == [700 / 8]
    assert not curve(group, Quantity.SPEEDUP)
    assert not curve(group, Quantity.EFFICIENCY)


def test_published_figures_are_those_that_a_case_is_held_against() -> None:
    group = group_of(**{"1n1g": [380.0, 381.0], "1n8g": [2900.0], "1n3g": [1000.0]})
    found = published_throughputs(group)
    assert [one.gpus for one in found] == [1, 8], "of three GPUs nobody published any"
    for one in found:
        case = case_of(group, f"1n{one.gpus}g")
        held = next(h.reference for h in held_figures(case) if h.comparable)
        assert (one.value, one.system) == (held.value, held.system)
    base = group.base_case.throughput or 0.0
    for quantity, value in (
        (Quantity.SPEEDUP, found[1].value / base),
        (Quantity.EFFICIENCY, 100 * found[1].value / base / 8),
        (Quantity.PER_DEVICE, found[1].value / 8),
    ):
        assert published_as(quantity, found, group)[1].value == pytest.approx(value)


@given(SPEEDS, st.integers(8, 80))
@settings(max_examples=80, deadline=None)
def test_every_repeat_is_on_its_line_within_the_slowest_and_the_fastest(
    speeds: list[float], width: int
) -> None:
    case = case_of(group_of(**{"1n1g": speeds}), "1n1g")
    across = limits([case])
    assert across is not None
    line = distribution_line(case, across, width).plain
    assert len(line) == width
    assert line.count(MEDIAN) + line.count(AT_MEDIAN) == 1, "no count covers the median"
    assert not {*line} & {*"0123456789"}, "what could be the number of a campaign"
    signs = [sign for sign in line if sign not in (" ", INTERVAL, MEDIAN, AT_MEDIAN)]
    shown = sum(TOGETHER.index(sign) + 2 if sign in TOGETHER else 1 for sign in signs)
    if "#" not in line:
        hidden = len(speeds) - shown
        assert hidden > 1 if AT_MEDIAN in line else hidden <= 1, "a median alone is its own repeat"
    assert case.spread is not None
    assert (OUTLIER in line) <= bool(case.spread.outliers)
    explained = distribution_legend([case])
    for sign in {*line} - {" "}:
        assert ("² to ⁹" if sign in TOGETHER else sign) in explained
    assert (INTERVAL in explained) == (case.spread.interval is not None)


def test_one_repeat_alone_is_told_by_its_value_and_has_no_axis() -> None:
    group = group_of(**{"1n1g": [383.0], "1n2g": [760.0]})
    told = repeats_text(case_of(group, "1n1g"), group, 80).plain
    assert told.startswith("one repeat: 383.0 ")
    assert MEDIAN not in told
    assert "from the median of each" not in told
    several = group_of(**{"1n1g": [383.0, 384.0], "1n2g": [760.0]})
    told = repeats_text(case_of(several, "1n1g"), several, 80).plain
    assert "one repeat" not in told
    assert "from the median of each" in told


@given(SPEEDS, st.integers(8, 120))
@settings(max_examples=60, deadline=None)
def test_signs_of_one_colour_beside_each_other_are_one_span(
    speeds: list[float], width: int
) -> None:
    case = case_of(group_of(**{"1n1g": speeds}), "1n1g")
    across = limits([case])
    assert across is not None
    text = distribution_line(case, across, width)
    assert len(text.plain) == width
    colours = [span.style for span in text.spans]
    assert [span.start for span in text.spans] == [0, *(span.end for span in text.spans[:-1])]
    assert all(one != other for one, other in pairwise(colours))


@given(st.integers(1, 9), st.integers(30, 120), st.integers(10, 60))
def test_what_nobody_measured_is_named_however_many_curves_and_however_little_room(
    curves: int, width: int, height: int
) -> None:
    lines = [Line(f"a long name of parameters {n}", ((1, 1), (8, 7)), "red") for n in range(curves)]
    lines = [replace(line, tag=str(n + 1)) for n, line in enumerate(lines)]
    farther = Line("PROJECTED", ((8, 7), (16, 12)), "red", tag="◇", band=(10.0, 14.0))
    ideal = Line("ideal", ((1, 1), (16, 16)), "grey", tag=IDEAL)
    plot = Plot((ideal, *lines, farther), legend=("◉ 1n8g 7.65", "│ 95%"))
    said = "".join(text.plain for text in legend(plot, width, height))
    assert "◇ PROJECTED" in said
    assert f"{IDEAL} ideal" in said, "and is not counted among the curves that have no room"


@given(st.sets(st.sampled_from(["1n1g", "1n2g", "1n8g", "2n1g", "2n8g"]), min_size=2))
def test_every_sign_of_a_case_in_the_curve_is_in_its_legend(tags: set[str]) -> None:
    group = group_of(**{tag: [100.0] for tag in sorted(tags)})
    plot = scaling_plot(
        [("fp32", curve(group, Quantity.PER_DEVICE))], width=100, quantity=Quantity.PER_DEVICE
    )
    drawn = {line.mark for line in plot.lines if line.marks}
    said = " ".join(plot.legend)
    assert {sign for sign in (ONE_HOST, HOSTS) if sign in said} == drawn


@pytest.mark.parametrize(("n", "middle"), [(3, "mean"), (5, "mean"), (6, "median"), (9, "median")])
def test_the_chart_and_the_case_name_the_interval_of_the_bars(n: int, middle: str) -> None:
    group = group_of(**{tag: [100.0 + k for k in range(n)] for tag in ("1n1g", "1n8g")})
    plot = scaling_plot(
        [("fp32", curve(group, Quantity.PER_DEVICE))], width=100, quantity=Quantity.PER_DEVICE
    )
    (bars,) = (words for words in plot.legend if "95%" in words)
    assert bars.endswith(f"  │ 95% of {middle}"), "never where it stands beside the axis"
    said = case_text(group.cases[0], group).plain
    of_median = next(line for line in said.splitlines() if line.startswith("95% of median"))
    assert ("needs 6 repeats" in of_median) == (n < 6)
    assert "Student's, ±" in said


@given(st.integers(1, 4), st.integers(0, 3))
def test_a_curve_keeps_its_number_and_its_colour_wherever_the_cursor_is(
    several: int, leading: int
) -> None:
    groups = [group_of(**{"1n1g": [100.0 + k], "1n8g": [700.0 - k]}) for k in range(several)]
    curves = [(f"group {k}", curve(one, Quantity.SPEEDUP)) for k, one in enumerate(groups)]
    tags = []
    for at in (0, min(leading, several - 1)):
        plot = scaling_plot(curves, width=100, leading=at)
        tags.append({line.label: (line.tag, line.colour) for line in plot.lines})
    assert tags[0] == tags[1]
    assert [tags[0][f"group {k}"][0] for k in range(several)] == [
        str(k + 1) for k in range(several)
    ]


@pytest.mark.parametrize("by_place", [False, True])
def test_what_is_drawn_is_numbered_from_1_on_but_where_other_words_have_the_numbers(
    by_place: bool,
) -> None:
    groups = [group_of(**{"1n1g": [100.0 + k], "1n8g": [700.0 - k]}) for k in range(2)]
    curves = [
        ("none", []),
        *((f"group {k}", curve(one, Quantity.SPEEDUP)) for k, one in enumerate(groups)),
    ]
    plot = scaling_plot(curves, width=100, leading=1, by_place=by_place)
    tags = [line.tag for line in plot.lines if line.label.startswith("group")]
    assert tags == (["2", "3"] if by_place else ["1", "2"])


def test_what_costs_no_grade_is_a_flag_too_and_what_costs_most_comes_first() -> None:
    tight = group_of(**{"1n1g": [100.0, 100.001, 99.9, 100.0, 100.0, 99.999]})
    assert "outliers" in tight.cases[0].concerns
    assert flags(tight.cases[0]).plain == "▲ not watched, outlier"
    wild = group_of(**{"1n1g": [100.0, 100.1, 99.9, 100.0, 160.0, 100.0]})
    assert flags(wild.cases[0]).plain == "▲ wide interval, CV above 5%, outlier, not watched"


@pytest.mark.parametrize("quantity", Quantity)
def test_what_has_a_unit_is_drawn_beside_nothing_of_another(quantity: Quantity) -> None:
    images = group_of(**{"1n1g": [100.0], "1n8g": [780.0]})
    tokens = replace(images, unit="tokens/s")
    named = [("a", images), ("b", tokens), ("c", images)]
    drawn = curves_beside(images, named, quantity)
    assert [name for name, _ in drawn] == ["a", "b", "c"], "each keeps its number"
    assert bool(drawn[1][1]) == (quantity is not Quantity.PER_DEVICE)
    assert drawn[0][1] == drawn[2][1] == curve(images, quantity)


@given(SPEEDS, SPEEDS)
@settings(max_examples=30, deadline=None)
def test_bars_say_what_they_are_95_percent_of(one: list[float], eight: list[float]) -> None:
    group = group_of(**{"1n1g": one, "1n8g": eight})
    for quantity in (Quantity.SPEEDUP, Quantity.EFFICIENCY):
        points = curve(group, quantity)
        plot = scaling_plot([("a", points)], width=80, quantity=quantity)
        having = any(point.interval is not None for point in points)
        assert any(said.endswith(f"95% of {quantity}") for said in plot.legend) == having


@given(
    st.lists(st.floats(0.5, 9), min_size=2, max_size=4),
    st.lists(st.floats(1, 1e4), min_size=4, max_size=4),
    st.sampled_from(Quantity),
)
@settings(deadline=None)
@example([1.0, 1.9], [1.0, 46.0, 1.0, 1.0], Quantity.SPEEDUP)
def test_points_and_ideal_rule_the_axis_and_an_interval_far_beyond_is_cut_and_says_so(
    values: list[float], wide: list[float], quantity: Quantity
) -> None:
    points = [
        Measured(1, 2**n, value, (value / wide[n], value * wide[n]))
        for n, value in enumerate(values)
    ]
    plot = scaling_plot([("a", points)], width=80, quantity=quantity)
    highest = max(y for line in plot.lines for _, y in line.points)
    assert highest <= plot.top <= 2 * highest, "half of the height is theirs"
    farthest = max(high for line in plot.lines for _, _, high in line.bars)
    told = [words for words in plot.legend if words.startswith(ABOVE)]
    assert bool(told) is (farthest > plot.top)
    picture = [strip.text for strip in draw(plot, 80, 20, Console())]
    if farthest > 4 * plot.top:  # farther than any round axis goes
        own = max(points, key=lambda one: one.interval[1] if one.interval else 0.0)
        assert any(ABOVE in row for row in picture) or own.value > 0.9 * plot.top


@given(
    bases=st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4), leading=st.integers(0, 3)
)
def test_what_scales_without_loss_lies_on_an_ideal_whatever_its_base(
    bases: list[int], leading: int
) -> None:
    """Of which one is under the cursor, and which bases the others have."""
    leading %= len(bases)
    groups = [
        group_of(**{f"{n}n{gpus}g": [100.0 * n * gpus] * 3 for n in (1, 2)}) for gpus in bases
    ]
    named = [(f"g{at}", group) for at, group in enumerate(groups)]
    plot = scaling_plot(
        curves_beside(groups[leading], named, Quantity.SPEEDUP),
        width=80,
        leading=leading,
        bases=[group.base_case.gpus for group in groups],
    )
    ideals = [line for line in plot.lines if line.label.startswith("ideal")]
    assert len(ideals) == len({*bases})
    assert ideals[-1].label == (f"ideal, base {bases[leading]}" if ideals[1:] else "ideal")
    for gpus in bases:
        slopes = {round(y / x, 9) for line in ideals for x, y in line.points}
        assert round(1 / gpus, 9) in slopes
    assert slopes == {round(1 / gpus, 9) for gpus in bases}


@given(st.floats(1, 800), st.sampled_from([(), ("‡",), ("†", "‡")]))
def test_the_legend_has_an_efficiency_and_its_marks_as_the_table_has_them(
    eight: float, marks: tuple[str, ...]
) -> None:
    group = group_of(**{"1n1g": [100.0], "1n8g": [eight]})
    case = case_of(group, "1n8g")
    found = measured(case, group, Quantity.EFFICIENCY)
    assert found is not None
    assert found.marks == speedup_marks(case, group)
    found = replace(found, marks=marks)
    plot = scaling_plot([("", [found])], width=60, quantity=Quantity.EFFICIENCY, cursor=found)
    assert " ".join(["◉ 1n8g", percent(case.efficiency), *marks]) in plot.legend
    of_marks = [one for one in plot.legend if one[0] in "†‡"]
    assert of_marks == [f"{mark} {DOUBTS[mark]}: 1n8g" for mark in marks]


@given(st.lists(st.booleans(), min_size=2, max_size=9), st.integers(24, 200), st.data())
@example([True] * 3, 60, None)
def test_the_legend_has_the_case_at_the_cursor_of_all_that_have_it_or_says_how_many_are_left_out(
    having: list[bool], width: int, data: st.DataObject | None
) -> None:
    whole, part = ({"1n1g": [100.0], "1n2g": [190.0], "1n4g": [350.0]} for _ in range(2))
    del part["1n2g"]
    having[0] = True
    groups = [group_of(**(whole if has else part)) for has in having]
    place = data.draw(st.sampled_from([n for n, has in enumerate(having) if has])) if data else 0
    cursor = measured(case_of(groups[0], "1n2g"), groups[0], Quantity.SPEEDUP)
    curves = [(f"c{n}", curve(group, Quantity.SPEEDUP)) for n, group in enumerate(groups)]
    plot = scaling_plot(curves, width=width, cursor=cursor, kept=(0, place), by_place=True)
    (said,) = (one for one in plot.legend if one.startswith("◉"))
    named = {int(number) for number in re.findall(r"(\d+): ", said)}
    left = sum(map(int, re.findall(r"… (\d+) more", said)))
    those = {n for n, has in enumerate(having, 1) if has}
    if len(those) == 1:
        assert (named, left) == (set(), 0)
        return
    assert named <= those
    assert {1, place + 1} <= named
    assert len(named) + left == len(those)
    assert len(said) < width or len(named) == 2
    assert not left or width < len(said) + len(", 9: 1.900")


@given(
    st.lists(
        st.lists(st.sampled_from([(), ("‡",), ("†", "‡")]), min_size=2, max_size=2), max_size=4
    ),
    st.integers(0, 3),
    st.booleans(),
)
def test_the_legend_has_marked_cases_of_each_curve_by_its_number(
    marks: list[tuple[tuple[str, ...], ...]], leading: int, by_place: bool
) -> None:
    """Wherever the cursor is; of a curve alone without one."""
    curves = [
        (f"c{n}", [Measured(hosts, 8, 1.0 + hosts, marks=own) for hosts, own in enumerate(pair, 1)])
        for n, pair in enumerate(marks)
    ]
    curves.insert(0, ("not drawn", []))
    leading %= len(curves)
    plot = scaling_plot(curves, width=80, leading=leading, by_place=by_place)
    told = {
        (said[0], int(number or 0), tag)
        for said in plot.legend
        if said[0] in DOUBTS
        for number, tags in re.findall(r"(?:(\d+): )?((?:\dn8g ?)+)$", said)
        for tag in tags.split()
    }
    first = 1 + by_place
    assert told == {
        (mark, first + n if len(marks) > 1 else 0, f"{hosts}n8g")
        for n, pair in enumerate(marks)
        for hosts, own in enumerate(pair, 1)
        for mark in own
    }
    assert sum("other rule" in said for said in plot.legend) == any(
        "‡" in m for p in marks for m in p
    )


@given(st.integers(10, 120), st.sampled_from(Quantity))
def test_a_curves_title_has_names_whole_or_not_at_all(room: int, shown: Quantity) -> None:
    group = group_of(**{"1n1g": [100.0], "1n8g": [700.0]})
    every = curve_title(shown, "images/s", [group], room=1000).plain.split(" · ")
    some = curve_title(shown, "images/s", [group], room=room)
    assert some.plain.split(" · ") == [one for one in every if one in some.plain.split(" · ")]
    assert any(one.startswith("▸") for one in some.plain.split(" · "))
    assert some.cell_len <= room or "·" not in some.plain
