"""What ``nvidia-smi`` prints, as values. Source: nvidia-smi(1), nvml.h (clocks event reasons).

Every parser takes text of any quality: cells like ``[N/A]``, ``[Not Supported]``, ``ERR!`` or
``[Unknown Error]`` become None, rows that make no sense are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from backends.hosts.host_facts import Gpu, GpuProcess
from profiles.cleantext import clean_text

# nvmlClocksEventReasons; 0x1, idle, is no throttling.
THROTTLE_REASONS = {
    0x2: "application clocks setting",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clock setting",
}
_MODES = {"Enabled": True, "Disabled": False}
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,6})?", re.ASCII)
_UNIT = re.compile(r"\s*\[[^\]]*\]$")


def read_csv(text: str) -> list[dict[str, str]]:
    """Rows of ``--format=csv``, keyed by header without the unit; malformed rows are left out."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, skipinitialspace=True)]
    except csv.Error:
        return []
    if not rows:
        return []
    header = [_UNIT.sub("", cell) for cell in rows[0]]
    return [dict(zip(header, row, strict=True)) for row in rows[1:] if len(row) == len(header)]


def number(cell: str | None) -> float | None:
    """``"143771 MiB"`` → 143771.0; None for what is not a number."""
    match = _NUMBER.match(cell or "")
    return float(match[0]) if match else None


def whole(cell: str | None) -> int | None:
    value = number(cell)
    return None if value is None else int(value)


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """GPUs of a ``--query-gpu`` answer, by index."""
    gpus: dict[int, Gpu] = {}
    for row in read_csv(text):
        index = whole(row.get("index"))
        if index is None or index < 0:
            continue
        mig = row.get("mig.mode.current", "")
        gpus[index] = Gpu(
            index=index,
            name=clean_text(row.get("name", "")),
            uuid=clean_text(row.get("uuid", "")),
            bus_id=clean_text(row.get("pci.bus_id", "")),
            memory_total_mib=whole(row.get("memory.total")),
            memory_used_mib=whole(row.get("memory.used")),
            utilization_pct=whole(row.get("utilization.gpu")),
            power_w=number(row.get("power.draw")),
            power_limit_w=number(row.get("power.limit")),
            temperature_c=whole(row.get("temperature.gpu")),
            sm_clock_mhz=whole(row.get("clocks.current.sm")),
            mig_enabled=_MODES.get(mig),
            ecc_uncorrected=whole(row.get("ecc.errors.uncorrected.volatile.total")),
            throttle_reasons=_throttle_reasons(
                row.get("clocks_event_reasons.active", row.get("clocks_throttle_reasons.active"))
            ),
            persistence=_MODES.get(row.get("persistence_mode", "")),
            ecc_enabled=_MODES.get(row.get("ecc.mode.current", "")),
            application_clocks_mhz=_application_clocks(row),
        )
    return tuple(gpus[index] for index in sorted(gpus))


def _application_clocks(row: Mapping[str, str]) -> tuple[int, int] | None:
    sm, memory = (whole(row.get(f"clocks.applications.{name}")) for name in ("graphics", "memory"))
    return None if sm is None or memory is None else (sm, memory)


def driver_version(text: str) -> str | None:
    """The driver version of a ``--query-gpu`` answer; None where it says none."""
    versions = [row.get("driver_version", "") for row in read_csv(text)]
    return next((clean_text(version) for version in versions if version[:1].isdigit()), None)


def parse_processes(text: str, owners: str, gpus: Sequence[Gpu]) -> tuple[GpuProcess, ...]:
    """Processes on the GPUs, from ``--query-compute-apps`` and the probe's list of owners.

    ``owners``: lines of pid, our run id or ``-``, user, command. A process in another PID
    namespace has no line there; its user is "?".
    """
    known = _owners(owners)
    index_of = {gpu.uuid: gpu.index for gpu in gpus}
    processes = []
    for row in read_csv(text):
        pid = whole(row.get("pid"))
        index = index_of.get(row.get("gpu_uuid", ""))
        if pid is None or index is None:
            continue
        run_id, user, command = known.get(pid, ("", "?", ""))
        processes.append(
            GpuProcess(
                gpu_index=index,
                pid=pid,
                user=user,
                command=command or clean_text(row.get("process_name", "")),
                memory_mib=whole(row.get("used_gpu_memory", row.get("used_memory"))),
                run_id=run_id,
            )
        )
    return tuple(processes)


def _owners(text: str) -> Mapping[int, tuple[str, str, str]]:
    owners = {}
    for line in text.splitlines():
        words = line.split(None, 3)
        pid = whole(words[0]) if words else None
        if pid is None or len(words) < 3:
            continue
        run_id = "" if words[1] == "-" else clean_text(words[1])
        command = words[3].strip() if len(words) > 3 else ""
        owners[pid] = (run_id, clean_text(words[2]), clean_text(command))
    return owners


def _throttle_reasons(cell: str | None) -> tuple[str, ...]:
    try:
        mask = int(cell or "", 16)
    except ValueError:
        return ()
    return tuple(reason for bit, reason in THROTTLE_REASONS.items() if mask & bit)
