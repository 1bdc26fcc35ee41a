"""What sbatch is asked for, and the script it gets."""

from __future__ import annotations

import math
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engines.choice import job_for
from backends.engines.engine import Wanted
from backends.engines.filling import Offer
from backends.engines.hosts_schedule import ends_at
from backends.engines.slurm.batch_script import (
    MARGIN_S,
    JobRequest,
    batch_script,
    request_for,
    request_for_all,
    sbatch_words,
    step_script,
    time_s,
)
from backends.engines.slurm.gres import Gpus
from backends.engines.slurm.node_hosts import node_snapshot
from backends.engines.slurm.node_share import NodeShare, share_told
from backends.engines.slurm.nodes import Node
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import this_machine
from backends.inventory.job_options import JobOptions, JobsAsked
from backends.inventory.queue import Queue
from backends.remote.installation import wrapper
from profiles.format.host_capacity import HostCapacity

GPUS = JobRequest("r1", nodes=2, gpus_per_node=8, gpus=True, limit_s=3600.0)


def test_a_run_asks_for_whole_nodes_its_gpus_and_its_time() -> None:
    assert sbatch_words(GPUS, JobOptions()) == [
        "--job-name=dlperf-r1",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--gpus-per-node=8",
        "--time=65",
        "--no-requeue",
        "--output=jobs/%j.out",
        "--exclusive",
    ]


def test_without_gpus_devices_are_cores() -> None:
    cores = JobRequest("r1", 1, 4, gpus=False, limit_s=59.0)
    words = sbatch_words(cores, JobOptions(exclusive=False, requeue=True))
    assert "--cpus-per-task=4" in words
    assert "--time=6" in words
    assert "--requeue" in words
    assert "--exclusive" not in words


def test_who_packs_asks_for_its_devices_alone() -> None:
    want = Wanted("r1", 1, 2, limit_s=60.0, gpu_only=True)
    for pack in (False, True):
        request = request_for(replace(want, pack=pack), NodeShare(True, 12))
        words = sbatch_words(request, JobOptions())
        assert ("--exclusive" in words, "--cpus-per-gpu=12" in words) == (not pack, pack)


def test_what_the_operator_asks_for_is_handed_on_and_their_own_words_come_last() -> None:
    options = JobOptions(
        partition="gpu",
        account="ml",
        qos="high",
        reservation="mon",
        constraint="[rack1|rack2]",
        nodelist="n[1-4]",
        exclude="n9",
        nice=0,
        extra=("--switches=1", "--time=10"),
    )
    words = sbatch_words(JobRequest("r1", 1, 1, True, 60.0, avoid=("n3",)), options)
    for word in (
        "--partition=gpu",
        "--account=ml",
        "--qos=high",
        "--reservation=mon",
        "--constraint='[rack1|rack2]'",
        "--nodelist='n[1-4]'",
        "--exclude=n9,n3",
        "--nice=0",
    ):
        assert word in words
    assert words[-2:] == ["--switches=1", "--time=10"]


def test_the_script_is_one_that_sh_reads() -> None:
    script = batch_script(GPUS, JobOptions(), wrapper(), "~/it's work")
    assert script.startswith("#!/bin/sh\n#SBATCH --job-name=dlperf-r1\n")
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)


WANTS = st.builds(
    Wanted,
    run_id=st.just("RUN"),
    nodes=st.integers(1, 6),
    gpus_per_node=st.integers(1, 8),
    limit_s=st.floats(60, 7200),
    expected_s=st.just(math.inf) | st.floats(1, 3600),
    on_cpus=st.booleans(),
)


