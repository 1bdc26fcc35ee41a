"""What the curves of a compared case refer to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.results.comparison import ComparedCase, Ground, Verdict, compare
from backends.results.summary import summarise
from tests.console.fakes import FakeSummary
from tests.console.test_scaling_plot import group_of
from tui.screens.compare_curves import curves_of
from tui.screens.compare_panels import verdict_panel
from tui.side_by_side import Side, SideBySide
from tui.widgets.scaling_plot import Quantity

SIZES = ("1n1g", "1n2g", "1n8g", "2n8g", "4n8g")


@settings(deadline=None)
@given(st.lists(st.sets(st.sampled_from(SIZES), min_size=1), min_size=1, max_size=3))
def test_curves_of_equal_throughputs_lie_on_each_other_whatever_else_was_measured(
    sizes: list[set[str]],
) -> None:
    """Speedups of all refer to the smallest case that all have; without one there are none."""
    sides = tuple(
        Side(
            FakeSummary(f"c{place}", Path(f"c{place}"), "finished", 1, 1, 0.0),
            (),
            (group_of(**{tag: [float(int(tag[0]) * int(tag[2])) ** 0.9] for tag in own}),),
            "",
            (),
        )
        for place, own in enumerate(sizes)
    )
    found = SideBySide(sides, 0, 0.02, ())
    groups = [side.groups[0] for side in sides]
    common = [tag for tag in SIZES if all(tag in own for own in sizes)]
    case = ComparedCase(
        "oneflow-resnet50",
        groups[0].cases[0].case,
        (),
        "images/s",
        None,
        None,
        Verdict.SAME,
        Ground.WITHIN,
    )
    for quantity in Quantity:
        shown = curves_of(found, 0, case, groups, quantity, width=100)
        at: dict[float, set[float]] = {}
        for line in shown.plot.lines:
            if line.label != "ideal":
                for x, y in line.marks:
                    at.setdefault(x, set()).add(round(y, 9))
        assert all(len(values) == 1 for values in at.values()), (quantity, at)
        assert bool(shown.why_per_device) == (not common)
        relative = quantity is not Quantity.PER_DEVICE
        title = shown.title.plain
        assert f", base {common[0]}" in title if common and relative else "base " not in title
        assert ("no case has a result in all" in title) == (not common)


def test_marks_are_of_the_base_of_the_curves_and_each_figure_has_its_number() -> None:
    speeds = {"1n8g": [800.0] * 3, "4n8g": [3000.0] * 3}
    lone = group_of(**speeds)
    every = group_of(**{"1n1g": [100.0] * 3}, **speeds)
    ruled = [
        replace(run, statistic="last" if run.gpus > 1 else "mean", window="all")
        for case in every.cases
        for run in case.runs
    ]
    groups = (lone, *summarise(ruled))
    sides = tuple(
        Side(FakeSummary(f"c{n}", Path(f"c{n}"), "finished", 1, 1, 0.0), (), (group,), "", ())
        for n, group in enumerate(groups)
    )
    found = SideBySide(sides, 0, 0.02, ())
    compared = compare([run for case in lone.cases for run in case.runs], ruled)
    case = next(one for one in compared.cases if one.case == "4n8g")
    shown = curves_of(found, 1, case, groups, Quantity.SPEEDUP, width=100)
    assert "4n8g 1: 3.75, 2: 3.75" in "\n".join(shown.plot.legend)
    assert [line for line in shown.plot.legend if "‡" in line] == ["‡ other rule: 2: 1n1g"]
    panel = verdict_panel(case, 1, found, 80).plain
    assert "other rule than base" in panel
    assert "graded as in Results, where the base is 1n1g" in panel
