#!/usr/bin/env python3
"""ResNet50 v1.5 training throughput with PyTorch DistributedDataParallel on synthetic data.

Needs PyTorch 1.10 or newer and torch_common.py beside it, and nothing else: no torchvision, no data
set. One process per device, started by torchrun; without torchrun one process on one device. NCCL
where there are GPUs, gloo on CPUs, where a device is a core.

The network is the one of "Deep Residual Learning for Image Recognition" (He et al., 2015) in the
variant called v1.5: a bottleneck that halves the resolution does so in its 3×3 convolution, not in
its first 1×1. Images and labels are made once and stay on the device, so that what is measured is
compute and communication, not input. Rank 0 prints::

    train: epoch 0, iter 20, loss: 6.505637, samples/s: 288.088, mem: 27915

every --print-every iterations: the loss of its own batch, samples/s of all devices over the time
since the line before, and the peak memory in MiB: what PyTorch had allocated at most on the GPU, or
the resident set of the process on a CPU. The time is the device's own, which is never left waiting
for the line. The first line holds the warm-up.

--compile on compiles the network with torch.compile; on several devices PyTorch cuts it by DDP's
buckets, so that gradients are exchanged while others are computed. --graphs on takes BEFORE_CAPTURE
steps, captures one more as a CUDA graph, from the gradients' reset to the optimizer, and replays
it: the host starts one thing per step. This is for GPUs, needs the same batch for ever, as there is
here, and under DDP has a limit: the exchange is part of the graph, so that NCCL's watchdog sees
none of it, and where one process ends the others wait until somebody ends them. The one needs
PyTorch 2.0, the other 2.1.

Of several ranks each prints, as often, what a step takes it but for the others: see OwnTime in
torch_common.py.

With DLPERF_PROFILE=1 in the environment more steps follow under torch.profiler, and every rank
prints where its time went: see torch_common.py.
"""

import argparse
import inspect
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
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

PROGRAM = "torch_resnet50"
CLASSES = 1000
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4
BEFORE_CAPTURE = 11  # steps that DistributedDataParallel has to take first, says PyTorch


def convolution(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 with batch normalisation and a shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * EXPANSION
        self.branch = nn.Sequential(
            convolution(inputs, width, 1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, width, 3, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, outputs, 1),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.branch(x) + self.shortcut(x))


def resnet50():
    """Return ResNet50 v1.5 with weights as He et al. (2015) initialise them."""
    layers = [
        convolution(3, 64, 7, 2),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    inputs = 64
    for width, blocks, first_stride in STAGES:
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, first_stride if block == 0 else 1))
            inputs = width * EXPANSION
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES)]
    model = nn.Sequential(*layers)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def set_precision(options, device):
    """Allow exactly the arithmetic that was asked for; return a maker of contexts."""
    precision = options.precision
    if precision == "tf32" and not ampere(device):
        fail(PROGRAM, "tf32 needs an NVIDIA GPU of the Ampere generation or newer")
    if precision == "amp" and device.type == "cuda" and not ampere(device):
        fail(PROGRAM, "amp is bfloat16 here: it needs the Ampere generation or newer")
    allow_tf32(precision == "tf32")
    if precision == "amp":
        # A cache of cast weights would outlive the step that was captured, and saves nothing here.
        cached = options.graphs == "off"
        return lambda: torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=cached)
    return nullcontext


def synthetic(options, device, rank):
    """The same images and labels for ever, on the device, so that input takes no time."""
    generator = torch.Generator().manual_seed(options.seed + rank)
    shape = (options.batch_size, 3, options.image_size, options.image_size)
    images = torch.randn(shape, generator=generator).to(device)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, shape[:1], generator=generator).to(device)
    while True:
        yield images, labels


def fused(device):
    """On a GPU one kernel updates many weights, where PyTorch is 2.3 or newer."""
    known = "fused" in inspect.signature(torch.optim.SGD).parameters
    return {"fused": True} if known and device.type == "cuda" else {}


def make_step(options, model, place, autocast):
    """Return the function that takes one step and returns the loss of this rank's batch."""
    batches = synthetic(options, place.device, place.rank)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=options.learning_rate,
        momentum=0.9,
        weight_decay=5e-5,
        **fused(place.device),
    )

    def train_on(images, labels):
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    if options.graphs == "on":
        train_on = captured(train_on, *next(batches))

    def step(waiting=nullcontext):
        with waiting():
            images, labels = next(batches)
        return train_on(images, labels)

    return step