@given(st.lists(WANTS, min_size=1, max_size=12), st.none() | st.integers(1, 9))
def test_a_campaigns_job_is_as_wide_as_its_widest_run_and_long_enough_for_all(
    wanted: list[Wanted], nodes: int | None
) -> None:
    request = request_for_all("c", wanted, JobOptions(nodes=nodes), NodeShare(True))
    assert request.nodes == max([nodes or 1, *(want.nodes for want in wanted)])
    assert request.gpus == any(not want.on_cpus for want in wanted)
    takes = [want.expected_s if want.expected_s < math.inf else want.limit_s for want in wanted]
    of_nodes = sum(s * want.nodes for s, want in zip(takes, wanted, strict=True))
    held_s = time_s(request, JobOptions())
    assert held_s >= 1.5 * max(*takes, of_nodes / request.nodes)
    assert held_s <= sum(takes) * 1.5 + MARGIN_S + 60
    assert all(want.gpus_per_node <= request.gpus_per_node for want in wanted if not want.on_cpus)


def test_a_campaigns_job_is_never_there_twice_nor_begun_again_by_slurm() -> None:
    options = JobOptions(requeue=True)
    words = sbatch_words(
        request_for_all("c", [Wanted("r", 1, 1, limit_s=60)], options, NodeShare(True)), options
    )
    assert {"--job-name=dlperf-c", "--no-requeue", "--dependency=singleton"} <= set(words)


def test_what_a_campaigns_job_does_is_one_that_sh_reads() -> None:
    request = request_for_all("c", [Wanted("r", 1, 1, limit_s=60)], JobOptions(), NodeShare(True))
    script = batch_script(request, JobOptions(), wrapper(), "~/it's work")
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)
    step = step_script("c-1-a1", "7_c_1_a1", ["n1", "n2"], wrapper(), "~/it's work")
    assert "--nodelist=n1,n2" in step
    subprocess.run(["sh", "-n"], input=step.encode(), check=True)


def told(name: str, cpus: int, gpus: int, *partitions: str) -> HostSnapshot:
    return node_snapshot(Node(name, partitions, "idle", cpus=cpus, gpus=(Gpus("", gpus),)))


CLUSTER = [
    told("a1", 128, 8, "a100", "all"),
    told("a2", 96, 8, "a100", "all"),
    told("h1", 224, 8, "h100"),
    told("c1", 64, 0, "cpu"),
]


@pytest.mark.parametrize(
    ("partition", "expected"),
    [
        ("a100", NodeShare(True, 12)),
        ("h100", NodeShare(True, 28)),
        ("h100,a100", NodeShare(True, 12)),
        ("cpu", NodeShare(False)),
        ("", NodeShare(True, 12)),
    ],
)
def test_a_gpus_share_of_the_cpus_is_that_of_the_smallest_node_of_the_partition(
    partition: str, expected: NodeShare
) -> None:
    assert share_told(CLUSTER, partition) == expected


@pytest.mark.parametrize("allocation", ["run", "campaign"])
@pytest.mark.parametrize(("asks", "share"), [((), 12), ((("partition", "h100"),), 28)])
def test_a_profile_that_names_a_partition_has_the_share_of_that_one(
    allocation: str, asks: tuple[tuple[str, object], ...], share: int
) -> None:
    options = JobOptions(partition="a100", exclusive=False, allocation=allocation)
    queue = Queue("slurm", this_machine("login"), options)
    want = Wanted("r", 1, 2, limit_s=60, asks=asks)
    assert f"--cpus-per-gpu={share}\n" in job_for([want], queue, CLUSTER)


def test_a_job_beside_others_has_its_gpus_share_of_the_cpus() -> None:
    want = Wanted("r", 2, 4, limit_s=60)
    beside = JobOptions(exclusive=False)
    assert "--cpus-per-gpu=12" in sbatch_words(request_for(want, NodeShare(True, 12)), beside)
    of_all = request_for_all("c", [want], beside, NodeShare(True, 12))
    assert "--cpus-per-gpu=12" in sbatch_words(of_all, beside)


