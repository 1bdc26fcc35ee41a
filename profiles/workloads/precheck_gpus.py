#!/usr/bin/env python3
"""How fast the GPUs of a host are, and the links between them: PyTorch 1.10 or newer, one process.

Every figure is a line of JSON behind a mark, so that it is found in a log whatever else is in it::

    precheck: {"device": 0, "metric": "gemm", "model": "NVIDIA H200", "unit": "TFLOP/s", …}

``gemm``         products of 8192 x 8192 in bf16 (before Ampere fp16), all GPUs at once, TFLOP/s:
                 20 after a second's rest, at the clock that the GPU has while it is cool
``gemm_sustained``  the same after hundreds of them, at the clock that power and cooling leave
``copy``         a copy within the GPU's memory, GB/s read and written, all GPUs at once
``to_device``, ``from_device``  from and to pinned memory of the host, GB/s, one GPU at a time
``peer``         from one GPU to another, GB/s, one pair at a time; ``to`` is the other GPU
``sm_clock``     MHz meanwhile, of ``max`` at most; with watts, degrees and what slows
                 it down then, by nvidia-smi where that is installed
``ecc``          uncorrected memory errors since the driver was loaded; ``remapping`` says what of
                 the rows that were replaced failed or waits for a reset

A product that is computed twice has to be the same to the bit, and one that is computed from the
same numbers on each GPU of one model, too; where it is not, the metric ``wrong`` says so.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # nvidia-smi counts so

import torch

PROGRAM = "precheck_gpus"
TRIAL = 20  # products between two looks at the clock
BURSTS = 3
REST_S = 1.0
QUERY = (
    "uuid,clocks.sm,clocks.max.sm,power.draw,temperature.gpu,clocks_throttle_reasons.active,"
    "ecc.errors.uncorrected.volatile.total"
)
REMAPPED = "uuid,remapped_rows.failure,remapped_rows.pending"


def say(metric, value, unit, **more):
    fact = dict(more, metric=metric, value=round(value, 4), unit=unit)
    print("precheck: " + json.dumps(fact, sort_keys=True), flush=True)


class Gpu:
    """One device; ``model`` and ``uuid`` as the driver says; an old PyTorch knows no ``uuid``."""

    def __init__(self, index):
        self.index = index
        self.device = torch.device("cuda", index)
        properties = torch.cuda.get_device_properties(index)
        self.model = properties.name
        uuid = str(getattr(properties, "uuid", ""))
        self.uuid = uuid if not uuid or uuid.startswith("GPU-") else "GPU-" + uuid
        bf16 = torch.cuda.get_device_capability(index) >= (8, 0)
        self.dtype = torch.bfloat16 if bf16 else torch.float16

    def say(self, metric, value, unit, **more):
        say(metric, value, unit, device=self.index, model=self.model, **more)

    def moment(self):
        with torch.cuda.device(self.device):
            event = torch.cuda.Event(enable_timing=True)
            event.record()
        return event

    def wait(self):
        torch.cuda.synchronize(self.device)

    @property
    def free(self):
        return torch.cuda.mem_get_info(self.index)[0]


def timed_together(gpus, work, trials, repeats, skip=0):
    """Median seconds of one ``work(gpu)`` on each GPU, all of them at once; ``skip``: trials that
    do not count."""
    moments = {gpu: [gpu.moment()] for gpu in gpus}
    for _ in range(trials):
        for gpu in gpus:
            with torch.cuda.device(gpu.device):
                for _ in range(repeats):
                    work(gpu)
            moments[gpu].append(gpu.moment())
    for gpu in gpus:
        gpu.wait()
    return {
        gpu: statistics.median(
            before.elapsed_time(after) / 1e3 / repeats
            for before, after in zip(own[skip:], own[skip + 1 :])  # noqa: B905 (Python 3.6)
        )
        for gpu, own in moments.items()
    }


def products(gpus, size, trials):
    generator = torch.Generator().manual_seed(20261121)  # on the CPU: the same on every GPU
    drawn = [torch.randn(size, size, generator=generator) for _ in range(2)]
    operands = {gpu: [numbers.to(gpu.device, gpu.dtype) for numbers in drawn] for gpu in gpus}
    results = {gpu: torch.empty_like(operands[gpu][0]) for gpu in gpus}

    def multiply(gpu):
        torch.mm(*operands[gpu], out=results[gpu])

    timed_together(gpus, multiply, 2, TRIAL)  # the first ones choose an algorithm, and warm up
    firsts = {gpu: results[gpu].clone() for gpu in gpus}
    bursts = []
    for _ in range(BURSTS):
        time.sleep(REST_S)
        bursts.append(timed_together(gpus, multiply, 1, TRIAL))
    telling = Telling(gpus)
    sustained = timed_together(gpus, multiply, trials, TRIAL, skip=trials // 2)
    telling.finish()
    for gpu in gpus:
        kind = "bf16" if gpu.dtype is torch.bfloat16 else "fp16"
        burst = statistics.median(seconds[gpu] for seconds in bursts)
        for metric, seconds in (("gemm", burst), ("gemm_sustained", sustained[gpu])):
            gpu.say(metric, 2 * size**3 / seconds / 1e12, "TFLOP/s", dtype=kind, size=size)
    check(firsts, results)


def check(firsts, results):
    """Whether what was computed twice, and on several GPUs of a model, is the same."""
    for gpu, first in firsts.items():
        differs = int((first != results[gpu]).sum().item())
        gpu.say("wrong", differs, "numbers", of="a product computed twice")
    votes = {}  # of each model, which GPUs agree
    for gpu, first in firsts.items():
        for group in votes.setdefault(gpu.model, []):
            if torch.equal(group[0], first.cpu()):
                group[1].append(gpu)
                break
        else:
            votes[gpu.model].append((first.cpu(), [gpu]))
    for groups in votes.values():
        most = max(len(members) for _, members in groups)
        if 2 * most <= sum(len(members) for _, members in groups):
            continue  # no majority: nobody can tell who is right
        right = next(result for result, members in groups if len(members) == most)
        for result, members in groups:
            for gpu in members if len(members) < most else ():
                differs = int((result != right).sum().item())
                gpu.say("wrong", differs, "numbers", of="a product that the other GPUs agree on")


def copies(gpus, most, trials):
    size = {gpu: min(most, gpu.free // 4) for gpu in gpus}
    buffers = {
        gpu: [torch.ones(size[gpu], dtype=torch.uint8, device=gpu.device) for _ in range(2)]
        for gpu in gpus
    }

    def copy(gpu):
        source, target = buffers[gpu]
        target.copy_(source)

    timed_together(gpus, copy, 1, 3)
    seconds = timed_together(gpus, copy, trials, 5)
    for gpu in gpus:
        gpu.say("copy", 2 * size[gpu] / seconds[gpu] / 1e9, "GB/s", bytes=size[gpu])


def host_copies(gpus, size, trials):
    pinned = torch.ones(size, dtype=torch.uint8).pin_memory()
    for gpu in gpus:
        there = torch.empty(size, dtype=torch.uint8, device=gpu.device)
        ways = (
            ("to_device", lambda _, there=there: there.copy_(pinned, non_blocking=True)),
            ("from_device", lambda _, there=there: pinned.copy_(there, non_blocking=True)),
        )
        for metric, work in ways:
            timed_together([gpu], work, 1, 1)
            seconds = timed_together([gpu], work, trials, 2)[gpu]
            gpu.say(metric, size / seconds / 1e9, "GB/s")


def peer_copies(gpus, size, trials):
    for first in gpus:
        source = torch.ones(size, dtype=torch.uint8, device=first.device)
        for second in gpus:
            if first is second:
                continue
            target = torch.empty(size, dtype=torch.uint8, device=second.device)

            def copy(_, source=source, target=target):
                target.copy_(source, non_blocking=True)

            timed_together([first], copy, 1, 1)
            seconds = timed_together([first], copy, trials, 2)[first]
            second.wait()
            direct = torch.cuda.can_device_access_peer(first.index, second.index)
            first.say("peer", size / seconds / 1e9, "GB/s", to=second.index, direct=direct)
            del target


# What nvidia-smi tells


def ask(fields):
    """Rows of cells by UUID; none where nvidia-smi is missing, hangs or knows a field not."""
    command = ["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == fields.count(",") + 1:
            rows[cells[0]] = cells[1:]
    return rows


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return None


class Telling:
    """Asks nvidia-smi in a thread of its own while the GPUs multiply, and says what it said."""

    def __init__(self, gpus):
        self.gpus = gpus
        self.rows = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self):
        while not self.over.wait(0.2):
            rows = ask(QUERY)
            if not rows:
                return
            if not self.over.is_set():  # else some of it is of when they had stopped
                self.rows.append(rows)

    def finish(self):
        self.over.set()
        self.thread.join()
        for place, gpu in enumerate(self.gpus):
            samples = [row for row in (self._row(rows, place, gpu) for rows in self.rows) if row]
            clocks = [value for value in (number(row[0]) for row in samples) if value is not None]
            if clocks:
                last = samples[-1]
                more = {
                    "max": number(last[1]),
                    "watts": number(last[2]),
                    "celsius": number(last[3]),
                }
                reasons = 0
                for row in samples:
                    try:
                        reasons |= int(row[4], 16)
                    except ValueError:
                        continue
                gpu.say("sm_clock", statistics.median(clocks), "MHz", slowed_by=reasons, **more)
            if samples and number(samples[-1][5]) is not None:
                gpu.say("ecc", number(samples[-1][5]), "errors")
        remapped = ask(REMAPPED)
        for place, gpu in enumerate(self.gpus):
            row = self._row(remapped, place, gpu)
            names = ("failed", "pending")
            states = [name for name, cell in zip(names, row or ()) if cell == "Yes"]  # noqa: B905
            if row and not all("N/A" in cell or "Not" in cell for cell in row):
                gpu.say("remapping", len(states), "states", states=states)

    def _row(self, rows, place, gpu):
        if gpu.uuid in rows:
            return rows[gpu.uuid]
        # An old PyTorch knows no UUID: by place, where both see as many.
        if not gpu.uuid and len(rows) == len(self.gpus):
            return list(rows.values())[place]
        return None


def main():
    parser = argparse.ArgumentParser(
        prog=PROGRAM + ".py", description="How fast the GPUs of this host and their links are."
    )
    parser.add_argument("--size", type=int, default=8192, help="rows of the matrices (8192)")
    parser.add_argument("--trials", type=int, default=60, help="of 20 products each (60)")
    parser.add_argument("--copy-mib", type=int, default=4096, help="copied within a GPU (4096)")
    parser.add_argument("--link-mib", type=int, default=512, help="copied over a link (512)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("%s: PyTorch %s sees no GPU" % (PROGRAM, torch.__version__))
    gpus = [Gpu(index) for index in range(torch.cuda.device_count())]
    print(
        "environment: torch %s, cuda %s, %d x %s"
        % (torch.__version__, torch.version.cuda, len(gpus), gpus[0].model),
        flush=True,
    )
    copies(gpus, options.copy_mib << 20, 10)
    torch.cuda.empty_cache()
    products(gpus, options.size, options.trials)
    torch.cuda.empty_cache()
    host_copies(gpus, options.link_mib << 20, 5)
    if len(gpus) > 1:
        peer_copies(gpus, options.link_mib << 20, 3)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:  # what CUDA says: its first line
        sys.exit("%s: %s" % (PROGRAM, str(error).strip().splitlines()[0]))
