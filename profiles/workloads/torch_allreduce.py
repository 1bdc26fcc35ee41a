#!/usr/bin/env python3
"""Bus bandwidth and latency of torch.distributed's all-reduce, over sizes and process groups.

Needs PyTorch 2.0 or newer and torch_common.py beside it. One process per device, started by
torchrun, which also tells how many there are on a host (LOCAL_WORLD_SIZE in the environment). NCCL
where there are GPUs, gloo on CPUs, where a device is a core. Sizes are all powers of two from
--min-size to --max-size, in bytes of the tensor: 4 KiB to 4 GiB on GPUs, to 16 MiB on CPUs. Three
kinds of groups take their turns:

    all       all ranks
    host0 …   the ranks of one host, all hosts at the same time, where there are several
    across0 … rank i of every host, all i at the same time, as training in two dimensions does

The tensor is a part of one flat buffer, summed in place. It holds random numbers: zeros would flip
fewer bits and draw less power, which flatters a GPU at its power limit. Dividing it by the number
of ranks before each trial keeps sums finite, and is the work that precedes a collective.

A trial begins with all ranks at one point, a barrier; then each divides, and its clock runs from
there to the end of its all-reduce. On GPUs these are CUDA events, and the barrier is an all-reduce
of one number: all of it is queued, so that no host waits between launch and end and the time that
is taken is the device's. On CPUs, where there is no queue, it is dist.barrier and perf_counter. The
time of a trial is that of the rank which took longest, so it has the wait for the last in it::

    bus bandwidth = bytes / time × 2(n−1)/n         as nccl-tests defines it; GB are 10^9 bytes

Nobody leaves an all-reduce before all have entered it, and all leave it at about the same time. So
the rank that waited least entered last: its lateness is how much less time it took than the others
did in the median, which needs no clock that hosts have in common. A group's straggler is the rank
that is latest in the median of the trials. In a healthy group that is chance, by microseconds, and
it was last in about one of n trials. What makes a rank late inside the collective is not seen.

Rank 0 prints one line for each group and size, and first, for the largest size of all ranks, one
for each trial::

    trial: group all, bytes 4294967296, trial 1, time 12489.410 us, busbw 343.8888 GB/s
    all-reduce: group all, ranks 2, bytes 4294967296, trials 20, median 12480.325 us, p99 …,
        algbw 344.1391 GB/s, busbw 344.1391 GB/s, straggler rank 1 host 0, late 2.912 us, last in 11

(this in one). p99 is the nearest rank: of fewer than 100 trials the slowest. At the end each group
has a line with its bus bandwidth at the largest size, that of all ranks being the very last. Small
sizes tell the latency, which on GPUs has PyTorch's time to launch in it. A size that does not fit
into the memory of the device with least is left out, and a line says so.
"""

# ruff: noqa: B905 - zip(strict=) came with Python 3.10, and PyTorch 2.0 runs on 3.8

import argparse
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch_common as common

PROGRAM = "torch_allreduce"
ROUND = 10  # trials that are queued, and then told, together
HEADROOM = 512 * 2**20  # bytes of a GPU's memory that are left to NCCL and PyTorch
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
ITEM_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
ALL = "all"


# Arithmetic


def sizes(smallest, largest):
    """Every power of two from one to the other, both included."""
    return [2**n for n in range(smallest.bit_length() - 1, largest.bit_length())]


def groups(world_size, per_host):
    """Kinds of groups that take their turns: of each the groups, by name, as lists of ranks."""
    hosts = world_size // per_host
    kinds = [{ALL: list(range(world_size))}]
    if hosts > 1 and per_host > 1:
        each = [list(range(host * per_host, (host + 1) * per_host)) for host in range(hosts)]
        kinds.append({"host%d" % host: ranks for host, ranks in enumerate(each)})
        rails = [list(range(local, world_size, per_host)) for local in range(per_host)]
        kinds.append({"across%d" % local: ranks for local, ranks in enumerate(rails)})
    return kinds


def bus_bandwidth(size, seconds, ranks):
    """GB/s of 10^9 bytes; nccl-tests, doc/PERFORMANCE.md."""
    return size / seconds / 1e9 * 2 * (ranks - 1) / ranks


