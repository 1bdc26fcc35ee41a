"""The cpu-smoke workload as hosts run it: real processes, real sockets, real ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "profiles" / "workloads" / "cpu_smoke.py"
READING = re.compile(
    r"^train: epoch (?P<epoch>\d+), iter (?P<step>\d+), loss: (?P<loss>[\d.]+), "
    r"samples/s: (?P<value>[\d.]+)$",
    re.MULTILINE,
)
PATIENCE_S = 60

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def start(port: int) -> Iterator[Start]:
    """Start a node in its own process group; whatever is left at the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def start_node(*arguments: str, python: str = sys.executable) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [python, str(SCRIPT), "--master-port", str(port), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start_node
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    return out


def losses(out: str) -> list[float]:
    return [float(match["loss"]) for match in READING.finditer(out)]


def group_members(group: int) -> list[int]:
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            members.append(int(stat.parent.name))
    return members


def children(process: subprocess.Popen[str], count: int) -> list[int]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = sorted(set(group_members(process.pid)) - {process.pid})
        if len(found) == count:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{count} device processes did not appear")


def read_until_reading(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if READING.match(line):
            return
    raise AssertionError("the log ended before the first reading")


def ended(processes: Sequence[subprocess.Popen[str]], within_s: float) -> list[tuple[int, str]]:
    """Return (status, stderr) of each; fail when any process of their groups is left by then."""
    deadline = time.monotonic() + within_s
    results = []
    for process in processes:
        _, err = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        results.append((process.returncode, err))
    for process in processes:
        while group_members(process.pid):
            assert time.monotonic() < deadline, "device processes are left"
            time.sleep(0.01)
    return results


FIXED = ("--iterations", "40", "--print-every", "4")


def test_the_loss_falls(start: Start) -> None:
    curve = losses(finish(start(*FIXED)))
    assert curve[0] > 1.5
    assert curve[-1] < 0.8 * curve[0]


def test_two_devices_learn_what_one_learns_from_the_same_global_batch(start: Start) -> None:
    one = losses(finish(start(*FIXED, "--batch-size", "32")))
    two = losses(finish(start(*FIXED, "--batch-size", "16", "--devices", "2")))
    four = losses(finish(start(*FIXED, "--batch-size", "8", "--devices", "4")))
    assert len(one) == 10
    assert two == pytest.approx(one, abs=2e-6)
    assert four == pytest.approx(one, abs=2e-6)


def test_two_nodes_learn_what_one_learns_from_the_same_global_batch(start: Start) -> None:
    one = losses(finish(start(*FIXED, "--batch-size", "32")))
    across = (*FIXED, "--batch-size", "8", "--devices", "2", "--nodes", "2")
    late = start(*across, "--node-rank", "1")
    first = start(*across)
    assert losses(finish(first)) == pytest.approx(one, abs=2e-6)
    assert losses(finish(late)) == []  # only node 0 prints those


def test_every_process_tells_what_an_iteration_takes_it_but_for_the_others(start: Start) -> None:
    across = ("--nodes", "2", "--devices", "2", "--iterations", "60", "--print-every", "20")
    late = start(*across, "--node-rank", "1")
    first = finish(start(*across))
    pattern = re.compile(r"^own: rank (\d), iter (\d+), ms: ([\d.]+)$", re.MULTILINE)
    for out, ranks in ((first, {"0", "1"}), (finish(late), {"2", "3"})):
        told = pattern.findall(out)
        assert sorted((rank, int(step)) for rank, step, _ in told) == sorted(
            (rank, step) for rank in ranks for step in (20, 40, 60)
        )
        assert all(float(ms) > 0 for _, _, ms in told)
    lasted = [20 * 4 * 32 / float(match["value"]) for match in READING.finditer(first)]
    own = [float(ms) / 1e3 * 20 for rank, _, ms in pattern.findall(first) if rank == "0"]
    assert all(mine <= step * 1.05 + 0.01 for mine, step in zip(own, lasted, strict=True))


def test_three_nodes_start_in_any_order(start: Start) -> None:
    across = ("--nodes", "3", "--iterations", "6", "--print-every", "2", "--batch-size", "8")
    nodes = [start(*across, "--node-rank", rank) for rank in ("2", "0", "1")]
    assert [len(losses(finish(node))) for node in nodes] == [0, 3, 0]


def test_a_run_takes_the_time_it_was_given_and_prints_enough_readings(start: Start) -> None:
    began = time.monotonic()
    out = finish(start("--seconds", "2"))
    assert 2 <= time.monotonic() - began < 4
    assert len(losses(out)) >= 25
    assert out.startswith("environment: python ")
    assert re.search(r"^done: \d+ iterations, \d+ samples, 2\.\d+ s, ", out, re.MULTILINE)


def test_samples_per_second_are_the_samples_over_the_wall_time(start: Start) -> None:
    out = finish(start("--iterations", "400", "--print-every", "20", "--devices", "2"))
    done = re.search(r"^done: (\d+) iterations, (\d+) samples, ([\d.]+) s", out, re.MULTILINE)
    assert done is not None
    iterations, samples, wall = int(done[1]), int(done[2]), float(done[3])
    assert samples == iterations * 2 * 32 == 400 * 2 * 32
    lasted = [20 * 2 * 32 / float(match["value"]) for match in READING.finditer(out)]
    assert len(lasted) == 20
    assert sum(lasted) == pytest.approx(wall, rel=0.02, abs=0.02)  # nothing twice, nothing left out


@pytest.mark.optional
@pytest.mark.parametrize("version", ["3.6", "3.11", "3.13"])
def test_it_runs_on_old_and_new_python(start: Start, version: str) -> None:
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(roots.glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} under {roots}")
    out = finish(start(*FIXED, "--devices", "2", python=str(found[-1])))
    assert len(losses(out)) == 10


LONG = ("--seconds", "60")


def test_sigterm_ends_every_process_within_a_second(start: Start) -> None:
    node = start(*LONG, "--devices", "3")
    read_until_reading(node)
    node.terminate()
    assert ended([node], 1.0) == [(143, "cpu_smoke: node 0: ended by SIGTERM\n")]


def test_sigterm_to_the_whole_group_says_one_line(start: Start) -> None:
    node = start(*LONG, "--devices", "3")
    read_until_reading(node)
    os.killpg(node.pid, signal.SIGTERM)
    assert ended([node], 1.0) == [(143, "cpu_smoke: node 0: ended by SIGTERM\n")]


def test_a_killed_device_ends_its_node_and_the_others(start: Start) -> None:
    across = (*LONG, "--nodes", "2", "--devices", "2")
    first, second = start(*across), start(*across, "--node-rank", "1")
    read_until_reading(first)
    os.kill(children(second, 1)[0], signal.SIGKILL)
    reason = "device 1 of node 1 was ended by SIGKILL"
    assert ended([first, second], 2.0) == [
        (1, f"cpu_smoke: node 0: {reason}\n"),
        (1, f"cpu_smoke: node 1: {reason}\n"),
    ]


def test_a_killed_node_ends_the_others_and_leaves_no_devices_behind(start: Start) -> None:
    across = (*LONG, "--nodes", "2", "--devices", "2")
    first, second = start(*across), start(*across, "--node-rank", "1")
    read_until_reading(first)
    second.kill()
    (status, said), (_, orphan_said) = ended([first, second], 2.0)
    assert status == 1
    assert re.fullmatch(r"cpu_smoke: node 0: lost node 1 \(.*\)\n", said)
    assert re.fullmatch(
        r"cpu_smoke: node 1 device 1: lost device 0 of node 1 \(.*\)\n", orphan_said
    )


def test_a_killed_node_0_ends_the_others(start: Start) -> None:
    across = (*LONG, "--nodes", "2")
    first, second = start(*across), start(*across, "--node-rank", "1")
    read_until_reading(first)
    first.kill()
    status, said = ended([first, second], 2.0)[1]
    assert status == 1
    assert re.fullmatch(r"cpu_smoke: node 1: lost node 0 \(.*\)\n", said)


def test_a_stopped_node_is_given_up_after_the_timeout(start: Start) -> None:
    across = (*LONG, "--nodes", "2", "--timeout", "0.5")
    first, second = start(*across), start(*across, "--node-rank", "1")
    read_until_reading(first)
    os.kill(second.pid, signal.SIGSTOP)
    assert ended([first], 3.0) == [(1, "cpu_smoke: node 0: lost node 1 (silent for 0.5 s)\n")]


def test_a_node_that_never_comes_is_named(start: Start) -> None:
    node = start("--nodes", "3", "--connect-timeout", "0.3", "--devices", "2")
    expected = "cpu_smoke: node 0: node 1, 2 did not connect in time\n"
    assert ended([node], 5.0) == [(1, expected)]


def test_a_node_0_that_never_comes_is_named(start: Start, port: int) -> None:
    node = start("--nodes", "2", "--node-rank", "1", "--connect-timeout", "0.3", "--devices", "2")
    (status, said) = ended([node], 5.0)[0]
    assert status == 1
    assert f"cannot join node 0 at 127.0.0.1 port {port}: Connection refused" in said


def test_a_device_that_dies_while_waiting_for_nodes_ends_the_wait(start: Start) -> None:
    node = start("--nodes", "2", "--devices", "2")
    os.kill(children(node, 1)[0], signal.SIGKILL)
    expected = "cpu_smoke: node 0: device 1 of node 0 was ended by SIGKILL\n"
    assert ended([node], 2.0) == [(1, expected)]


def test_a_port_in_use_is_said(start: Start, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        node = start("--nodes", "2")
        expected = (
            f"cpu_smoke: node 0: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
        )
        assert ended([node], 5.0) == [(1, expected)]


def test_a_node_of_another_run_is_told_so(start: Start) -> None:
    first = start("--nodes", "2", "--token", "a", "--connect-timeout", "60")
    second = start("--nodes", "2", "--token", "b", "--node-rank", "1", "--connect-timeout", "4")
    assert "it refused us: it belongs to another run" in ended([second], PATIENCE_S)[0][1]
    assert first.poll() is None


def test_nodes_that_disagree_say_about_what(start: Start) -> None:
    start("--nodes", "2", "--batch-size", "32", "--connect-timeout", "60")
    second = start(
        "--nodes", "2", "--batch-size", "64", "--node-rank", "1", "--connect-timeout", "4"
    )
    said = ended([second], PATIENCE_S)[0][1]
    assert "batch size 64; node 0 has 2 nodes, 1 devices, batch size 32" in said


def test_garbage_on_the_port_does_not_disturb_the_run(start: Start, port: int) -> None:
    across = ("--nodes", "2", "--seconds", "0.5")
    first = start(*across)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            stranger = socket.create_connection(("127.0.0.1", port))
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    stranger.sendall(b"\x16\x03\x01" + os.urandom(500))
    second = start(*across, "--node-rank", "1")
    assert losses(finish(first))
    finish(second)
    stranger.close()


def test_a_reader_that_goes_away_ends_the_run(start: Start) -> None:
    node = start(*LONG, "--devices", "2")
    read_until_reading(node)
    assert node.stdout is not None
    node.stdout.close()
    node.stdout = None
    (status, said) = ended([node], 3.0)[0]
    assert status == 1
    assert "Broken pipe" in said
