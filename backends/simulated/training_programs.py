"""The four training programs that the demo's hosts have: what each prints, and how fast it is by
the reports of DLPerf and PaddlePaddle/Perf on hosts with eight V100.

A script says all that they go by: which program, how many devices, batch, precision.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum

from backends.simulated.fake_run import FOREVER, HOLD, MADE_UP, Child, GpuLoad, Throttling, Workload
from profiles.logs.failures import SIMULATED_LOG

FIRST_LINE = f"{SIMULATED_LOG}, dlperf-tui demo made this log up\n"
NOT_FOUND = 127
THERMAL = 0x20
"""nvidia-smi's mask of a software thermal slowdown."""
LAUNCH_S, LEAVES_S = 6.0, 3.0
REPEATS_DIFFER, STEPS_DIFFER = 0.003, 0.002
"""Standard deviations, as parts of the throughput."""
THROTTLED_BY = 0.14

Scales = Mapping[int, float]
"""images/s by number of GPUs."""


class Misfortune(Enum):
    """What may happen to a run."""

    THROTTLED = "throttled"
    OUT_OF_MEMORY = "out of memory"
    STALLS = "stalls"


@dataclass(frozen=True, slots=True)
class Job:
    """What a script asks for. ``gpus``: of all hosts; ``devices``: of the one that executes it,
    which is the ``node``-th."""

    gpus: int
    devices: tuple[int, ...]
    batch_size: int
    precision: str
    node: int = field(default=0, repr=False)  # all of them print the same
    command: str = field(default="", repr=False)  # of its ranks


@dataclass(frozen=True, slots=True)
class Printed:
    """A reading: its number from 0, the step, images/s, seconds of a step, and when."""

    number: int
    step: int
    value: float
    step_s: float
    at: datetime


@dataclass(frozen=True, slots=True)
class Program:
    """One of them.

    Parameters
    ----------
    mark: what tells its command line from others.
    figures: by batch size and precision; where there is none, the nearest batch's.
    gpus: of all hosts, from the script and the devices of this one.
    batch: finds the batch in the script; of all devices of a host if ``of_host``.
    amp: the option that makes it mixed precision.
    steps: those that it prints a reading of; the first is of ``steps[0]`` steps.
    slow_first: by how much the first readings are too low, one part each.
    startup_s: until its first step.
    head, tail: text before and after; ``tail`` is given the mean of all readings.
    """

    framework: str
    mark: str
    figures: Mapping[tuple[int, str], Scales]
    gpus: Callable[[str, int], int]
    batch: re.Pattern[str]
    line: Callable[[Printed], str]
    steps: range
    startup_s: float
    memory_mib: int
    amp: str = "no mixed precision"
    of_host: bool = False
    slow_first: tuple[float, ...] = ()
    head: Callable[[Job], str] = lambda job: ""
    tail: Callable[[float], str] = lambda mean: ""

    def job(self, script: str) -> Job | None:
        """What the script asks of this program; None: it is another's."""
        batch = self.batch.search(script)
        if self.mark not in script or batch is None:
            return None
        devices = _devices(script)
        size = int(batch[1]) // (max(1, len(devices)) if self.of_host else 1)
        precision = "amp" if self.amp in script else "fp32"
        node = _number(script, r"--node_rank (\d+)", 0)
        gpus = self.gpus(script, len(devices))
        return Job(gpus, devices, size, precision, node, _command(script))

    def workload(
        self, job: Job, seed: object, began: float, misfortune: Misfortune | None
    ) -> Workload:
        """``seed``: the same gives the same log. ``began``: seconds since the epoch."""
        lines, ends_after_s, slowed_after_s = self._lines(job, seed, began, misfortune)
        throttling = None
        if misfortune is Misfortune.THROTTLED:
            throttling = Throttling(job.devices[-1], slowed_after_s, THERMAL, sm_clock_mhz=1215)
        load = GpuLoad(
            job.devices,
            memory_mib=self.memory_mib,
            power_w=250.0 if job.precision == "fp32" else 274.0,
            throttling=throttling,
        )
        stalls = misfortune is Misfortune.STALLS
        return Workload(
            output=lambda: iter(lines),
            ends_after_s=FOREVER if stalls else ends_after_s,
            exit_status=1 if misfortune is Misfortune.OUT_OF_MEMORY else 0,
            load=replace(load, gpus=()),  # its ranks are there
            children=_ranks(job, load, ends_after_s - LEAVES_S, stalls=stalls),
            command=job.command,
        )

    def _lines(
        self, job: Job, seed: object, began: float, misfortune: Misfortune | None
    ) -> tuple[list[tuple[float, bytes]], float, float]:
        """With when they are printed; when the last is, and when a GPU begins to be throttled."""
        chance = random.Random(repr(seed))  # noqa: S311 (noise, no secret)
        level = self._level(job) * (1 + chance.gauss(0.0, REPEATS_DIFFER))
        at, values, slowed_after_s = self.startup_s, [], FOREVER
        lines = [(0.0, FIRST_LINE.encode()), (LAUNCH_S, self.head(job).encode())]
        printed = len(self.steps)
        if misfortune is Misfortune.OUT_OF_MEMORY:
            printed = 1
        elif misfortune is Misfortune.STALLS:
            printed = printed * 2 // 5
        for number, step in enumerate(self.steps[:printed]):
            value = level * (1 + chance.gauss(0.0, STEPS_DIFFER))
            if number < len(self.slow_first):
                value *= 1 - self.slow_first[number]
            if misfortune is Misfortune.THROTTLED and number >= len(self.steps) * 2 // 5:
                slowed_after_s = min(slowed_after_s, at)
                value *= 1 - THROTTLED_BY
            step_s = job.batch_size * job.gpus / value
            at += step_s * (step if number == 0 else self.steps.step)
            values.append(value)
            when = datetime.fromtimestamp(began, UTC) + timedelta(seconds=at)
            lines.append(
                (at, f"{self.line(Printed(number, step, value, step_s, when))}\n".encode())
            )
        if misfortune is Misfortune.OUT_OF_MEMORY:
            lines.append((at, _OUT_OF_MEMORY.encode()))
        elif misfortune is not Misfortune.STALLS:
            lines.append((at, self.tail(sum(values) / len(values)).encode()))
        return lines, at + LEAVES_S, slowed_after_s

    def _level(self, job: Job) -> float:
        def unlike(known: tuple[int, str]) -> tuple[bool, int]:
            return known[1] != job.precision, abs(known[0] - job.batch_size)

        return interpolated(self.figures[min(self.figures, key=unlike)], job.gpus)


