"""A precheck's stages on hosts that are made up: what fails is a finding, and the rest goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from backends.hosts.probe import parse_probe
from backends.inventory.host_entry import Host
from backends.precheck import measure
from backends.precheck.figures import Figure, Stage, each_of
from backends.precheck.group_run import GroupRun, How, Part
from backends.precheck.measure import Measuring
from backends.precheck.naming import Ranking, Verdict
from backends.precheck.plan_precheck import Wishes, make_plan
from backends.precheck.programs import Installed, Target
from backends.precheck.ranking import rank
from backends.precheck.words import UNJUDGED, conclusions, plan_lines, ranking_table

Outcome = Callable[[tuple[str, ...]], How | float]


class Cluster:
    """``outcome``: of the hosts of a run how it ends, or the figure that each has. ``load``: as a
    program finds it when it begins; each leaves more."""

    def __init__(self, outcome: Outcome, load: float = 0.0) -> None:
        self.outcome = outcome
        self.load = load
        self.runs: list[tuple[str, ...]] = []

    async def run_group(
        self, run: GroupRun, _transports: object, _lease: str, _logs: Path
    ) -> dict[str, Part]:
        self.runs.append(run.hosts)
        found = self.outcome(run.hosts)
        parts = {host: Part(host, whole=True) for host in run.hosts}
        first = parts[run.hosts[0]]
        if isinstance(found, How):
            first.how, first.reason = found, f"it is {found}"
        elif len(run.hosts) == 1:
            first.log += _line("cpu_one", found, load1=self.load)
            for metric in ("cpu_all", "memory"):
                first.log += _line(metric, found)
        else:
            for rank_ in range(len(run.hosts)):
                before = (rank_ - 1) % len(run.hosts)
                first.log += _line("exchange", found, **{"from": before, "to": rank_})
        return parts

    def times(self, *hosts: str) -> int:
        return self.runs.count(hosts)


def _line(metric: str, value: float, **more: float) -> bytes:
    told = {"metric": metric, "value": value, "unit": "x", **more}
    return f"precheck: {json.dumps(told)}\n".encode()


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    async def go(
        cluster: Cluster, count: int, seen: Mapping[str, HostFacts] | None = None, **wishes: Any
    ) -> tuple[Ranking, Measuring]:
        async def free_port(_self: object) -> int:
            return 30_000

        monkeypatch.setattr(measure, "run_group", cluster.run_group)
        monkeypatch.setattr(measure.RemoteHost, "free_port", free_port)
        facts = parse_probe(b"", 0.0, 0.0)
        targets = [
            Target(
                Host(f"node{n}", address=f"10.0.0.{n}"),
                HostSnapshot(
                    f"node{n}", "", HostState.READY, facts=(seen or {}).get(f"node{n}", facts)
                ),
                Installed(python=True),
            )
            for n in range(1, count + 1)
        ]
        plan = make_plan(targets, {}, Wishes(**wishes))
        transports = SimpleNamespace(get=lambda host: SimpleNamespace(host=host))
        measuring = Measuring(plan, transports, tmp_path, "alice")  # type: ignore[arg-type]
        return rank(await measuring.run()), measuring

    return go


def verdicts(ranking: Ranking) -> Mapping[str, Verdict]:
    return {ranked.host: ranked.verdict for ranked in ranking.hosts}


async def test_good_hosts_are_measured_once_each_pair_once_and_all_once(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: 100.0)
    ranking, _ = await measured(cluster, 4)
    assert ranking.named == ()
    hosts = [f"node{n}" for n in range(1, 5)]
    assert all(cluster.times(host) == 1 for host in hosts)
    assert all(cluster.times(*pair) == 1 for pair in combinations(hosts, 2))
    assert cluster.times(*hosts) == 1
    assert len(cluster.runs) == 4 + 6 + 1


async def test_a_slow_moment_is_no_slow_host(measured: Callable[..., Any]) -> None:
    slow = ["node2"]
    cluster = Cluster(lambda hosts: 10.0 if hosts == ("node2",) and slow and slow.pop() else 100.0)
    ranking, measuring = await measured(cluster, 4)
    assert ranking.named == ()
    assert cluster.times("node2") == 2
    told = conclusions(ranking, measuring.measured)
    (again,) = [line for line in told if line.startswith("Measured once more")]
    assert "node2 memory 10, then 100" in again
    assert "node1" not in again


@pytest.mark.parametrize(("probed", "begun", "told"), [(9.0, 0.1, ""), (0.1, 9.0, "load 9.0")])
async def test_the_load_of_when_it_began_counts_not_an_older_one_nor_what_it_leaves_itself(
    measured: Callable[..., Any], probed: float, begun: float, told: str
) -> None:
    asked: list[tuple[str, ...]] = []

    def outcome(hosts: tuple[str, ...]) -> How | float:
        cluster.load = begun if hosts not in asked else 99.0
        asked.append(hosts)
        return 10.0 if hosts == ("node2",) else 100.0  # so it is measured once more

    cluster = Cluster(outcome)
    facts = replace(parse_probe(b"", 0.0, 0.0), cpus=2, load1=probed)
    ranking, _ = await measured(cluster, 4, dict.fromkeys(map("node{}".format, range(1, 5)), facts))
    assert cluster.times("node2") == 2
    for ranked in ranking.hosts:
        assert ranked.busy.partition(" on ")[0] == told


@pytest.mark.parametrize("load", [0.0, 1.3, 1.5, 90.0])
async def test_a_plan_says_which_hosts_would_not_be_judged_as_they_are_now(
    measured: Callable[..., Any], load: float
) -> None:
    cluster = Cluster(lambda hosts: 100.0, load)
    idle = replace(parse_probe(b"", 0.0, 0.0), cpus=1000, load1=load)
    two = replace(idle, cpus=2)
    facts = {"node1": two, "node2": idle, "node3": two, "node4": two}
    ranking, measuring = await measured(cluster, 4, facts)
    unjudged = {host for host, it in verdicts(ranking).items() if it is Verdict.NOT_JUDGED}
    assert {*measuring._plan.busy} == unjudged
    assert ("node1" in unjudged) == (load > 1.4)
    lines = [line for line in plan_lines(measuring._plan) if "not judged" in line]
    said = f"{UNJUDGED}: node[1,3-4]: load {load} on 2 CPUs"
    assert lines == [said] * bool(unjudged)


async def test_a_host_that_fails_twice_is_named_and_asked_for_nothing_more(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: How.FAILED if hosts == ("node3",) else 100.0)
    ranking, _ = await measured(cluster, 4)
    assert verdicts(ranking)["node3"] is Verdict.BROKEN
    assert {v for host, v in verdicts(ranking).items() if host != "node3"} == {Verdict.WELL}
    assert [hosts for hosts in cluster.runs if "node3" in hosts] == [("node3",)] * 2


HOSTILE = (
    _line("pair", 1.0),
    _line("exchange", 1.0),
    _line("ring", 1.0, **{"from": 0, "to": 1}),
    _line("peer", 1.0, device=0, to=1),
    b'precheck: {"metric": "memory", "value": ' + b"9" * 400 + b"}\n",
    b'precheck: {"metric": "memory", "value": ' + b"[" * 900 + b"}\n",
)


@pytest.mark.parametrize("line", HOSTILE)
async def test_no_line_of_a_log_ends_a_precheck_or_names_anybody(
    measured: Callable[..., Any], line: bytes
) -> None:
    class Talking(Cluster):
        async def run_group(self, run: GroupRun, *rest: Any) -> dict[str, Part]:
            parts = await super().run_group(run, *rest)
            parts[run.hosts[0]].log[:0] = line
            return parts

    ranking, measuring = await measured(Talking(lambda hosts: 100.0), 4)
    assert ranking.named == ()
    told = {(f.metric, f.value) for f in measuring.measured.figures}
    usual = {(m, 100.0) for m in ("cpu_one", "cpu_all", "memory", "exchange", "ring")}
    assert told >= usual
    assert told - usual <= {("peer", 1.0)}


@given(st.permutations([0.0, 0.0, 3.0]))
async def test_a_wrong_result_is_not_forgotten_when_a_gpu_is_measured_once_more(
    values: list[float],
) -> None:
    plan = SimpleNamespace(targets=(), left_out={})
    measuring = Measuring(plan, SimpleNamespace(), Path(), "alice")  # type: ignore[arg-type]
    for value in values:
        figure = Figure("wrong", value, "numbers", ("node1",), (0,), "H200")
        measuring._take([figure, figure])
    (kept,) = measuring.measured.figures
    assert (kept.value, each_of(kept)) == (3.0, values)


async def test_a_host_that_hangs_is_not_waited_for_a_second_time(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: How.TIMED_OUT if hosts == ("node3",) else 100.0)
    ranking, _ = await measured(cluster, 3)
    assert verdicts(ranking)["node3"] is Verdict.BROKEN
    assert cluster.times("node3") == 1


async def test_a_host_that_somebody_takes_meanwhile_is_left_out_not_named(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: How.HELD if hosts[0] == "node1" and len(hosts) == 2 else 100.0)
    ranking, _ = await measured(cluster, 4)
    assert ranking.named == ()
    assert verdicts(ranking)["node1"] is Verdict.NOT_MEASURED
    assert cluster.times("node2", "node3", "node4") == 1


@pytest.mark.parametrize("count", [6, 7, 16])
async def test_who_breaks_what_all_do_though_every_pair_works_is_found(
    measured: Callable[..., Any], count: int
) -> None:
    cluster = Cluster(lambda hosts: How.FAILED if len(hosts) > 2 and "node3" in hosts else 100.0)
    ranking, measuring = await measured(cluster, count, rounds=20)
    (trouble,) = [t for t in measuring.measured.troubles if t.stage is Stage.ALL]
    assert (trouble.host, ranking.exclude) == ("node3", ("node3",))


async def test_where_too_few_are_left_to_tell_who_breaks_it_nobody_is_blamed_alone(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: How.FAILED if len(hosts) > 2 else 100.0)
    ranking, measuring = await measured(cluster, 3)
    (trouble,) = [t for t in measuring.measured.troubles if t.stage is Stage.ALL]
    assert (set(trouble.hosts), trouble.host) == ({"node1", "node2", "node3"}, "")
    assert ranking.exclude == ()
    assert ranking.troubles == (trouble,)


async def test_who_breaks_every_group_is_found_by_halving_where_pairs_were_not_tried(
    measured: Callable[..., Any],
) -> None:
    cluster = Cluster(lambda hosts: How.FAILED if len(hosts) > 1 and "node5" in hosts else 100.0)
    ranking, _ = await measured(cluster, 9, stages=(Stage.HOST, Stage.ALL))
    assert ranking.exclude == ("node5",)
    rest = tuple(f"node{n}" for n in range(1, 10) if n != 5)
    assert cluster.times(*rest) == 1, "the others are measured together without it"


async def test_a_pair_that_fails_twice_is_named_as_a_pair_and_kept_apart_in_what_all_do(
    measured: Callable[..., Any],
) -> None:
    bad = {"node2", "node4"}
    cluster = Cluster(lambda hosts: How.FAILED if bad <= set(hosts) else 100.0)
    ranking, _ = await measured(cluster, 5)
    assert ranking.keep_apart == (("node2", "node4"),)
    assert ranking.exclude == ()
    assert cluster.times("node2", "node4") == 2
    assert cluster.times("node1", "node2", "node3", "node5") == 1


async def test_hosts_take_turns_where_that_is_wished(measured: Callable[..., Any]) -> None:
    at_work: set[str] = set()
    most = 0

    class Counting(Cluster):
        async def run_group(self, run: GroupRun, *rest: Any) -> dict[str, Part]:
            nonlocal most
            at_work.update(run.hosts)
            most = max(most, len(at_work)) if len(run.hosts) == 1 else most
            await asyncio.sleep(0)
            found = await super().run_group(run, *rest)
            at_work.difference_update(run.hosts)
            return found

    await measured(Counting(lambda hosts: 100.0), 5, at_once=2)
    assert most == 2


VM = Path(__file__).parents[3] / "docs" / "examples" / "h200-x4"


async def test_faults_that_the_probe_saw_name_a_gpu_where_no_speed_is_measured(
    measured: Callable[..., Any],
) -> None:
    (vm,) = recorded_hosts(VM, 0.0)
    assert vm.facts is not None
    gpus = vm.facts.gpus
    seen = {
        "node2": replace(gpus[1], ecc_uncorrected=3),
        "node3": replace(gpus[1], throttle_reasons=("thermal slowdown (hardware)",)),
        "node4": replace(gpus[1], throttle_reasons=("power cap",), ecc_uncorrected=0),
    }
    facts = {
        name: replace(vm.facts, boot_id=name, gpus=(gpus[0], gpu)) for name, gpu in seen.items()
    }
    ranking, measuring = await measured(Cluster(lambda hosts: 100.0), 4, facts)
    said = {host: (verdict, why) for host, verdict, why in ranking_table(ranking).rows}
    where = f"GPU{gpus[1].index}: "
    words = "3 uncorrected memory errors since the driver was loaded"
    assert said["node2"] == ("faulty", where + words)
    assert said["node3"] == ("slow", where + "slowed down: thermal slowdown (hardware)")
    assert ranking.exclude == ("node2", "node3")
    assert {said["node1"][0], said["node4"][0]} == {"well"}
    assert {figure.metric for figure in measuring.measured.figures} >= {"ecc", "slowed"}


def of_machines(machines: str) -> dict[str, HostFacts]:
    """ "aab": node1 and node2 are names of one machine, node3 is another."""
    (vm,) = recorded_hosts(VM, 0.0)
    assert vm.facts is not None
    return {
        f"node{n}": replace(vm.facts, boot_id=boot, gpus=()) for n, boot in enumerate(machines, 1)
    }


class Overlapping(Cluster):
    """Each run takes a while, in which ``outcome`` may tell who is at work beside it."""

    def __init__(self, machines: str, outcome: Outcome = lambda hosts: 100.0) -> None:
        super().__init__(outcome)
        self.machines = {f"node{n}": machine for n, machine in enumerate(machines, 1)}
        self.at_work: list[str] = []
        self.most = 0

    async def run_group(self, run: GroupRun, *rest: Any) -> dict[str, Part]:
        there = [self.machines[host] for host in run.hosts]
        self.at_work += there
        self.most = max(self.most, *map(self.at_work.count, there))
        for _ in range(3):
            await asyncio.sleep(0)
        found = await super().run_group(run, *rest)
        for machine in there:
            self.at_work.remove(machine)
        return found


@pytest.mark.parametrize("at_once", [0, 1, 2, 5])
@pytest.mark.parametrize("machines", ["aa", "aab", "abab", "aabbc", "aaabcd", "abcd"])
async def test_names_of_one_machine_are_never_measured_at_the_same_time(
    measured: Callable[..., Any], machines: str, at_once: int
) -> None:
    for outcome in (100.0, How.FAILED):  # what fails is measured once more
        cluster = Overlapping(
            machines, lambda hosts, told=outcome: told if hosts[0] == "node1" else 100.0
        )
        facts = of_machines(machines)
        ranking, _ = await measured(cluster, len(machines), facts, at_once=at_once)
        assert cluster.most == 1
        assert {hosts[0] for hosts in cluster.runs if len(hosts) == 1} == {*facts}
        pairs = {tuple(cluster.machines[h] for h in hosts) for hosts in cluster.runs[1:]}
        met = {frozenset(pair) for pair in pairs if len(pair) == 2}
        left = {*machines} if outcome == 100.0 or machines.count("a") > 1 else {*machines} - {"a"}
        assert met == {frozenset(pair) for pair in combinations(left, 2)}
        assert (verdicts(ranking)["node1"] is Verdict.BROKEN) == (outcome is How.FAILED)


async def test_what_one_name_of_a_machine_was_measured_under_is_no_load_of_the_next(
    measured: Callable[..., Any],
) -> None:
    begun: set[str] = set()

    def outcome(hosts: tuple[str, ...]) -> How | float:
        cluster.load = 99.0 if cluster.machines[hosts[0]] in begun else 0.1
        begun.update(cluster.machines[host] for host in hosts)
        return 100.0

    cluster = Overlapping("aab", outcome)
    ranking, _ = await measured(cluster, 3, of_machines("aab"))
    assert {*verdicts(ranking).values()} == {Verdict.WELL}


@pytest.mark.parametrize(
    ("machines", "at_once", "times"),
    [("aaa", 0, 3), ("aab", 0, 2), ("aab", 1, 3), ("aaabcd", 2, 4), ("abcd", 0, 1), ("abcd", 3, 2)],
)
async def test_the_plan_counts_the_names_of_one_machine_one_after_the_other(
    measured: Callable[..., Any], machines: str, at_once: int, times: int
) -> None:
    cluster = Cluster(lambda hosts: 100.0)
    _, measuring = await measured(cluster, len(machines), of_machines(machines), at_once=at_once)
    plan = measuring._plan
    assert plan.step(Stage.HOST).times == times
    apart = tuple(f"node{machines.index(one) + 1}" for one in dict.fromkeys(machines))
    for stage, least in ((Stage.PAIRS, 2), (Stage.ALL, 3)):
        step = plan.step(stage)
        assert (step.hosts if step else ()) == (apart if len(apart) >= least else ())


async def test_hosts_that_are_one_machine_are_told_before_anything_is_measured(
    measured: Callable[..., Any],
) -> None:
    _, measuring = await measured(Cluster(lambda hosts: 100.0), 3, of_machines("aab"))
    (told,) = [line for line in plan_lines(measuring._plan) if "node[1-2] are the same" in line]
    assert "they share what is measured, so they are measured one after the other" in told
