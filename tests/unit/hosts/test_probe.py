"""What a probe reports about a host, and about one that it cannot reach."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import platform
import re
import shutil
import socket
import subprocess
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.host_condition import state_of
from backends.hosts.host_facts import HostState, Sought
from backends.hosts.probe import PROBE_SCRIPT, parse_probe, probe, probe_all, snapshot_of
from backends.inventory.host_entry import Host
from backends.transports.transport import Completed, HostUnreachableError, Problem
from tests.support.waiting import wait_until

# Two GPUs, one used by a colleague; text of a login shell before it; clock 100 s ahead of ours.
ANSWER = b"""\
Welcome to gpu07! Today's @@dlperf:begin is fake.

@@dlperf:begin
1100.500000000

@@dlperf:os
"Ubuntu 22.04.4 LTS"

@@dlperf:kernel
5.15.0-101-generic

@@dlperf:architecture
x86_64

@@dlperf:hostname
gpu07

@@dlperf:boot
0f5c4f1e-0000-4000-8000-000000000000

@@dlperf:cpu-model
Intel(R) Xeon(R)   Gold 5118 CPU @ 2.30GHz

@@dlperf:cpus
48

@@dlperf:numa
2

@@dlperf:memory
MemTotal:       395012345 kB
MemFree:         12345678 kB
MemAvailable:   380000000 kB

@@dlperf:load
33.70 4.02 3.01 2/1234 5678

@@dlperf:users
root     pts/1        2026-11-21 09:12 (10.1.0.7)
alice    pts/0        2026-11-21 08:30 (login01)
alice    pts/2        2026-11-21 10:02

@@dlperf:python
Python 3.8.10

@@dlperf:containers
docker
singularity

@@dlperf:disk
/dev/nvme0n1p2   1000000000 400000000 599000000      41% /

@@dlperf:interconnects
mlx5_0 100 Gb/sec (4X EDR) 4: ACTIVE
mlx5_1 10 Gb/sec (4X) 1: DOWN

@@dlperf:gpus
index, name, uuid, memory.used [MiB], utilization.gpu [%], driver_version
0, Tesla V100, GPU-aa, 2 MiB, 0 %, 440.33.01
1, Tesla V100, GPU-bb, 9000 MiB, 98 %, 440.33.01

@@dlperf:gpu-status
0

@@dlperf:gpu-processes
gpu_uuid, pid, used_gpu_memory [MiB], process_name
GPU-bb, 4242, 8998 MiB, python3

@@dlperf:gpu-owners
4242 - alice python3 train.py

@@dlperf:cuda
10.2

@@dlperf:topology
\tGPU0\tGPU1\tCPU Affinity
GPU0\t X \tNV2\t0-11
GPU1\tNV2\t X \t0-11

