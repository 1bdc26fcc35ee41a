"""The torch-gpt workload under torchrun: one device, two, two nodes on loopback; DDP and FSDP2."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.support.torch_python import under_torchrun

pytestmark = pytest.mark.torch

READING = re.compile(
    r"^train: step (?P<step>\d+), loss: (?P<loss>[\d.]+), tokens/s: (?P<value>[\d.]+), "
    r"step time ms: (?P<ms>[\d.]+), mem: (?P<memory>\d+)$",
    re.MULTILINE,
)
SMALL = ("--device", "cpu", "--size", "10m", "--sequence-length", "16", "--batch-size", "2")


def trained(nodes: int, devices: int, *words: str) -> list[re.Match[str]]:
    """The readings of four steps; the later words win."""
    usual = ("--precision", "fp32", "--compile", "off", "--iterations", "4", "--print-every", "1")
    out, *others = under_torchrun("torch_gpt", nodes, devices, *SMALL, *usual, *words)
    assert f"world size {nodes * devices}," in out
    told = [line for other in others for line in other.splitlines()]
    assert all(line.startswith("own: rank ") for line in told)  # rank 0 alone prints the rest
    readings = list(READING.finditer(out))
    assert [match["step"] for match in readings] == ["1", "2", "3", "4"]
    return readings


def losses(*words: str) -> list[float]:
    return [float(match["loss"]) for match in trained(1, 2, *words)]


@pytest.mark.parametrize(("nodes", "devices"), [(1, 1), (1, 2), (2, 1)])
def test_every_device_takes_part(nodes: int, devices: int) -> None:
    for match in trained(nodes, devices):
        seconds = float(match["ms"]) / 1e3
        assert float(match["value"]) * seconds == pytest.approx(2 * 16 * nodes * devices, rel=1e-3)
        assert int(match["memory"]) > 100


def test_fsdp2_and_passes_train_as_ddp_does_at_once() -> None:
    at_once = losses()
    assert losses("--parallel", "fsdp2") == pytest.approx(at_once, abs=1e-4)
    passes = ("--max-micro-batch", "1")
    assert losses(*passes) == pytest.approx(at_once, abs=1e-4)
    assert losses("--parallel", "fsdp2", *passes) == pytest.approx(at_once, abs=1e-4)


@pytest.mark.parametrize("parallel", ["ddp", "fsdp2"])
def test_bf16_with_checkpointing_is_near_fp32(parallel: str) -> None:
    words = ("--parallel", parallel, "--precision", "bf16", "--checkpointing", "on")
    assert losses(*words) == pytest.approx(losses(), rel=0.01)


@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_it_trains_the_same() -> None:
    compiled = losses("--parallel", "fsdp2", "--compile", "blocks")
    assert compiled == pytest.approx(losses(), abs=1e-3)
