"""Who runs when, drawn by host."""

from __future__ import annotations

import re
from itertools import accumulate, cycle

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.plan.plan import DryRun
from tui.timeline_text import (
    MOST_LEGEND,
    MOST_NAME,
    MOST_ROWS,
    Bar,
    host_lines,
    timeline_lines,
    told_apart,
)


def run(tag: str, hosts: str, start: float | None, end: float | None, number: int = 1) -> DryRun:
    names = f"p {tag} #1", f"{tag} #1"
    return DryRun(*names, tuple(hosts.split()), (), start_s=start, end_s=end, number=number)


def test_every_host_has_a_line_with_its_runs_from_start_to_end() -> None:
    runs = [
        run("2n8g", "a b", 0, 60, 3),
        run("1n8g", "a", 60, 120, 2),
        run("1n1g", "b", 60, 90, 1),
    ]
    assert timeline_lines(runs, 57) == [
        "                 0s                  1m00s          2m00s",
        "a                │3 p 2n8g #1────────│2 p 1n8g #1────────",
        "b                │3 p 2n8g #1────────│1 1n1g #1",
    ]


def test_hosts_that_do_the_same_are_one_line() -> None:
    lines = timeline_lines([run("4n8g", "n1 n2 n3 n4", 0, 60)], 60)
    assert lines[1].startswith("n[1-4]           │1 p 4n8g #1──")
    many = [run("1n1g", f"host{n}", 0, n) for n in range(1, 200)]
    lines = timeline_lines(many, 300)
    assert lines[MOST_ROWS + 1].startswith("… ")
    assert len(lines) <= MOST_ROWS + 2 + MOST_LEGEND


def test_runs_side_by_side_on_one_host_have_a_line_each() -> None:
    runs = [run("1n1g", "a", 0, 60), run("1n2g", "a", 0, 30), run("1n4g", "a", 30, 60)]
    assert timeline_lines(runs, 57)[1:] == [
        "a                │1 p 1n1g #1────────────────────────────",
        "                 │1 p 1n2g #1────────│1 p 1n4g #1────────",
    ]


def test_nothing_is_drawn_where_nobody_knows_how_long_a_run_takes() -> None:
    assert timeline_lines([run("1n1g", "a", 0, 60), run("1n2g", "a", 60, None)], 60) == []
    assert timeline_lines([], 60) == []


times = st.floats(0, 1e6)


@given(st.lists(st.floats(1, 500), min_size=1, max_size=40), st.integers(30, 200))
def test_a_bar_has_its_number_whole_or_none_and_labels_are_never_cut(
    lengths: list[float], width: int
) -> None:
    """Also where several profiles have the same cases."""
    ends = list(accumulate(lengths))
    runs = [
        DryRun(
            f"{profile} 4n8g #1", "4n8g #1", ("a",), (), start_s=end - length, end_s=end, number=n
        )
        for n, (length, end, profile) in enumerate(
            zip(lengths, ends, cycle(["paddle", "oneflow"]), strict=False), 1
        )
    ]
    lines = timeline_lines(runs, width)[1:2]
    drawn = [bar.strip(" ─") for line in lines for bar in line[17:].split("│")[1:]]
    whole = {str(n): run for n, run in enumerate(runs, 1)}
    numbers = [bar.partition(" ")[0] for bar in drawn if bar]
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= whole.keys()
    for bar in filter(None, drawn):
        number, _, label = bar.partition(" ")
        short = {whole[number].short} if len(runs) == 1 else set()  # else it is that of others
        assert label.rstrip() in {"", whole[number].label} | short
    if len(runs) * 4 <= (width - 17) * min(lengths) / ends[-1]:
        assert len(numbers) == len(runs), "there is room for every one"


@given(st.lists(st.floats(1, 500), min_size=1, max_size=60), st.integers(40, 200))
def test_who_has_a_number_alone_has_its_name_below_or_is_counted(
    lengths: list[float], width: int
) -> None:
    ends = list(accumulate(lengths))
    runs = [
        run(f"{n}n8g", "a", end - length, end, n)
        for n, (length, end) in enumerate(zip(lengths, ends, strict=True), 1)
    ]
    _, *lines = timeline_lines(runs, width)
    bars = [line[MOST_NAME + 1 :] for line in lines if line[0] in "a "]
    below = lines[len(bars) :]
    drawn = [bar.strip(" ─") for line in bars for bar in line.split("│")[1:]]
    alone = [f"{n} {n}n8g #1" for n in sorted(int(one) for one in drawn if one.isdigit())]
    told = [entry for line in below for entry in re.split(r" {2,}", line)]
    assert len(below) <= MOST_LEGEND
    left = len(alone) - len(told) + 1
    if told and told[-1].startswith("…"):
        assert len(below) == MOST_LEGEND
        assert told == [*alone[: len(told) - 1], f"… {left} more"]
    else:
        assert told == alone


@given(st.floats(1, 500), st.integers(1, 30), st.floats(0, 900), st.integers(40, 200))
def test_runs_that_take_as_long_are_as_wide(
    length: float, number: int, begin: float, width: int
) -> None:
    starts = [begin + length * n for n in range(number)]
    bars = [Bar((f"h{n}",), ("│",), at, at + length) for n, at in enumerate(starts)]
    total = begin + length * number
    columns = width - MOST_NAME - 1
    drawn = [line.plain[MOST_NAME + 1 :].strip() for line in host_lines(bars, width, total)]
    wide = max(1, int(length * columns / total + 1e-6))
    assert {len(bar) for bar in drawn} == {wide}


@given(
    st.lists(st.tuples(st.text(), st.text("ab ", min_size=1), times, times)),
    st.integers(40, 200),
)
def test_no_line_is_wider_than_asked(
    drawn: list[tuple[str, str, float, float]], width: int
) -> None:
    runs = [run(tag, hosts, start, start + length) for tag, hosts, start, length in drawn]
    assert all(len(line) <= width for line in timeline_lines(runs, width))


@given(st.permutations([f"node{n}" for n in (1, 2, 9, 10, 11, 100)]))
def test_hosts_stand_in_the_order_of_their_numbers(names: list[str]) -> None:
    bars = [
        Bar((name,), (f"run {at} ",), at * 10.0, at * 10.0 + 10.0) for at, name in enumerate(names)
    ]
    lines = host_lines(bars, 100, 60.0, fold=False)
    assert [line.plain.split()[0] for line in lines] == sorted(names, key=lambda n: int(n[4:]))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1n1g", "4n8g"]),
            st.sampled_from(["fp32", "amp"]),
            st.integers(1, 3),
        ),
        min_size=1,
        unique=True,
    )
)
def test_a_short_name_is_of_one_run_and_has_no_more_than_tells_it_apart(
    cases: list[tuple[str, str, int]],
) -> None:
    names = [(f"p {tag} b256 {kind} #{repeat}", f"{tag} #{repeat}") for tag, kind, repeat in cases]
    told = told_apart(names)
    assert len(set(told)) == len(told)
    assert not any("b256" in one for one in told)
    alone = [short for _, short in names if sum(short == other for _, other in names) == 1]
    assert set(alone) <= set(told)
