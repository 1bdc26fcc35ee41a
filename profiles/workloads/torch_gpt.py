#!/usr/bin/env python3
"""Training throughput of GPT-2 in PyTorch on random tokens, under DDP or FSDP2.

Needs PyTorch 2.1 or newer (FSDP2: 2.4) and torch_common.py beside it, and nothing else. One process
per device, started by torchrun; without torchrun one process on one device. NCCL where there are
GPUs, gloo on CPUs, where a device is a core.

The network is the decoder of "Language Models are Unsupervised Multitask Learners" (Radford et al.,
2019): learned positions, LayerNorm before attention and before the feed-forward network of four
times the width, GELU (its tanh form), the token embedding as output matrix. As in nanoGPT no layer
has a bias, there is no dropout, and the vocabulary is 50,304, the next multiple of 128::

    size    layers  width  heads  parameters without positions
    124m        12    768     12     123,587,328
    350m        24   1024     16     353,551,360
    1.3b        24   2048     16   1,311,082,496
    10m         12    256      4       9,967,872    vocabulary 2,048, for CPUs

10m has a small vocabulary because the 50,304 columns of an output matrix would be 58% of its work.

A step takes --batch-size sequences per device: at once, or in equal passes of --max-micro-batch
sequences whose gradients add up, and are exchanged with the last one alone. Tokens are drawn on the
device, new for every step, so that what is measured is compute and communication, not input. They
are random on purpose: with zeros, or one token everywhere, the operands of a matrix product hardly
toggle, the GPU draws less power, clocks higher, and the figure flatters. AdamW (fused on GPUs),
gradients not clipped.

bf16 is autocast under DDP, with weights, gradients and their sums in fp32. Under FSDP2 it is a
mixed-precision policy: one unit per block and one for the rest, gathered in bf16, gradients reduced
in fp32, as DDP does it: a sum over many devices in bf16 would lose bits, and the reduction hides
behind the backward pass. The stream between blocks is bf16 in both.

--compile blocks compiles every block, the embedding, and the output with its loss, each for itself:
while a block's backward pass runs, the gradients of those behind it are sent. --compile model
compiles all as one graph (DDP only); on several devices PyTorch cuts it by DDP's buckets. Where the
loss is compiled the logits are kept once, in bf16; where it is not, CrossEntropy here does that.

Before the first step rank 0 prints what an MFU is calculated from, in one line, then::

    train: step 20, loss: 10.891246, tokens/s: 515123.412, step time ms: 63.612, mem: 27915

every --print-every steps: the mean loss of its own tokens in the last of these steps, tokens/s of
all devices over the time since the line before, that time per step, and the peak memory in MiB:
what PyTorch had allocated at most on the GPU, or the resident set of the process on a CPU. The time
is the device's own, which is never left waiting for the line. Compiling, the choice of kernels and
DDP's second set of buckets fall into the first five steps: from --print-every 3 on none of it
counts without the first two lines.

Of several ranks each prints, as often, what a step takes it but for the others: see OwnTime in
torch_common.py. Under DDP only.

With DLPERF_PROFILE=1 in the environment more steps follow under torch.profiler, and every rank
prints where its time went: see torch_common.py.
"""
# ruff: noqa: B905 - zip(strict=) came with Python 3.10

import argparse
from collections import namedtuple
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch_common import (
    OwnTime,
    allow_tf32,
    ampere,
    facts,
    fail,
    find_place,
    keep_flight_records,
    peak_memory_mib,
    positive,
    print_line,
    profile_if_asked,
    train,
)

PROGRAM = "torch_gpt"
ROWS = 4096  # of the logits that are in fp32 at the same time


class Size(namedtuple("Size", "layers width heads vocabulary")):
    @property
    def parameters(self):
        """Without the positions; the output matrix, which is the embedding, counted once."""
        block = 12 * self.width**2 + 2 * self.width
        return self.vocabulary * self.width + self.layers * block + self.width

    def flop_per_token(self, length):
        """Forward and backward, 6 N + 12 L d T: PaLM's convention (Chowdhery et al., 2022)."""
        return 6 * self.parameters + 12 * self.layers * self.width * length


