"""The network and the precisions of the torch-resnet50 workload, in a process that has PyTorch."""

from __future__ import annotations

import shutil
from functools import partial

import pytest

from tests.support import torch_python

pytestmark = pytest.mark.torch

evaluate = partial(torch_python.evaluate, "torch_resnet50")


def test_the_network_has_the_parameters_of_resnet50() -> None:
    code = "answer = sum(p.numel() for p in workload.resnet50().parameters())"
    assert evaluate(code) == 25_557_032


def test_v1_5_halves_the_resolution_in_the_3x3_convolution() -> None:
    code = """
answer = [
    (module.kernel_size[0], module.stride[0])
    for block in workload.resnet50() if isinstance(block, workload.Bottleneck)
    for module in block.branch if isinstance(module, torch.nn.Conv2d) and module.stride != (1, 1)
]"""
    assert evaluate(code) == [[3, 2]] * 3


def test_images_become_a_thousand_classes_at_any_size() -> None:
    code = """
model = workload.resnet50().eval()
with torch.no_grad():
    answer = [list(model(torch.randn(2, 3, size, size)).shape) for size in (32, 64)]"""
    assert evaluate(code) == [[2, 1000]] * 2


def test_fp32_does_not_let_tf32_in() -> None:
    code = """
workload.set_precision(workload.parse_arguments([]), torch.device("cpu"))
answer = [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32]"""
    assert evaluate(code) == [False, False]


@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_it_trains_the_same() -> None:
    code = """
from torch import nn
def small():
    return nn.Sequential(
        workload.convolution(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, workload.CLASSES),
    )
workload.resnet50 = small
def losses(*words):
    given = ["--batch-size", "4", "--image-size", "32", "--learning-rate", "0.5", *words]
    options = workload.parse_arguments(given)
    place = workload.find_place("test", "cpu")
    autocast = workload.set_precision(options, place.device)
    step = workload.make_step(options, workload.build(options, place), place, autocast)
    return [step().item() for _ in range(3)]
answer = [losses(), losses("--compile", "on")]"""
    eager, compiled = evaluate(code)  # type: ignore[misc]
    assert len(set(eager)) == 3
    assert compiled == pytest.approx(eager, rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--precision", "tf32", "--device", "cpu"], "tf32 needs an NVIDIA GPU"),
        (["--graphs", "on", "--device", "cpu"], "graphs need an NVIDIA GPU"),
        (["--image-size", "16"], "--image-size must be at least 32"),
        (["--iterations", "5", "--print-every", "6"], "nothing would be measured"),
        (["--batch-size", "0"], "0 is below 1"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(arguments: list[str], said: str) -> None:
    assert said in torch_python.refusal("torch_resnet50", *arguments)
