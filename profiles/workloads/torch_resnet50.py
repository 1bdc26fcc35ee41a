#!/usr/bin/env python3
"""ResNet50 v1.5 training throughput with PyTorch DistributedDataParallel on synthetic data.

Needs PyTorch 1.10 or newer and nothing else: no torchvision, no data set. One process per device,
started by torchrun (RANK, LOCAL_RANK, WORLD_SIZE in the environment); without torchrun it is one
process on one device. NCCL where there are GPUs, gloo on CPUs, where a device is a core.

The network is the one of "Deep Residual Learning for Image Recognition" (He et al., 2015) in the
variant called v1.5: a bottleneck that halves the resolution does so in its 3×3 convolution, not in
its first 1×1. Images and labels are made once and stay on the device, so that what is measured is
compute and communication, not input. Rank 0 prints::

    train: epoch 0, iter 20, loss: 6.505637, samples/s: 288.088, mem: 27915

every --print-every iterations: the loss of its own batch, samples/s of all devices over the wall
time since the line before (the device is idle at both ends), and the peak memory in MiB: what
PyTorch had allocated at most on the GPU, or the resident set of the process on a CPU. The first
line holds the warm-up.

With DLPERF_PROFILE=1 in the environment PROFILED_STEPS more steps follow under torch.profiler, and
every rank prints where its time went, in seconds per step, each of them once::

    profile: rank 1, steps 10, step 0.8112, compute 0.7013, communication 0.0871, input 0.0001

On a GPU compute is when a kernel or a copy runs there that is not NCCL's, communication when only
one of NCCL's does, input when neither does while the process waits for the next batch. On a CPU
compute is when the process is in an operator or the optimizer, communication when it is not and
gloo has work under way, input the wait for the next batch. For the rest the device was idle.
"""

import argparse
import os
import platform
import resource
import sys
import time
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.profiler
from torch import nn
from torch.autograd import DeviceType
from torch.nn.parallel import DistributedDataParallel

CLASSES = 1000
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4
PROFILED_STEPS = 10


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


def pick_device(wanted, local_rank):
    """Return the device of this process; exits with one line when there is none."""
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and not available):
        return torch.device("cpu")
    if local_rank >= available:
        sys.exit(
            "torch_resnet50: local rank %d has no GPU: PyTorch sees %d on this host"
            % (local_rank, available)
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def set_precision(precision, device):
    """Allow exactly the arithmetic that ``precision`` names; return a maker of contexts."""
    on_gpu = device.type == "cuda"
    if precision == "tf32" and not (on_gpu and torch.cuda.get_device_capability(device) >= (8, 0)):
        sys.exit("torch_resnet50: tf32 needs an NVIDIA GPU of the Ampere generation or newer")
    if precision == "amp" and on_gpu and torch.cuda.get_device_capability(device) < (8, 0):
        sys.exit("torch_resnet50: amp is bfloat16 here: it needs the Ampere generation or newer")
    # Off unless asked for: PyTorch lets cuDNN use TF32 by default, which would not be fp32.
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    if precision == "amp":
        return lambda: torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext


def peak_memory_mib(device):
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) // 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # KiB on Linux


def describe(options, device, world_size, backend):
    facts = [
        "python %s" % platform.python_version(),
        "torch %s" % torch.__version__,
        "backend %s" % backend,
        "world size %d" % world_size,
    ]
    if device.type == "cuda":
        facts.append("cuda %s" % torch.version.cuda)
        facts.append("cudnn %s" % torch.backends.cudnn.version())
        if dist.is_nccl_available():
            facts.append("nccl %s" % ".".join(str(part) for part in torch.cuda.nccl.version()))
        facts.append(torch.cuda.get_device_name(device))
    else:
        facts.append("%d threads per device" % torch.get_num_threads())
    facts.append("%s, image size %d" % (options.precision, options.image_size))
    return "environment: " + ", ".join(facts)


def synthetic(options, device, rank):
    """The same images and labels for ever, on the device, so that input takes no time."""
    generator = torch.Generator().manual_seed(options.seed + rank)
    shape = (options.batch_size, 3, options.image_size, options.image_size)
    images = torch.randn(shape, generator=generator).to(device)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, shape[:1], generator=generator).to(device)
    while True:
        yield images, labels


