"""The torch-resnet50 workload under torchrun: one device, two, and two nodes on loopback."""

from __future__ import annotations

import re

import pytest

from tests.support.torch_python import under_torchrun

pytestmark = pytest.mark.torch

READING = re.compile(
    r"^train: epoch 0, iter (?P<step>\d+), loss: (?P<loss>[\d.]+), "
    r"samples/s: (?P<value>[\d.]+), mem: (?P<memory>\d+)$",
    re.MULTILINE,
)
SMALL = ("--device", "cpu", "--batch-size", "4", "--image-size", "32")


@pytest.mark.parametrize(("nodes", "devices"), [(1, 1), (1, 2), (2, 1)])
def test_every_device_takes_part(nodes: int, devices: int) -> None:
    arguments = (*SMALL, "--iterations", "6", "--print-every", "2")
    out, *others = under_torchrun("torch_resnet50", nodes, devices, *arguments)
    assert f"world size {nodes * devices}," in out
    assert "backend gloo" in out
    readings = list(READING.finditer(out))
    assert [match["step"] for match in readings] == ["2", "4", "6"]
    assert all(float(match["value"]) > 0 for match in readings)
    assert all(int(match["memory"]) > 100 for match in readings)
    told = [line for other in others for line in other.splitlines()]
    assert all(line.startswith("own: rank ") for line in told)  # rank 0 alone prints the rest


def test_the_loss_falls() -> None:
    arguments = (*SMALL, "--batch-size", "8", "--iterations", "12", "--print-every", "1")
    out = under_torchrun("torch_resnet50", 1, 1, *arguments)[0]
    losses = [float(match["loss"]) for match in READING.finditer(out)]
    assert losses[0] > 6
    assert losses[-1] < 0.7 * losses[0]


def test_amp_computes_in_bfloat16() -> None:
    arguments = (*SMALL, "--iterations", "2", "--print-every", "1", "--precision", "amp")
    out = under_torchrun("torch_resnet50", 1, 1, *arguments)[0]
    assert "amp, image size 32" in out
    assert len(READING.findall(out)) == 2
