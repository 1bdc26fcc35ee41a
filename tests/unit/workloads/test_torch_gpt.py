"""The network, the loss and the step of the torch-gpt workload, in a process that has PyTorch."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support import torch_python

pytestmark = pytest.mark.torch

evaluate = partial(torch_python.evaluate, "torch_gpt")

SMALL = """
small = workload.Size(layers=2, width=32, heads=2, vocabulary=61)
workload.SIZES["10m"] = small
place = workload.find_place("test", "cpu")
def options(*words):
    given = ["--size", "10m", "--sequence-length", "8", "--batch-size", "6", "--compile", "off"]
    return workload.parse_arguments([*given, "--precision", "fp32", *words])
def after_steps(count, *words):
    chosen = options(*words)
    model = workload.build(chosen, place)
    autocast = workload.set_precision(chosen, place.device)
    step = workload.make_step(chosen, model, place, autocast)
    losses = [step().item() for _ in range(count)]
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()])
"""


@pytest.mark.parametrize(
    ("size", "parameters"),
    [("10m", 9_967_872), ("124m", 123_587_328), ("350m", 353_551_360), ("1.3b", 1_311_082_496)],
)
def test_the_parameters_without_positions_are_counted_once(size: str, parameters: int) -> None:
    code = f"""
size = workload.SIZES["{size}"]
with torch.device("meta"):
    model = workload.Gpt(size, 1024)
in_all = sum(p.numel() for p in model.parameters())
answer = [size.parameters, in_all - 1024 * size.width]"""
    assert evaluate(code) == [parameters, parameters]


def test_gpt_2_small_with_its_positions_has_124_million_parameters() -> None:
    code = """
with torch.device("meta"):
    model = workload.Gpt(workload.SIZES["124m"], 1024)
answer = sum(p.numel() for p in model.parameters())"""
    assert evaluate(code) == 124_373_760


def test_flop_per_token_are_those_that_published_mfu_go_by() -> None:
    """515,000 tokens/s of 124m on a GPU of 989 TFLOP/s are 44.5%; 61,500 of 1.3b 56.4%."""
    code = """
answer = [
    round(100 * 515e3 * workload.SIZES["124m"].flop_per_token(1024) / 989e12, 1),
    round(100 * 61.5e3 * workload.SIZES["1.3b"].flop_per_token(2048) / 989e12, 1),
]"""
    assert evaluate(code) == [44.5, 56.4]


def test_no_token_sees_the_ones_behind_it() -> None:
    code = (
        SMALL
        + """
model = workload.Gpt(small, 8).eval()
tokens = torch.arange(8).unsqueeze(0)
other = tokens.clone()
other[0, 5] = 60
def streams(tokens):
    x = model.embed(tokens)
    for block in model.blocks:
        x = block(x)
    return x[0]
same = [torch.equal(a, b) for a, b in zip(streams(tokens), streams(other))]
answer = same"""
    )
    assert evaluate(code) == [True] * 5 + [False] * 3


def test_the_loss_that_keeps_the_logits_once_is_the_cross_entropy() -> None:
    code = """
workload.ROWS = 4
logits = torch.randn(10, 7, dtype=torch.float32, requires_grad=True)
targets = torch.randint(7, (10,))
expected = torch.nn.functional.cross_entropy(logits, targets)
gradient, = torch.autograd.grad(3 * expected, logits)
mine = workload.CrossEntropy.apply(logits.clone(), targets)
own, = torch.autograd.grad(3 * mine, logits)
answer = [torch.allclose(mine, expected), torch.allclose(own, gradient)]"""
    assert evaluate(code) == [True, True]


@pytest.mark.parametrize("words", ['"--max-micro-batch", "2"', '"--checkpointing", "on"'])
def test_passes_and_checkpointing_change_nothing_but_memory(words: str) -> None:
    code = (
        SMALL
        + f"""
losses, weights = after_steps(3)
others, their = after_steps(3, {words})
answer = [
    torch.allclose(torch.tensor(losses), torch.tensor(others)),
    torch.allclose(weights, their, atol=1e-6),
]"""
    )
    assert evaluate(code) == [True, True]


def test_what_repeats_is_learned() -> None:
    code = (
        SMALL
        + """
drawn = workload.synthetic
def one_batch(options, place):
    first = next(drawn(options, place))
    while True:
        yield first
workload.synthetic = one_batch
losses, _ = after_steps(60, "--learning-rate", "0.01")
answer = [losses[0], losses[-1]]"""
    )
    first, last = evaluate(code)  # type: ignore[misc]
    assert 3.9 < first < 4.4  # ln 61 is 4.11
    assert last < 0.5 * first


def test_tokens_are_new_for_every_step_and_differ_between_ranks() -> None:
    code = (
        SMALL
        + """
def drawn(rank):
    batches = workload.synthetic(options(), place._replace(rank=rank))
    (a, after_a), (b, _) = next(batches), next(batches)
    assert torch.equal(a[:, 1:], after_a[:, :-1])
    return a.tolist(), b.tolist()
first, second = drawn(0)
answer = [first == drawn(0)[0], first == second, first == drawn(1)[0], len(set(sum(first, [])))]"""
    )
    again, next_step, next_rank, different = evaluate(code)  # type: ignore[misc]
    assert (again, next_step, next_rank) == (True, False, False)
    assert different > 20


def test_fsdp2_where_pytorch_has_none_is_one_line() -> None:
    code = (
        SMALL
        + """
import sys, types
for name in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
    sys.modules[name] = types.ModuleType(name)
try:
    workload.build(options("--parallel", "fsdp2"), place._replace(launched=True))
except SystemExit as ended:
    answer = str(ended)"""
    )
    said = evaluate(code)
    assert isinstance(said, str)
    assert said.startswith("torch_gpt: fsdp2 needs PyTorch 2.4 or newer, not ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--precision", "tf32", "--device", "cpu"], "tf32 needs an NVIDIA GPU"),
        (["--parallel", "fsdp2", "--size", "10m"], "fsdp2 needs torchrun"),
        (
            ["--batch-size", "6", "--max-micro-batch", "4"],
            "a multiple of --max-micro-batch",
        ),
        (["--parallel", "fsdp2", "--compile", "model"], "--compile model is for DDP"),
        (["--iterations", "5", "--print-every", "6"], "nothing would be measured"),
        (["--batch-size", "0"], "0 is below 1"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(arguments: list[str], said: str) -> None:
    assert said in torch_python.refusal("torch_gpt", *arguments)
