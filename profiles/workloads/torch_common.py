"""What the PyTorch workloads share: ranks and devices, precision, memory, where a step's time goes.

Lies beside the workload that imports it, wherever that is shipped to. Needs PyTorch 1.10 or newer
and nothing else. One process per device, started by torchrun (RANK, LOCAL_RANK, WORLD_SIZE in the
environment); without torchrun it is one process on one device. NCCL where there are GPUs, gloo on
CPUs, where a device is a core.

With DLPERF_PROFILE=1 in the environment a workload takes PROFILED_STEPS steps more, under
torch.profiler, and every rank prints where its time went, in seconds per step, each of them once::

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
from collections import deque, namedtuple

import torch
import torch.distributed as dist
import torch.profiler
from torch.autograd import DeviceType

PROFILED_STEPS = 10
KERNELS_NAMED = 20
NAME_LENGTH = 160  # of a kernel; templates have names of thousands of characters


class Place(namedtuple("Place", "rank local_rank world_size launched device")):
    """Which process this is, and its device; ``launched``: by torchrun."""

    @property
    def backend(self):
        if not self.launched:
            return "none"
        return "nccl" if self.device.type == "cuda" else "gloo"


def find_place(program, wanted):
    """Tell this process's rank and device; exits with one line when there is no such device.

    ``wanted``: "cuda", "cpu", or "auto": GPUs if any.
    """
    launched = "WORLD_SIZE" in os.environ
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    return Place(
        rank=int(os.environ.get("RANK", "0")),
        local_rank=local_rank,
        world_size=int(os.environ.get("WORLD_SIZE", "1")),
        launched=launched,
        device=pick_device(program, wanted, local_rank),
    )


def print_line(text):
    """In one piece: print() may write a line and its end apart, and another rank between them."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def keep_flight_records(place):
    """Have NCCL's last collectives kept, and told when somebody writes to a pipe.

    Before init_process_group. PyTorch does the first by itself since 2.7; what the environment says
    stands. The pipe and the dumps lie where the process was started, by rank.
    """
    if place.backend != "nccl":
        return
    size, dumps = "TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE"
    older = "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9):  # which warns of these names
        size, dumps = older
    for name, older_name, value in (
        (size, older[0], "100"),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "", "1"),
        ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "", "dlperf_flight_"),
        (dumps, older[1], "dlperf_flight_"),
    ):
        if older_name not in os.environ:
            os.environ.setdefault(name, value)