def nearest_rank(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    needed = -int(-share * len(values) // 1)  # rounded up
    return sorted(values)[max(needed, 1) - 1]


def straggler(times):
    """Who entered last: (index of the rank, seconds that it was late, trials that it was last in).

    ``times``: of each rank, the seconds that each trial took it.
    """
    late, last = [[] for _ in times], [0] * len(times)
    middle = (len(times) - 2) // 2, (len(times) - 1) // 2  # of the others, in order
    for trial in zip(*times):
        order = sorted(range(len(trial)), key=trial.__getitem__)
        last[order[0]] += 1
        for position, rank in enumerate(order):
            others = [trial[order[at + (at >= position)]] for at in middle]
            late[rank].append(sum(others) / 2 - trial[rank])
    lateness = [statistics.median(each) for each in late]
    found = max(range(len(times)), key=lateness.__getitem__)
    return found, lateness[found], last[found]


class Result:
    """What a group's trials of one size come to. ``times``: see :func:`straggler`."""

    def __init__(self, name, ranks, size, times, per_host):
        self.name, self.size, self.count = name, size, len(ranks)
        slowest = [max(trial) for trial in zip(*times)]
        self.trials = len(slowest)
        self.median, self.p99 = statistics.median(slowest), nearest_rank(slowest, 0.99)
        self.busbw = bus_bandwidth(size, self.median, self.count)
        index, self.late, self.last = straggler(times)
        self.rank, self.host = ranks[index], ranks[index] // per_host

    def line(self):
        return (
            "all-reduce: group %s, ranks %d, bytes %d, trials %d, median %.3f us, p99 %.3f us, "
            "algbw %.4f GB/s, busbw %.4f GB/s, straggler rank %d host %d, late %.3f us, last in %d"
        ) % (
            *(self.name, self.count, self.size, self.trials, self.median * 1e6, self.p99 * 1e6),
            *(self.size / self.median / 1e9, self.busbw),
            *(self.rank, self.host, self.late * 1e6, self.last),
        )

    def last_line(self):
        return (
            "result: group %s, ranks %d, bytes %d, busbw %.4f GB/s "
            "(bytes / median time of %d trials x 2(n-1)/n, n = %d, GB = 10^9 bytes)"
        ) % (self.name, self.count, self.size, self.busbw, self.trials, self.count)


# Measuring


def say(line):
    """Print at once, from rank 0 alone."""
    if dist.get_rank() == 0:
        print(line, flush=True)


def tensor_type(dtype):
    return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]


def describe(place, hosts, dtype):
    clock = "CUDA events" if place.device.type == "cuda" else "perf_counter after a barrier"
    return ", ".join([*common.facts(place), "hosts %d" % hosts, dtype, "timed by " + clock])


def join(kinds, device):
    """Make the groups; return, of each kind, the one that this rank is in.

    Every group adds up its ranks once, which also has the backend open its connections.
    """
    joined = []
    for kind in kinds:
        for name, ranks in kind.items():
            handle = dist.group.WORLD if name == ALL else dist.new_group(ranks)
            if dist.get_rank() not in ranks:
                continue
            joined.append(handle)
            total = torch.full((1,), float(dist.get_rank()), device=device)
            dist.all_reduce(total, group=handle)
            if total.item() != sum(ranks):
                found = (name, total.item(), sum(ranks))
                common.fail(PROGRAM, "group %s: its ranks add up to %g, not %d" % found)
    return joined


def free_bytes(device, per_host):
    """What the rank with the least memory has for its tensor."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0] - HEADROOM
    else:
        with open("/proc/meminfo") as file:
            (available,) = [line.split()[1] for line in file if line.startswith("MemAvailable:")]
        free = int(available) * 1024 // per_host // 2  # gloo may need as much again
    least = torch.tensor([free], dtype=torch.int64, device=device)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    return int(least.item())


def prepare(tensor, ranks):
    """What a rank does between the barrier and the collective: it keeps sums from growing."""
    tensor.mul_(1.0 / ranks)


def on_gpu(tensor, group, ranks, trials):
    """Seconds that each trial took this rank's GPU."""
    one = torch.zeros(1, device=tensor.device)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * trials)]
    pairs = list(zip(events[::2], events[1::2]))
    for begin, end in pairs:
        dist.all_reduce(one, group=group)
        prepare(tensor, ranks)
        begin.record()
        dist.all_reduce(tensor, group=group)
        end.record()
    torch.cuda.synchronize(tensor.device)
    return [begin.elapsed_time(end) / 1e3 for begin, end in pairs]


def on_cpu(tensor, group, ranks, trials):
    """Seconds that each trial took this process."""
    times = []
    for _ in range(trials):
        dist.barrier(group=group)
        prepare(tensor, ranks)
        begin = time.perf_counter()
        dist.all_reduce(tensor, group=group)
        times.append(time.perf_counter() - begin)
    return times


def of_all_ranks(times, device):
    own = torch.tensor(times, dtype=torch.float64, device=device)
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    return [each.tolist() for each in every]


