"""Simulated hosts as the rest of the program meets them: probed, checked, lost, rebooted."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable

import pytest

from backends.clocks import PACE, Pace, loop_time, sleep, timeout
from backends.hosts.host_facts import HostState
from backends.hosts.preflight import preflight
from backends.hosts.probe import probe
from backends.hosts.telemetry import read_telemetry, telemetry_command
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunPhase, RunSpec
from backends.simulated.fake_run import (
    FOREVER,
    GpuLoad,
    Throttling,
    Workload,
)
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.simulated_transport import LONGEST_TICK_S, TICK_S
from backends.simulated.spec import ForeignProcess, HostSpec, v100_host
from backends.simulated.supervising import Asked
from backends.transports.transport import HostUnreachableError, Problem
from tests.support.fake_training import Curve, training
from tests.support.leases import lease_holder

FAST = 200.0


def counting(asked: Asked) -> Workload:
    """Prints a line each second for a minute."""
    return training(Curve(100.0), 60, lambda number, _: f"line {number}", seed=asked.run_id)


def cluster(
    workloads: Callable[[Asked], Workload] = counting, speed: float = FAST, **specs: HostSpec
) -> SimulatedCluster:
    return SimulatedCluster(
        specs or {"node1": HostSpec()}, workloads, epoch=1_795_000_000.0, speed=speed
    )


async def test_a_probe_finds_the_gpus_and_how_they_are_linked() -> None:
    hosts = cluster(speed=1.0, node1=v100_host())
    found = await probe(hosts.get("node1"), hosts.clock)
    assert found.state is HostState.READY
    assert found.slots == 8
    assert found.facts is not None
    assert {gpu.name for gpu in found.facts.gpus} == {"Tesla V100-SXM2-16GB"}
    assert found.facts.missing == ()
    assert found.facts.topology is not None
    assert found.facts.driver_version == "450.119.04"
    assert found.facts.interconnects == ("mlx5_0 100 Gb/sec (4X EDR)",)
    assert abs(found.facts.clock_offset_s) < 1.0


async def test_somebody_else_on_a_gpu_makes_a_host_busy() -> None:
    spec = HostSpec(
        gpus=v100_host(2).gpus, foreign=(ForeignProcess(1, "carol", "python3 train.py"),)
    )
    hosts = cluster(node1=spec)
    found = await probe(hosts.get("node1"), hosts.clock)
    assert found.state is HostState.BUSY
    assert "carol on GPU1" in found.reason


async def test_preflight_finds_nothing_wrong_with_hosts_that_are_well() -> None:
    hosts = cluster(node1=v100_host(), node2=v100_host())
    names = [Host("node1", address="10.0.0.1"), Host("node2", address="10.0.0.2")]
    findings = await preflight(hosts, names, (), clock=hosts.clock)
    assert {finding.level for finding in findings} == {"ok"}, findings


@pytest.mark.parametrize("lease_dir", ["", "/shared/leases"])
@pytest.mark.parametrize("gpus", [0, 2])
async def test_a_probe_tells_who_has_the_lease_that_runs_take(lease_dir: str, gpus: int) -> None:
    hosts = cluster(speed=1.0, node1=HostSpec(gpus=v100_host(gpus).gpus))
    host = Host("node1", address="10.0.0.1", work_dir="/scratch/runs", lease_dir=lease_dir)
    remote = RemoteHost(hosts.get(host))
    before = await probe(hosts.get(host), hosts.clock)
    assert before.lease is None
    await remote.start(RunSpec("r-1", "exec train\n", lease="alice@login01"))
    found = await probe(hosts.get(host), hosts.clock)
    assert found.lease is not None
    assert (found.lease.run_id, found.lease.by_a_run) == ("r-1", True)
    assert found.lease.holder == await lease_holder(remote)
    assert (found.state_word, before.state_word) == ("in use", "ready")


async def test_gpus_are_watched_while_a_run_is_on_them() -> None:
    hosts = cluster(node1=v100_host(2))
    remote = RemoteHost(hosts.get("node1"))
    await remote.start(RunSpec("r", "exec train\n", lease="me"))
    got = bytearray()
    watching = asyncio.create_task(
        hosts.get("node1").stream(telemetry_command(gpus=True), got.extend)
    )
    while got.count(b"host, ") < 3:
        await asyncio.sleep(0.01)
    watching.cancel()
    seen = read_telemetry(io.BytesIO(got))
    assert set(seen.gpus["gpu"]) == {0, 1}
    assert seen.gpus["utilization"].min() > 90
    assert seen.gpus["passed"].sum() >= 2 * 10 - 2.1  # the look that ended it may have come late
    assert len(seen.host) >= 3  # one more may have come meanwhile


async def test_a_short_cut_only_delays_what_a_follower_gets() -> None:
    hosts = cluster()
    remote = RemoteHost(hosts.get("node1"))
    await remote.start(RunSpec("r", "exec train\n", lease="me"))
    got = bytearray()
    following = asyncio.create_task(remote.follow("r", 0, got.extend))
    await asyncio.sleep(5 / FAST)
    hosts.links["node1"].cut()
    await asyncio.sleep(15 / FAST)
    seen = len(got)
    hosts.links["node1"].mend()
    assert (await following).phase is RunPhase.EXITED
    assert seen < len(got)
    assert got.count(b"\n") == 60


async def test_a_long_cut_loses_the_connection_but_not_the_run() -> None:
    hosts = cluster()
    remote = RemoteHost(hosts.get("node1"))
    await remote.start(RunSpec("r", "exec train\n", lease="me"))
    got = bytearray()
    following = asyncio.create_task(remote.follow("r", 0, got.extend))
    await asyncio.sleep(5 / FAST)
    hosts.links["node1"].cut()
    with pytest.raises(HostUnreachableError) as lost:
        await following
    assert lost.value.problem is Problem.LOST
    with pytest.raises(HostUnreachableError) as silent:
        await remote.status("r")
    assert silent.value.problem is Problem.TIMEOUT
    hosts.links["node1"].mend()
    await remote.follow("r", len(got), got.extend)
    assert got.count(b"\n") == 60


async def test_a_crashed_host_comes_back_with_a_new_boot_and_its_files() -> None:
    hosts = cluster(lambda _: Workload(ends_after_s=FOREVER))
    remote = RemoteHost(hosts.get("node1"))
    started = await remote.start(RunSpec("r", "exec train\n", lease="me"))
    hosts.crash("node1", 10.0)
    with pytest.raises(HostUnreachableError):
        await remote.status("r")
    await asyncio.sleep(12 / FAST)
    status = await remote.status("r")
    assert (status.phase, status.same_boot) == (RunPhase.LOST, False)
    assert status.boot_id == started.boot_id
    assert await lease_holder(remote) == ""
    assert (await remote.cancel("r")).left == 0


async def test_a_full_disk_takes_no_new_run_and_no_more_of_a_log() -> None:
    hosts = cluster()
    remote = RemoteHost(hosts.get("node1"))
    await remote.free_port()
    hosts.machines["node1"].disk.room = 1024 + 20
    await remote.start(RunSpec("r", "exec train\n", lease="me"))
    got = bytearray()
    await remote.follow("r", 0, got.extend)
    assert bytes(got) == b"line 0\nline 1\nline 2"[:20]
    with pytest.raises(Exception, match="cannot store the script"):
        await remote.start(RunSpec("s", "exec train\n", lease="me"))


def test_a_curve_warms_up_and_is_the_same_for_the_same_seed() -> None:
    curve = Curve(100.0, warmup=0.5, noise=0.01, slows_at=10, slows_by=0.2)
    one, two = curve.values("a"), curve.values("a")
    first = [next(one) for _ in range(20)]
    assert first == [next(two) for _ in range(20)]
    values = [value for _, value in first]
    assert values[0] == pytest.approx(50, rel=0.1)
    assert values[9] == pytest.approx(100, rel=0.1)
    assert values[15] == pytest.approx(80, rel=0.1)


async def test_a_patient_cluster_waits_for_who_was_busy() -> None:
    """What comes after the pause is read a moment after it was printed, not minutes later."""
    hosts = SimulatedCluster({"node1": HostSpec()}, counting, speed=FAST, patient=True)
    remote = RemoteHost(hosts.get("node1"))
    await remote.start(RunSpec("r", "exec train\n", lease="me"))
    late: list[float] = []

    def take(data: bytes) -> None:
        last = int(data.split()[-1])
        late.append(hosts.time.now - began - last)

    began = hosts.time.now
    following = asyncio.create_task(remote.follow("r", 0, take))
    while len(late) < 5:
        await asyncio.sleep(0.005)
    before = hosts.time.now
    time.sleep(0.3)
    await asyncio.sleep(0)
    assert hosts.time.now - before <= 2 * LONGEST_TICK_S * FAST < 0.3 * FAST / 2
    assert (await following).phase is RunPhase.EXITED
    assert max(late) < 10 * LONGEST_TICK_S * FAST
    await hosts.close()
    ended = hosts.time.now
    await asyncio.sleep(5 * TICK_S)
    assert hosts.time.now == ended


@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("speed", [20.0, 60.0, FAST])
async def test_what_is_taken_came_when_it_was_printed(speed: float, patient: bool) -> None:
    """However long that was ago on hosts whose time flies."""
    hosts = SimulatedCluster({"node1": v100_host(1)}, counting, speed=speed, patient=patient)
    got, came = bytearray(), []

    def take(data: bytes) -> None:
        got.extend(data)
        printed = read_telemetry(io.BytesIO(got)).gpus["time_s"]
        came.append(abs(hosts.clock() - printed.iloc[-1]) if len(printed) else 0.0)

    watching = asyncio.create_task(hosts.get("node1").stream(telemetry_command(gpus=True), take))
    async with asyncio.timeout(20):
        while len(came) < 8:
            await asyncio.sleep(0.01)
    watching.cancel()
    await hosts.close()
    assert max(came) < 0.01


async def test_waiting_goes_by_the_time_of_the_hosts() -> None:
    now = [100.0]
    loop = asyncio.get_running_loop()
    assert abs(loop_time() - loop.time()) < 1.0
    token = PACE.set(Pace(lambda: now[0], 50.0))
    try:
        assert loop_time() == 100.0
        began = loop.time()
        await sleep(5.0)
        assert 0.09 < loop.time() - began < 2.0
        with pytest.raises(TimeoutError):
            async with timeout(5.0):
                await asyncio.Event().wait()
    finally:
        PACE.reset(token)


async def test_a_run_is_on_its_own_gpus_and_throttled_from_then_on() -> None:
    load = GpuLoad((1,), power_w=250.0, throttling=Throttling(1, 20.0, 0x20, 1215))
    hosts = cluster(lambda _: Workload(ends_after_s=FOREVER, load=load), node1=v100_host(2))
    await RemoteHost(hosts.get("node1")).start(RunSpec("r", "exec train\n", lease="me"))
    got = bytearray()
    watching = asyncio.create_task(
        hosts.get("node1").stream(telemetry_command(gpus=True), got.extend)
    )
    while got.count(b"host, ") < 8:
        await asyncio.sleep(0.01)
    watching.cancel()
    seen = read_telemetry(io.BytesIO(got))
    used = seen.gpus.groupby("gpu")["utilization"].max()
    assert used[0] == 0
    assert used[1] > 90
    assert seen.gpus[seen.gpus["gpu"] == 0]["software thermal slowdown"].sum() == 0
    slowed = seen.gpus[seen.gpus["clock_mhz"] == 1215]
    assert set(slowed["gpu"]) == {1}
    assert slowed["software thermal slowdown"].sum() > 5
    assert seen.gpus[seen.gpus["gpu"] == 1]["clock_mhz"].iloc[0] == 1530
