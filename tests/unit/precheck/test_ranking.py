"""From what was measured to who is named, and what is proposed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backends.inventory.nodesets import expand_nodeset, fold_nodeset
from backends.precheck.figures import METRICS, About, Figure, Stage, Trouble
from backends.precheck.naming import Named, RankedHost, Ranking, Verdict, Why
from backends.precheck.past import HostInRuns, Past
from backends.precheck.ranking import Measured, rank
from backends.precheck.record import Precheck
from backends.precheck.words import (
    conclusions,
    hosts_option,
    named_text,
    precheck_markdown,
    ranking_table,
    reasons_text,
    who_is_named,
)
from backends.prechecking import findings_of
from tui.screens.precheck_text import proposal

H200 = "NVIDIA H200"
NOTHING = Measured((), (), ())


def of_host(metric: str, **values: float) -> list[Figure]:
    return [Figure(metric, v, METRICS[metric].unit, (host,), (), "x") for host, v in values.items()]


def of_gpus(metric: str, host: str, *values: float, kind: str = H200) -> list[Figure]:
    unit = METRICS[metric].unit
    return [Figure(metric, v, unit, (host,), (i,), kind) for i, v in enumerate(values)]


def of_pair(value: float, a: str, b: str, metric: str = "pair") -> Figure:
    return Figure(metric, value, "GB/s", (a, b), (), "NCCL")


def measured(*figures: Figure, troubles: tuple[Trouble, ...] = (), hosts: str = "abcd") -> Measured:
    return Measured(tuple(hosts), figures, troubles)


def test_one_slow_gpu_of_sixteen_is_named_with_its_host():
    figures = [
        *of_gpus("gemm", "a", *[777.0] * 8),
        *of_gpus("gemm", "b", *[777.0] * 5, 612.0, *[777.0] * 2),
    ]
    ranking = rank(measured(*figures, hosts="ab"))
    (named,) = ranking.named
    assert (named.hosts, named.devices, named.why) == (("b",), (5,), Why.SLOW)
    assert named_text(named) == (
        "b: GPU5: matrix products 612 TFLOP/s, 21.2% below the median of 16 GPUs (777)"
    )
    assert (ranking.exclude, ranking.keep) == (("b",), ("a",))


def test_what_lowers_a_slow_gpus_clock_is_told_with_it():
    clocks = of_gpus("sm_clock", "a", *[1515.0] * 3, 900.0)
    clocks[3] = replace(clocks[3], details={"slowed_by": 0x40 | 0x4})
    (named,) = rank(measured(*clocks, hosts="a")).named
    assert named_text(named).endswith("; slowed by power cap, hardware thermal slowdown")


def test_gpus_of_two_models_are_not_compared_with_each_other():
    figures = [
        *of_gpus("gemm", "a", *[777.0] * 4),
        *of_gpus("gemm", "b", *[110.0] * 4, kind="Tesla V100"),
    ]
    assert rank(measured(*figures, hosts="ab")).named == ()


def test_what_broke_goes_before_what_is_slow_and_both_before_who_is_well():
    figures = of_host("cpu_one", a=100.0, b=50.0, c=101.0, d=99.0)
    trouble = Trouble(Stage.HOST, ("c",), "no module named _ctypes", "c", "logs/host/c.log")
    ranking = rank(measured(*figures, troubles=(trouble,)))
    assert [ranked.host for ranked in ranking.hosts] == ["c", "b", "a", "d"]
    verdicts = [ranked.verdict for ranked in ranking.hosts]
    assert verdicts == [Verdict.BROKEN, Verdict.SLOW, Verdict.WELL, Verdict.WELL]
    assert ranking.exclude == ("c", "b")


def test_a_gpu_with_wrong_results_or_memory_errors_is_faulty_whatever_its_speed():
    figures = [
        *of_gpus("gemm", "a", 777.0, 777.0),
        Figure("wrong", 3.0, "numbers", ("a",), (1,), H200, {"of": "a product computed twice"}),
        Figure("ecc", 0.0, "errors", ("a",), (0,), H200),
    ]
    ranking = rank(measured(*figures, hosts="a"))
    (named,) = ranking.named
    assert (named.why, named.devices) == (Why.FAULTY, (1,))
    assert "3 wrong results: a product computed twice" in named_text(named)
    assert ranking.hosts[0].verdict is Verdict.FAULTY


def test_a_pair_that_fails_while_both_work_with_others_is_a_pair_to_keep_apart():
    figures = [of_pair(90.0, *pair) for pair in ("ab", "ac", "ad", "bd", "cd")]
    trouble = Trouble(Stage.PAIRS, ("b", "c"), "NCCL: timed out", kind="NCCL")
    ranking = rank(measured(*figures, troubles=(trouble,)))
    assert [(named.why, named.hosts) for named in ranking.pairs] == [(Why.BROKEN, ("b", "c"))]
    assert (ranking.exclude, ranking.keep_apart) == ((), (("b", "c"),))
    assert set(ranking.keep_together) in ({"a", "b", "d"}, {"a", "c", "d"})


def test_a_host_that_fails_with_every_other_is_broken_itself():
    figures = [of_pair(90.0, *pair) for pair in ("ab", "ac", "bc")]
    troubles = tuple(
        Trouble(Stage.PAIRS, (h, "d"), "connection refused", kind="NCCL") for h in "abc"
    )
    ranking = rank(measured(*figures, troubles=troubles))
    assert [ranked.host for ranked in ranking.hosts if ranked.reasons] == ["d"]
    assert ranking.hosts[0].verdict is Verdict.BROKEN
    assert "fails with every other host: connection refused" in named_text(ranking.named[0])
    assert ranking.pairs == ()


def test_of_two_hosts_that_fail_together_neither_is_blamed():
    trouble = Trouble(Stage.PAIRS, ("a", "b"), "NCCL: timed out", kind="NCCL")
    ranking = rank(measured(troubles=(trouble,), hosts="ab"))
    assert (ranking.named, ranking.troubles) == ((), (trouble,))
    assert "nobody can tell whose doing it is" in " ".join(conclusions(ranking, NOTHING))


def test_two_hosts_that_differ_are_told_and_neither_is_named():
    ranking = rank(measured(*of_host("cpu_one", a=100.0, b=50.0), hosts="ab"))
    assert (ranking.named, len(ranking.unequal)) == ((), 1)
    said = " ".join(conclusions(ranking, NOTHING))
    assert "b has 50 MB/s of SHA-256 on one CPU, 50.0% below a" in said
    assert "of two nobody can tell" in said


AS_OTHERS = "hosts are as the others are"


@given(
    st.lists(st.sampled_from(["x", "y", "z"]), min_size=4, max_size=4),
    st.booleans(),
    st.floats(99, 101),
)
def test_hosts_are_called_as_the_others_only_where_all_was_compared_and_well(
    kinds: list[str], failed: bool, value: float
):
    figures = [
        Figure("cpu_one", value, "MB/s", (host,), (), kind)
        for host, kind in zip("abcd", kinds, strict=True)
    ]
    trouble = Trouble(Stage.ALL, tuple("abcd"), "timed out")
    ranking = rank(measured(*figures, troubles=(trouble,) if failed else ()))
    said = " ".join(conclusions(ranking, NOTHING))
    alone = [kind for kind in kinds if kinds.count(kind) == 1]
    assert (AS_OTHERS in said) is (not alone and not failed)
    assert "Nobody is named" in said
    for kind in ("x", "y", "z"):
        assert (f"one CPU ({kind})" in said) is (kind in alone)


def test_where_two_differ_neither_is_called_as_the_others_are():
    figures = [*of_host("cpu_one", a=100.0, b=50.0), *of_host("memory", a=10.0, b=10.0)]
    ranking = rank(measured(*figures, hosts="ab"))
    assert AS_OTHERS not in " ".join(conclusions(ranking, NOTHING))


def test_of_two_hosts_the_one_pair_is_compared_with_nobody_whichever_sends():
    figures = [of_pair(1.0, "a", "b", "exchange"), of_pair(1.0, "b", "a", "exchange")]
    said = " ".join(conclusions(rank(measured(*figures, hosts="ab")), NOTHING))
    assert "the only one of its kind: TCP between two hosts (NCCL)." in said
    assert AS_OTHERS not in said


def test_a_host_is_slower_than_itself_even_where_it_has_nobody_to_be_compared_with():
    figures = of_gpus("copy", "a", 3000.0)
    before = [of_gpus("copy", "a", value) for value in (4260.0, 4250.0, 4270.0)]
    ranking = rank(measured(*figures, hosts="a"), Past(before))
    (named,) = ranking.named
    assert (named.why, named.hosts) == (Why.CHANGED, ("a",))
    assert "below its own median of 3 earlier prechecks" in named_text(named)


def test_who_was_slow_or_stalled_in_real_runs_is_ranked_though_all_measurements_are_well():
    figures = of_host("cpu_one", a=100.0, b=100.0, c=100.0, d=100.0)
    runs = {
        "a": HostInRuns("a", 6, (1.0,) * 6),
        "b": HostInRuns("b", 6, (0.9,) * 6),
        "c": HostInRuns("c", 6, (1.0,) * 4, ("stalled", "stalled")),
        "d": HostInRuns("d", 6, (1.01,) * 6),
    }
    ranking = rank(measured(*figures), Past((), runs))
    verdicts = {ranked.host: ranked.verdict for ranked in ranking.hosts}
    assert verdicts == {
        "a": Verdict.WELL,
        "b": Verdict.SUSPECT,
        "c": Verdict.SUSPECT,
        "d": Verdict.WELL,
    }
    texts = {named.hosts[0]: named_text(named) for named in ranking.named}
    assert texts["c"] == "c: 2 × stalled in 6 real runs"
    assert texts["b"] == "b: 10.0% slower than the median of 4 hosts in real runs"


def test_one_failure_in_a_real_run_is_nothing_yet():
    runs = {host: HostInRuns(host, 5, (1.0,) * 5) for host in "abc"}
    runs["a"] = replace(runs["a"], faults=("stalled",))
    assert rank(measured(hosts="abc"), Past((), runs)).named == ()


def test_hosts_that_were_left_out_are_in_the_ranking_and_not_in_the_proposal():
    what = Measured(("a",), tuple(of_host("cpu_one", a=1.0)), (), {"b": "held by alice"})
    ranking = rank(what)
    verdicts = [(ranked.host, ranked.verdict) for ranked in ranking.hosts]
    assert verdicts == [("a", Verdict.WELL), ("b", Verdict.NOT_MEASURED)]
    assert (ranking.exclude, ranking.keep) == ((), ("a",))
    assert ("b", "not measured", "held by alice") in ranking_table(ranking).rows


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Figure], set[str]]:
    """Hosts with two or eight GPUs each, of which a few have one slow GPU."""
    count, gpus = draw(st.integers(2, 12)), draw(st.sampled_from([2, 8]))
    hosts = [f"node{number}" for number in range(count)]
    slow = set(draw(st.lists(st.sampled_from(hosts), max_size=(count - 1) // 2, unique=True)))
    figures = []
    for host in hosts:
        rates = [700 * (1 + draw(st.floats(-0.024, 0.024))) for _ in range(gpus)]
        if host in slow:
            rates[draw(st.integers(0, gpus - 1))] *= 0.5
        figures += of_gpus("gemm", host, *rates)
    return figures, slow


@given(clusters())
def test_the_hosts_of_slow_gpus_are_proposed_to_be_left_out_and_no_other(
    cluster: tuple[list[Figure], set[str]],
):
    figures, slow = cluster
    hosts = tuple(dict.fromkeys(figure.hosts[0] for figure in figures))
    ranking = rank(Measured(hosts, tuple(figures)))
    assert set(ranking.exclude) == slow
    assert set(ranking.keep) == set(hosts) - slow
    ordered = [ranked.host for ranked in ranking.hosts]
    assert set(ordered[: len(slow)]) == slow


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=8),
    st.sets(st.sampled_from("abcdef"), max_size=3),
)
def test_hosts_for_runs_of_several_are_two_or_more_and_none_of_them_are_to_be_kept_apart(
    count: int, failed: list[tuple[str, str]], broken: set[str]
):
    names = tuple("abcdef"[:count])
    hosts = tuple(
        RankedHost(name, Verdict.BROKEN if name in broken else Verdict.WELL) for name in names
    )
    pairs = tuple(
        Named(Why.BROKEN, About.PAIR, pair, reason="hangs")
        for pair in failed
        if pair[0] != pair[1] and set(pair) <= set(names)
    )
    ranking = Ranking(hosts, pairs)
    together, keep, apart = set(ranking.keep_together), set(ranking.keep), ranking.keep_apart
    assert len(together) != 1
    assert together <= keep
    assert not any(set(pair) <= together for pair in apart)
    every = {(a, b) for a in keep for b in keep if a < b}
    assert bool(together) == bool(every - {(min(pair), max(pair)) for pair in apart})
    said = list(conclusions(ranking, NOTHING))
    several = f"For runs of several hosts: {hosts_option(ranking.keep_together)}"
    assert (several in said) == bool(apart and together)
    none = "No two hosts are left for runs of several hosts."
    assert (none in said) == bool(apart and not together)
    copied = proposal(ranking)
    if apart and together:
        assert copied in several
    elif copied:
        assert any(line.endswith(f"The rest: {copied}") for line in said)


def test_markdown_of_names_with_markup_is_no_markup():
    trouble = Trouble(Stage.HOST, ("a",), "<img src=x> | [x](y)", "a")
    what = measured(troubles=(trouble,), hosts="a")
    text = precheck_markdown(Precheck("p", Path("/x"), 0.0, 1.0, what, rank(what)))
    assert "\\<img" in text
    assert "\\|" in text


@given(
    values=st.lists(st.floats(80.0, 120.0), min_size=4, max_size=4),
    busy=st.sets(st.sampled_from("abcd")),
)
def test_no_host_is_well_that_was_busy_when_it_was_measured(values: list[float], busy: set[str]):
    figures = of_host("cpu_one", **dict(zip("abcd", values, strict=True)))
    loads = dict.fromkeys(busy, "load 15.8 on 2 CPUs")
    idle = {ranked.host: ranked for ranked in rank(measured(*figures)).hosts}
    ranking = rank(replace(measured(*figures), busy=loads))
    for ranked in ranking.hosts:
        well = idle[ranked.host].verdict is Verdict.WELL
        judged = ranked.host not in busy
        assert ranked.reasons == idle[ranked.host].reasons
        assert (ranked.verdict is Verdict.NOT_JUDGED) == (well and not judged)
        assert (ranked.host in ranking.keep) == (well and judged)
        assert ("load 15.8 on 2 CPUs" in reasons_text(ranked)) != judged
        assert (ranked.host in ranking.exclude) == (not well)
    said = " ".join(conclusions(ranking, NOTHING))
    well = [host for host in busy if idle[host].verdict is Verdict.WELL]
    assert ("not judged" in said.lower()) == bool(well)
    assert ("no host is left" in said) == all(
        one.verdict is not Verdict.WELL and one.verdict is not Verdict.NOT_JUDGED
        for one in ranking.hosts
    )
    if ranking.exclude and not ranking.keep and (left := busy - set(ranking.exclude)):
        assert f"The rest is not judged: {hosts_option(sorted(left))}" in said
    out, left = set(ranking.exclude), {*"abcd"} - set(ranking.exclude)
    assert {*ranking.proposed} == (set(ranking.keep) or left if out else set())
    if ranking.exclude and ranking.keep:
        judged = (
            " that was judged"
            if any(r.verdict is Verdict.NOT_JUDGED for r in ranking.hosts)
            else ""
        )
        assert f"The rest{judged}: {hosts_option(ranking.keep)}" in said
    said = who_is_named(ranking)
    unjudged = any(one.verdict is Verdict.NOT_JUDGED for one in ranking.hosts)
    assert ("not judged: busy" in said) == unjudged
    judged_well = any(one.verdict is not Verdict.NOT_JUDGED for one in ranking.hosts)
    assert ("nobody" in said) == (judged_well and not ranking.named)


NAMES = ("v100-a", "h200-a", "node1", "node2", "node3")


@given(
    hosts=st.permutations(NAMES),
    broken=st.sets(st.sampled_from(NAMES), max_size=4),
    models=st.lists(st.sampled_from(["V100", "H200", ""]), min_size=5, max_size=5),
)
def test_whoever_proposes_hosts_keeps_their_order_and_says_where_their_gpus_differ(
    hosts: list[str], broken: set[str], models: list[str]
):
    """The first of them is rank 0's."""
    told = dict(zip(hosts, models, strict=True))
    troubles = tuple(Trouble(Stage.HOST, (host,), "it fails", host) for host in broken)
    ranking = rank(Measured(tuple(hosts), (), troubles, gpus=told))
    kept = [host for host in hosts if host not in broken] if broken else []
    assert [*ranking.proposed] == kept
    said = conclusions(ranking, NOTHING)
    if kept:
        option = proposal(ranking)
        assert expand_nodeset(option.split("'")[1]) == tuple(kept)
        assert [line for line in said if option in line]
        precheck = Precheck("p", Path("p"), 0.0, 1.0, measured(), ranking)
        assert any(option in found.remedy for found in findings_of(precheck, ()))
    of_kept = {told[host] for host in kept} - {""}
    assert any("grade D" in line for line in said) == (len(of_kept) > 1)


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))
def test_gpus_of_which_nothing_was_measured_are_told_whatever_else_was(
    with_gpus: set[str], gpus_measured: set[str]
):
    figures = of_host("cpu_one", **dict.fromkeys("abcd", 1500.0))
    figures += [one for host in gpus_measured for one in of_gpus("gemm", host, 777.0)]
    found = replace(measured(*figures), gpus=dict.fromkeys(with_gpus, H200))
    said = [line for line in conclusions(rank(found), found) if "not measured" in line]
    left = sorted(with_gpus - gpus_measured)
    assert bool(said) is bool(left)
    if left:
        assert said[0].startswith(f"GPUs of {fold_nodeset(left)} were not measured")


@given(st.lists(st.sampled_from("abc"), min_size=1))
def test_a_host_is_named_once_however_many_reasons_there_are(names: list[str]):
    troubles = tuple(Trouble(Stage.HOST, (host,), "it fails", host) for host in names)
    ranking = rank(measured(troubles=troubles))
    assert sorted(who_is_named(ranking).split("; ")) == sorted(set(names))


@given(st.floats(0.01, 3.0))
def test_a_host_whose_cpus_together_do_less_than_one_was_not_idle(share: float):
    figures = [
        *of_host("cpu_one", a=1500.0, b=1500.0),
        *of_host("cpu_all", a=1500.0 * share, b=3000.0),
    ]
    [ranked] = [one for one in rank(measured(*figures, hosts="ab")).hosts if one.host == "a"]
    least = (
        float(found[1]) / 100 if (found := re.search(r"less than (\d+)% of", ranked.busy)) else 0.8
    )
    assert bool(found) is (share < least)
    assert "less than one alone" not in ranked.busy
    assert ranked.verdict is not Verdict.WELL or share >= least
