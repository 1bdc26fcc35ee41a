"""What nvidia-smi says of the GPUs of a host whose run does not move."""

from __future__ import annotations

import re

from backends.hangs.evidence import Gpu, Lack
from backends.hangs.kernel_log import bus_key
from backends.hosts.nvidia import read_csv, whole

_LOST = re.compile(r"GPU is lost|fallen off the bus|Unable to determine the device handle")
_HANDLE = re.compile(r"device handle for GPU ?([0-9A-Fa-f:.]{4,20}?):? ")


def read_gpus(text: str, status: int | None) -> tuple[Gpu, ...] | Lack:
    """GPUs by index, and those that nvidia-smi has lost, whose index (-1) it then does not say."""
    if status is None or status in (124, 137):
        return Lack.SILENT
    gpus = []
    for row in read_csv(text):
        index = whole(row.get("index"))
        if index is None or index < 0:
            continue
        lost = any("GPU is lost" in cell for cell in row.values())
        bus_id = bus_key(row.get("pci.bus_id", ""))
        gpus.append(Gpu(index, bus_id, whole(row.get("utilization.gpu")), lost))
    if _LOST.search(text):
        gpus += [Gpu(-1, bus_key(bus), None, True) for bus in _HANDLE.findall(text)]
    return tuple(gpus) if gpus else Lack.UNREADABLE


def read_gpu_processes(text: str) -> tuple[tuple[int, str], ...]:
    """(pid, bus id of its GPU); nothing in a container that does not see its host's pids."""
    rows = ((whole(row.get("pid")), row.get("gpu_bus_id", "")) for row in read_csv(text))
    return tuple((pid, bus_key(bus)) for pid, bus in rows if pid and bus)
