"""What the machines did while a case was measured: what it costs, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backends.hosts.telemetry_summary import GpuUse, HostUse, Meanwhile, Telemetry
from backends.results.campaign_report import ReportContext, render_report
from backends.results.case_result import CaseResult
from backends.results.findings import Concern, Grade
from backends.results.grade_words import finding_lines
from backends.results.numbers import fixed, percent
from backends.results.results_json import document, result_rows
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from backends.results.telemetry_figures import HOSTS_EVERY_S, UNEVEN_LOAD, disturbed, unwatched
from backends.results.telemetry_table import telemetry_table
from backends.results.telemetry_words import (
    WHOLE_HOST,
    disturbed_line,
    usual_lines,
    watched_brief,
    watched_words,
)
from profiles.throughput.steady import Disturbance, Shape
from tui.screens.repeats import repeat_rows
from tui.screens.result_text import case_text

VALUES = [100.0, 100.3, 99.8, 100.1, 99.9, 100.2, 99.7]


def gpu(**more: Any) -> GpuUse:
    return replace(GpuUse("node1", 5, 100.0, power_w_mean=250.0, energy_j=25_000.0), **more)


def host(busy: float = 0.3, swapped: int = 0) -> HostUse:
    return HostUse("node1", 64, 1.5, busy, swapped)


@pytest.fixture
def watched(runs_of):
    """Seven steady repeats in a known environment; ``telemetry`` of the third, None of the rest."""

    def watched(telemetry: Telemetry, **fields: Any) -> list[RunResult]:
        runs = runs_of("1n1g", VALUES, fingerprint="a", **fields)
        runs[2] = replace(runs[2], telemetry=telemetry)
        return runs

    return watched


def only(runs: Sequence[RunResult]) -> tuple[CaseResult, Group]:
    (group,) = summarise(runs)
    return group.cases[0], group


@pytest.mark.parametrize(
    ("seconds", "reason", "grade", "concern"),
    [
        (0.9, "hardware thermal slowdown", "A", None),
        (1.1, "hardware thermal slowdown", "B", Concern.THROTTLED),
        (10.0, "power brake", "B", Concern.THROTTLED),
        (10.1, "software thermal slowdown", "C", Concern.THROTTLED),
        (4.9, "power cap", "A", None),
        (5.1, "power cap", "A", Concern.POWER_CAPPED),
        (90.0, "application clocks setting", "A", Concern.POWER_CAPPED),
        (90.0, "sync boost", "A", Concern.POWER_CAPPED),
    ],
)
def test_throttling_costs_by_its_share_of_the_time(
    watched, seconds: float, reason: str, grade: str, concern: Concern | None
) -> None:
    case, group = only(watched(Telemetry((gpu(throttled_s={reason: seconds}),))))
    assert (case.grade, case.concerns) == (Grade(grade), (concern,) if concern else ())
    was = "held at its limit" if concern is Concern.POWER_CAPPED else "throttled"
    said = f"GPU5 of node1 was {was} for {seconds}% of the 100 s that it was watched ({reason})"
    assert finding_lines(case, group) == ([f"repeat 3: {said}"] if concern else [])


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((9.0,), "repeat 1: "),
        ((9.0, 0.0, 4.0), "repeat 1: "),
        ((6.0, 9.0, 5.1, 0.0), "3 of 7 repeats, most of all repeat 2: "),
        ((9.0,) * 6 + (10.0,), "7 of 7 repeats, most of all repeat 7: "),
    ],
)
def test_how_many_repeats_were_throttled_is_said(
    runs_of, shares: Sequence[float], said: str
) -> None:
    runs = runs_of("1n1g", VALUES, fingerprint="a")
    for number, share in enumerate(shares):
        held = Telemetry((gpu(throttled_s={"power cap": share}),))
        runs[number] = replace(runs[number], telemetry=held)
    (line,) = finding_lines(*only(runs))
    assert line.startswith(f"{said}GPU5 of node1 was held at its limit for ")


@given(st.lists(st.floats(20.0, 110.0), min_size=1, max_size=7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_hottest_is_that_of_all_repeats(runs_of, degrees: list[float]) -> None:
    runs = runs_of("1n1g", VALUES[: len(degrees)])
    for number, hot in enumerate(degrees):
        seen = Telemetry((gpu(temperature_c_max=hot), gpu(gpu=6, temperature_c_max=20.0)))
        runs[number] = replace(runs[number], telemetry=seen)
    table = telemetry_table(summarise(runs))
    assert table is not None
    assert table.rows[0][table.headings.index("hottest °C")] == fixed(max(degrees), 0)


def test_the_energy_of_a_token_is_not_called_that_of_a_sample(runs_of) -> None:
    for unit, counted in (("tokens/s", "token"), ("images/s", "image"), ("samples/s", "sample")):
        runs = runs_of("1n1g", VALUES, unit=unit)
        runs[0] = replace(runs[0], telemetry=Telemetry((gpu(),)))
        table = telemetry_table(summarise(runs))
        assert table is not None
        assert f"J per {counted}" in table.headings
        assert f"J per {counted}" in dict(usual_lines(runs))["energy"]


def test_zeros_at_the_end_of_an_energy_are_digits_that_were_measured(runs_of) -> None:
    runs = runs_of("1n1g", [1000.0] * 3, unit="images/s")
    for number, watts in enumerate((100.02, 100.0, 99.96)):
        seen = Telemetry((gpu(power_w_mean=watts),))
        runs[number] = replace(runs[number], telemetry=seen)
        table = telemetry_table(summarise(runs[number : number + 1]))
        assert table is not None
        assert table.rows[0][table.headings.index("J per image")] == "0.100"
    assert ("energy", "0.100 J per image") in usual_lines(runs)


def test_cpus_that_nobody_asked_twice_are_explained(runs_of) -> None:
    long, short = runs_of("1n1g", VALUES[:1]), runs_of("1n2g", VALUES[:1])
    asked = Telemetry((gpu(),), (host(0.5),))
    once = Telemetry((gpu(), gpu(gpu=6)), (replace(host(), cpu_busy=None),))
    for busy, explained in ((once, True), (asked, False)):
        runs = [replace(long[0], telemetry=asked), replace(short[0], telemetry=busy)]
        for lang in ("en", "zh"):
            table = telemetry_table(summarise(runs), lang)
            assert table is not None
            assert bool(table.notes) == (explained)


@given(boots=st.lists(st.sampled_from(["one", "two", ""]), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_cpus_of_a_machine_of_several_names_count_once(runs_of, boots: list[str]) -> None:
    names = tuple(f"node{n}" for n in range(len(boots)))
    seen = Telemetry((), tuple(replace(host(), host=name) for name in names))
    runs = runs_of("1n1g", [100.0] * 2, hosts=names, boot_ids=tuple(boots), telemetry=seen)
    table = telemetry_table(summarise(runs))
    assert table is not None
    machines = len({*filter(None, boots)}) + boots.count("")
    assert table.rows[0][table.headings.index("CPUs")] == str(64 * machines)


def test_where_nobody_looked_no_throttling_is_not_said(runs_of) -> None:
    runs = runs_of("1n1g", VALUES)
    held = Telemetry((gpu(seconds=0.0, throttled_s={"power cap": 0.0}),), (host(),))
    runs[0] = replace(runs[0], telemetry=held)
    assert telemetry_table(summarise(runs)) is None


CAPPED = {"power cap": 40.0}


@pytest.mark.parametrize(
    ("seconds", "trained_s", "enough"),
    [
        ((50.0,), 100.0, True),
        ((49.0,), 100.0, False),
        ((90.0, 49.0), 100.0, False),  # the other GPU may have held all of them up
        ((0.0,), 0.1, False),
        ((0.0,), None, False),
        ((1.0,), 0.1, True),  # a log that came at once
        ((1.0,), None, True),  # nobody knows of how much
    ],
)
def test_a_run_that_was_seen_for_less_than_half_of_its_time_is_not_judged_by_that(
    watched, seconds: Sequence[float], trained_s: float | None, enough: bool
) -> None:
    use = gpu(throttled_s=CAPPED, sm_clock_mhz_mean=1485.0, temperature_c_max=71.0)
    seen = Telemetry(tuple(replace(use, seconds=s) for s in seconds))
    case, group = only(watched(seen, trained_s=trained_s, readings=99, steady=()))
    assert (Concern.UNOBSERVED in case.concerns) == (not enough)
    assert (Concern.POWER_CAPPED in case.concerns) == enough
    assert (case.grade is Grade.A) == enough
    assert bool(usual_lines(case.runs)) == enough
    assert (document("c", case.runs, [group])["runs"][2]["joules_per_sample"] is not None) == enough
    assert (telemetry_table([group]) is not None) == enough


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("fingerprint", "seen"),
    [
        ("Tesla V100, driver 440.33.01, Debian; ECC: on", False),
        ("AMD EPYC, Debian", True),  # no GPU, no nvidia-smi, or a run that uses none
        ("", True),
    ],
)
@pytest.mark.parametrize("hosts", [(), (host(),)])
def test_a_run_on_gpus_of_which_no_sample_exists_was_not_watched(
    runs_of, hosts: tuple[HostUse, ...], fingerprint: str, seen: bool, at_once: bool
) -> None:
    """As after an outage of the console that outlasted the run."""
    late: dict[str, Any] = {"used": 26, "window_s": None} if at_once else {}
    runs = runs_of("1n1g", VALUES[:1], fingerprint=fingerprint, readings=30, trained_s=0.0, **late)
    (run,) = [replace(run, telemetry=Telemetry(hosts=hosts)) for run in runs]
    burst = "its log came in one burst: what its machines did is not known" * at_once
    assert watched_brief(run) == (burst if seen else "not watched")
    case, group = only([run])
    assert (Concern.UNOBSERVED in case.concerns) == (at_once or not seen)
    said = " ".join(finding_lines(case, group))
    assert ("its machines were not seen while it was measured" in said) == (not seen)
    assert ("came in one burst" in said) == (at_once and seen)
    assert (dict(usual_lines([run])) == {}) == (at_once or not seen or not hosts)


@given(
    busy=st.lists(st.none() | st.just(0.5), min_size=1, max_size=5), late=st.sets(st.integers(0, 4))
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_figure_of_a_part_of_the_repeats_says_of_how_many(
    runs_of, busy: list[float | None], late: set[int]
) -> None:
    """``late``: those whose log came in one burst."""
    runs = [
        replace(
            run,
            fingerprint="AMD EPYC, Debian",
            telemetry=Telemetry(hosts=(HostUse("node1", 64, 1.5, None if n in late else share),)),
            used=9,
            window_s=None if n in late else 4.7,
        )
        for n, (run, share) in enumerate(
            zip(runs_of("1n1g", [100.0] * len(busy)), busy, strict=True)
        )
    ]
    of = len(runs)
    known = sum(share is not None and n not in late for n, share in enumerate(busy))
    seen = sum(n not in late for n in range(of))
    lines = dict(usual_lines(runs))
    part = 0 < known < seen
    half = WHOLE_HOST.format("50%")
    assert lines.get("CPUs") == (
        f"{half} (of {known} of {of} repeats)" if part else half if known else None
    )
    assert lines.get("watched") == (f"{seen} of {of} repeats" if known and seen < of else None)
    table = telemetry_table(summarise(runs))
    assert table is not None
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert row["CPUs"] == "64"
    assert row.get("CPUs busy", "–") == (f"50% ({known}/{of})" if part else "50%" if known else "–")
    assert any(note.startswith("(k/n)") for note in table.notes) is part
    assert row.get("repeats watched") == (f"{seen}/{of}" if seen < of else None)


def test_how_little_of_a_run_was_seen_is_said(watched) -> None:
    seen = Telemetry((gpu(seconds=1.01, throttled_s=CAPPED),))
    case, group = only(watched(seen, trained_s=42.0, readings=99, steady=()))
    unknown = "whether anything disturbed it is not known"
    assert finding_lines(case, group) == [
        "its machines were seen in 1 of 7 repeats for no more than 1.01 s of the 42.0 s from its "
        f"first reading to its last (repeat 3): {unknown}"
    ]


@pytest.mark.parametrize("seconds", [0.0, 1.01, 42.0])
def test_a_log_that_came_in_one_burst_is_no_accusation_of_who_watched(watched, seconds) -> None:
    """Its readings have the time at which they came, and not that at which they were printed."""
    seen = Telemetry((gpu(seconds=seconds, throttled_s=CAPPED),))
    runs = watched(seen, trained_s=42.0, readings=10, used=8, window_s=4.7, steady=())
    runs[2] = replace(runs[2], window_s=None)
    case, group = only(runs)
    assert (case.grade, case.concerns) == (Grade.B, (Concern.UNOBSERVED,))
    assert finding_lines(case, group) == [
        "the log of repeat 3 came in one burst, so that its readings cannot be placed in time: "
        "what its machines did while it was measured is not known"
    ]
    assert finding_lines(case, group, "zh")[0].startswith("第 3 次重复的日志")
    assert usual_lines(case.runs) == ()
    notes = [str(row.cells[-1]) for row in repeat_rows(case)]
    assert ["in one burst" in note for note in notes] == [n == 2 for n in range(7)]


def test_which_repeats_were_not_watched_stands_with_each(watched) -> None:
    seen = Telemetry((gpu(seconds=1.01, throttled_s=CAPPED),))
    runs = watched(seen, trained_s=42.0, readings=99, steady=())
    runs[0] = replace(runs[0], telemetry=None)
    notes = [str(row.cells[-1]) for row in repeat_rows(only(runs)[0])]
    assert [note.split(" · ")[0] for note in notes[:3]] == [
        "not watched",
        "",
        "watched for 1.01 s of 42.0 s",
    ]


def test_a_gpu_that_nobody_saw_has_no_share_in_the_energy_of_its_run(runs_of) -> None:
    runs = runs_of("1n2g", VALUES)
    runs[2] = replace(runs[2], telemetry=Telemetry((gpu(),)))
    assert document("c", runs, summarise(runs))["runs"][2]["joules_per_sample"] is None


def test_table_and_notes_have_one_measure_of_throttling(runs_of) -> None:
    """Of a long repeat and of a short one: the same seconds are not the same share."""
    runs = runs_of("1n1g", VALUES[:3], trained_s=100.0)
    for number, (of, capped, hot) in enumerate(
        ((90.0, 40.0, 9.0), (60.0, 40.0, 0.0), (80.0, 4, 8))
    ):
        reasons = {"power cap": capped, "power brake": hot}
        seen = Telemetry((gpu(seconds=of, throttled_s=reasons), gpu(gpu=6, seconds=of)))
        runs[number] = replace(runs[number], telemetry=seen)
    table = telemetry_table(summarise(runs))
    assert table is not None
    cells = dict(zip(table.headings, table.rows[0], strict=True))
    assert cells["throttled"] == "10%"  # of 10, 0 and 10
    assert cells["at its limit"] == "44% (power cap)"  # of 44, 67 and 5
    chinese = telemetry_table(summarise(runs), "zh")
    assert chinese is not None
    assert "44%（功耗上限）" in chinese.rows[0]
    said = finding_lines(*only(runs))
    assert any(line.endswith("66.7% of the 60 s that it was watched (power cap)") for line in said)


@given(
    shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7),
    reason=st.sampled_from(["power cap", "power brake"]),
)
@example(shares=[0.0, 0.652, 0.0], reason="power brake")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_median_hides_what_the_flags_say_of_the_worst_repeat(
    runs_of, shares: list[float], reason: str
) -> None:
    runs = runs_of("1n1g", VALUES[: len(shares)], fingerprint="a")
    for number, share in enumerate(shares):
        seen = Telemetry((gpu(throttled_s={reason: 100.0 * share}),))
        runs[number] = replace(runs[number], telemetry=seen)
    case, _ = only(runs)
    flagged = not {Concern.THROTTLED, Concern.POWER_CAPPED}.isdisjoint(case.concerns)
    for lang, says in (("en", ", most "), ("zh", "，最多 ")):
        table = telemetry_table(summarise(runs), lang)
        assert table is not None
        told = next(cell for cell in table.rows[0] if "%" in cell)
        much_more = flagged and max(shares) > 2 * median(shares)
        assert (says + percent(max(shares)) in told) == much_more, told
        assert any(note in " ".join(table.notes) for note in ("medians of", "中位数")) == (
            len(shares) > 1
        )
        report = render_report(ReportContext("c"), runs, summarise(runs), lang)
        assert told in report
        assert all(note in report for note in table.notes)


def test_of_how_many_repeats_throttling_is_said(runs_of) -> None:
    runs = runs_of("1n1g", VALUES, trained_s=100.0)
    for number, seconds in enumerate((100.0, 100.0, 20.0)):
        held = Telemetry((gpu(seconds=seconds, throttled_s={"power cap": 20.0}),))
        runs[number] = replace(runs[number], telemetry=held)
    said = finding_lines(*only(runs))
    held = "GPU5 of node1 was held at its limit for 20.0% of the 100 s that it was watched"
    assert f"2 of 6 repeats that were watched, most of all repeat 1: {held} (power cap)" in said


@pytest.mark.parametrize(
    ("telemetry", "said"),
    [
        (Telemetry((gpu(other_processes=1),)), "repeat 3: another process was on GPU5 of node1"),
        (
            Telemetry((gpu(ecc_errors=2),)),
            "repeat 3: GPU5 of node1 had 2 memory errors that could not be corrected",
        ),
        (Telemetry((), (host(swapped=65 << 10),)), "repeat 3: node1 swapped 65 MiB"),
        (Telemetry((gpu(ecc_errors=0),), (host(swapped=64 << 10),)), ""),
    ],
)
def test_what_disturbs_a_run_is_named(watched, telemetry: Telemetry, said: str) -> None:
    case, group = only(watched(telemetry))
    assert finding_lines(case, group) == ([said] if said else [])
    assert case.grade == (Grade.C if said else Grade.A)


@pytest.mark.parametrize(
    ("busy", "n", "named"),
    [(0.41, 7, True), (0.39, 7, False), (0.3, 7, False), (0.41, 3, True), (0.9, 2, False)],
)
def test_a_repeat_with_busier_cpus_than_the_others_is_named(
    runs_of, busy: float, n: int, named: bool
) -> None:
    runs = [
        replace(run, telemetry=Telemetry((), (host(busy=0.3 if number else busy),)))
        for number, run in enumerate(runs_of("1n1g", VALUES[:n], fingerprint="a"))
    ]
    case, group = only(runs)
    said = "repeat 1: the CPUs of node1 were busier by 11.0% of their time than the repeats' median"
    assert (said in finding_lines(case, group)) == named
    assert (Concern.DISTURBED in case.concerns) == named


@given(st.floats(1.0, 500.0), st.none() | st.floats(0.0, 500.0), st.none() | st.floats(0.0, 500.0))
def test_a_run_without_gpus_is_watched_as_its_least_watched_host_is(
    trained: float, one: float | None, other: float | None
) -> None:
    """A look now and then will do for a short one; of old journals nobody knows."""
    seen = Telemetry((), (replace(host(), seconds=one), replace(host(), seconds=other)))
    run = RunResult("r", "p", "F", "M", "2n1g", 2, 1, {}, 1, throughput=1.0, telemetry=seen)
    run = replace(run, trained_s=trained)
    known = one is not None and other is not None
    least = min(one or 0.0, other or 0.0)
    little = least < trained / 2 and trained - least > 2 * HOSTS_EVERY_S
    assert unwatched(run) is (known and little)


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=8))
def test_how_many_repeats_were_disturbed_is_told(busy: list[float]) -> None:
    one = RunResult("r", "p", "F", "M", "1n1g", 1, 1, {}, 1, throughput=100.0)
    runs = [
        replace(one, run_id=f"r{n}", repeat=n, telemetry=Telemetry((), (host(busy=share),)))
        for n, share in enumerate(busy, 1)
    ]
    beyond = [share for share in busy if share - median(busy) > UNEVEN_LOAD]
    found = disturbed(runs)
    assert [(one.repeats, one.of) for one in found] == [(len(beyond), len(busy))] * bool(beyond)
    for line in map(disturbed_line, found):
        told = f"{len(beyond)} of {len(busy)} repeats, most in repeat "
        assert line.startswith(told if len(beyond) > 1 else "repeat ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([1.0])
@example([0.99])
@given(st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=8))
def test_gpus_that_were_idle_while_a_run_was_measured_cost_its_figure_the_trust(
    runs_of, busy: list[float | None]
) -> None:
    gpus = tuple(gpu(gpu=n, utilization_mean=percent) for n, percent in enumerate(busy))
    runs = runs_of(f"1n{len(busy)}g", VALUES, fingerprint="a")
    runs[2] = replace(runs[2], telemetry=Telemetry(gpus))
    case, group = only(runs)
    idle = [n for n, percent in enumerate(busy) if percent is not None and percent < 1]
    told = [line for line in finding_lines(case, group) if "idle while it was measured" in line]
    assert (case.grade is Grade.A) == (not idle)
    assert (Concern.IDLE_GPUS in case.concerns) == bool(idle)
    assert len(told) == bool(idle)
    if idle:
        assert case.grade is Grade.C
        count = "" if len(busy) == 1 else f"{len(idle)} of its {len(busy)} GPUs (GPU{idle[0]} of"
        assert told[0].startswith(f"repeat 3: {count or f'GPU{idle[0]} of'} node1")


def test_what_preflight_warned_of_stands_with_the_result(watched) -> None:
    case, group = only(watched(Telemetry(), warned=("node1: load 9.9 on 8 CPUs",)))
    assert (case.grade, case.concerns) == (Grade.B, (Concern.PREFLIGHT,))
    assert finding_lines(case, group) == [
        "preflight warned before the first start: node1: load 9.9 on 8 CPUs"
    ]


def test_a_change_of_speed_is_told_with_what_a_gpu_did_meanwhile(watched) -> None:
    throttled = Meanwhile(0, "node3", 5, 31.2, "hardware thermal slowdown", -0.1)
    slower = Meanwhile(0, "node3", 6, 0.0, "", -0.12)
    step = (Disturbance(Shape.STEP, -0.04, 0.01, 42, 420.0),)
    said = "repeat 3: the speed changes by -4.0% at step 420"
    for seen, more in (
        ((), ""),
        ((slower,), "; meanwhile the SM clock of GPU6 of node3 was lower by 12.0%"),
        (
            (slower, throttled),
            "; meanwhile GPU5 of node3 was throttled for 31 s (hardware thermal slowdown)",
        ),
        ((replace(throttled, disturbance=1),), ""),
    ):
        runs = watched(Telemetry((gpu(),), (), seen))
        runs[2] = replace(runs[2], steady=step)
        case, group = only(runs)
        assert finding_lines(case, group) == [said + more]


def test_energy_per_sample_is_that_of_all_gpus_or_none(watched) -> None:
    runs = watched(Telemetry((gpu(), gpu(gpu=6, power_w_mean=150.0))))
    written = document("c", runs, summarise(runs))
    assert written["runs"][2]["joules_per_sample"] == pytest.approx(400.0 / 99.8)
    assert written["results"][0]["joules_per_sample"] == pytest.approx(400.0 / 99.8)
    assert written["runs"][2]["telemetry"][1]["power_w_mean"] == 150.0
    assert written["runs"][0]["telemetry"] == []
    [row] = result_rows(summarise(runs))
    assert row["joules_per_sample"] == pytest.approx(400.0 / 99.8)
    runs = watched(Telemetry((gpu(), gpu(gpu=6, power_w_mean=None))))
    assert document("c", runs, summarise(runs))["runs"][2]["joules_per_sample"] is None


@pytest.mark.parametrize("unit", ["GB/s", "min"])
def test_what_counts_no_samples_has_no_energy_per_sample(watched, unit: str) -> None:
    runs = [replace(run, unit=unit) for run in watched(Telemetry((gpu(),)))]
    assert document("c", runs, summarise(runs))["runs"][2]["joules_per_sample"] is None
    assert "J per" not in render_report(ReportContext("c"), runs, summarise(runs))


def test_how_many_repeats_were_watched_is_said_where_not_all_were(watched) -> None:
    use = gpu(sm_clock_mhz_mean=1485.0)
    runs = watched(Telemetry((use,), (host(),)))
    assert watched_words(runs) == f"{len(runs)} of {len(runs)} repeats"
    assert "watched" not in dict(usual_lines(runs))
    some = (replace(runs[0], telemetry=None), *runs[1:])
    words = watched_words(some)
    assert words == f"{len(runs) - 1} of {len(runs)} repeats"
    assert dict(usual_lines(some))["watched"] == words
    assert watched_words([replace(runs[0], telemetry=None)]) == "0 of 1 repeats"


def test_the_report_has_a_table_of_it_where_anybody_watched(watched, runs_of) -> None:
    use = gpu(sm_clock_mhz_mean=1485.0, sm_clock_mhz_max=1980, temperature_c_max=71.0)
    runs = watched(Telemetry((use,), (host(),)))
    report = render_report(ReportContext("c"), runs, summarise(runs))
    assert "### What the machines did meanwhile" in report
    assert "| 1n1g | 250 (1/7) | 2.51 (1/7) | 1485 (1/7) | 75% (1/7) | 71 | 30% (1/7) |" in report
    bare = runs_of("1n1g", VALUES)
    assert "machines did" not in render_report(ReportContext("c"), bare, summarise(bare))


def test_the_console_says_it_of_a_case_and_of_a_run(watched, runs_of) -> None:
    one, two = gpu(utilization_mean=99.0, sm_clock_mhz_mean=1485.0), gpu(utilization_mean=97.0)
    runs = watched(Telemetry((one, two), (host(),)))
    lines = (
        ("GPUs", "98% busy, 250 W each, SM clock 1485 MHz"),
        ("energy", "5.01 J per sample"),
        ("CPUs", "30% busy, others' work on the host included"),
    )
    assert usual_lines(runs[2:3]) == lines
    assert usual_lines(runs) == tuple(
        (name, f"{words} (of 1 of 7 repeats)") for name, words in lines
    )
    text = case_text(*only(runs)).plain
    for name, words in usual_lines(runs):
        assert re.search(f"^{name} +{re.escape(words)}$", text, re.MULTILINE)
    bare = runs_of("1n1g", VALUES)
    assert usual_lines(bare) == ()
    assert "busy" not in case_text(*only(bare)).plain


@given(busy=st.none() | st.floats(0, 1), load=st.floats(0, 100), gpus=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_hosts_without_gpus_had_to_do_is_told(
    runs_of, busy: float | None, load: float, gpus: bool
) -> None:
    hosts = (HostUse("a", 2, load, busy), HostUse("b", 4, load / 2, busy))
    runs = [
        replace(run, telemetry=Telemetry((gpu(),) * gpus, hosts))
        for run in runs_of("1n1g", VALUES[:3])
    ]
    table = telemetry_table(summarise(runs))
    assert table is not None
    told = dict(zip(table.headings, table.rows[0], strict=True))
    assert ("CPUs" in told) is ("load at start" in told) is not gpus
    assert gpus or (told["CPUs"], told["load at start"]) == ("6", fixed(load))
