"""What a host's facts come to: its state, and for each thing that is wrong what to do about it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.host_condition import concerns, host_findings, state_of
from backends.hosts.host_facts import GpuProcess, HostFacts, HostState, LoadOf
from backends.hosts.hosts_json import host_document
from backends.hosts.preflight_finding import Level
from backends.hosts.probe import probe, snapshot_of
from backends.hosts.topology import parse_topology
from backends.inventory.host_entry import Host
from backends.remote.lease import Lease
from tests.console.fakes import facts
from tests.support.nvidia_smi import H200_LINKS, V100_LINKS

WELL = facts()


def with_gpu(**changes: object) -> HostFacts:
    gpus = list(WELL.gpus)
    gpus[3] = replace(gpus[3], **changes)  # type: ignore[arg-type]
    return replace(WELL, gpus=tuple(gpus))


@pytest.mark.parametrize("links", [V100_LINKS, H200_LINKS, None])
@pytest.mark.parametrize(
    "name", ["Tesla V100-SXM2-16GB", "Tesla P100-SXM2-16GB", "NVIDIA H200", "A100"]
)
def test_gpus_that_nvlink_connects_are_reset_together_before_ampere_else_alone(
    links: str | None, name: str
) -> None:
    topology = parse_topology(links) if links is not None else None
    worn = replace(with_gpu(ecc_uncorrected=2, name=name), topology=topology)
    together = topology is not None and "100-" in name
    [found] = [one for one in concerns(worn) if "uncorrected" in one.what]
    assert found.remedy.startswith(f"nvidia-smi {'' if together else '-i 3 '}-r as root")
    assert ("on any of them" in found.remedy) is together


def test_a_host_that_is_well_has_no_concern() -> None:
    assert concerns(WELL) == ()
    assert state_of(WELL) == (HostState.READY, "")


@pytest.mark.parametrize(
    ("found", "what", "remedy"),
    [
        (with_gpu(ecc_uncorrected=2), "GPU3 has 2 uncorrected memory errors", "nvidia-smi -r"),
        (
            with_gpu(throttle_reasons=("hardware thermal slowdown",)),
            "GPU3 is slowed down: hardware thermal slowdown",
            "cooling",
        ),
        (
            with_gpu(throttle_reasons=("application clocks setting",)),
            "GPU3 is slowed down: application clocks setting",
            "nvidia-smi -rac",
        ),
        (with_gpu(temperature_c=85), "GPU3 is hot: 85 °C", "cooling"),
        (replace(WELL, gpu_problem="nvidia-smi: no devices"), "no devices", "mend the driver"),
        (facts(offset=-3.4), "its clock is 3.4 s behind this machine's", "chrony"),
    ],
)
def test_what_is_wrong_degrades_a_host_and_has_a_remedy(
    found: HostFacts, what: str, remedy: str
) -> None:
    state, reason = state_of(found)
    assert state is HostState.DEGRADED
    assert what in reason
    [concern] = concerns(found)
    assert concern.degrades
    assert remedy in concern.remedy
    document = host_document(snapshot_of(Host(name="n"), found))
    assert (document["warnings"], document["remedies"]) == ([concern.what], [concern.remedy])


GPUS = st.builds(
    replace,
    st.sampled_from(WELL.gpus),
    ecc_uncorrected=st.sampled_from((None, 0, 3)),
    throttle_reasons=st.sampled_from(((), ("power cap",), ("power brake",), ("sync boost",))),
    temperature_c=st.sampled_from((None, 40, 84, 85, 96)),
)
FACTS = st.builds(
    replace,
    st.just(replace(WELL, disk_free_mib=500 * 1024)),
    gpus=st.lists(GPUS, max_size=3).map(tuple),
    gpu_problem=st.sampled_from(("", "nvidia-smi: no devices")),
    clock_offset_s=st.sampled_from((0.0, 0.9, -3.4)),
)


@given(FACTS, st.booleans())
def test_who_is_degraded_is_warned_of_with_a_remedy_and_nobody_else(
    found: HostFacts, gpus_needed: bool
) -> None:
    """On Hosts and before a start the same is said."""
    gpus_needed = gpus_needed and bool(found.gpus)
    findings = host_findings("n", found, gpus_needed=gpus_needed)
    state, reason = state_of(found)
    assert (state is HostState.DEGRADED) == bool(findings)
    assert [(c.what, c.remedy) for c in concerns(found)] == [(f.what, f.remedy) for f in findings]
    assert all(one.level is not Level.OK and one.remedy for one in findings)
    assert reason == (findings[0].what if findings else "")


@pytest.mark.parametrize(
    "found",
    [
        with_gpu(throttle_reasons=("power cap",)),
        with_gpu(temperature_c=84),
        with_gpu(ecc_uncorrected=0),
        with_gpu(mig_enabled=True),
        replace(WELL, load1=90.0),
        facts(offset=0.9),
    ],
)
def test_what_is_usual_under_load_or_set_so_does_not(found: HostFacts) -> None:
    assert state_of(found)[0] is HostState.READY
    assert not any(concern.degrades for concern in concerns(found))


@pytest.mark.parametrize("cpus", [0, 48])
def test_a_load_that_nobody_told_is_not_high(cpus: int) -> None:
    assert concerns(replace(WELL, cpus=cpus, load1=math.nan)) == ()


def test_somebodys_work_goes_before_what_is_wrong_and_both_are_said() -> None:
    found = replace(with_gpu(ecc_uncorrected=1), gpu_processes=facts(busy=(0,)).gpu_processes)
    assert state_of(found)[0] is HostState.BUSY
    assert concerns(found)[0].degrades


def test_our_own_run_is_said_to_be_ours() -> None:
    ours = (GpuProcess(0, 1, "bench", "python", 100, run_id="0003-a1"),)
    found = replace(WELL, gpu_processes=ours)
    assert state_of(found)[0] is HostState.READY
    assert [concern.what for concern in concerns(found)] == ["our run 0003-a1 is on its GPUs"]


async def test_a_probe_says_when_it_was_so(shell: Any) -> None:
    told = await probe(shell(Host(name="a", transport="local")))
    assert told.probed_at == pytest.approx(time.time(), abs=30)
    away = await probe(shell(Host(name="a", transport="local")), lambda: 1234.5)
    assert away.probed_at == 1234.5


A_RUN = GpuProcess(0, 1, "bench", "python", 100, run_id="0003-a1")
LOADED = replace(WELL, load1=90.0)


@pytest.mark.parametrize(
    "found",
    [
        replace(LOADED, lease=Lease("alice@login01, run r-1", run_id="r-1")),
        replace(LOADED, gpu_processes=(A_RUN,)),
        LOADED,
        replace(LOADED, lease=Lease("process 7 (vim)", by_a_run=False)),
    ],
)
@pytest.mark.parametrize("load_of", LoadOf)
def test_of_a_load_nothing_is_said_that_nobody_knows_and_by_all_the_same(
    found: HostFacts, load_of: LoadOf
) -> None:
    """Whose it is only top tells; where a run is at work it may be all of it."""
    run = found.gpu_processes or (found.lease and found.lease.by_a_run) or load_of is LoadOf.RUN
    found = replace(found, load_of=load_of)
    told = (*concerns(found), *host_findings("n", found, gpus_needed=True))
    said = [one.remedy for one in told if one.what.startswith("load 90.0 on")]
    assert said == [said[0]] * 2
    assert "something else computes there" not in said[0]
    assert ("a run has the host" in said[0]) == bool(run)
    assert ("ours has just ended" in said[0]) == (load_of is LoadOf.ENDED and not run)
    assert "top" in said[0]


def test_runs_that_are_known_to_be_there_are_no_concern_and_keep_nobody_away() -> None:
    found = replace(with_gpu(utilization_pct=97, memory_used_mib=14_000), gpu_processes=(A_RUN,))
    assert state_of(found)[0] is HostState.BUSY, "GPU3 works for a process that cannot be seen"
    assert state_of(found, ours=["0003-a1"]) == (HostState.READY, "")
    assert concerns(found, ours=["0003-a1"]) == concerns(replace(found, gpu_processes=()))
    foreign = facts(busy=(1,)).gpu_processes
    both = replace(found, gpu_processes=(A_RUN, *foreign))
    assert state_of(both, ours=["0003-a1"])[0] is HostState.BUSY
