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
