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
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLASSES = 1000
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4


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


def train(options, model, device, rank, world_size, autocast):
    generator = torch.Generator().manual_seed(options.seed + rank)
    shape = (options.batch_size, 3, options.image_size, options.image_size)
    images = torch.randn(shape, generator=generator).to(device)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, shape[:1], generator=generator).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=options.learning_rate, momentum=0.9, weight_decay=5e-5
    )

    def finished():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    printed = finished()
    for iteration in range(1, options.iterations + 1):
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if rank == 0 and iteration % options.print_every == 0:
            now = finished()
            samples = options.print_every * options.batch_size * world_size
            print(
                "train: epoch 0, iter %d, loss: %.6f, samples/s: %.3f, mem: %d"
                % (iteration, loss.item(), samples / (now - printed), peak_memory_mib(device)),
                flush=True,
            )
            printed = now


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
    train(options, model, device, rank, world_size, autocast)
    if launched:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
