"""Who meets a table elsewhere reads below it where its figures come from."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import version
from backends.hosts.machines import Machines
from backends.inventory.nodesets import expand_nodeset
from backends.results.case_result import CaseResult
from backends.results.comparison import compare
from backends.results.comparison_report import comparison_footer
from backends.results.findings import Concern, Finding, Grade, gravest_first
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import Format
from backends.results.provenance import MOST, how_sure, provenance
from backends.results.publish import LAYOUTS, publish
from backends.results.run_result import RunResult
from backends.results.short_flags import SHORT, set_by
from backends.results.summary import summarise

H200 = "NVIDIA H200, driver 580.159.04, CUDA 13.0, Ubuntu 24.04.3 LTS; ECC: on"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
RunsOf = Callable[..., list[RunResult]]

FITS: dict[str, dict[str, Any]] = {
    "llm": {"unit": "tokens/s"},
    "collectives": {"unit": "GB/s"},
    "mlperf": {
        "parameters": {"system": "s", "benchmark": "b"},
        "metrics": {"time_to_train_s": 60.0},
    },
}
KINDS = [(layout.name, kind) for layout in LAYOUTS.values() for kind in layout.formats]


def facts(**known: Any) -> dict[str, Any]:
    return {
        "campaign": "2026-11-21-h200",
        "hosts": ("node1", "node2"),
        "fingerprint": H200,
        "started_at": NOON.timestamp(),
    } | known


@pytest.mark.parametrize(("layout", "kind"), KINDS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_tables_for_people_end_with_it_and_data_has_nothing_of_it(
    runs_of: RunsOf, layout: str, kind: Format, lang: Any
) -> None:
    runs = runs_of("1n1g", [100, 101, 102], **facts(**FITS.get(layout, {})))
    text = publish("c", runs, layout=layout, format=kind, options=LayoutOptions(lang=lang))
    told = f"dlperf-tui {version()} · 2026-11-21-h200 · 2026-11-21 · node[1-2], NVIDIA H200"
    if kind == "md":
        assert text.splitlines()[-1].startswith(told + ", driver 580.159.04 · ")
        assert text.endswith("\n")
    else:
        assert "dlperf-tui" not in text


def test_a_style_of_somebody_else_has_none(runs_of: RunsOf) -> None:
    runs = runs_of("1n1g", [100], **facts())
    text = publish("c", runs, options=LayoutOptions(style="oneflow"))
    assert "dlperf-tui" not in text
    assert text.rstrip().endswith("|")


@given(
    hosts=st.sets(st.from_regex(r"[a-z]{1,12}[0-9]{1,3}", fullmatch=True), max_size=12),
    gpus=st.sets(st.sampled_from(["NVIDIA H200", "Tesla V100-SXM2-16GB"])),
    days=st.sets(st.integers(0, 400), max_size=4),
    simulated=st.booleans(),
    imported=st.booleans(),
)
def test_it_is_one_short_line_of_what_is_known_and_of_nothing_else(
    hosts: set[str], gpus: set[str], days: set[int], simulated: bool, imported: bool
) -> None:
    runs = [
        RunResult(
            *(f"{host} {gpu} {day}", "p", "F", "M", "1n1g", 1, 1, {}, number),
            throughput=100.0,
            campaign="c",
            hosts=(host,) if host else (),
            fingerprint=f"{gpu}, driver 1.2" if gpu else "",
            started_at=None if day is None else (NOON + timedelta(days=day)).timestamp(),
            simulated=simulated,
            imported=imported,
        )
        for number, (host, gpu, day) in enumerate(
            (host, gpu, day)
            for host in hosts or {""}
            for gpu in gpus or {""}
            for day in days or {None}
        )
    ]
    (group,) = summarise(runs)
    line = provenance(group.cases, "9.9")
    assert "\n" not in line
    assert line.startswith("SIMULATED · dlperf-tui 9.9 · c") == simulated
    assert ("SIMULATED" in line, "imported" in line) == (simulated, imported)
    assert all(gpu in line for gpu in gpus)
    assert ("driver 1.2" in line) == bool(gpus)
    ends = (
        {f"{NOON + timedelta(days=day):%Y-%m-%d}" for day in (min(days), max(days))}
        if days
        else set()
    )
    assert set(re.findall(r"\d{4}-\d\d-\d\d", line)) == ends
    assert len(line) < 2 * MOST + 120
    assert not re.search(r"· ·|,,| $|None|unknown", line)
    assert f" · grades 1 × {group.cases[0].grade}" in line
    assert f" · n {len(runs)}" in line


@given(
    forced=st.lists(st.booleans(), min_size=3, max_size=3),
    doubled=st.booleans(),
    n=st.integers(1, 7),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_sets_a_c_or_a_d_stands_behind_it_and_nothing_else_does(
    runs_of: RunsOf, forced: list[bool], doubled: bool, n: int
) -> None:
    values = [100 + i % 3 / 10 for i in range(n)]
    runs = []
    for gpus, own in zip((1, 2, 4), forced, strict=True):
        speed = gpus * (1.5 if doubled and gpus == 4 else 1)
        runs += runs_of(f"1n{gpus}g", [v * speed for v in values], **facts(forced=own))
    (group,) = summarise(runs)
    for layout in ("speedup", "pivot", "compare"):
        line = publish("c", runs, layout=layout).splitlines()[-1]
        told = dict(re.findall(r"\d × (\w)(?: \((.*?)\))?(?=,| · |$)", line.replace("\\", "")))
        assert {*told} == {case.grade for case in group.cases}
        for grade, reasons in told.items():
            own = [case for case in group.cases if case.grade == grade]
            expected = reasons_of(own) if grade > "B" else {}
            assert {*filter(None, reasons.split(", "))} == {
                SHORT[concern] + f" in {n}" * (n < len(own)) for concern, n in expected.items()
            }


def reasons_of(cases: list[CaseResult]) -> dict[Concern, int]:
    """Of how many each sets the grade; a base's where nothing else does; where anything does so of
    all, nothing else."""
    counts: Counter[Concern] = Counter()
    for case in cases:
        setting = {found.concern for found in case.findings if found.ceiling is case.grade}
        counts.update(setting - {Concern.WEAK_BASE} or setting)
    of_all = {concern: n for concern, n in counts.items() if n == len(cases)}
    return of_all or dict(counts)


@given(
    st.lists(
        st.lists(st.sampled_from([*Concern]), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from("CD"),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_first_reason_of_a_grade_is_that_of_most_of_its_cases(
    runs_of: RunsOf, concerns: list[list[Concern]], letter: str
) -> None:
    grade = Grade(letter)
    (group,) = summarise(runs_of("1n1g", [100.0] * 3, **facts()))
    cases = [
        replace(group.cases[0], findings=gravest_first(Finding(one, grade) for one in own))
        for own in concerns
    ]
    counts = reasons_of(cases)
    first, *_ = set_by(cases, grade)
    most = max(counts.values())
    named = {SHORT[concern] for concern, n in counts.items() if n == most}
    assert first.removesuffix(f" in {most}") in named
    assert first.endswith(f" in {most}") is (most < len(cases))
    chinese, *_ = set_by(cases, grade, "zh")
    assert chinese.endswith(f" {most} 个") is (most < len(cases))


def test_of_sixteen_simulated_cases_one_with_a_wide_interval_is_not_the_reason(
    runs_of: RunsOf,
) -> None:
    runs = [
        replace(run, model=f"M{n}", profile=f"p{n}", simulated=True)
        for n in range(16)
        for run in runs_of("1n1g", [100.0, 200.0 - 100 * (n > 0), 100.0], **facts())
    ]
    cases = [case for group in summarise(runs) for case in group.cases]
    assert how_sure(cases)[-1] == "grades 16 × D (simulated)"


def test_of_many_reasons_the_gravest_are_named(runs_of: RunsOf) -> None:
    (group,) = summarise(runs_of("1n1g", [100], **facts()))
    case = replace(group.cases[0], findings=gravest_first(map(_c, [*Concern][3:10])))
    assert provenance([case], "1").endswith(
        "grades 1 × C (log changed, readings far above, GPUs idle, +4)"
    )


@given(
    stops=st.lists(st.sampled_from(["node3: in use: alice", "x" * 99]), max_size=2, unique=True),
    forced=st.booleans(),
    left_out=st.lists(st.sampled_from(["node3", "node4", "v100"]), unique=True).map(tuple),
    grade=st.sampled_from(Grade),
    lang=st.sampled_from(["en", "zh"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_was_forced_and_who_was_left_out_is_told_whatever_sets_the_grade(
    runs_of: RunsOf,
    stops: list[str],
    forced: bool,
    left_out: tuple[str, ...],
    grade: Grade,
    lang: Any,
) -> None:
    known = facts(forced=forced, stops=tuple(stops) * forced, left_out=left_out)
    (group,) = summarise(runs_of("1n1g", [100], **known))
    found = gravest_first([Finding(Concern.CLOCK, grade), _c(Concern.FORCED)])
    line = provenance([replace(group.cases[0], findings=found)], "1", lang)
    parts = line.split(" · ")
    past = [part for part in parts if re.match("forced past |强制启动", part)]
    assert len(past) == forced
    if forced:
        named = (stops or ["preflight"])[0]
        told = re.split("past |：", past[0], maxsplit=1)[1]
        assert told == named + ", +1" * (len(stops) > 1), "no word is broken"
    without = [part for part in parts if re.match("without |未使用 ", part)]
    assert len(without) == bool(left_out)
    if left_out:
        assert {*expand_nodeset(without[0].split(" ")[1])} == {*left_out}


def _c(concern: Concern) -> Finding:
    return Finding(concern, Grade.C)


def test_what_failed_adds_nothing_where_something_was_measured(runs_of: RunsOf) -> None:
    good = runs_of("1n1g", [100], **facts())
    bad = runs_of("1n2g", [None], **facts(hosts=("broken",), fingerprint="Tesla T4, driver 1"))
    (group,) = summarise([*good, *bad])
    line = provenance(group.cases, "1")
    assert "broken" not in line
    assert "T4" not in line


def test_names_of_others_are_no_markup(runs_of: RunsOf) -> None:
    runs = runs_of("1n1g", [1.0], **facts(campaign="<b>[x](http://e.vil)|`", hosts=("*a*",)))
    last = publish("c", runs).splitlines()[-1]
    for harm in ("<b>", "](", "http://", "|`", " *a*"):
        assert harm not in re.sub(r"\\.", "", last)


def test_what_is_written_and_what_is_printed_end_alike(
    dlperf: Callable[..., str], tmp_path: Path
) -> None:
    target = tmp_path / "t.md"
    printed = dlperf("report", EXAMPLES / "h200-x4").splitlines()[-1]
    dlperf("report", EXAMPLES / "h200-x4", "-o", target)
    assert target.read_text(encoding="utf-8").splitlines()[-1] == printed
    assert re.search(
        r"· 2026-11-21 · vm, NVIDIA H200, driver [\d.]+ · n 2, CV up to [\d.]+% · "
        r"grades 6 × C \(few repeats[^()]*\)$",
        printed,
    )


def test_hosts_of_one_name_that_are_different_machines_are_told_apart(
    dlperf: Callable[..., str], tmp_path: Path
) -> None:
    four, two, same = (
        EXAMPLES / f"h200-{name}" for name in ("x4-gpt-124m", "x2-gpt-124m", "x2-gpt-1.3b")
    )
    for lang, both, said in (
        ("en", [four, two], "vm (at least 2 different machines), NVIDIA H200"),
        ("zh", [four, two], "vm（至少 2 台不同的机器）, NVIDIA H200"),
        ("en", [two, same], "vm, NVIDIA H200"),
        ("en", [four], "vm, NVIDIA H200"),
    ):
        target = tmp_path / f"{len(both)} {lang} {said[:4]}.md"
        printed = dlperf("report", *both, "--lang", lang).splitlines()[-1]
        dlperf("report", *both, "--lang", lang, "-o", target)
        written = target.read_text(encoding="utf-8").splitlines()[-1]
        assert f" · {said}" in printed
        assert f" · {said}" in written.replace("\\", "")


def _measured_on(number: int, hosts: Iterable[str]) -> list[CaseResult]:
    """The case of one run of the campaign ``c<number>``."""
    run = RunResult(
        *(f"{number}", "p", "F", "M", "1n1g", 1, 1, {}, 1),
        throughput=1.0,
        campaign=f"c{number}",
        hosts=tuple(hosts),
    )
    return [case for group in summarise([run]) for case in group.cases]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["node1", "node2", "node3"]),
            st.frozensets(st.sampled_from("abcd"), max_size=2),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_name_is_told_apart_only_where_two_campaigns_share_none_of_its_gpus(
    campaigns: list[dict[str, frozenset[str]]],
) -> None:
    """What is recorded of it is nothing where the set is empty."""
    recorded, cases = {}, []
    for number, hosts in enumerate(campaigns):
        cases += _measured_on(number, hosts)
        recorded |= {
            (f"c{number}", host): Machines(1, len(uuids), 8, 64, uuids)
            for host, uuids in hosts.items()
            if uuids
        }
    line = provenance(cases, "1", machines=recorded)
    names = {name for hosts in campaigns for name in hosts}
    alone = provenance(cases, "1")
    assert re.sub(r" \(at least \d+ different machines\)", "", line) == alone
    found = re.search(r" \(at least (\d+) different machines\)", line)
    pairs = [
        (ours[name], theirs[name])
        for name in names
        for ours, theirs in combinations(campaigns, 2)
        if name in ours and name in theirs
    ]
    if len(campaigns) == 2:
        apart = sum(bool(a and b) and a.isdisjoint(b) for a, b in pairs)
        assert (int(found.group(1)) if found else len(names)) == len(names) + apart
    elif found:
        assert any(a and b and a.isdisjoint(b) for a, b in pairs)


def test_a_comparison_says_it_of_both_sides(dlperf: Callable[..., str]) -> None:
    both = [EXAMPLES / name for name in ("h200-x4", "h200-x4-resnet50-tf32")]
    *_, baseline, _, candidate, _, by = dlperf("compare", *both).splitlines()
    assert by == f"Compared by dlperf-tui {version()}."
    for line, side, name in (
        (baseline, "Baseline", "h200-x4 "),
        (candidate, "Candidate", "h200-x4-resnet50-tf32 "),
    ):
        assert line.startswith(f"{side}: {name}"), "what measured it need not be this version"


# What CSV has in the place of captions

VALUES = st.sampled_from(["on", "off", "a,b", "=1+1"])
NAMES = ("compile", "graphs", "size")


@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)), min_size=1, max_size=3),
    st.sampled_from(["pivot", "compare"]),
)
def test_csv_says_in_columns_what_the_caption_says_once(
    settings: list[dict[str, str]], layout: str
) -> None:
    runs = [
        RunResult(
            *(f"r{n}", "p", "F", "M", "1n1g", 1, 1),
            {"batch_size": 8, "precision": "fp32", **values},
            1,
            throughput=10.0 + n,
            unit="images/s",
        )
        for n, values in enumerate(settings)
    ]
    markdown = publish("c", runs, layout=layout)
    text = publish("c", runs, layout=layout, format="csv")
    heading, *rows = csv.reader(io.StringIO(text))
    assert rows
    assert len({*heading}) == len(heading)
    for name, value in (("profile", "p"), ("framework", "F"), ("model", "M")):
        assert {row[heading.index(name)] for row in rows} == {value}
    for name in NAMES:
        values = {values[name] for values in settings}
        assert (name in heading) == (len(values) == 1)
        if len(values) == 1:
            (value,) = values
            shown = value.replace("=1", "'=1")
            assert {row[heading.index(name)] for row in rows} == {shown}
            assert f"{name}=" in markdown
    if layout == "pivot":
        assert {row[heading.index("unit")] for row in rows} == {"images/s"}
    else:
        assert {row[heading.index("batch_size")] for row in rows} == {"8"}
    assert "SIMULATED" not in text


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcde"), st.sampled_from("123"), min_size=1),
        min_size=1,
        max_size=3,
    )
)
def test_machines_of_several_names_are_counted_once(campaigns: list[dict[str, str]]) -> None:
    """In each campaign the machines have been started again."""
    recorded, cases = {}, []
    for number, hosts in enumerate(campaigns):
        cases += _measured_on(number, hosts)
        recorded |= {
            (f"c{number}", host): Machines(1, 0, 8, 64, boots=frozenset({f"{number} {boot}"}))
            for host, boot in hosts.items()
        }
    groups = {name: {name} for hosts in campaigns for name in hosts}
    for hosts in campaigns:
        for one, other in combinations(hosts, 2):
            if hosts[one] == hosts[other]:
                both = groups[one] | groups[other]
                groups |= dict.fromkeys(both, both)
    n = len({frozenset(group) for group in groups.values()})
    said = f"({n} machine{'s' * (n > 1)})"
    assert (said in provenance(cases, "1", machines=recorded)) == (n < len(groups))


def test_one_machine_counts_once_over_all_campaigns_and_at_the_foot_of_a_comparison(
    runs_of: RunsOf,
) -> None:
    recorded, sides = {}, []
    for host in ("hb", "va"):
        runs = runs_of("1n1g", [100, 101, 102], **facts(campaign=f"on {host}", hosts=(host,)))
        sides.append(runs)
        recorded[f"on {host}", host] = Machines(
            1, 8, 8, 64, uuids=frozenset({host}), boots=frozenset({"boot"})
        )
    cases = [case for group in summarise([*sides[0], *sides[1]]) for case in group.cases]
    assert "hb,va (1 machine), " in provenance(cases, "1", machines=recorded)
    both = [replace(run, hosts=("hb", "va")) for run in sides[0]]
    recorded["on hb", "va"] = recorded["on va", "va"]
    compared = replace(compare(both, both), hosts=recorded)
    assert all("hb,va (1 machine), " in line for line in comparison_footer(compared)[:2])


def test_each_model_of_devices_is_told_once_and_with_its_own_driver(runs_of):
    v100, h200 = "Tesla V100, driver 440.33.01, CUDA 10.2", "NVIDIA H200, driver 580.1, CUDA 13.0"
    runs = [
        run
        for tag, text in (("1n1g", v100), ("1n2g", h200), ("2n1g", f"{h200} + {v100}"))
        for run in runs_of(tag, [100.0, 101.0], fingerprint=text)
    ]
    [group] = summarise(runs)
    line = provenance(group.cases, "1")
    assert "NVIDIA H200, driver 580.1 + Tesla V100, driver 440.33.01 · " in line
    assert line.count("H200") == line.count("V100") == line.count("580.1") == 1


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, ""),
        (1, "1 log does not give its figure"),
        (2, "2 logs do not give their figures"),
    ],
)
def test_logs_that_do_not_give_their_figures_are_counted_whatever_sets_the_grade(
    runs_of: RunsOf, n: int, said: str
) -> None:
    runs = runs_of("1n1g", [100, 101, 102], **facts(simulated=True))
    runs = [replace(run, log_differs="x" * (at < n)) for at, run in enumerate(runs)]
    (group,) = summarise(runs)
    words = provenance(group.cases, "1")
    assert "1 × D" in words
    assert [one for one in words.split(" · ") if "give" in one] == [said] * (n > 0)
