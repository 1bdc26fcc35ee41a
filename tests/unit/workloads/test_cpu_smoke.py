"""The mathematics and the handshake of the cpu-smoke workload."""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "profiles" / "workloads" / "cpu_smoke.py"


@pytest.fixture(scope="module")
def workload() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cpu_smoke", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gradient_is_the_derivative_of_the_loss(workload: ModuleType) -> None:
    batch = workload.synthetic_dataset()[:3]
    parameters = workload.initial_parameters()
    _, gradient = workload.loss_and_gradient(parameters, batch)
    step = 1e-5
    for index in random.Random(1).sample(range(len(parameters)), 40):
        above, below = list(parameters), list(parameters)
        above[index] += step
        below[index] -= step
        slope = (
            workload.loss_and_gradient(above, batch)[0]
            - workload.loss_and_gradient(below, batch)[0]
        ) / (2 * step)
        assert gradient[index] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_gradients_of_two_halves_add_up_to_the_gradient_of_the_whole(workload: ModuleType) -> None:
    batch = workload.synthetic_dataset()[:16]
    parameters = workload.initial_parameters()
    whole = workload.loss_and_gradient(parameters, batch)[1]
    left = workload.loss_and_gradient(parameters, batch[:8])[1]
    right = workload.loss_and_gradient(parameters, batch[8:])[1]
    assert [a + b for a, b in zip(left, right, strict=True)] == pytest.approx(whole, rel=1e-9)


def test_an_untrained_network_guesses_among_eight_classes(workload: ModuleType) -> None:
    dataset = workload.synthetic_dataset()
    loss, _ = workload.loss_and_gradient(workload.initial_parameters(), dataset[:256])
    assert loss / 256 == pytest.approx(math.log(workload.CLASSES), rel=0.15)


def test_the_data_are_the_same_on_every_host(workload: ModuleType) -> None:
    code = "import cpu_smoke; print(repr(cpu_smoke.synthetic_dataset()[:2]))"
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=SCRIPT.parent, check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == repr(workload.synthetic_dataset()[:2])


def test_numbers_survive_the_wire(workload: ModuleType) -> None:
    numbers = [0.0, -1.5, 1e-300, math.pi]
    assert workload.decode(workload.encode(numbers)) == numbers


@pytest.mark.parametrize(
    ("master", "interface", "expected"),
    [
        ("10.11.0.2", "", (socket.AF_INET, "10.11.0.2")),
        ("10.11.0.2", "192.168.9.2", (socket.AF_INET, "192.168.9.2")),
        ("::1", "", (socket.AF_INET6, "::1")),
        # A name often resolves to 127.0.1.1 on its own host, where nobody else could knock.
        ("node1", "", (socket.AF_INET, "")),
    ],
)
def test_node_0_listens_where_the_others_will_knock(
    workload: ModuleType, master: str, interface: str, expected: tuple[int, str]
) -> None:
    assert workload.listening_address(master, interface) == expected


def options(workload: ModuleType, *arguments: str) -> argparse.Namespace:
    return workload.parse_arguments(["--nodes", "2", "--token", "run-1", *arguments])  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"magic": b"GET / HT"}, "another run"),
        ({"token": "run-2"}, "another run"),
        ({"batch": 64}, "batch size 64; node 0 has 2 nodes, 1 devices, batch size 32"),
        ({"nodes": 3}, "3 nodes"),
        ({"rank": 0}, "node rank 0 is taken or out of range"),
        ({"rank": 2}, "node rank 2 is taken or out of range"),
        ({}, ""),
    ],
)
def test_only_a_node_of_the_same_run_may_join(
    workload: ModuleType, change: dict[str, object], reason: str
) -> None:
    said = {"magic": workload.MAGIC, "token": "run-1", "rank": 1, "nodes": 2, "batch": 32, **change}
    hello = (
        said["magic"],
        workload.token_digest(said["token"]),
        said["rank"],
        said["nodes"],
        1,
        said["batch"],
    )
    answer = workload.refusal(hello, options(workload), joined={})
    assert (reason in answer) if reason else answer == ""


def test_a_rank_joins_once(workload: ModuleType) -> None:
    hello = (workload.MAGIC, workload.token_digest("run-1"), 1, 2, 1, 32)
    assert "taken" in workload.refusal(hello, options(workload), joined={1: object()})


def test_silent_and_noisy_strangers_do_not_keep_a_node_from_joining(workload: ModuleType) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    master = options(workload)
    node = options(
        workload, "--node-rank", "1", "--master-port", str(port), "--connect-timeout", "20"
    )
    joined: list[object] = []
    deadline = time.monotonic() + 20

    silent = socket.create_connection(("127.0.0.1", port))
    noisy = socket.create_connection(("127.0.0.1", port))
    noisy.sendall(b"GET / HTTP/1.0\r\n\r\n" * 50)
    joiner = threading.Thread(
        target=lambda: joined.append(workload.join_master(node, [], deadline))
    )
    joiner.start()
    channels = workload.accept_nodes(listener, master, [], deadline)
    joiner.join(20)

    assert [channel.peer for channel in channels] == ["node 1"]
    channels[0].send([1.0, 2.0])
    assert joined[0].receive() == [1.0, 2.0]  # type: ignore[attr-defined]
    for sock in (listener, silent, noisy, channels[0].sock, joined[0].sock):  # type: ignore[attr-defined]
        sock.close()


def test_a_message_of_absurd_length_is_refused_before_it_is_read(workload: ModuleType) -> None:
    ours, theirs = socket.socketpair()
    channel = workload.Channel(ours, "node 1", 5.0)
    theirs.sendall(workload.HEADER.pack(workload.DATA, 2**32 - 1))
    with pytest.raises(workload.Failure, match="node 1 sent something that is not ours"):
        channel.receive()
    ours.close()
    theirs.close()


def test_a_silent_peer_is_given_up(workload: ModuleType) -> None:
    ours, theirs = socket.socketpair()
    with pytest.raises(workload.Failure, match=r"lost node 1 \(silent for 0.05 s\)"):
        workload.Channel(ours, "node 1", 0.05).receive()
    ours.close()
    theirs.close()


def test_readings_are_samples_of_all_devices_over_the_wall_time(workload: ModuleType) -> None:
    times = iter(float(second) for second in range(100))
    lines: list[str] = []
    arguments = ["--iterations", "4", "--print-every", "2", "--batch-size", "16"]
    workload.train(
        workload.parse_arguments(arguments),
        0,
        workload.Place(None, []),
        clock=lambda: next(times),
        write=lambda line, flush: lines.append(line),
    )
    # The clock is read once per iteration: 2 iterations of 16 samples in 2 s.
    assert [line.rpartition(", ")[2] for line in lines[:2]] == ["samples/s: 16.000"] * 2
    assert lines[0].startswith("train: epoch 0, iter 2, loss: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--devices", "0"],
        ["--seconds", "nan"],
        ["--nodes", "2", "--node-rank", "2"],
        ["--master-port", "65536"],
    ],
)
def test_impossible_arguments_are_refused(
    workload: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        workload.parse_arguments(arguments)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err
