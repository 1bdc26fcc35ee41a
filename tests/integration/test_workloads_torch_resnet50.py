"""The torch-resnet50 workload under torchrun: one device, two, and two nodes on loopback."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).parents[2] / "profiles" / "workloads" / "torch_resnet50.py"
READING = re.compile(
    r"^train: epoch 0, iter (?P<step>\d+), loss: (?P<loss>[\d.]+), "
    r"samples/s: (?P<value>[\d.]+), mem: (?P<memory>\d+)$",
    re.MULTILINE,
)
SMALL = ("--device", "cpu", "--batch-size", "4", "--image-size", "32")


@cache
def python_with_torch() -> str | None:
    for python in (os.environ.get("DLPERF_TORCH_PYTHON"), sys.executable):
        if (
            python
            and not subprocess.run(
                [python, "-c", "import torch"], capture_output=True, check=False
            ).returncode
        ):
            return python
    return None


@pytest.fixture
def python() -> str:
    found = python_with_torch()
    if found is None:
        pytest.skip("no PyTorch: set DLPERF_TORCH_PYTHON to a Python that has it")
    return found


def torchrun(python: str, nodes: int, devices: int, *arguments: str) -> list[subprocess.Popen[str]]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    return [
        subprocess.Popen(
            [
                *(python, "-m", "torch.distributed.run"),
                *(f"--nnodes={nodes}", f"--node-rank={rank}", f"--nproc-per-node={devices}"),
                *("--master-addr=127.0.0.1", f"--master-port={port}", "--local-addr=127.0.0.1"),
                *(str(SCRIPT), *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(nodes)
    ]


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    found = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
        assert process.returncode == 0, err
        found.append(out)
    return found


@pytest.mark.parametrize(("nodes", "devices"), [(1, 1), (1, 2), (2, 1)])
def test_every_device_takes_part(python: str, nodes: int, devices: int) -> None:
    arguments = (*SMALL, "--iterations", "6", "--print-every", "2")
    out, *others = outputs(torchrun(python, nodes, devices, *arguments))
    assert f"world size {nodes * devices}," in out
    assert "backend gloo" in out
    readings = list(READING.finditer(out))
    assert [match["step"] for match in readings] == ["2", "4", "6"]
    assert all(float(match["value"]) > 0 for match in readings)
    assert all(int(match["memory"]) > 100 for match in readings)
    assert others == [""] * (nodes - 1)  # rank 0 alone prints


def test_the_loss_falls(python: str) -> None:
    arguments = (*SMALL, "--batch-size", "8", "--iterations", "12", "--print-every", "1")
    out = outputs(torchrun(python, 1, 1, *arguments))[0]
    losses = [float(match["loss"]) for match in READING.finditer(out)]
    assert losses[0] > 6
    assert losses[-1] < 0.7 * losses[0]


def test_amp_computes_in_bfloat16(python: str) -> None:
    arguments = (*SMALL, "--iterations", "2", "--print-every", "1", "--precision", "amp")
    out = outputs(torchrun(python, 1, 1, *arguments))[0]
    assert "amp, image size 32" in out
    assert len(READING.findall(out)) == 2
