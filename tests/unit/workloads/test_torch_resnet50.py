"""The network and the precisions of the torch-resnet50 workload, in a process that has PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

WORKLOADS = Path(__file__).parents[3] / "profiles" / "workloads"


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


def evaluate(python: str, code: str) -> object:
    """Run ``code`` beside the workload; it leaves its answer in ``answer``."""
    script = f"import json, torch, torch_resnet50 as workload\n{code}\nprint(json.dumps(answer))"
    done = subprocess.run(
        [python, "-c", script], cwd=WORKLOADS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_network_has_the_parameters_of_resnet50(python: str) -> None:
    code = "answer = sum(p.numel() for p in workload.resnet50().parameters())"
    assert evaluate(python, code) == 25_557_032


def test_v1_5_halves_the_resolution_in_the_3x3_convolution(python: str) -> None:
    code = """
answer = [
    (module.kernel_size[0], module.stride[0])
    for block in workload.resnet50() if isinstance(block, workload.Bottleneck)
    for module in block.branch if isinstance(module, torch.nn.Conv2d) and module.stride != (1, 1)
]"""
    assert evaluate(python, code) == [[3, 2]] * 3


def test_images_become_a_thousand_classes_at_any_size(python: str) -> None:
    code = """
model = workload.resnet50().eval()
with torch.no_grad():
    answer = [list(model(torch.randn(2, 3, size, size)).shape) for size in (32, 64)]"""
    assert evaluate(python, code) == [[2, 1000]] * 2


def test_fp32_does_not_let_tf32_in(python: str) -> None:
    code = """
workload.set_precision("fp32", torch.device("cpu"))
answer = [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32]"""
    assert evaluate(python, code) == [False, False]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--precision", "tf32", "--device", "cpu"], "tf32 needs an NVIDIA GPU"),
        (["--image-size", "16"], "--image-size must be at least 32"),
        (["--iterations", "5", "--print-every", "6"], "nothing would be measured"),
        (["--batch-size", "0"], "0 is below 1"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(
    python: str, arguments: list[str], said: str
) -> None:
    done = subprocess.run(
        [python, "torch_resnet50.py", *arguments],
        cwd=WORKLOADS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_time_is_counted_once_and_overlaps_are_hidden(python: str) -> None:
    """Of 100 s on a GPU: kernels 10–40 and 60–70, NCCL 30–65, the wait for input 65–90."""
    code = """
from types import SimpleNamespace as Event
Device = workload.DeviceType
def event(name, start, end, kind=Device.CUDA):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=kind)
events = [
    event(workload.STEPS, 0, 100, Device.CPU), event(workload.STEPS, 0, 100),
    event("aten::conv2d", 0, 99, Device.CPU), event("before", -9, -5),
    event("kernel", 10, 35), event("Memcpy DtoD", 20, 40), event("kernel", 60, 70),
    event("ncclDevKernel_AllReduce", 30, 65), event(workload.WAITING, 65, 90, Device.CPU),
]
answer = workload.where_time_went(events, torch.device("cuda"))"""
    assert evaluate(python, code) == [100, 40, 20, 20]


def test_on_a_cpu_operators_hide_what_gloo_does_meanwhile(python: str) -> None:
    """Of 100 s: operators 0–50 (20–30 of them making the batch), gloo 40–80."""
    code = """
from types import SimpleNamespace as Event
def event(name, start, end):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=workload.DeviceType.CPU)
events = [
    event(workload.STEPS, 0, 100), event("aten::conv2d", 0, 50), event("aten::add_", 5, 9),
    event(workload.WAITING, 20, 30), event("gloo:all_reduce", 40, 80),
    event("DistributedDataParallel.forward", 0, 90),
]
answer = workload.where_time_went(events, torch.device("cpu"))"""
    assert evaluate(python, code) == [100, 40, 30, 10]


def test_spans_without_others_are_what_a_second_by_second_count_gives(python: str) -> None:
    code = """
import random
chance = random.Random(1)
def spans():
    pairs = [sorted(chance.sample(range(40), 2)) for _ in range(chance.randint(0, 6))]
    Span = lambda a, b: type("E", (), {"time_range": type("R", (), {"start": a, "end": b})})
    return workload.merged(Span(a, b) for a, b in pairs)
def seconds(some):
    return {at for start, end in some for at in range(start, end)}
answer = 0
for _ in range(2000):
    one, other = spans(), spans()
    answer += seconds(workload.without(one, other)) != seconds(one) - seconds(other)"""
    assert evaluate(python, code) == 0
