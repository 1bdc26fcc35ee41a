"""What a simulated host says of itself: to the probe, to the checks, as nvidia-smi."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise

from backends.simulated.fake_run import GpuLoad
from backends.simulated.kernel import TICKS_PER_S, Process
from backends.simulated.machine import Machine
from backends.simulated.spec import GpuSpec

IDLE_MHZ = 135
_IDLE = 1
_HANGS_W = 68.0
_HANGS_IN = "nfs_wait_bit_killable"
USER = "bench"


def probe(machine: Machine, *, lease_dir: str, gpus: bool, sought: Sequence[str] = ()) -> str:
    """As ``probe.sh`` prints it. ``sought``: its words, with those for software."""
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
    if images := _images(sought):
        sections.append(("software", images))
    if gpus and spec.gpus:
        sections += _gpu_sections(machine)
    wrapper = machine.wrapper
    lease = wrapper.lease(lease_dir)
    sections.append(
        ("lease", "@lease free" if wrapper.lease_free(lease) else wrapper.holder_text(lease))
    )
    sections.append(("end", f"{kernel.wall:.9f}"))
    return "".join(f"\n@@dlperf:{name}\n{text}\n" for name, text in sections)


def _images(sought: Sequence[str]) -> str:
    """Each is on every host, and the same one."""
    return "\n".join(
        f"image\t{where}\tid\tsha256:{hashlib.sha256(where.encode()).hexdigest()}"
        for kind, where in pairwise(sought)
        if kind == "image"
    )


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
_ASKED = (
    *("index", "pci.bus_id", "utilization.gpu", "memory.used", "power.draw"),
    *("clocks.current.sm", "temperature.gpu"),
)
_UNITS = {
    **dict.fromkeys(("memory.total", "memory.used"), "MiB"),
    "utilization.gpu": "%",
    **dict.fromkeys(("power.draw", "power.limit"), "W"),
    **dict.fromkeys(("clocks.current.sm", "clocks.max.sm"), "MHz"),
}


def _gpu_sections(machine: Machine) -> Iterable[tuple[str, str]]:
    spec = machine.spec
    yield "gpus", gpu_header(_PROBED) + gpu_rows(machine, _PROBED)
    yield "gpu-status", "0"
    apps = ["gpu_uuid, pid, used_gpu_memory [MiB], process_name"]
    owners = []
    for number, foreign in enumerate(spec.foreign):
        pid = 90_000 + number
        name = foreign.command.split(" ")[0]
        uuid = _uuid(machine.wrapper.host, foreign.gpu_index)
        apps.append(f"{uuid}, {pid}, {foreign.memory_mib} MiB, {name}")
        owners.append(f"{pid} - {foreign.user} {foreign.command}")
    for process in machine.at_work():
        load = process.load or GpuLoad(tuple(range(len(spec.gpus))))
        for index in load.gpus:
            held = f"{load.memory_mib} MiB, {process.command.split(' ')[0]}"
            apps.append(f"{_uuid(machine.wrapper.host, index)}, {process.pid}, {held}")
        owners.append(f"{process.pid} {process.run_id} {USER} {process.command}")
    yield "gpu-processes", "\n".join(apps)
    yield "gpu-owners", "\n".join(owners)
    yield "cuda", spec.cuda
    yield "topology", spec.topology


@cache
def _uuid(host: str, index: int) -> str:
    return f"GPU-{hashlib.sha256(f'{host}/{index}'.encode()).hexdigest()[:12]}"


def gpu_header(fields: Sequence[str]) -> str:
    names = [f"{field} [{_UNITS[field]}]" if field in _UNITS else field for field in fields]
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
    at_work = _at_work(machine)
    wall = datetime.fromtimestamp(machine.kernel.wall, UTC)
    now = f"{wall:%Y/%m/%d %H:%M:%S}.{wall.microsecond // 1000:03d}"
    ends = [f" {_UNITS[field]}" if units and field in _UNITS else "" for field in fields]
    lines = []
    for index, gpu in enumerate(machine.spec.gpus):
        if not chosen or index in chosen:
            values = _values(machine, index, gpu, at_work.get(index)) | {"timestamp": now}
            told = (values.get(field, "[N/A]") for field in fields)
            lines.append(
                ", ".join([f"{value}{end}" for value, end in zip(told, ends, strict=True)])
            )
    return "".join(f"{line}\n" for line in lines)


def _at_work(machine: Machine) -> dict[int, tuple[GpuLoad, float]]:
    """By GPU that something computes on: what it does there, and for how many seconds now."""
    everything = GpuLoad(tuple(range(len(machine.spec.gpus))))
    found = {foreign.gpu_index: (everything, 0.0) for foreign in machine.spec.foreign}
    for process in machine.at_work():
        load = process.load or everything
        since_s = machine.kernel.uptime_s - process.ticks / TICKS_PER_S
        if machine.kernel.now >= process.hangs_at:  # who waits for it in a collective is busy
            load = replace(load, utilization_pct=0, power_w=_HANGS_W)
        found |= dict.fromkeys(load.gpus, (load, since_s))
    return found


def _values(
    machine: Machine, index: int, gpu: GpuSpec, at_work: tuple[GpuLoad, float] | None
) -> dict[str, str | int]:
    """By nvidia-smi's names; without units."""
    used, utilization, power_w = gpu.memory_used_mib, gpu.utilization_pct, gpu.power_w
    temperature, clock, mask = gpu.temperature_c, gpu.sm_clock_mhz, gpu.throttle
    if at_work is not None:
        load, since_s = at_work
        used, utilization = max(used, load.memory_mib), load.utilization_pct
        power_w = load.power_w + 6.0 * math.sin(0.7 * machine.kernel.now + index)
        temperature = max(temperature, load.temperature_c + index % 3)
        slowed = load.throttling
        if slowed is not None and slowed.gpu == index and since_s >= slowed.after_s:
            clock, mask = slowed.sm_clock_mhz, mask | slowed.mask
    else:
        clock = IDLE_MHZ
        mask = mask or _IDLE
    return {
        "index": index,
        "name": gpu.name,
        "uuid": _uuid(machine.wrapper.host, index),
        "pci.bus_id": f"00000000:{index + 1:02X}:00.0",
        "driver_version": machine.spec.driver,
        "memory.total": gpu.memory_mib,
        "memory.used": used,
        "utilization.gpu": utilization,
        "power.draw": f"{power_w:.2f}",
        "power.limit": f"{gpu.power_limit_w:.2f}",
        "temperature.gpu": temperature,
        "clocks.current.sm": clock,
        "clocks.max.sm": gpu.sm_clock_mhz,
        "ecc.errors.uncorrected.volatile.total": gpu.ecc_uncorrected,
        "mig.mode.current": "[N/A]",
        "clocks_event_reasons.active": (reasons := f"0x{mask:016x}"),
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
        "processes": "".join(f"{_listed(process, machine.kernel.now)}\n" for process in members),
        "uptime": f"{machine.kernel.uptime_s:.2f} 0.00\n",
    }
    if machine.spec.gpus:
        pieces["gpus"] = gpu_header(_ASKED) + gpu_rows(machine, _ASKED)
    told = "".join(
        f"@section {name} - 0 {len(text.encode())}\n{text}\n" for name, text in pieces.items()
    )
    return f"@diagnosis {found.phase} {found.size}\n{told}"


def _listed(process: Process, now: float) -> str:
    hangs = now >= process.hangs_at
    state = "D" if process.stuck or hangs else "S"
    states = f"state={state} before={state} cpu=0 stuck={state == 'D':d}"
    rank = "-" if process.rank is None else process.rank
    waits = f"wchan={_HANGS_IN if hangs else '-'}"
    return f"pid={process.pid} parent=1 rank={rank} local=- {states} {waits}\t{process.command}"