def _ranks(job: Job, load: GpuLoad, prints_s: float, *, stalls: bool) -> tuple[Child, ...]:
    """A process per device, which leaves when all is printed; of those that stall one of all hosts'
    stops to read its data."""
    first, hangs = job.node * len(job.devices), job.gpus * 5 // 8
    return tuple(
        Child(
            rank=rank,
            lives_s=FOREVER if stalls else prints_s,
            load=replace(load, gpus=(device,)),
            hangs_after_s=prints_s if stalls and rank == hangs else FOREVER,
        )
        for rank, device in enumerate(job.devices, first)
    )


def interpolated(known: Scales, gpus: int) -> float:
    """Between two known scales evenly on logarithms; beyond them per GPU as at the last."""
    below = max((scale for scale in known if scale <= gpus), default=min(known))
    above = min((scale for scale in known if scale >= gpus), default=max(known))
    if below == above:
        return known[below] * gpus / below
    part = math.log(gpus / below) / math.log(above / below)
    return float(known[below] ** (1 - part) * known[above] ** part)


def _devices(script: str) -> tuple[int, ...]:
    found = re.search(r'"device=([\d,]+)"', script) or re.search(
        r"CUDA_VISIBLE_DEVICES='?([\d,]+)", script
    )
    return tuple(map(int, found[1].split(","))) if found else (0,)


def _command(script: str) -> str:
    """Of a rank: what starts it, ``mpiexec`` or ``./multiproc.py``, names its program last."""
    programs = re.findall(r"[^\s'\"]+[.]py\b", script)
    return f"python3 {programs[-1]} --SIMULATED" if programs else MADE_UP


def _number(script: str, pattern: str, otherwise: int = 1) -> int:
    found = re.search(pattern, script)
    return int(found[1]) if found else otherwise


_OUT_OF_MEMORY = """\
Traceback (most recent call last):
paddle.fluid.core_avx.EnforceNotMet:

----------------------
Error Message Summary:
----------------------
Out of memory error on GPU 0. Cannot allocate 392.000244MB memory on GPU 0, available memory is \
only 206.750000MB.
"""


def _dll(at: datetime) -> str:
    return f"DLL {at:%Y-%m-%d %H:%M:%S.%f} -"


def _oneflow(said: Printed) -> str:
    loss = 1.05 + 5.5 * math.exp(-said.number / 2)
    right = 1 - math.exp(-said.number)
    return (
        f"train: epoch 0, iter {said.step}, loss: {loss:.6f}, top_1: {right:.6f}, "
        f"top_k: {math.sqrt(right):.6f}, samples/s: {said.value:.3f}"
    )


def _paddle(said: Printed) -> str:
    when = f"{said.at:%Y-%m-%d %H:%M:%S},{said.at.microsecond // 1000:03d}"
    loss = 6.7 + 0.4 * math.exp(-said.number / 30)
    return (
        f"{when}-INFO: [Pass 0, train batch {said.step}] \tloss {loss:.5f}, lr 0.12800, "
        f"elapse {said.step_s:.4f} sec"
    )