def pick_device(program, wanted, local_rank):
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cpu" or (wanted == "auto" and not available):
        return torch.device("cpu")
    if local_rank >= available:
        fail(
            program,
            "local rank %d has no GPU: PyTorch sees %d on this host" % (local_rank, available),
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def fail(program, text):
    sys.exit("%s: %s" % (program, text))


def ampere(device):
    """Whether the device has tensor cores for tf32 and bfloat16."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


def allow_tf32(allowed):
    """TF32 exactly where it is asked for: PyTorch lets cuDNN use it, which would not be fp32."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def peak_memory_mib(device):
    """What PyTorch had allocated at most on a GPU, or the process's resident set on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) // 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # KiB on Linux


def facts(place):
    """Versions and devices, each as a phrase."""
    found = [
        "python %s" % platform.python_version(),
        "torch %s" % torch.__version__,
        "backend %s" % place.backend,
        "world size %d" % place.world_size,
    ]
    if place.device.type == "cuda":
        found.append("cuda %s" % torch.version.cuda)
        found.append("cudnn %s" % torch.backends.cudnn.version())
        if dist.is_nccl_available():
            found.append("nccl %s" % ".".join(str(part) for part in torch.cuda.nccl.version()))
        found.append("gpu %s" % torch.cuda.get_device_name(place.device))
    else:
        found.append("%d threads per device" % torch.get_num_threads())
    return found


def finished(device):
    """When the device has done all that it was told to, in seconds."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class HostMoment:
    """What torch.cuda.Event is for a GPU: on a CPU all that was asked for has been done."""

    def record(self):
        self.at = time.perf_counter()

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        """In milliseconds."""
        return (later.at - self.at) * 1e3


def moment_now(device):
    on_gpu = device.type == "cuda"
    moment = torch.cuda.Event(enable_timing=True) if on_gpu else HostMoment()
    moment.record()
    return moment


class Laps:
    """How long some steps took, and the last one's loss, by the clock of who takes them.

    A GPU notes the moment itself and is asked for it later. Waiting for it instead would leave it
    without work until the host has told it enough again, and that would be part of the figure.
    """

    def __init__(self, device):
        self.device = device
        self.open = deque()
        finished(device)
        self.before = moment_now(device)

    def end(self, number, loss):
        """The steps up to ``number`` end here, the last of them with this loss."""
        # In pinned memory: a GPU gets to it when it is through with the step, and nobody waits.
        self.open.append(
            (number, loss.detach().to("cpu", non_blocking=True), moment_now(self.device))
        )

    def ended(self, wait=False):
        """Take out number, loss and seconds of the laps that are over; ``wait``: until all are."""
        while self.open and (wait or self.open[0][-1].query()):
            number, loss, moment = self.open.popleft()
            moment.synchronize()
            seconds = self.before.elapsed_time(moment) / 1e3
            self.before = moment
            yield number, loss.item(), seconds


class OwnTime:
    """How long a rank takes of its own per step, and prints with every lap::

        own: rank 1, step 40, ms: 61.204

    A step takes as long on every rank, as all exchange gradients in it. Own is the time from the
    end of one step, which is behind the exchange, until the last gradient of the next is made,
    which is before the exchange of it: the others wait for the rank where that is longest. The
    gradients of the first two parameters are the last to be made. A GPU notes the moments itself,
    in some microseconds of the host's time; nobody waits for it, and no rank for another.

    For DistributedDataParallel. FSDP2 exchanges in the middle of all this, so that a rank's own
    time would hold the wait for others; of a CUDA graph the moments inside cannot be taken.
    """

    def __init__(self, place, model, possible=True):
        parts = getattr(model, "module", None)  # of DistributedDataParallel
        self.active = possible and place.world_size > 1 and parts is not None
        self.place = place
        self.began = self.ready = None
        self.steps = []
        self.laps = deque()
        if self.active:
            for parameter in list(parts.parameters())[:2]:
                parameter.register_hook(self._gradient_made)

    def _gradient_made(self, gradient):
        if self.began is not None:
            self.ready = moment_now(self.place.device)

    def step_ended(self):
        if not self.active:
            return
        if self.ready is not None:
            self.steps.append((self.began, self.ready))
        self.ready = None
        self.began = moment_now(self.place.device)

    def lap_ended(self, number):
        """The steps up to ``number`` are to be told together."""
        if self.steps:
            self.laps.append((number, self.steps))
            self.steps = []

    def tell(self, wait=False):
        """Print the laps that are over; ``wait``: until all are."""
        while self.laps and (wait or self.laps[0][1][-1][1].query()):
            number, steps = self.laps.popleft()
            steps[-1][1].synchronize()
            spent = sum(began.elapsed_time(ready) for began, ready in steps) / len(steps)
            print_line("own: rank %d, step %d, ms: %.3f" % (self.place.rank, number, spent))


def train(options, step, place, own, report):
    """Take the steps; ``report`` prints number, loss and seconds of ``print_every`` of them."""
    laps = Laps(place.device)
    for number in range(1, options.iterations + 1):
        loss = step()
        own.step_ended()
        if number % options.print_every == 0:
            own.lap_ended(number)
            if place.rank == 0:
                laps.end(number, loss)
        own.tell()
        for lap in laps.ended():
            report(*lap)
    own.tell(wait=True)
    for lap in laps.ended(wait=True):
        report(*lap)


def positive(text):
    """An argument that counts something."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("%s is below 1" % text)
    return value


def profile_if_asked(step, place):
    """Take PROFILED_STEPS steps and print where this rank's time went, if DLPERF_PROFILE is 1.

    ``step`` takes a maker of contexts, which it enters while it waits for the next batch.
    """
    if os.environ.get("DLPERF_PROFILE") != "1":
        return
    device = place.device
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
    events = profiler.events()
    spent = [seconds / PROFILED_STEPS for seconds in where_time_went(events, device)]
    print_line(
        "profile: rank %d, steps %d, step %.6f, compute %.6f, communication %.6f, input %.6f"
        % (place.rank, PROFILED_STEPS, *spent),
    )
    if place.rank == 0:
        for name, seconds, launches in costliest_kernels(events)[:KERNELS_NAMED]:
            each = (seconds / PROFILED_STEPS, launches / PROFILED_STEPS, name[:NAME_LENGTH])
            print_line("kernel: %.6f s, %.1f in a step, %s" % each)


STEPS = "dlperf: steps"
WAITING = "dlperf: waiting for input"
COMPUTING = ("aten::", "autograd::", "Optimizer.step", "Torch-Compiled Region")  # on a CPU


def where_time_went(events, device):
    """Seconds in all, of them computing, in exposed communication, waiting for input."""
    on_host, on_device = by_place(events)
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


def costliest_kernels(events):
    """(name, seconds in all, launches) of what the device did in the steps, the costliest first."""
    on_host, on_device = by_place(events)
    began, ended = merged(e for e in on_host if e.name == STEPS)[0]
    kernels = {}
    for event in on_device:
        start, end = event.time_range.start, event.time_range.end
        if began <= start < ended:
            seconds, launches = kernels.get(event.name, (0.0, 0))
            kernels[event.name] = (seconds + (end - start) / 1e6, launches + 1)
    every = [(name, seconds, launches) for name, (seconds, launches) in kernels.items()]
    return sorted(every, key=lambda kernel: -kernel[1])


def by_place(events):
    """What the process did, and what the device did."""
    on_host = [event for event in events if event.device_type == DeviceType.CPU]
    names = {event.name for event in on_host}
    # Annotations are repeated among what the device did, under the names that they have here;
    # but torch.compile's launches have here the names of the kernels that they launch.
    names = {name for name in names if not name.startswith("triton_")}
    on_device = [e for e in events if e.device_type == DeviceType.CUDA and e.name not in names]
    return on_host, on_device


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