SIZES = {
    "10m": Size(12, 256, 4, 2048),
    "124m": Size(12, 768, 12, 50304),
    "350m": Size(24, 1024, 16, 50304),
    "1.3b": Size(24, 2048, 16, 50304),
}


class Block(nn.Module):
    """Attention and feed-forward network, each added to what came in."""

    def __init__(self, size, checkpointing):
        super().__init__()
        width = size.width
        self.heads = size.heads
        self.checkpointing = checkpointing
        self.before_attention = nn.LayerNorm(width, bias=False)
        self.queries_keys_values = nn.Linear(width, 3 * width, bias=False)
        self.attended = nn.Linear(width, width, bias=False)
        self.before_feeding = nn.LayerNorm(width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        if self.checkpointing:
            return checkpoint(self.body, x, use_reentrant=False, preserve_rng_state=False)
        return self.body(x)

    def body(self, x):
        batch, length, width = x.shape
        projected = self.queries_keys_values(self.before_attention(x))
        by_head = projected.view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = (part.transpose(1, 2) for part in by_head.unbind(2))
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.attended(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.before_feeding(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Takes tokens and the tokens that follow them, (batch, length) each; returns the mean loss."""

    def __init__(self, size, length, stream=torch.float32, checkpointing=False):
        super().__init__()
        self.stream = stream  # the type of what goes from block to block
        self.entropy = CrossEntropy.apply
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.positions = nn.Parameter(torch.empty(length, size.width))
        self.blocks = nn.ModuleList(Block(size, checkpointing) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                ends = name.endswith(("attended.weight", "down.weight"))  # of a residual branch
                scale = (2 * size.layers) ** -0.5 if ends else 1.0
                nn.init.normal_(parameter, std=0.02 * scale)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.loss(x, targets)

    def embed(self, tokens):
        return (self.tokens(tokens) + self.positions).to(self.stream)

    def loss(self, x, targets):
        logits = F.linear(self.norm(x), self.tokens.weight)
        return self.entropy(logits.flatten(0, 1), targets.flatten())


class CrossEntropy(torch.autograd.Function):
    """The mean cross entropy, with the logits kept once and in their own type.

    F.cross_entropy keeps their logarithms in fp32 beside them, and makes the gradient in fp32 too.
    Here it takes the logits' place: nothing else may need them.
    """

    @staticmethod
    def forward(ctx, logits, targets):
        sums = torch.cat([part.float().logsumexp(1) for part in logits.split(ROWS)])
        right = logits.gather(1, targets.unsqueeze(1)).squeeze(1).float()
        ctx.save_for_backward(logits, targets, sums)
        return (sums - right).mean()

    @staticmethod
    def backward(ctx, gradient):
        logits, targets, sums = ctx.saved_tensors
        rows = zip(logits.split(ROWS), targets.split(ROWS), sums.split(ROWS))
        for some, their, of_them in rows:
            probability = (some.float() - of_them.unsqueeze(1)).exp_()
            probability.scatter_add_(1, their.unsqueeze(1), -torch.ones_like(of_them).unsqueeze(1))
            some.copy_(probability.mul_(gradient / len(targets)))
        return logits, None


def whole_cross_entropy(logits, targets):
    """For the compiler, which makes the fp32 logits anew where it needs them and keeps none."""
    return F.cross_entropy(logits.float(), targets)


def compile_parts(model, options, world_size):
    """Compile in place; see the docstring of this file."""
    if options.compile == "off":
        return
    import torch._dynamo  # noqa: PLC0415 -- slow

    model.entropy = whole_cross_entropy
    whole = options.compile == "model"
    # It would cut every block again by DDP's buckets, and cannot cut where there is checkpointing.
    torch._dynamo.config.optimize_ddp = whole and world_size > 1 and not options.checkpointing
    # Before PyTorch 2.5 every block counted as another version of the same function.
    torch._dynamo.config.cache_size_limit = 4 * len(model.blocks)
    if whole:
        model.forward = torch.compile(model.forward, dynamic=False)
        return
    model.embed = torch.compile(model.embed, dynamic=False)
    model.loss = torch.compile(model.loss, dynamic=False)
    for block in model.blocks:
        block.body = torch.compile(block.body, dynamic=False)


def shard(model, options, place):
    """FSDP2: parameters, gradients and optimizer in shards, one unit per block and the rest."""
    if not place.launched:
        fail(PROGRAM, "fsdp2 needs torchrun, also for one device")
    try:
        from torch.distributed.fsdp import (  # noqa: PLC0415
            MixedPrecisionPolicy,
            fully_shard,
        )
    except ImportError:
        try:  # where PyTorch 2.4 and 2.5 have it
            from torch.distributed._composable.fsdp import (  # noqa: PLC0415
                MixedPrecisionPolicy,
                fully_shard,
            )
        except ImportError:
            fail(PROGRAM, "fsdp2 needs PyTorch 2.4 or newer, not %s" % torch.__version__)
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415

    how = {"mesh": init_device_mesh(place.device.type, (place.world_size,))}
    if options.precision == "bf16":
        how["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    for block in model.blocks:
        fully_shard(block, **how)
    return fully_shard(model, **how)


def build(options, place):
    """The network on its device, compiled and distributed as asked."""
    torch.manual_seed(options.seed)  # every process the same weights
    stream = torch.bfloat16 if options.precision == "bf16" else torch.float32
    with place.device:
        size = SIZES[options.size]
        model = Gpt(size, options.sequence_length, stream, options.checkpointing).train()
    compile_parts(model, options, place.world_size)
    if options.parallel == "fsdp2":
        return shard(model, options, place)
    if not place.launched:
        return model
    # The same program on one device as on many, so that the base of a speedup is comparable.
    device_ids = [place.local_rank] if place.device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=device_ids, gradient_as_bucket_view=True)


def set_precision(options, device):
    """Allow exactly the arithmetic that was asked for; return a maker of contexts."""
    if options.precision == "tf32" and not ampere(device):
        fail(PROGRAM, "tf32 needs an NVIDIA GPU of the Ampere generation or newer")
    if options.precision == "bf16" and device.type == "cuda" and not ampere(device):
        fail(PROGRAM, "bf16 needs an NVIDIA GPU of the Ampere generation or newer")
    allow_tf32(options.precision == "tf32")
    if options.precision == "bf16" and options.parallel == "ddp":
        return lambda: torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext


def choose_attention(kind):
    """Which kernels scaled_dot_product_attention may take; auto: the one it finds fastest."""
    if kind == "auto":
        return
    kernels = torch.backends.cuda
    kernels.enable_flash_sdp(kind == "flash")
    kernels.enable_mem_efficient_sdp(False)
    kernels.enable_math_sdp(kind == "math")
    if hasattr(kernels, "enable_cudnn_sdp"):  # from PyTorch 2.4 on
        kernels.enable_cudnn_sdp(kind == "cudnn")
    elif kind == "cudnn":
        fail(PROGRAM, "attention by cudnn needs PyTorch 2.4 or newer, not %s" % torch.__version__)


def describe(options, place):
    """What an MFU is calculated from, in one line."""
    size = SIZES[options.size]
    length = options.sequence_length
    own = [
        "size %s" % options.size,
        "model parameters %d" % size.parameters,
        "position parameters %d" % (length * size.width),
        "layers %d" % size.layers,
        "width %d" % size.width,
        "heads %d" % size.heads,
        "vocabulary %d" % size.vocabulary,
        "sequence length %d" % length,
        "FLOP per token %d" % size.flop_per_token(length),
        "batch size %d" % options.batch_size,
        "global batch %d" % (options.batch_size * place.world_size),
        "micro batch %d" % options.micro_batch,
        "accumulation %d" % (options.batch_size // options.micro_batch),
        "parallel %s" % options.parallel,
        "precision %s" % options.precision,
        "compile %s" % options.compile,
        "checkpointing %s" % ("on" if options.checkpointing else "off"),
        "attention %s" % options.attention,
    ]
    return "environment: " + ", ".join(own + facts(place))


def synthetic(options, place):
    """Random tokens and the ones that follow them, new for every step, drawn on the device."""
    generator = torch.Generator(place.device).manual_seed(options.seed + place.rank)
    shape = (options.batch_size, options.sequence_length + 1)
    vocabulary = SIZES[options.size].vocabulary
    while True:
        drawn = torch.randint(vocabulary, shape, generator=generator, device=place.device)
        yield drawn[:, :-1].contiguous(), drawn[:, 1:].contiguous()


def exchanging(model, last):
    """The context of a pass, whose gradients are exchanged with all before them if it is last."""
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(last)
    elif hasattr(model, "no_sync") and not last:
        return model.no_sync()
    return nullcontext()


def make_step(options, model, place, autocast):
    """Return the function that takes one step and returns its mean loss, on the device."""
    batches = synthetic(options, place)
    passes = options.batch_size // options.micro_batch
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=options.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=0.1,
        fused=place.device.type == "cuda",
    )

    def step(waiting=nullcontext):
        with waiting():
            batch = next(batches)
        total = torch.zeros((), device=place.device)
        parts = zip(*(whole.split(options.micro_batch) for whole in batch))
        for number, (tokens, targets) in enumerate(parts, 1):
            with exchanging(model, number == passes):
                with autocast():
                    loss = model(tokens, targets) / passes
                loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    return step


def reporter(options, place):
    tokens = options.batch_size * options.sequence_length * place.world_size

    def report(number, loss, seconds):
        step_s = seconds / options.print_every
        print_line(
            "train: step %d, loss: %.6f, tokens/s: %.3f, step time ms: %.3f, mem: %d"
            % (number, loss, tokens / step_s, step_s * 1e3, peak_memory_mib(place.device)),
        )

    return report


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        prog="torch_gpt.py",
        description="Training throughput of GPT-2 in PyTorch on random tokens, under DDP or FSDP2.",
    )
    add = parser.add_argument
    add("--size", choices=list(SIZES), default="124m", help="of the network (124m)")
    add("--batch-size", type=positive, default=32, help="sequences per device and step (32)")
    add("--max-micro-batch", type=int, default=0, help="of them at once, at most; 0: all (0)")
    add("--sequence-length", type=positive, default=1024, help="tokens of a sequence (1024)")
    add("--parallel", choices=["ddp", "fsdp2"], default="ddp", help="how devices share work (ddp)")
    add("--precision", choices=["fp32", "tf32", "bf16"], default="bf16", help="(bf16)")
    add("--compile", choices=["off", "blocks", "model"], default="blocks", help="what, (blocks)")
    add("--checkpointing", choices=["off", "on"], default="off", help="blocks compute twice (off)")
    add("--attention", choices=["auto", "flash", "cudnn", "math"], default="auto", help="(auto)")
    add("--iterations", type=positive, default=240, help="training steps (240)")
    add("--print-every", type=positive, default=20, help="steps between printed lines (20)")
    add("--device", choices=["auto", "cuda", "cpu"], default="auto", help="auto: GPUs if any")
    add("--cpu-threads", type=positive, default=1, help="threads of a device on a CPU (1)")
    add("--learning-rate", type=float, default=3e-4, help="of AdamW (0.0003)")
    add("--seed", type=int, default=1, help="of weights and tokens (1)")
    options = parser.parse_args(arguments)
    options.checkpointing = options.checkpointing == "on"
    options.micro_batch = options.batch_size
    if 0 < options.max_micro_batch < options.batch_size:
        options.micro_batch = options.max_micro_batch
    if options.batch_size % options.micro_batch:
        parser.error("--batch-size must be a multiple of --max-micro-batch")
    if options.print_every > options.iterations:
        parser.error("--print-every must not exceed --iterations: nothing would be measured")
    if options.compile == "model" and options.parallel == "fsdp2":
        parser.error("--compile model is for DDP: FSDP2 gathers block by block; use blocks")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    place = find_place(PROGRAM, options.device)
    autocast = set_precision(options, place.device)
    choose_attention(options.attention)
    if place.device.type == "cpu":
        torch.set_num_threads(options.cpu_threads)
    if place.launched:
        keep_flight_records(place)
        dist.init_process_group(place.backend)
    model = build(options, place)
    if place.rank == 0:
        print_line(describe(options, place))
    step = make_step(options, model, place, autocast)
    train(options, step, place, OwnTime(place, model), reporter(options, place))
    profile_if_asked(step, place)
    if place.launched:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
