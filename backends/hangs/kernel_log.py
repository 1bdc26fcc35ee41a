"""Lines of the kernel's log that may have to do with a run that does not move.

Sources: NVIDIA, "Xid Errors" (Xid messages of the driver, NVRM); Linux, kernel/hung_task.c,
drivers/pci/pcie/aer.c, mm/oom_kill.c.
"""

from __future__ import annotations

import re

from backends.hangs.evidence import KernelLine, KernelProblem, Lack
from profiles.cleantext import clean_line

_LINE = re.compile(r"^(?:<\d+>)?\[\s*(\d{1,12}\.\d{1,9})\](?:\s+\S+ kernel:)? (.*)$")
_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{4,20})[^)]{0,80}\): (\d{1,5})(?:, pid='?(\d{1,10})'?)?"
)
_BUS = re.compile(r"\b([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b")
_TASK = re.compile(r"task .{1,64}?:(\d{1,10}) blocked for more than")
_KILLED = re.compile(r"Killed process (\d{1,10})")
_PROBLEMS = (
    (KernelProblem.HUNG_TASK, re.compile(r"blocked for more than|hung_task")),
    (KernelProblem.OUT_OF_MEMORY, re.compile(r"[Oo]ut of memory|oom-kill|Killed process")),
    (KernelProblem.NVLINK, re.compile(r"NVLink|nvlink")),
    (KernelProblem.PCIE, re.compile(r"AER:|PCIe Bus Error|fallen off the bus")),
    (KernelProblem.NETWORK, re.compile(r"mlx5|[Ll]ink (?:is )?[Dd]own")),
    (KernelProblem.STORAGE, re.compile(r"I/O error|not responding")),
)


def read_kernel(text: str, status: int | None, up_s: float | None) -> tuple[KernelLine, ...] | Lack:
    """Those lines, oldest first; ``up_s``: how long the host has been up, which they count from."""
    found = [line for raw in text.splitlines() if (line := _line(raw, up_s)) is not None]
    if found or status == 0:
        return tuple(found)
    forbidden = "not permitted" in text or "ermission denied" in text
    return Lack.FORBIDDEN if forbidden else Lack.NOT_THERE


def _line(raw: str, up_s: float | None) -> KernelLine | None:
    match = _LINE.match(raw)
    if match is None:
        return None
    ago = max(0.0, up_s - float(match[1])) if up_s is not None else None
    text = clean_line(match[2].encode("utf-8", "replace"))
    if xid := _XID.search(match[2]):
        pid = int(xid[3]) if xid[3] else None
        return KernelLine(KernelProblem.XID, text, ago, int(xid[2]), bus_key(xid[1]), pid)
    for problem, pattern in _PROBLEMS:
        if pattern.search(match[2]):
            bus = _BUS.search(match[2])
            task = _TASK.search(match[2]) or _KILLED.search(match[2])
            bus_id = bus_key(bus[1]) if bus else ""
            return KernelLine(problem, text, ago, None, bus_id, int(task[1]) if task else None)
    return None


def bus_key(bus_id: str) -> str:
    """``00000000:0F:00.0``, ``0000:0f:00`` and ``0000:0f:00.0`` are one device: "0f:00" of domain
    0, which goes without saying."""
    parts = bus_id.lower().partition(".")[0].split(":")
    if len(parts) < 2:
        return ""
    domain = parts[-3].lstrip("0") if len(parts) > 2 else ""
    return ":".join([*([domain] if domain else []), parts[-2], parts[-1]])
