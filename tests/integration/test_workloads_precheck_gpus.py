"""The GPU program of a precheck with PyTorch on CPUs in place of three GPUs: all but the speed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from backends.precheck.figures import Figure, said_in
from tests.support.torch_python import torch_python

pytestmark = pytest.mark.torch
PROGRAM = Path(__file__).parents[2] / "profiles" / "workloads" / "precheck_gpus.py"
IN_PLACE = """
import contextlib, runpy, sys, time, types
import torch
class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.at = time.perf_counter()
    def elapsed_time(self, later): return (later.at - self.at) * 1e3
cuda, device = torch.cuda, torch.device
cuda.is_available = lambda: True
cuda.device_count = lambda: 3
cuda.get_device_properties = lambda i: types.SimpleNamespace(name="NVIDIA H200", uuid=f"{i}{i}{i}")
cuda.get_device_capability = lambda i: (9, 0)
cuda.Event, cuda.synchronize = Event, lambda device=None: None
cuda.mem_get_info = lambda i: (2**28, 2**29)
cuda.device = lambda device: contextlib.nullcontext()
cuda.can_device_access_peer = lambda a, b: True
cuda.empty_cache = lambda: None
torch.Tensor.pin_memory = lambda self: self
torch.device = lambda kind, index=None: device("cpu")
multiply, seen, fault = torch.mm, [], sys.argv[2]
def mm(a, b, out):
    multiply(a, b, out=out)
    if not any(out is one[0] for one in seen):
        seen.append([out, 0])
    place = next(i for i, one in enumerate(seen) if one[0] is out)
    seen[place][1] += 1
    if fault == "always" and place == 1 or fault == "late" and place == 2 and seen[2][1] > 60:
        out[0, 0] += 1
torch.mm = mm
sys.argv = [sys.argv[1], *sys.argv[3:]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
NVIDIA_SMI = """#!/bin/sh
case "$*" in
*remapped*) printf 'GPU-000, No, No\\nGPU-111, No, Yes\\nGPU-222, [N/A], [N/A]\\n' ;;
*) for gpu in 000 111 222; do echo "GPU-$gpu, 1515, 1980, 688.1, 63, 0x0000000000000004, 0"; done ;;
esac
"""


def figures(tmp_path: Path, fault: str = "none") -> list[Figure]:
    (tmp_path / "nvidia-smi").write_text(NVIDIA_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    small = ("--size", "64", "--trials", "200", "--copy-mib", "1", "--link-mib", "1")
    done = subprocess.run(
        [torch_python(), "-W", "ignore", "-c", IN_PLACE, str(PROGRAM), fault, *small],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return list(said_in(done.stdout, ("node1",)))


def wrong(found: list[Figure]) -> set[int]:
    return {f.devices[0] for f in found if f.metric == "wrong" and f.value}


def test_every_gpu_and_every_link_has_its_figures(tmp_path: Path) -> None:
    found = figures(tmp_path)
    for metric in ("gemm", "gemm_sustained", "copy", "to_device", "from_device", "sm_clock", "ecc"):
        own = [figure for figure in found if figure.metric == metric]
        assert [figure.devices for figure in own] == [(0,), (1,), (2,)], metric
        assert {figure.kind for figure in own} == {"NVIDIA H200"}
    links = {figure.devices for figure in found if figure.metric == "peer"}
    assert links == {(a, b) for a in range(3) for b in range(3) if a != b}
    clock = next(figure for figure in found if figure.metric == "sm_clock")
    assert (clock.value, clock.details["slowed_by"], clock.details["max"]) == (1515, 4, 1980)
    waiting = {f.devices[0]: f.value for f in found if f.metric == "remapping"}
    assert waiting == {0: 0, 1: 1}
    assert wrong(found) == set()


def test_a_gpu_that_multiplies_wrongly_is_told(tmp_path: Path) -> None:
    assert wrong(figures(tmp_path, "always")) == {1}, "the others outvote it"
    assert wrong(figures(tmp_path, "late")) == {2}, "it is not what it was"
