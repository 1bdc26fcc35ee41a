"""What is printed of a campaign's figures when the console was left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from backends.results.numbers import fixed, readable
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tui.screens.result_at_end import result_lines
from tui.screens.result_text import BY_CASE, labels_of, result_rows

Runs = Callable[..., list[RunResult]]
SIZES = ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]
NAMES = ["m", "ngc-pytorch-resnet50", "模型" * 30, "a" * 100, "a" * 99 + "b"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sizes=st.lists(st.sampled_from(SIZES), min_size=1, unique=True),
    profiles=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    speeds=st.lists(st.none() | st.floats(1e-6, 1e9), min_size=18, max_size=18),
    units=st.lists(st.sampled_from(["samples/s", "GB/s"]), min_size=3, max_size=3),
    wobbles=st.lists(st.sampled_from([(), (1e-4, -1e-4), (0.05, -0.03)]), min_size=18, max_size=18),
    extra=st.lists(st.sampled_from(["", "x" * 70, "y"]), min_size=3, max_size=3),
)
def test_each_line_is_a_case_as_results_has_it_and_no_terminal_of_80_columns_breaks_it(
    runs_of: Runs,
    sizes: Sequence[str],
    profiles: Sequence[str],
    speeds: Sequence[float | None],
    units: Sequence[str],
    wobbles: Sequence[Sequence[float]],
    extra: Sequence[str],
) -> None:
    each = (
        [speed, *(speed * (1 + part) for part in wobble if speed)]
        for speed, wobble in zip(speeds, wobbles, strict=True)
    )
    groups = summarise(
        run
        for profile, unit, more in zip(profiles, units, extra, strict=False)
        for size in sizes
        for run in runs_of(size, next(each), profile=profile, unit=unit, parameters={"extra": more})
    )
    lines = result_lines(groups)
    assert len(lines) <= 4
    assert max(map(cell_len, lines)) <= 80
    assert len(set(lines)) == len(lines)
    cases = [case for group in groups for case in group.cases]
    group_of = {id(case): group for group in groups for case in group.cases}
    if not any(case.throughput for case in cases):
        assert lines == ["No case has a figure."]
        return
    rows = result_rows(groups, labels_of(groups), BY_CASE)
    told = [line for line in lines if not line.startswith("… and ")]
    listed = [*zip(cases, rows, strict=True)]
    if len(told) < len(cases):  # those with a figure first
        listed.sort(key=lambda one: not one[0].throughput)
    columns: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for (case, row), line in zip(listed, told, strict=False):
        name, _, rate, _, speedup, *_ = (cell.plain for cell in row.cells)
        assert line.startswith(name) or "…" in line
        assert ("no figure" in line) is (case.throughput is None)
        if case.throughput is not None:
            figure = line.partition(f" {case.unit}")[0].rpartition(" ")[2]
            assert figure == readable(case.throughput, decimals_of(figure))
            assert decimals_of(figure) >= decimals_of(rate)
            columns[case.unit].append((case.throughput, figure))
        assert case.throughput is None or f"grade {case.grade}" in line
        assert ("speedup" in line) is (speedup not in ("base", "–"))
        alike = group_of[id(case)].cases
        assert ("  base  " in line) is (speedup == "base" and len(alike) > 1)
        if "speedup" in line:
            ratio = line.partition("speedup ")[2].split()[0]
            assert ratio == fixed(case.speedup, decimals_of(ratio))
            columns["speedup"].append((case.speedup or 0.0, ratio))
    for column in columns.values():  # below 1 there are as many as tell something
        assert len({decimals_of(figure) for value, figure in column if value >= 1}) <= 1
    others = len(cases) - len(told)
    assert len(lines) - len(told) == bool(others)
    assert not others or f"… and {others} other case" in lines[-1]


def decimals_of(figure: str) -> int:
    return len(figure.partition(".")[2])