def _tensorflow(said: Printed) -> str:
    return f"{_dll(said.at)} (0, {said.step}) total_ips : {said.value} "


def _pytorch(said: Printed) -> str:
    loss = 6.9 - 0.015 * said.number
    return (
        f"{_dll(said.at)} Epoch: 0 Iteration: {said.step}  train.loss : {loss:.5f} None "
        f"train.compute_ips : {1.003 * said.value:.2f} images/s train.total_ips : "
        f"{said.value:.2f} images/s train.lr : 0.1  train.grad_scale : 256.00000 None"
    )


_TENSORFLOW_FP32 = {1: 414.73, 8: 3275.93, 32: 12671.9}
_TENSORFLOW_AMP = {1: 1173.38, 8: 9310.31, 32: 33317.67}
_PYTORCH_AMP = 859.24  # on one GPU; nothing larger is in its report: it scales as TensorFlow does


def _as_tensorflow(scales: Scales) -> Scales:
    return {gpus: _PYTORCH_AMP * value / _TENSORFLOW_AMP[1] for gpus, value in scales.items()}


PROGRAMS = (
    Program(
        framework="OneFlow",
        mark="of_cnn_train_val.py",
        figures={
            (128, "fp32"): {
                1: 383.760,
                2: 747.295,
                4: 1497.618,
                8: 2942.321,
                16: 5839.054,
                32: 11548.451,
            },
            (160, "fp32"): {
                1: 382.324,
                2: 755.956,
                4: 1494.733,
                8: 3016.431,
                16: 5877.289,
                32: 11623.889,
            },
        },
        gpus=lambda script, devices: _number(script, r"--num_nodes=(\d+)") * devices,
        batch=re.compile(r"--batch_size_per_device=(\d+)"),
        line=_oneflow,
        steps=range(20, 201, 20),
        startup_s=18.0,
        memory_mib=12871,
        slow_first=(0.25,),
    ),
    Program(
        framework="PaddlePaddle",
        mark="--model=ResNet50",
        figures={
            (128, "fp32"): {1: 352.23, 2: 633.65, 4: 1357.45, 8: 2621.2, 16: 4890.44, 32: 9311.85}
        },
        gpus=lambda script, devices: (
            devices * (1 + _found(script, r"--cluster_node_ips=(\S+)").count(","))
        ),
        batch=re.compile(r"--batch_size=(\d+)"),
        of_host=True,
        line=_paddle,
        steps=range(1, 121),
        startup_s=12.0,
        memory_mib=15632,
        slow_first=(0.9, 0.2, 0.1),
    ),
    Program(
        framework="NGC TensorFlow",
        mark="--mode=training_benchmark",
        figures={(256, "fp32"): _TENSORFLOW_FP32, (256, "amp"): _TENSORFLOW_AMP},
        gpus=lambda script, devices: _number(script, r" -np (\d+) ", devices),
        batch=re.compile(r"--batch_size (\d+)"),
        amp="--use_tf_amp",
        line=_tensorflow,
        steps=range(210, 501, 10),
        startup_s=35.0,  # XLA compiles
        memory_mib=15540,
        slow_first=(0.03, 0.01),
        tail=lambda mean: f"DLL - () train_throughput : {mean} \n",
    ),
    Program(
        framework="NGC PyTorch",
        mark="--arch resnet50",
        figures={
            (256, "amp"): _as_tensorflow(_TENSORFLOW_AMP),
            (256, "fp32"): _as_tensorflow(_TENSORFLOW_FP32),
        },
        gpus=lambda script, devices: _number(script, r"--nnodes (\d+)") * devices,
        batch=re.compile(r" -b (\d+) "),
        amp="--amp",
        line=_pytorch,
        steps=range(1, 101),
        startup_s=14.0,
        memory_mib=15210,
        slow_first=(0.8, 0.3, 0.1, 0.05),
        head=lambda job: (
            f"DLL - PARAMETER data : /imagenet  arch : resnet50  batch_size : {job.batch_size}  \n"
        ),
        tail=lambda mean: f"DLL - Summary: train.loss : 5.4  train.total_ips : {mean:.2f} img/s\n",
    ),
)


def _found(script: str, pattern: str) -> str:
    found = re.search(pattern, script)
    return found[1] if found else ""


def asked_of(script: str) -> tuple[Program, Job] | None:
    """Whose script it is, and what it asks for."""
    jobs = ((program, program.job(script)) for program in PROGRAMS)
    return next(((program, job) for program, job in jobs if job is not None), None)


HOLDS = replace(HOLD, output=lambda: iter([(0.0, FIRST_LINE.encode())]))
UNKNOWN = Workload(
    output=lambda: iter(
        [(0.0, f"{FIRST_LINE}sh: 1: this program: not found on a simulated host\n".encode())]
    ),
    exit_status=NOT_FOUND,
)
"""Of a script that asks for any other program."""
