"""What an efficiency below 1 is lost to: shares of known causes, and nothing that nobody knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.results.campaign_report import ReportContext, render_report
from backends.results.case_result import CaseResult
from backends.results.findings import Concern
from backends.results.results_json import case_document, document, run_document
from backends.results.run_result import RunResult
from backends.results.scaling_loss import Cause, Scaling, explain, node_set, scaling
from backends.results.scaling_loss_words import explained_lines, scaling_text
from backends.results.summary import Group, summarise
from profiles.case_tag import parse_tag
from profiles.throughput.rank_times import RankTime


def run(tag: str, speed: float, **fields: Any) -> RunResult:
    nodes, gpus = parse_tag(tag)
    known: dict[str, Any] = {
        "parameters": {"batch_size": 100},  # a step of a second at 100 samples/s per device
        "hosts": tuple(f"node{n}" for n in range(1, nodes + 1)),
        "unit": "images/s",
        "repeat": 1,
    } | fields
    name = f"{tag}-{'p' if known.get('profiled') else known['repeat']}"
    return RunResult(name, "p", "F", "M", tag, nodes, gpus, throughput=speed, **known)


def rank(number: int, step: float, compute: float, communication: float, wait: float) -> RankTime:
    return RankTime(number, step, compute, communication, wait)


def profiled(tag: str, speed: float, ranks: Sequence[RankTime], **fields: Any) -> RunResult:
    return run(tag, speed, repeat=9, profiled=True, ranks=tuple(ranks), **fields)


def repeated(runs: Sequence[RunResult], times: int = 3) -> list[RunResult]:
    """With so many repeats of each: three are the fewest that tell of a loss."""
    return [
        one if n == 1 else replace(one, run_id=f"{one.run_id}-{n}", repeat=n)
        for one in runs
        for n in range(1, 1 + (1 if one.profiled else times))
    ]


def only(runs: Sequence[RunResult], times: int = 3) -> tuple[Group, CaseResult]:
    """The group of the runs, each so often, and its last case."""
    (group,) = summarise(repeated(runs, times))
    return group, group.cases[-1]


BASE = [run("1n1g", 100.0), profiled("1n1g", 100.0, [rank(0, 1.0, 0.98, 0.0, 0.01)])]


def test_planted_shares_come_back_by_cause() -> None:
    """Of a step of 1.25 s: 0.1 all-reduce, 0.05 beyond the others, 0.06 input, 0.98 compute."""
    ranks = [rank(0, 1.25, 0.98, 0.15, 0.06), rank(1, 1.25, 1.03, 0.10, 0.06)]
    group, case = only([*BASE, run("2n1g", 160.0), profiled("2n1g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.loss == pytest.approx(0.2)
    shares = {str(cause): round(share, 4) for cause, share in explained.shares.items()}
    # 0.8 is the efficiency by which what the base spends is taken off.
    assert shares == {
        "communication": 0.08,
        "stragglers": 0.04,
        "input": round(0.06 / 1.25 - 0.8 * 0.01, 4),
        "compute": 0.0,
    }
    assert explained.straggler_host == "node2"
    assert explained.unexplained == pytest.approx(0.2 - 0.08 - 0.04 - 0.04)
    (_, line) = explained_lines(group)
    assert line.startswith(
        "2n1g 80.0%: exposed all-reduce 8.0%, stragglers 4.0% (node2), input 4.0%, slower compute "
        "0.0%, unexplained 4.0%; 80 images/s per device, on the base's hosts and more"
    )


def test_compute_that_is_slower_everywhere_is_no_straggler() -> None:
    ranks = [rank(n, 1.25, 1.23, 0.0, 0.01) for n in range(2)]
    group, case = only([*BASE, run("1n2g", 160.0), profiled("1n2g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.shares[Cause.STRAGGLERS] == 0
    assert explained.shares[Cause.COMPUTE] == pytest.approx(0.2)
    assert explained.straggler is None


def test_a_rank_that_is_idle_while_others_wait_is_the_straggler() -> None:
    """As one whose host sleeps, or is busy with something else: its device computes no longer."""
    ranks = [
        *(rank(n, 1.5, 0.98, 0.51, 0.01) for n in (0, 1, 3)),
        rank(2, 1.5, 0.98, 0.01, 0.01),
    ]
    group, case = only([*BASE, run("2n2g", 4 * 100 / 1.5), profiled("2n2g", 266.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.straggler == 2
    assert explained.straggler_host == "node2"
    assert explained.shares[Cause.STRAGGLERS] == pytest.approx(0.5 / 1.5, abs=0.01)
    assert explained.unexplained == pytest.approx(0.0, abs=0.01)


def test_nothing_is_claimed_without_a_profiled_run() -> None:
    group, case = only([run("1n1g", 100.0), run("1n2g", 160.0)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.shares == {}
    assert explained.unexplained == explained.loss
    known = case_document(case, group)["explained"]
    assert {known[str(cause)] for cause in Cause} == {None}
    assert known["profiled_run"] is None


@pytest.mark.parametrize(
    "ranks",
    [
        [rank(0, 1.0, 0.9, 0.1, 0.0)],  # the other rank's host was lost
        [rank(0, 1.0, 0.9, 0.1, 0.0)] * 2,
        [],
    ],
)
def test_ranks_that_have_not_told_explain_nothing(ranks: list[RankTime]) -> None:
    group, case = only([*BASE, run("1n2g", 160.0), profiled("1n2g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.shares == {}


def test_a_base_that_was_not_profiled_explains_nothing() -> None:
    ranks = [rank(n, 1.25, 1.0, 0.2, 0.0) for n in range(2)]
    group, case = only([run("1n1g", 100.0), run("1n2g", 160.0), profiled("1n2g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.shares == {}


def test_the_logs_own_wait_for_data_is_a_share() -> None:
    """100 samples per device: the base waits 10 of 1,000 ms, the case 125 of 1,250 ms."""
    runs = [
        run("1n1g", 100.0, metrics={"data_time_s": 0.01}),
        run("1n2g", 160.0, metrics={"data_time_s": 0.125}),
    ]
    group, case = only(runs)
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.shares == {Cause.INPUT: pytest.approx(0.1 - 0.8 * 0.01)}


def test_at_or_above_ideal_there_is_nothing_to_explain() -> None:
    group, case = only([run("1n1g", 100.0), run("1n2g", 201.0)])
    assert explain(case, group.base_case) is None
    assert explain(group.base_case, group.base_case) is None
    assert case_document(case, group)["explained"] is None


seconds = st.floats(0, 10)


@st.composite
def run_ranks(draw: st.DrawFn, count: int) -> list[RankTime]:
    step = draw(st.floats(0.01, 10))
    return [
        rank(n, step, *(draw(st.floats(0, 1.2)) * step for _ in range(3))) for n in range(count)
    ]


@given(run_ranks(1), run_ranks(4), st.floats(1, 399))
def test_shares_are_never_negative_and_add_up_to_the_loss(
    base: list[RankTime], case: list[RankTime], speed: float
) -> None:
    runs = [
        run("1n1g", 100.0),
        profiled("1n1g", 90.0, base),
        run("2n2g", speed),
        profiled("2n2g", speed, case),
    ]
    group, scaled = only(runs)
    explained = explain(scaled, group.base_case)
    assert explained is not None
    assert set(explained.shares) in (set(Cause), set())
    assert min([*explained.shares.values(), explained.unexplained]) >= 0
    assert sum(explained.shares.values()) + explained.unexplained == pytest.approx(explained.loss)


def test_a_profiled_run_enters_no_figure() -> None:
    counted = [run("1n2g", speed, repeat=n) for n, speed in enumerate((150.0, 160.0, 170.0), 1)]
    ranks = [rank(n, 1.0, 1.0, 0.0, 0.0) for n in range(2)]
    (with_it,) = summarise([*counted, profiled("1n2g", 1.0, ranks)])
    (without,) = summarise(counted)
    one, other = with_it.cases[0], without.cases[0]
    assert one.spread == other.spread
    assert (one.repeats, one.succeeded, one.throughputs) == (3, 3, other.throughputs)
    assert one.findings == other.findings
    assert one.stopped == other.stopped == "asked"
    told = run_document(profiled("1n2g", 1.0, ranks))
    assert (told["profiled"], told["throughput"]) == (True, None)
    assert [each["rank"] for each in told["ranks"]] == [0, 1]
    (only_one,) = run_document(profiled("1n1g", 1.0, [rank(0, 1.0, 0.5, 0.25, 0.125)]))["ranks"]
    assert only_one["idle_s"] == 0.125


def test_a_failed_profiled_run_is_no_failed_repeat() -> None:
    gone = profiled("1n2g", 0.0, [], state="failed", reason="killed")
    (group,) = summarise([run("1n2g", 160.0), gone])
    assert group.cases[0].failed_runs == ()
    assert group.cases[0].profiled is None


def strong(tag: str, speed: float, total: int = 256) -> RunResult:
    nodes, gpus = parse_tag(tag)
    shared = {"batch_size": total // (nodes * gpus), "global_batch": total}
    return run(tag, speed, parameters=shared)


def test_weak_and_strong_scaling_are_told_apart() -> None:
    runs = [run("1n1g", 100.0), run("1n2g", 180.0), strong("1n1g", 100.0), strong("1n2g", 150.0)]
    groups = summarise(repeated(runs))
    assert [scaling(group) for group in groups] == [Scaling.WEAK, Scaling.STRONG]
    assert [group.cases[1].speedup for group in groups] == [1.8, 1.5]
    results = document("c", runs, groups)["results"]
    assert [(r["case"], r["scaling"], r["parameters"]["batch_size"]) for r in results] == [
        ("1n1g", "weak", 100),
        ("1n2g", "weak", 100),
        ("1n1g", "strong", 256),
        ("1n2g", "strong", 128),
    ]
    report = render_report(ReportContext("c"), runs, groups)
    assert "Strong scaling, global batch 256: speedup relative to 1n1g." in report
    assert "weak scaling: always 100 per device" in report
    assert "1n2g 75.0%: unexplained 25.0%; 75 images/s per device" in report


@pytest.mark.parametrize(
    ("hosts", "found"),
    [(("a",), "same"), (("a", "b"), "wider"), (("b",), "other"), ((), None)],
)
def test_the_hosts_of_a_case_against_those_of_its_base(
    hosts: tuple[str, ...], found: str | None
) -> None:
    group, case = only([run("1n1g", 100.0, hosts=("a",)), run("1n2g", 160.0, hosts=hosts)])
    assert node_set(case, group.base_case) == found
    assert case_document(case, group)["node_set"] == found


def test_what_profiling_costs_is_said_where_it_is_much() -> None:
    ranks = [rank(n, 1.5, 1.3, 0.1, 0.0) for n in range(2)]  # 1.25 s and 80 samples/s otherwise
    group, _ = only([*BASE, run("1n2g", 160.0), profiled("1n2g", 133.0, ranks)])
    assert explained_lines(group)[1].endswith("by one profiled run, its steps up to 20.0% longer")
    assert explained_lines(group, "zh")[1].endswith("依据一次剖析运行（每步最多延长 20.0%）")


@given(
    efficiency=st.floats(0.5, 0.999),
    ours=st.floats(0, 0.6),
    its=st.floats(0, 0.6),
    spent=st.floats(0, 1),
)
def test_a_loss_that_is_less_than_profiling_cost_is_not_divided(
    efficiency: float, ours: float, its: float, spent: float
) -> None:
    """Whichever of the two runs was held up: what it was held up by may look like any cause."""
    step, base_step = (1 + ours) / efficiency, 1 + its
    ranks = [rank(n, step, spent * step, (1 - spent) * step / 2, 0.0) for n in range(2)]
    group, case = only(
        [
            *(run("1n1g", 100.0), run("1n2g", 200.0 * efficiency)),
            profiled("1n1g", 100 / base_step, [rank(0, base_step, 0.9, 0.0, 0.0)]),
            profiled("1n2g", 200 / step, ranks),
        ]
    )
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.profiled is not None
    assert explained.slower == pytest.approx(max(ours, its), abs=1e-9)
    much, told = max(0.05, explained.loss), explained_lines(group)[1]
    if abs(max(ours, its) - much) > 1e-9:
        assert bool(explained.shares) is (max(ours, its) < much)
    assert ("tells nothing of this" in told) is not bool(explained.shares)
    assert ("exposed all-reduce" in told) is bool(explained.shares)


def test_how_much_slower_profiling_was_is_told_of_tokens_too() -> None:
    """Eight sequences of 1,000 tokens in 1.0 s a step, 1.25 s where it was profiled."""
    of_tokens = {"parameters": {"batch_size": 8, "sequence_length": 1000}, "unit": "tokens/s"}
    ranks = [rank(0, 1.25, 1.0, 0.2, 0.0), rank(1, 1.25, 1.0, 0.2, 0.0)]
    base = [run("1n1g", 10_000.0, **of_tokens)]
    base += [profiled("1n1g", 10_000.0, [rank(0, 0.8, 0.8, 0.0, 0.0)], **of_tokens)]
    several = [run("2n1g", 16_000.0, **of_tokens), profiled("2n1g", 0.0, ranks, **of_tokens)]
    group, case = only([*base, *several])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.slower == pytest.approx(0.25)


@pytest.mark.parametrize(("slower", "said"), [(0.048, False), (0.052, True)])
def test_what_profiling_costs_is_much_beyond_five_percent(slower: float, said: bool) -> None:
    ranks = [rank(n, 1.25 * (1 + slower), 1.2, 0.0, 0.0) for n in range(2)]  # 1.25 s otherwise
    group, _ = only([*BASE, run("1n2g", 160.0), profiled("1n2g", 150.0, ranks)])
    assert explained_lines(group)[1].endswith("longer") is said


def test_shares_that_are_more_than_the_loss_say_that_they_were_scaled() -> None:
    """The case's compute grew by as much as is lost, and communication came to it."""
    ranks = [rank(n, 1.25, 1.1, 0.125, 0.0) for n in range(2)]
    group, case = only([*BASE, run("1n2g", 160.0), profiled("1n2g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.found is None
    ranks = [rank(n, 1.25, 1.0, 0.25, 0.0) for n in range(2)]
    base = [run("1n1g", 100.0), profiled("1n1g", 100.0, [rank(0, 1.0, 0.6, 0.0, 0.01)])]
    group, case = only([*base, run("1n2g", 160.0), profiled("1n2g", 160.0, ranks)])
    explained = explain(case, group.base_case)
    assert explained is not None
    assert explained.found == pytest.approx(0.25 / 1.25 + (1.0 / 1.25 - 0.8 * 0.6))
    assert sum(explained.shares.values()) == pytest.approx(0.2)
    assert explained_lines(group)[1].endswith("; it finds 52.0%, scaled to the loss")
    assert explained_lines(group, "zh")[1].endswith("；共计 52.0%，按损失缩放")


def test_what_may_be_no_loss_at_all_is_not_divided() -> None:
    """The interval of the efficiency includes 1."""
    ranks = [rank(n, 1.02, 0.98, 0.02, 0.0) for n in range(2)]
    told = []
    for spread in (0.1, 10.0):
        speeds = [(100.0 - spread, 196.0), (100.0, 196.1), (100.0 + spread, 196.2)]
        runs = [*BASE[1:], profiled("1n2g", 196.0, ranks)]
        for number, (one, two) in enumerate(speeds, 1):
            runs += [run("1n1g", one, repeat=number), run("1n2g", two, repeat=number)]
        group, case = only(runs, times=1)
        told.append(explain(case, group.base_case))
        line = explained_lines(group)[1]
        assert ("exposed" in line) is (told[-1] is not None)
        assert ("%: its interval reaches 100%, " in line) is (told[-1] is None)
    assert told[0] is not None
    assert told[1] is None


@given(st.integers(1, 4), st.floats(0.5, 0.9999), st.booleans())
def test_a_loss_is_divided_or_said_to_be_of_too_few_repeats(
    times: int, efficiency: float, explains: bool
) -> None:
    ranks = [rank(n, 1 / efficiency, 0.98, 0.02, 0.0) for n in range(2)]
    speed = 200.0 * efficiency
    counted = [BASE[0], run("1n2g", speed)]
    group, case = only([*counted, *[BASE[1], profiled("1n2g", speed, ranks)] * explains], times)
    line, line_zh = explained_lines(group)[1], explained_lines(group, "zh")[1]
    assert (explain(case, group.base_case) is None) is (times < 3)
    assert (case_document(case, group)["explained"] is None) is (times < 3)
    assert ("unexplained" in line) is (times >= 3)
    assert line.endswith("fewer than 3 repeats do not tell whether anything is lost") is (times < 3)
    assert line_zh.endswith("重复少于 3 次，无法判断是否有损失") is (times < 3)


def test_a_campaign_of_one_case_scales_nothing(
    runs_of: Callable[..., list[RunResult]],
) -> None:
    (alone,) = summarise([run("1n1g", 100.0)])
    assert scaling(alone) is Scaling.WEAK
    assert scaling_text(alone) == ""
    runs = runs_of("1n1g", [1.0, 2.0])
    assert "Scaling" not in render_report(ReportContext("c"), runs, summarise(runs))


SOME_HOSTS = st.frozensets(st.sampled_from("abc"), min_size=1)


@given(SOME_HOSTS, SOME_HOSTS)
def test_words_of_hosts_say_what_the_sets_are(ours: frozenset[str], theirs: frozenset[str]) -> None:
    group, _ = only([run("1n1g", 100.0, hosts=(*theirs,)), run("1n2g", 160.0, hosts=(*ours,))])
    _, line = explained_lines(group)
    said = line.partition("per device, ")[2]
    if not ours & theirs:
        assert said == "on other hosts than the base"
    else:
        assert said.startswith("on some of the base's hosts") == bool(theirs - ours)
        assert said.endswith((" and more", " and others")) == bool(ours - theirs)
    assert ("部分" in explained_lines(group, "zh")[1]) == bool(ours & theirs and theirs - ours)


@given(st.lists(SOME_HOSTS, min_size=1, max_size=4), st.lists(SOME_HOSTS, min_size=1, max_size=4))
def test_the_bases_hosts_are_those_in_the_same_shares(
    ours: list[frozenset[str]], theirs: list[frozenset[str]]
) -> None:
    def shares(repeats: list[frozenset[str]]) -> dict[str, float]:
        each = Counter({host: 0.0 for hosts in repeats for host in hosts})
        for hosts in repeats:
            each.update(dict.fromkeys(hosts, 1 / len(hosts) / len(repeats)))
        return each

    runs = [
        run(tag, speed, hosts=(*sorted(hosts),), repeat=n)
        for tag, speed, repeats in (("1n1g", 100.0, theirs), ("1n2g", 160.0, ours))
        for n, hosts in enumerate(repeats, 1)
    ]
    (group,) = summarise(runs)
    (_, line), (_, chinese) = explained_lines(group), explained_lines(group, "zh")
    said = line.partition("per device, ")[2].split(", ")[0]
    same_names = {*shares(ours)} == {*shares(theirs)}
    alike = shares(ours) == pytest.approx(shares(theirs)) if same_names else False
    assert (said == "on the base's hosts") is alike
    assert (said == "on the base's hosts but not as often on each") is (same_names and not alike)
    assert ("比例不同" in chinese) is (same_names and not alike)


PLACED = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True), min_size=1, max_size=4
)


@given(PLACED, PLACED, st.fixed_dictionaries({name: st.sampled_from("xyz") for name in "abcd"}))
def test_names_of_one_machine_are_judged_as_that_machine_is(
    ours: list[list[str]], theirs: list[list[str]], machine: dict[str, str]
) -> None:
    def said(*, by_name: bool) -> tuple[object, ...]:
        runs = [
            run(
                *(tag, speed),
                hosts=(*(hosts if by_name else boots),),
                boot_ids=(*boots,),
                repeat=n,
            )
            for tag, speed, repeats in (("1n1g", 100.0, theirs), ("1n2g", 160.0, ours))
            for n, hosts in enumerate(repeats, 1)
            for boots in [[machine[host] for host in hosts]]
        ]
        (group,) = summarise(runs)
        case = group.cases[-1]
        flagged = Concern.OTHER_HOSTS in case.concerns
        return flagged, node_set(case, group.base_case), explained_lines(group)

    (*by_name, lines), (*by_machine, as_hosts) = said(by_name=True), said(by_name=False)
    assert by_name == by_machine
    names, base_names = (
        {host for hosts in repeats for host in hosts} for repeats in (ours, theirs)
    )
    there = {machine[host] for host in names} & {machine[host] for host in base_names}
    both = there & {machine[host] for host in names & base_names}
    alike = both - {machine[host] for host in names - base_names}
    assert any("base's hosts" in line for line in lines) == (alike == there != set())
    assert any("machine" in line for line in lines) == (alike < there)
    assert any(", by other names" in line for line in lines) == (bool(there) and not both)
    if alike == there:
        assert lines == as_hosts


def test_a_machine_that_was_restarted_under_its_name_is_the_same() -> None:
    """And with it who has its new boot id."""
    before, after = {"hosts": ("a",), "boot_ids": ("1",)}, {"hosts": ("a",), "boot_ids": ("2",)}
    other = {"hosts": ("b",), "boot_ids": ("2",)}
    runs = [run("1n1g", 100.0, **before), run("1n1g", 100.0, repeat=2, **after)]
    (group,) = summarise([*runs, run("1n2g", 160.0, **other)])
    assert node_set(group.cases[1], group.base_case) == "same"


def test_a_loss_has_the_marks_of_its_speedup() -> None:
    shares = {"1n1g": ("V100", "V100", "H200"), "1n8g": ("V100", "H200", "H200")}
    runs = [
        run(tag, 100.0, hosts=(model,), fingerprint=model, repeat=n)
        for tag, models in shares.items()
        for n, model in enumerate(models, 1)
    ]
    (group,) = summarise(runs)
    for lang, colon in (("en", ":"), ("zh", "：")):
        assert explained_lines(group, lang)[1].startswith(f"1n8g 12.5% †{colon}")


@pytest.mark.parametrize("explains", [True, False])
@pytest.mark.parametrize("ideal", [True, False])
def test_how_to_tell_more_is_said_only_where_that_would_tell_something(ideal, explains):
    runs = [run("1n1g", 100.0), run("2n1g", 200.0 if ideal else 160.0)]
    context = ReportContext("c", explains=frozenset({runs[0].profile} if explains else ()))
    text = render_report(context, runs, summarise(repeated(runs)))
    assert ("--explain" in text) is (explains and not ideal)