def measure(options, tensor, group, kind, telling):
    """Time the tensor in this rank's group; return every rank's seconds of each trial.

    ``telling``: a line for each trial, as soon as it is known.
    """
    timed = on_gpu if tensor.device.type == "cuda" else on_cpu
    ranks = len(next(iter(kind.values())))  # every group of a kind has as many
    size = tensor.numel() * tensor.element_size()
    timed(tensor, group, ranks, options.warmup)
    times = [[] for _ in range(dist.get_world_size())]
    while len(times[0]) < options.trials:
        trials = min(ROUND, options.trials - len(times[0]))
        found = of_all_ranks(timed(tensor, group, ranks, trials), tensor.device)
        for so_far, more in zip(times, found):
            so_far.extend(more)
        for number, trial in enumerate(zip(*found), len(times[0]) - trials + 1):
            if telling:
                told = (size, number, max(trial) * 1e6, bus_bandwidth(size, max(trial), ranks))
                say("trial: group all, bytes %d, trial %d, time %.3f us, busbw %.4f GB/s" % told)
    return times


def run(options, place, per_host):
    device = place.device
    kinds = groups(place.world_size, per_host)
    say("environment: " + describe(place, place.world_size // per_host, options.dtype))
    joined = join(kinds, device)
    fitting = fitting_sizes(options, free_bytes(device, per_host))
    item = ITEM_BYTES[options.dtype]
    torch.manual_seed(place.rank)
    # One buffer for all sizes, so that none is measured in memory that was just given out.
    buffer = torch.randn(fitting[-1] // item, dtype=tensor_type(options.dtype), device=device)
    largest = []
    for kind, group in zip(kinds, joined):
        for size in fitting:
            telling = ALL in kind and size == fitting[-1]
            times = measure(options, buffer[: size // item], group, kind, telling)
            if place.rank:
                continue
            for name, ranks in kind.items():
                result = Result(name, ranks, size, [times[rank] for rank in ranks], per_host)
                say(result.line())
                if size == fitting[-1]:
                    largest.append(result)
    for result in (*largest[1:], *largest[:1]):  # all ranks began, and have the last word
        say(result.last_line())


def fitting_sizes(options, free):
    wanted = sizes(options.min_size, options.max_size)
    fitting = [size for size in wanted if size <= free]
    left_out = ", ".join(str(size) for size in wanted if size > free)
    least = "bytes %s: the device with least has %d free" % (left_out, free)
    if not fitting and dist.get_rank():
        sys.exit(1)  # rank 0 says why
    if not fitting:
        common.fail(PROGRAM, "no size fits: " + least)
    if left_out:
        say("left out: " + least)
    return fitting


# The command line


def byte_count(text):
    """``4K``, ``4G``: a power of two."""
    digits, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in UNITS else (text, "")
    if not (digits.isascii() and digits.isdigit()):
        raise argparse.ArgumentTypeError("%r is not a size: write 4096, 4K, 16M or 4G" % text)
    value = int(digits) * UNITS.get(unit, 1)
    if value < 4 or value & (value - 1):
        raise argparse.ArgumentTypeError("%s is not a power of two of 4 bytes or more" % text)
    return value


def size_or_auto(text):
    return None if text == "auto" else byte_count(text)


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        prog="torch_allreduce.py",
        description="Bus bandwidth and latency of torch.distributed's all-reduce over sizes.",
    )
    add = parser.add_argument
    add("--min-size", type=byte_count, default=2**12, help="smallest tensor in bytes (4K)")
    add("--max-size", type=size_or_auto, help="largest (auto: 4G on GPUs, 16M on CPUs)")
    add("--dtype", choices=["auto", *ITEM_BYTES], default="auto", help="auto: bf16, fp32 on CPUs")
    add("--trials", type=common.positive, default=20, help="timed all-reduces of each size (20)")
    add("--warmup", type=common.positive, default=5, help="and before them (5)")
    add("--device", choices=["auto", "cuda", "cpu"], default="auto", help="auto: GPUs if any")
    options = parser.parse_args(arguments)
    if options.max_size is not None and options.max_size < options.min_size:
        parser.error("--max-size is below --min-size: nothing would be measured")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    place = common.find_place(PROGRAM, options.device)
    per_host = int(os.environ.get("LOCAL_WORLD_SIZE", str(place.world_size)))
    if place.world_size < 2:
        common.fail(PROGRAM, "one process has nobody to reduce with: start two or more by torchrun")
    if place.world_size % per_host:
        common.fail(PROGRAM, "%d ranks are not %d on every host" % (place.world_size, per_host))
    on_gpus = place.device.type == "cuda"
    if options.max_size is None:
        options.max_size = max(2**32 if on_gpus else 2**24, options.min_size)
    if options.dtype == "auto":
        options.dtype = "bf16" if on_gpus else "fp32"
    if not on_gpus:
        torch.set_num_threads(1)
    common.keep_flight_records(place)
    dist.init_process_group(place.backend)
    run(options, place, per_host)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
