"""What a host is and who uses it, found out in one exec of ``probe.sh``."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from backends.debug import without_secrets
from backends.hosts import nvidia
from backends.hosts.host_condition import concerns, state_of
from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState, Sought
from backends.hosts.software import parse_software, sought_words, with_unknown
from backends.hosts.topology import parse_topology
from backends.inventory.host_entry import Host, listed_address
from backends.remote.installation import part
from backends.remote.lease import parse_lease
from backends.transports.transport import Completed, HostUnreachableError, Transport
from backends.transports.turns import Turns
from profiles.cleantext import clean_text
from profiles.errors import DlperfError

PROBE_SCRIPT = (
    part("trust.sh") + part("lease.sh") + (Path(__file__).parent / "probe.sh").read_bytes()
)

AT_ONCE = 64
TURN_S = 0.5
"""So many hosts are asked at once, or more where they take longer than that: the answers of
hundreds would hold up the console."""

PROBE_TIMEOUT_S = 40.0  # four queries of at most 5 s each, and slow logins
WITHOUT_GPUS_TIMEOUT_S = 15.0
SOFTWARE_TIMEOUT_S = 20.0  # more: three calls of git of at most 5 s each, all else beside them

_MARKER = re.compile(r"^@@dlperf:([a-z-]+)$", re.MULTILINE)
_MAX_CELL = 300  # characters of one fact; more is not a fact


class Transports(Protocol):
    """Whatever hands out one transport per host."""

    def get(self, host: Host) -> Transport: ...


async def probe(
    transport: Transport,
    clock: Callable[[], float] = time.time,
    *,
    sought: Sequence[Sought] = (),
    timeout_s: float = PROBE_TIMEOUT_S,
    turns: Turns | None = None,
) -> HostSnapshot:
    """Probe one host. Never raises for a host that cannot be reached: its snapshot says why.

    ``clock``: seconds since the epoch. ``sought``: where to look for software. A hung
    ``nvidia-smi`` costs ``timeout_s``; the host is then probed once more without it, and without
    looking for software, which is unknown then. ``turns``: among whom it waits for its own.
    """
    snapshot = await _snapshot(transport, clock, sought, timeout_s, turns or Turns(1))
    return replace(snapshot, probed_at=clock())


async def _snapshot(
    transport: Transport,
    clock: Callable[[], float],
    sought: Sequence[Sought],
    timeout_s: float,
    turns: Turns,
) -> HostSnapshot:
    try:
        await transport.connect()  # so that the handshake does not count as a round trip
        async with turns.one(TURN_S):
            return await _probe(transport, clock, sought, timeout_s)
    except HostUnreachableError as error:
        return _unreachable(transport.host, error.what, error.remedy)
    except TimeoutError:
        return _unreachable(
            transport.host,
            f"connected, but the probe got no answer within {timeout_s:g} s",
            f"try it by hand: ssh {listed_address(transport.host)} uptime",
        )
    except DlperfError as error:
        return _unreachable(transport.host, error.what, error.remedy)


async def probe_all(
    transports: Transports,
    hosts: Iterable[Host],
    clock: Callable[[], float] = time.time,
    *,
    sought: Sequence[Sought] = (),
    timeout_s: float = PROBE_TIMEOUT_S,
) -> AsyncIterator[HostSnapshot]:
    """Probe all hosts at once; yields each snapshot as soon as it is there, slow hosts last."""
    turns = Turns(AT_ONCE)
    tasks = [
        asyncio.create_task(
            probe(transports.get(host), clock, sought=sought, timeout_s=timeout_s, turns=turns),
            name=f"probe {host.name}",
        )
        for host in hosts
    ]
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _probe(
    transport: Transport, clock: Callable[[], float], sought: Sequence[Sought], timeout_s: float
) -> HostSnapshot:
    host = transport.host
    command = f"exec sh -s -- {shlex.quote(host.work_dir)} {shlex.quote(host.lease_dir)}"
    words = shlex.join(["gpu", *sought_words(sought)])
    patience_s = timeout_s + (SOFTWARE_TIMEOUT_S if sought else 0)
    try:
        sent_at = clock()
        completed = await transport.run(
            f"{command} {words}", stdin=PROBE_SCRIPT, timeout_s=patience_s
        )
        received_at = clock()
        hung = ""
    except TimeoutError:
        sent_at = clock()
        completed = await transport.run(
            f"{command} nogpu", stdin=PROBE_SCRIPT, timeout_s=WITHOUT_GPUS_TIMEOUT_S
        )
        received_at = clock()
        who = "nvidia-smi, or what tells of software," if sought else "nvidia-smi"
        hung = f"{who} did not answer within {patience_s:g} s"
    if not _MARKER.search(completed.stdout.decode("utf-8", "replace")):
        return _unreachable(
            host,
            f"logged in, but no POSIX shell ran the probe: {_first_line(completed)}",
            f"check that {host.user or 'the user'} has a login shell on it that runs commands",
        )
    facts = parse_probe(completed.stdout, sent_at, received_at, gpu_problem=hung)
    told = with_unknown(facts.software, sought)
    return snapshot_of(host, replace(facts, sought=tuple(sought), software=told))


def snapshot_of(host: Host, facts: HostFacts) -> HostSnapshot:
    """The snapshot of a reachable host: busy when its devices are used by anybody but us, degraded
    when something is wrong with it."""
    state, reason = state_of(facts)
    return HostSnapshot(
        name=host.name,
        address=listed_address(host),
        state=state,
        reason=reason,
        facts=facts,
        slots=len(facts.gpus) or host.slots or facts.cpus,
        concerns=concerns(facts),
    )


def _unreachable(host: Host, reason: str, remedy: str) -> HostSnapshot:
    return HostSnapshot(
        name=host.name,
        address=listed_address(host),
        state=HostState.UNREACHABLE,
        reason=clean_text(" ".join(reason.split())),
        remedy=clean_text(" ".join(remedy.split())),
    )


def _first_line(completed: Completed) -> str:
    for stream in (completed.stderr, completed.stdout):
        for line in stream.decode("utf-8", "replace").splitlines():
            if line.strip():
                return clean_text(line.strip()[:_MAX_CELL])
    return f"exit status {completed.exit_status}"


# --- what the script printed ----------------------------------------------------------------------


def parse_probe(
    stdout: bytes, sent_at: float, received_at: float, *, gpu_problem: str = ""
) -> HostFacts:
    """The facts in the output of ``probe.sh``. Never raises; what is not there is in ``missing``.

    ``sent_at``, ``received_at``: our clock around the exec, seconds since the epoch. The clock
    offset is NTP's: the host reads its clock at the begin and at the end, so that the time its
    tools take does not count (RFC 5905, section 8).
    """
    sections = split_sections(stdout)
    missing: list[str] = []

    def fact(section: str, title: str) -> str:
        text = _one_line(sections.get(section, ""))
        if not text:
            missing.append(title)
        return text

    memory = _meminfo(sections.get("memory", ""))
    if "MemTotal" not in memory:
        missing.append("memory")
    loads = [nvidia.number(word) or 0.0 for word in _one_line(sections.get("load", "")).split()]
    gpus = nvidia.parse_gpus(sections.get("gpus", ""))
    begin, end = (_host_time(sections.get(name, "")) for name in ("begin", "end"))
    if begin is None or end is None:
        missing.append("clock" if begin is None else "end of the probe")
    cpus = _cpus(sections)
    if cpus is None:
        missing.append("CPU count")
    python = _one_line(sections.get("python", "")).removeprefix("Python ")
    disk_total, disk_free = _disk(sections.get("disk", ""))
    if disk_free is None:
        missing.append("disk space")
    offset = 0.0
    if begin is not None:
        offset = ((begin - sent_at) + ((end if end is not None else begin) - received_at)) / 2
    on_host = max(0.0, end - begin) if begin is not None and end is not None else 0.0
    return HostFacts(
        os=fact("os", "operating system").strip('"'),
        kernel=fact("kernel", "kernel"),
        boot_id=fact("boot", "boot id"),
        cpu_model=" ".join(fact("cpu-model", "CPU model").split()),
        cpus=cpus or 0,
        numa_nodes=nvidia.whole(_one_line(sections.get("numa", ""))) or 1,
        memory_mib=memory.get("MemTotal", 0),
        memory_available_mib=memory.get("MemAvailable", memory.get("MemFree", 0)),
        load1=loads[0] if loads else 0.0,
        users=tuple(sorted({line.split()[0] for line in _lines(sections.get("users", ""))})),
        python=python or None,
        driver_version=nvidia.driver_version(sections.get("gpus", "")),
        cuda_version=_one_line(sections.get("cuda", "")) or None,
        gpus=gpus,
        gpu_processes=nvidia.parse_processes(
            sections.get("gpu-processes", ""), sections.get("gpu-owners", ""), gpus
        ),
        topology=parse_topology(sections.get("topology", "")),
        clock_offset_s=offset,
        container_runtimes=tuple(_lines(sections.get("containers", ""))),
        hostname=fact("hostname", "host name"),
        machine=_machine(_one_line(sections.get("machine", ""))),
        architecture=fact("architecture", "architecture"),
        interconnects=tuple(_interconnects(sections.get("interconnects", ""))),
        disk_free_mib=disk_free,
        disk_total_mib=disk_total,
        round_trip_s=max(0.0, received_at - sent_at - on_host),
        gpu_problem=gpu_problem or _gpu_problem(sections),
        lease=parse_lease(sections.get("lease", "")),
        lease_problem=_lease_problem(sections.get("lease", "")),
        missing=tuple(missing),
        nccl_library=_one_line(sections.get("nccl", "")),
        variables=_variables(sections.get("variables")),
        software=parse_software(sections.get("software", "")),
    )


def _machine(machine_id: str) -> str:
    """What tells machines of one name apart; machine-id(5) asks that the id itself is kept."""
    return sha256(f"dlperf-tui {machine_id}".encode()).hexdigest()[:16] if machine_id else ""


def _variables(text: str | None) -> dict[str, str] | None:
    """None where the host has no way to tell."""
    if text is None:
        return None
    told = (without_secrets(line).partition("=") for line in _lines(text))
    return {name: value for name, _, value in told}


def split_sections(stdout: bytes) -> Mapping[str, str]:
    """Text by section; what a login shell says before the first marker is dropped."""
    parts = _MARKER.split(stdout.decode("utf-8", "replace").replace("\r\n", "\n"))
    sections: dict[str, str] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        sections.setdefault(name, text.strip("\n"))
    return sections


def _host_time(text: str) -> float | None:
    """``date +%s.%N``; a date that knows no nanoseconds is right to half a second."""
    match = re.match(r"(\d{1,12})(\.\d{1,9}(?!\d))?", _one_line(text), re.ASCII)
    if match is None:
        return None
    return float(match[0]) if match[2] else int(match[1]) + 0.5


def _meminfo(text: str) -> Mapping[str, int]:
    """MiB by name, from lines of /proc/meminfo."""
    found = re.findall(r"^(\w+):\s*(\d{1,15}) kB$", text, re.MULTILINE | re.ASCII)
    return {name: int(kib) // 1024 for name, kib in found}


def _cpus(sections: Mapping[str, str]) -> int | None:
    """That we may use: of a list as the kernel writes it, ``0-3,8``, else what a tool counted."""
    listed = _one_line(sections.get("cpu-list", ""))
    if not re.fullmatch(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", listed, re.ASCII):
        return nvidia.whole(_one_line(sections.get("cpus", "")))
    ranges = (part.partition("-") for part in listed.split(","))
    return sum(max(0, int(last or first) - int(first) + 1) for first, _, last in ranges)


def _disk(text: str) -> tuple[int | None, int | None]:
    """Total and free MiB, from the last line of ``df -Pk``."""
    match = re.search(r"\s(\d{1,18})\s+\d+\s+(\d{1,18})\s+\d+%\s", f"{text} ", re.ASCII)
    return (int(match[1]) // 1024, int(match[2]) // 1024) if match else (None, None)


def _interconnects(text: str) -> Iterable[str]:
    """``mlx5_0 100 Gb/sec (4X EDR) 4: ACTIVE`` → ``mlx5_0 100 Gb/sec (4X EDR)``; others say why."""
    for line in _lines(text):
        match = re.fullmatch(r"(.*?) \d+: (\w+)", line)
        if match is None:
            yield line
        else:
            yield match[1] if match[2] == "ACTIVE" else f"{match[1]} {match[2].lower()}"


def _lease_problem(text: str) -> str:
    """Why nobody can tell who has the host, and nothing can be started there."""
    line = _one_line(text)
    return line.removeprefix("@trouble ") if line.startswith("@trouble ") else ""


def _gpu_problem(sections: Mapping[str, str]) -> str:
    if "gpus" not in sections:
        return ""  # nvidia-smi is not installed
    status = _one_line(sections.get("gpu-status", ""))
    if status == "0":
        return ""
    if status in ("124", "137"):  # ended by timeout(1) with TERM, with KILL
        return "nvidia-smi did not answer within 5 s"
    said = (line for line in _lines(sections["gpus"]) if not re.match(r"index,|\d+, ", line))
    return f"nvidia-smi: {next(said, f'failed with status {status}' if status else 'died')}"


def _lines(text: str) -> list[str]:
    lines = (clean_text(line.strip()[:_MAX_CELL]) for line in text.splitlines()[:_MAX_CELL])
    return [line for line in lines if line]


def _one_line(text: str) -> str:
    return next(iter(_lines(text)), "")