def captured(train_on, images, labels):
    """Return ``train_on`` as one CUDA graph of this batch, which is the only one there is."""
    for _ in range(BEFORE_CAPTURE):
        train_on(images, labels)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # NCCL's own thread may ask the device for news meanwhile: only this thread is held to rules.
    stream = torch.cuda.current_stream()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        loss = train_on(images, labels)

    def replay(_images, _labels):
        graph.replay()
        return loss

    return replay


def reporter(options, place):
    samples = options.print_every * options.batch_size * place.world_size

    def report(iteration, loss, seconds):
        print_line(
            "train: epoch 0, iter %d, loss: %.6f, samples/s: %.3f, mem: %d"
            % (iteration, loss, samples / seconds, peak_memory_mib(place.device)),
        )

    return report


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        prog="torch_resnet50.py",
        description="ResNet50 v1.5 training throughput with PyTorch DDP on synthetic data.",
    )
    add = parser.add_argument
    add("--batch-size", type=positive, default=256, help="images per device (256)")
    add("--precision", choices=["fp32", "tf32", "amp"], default="fp32", help="amp: bfloat16")
    add("--compile", choices=["off", "on"], default="off", help="by torch.compile (off)")
    add("--graphs", choices=["off", "on"], default="off", help="a step is a CUDA graph (off)")
    add("--iterations", type=positive, default=120, help="training steps (120)")
    add("--print-every", type=positive, default=20, help="steps between printed lines (20)")
    add("--image-size", type=positive, default=224, help="pixels along an edge (224)")
    add("--device", choices=["auto", "cuda", "cpu"], default="auto", help="auto: GPUs if any")
    add("--cpu-threads", type=positive, default=1, help="threads of a device on a CPU (1)")
    add("--learning-rate", type=float, default=0.01, help="of SGD with momentum 0.9 (0.01)")
    add("--seed", type=int, default=1, help="of weights and data (1)")
    options = parser.parse_args(arguments)
    if options.image_size < 32:
        parser.error("--image-size must be at least 32: the network halves it five times")
    if options.print_every > options.iterations:
        parser.error("--print-every must not exceed --iterations: nothing would be measured")
    return options


def build(options, place):
    """The network on its device, compiled and distributed as asked."""
    torch.manual_seed(options.seed)
    model = resnet50().to(place.device).to(memory_format=torch.channels_last).train()
    if options.compile == "on":
        if not hasattr(torch, "compile"):
            fail(PROGRAM, "compile needs PyTorch 2.0 or newer, not %s" % torch.__version__)
        model = torch.compile(model, dynamic=False)
    if not place.launched:
        return model
    # The same program on one device as on many, so that the base of a speedup is comparable.
    device_ids = [place.local_rank] if place.device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=device_ids, gradient_as_bucket_view=True)


def own_stream(options, place):
    """The stream of a program that will be captured: the default one cannot be."""
    if options.graphs == "off":
        return nullcontext()
    if place.device.type != "cuda":
        fail(PROGRAM, "graphs need an NVIDIA GPU")
    if "capture_error_mode" not in inspect.signature(torch.cuda.graph).parameters:
        fail(PROGRAM, "graphs need PyTorch 2.1 or newer, not %s" % torch.__version__)
    return torch.cuda.stream(torch.cuda.Stream(place.device))


def measure(options, place, autocast):
    model = build(options, place)
    if place.rank == 0:
        own = "%s, image size %d, compile %s, graphs %s" % (
            options.precision,
            options.image_size,
            options.compile,
            options.graphs,
        )
        print_line("environment: " + ", ".join([*facts(place), own]))
    step = make_step(options, model, place, autocast)
    own = OwnTime(place, model, possible=options.graphs == "off")
    train(options, step, place, own, reporter(options, place))
    profile_if_asked(step, place)


def main(arguments=None):
    options = parse_arguments(arguments)
    place = find_place(PROGRAM, options.device)
    autocast = set_precision(options, place.device)
    if place.device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    else:
        torch.set_num_threads(options.cpu_threads)
    stream = own_stream(options, place)
    if place.launched:
        keep_flight_records(place)
        dist.init_process_group(place.backend)
    with stream:
        measure(options, place, autocast)
    if place.launched:  # by now no graph is left: NCCL waits for those that it takes part in
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
