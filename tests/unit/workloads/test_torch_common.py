"""Where a step's time went, as every PyTorch workload tells it."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support import torch_python

pytestmark = pytest.mark.torch

evaluate = partial(torch_python.evaluate, "torch_common")


def test_time_is_counted_once_and_overlaps_are_hidden() -> None:
    """Of 100 s on a GPU: kernels 10–40 and 60–70, NCCL 30–65, the wait for input 65–90."""
    code = """
from types import SimpleNamespace as Event
Device = workload.DeviceType
def event(name, start, end, kind=Device.CUDA):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=kind)
events = [
    event(workload.STEPS, 0, 100, Device.CPU), event(workload.STEPS, 0, 100),
    event("aten::conv2d", 0, 99, Device.CPU), event("before", -9, -5),
    event("kernel", 10, 35), event("Memcpy DtoD", 20, 40), event("kernel", 60, 70),
    event("ncclDevKernel_AllReduce", 30, 65), event(workload.WAITING, 65, 90, Device.CPU),
]
answer = workload.where_time_went(events, torch.device("cuda"))"""
    assert evaluate(code) == [100, 40, 20, 20]


def test_kernels_of_torch_compile_are_computing() -> None:
    """Their launches on the host have their names, as annotations have on the device."""
    code = """
from types import SimpleNamespace as Event
Device = workload.DeviceType
def event(name, start, end, kind=Device.CUDA):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=kind)
events = [
    event(workload.STEPS, 0, 100, Device.CPU), event(workload.STEPS, 0, 100),
    event("Torch-Compiled Region: 0/0", 0, 90, Device.CPU),
    event("Torch-Compiled Region: 0/0", 0, 95),
    event("triton_poi_fused_gelu_0", 1, 2, Device.CPU), event("triton_poi_fused_gelu_0", 10, 30),
]
answer = workload.where_time_went(events, torch.device("cuda"))"""
    assert evaluate(code) == [100, 20, 0, 0]


def test_kernels_of_one_name_are_counted_together_and_only_within_the_steps() -> None:
    code = """
from types import SimpleNamespace as Event
Device = workload.DeviceType
def event(name, start, end, kind=Device.CUDA):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=kind)
events = [
    event(workload.STEPS, 0, 100, Device.CPU), event(workload.STEPS, 0, 100),
    event("gemm", -9, -1), event("gemm", 10, 14), event("gemm", 20, 25),
    event("ncclDevKernel_AllReduce", 30, 50), event("gemm", 101, 102),
    event("triton_poi_fused_gelu_0", 1, 2, Device.CPU), event("triton_poi_fused_gelu_0", 5, 6),
]
answer = workload.costliest_kernels(events)"""
    assert evaluate(code) == [
        ["ncclDevKernel_AllReduce", 20, 1],
        ["gemm", 9, 2],
        ["triton_poi_fused_gelu_0", 1, 1],
    ]


def test_on_a_cpu_operators_hide_what_gloo_does_meanwhile() -> None:
    """Of 100 s: operators 0–50 (20–30 of them making the batch), gloo 40–80."""
    code = """
from types import SimpleNamespace as Event
def event(name, start, end):
    span = Event(start=start * 1e6, end=end * 1e6)
    return Event(name=name, time_range=span, device_type=workload.DeviceType.CPU)
events = [
    event(workload.STEPS, 0, 100), event("aten::conv2d", 0, 50), event("aten::add_", 5, 9),
    event(workload.WAITING, 20, 30), event("gloo:all_reduce", 40, 80),
    event("DistributedDataParallel.forward", 0, 90),
]
answer = workload.where_time_went(events, torch.device("cpu"))"""
    assert evaluate(code) == [100, 40, 30, 10]


def test_spans_without_others_are_what_a_second_by_second_count_gives() -> None:
    code = """
import random
chance = random.Random(1)
def spans():
    pairs = [sorted(chance.sample(range(40), 2)) for _ in range(chance.randint(0, 6))]
    Span = lambda a, b: type("E", (), {"time_range": type("R", (), {"start": a, "end": b})})
    return workload.merged(Span(a, b) for a, b in pairs)
def seconds(some):
    return {at for start, end in some for at in range(start, end)}
answer = 0
for _ in range(2000):
    one, other = spans(), spans()
    answer += seconds(workload.without(one, other)) != seconds(one) - seconds(other)"""
    assert evaluate(code) == 0


def test_laps_are_told_when_the_device_is_through_and_last_as_long_as_it_says() -> None:
    """The host is ahead: what it told the device to note at 0, 1, 3, 6 s is done step by step."""
    code = """
class Late(workload.HostMoment):
    told, done = 0, -1
    def record(self):
        self.number = Late.told
        self.at = self.number * (self.number + 1) / 2
        Late.told += 1
    def query(self):
        return self.number <= Late.done
    def synchronize(self):
        Late.done = max(Late.done, self.number)
workload.HostMoment = Late
laps = workload.Laps(torch.device("cpu"))
told = [list(laps.ended())]
for number in (10, 20, 30):
    laps.end(number, torch.tensor(number / 2))
    told.append(list(laps.ended()))
Late.done = 1
told.append(list(laps.ended()))
told.append(list(laps.ended(wait=True)))
told.append(list(laps.ended(wait=True)))
answer = told"""
    none: list[object] = []
    assert evaluate(code) == [
        *(none, none, none, none),
        [[10, 5, 1]],
        [[20, 10, 2], [30, 15, 3]],
        none,
    ]


def test_on_a_cpu_a_lap_is_over_when_it_ends() -> None:
    code = """
import time
began = time.perf_counter()
laps = workload.Laps(torch.device("cpu"))
answer = []
for number in (1, 2):
    time.sleep(0.05)
    laps.end(number, torch.tensor(0.5))
    answer += laps.ended()
answer = [answer, time.perf_counter() - began]"""
    (laps, lasted) = evaluate(code)  # type: ignore[misc]
    assert [lap[:2] for lap in laps] == [[1, 0.5], [2, 0.5]]
    assert all(seconds >= 0.05 for _number, _loss, seconds in laps)
    assert sum(seconds for _number, _loss, seconds in laps) <= lasted