@pytest.mark.parametrize(
    ("options", "share", "on_cpus"),
    [
        (JobOptions(), NodeShare(True, 12), False),  # all CPUs are its own
        (JobOptions(exclusive=False), NodeShare(True, 0), False),
        (JobOptions(exclusive=False), NodeShare(True, 12), True),
        *(
            (JobOptions(exclusive=False, extra=("--comment=x", said)), NodeShare(True, 12), False)
            for said in ("-c 4", "-c4", "--cpus-per-gpu=2", "--cpus-per-task 9", "--exclusive=user")
        ),
        (JobOptions(exclusive=False, asked=("--cpus-per-task=9",)), NodeShare(True, 12), False),
    ],
)
def test_it_is_not_asked_for_where_somebody_says_otherwise(
    options: JobOptions, share: NodeShare, on_cpus: bool
) -> None:
    want = Wanted("r", 2, 4, limit_s=60, on_cpus=on_cpus)
    assert "--cpus-per-gpu=12" not in sbatch_words(request_for(want, share), options)


@given(st.lists(WANTS, min_size=1, max_size=12), st.integers(6, 9))
def test_a_campaigns_job_is_as_long_as_the_schedule_that_its_runs_will_go_by(
    wanted: list[Wanted], nodes: int
) -> None:
    known = [
        replace(want, run_id=str(n), expected_s=min(want.expected_s, want.limit_s))
        for n, want in enumerate(wanted)
    ]
    offers = [Offer(HostCapacity(f"n{n}", None, 8)) for n in range(nodes)]
    request = request_for_all("c", known, JobOptions(nodes=nodes), NodeShare(True))
    assert request.limit_s == 1.5 * ends_at(offers, known)


VALUES = st.none() | st.sampled_from(["a", "b", "c"])
KEYS = ("partition", "account", "qos", "reservation", "constraint", "nodelist", "exclude")


@given(st.sampled_from([*KEYS, "nice", "time"]), VALUES, VALUES, VALUES)
def test_the_command_line_wins_over_the_profile_and_that_over_the_inventory(
    key: str, inventory: str | None, profile: str | None, line: str | None
) -> None:
    numbers = {"a": "11", "b": "12", "c": "13"}  # of minutes, for some
    told = [numbers[v] if v and key in ("nice", "time") else v for v in (inventory, profile, line)]
    values = [
        None if v is None else {"nice": int, "time": "{}m".format}.get(key, str)(v)  # type: ignore[operator]
        for v in told[:2]
    ]
    asked = JobsAsked(words=(f"--{key}={told[2]}",) if line else ())
    options = asked.over(JobOptions(**({key: values[0]} if inventory else {})))
    want = Wanted("r", 1, 1, limit_s=60, asks=((key, values[1]),) if profile else ())
    words = sbatch_words(request_for(want, NodeShare(True)), options)
    said = [word.partition("=")[2] for word in words if word.startswith(f"--{key}=")]
    expected = told[2] or told[1] or told[0] or ("6" if key == "time" else None)
    assert (said[-1] if said else None) == expected


def test_words_for_sbatch_of_all_levels_are_handed_on_the_nearest_last() -> None:
    options = JobsAsked(words=("--c",)).over(JobOptions(extra=("--a",)))
    want = Wanted("r", 1, 1, limit_s=60, asks=(("extra", ("--b",)), ("exclusive", False)))
    words = sbatch_words(request_for(want, NodeShare(True)), options)
    assert words[-3:] == ["--a", "--b", "--c"]
    assert "--exclusive" not in words


def test_a_job_waits_for_its_run_as_long_as_it_is_told() -> None:
    want = Wanted("r", 1, 1, limit_s=60)
    for request in (
        request_for(want, NodeShare(True)),
        request_for_all("c", [want], JobOptions(), NodeShare(True)),
    ):
        assert " 900" in batch_script(request, JobOptions(), wrapper(), "~/x")
        assert " 120" in batch_script(request, JobOptions(patience="2m"), wrapper(), "~/x")
