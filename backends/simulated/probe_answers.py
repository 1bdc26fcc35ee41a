"""What a simulated host says of itself: to the probe, to the checks, as nvidia-smi."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from backends.simulated.kernel import Process
from backends.simulated.machine import Machine
from backends.simulated.spec import GpuSpec

BUSY_UTILIZATION_PCT = 97
BUSY_POWER_W = 268.0
BUSY_TEMPERATURE_C = 61
USER = "bench"


def probe(machine: Machine, *, lease_dir: str, gpus: bool) -> str:
    """As ``probe.sh`` prints it."""
    spec, kernel = machine.spec, machine.kernel
    free_kib, memory_kib = machine.free_mib * 1024, spec.memory_mib * 1024
    sections: list[tuple[str, str]] = [
        ("begin", f"{kernel.wall:.9f}"),
        ("os", f'"{spec.os}"'),
        ("kernel", spec.kernel),
        ("architecture", "x86_64"),
        ("hostname", machine.wrapper.host),
        ("boot", kernel.boot_id),
        ("cpu-model", spec.cpu_model),
        ("cpus", str(spec.cpus)),
        ("numa", "2" if spec.cpus > 1 else "1"),
        ("memory", f"MemTotal: {memory_kib} kB\nMemAvailable: {memory_kib * 9 // 10} kB"),
        ("load", f"{spec.load:.2f} {spec.load:.2f} {spec.load:.2f} 1/600 4242"),
        ("users", ""),
        ("python", "Python 3.8.10" if spec.python else ""),
        ("containers", ""),
        ("disk", f"/dev/sda2 {spec.disk_mib * 1024} 1 {free_kib} 1% /home"),
        ("interconnects", "\n".join(spec.interconnects)),
    ]
    if gpus and spec.gpus:
        sections += _gpu_sections(machine)
    wrapper = machine.wrapper
    lease = wrapper.lease(lease_dir)
    sections.append(
        ("lease", "@lease free" if wrapper.lease_free(lease) else wrapper.holder_text(lease))
    )
    sections.append(("end", f"{kernel.wall:.9f}"))
    return "".join(f"\n@@dlperf:{name}\n{text}\n" for name, text in sections)


_PROBED = (
    *("index", "name", "uuid", "pci.bus_id", "driver_version", "memory.total", "memory.used"),
    *("utilization.gpu", "power.draw", "power.limit", "temperature.gpu", "clocks.current.sm"),
    *("ecc.errors.uncorrected.volatile.total", "mig.mode.current"),
    "clocks_event_reasons.active",
)


WATCHED = (
    *("timestamp", "index", "memory.used", "utilization.gpu", "power.draw", "clocks.current.sm"),
    *("temperature.gpu", "clocks.max.sm", "ecc.errors.uncorrected.volatile.total"),
    "clocks_event_reasons.active",
)
_UNIT = re.compile(r" (?:MiB|%|W|MHz)$")


def _gpu_sections(machine: Machine) -> Iterable[tuple[str, str]]:
    spec = machine.spec
    yield "gpus", gpu_header(_PROBED) + gpu_rows(machine, _PROBED)
    yield "gpu-status", "0"
    apps = ["gpu_uuid, pid, used_gpu_memory [MiB], process_name"]
    owners = []
    for number, foreign in enumerate(spec.foreign):
        pid = 90_000 + number
        name = foreign.command.split(" ")[0]
        apps.append(f"{_uuid(machine, foreign.gpu_index)}, {pid}, {foreign.memory_mib} MiB, {name}")
        owners.append(f"{pid} - {foreign.user} {foreign.command}")
    for process in machine.at_work():
        for index in range(len(spec.gpus)):
            apps.append(f"{_uuid(machine, index)}, {process.pid}, 12000 MiB, python3")
        owners.append(f"{process.pid} {process.run_id} {USER} python3 train.py")
    yield "gpu-processes", "\n".join(apps)
    yield "gpu-owners", "\n".join(owners)
    yield "cuda", spec.cuda
    yield "topology", spec.topology


def _uuid(machine: Machine, index: int) -> str:
    return f"GPU-{hashlib.sha256(f'{machine.wrapper.host}/{index}'.encode()).hexdigest()[:12]}"


def gpu_header(fields: Sequence[str]) -> str:
    units = {"memory.total": "MiB", "memory.used": "MiB", "utilization.gpu": "%"}
    units |= {"power.draw": "W", "power.limit": "W", "clocks.current.sm": "MHz"}
    names = [f"{field} [{units[field]}]" if field in units else field for field in fields]
    return ", ".join(names) + "\n"


def host_line(machine: Machine) -> str:
    """As ``telemetry.sh`` prints it, of a host that does nothing else."""
    spec, ticks = machine.spec, int(machine.kernel.now * 100) * machine.spec.cpus
    busy = int(ticks * min(1.0, spec.load / spec.cpus))
    return f"host, {int(machine.kernel.wall)}, {spec.cpus}, {spec.load:.2f}, {busy}, {ticks}, 0\n"


def gpu_rows(
    machine: Machine, fields: Sequence[str], chosen: Sequence[int] = (), *, units: bool = True
) -> str:
    """One line per GPU, or per chosen one; a field that the model does not know is "[N/A]"."""
    busy = {foreign.gpu_index for foreign in machine.spec.foreign}
    if machine.at_work():
        busy |= set(range(len(machine.spec.gpus)))
    lines = []
    for index, gpu in enumerate(machine.spec.gpus):
        if chosen and index not in chosen:
            continue
        cells = _cells(machine, index, gpu, busy=index in busy)
        row = [cells.get(field, "[N/A]") for field in fields]
        lines.append(", ".join(row if units else [_UNIT.sub("", cell) for cell in row]))
    return "".join(f"{line}\n" for line in lines)


def _cells(machine: Machine, index: int, gpu: GpuSpec, *, busy: bool) -> dict[str, str]:
    wall = datetime.fromtimestamp(machine.kernel.wall, UTC)
    reasons = f"0x{gpu.throttle or (0 if busy else 1):016x}"
    used = max(gpu.memory_used_mib, 12_000 if busy else 0)
    utilization = BUSY_UTILIZATION_PCT if busy else gpu.utilization_pct
    return {
        "timestamp": wall.strftime("%Y/%m/%d %H:%M:%S.%f")[:-3],
        "index": str(index),
        "name": gpu.name,
        "uuid": _uuid(machine, index),
        "pci.bus_id": f"00000000:{index + 1:02X}:00.0",
        "driver_version": machine.spec.driver,
        "memory.total": f"{gpu.memory_mib} MiB",
        "memory.used": f"{used} MiB",
        "utilization.gpu": f"{utilization} %",
        "power.draw": f"{BUSY_POWER_W if busy else gpu.power_w:.2f} W",
        "power.limit": f"{gpu.power_limit_w:.2f} W",
        "temperature.gpu": str(BUSY_TEMPERATURE_C if busy else gpu.temperature_c),
        "clocks.current.sm": f"{gpu.sm_clock_mhz} MHz",
        "clocks.max.sm": f"{gpu.sm_clock_mhz} MHz",
        "ecc.errors.uncorrected.volatile.total": str(gpu.ecc_uncorrected),
        "mig.mode.current": "[N/A]",
        "clocks_event_reasons.active": reasons,
        "clocks_throttle_reasons.active": reasons,
    }


def checks(words: Sequence[str]) -> str:
    """As ``preflight.sh`` prints it: all that profiles need is in place."""
    answers = ["ok"] * (1 + len(words) // 2)
    return "".join(f"@@dlperf:check\n{answer}\n" for answer in answers) + "@@dlperf:end\n"


def postmortem(machine: Machine) -> str:
    """Free space, uptime, driver errors."""
    return f"@free {machine.free_mib * 1024}\n@up {machine.kernel.uptime_s:.2f}\n"


def diagnosis(machine: Machine, run_id: str) -> str:
    """As ``diagnose.sh`` frames it: each piece says how many bytes it has."""
    wrapper = machine.wrapper
    files = wrapper.files(run_id)
    found = wrapper.look(files)
    members = wrapper.members(run_id, wrapper.supervisor(files))
    log = bytes(files.log or b"") if files is not None else b""
    lines = log.decode("utf-8", "replace").splitlines(keepends=True)[-40:]
    pieces = {
        "kernel": "",
        "lines": "".join(lines),
        "processes": "".join(f"{_listed(process)}\n" for process in members),
        "uptime": f"{machine.kernel.uptime_s:.2f} 0.00\n",
    }
    told = "".join(
        f"@section {name} - 0 {len(text.encode())}\n{text}\n" for name, text in pieces.items()
    )
    return f"@diagnosis {found.phase} {found.size}\n{told}"


def _listed(process: Process) -> str:
    state = "D" if process.stuck else "S"
    states = f"state={state} before={state} cpu=0 stuck={process.stuck:d}"
    return f"pid={process.pid} parent=1 rank=- local=- {states} wchan=-\tpython3 train.py"