def train(options, model, device, rank, world_size, autocast):
    """Train and print; return the function that takes one more step."""
    batches = synthetic(options, device, rank)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=options.learning_rate, momentum=0.9, weight_decay=5e-5
    )

    def step(waiting=nullcontext):
        with waiting():
            images, labels = next(batches)
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    printed = finished(device)
    for iteration in range(1, options.iterations + 1):
        loss = step()
        if rank == 0 and iteration % options.print_every == 0:
            now = finished(device)
            samples = options.print_every * options.batch_size * world_size
            print(
                "train: epoch 0, iter %d, loss: %.6f, samples/s: %.3f, mem: %d"
                % (iteration, loss.item(), samples / (now - printed), peak_memory_mib(device)),
                flush=True,
            )
            printed = now
    return step


def finished(device):
    """When the device has done all that it was told to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def profile(step, device, rank):
    """Take PROFILED_STEPS steps and print where this rank's time went."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        step()  # which begins late where the profiler took long to start
        finished(device)
        if dist.is_initialized():
            dist.barrier()
        with torch.profiler.record_function(STEPS):
            for _ in range(PROFILED_STEPS):
                step(lambda: torch.profiler.record_function(WAITING))
            finished(device)
    spent = [seconds / PROFILED_STEPS for seconds in where_time_went(profiler.events(), device)]
    print(
        "profile: rank %d, steps %d, step %.6f, compute %.6f, communication %.6f, input %.6f"
        % (rank, PROFILED_STEPS, *spent),
        flush=True,
    )


STEPS = "torch_resnet50: steps"
WAITING = "torch_resnet50: waiting for input"
COMPUTING = ("aten::", "autograd::", "Optimizer.step")  # on a CPU


def where_time_went(events, device):
    """Seconds in all, of them computing, in exposed communication, waiting for input."""
    on_host = [event for event in events if event.device_type == DeviceType.CPU]
    names = {event.name for event in on_host}
    # Annotations are repeated among what the device did, under the names that they have here.
    on_device = [e for e in events if e.device_type == DeviceType.CUDA and e.name not in names]
    began, ended = merged(e for e in on_host if e.name == STEPS)[0]
    waiting = merged(e for e in on_host if e.name == WAITING)
    if device.type == "cuda":
        working = merged(e for e in on_device if not e.name.startswith("nccl"))
        talking = merged(e for e in on_device if e.name.startswith("nccl"))
        waiting = without(without(waiting, working), talking)
    else:
        working = without(merged(e for e in on_host if e.name.startswith(COMPUTING)), waiting)
        talking = without(merged(e for e in on_host if e.name.startswith("gloo:")), waiting)
    talking = without(talking, working)
    spans = [[(began, ended)], working, talking, waiting]
    return [
        sum(max(0, min(end, ended) - max(start, began)) for start, end in some) / 1e6
        for some in spans
    ]


def merged(events):
    """When any of the events was under way: (start, end) in microseconds, in order, apart."""
    spans = []
    for start, end in sorted((e.time_range.start, e.time_range.end) for e in events):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def without(spans, others):
    """What of the spans is in none of the others; both are in order and apart."""
    left = []
    number = 0
    for start, end in spans:
        at = start
        while number < len(others) and others[number][0] < end:
            if others[number][0] > at:
                left.append((at, others[number][0]))
            at = max(at, others[number][1])
            if at >= end:  # and it may reach into the next span
                break
            number += 1
        if at < end:
            left.append((at, end))
    return left


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("%s is below 1" % text)
    return value


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        prog="torch_resnet50.py",
        description="ResNet50 v1.5 training throughput with PyTorch DDP on synthetic data.",
    )
    add = parser.add_argument
    add("--batch-size", type=positive, default=256, help="images per device (256)")
    add("--precision", choices=["fp32", "tf32", "amp"], default="fp32", help="amp: bfloat16")
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


def main(arguments=None):
    options = parse_arguments(arguments)
    rank = int(os.environ.get("RANK", "0"))
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    device = pick_device(options.device, local_rank)
    autocast = set_precision(options.precision, device)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    else:
        torch.set_num_threads(options.cpu_threads)
    torch.manual_seed(options.seed)
    model = resnet50().to(device).to(memory_format=torch.channels_last).train()

    launched = "WORLD_SIZE" in os.environ
    backend = "nccl" if device.type == "cuda" else "gloo"
    if launched:
        # The same program on one device as on many, so that the base of a speedup is comparable.
        dist.init_process_group(backend)
        device_ids = [local_rank] if device.type == "cuda" else None
        model = DistributedDataParallel(model, device_ids=device_ids)
    if rank == 0:
        print(describe(options, device, world_size, backend if launched else "none"), flush=True)
    step = train(options, model, device, rank, world_size, autocast)
    if os.environ.get("DLPERF_PROFILE") == "1":
        profile(step, device, rank)
    if launched:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