@@dlperf:end
1103.500000000
"""


def test_one_answer_holds_everything() -> None:
    facts = parse_probe(ANSWER, sent_at=1000.0, received_at=1004.0)
    assert facts.missing == ()
    assert facts.os == "Ubuntu 22.04.4 LTS"
    assert facts.kernel == "5.15.0-101-generic"
    assert facts.cpu_model == "Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz"
    assert (facts.cpus, facts.numa_nodes) == (48, 2)
    assert (facts.memory_mib, facts.memory_available_mib) == (385754, 371093)
    assert facts.load1 == 33.70
    assert facts.users == ("alice", "root")
    assert facts.python == "3.8.10"
    assert facts.container_runtimes == ("docker", "singularity")
    assert (facts.disk_total_mib, facts.disk_free_mib) == (976562, 584960)
    assert facts.interconnects == ("mlx5_0 100 Gb/sec (4X EDR)", "mlx5_1 10 Gb/sec (4X) down")
    assert (facts.driver_version, facts.cuda_version) == ("440.33.01", "10.2")
    assert [gpu.name for gpu in facts.gpus] == ["Tesla V100"] * 2
    assert facts.topology is not None
    assert facts.topology.links[0] == ("X", "NV2")


def test_the_clock_offset_leaves_out_what_the_tools_took() -> None:
    # 4 s for the exec, 3 of them on the host; half a second each way
    facts = parse_probe(ANSWER, sent_at=1000.0, received_at=1004.0)
    assert facts.clock_offset_s == pytest.approx(100.0)
    assert facts.round_trip_s == pytest.approx(1.0)


def test_a_date_without_nanoseconds_is_right_to_half_a_second() -> None:
    facts = parse_probe(b"@@dlperf:begin\n1000.N\n@@dlperf:end\n1000.N\n", 1000.2, 1000.8)
    assert facts.clock_offset_s == pytest.approx(0.0)


def test_a_host_whose_gpus_a_colleague_uses_is_busy_and_says_who() -> None:
    snapshot = snapshot_of(Host(name="gpu07", address="10.0.0.7"), parse_probe(ANSWER, 1102, 1102))
    assert snapshot.state is HostState.BUSY
    assert snapshot.reason == "alice on GPU1 (python3 train.py)"
    assert snapshot.slots == 2
    assert snapshot.warnings == ("load 33.7 on 48 CPUs",)
    calm = parse_probe(ANSWER.replace(b"33.70", b"33.50"), 1102, 1102)
    assert snapshot_of(Host(name="gpu07"), calm).warnings == ()


def test_our_own_run_does_not_make_a_host_busy() -> None:
    answer = ANSWER.replace(b"4242 - alice", b"4242 r-77 bench")
    snapshot = snapshot_of(Host(name="gpu07"), parse_probe(answer, 1102, 1102))
    assert snapshot.state is HostState.READY
    assert "our run r-77 is on its GPUs" in snapshot.warnings


def test_a_utilised_gpu_is_busy_even_when_its_process_hides() -> None:
    answer = ANSWER.replace(b"GPU-bb, 4242, 8998 MiB, python3\n", b"")
    snapshot = snapshot_of(Host(name="gpu07"), parse_probe(answer, 1102, 1102))
    assert snapshot.state is HostState.BUSY
    assert snapshot.reason == "GPU1 at 98%, by a process that cannot be seen"
    assert "GPU1 holds 9000 MiB for a process that cannot be seen" in snapshot.warnings


@pytest.mark.parametrize(
    ("used", "state", "warned"),
    [
        (b"3 MiB, 100 %", HostState.READY, False),  # nvidia-smi itself woke it up
        (b"100 MiB, 100 %", HostState.READY, False),
        (b"101 MiB, 6 %", HostState.BUSY, False),
        (b"1024 MiB, 5 %", HostState.READY, False),
        (b"1025 MiB, 5 %", HostState.READY, True),
    ],
)
def test_a_gpu_is_busy_where_somebody_computes_on_it_and_has_room_there(
    used: bytes, state: HostState, warned: bool
) -> None:
    answer = ANSWER.replace(b"GPU-bb, 4242, 8998 MiB, python3\n", b"").replace(b"33.70", b"1.00")
    answer = answer.replace(b"9000 MiB, 98 %", used)
    snapshot = snapshot_of(Host(name="v100"), parse_probe(answer, 1102, 1102))
    assert snapshot.state is state
    assert bool(snapshot.warnings) is warned


@pytest.mark.parametrize(
    ("status", "text", "problem"),
    [
        (9, b"NVIDIA-SMI has failed because it couldn't talk.", "nvidia-smi: NVIDIA-SMI has"),
        (124, b"", "nvidia-smi did not answer within 5 s"),
        (14, b"", "nvidia-smi: failed with status 14"),
    ],
)
def test_a_broken_driver_is_told_apart_from_no_gpu(status: int, text: bytes, problem: str) -> None:
    answer = b"@@dlperf:gpus\n%s\n@@dlperf:gpu-status\n%d\n@@dlperf:end\n1\n" % (text, status)
    facts = parse_probe(answer, 0, 0)
    assert facts.gpus == ()
    assert facts.gpu_problem.startswith(problem)
    assert parse_probe(b"@@dlperf:end\n1\n", 0, 0).gpu_problem == ""


def test_what_is_not_there_is_named_as_missing() -> None:
    facts = parse_probe(b"", 0.0, 1.0)
    assert facts.missing == (
        "memory",
        "clock",
        "CPU count",
        "disk space",
        "operating system",
        "kernel",
        "boot id",
        "CPU model",
        "host name",
        "architecture",
    )
    torn = parse_probe(ANSWER[: len(ANSWER) // 2], 0.0, 1.0)
    assert "end of the probe" in torn.missing


@given(
    st.binary(max_size=400)
    | st.tuples(st.integers(0, len(ANSWER)), st.binary(max_size=40), st.integers(0, 60)).map(
        lambda change: ANSWER[: change[0]] + change[1] + ANSWER[change[0] + change[2] :]
    )
)
def test_any_answer_gives_facts_that_are_safe_to_show(answer: bytes) -> None:
    facts = parse_probe(answer, 0.0, 1.0)
    assert "\\x1b" not in repr(dataclasses.asdict(facts))
    assert "\\x00" not in repr(dataclasses.asdict(facts))
    snapshot_of(Host(name="x"), facts)


# --- the script itself, run by this machine's sh --------------------------------------------------


async def test_variables_that_a_run_finds_set_are_recorded_and_no_others(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under names that libraries of training read; what looks secret is blotted out even there."""
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # the probe takes it away for itself
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("NCCL_AUTH_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
    monkeypatch.setenv("MY_NCCL_DEBUG", "INFO")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", "/etc/terraformrc")  # Terraform's
    monkeypatch.setenv("TF_VAR_region", "x")
    facts = (await probe(shell(Host(name="here", transport="local")))).facts
    assert facts is not None
    assert facts.variables is not None
    named = {"NCCL_NVLS_ENABLE": "0", "OMP_NUM_THREADS": "7", "CUDA_VISIBLE_DEVICES": ""}
    assert named.items() <= facts.variables.items()
    assert [name for name in facts.variables if name[:3] == "TF_"] == ["TF_ENABLE_ONEDNN_OPTS"]
    assert facts.variables["NCCL_AUTH_TOKEN"] == "***"
    assert not {"AWS_SECRET_ACCESS_KEY", "MY_NCCL_DEBUG", "PATH"} & {*facts.variables}
    assert "hunter2" not in str(facts)


async def test_this_machine_is_probed_with_one_exec(shell: Any, tmp_path: Path) -> None:
    transport = shell(
        Host(name="here", transport="local", work_dir=str(tmp_path / "not there's yet"))
    )
    snapshot = await probe(transport)
    assert len(transport.commands) == 1
    assert snapshot.state in (HostState.READY, HostState.BUSY), snapshot.reason
    facts = snapshot.facts
    assert facts is not None
    assert facts.kernel == platform.release()
    assert facts.hostname == socket.gethostname()
    own = Path("/etc/machine-id")
    assert bool(facts.machine) == (own.exists() and bool(own.read_text().strip()))
    assert not own.exists() or own.read_text().strip() != facts.machine
    assert facts.cpus == len(os.sched_getaffinity(0))
    assert facts.memory_mib > 100
    assert facts.disk_free_mib
    assert facts.python
    assert abs(facts.clock_offset_s) < 0.5
    assert not (tmp_path / "not there's yet").exists()


async def test_an_image_that_is_a_squashfs_is_known_by_its_head(shell: Any, tmp_path: Path) -> None:
    """It tells when it was made, and of how much; no tool of its own is asked."""
    ids = []
    for number, head in enumerate((b"hsqs" + b"1" * 92, b"hsqs" + b"2" * 92)):
        image = tmp_path / f"image{number}.sqsh"
        image.write_bytes(head + b"x" * 4096)
        sought = [Sought("image", f"{runtime} {image}", "image") for runtime in ("enroot", "pyxis")]
        facts = (await probe(shell(Host("n1", transport="local")), sought=sought)).facts
        assert facts is not None
        found = {one.version for one in facts.software if one.name == "id"}
        assert len(found) == 1
        ids += found
    assert ids[0] != ids[1]
    assert all(re.fullmatch(r"sqsh:[0-9a-f]{64}", one) for one in ids)


async def test_slots_are_gpus_or_what_the_inventory_says_or_cpus(shell: Any, tools: Any) -> None:
    path = f"{tools('nvidia-smi', 'exit 9')}:/usr/bin:/bin"
    told = await probe(shell(Host(name="a", transport="local", slots=3), {"PATH": path}))
    assert told.slots == 3
    assert told.warnings[0] == "nvidia-smi: failed with status 9"
    cpus = await probe(shell(Host(name="a", transport="local"), {"PATH": path}))
    assert cpus.facts is not None
    assert cpus.slots == cpus.facts.cpus


async def test_a_host_without_any_tool_still_answers(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    script = PROBE_SCRIPT.replace(b"PATH=$PATH:", b"PATH=$PATH;IGNORED=")
    transport = shell(Host(name="bare"), {"PATH": str(tmp_path)})
    completed = await transport.run("sh -s -- /", stdin=script)
    facts = parse_probe(completed.stdout, 0.0, 1.0)
    assert {"clock", "disk space"} <= set(facts.missing)
    assert facts.kernel == platform.release(), "what the shell reads by itself"
    assert facts.cpus == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("sections", "cpus"),
    [
        (b"@@dlperf:cpu-list\n0-3,8,10-11\n", 7),
        (b"@@dlperf:cpu-list\n3\n", 1),
        (b"@@dlperf:cpu-list\n\n@@dlperf:cpus\n48\n", 48),
        (b"@@dlperf:cpu-list\n5-3\n", 0),
        (b"@@dlperf:cpu-list\n0-\n", 0),
    ],
)
def test_cpus_are_those_that_we_may_use(sections: bytes, cpus: int) -> None:
    assert parse_probe(sections, 0.0, 1.0).cpus == cpus


@pytest.mark.skipif(
    shutil.which("strace") is None or shutil.which("nvidia-smi") is not None,
    reason="needs strace, and no GPUs",
)
def test_a_probe_starts_few_processes(tmp_path: Path) -> None:
    """They are what it takes its time for, on the host and on a machine that stands for many.

    Its notes are its own: each that a killed run left in /tmp is read, with more.
    """
    script = PROBE_SCRIPT.replace(b"/tmp/dlperf-tui.", b"%s/dlperf-tui." % bytes(tmp_path))
    assert script != PROBE_SCRIPT
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(trace)]
    command += ["sh", "-s", "--", "~/work", "", "gpu"]

    def nobody_had_the_machine() -> bool:  # who has it is asked about with more
        done = subprocess.run(
            command,
            input=script,
            check=True,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        return b"@lease free" in done.stdout

    wait_until(nobody_had_the_machine, what="the machine to itself")
    assert len([line for line in trace.read_text().splitlines() if "= 0" in line]) <= 16


FAKE_SMI = """
case "$*" in
*clocks_event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'
  exit 2 ;;
*mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
--query-gpu*) echo 'index, uuid, name, utilization.gpu [%], clocks_throttle_reasons.active'
  echo '0, GPU-aa, Tesla V100, 0 %, 0x0000000000000040' ;;
--query-compute-apps*) echo 'gpu_uuid, pid, used_gpu_memory [MiB], process_name'
  echo "GPU-aa, @PID@, 12 MiB, python" ;;
topo*) printf '\\tGPU0\\tCPU Affinity\\nGPU0\\t X \\t0-1\\n' ;;
*) echo '| NVIDIA-SMI 440.33.01    Driver Version: 440.33.01    CUDA Version: 10.2     |' ;;
esac
"""


ASKED_LAST = (
    *("clocks.applications.graphics", "clocks.applications.memory", "mig.mode.current"),
    *("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
)
FAKE_DRIVER = """
case "$1" in --query-gpu=*) ;; *) echo 'CUDA Version: 10.2'; exit ;; esac
fields=${1#--query-gpu=}
for field in $(echo "$fields" | tr , ' '); do
  case " UNKNOWN " in *" $field "*) echo "COMPLAINT"; exit 2 ;; esac
done
echo "$fields" | sed 's/,/, /g'
echo "$fields" | sed 's/[a-z_.]*reasons.active/0x0000000000000040/; s/mig.mode.current/Disabled/
  s/clocks.applications.[a-z]*/877/g; s/index/0/; s/,/, /g'
"""


@pytest.mark.parametrize("unknown", [c for n in (0, 1, 2, 5) for c in combinations(ASKED_LAST, n)])
async def test_a_driver_tells_all_that_it_knows_whichever_fields_it_does_not(
    shell: Any, tools: Any, unknown: tuple[str, ...]
) -> None:
    complaint = 'Field \\"$field\\" is not a valid field to query.'
    told = FAKE_DRIVER.replace("UNKNOWN", " ".join(unknown)).replace("COMPLAINT", complaint)
    environment = {"PATH": f"{tools('nvidia-smi', told)}:{os.environ['PATH']}"}
    facts = (await probe(shell(Host(name="old"), environment))).facts
    assert facts is not None
    [gpu] = facts.gpus
    reasons = not set(ASKED_LAST[3:]) <= set(unknown)
    assert gpu.throttle_reasons == (("hardware thermal slowdown",) if reasons else ())
    assert gpu.mig_enabled is (None if "mig.mode.current" in unknown else False)
    both = not set(ASKED_LAST[:2]) & set(unknown)
    assert gpu.application_clocks_mhz == ((877, 877) if both else None)
    assert state_of(facts)[0] is (HostState.DEGRADED if reasons else HostState.READY)


async def test_a_driver_that_does_not_say_which_field_it_does_not_know_tells_the_rest(
    shell: Any, tools: Any
) -> None:
    told = FAKE_DRIVER.replace("UNKNOWN", ASKED_LAST[2]).replace("COMPLAINT", "no such field")
    environment = {"PATH": f"{tools('nvidia-smi', told)}:{os.environ['PATH']}"}
    facts = (await probe(shell(Host(name="old"), environment))).facts
    assert facts is not None
    assert [gpu.index for gpu in facts.gpus] == [0]


async def test_an_old_driver_is_asked_again_for_what_it_knows(shell: Any, tools: Any) -> None:
    directory = tools("nvidia-smi", FAKE_SMI.replace("@PID@", str(os.getpid())))
    environment = {"PATH": f"{directory}:{os.environ['PATH']}"}
    facts = (await probe(shell(Host(name="old"), environment))).facts
    assert facts is not None
    assert facts.gpu_problem == ""
    assert facts.gpus[0].throttle_reasons == ("hardware thermal slowdown",)
    assert facts.cuda_version == "10.2"
    assert facts.topology is not None
    (process,) = facts.gpu_processes
    assert process.pid == os.getpid()
    assert "python" in process.command or "pytest" in process.command
    assert process.user not in ("", "?")


async def test_a_process_of_our_run_is_known_by_its_environment(shell: Any, tools: Any) -> None:
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, env={**os.environ, "DLPERF_RUN_ID": "r-1"}
    ) as rank:
        directory = tools("nvidia-smi", FAKE_SMI.replace("@PID@", str(rank.pid)))
        environment = {"PATH": f"{directory}:{os.environ['PATH']}"}
        snapshot = await probe(shell(Host(name="a"), environment))
        rank.communicate()
    assert snapshot.facts is not None
    assert [process.run_id for process in snapshot.facts.gpu_processes] == ["r-1"]
    assert snapshot.state is not HostState.BUSY


async def test_a_hung_nvidia_smi_costs_the_gpus_but_not_the_host(shell: Any, tools: Any) -> None:
    directory = tools("nvidia-smi", "trap '' TERM; sleep 30")
    tools_path = {"PATH": f"{directory}:{os.environ['PATH']}"}
    begin = time.monotonic()
    snapshot = await probe(shell(Host(name="hung"), tools_path), timeout_s=1.0)
    assert time.monotonic() - begin < 10
    assert snapshot.state is HostState.DEGRADED
    assert snapshot.warnings[0] == "nvidia-smi did not answer within 1 s"


@pytest.mark.parametrize(
    ("problem", "detail", "reason"),
    [
        (Problem.REFUSED, "10.0.0.1 port 22", "connection refused: 10.0.0.1 port 22"),
        (Problem.TIMEOUT, "", "connection timed out"),
        (Problem.UNKNOWN_HOST_KEY, "SHA256:abc", "unknown host key: SHA256:abc"),
        (Problem.CHANGED_HOST_KEY, "", "host key has CHANGED"),
        (Problem.NO_KEY_ACCEPTED, "for bench", "no key accepted: for bench"),
    ],
)
async def test_an_unreachable_host_says_why_and_what_to_do(
    answering: Any, problem: Problem, detail: str, reason: str
) -> None:
    error = HostUnreachableError("n1", problem, detail, remedy="look at it")
    snapshot = await probe(answering(Host(name="n1", address="10.0.0.1", port=2222), error))
    assert snapshot.state is HostState.UNREACHABLE
    assert (snapshot.reason, snapshot.remedy) == (reason, "look at it")
    assert snapshot.address == "10.0.0.1:2222"
    assert snapshot.facts is None
    assert snapshot.slots == 0


async def test_a_login_that_runs_nothing_is_unreachable_in_its_own_words(answering: Any) -> None:
    nologin = Completed(1, b"This account is currently not available.\x1b[31m\n", b"")
    snapshot = await probe(answering(Host(name="n1"), nologin))
    assert snapshot.state is HostState.UNREACHABLE
    assert snapshot.reason.endswith("This account is currently not available.")


async def test_a_host_that_never_answers_is_given_up(answering: Any) -> None:
    snapshot = await probe(answering(Host(name="n1"), TimeoutError()), timeout_s=3.0)
    assert snapshot.state is HostState.UNREACHABLE
    assert "no answer within 3 s" in snapshot.reason


async def test_a_slow_host_does_not_hold_up_the_others(answering: Any, shell: Any) -> None:
    release = asyncio.Event()

    class Slow(answering):  # type: ignore[misc]
        async def connect(self) -> None:
            await release.wait()

    quick = Completed(0, ANSWER, b"")

    class Pool:
        def get(self, host: Host) -> Any:
            return (Slow if host.name == "slow" else answering)(host, quick)

    hosts = [Host(name=name) for name in ("slow", "n1", "n2")]
    seen = []
    async for snapshot in probe_all(Pool(), hosts):
        seen.append(snapshot.name)
        if len(seen) == 2:
            release.set()
    assert sorted(seen[:2]) == ["n1", "n2"]
    assert seen[2] == "slow"


async def test_hundreds_are_asked_some_at_a_time_and_who_takes_long_makes_room(
    answering: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.hosts.probe.AT_ONCE", 4)
    monkeypatch.setattr("backends.hosts.probe.TURN_S", 0.2)
    asked: set[str] = set()
    most = 0

    class Counting(answering):  # type: ignore[misc]
        async def run(self, command: str, **given: Any) -> Completed:
            nonlocal most
            asked.add(self.host.name)
            most = max(most, len(asked))
            await (asyncio.Event().wait() if self.host.name[:4] == "hung" else asyncio.sleep(0.01))
            asked.remove(self.host.name)
            return Completed(0, ANSWER, b"")

    class Pool:
        def get(self, host: Host) -> Any:
            return Counting(host, Completed(0, ANSWER, b""))

    quick = [Host(name=f"n{number}") for number in range(20)]
    found = [snapshot.name async for snapshot in probe_all(Pool(), quick)]
    assert (len(found), most) == (20, 4)
    hung = [Host(name=f"hung{number}") for number in range(4)]
    probes = probe_all(Pool(), [*hung, *quick])
    assert {(await anext(probes)).name for _ in quick} == {host.name for host in quick}
    await probes.aclose()  # type: ignore[attr-defined]


async def test_leaving_early_cancels_the_probes_that_still_run(answering: Any) -> None:
    cancelled = asyncio.Event()

    class Never(answering):  # type: ignore[misc]
        async def connect(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    class Pool:
        def get(self, host: Host) -> Any:
            return (Never if host.name == "never" else answering)(host, Completed(0, ANSWER, b""))

    probes = probe_all(Pool(), [Host(name="never"), Host(name="n1")])
    assert (await anext(probes)).name == "n1"
    await probes.aclose()  # type: ignore[attr-defined]
    assert cancelled.is_set()
