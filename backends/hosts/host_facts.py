"""What a probe found on a host: frozen values that screens, plans and reports share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from backends.remote.lease import Lease
from profiles.format.host_capacity import HostCapacity


class HostState(StrEnum):
    UNKNOWN = "unknown"  # not probed yet
    PROBING = "probing"
    READY = "ready"
    BUSY = "busy"  # reachable, but somebody uses its devices
    DEGRADED = "degraded"  # reachable and free, but something is wrong with it
    UNREACHABLE = "unreachable"
    OFFLINE = "offline"  # a queue gives it to nobody: whoever runs the cluster took it out


USABLE = (HostState.READY, HostState.DEGRADED)
"""In these a run can start; preflight says what it would be in spite of."""

AWAY = (HostState.UNREACHABLE, HostState.OFFLINE)
"""In these nothing can start, whatever ends there."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    gpu_index: int
    pid: int
    user: str
    command: str
    memory_mib: int | None
    run_id: str = ""  # of the run of ours that it belongs to; empty for anybody else's


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as nvidia-smi reports it; None where it says N/A."""

    index: int
    name: str
    uuid: str
    bus_id: str
    memory_total_mib: int | None
    memory_used_mib: int | None
    utilization_pct: int | None
    power_w: float | None
    power_limit_w: float | None
    temperature_c: int | None
    sm_clock_mhz: int | None
    mig_enabled: bool | None = None
    ecc_uncorrected: int | None = None  # since the driver was loaded
    throttle_reasons: tuple[str, ...] = ()  # what slows it down now; an idle GPU has none
    persistence: bool | None = None
    ecc_enabled: bool | None = None
    application_clocks_mhz: tuple[int, int] | None = None  # of the SMs and of the memory

    @property
    def model(self) -> str:
        """Its name without who made it."""
        return self.name.removeprefix("NVIDIA ").removeprefix("Tesla ")


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked at to learn of software. ``value``: ``RUNTIME IMAGE``, a program, or a
    directory; ``role``: what a run uses it as, such as the setting that names it."""

    kind: Literal["image", "python", "git"]
    value: str
    role: str


@dataclass(frozen=True, slots=True)
class Software:
    """Something that a run uses. ``kind``: image, python or git; ``where``: as in
    :class:`Sought`; ``name``: such as torch, NCCL_VERSION, revision; ``version``: begins with
    "unknown" where it could not be read, and may say why."""

    kind: str
    where: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Topology:
    """nvidia-smi topo -m. ``labels``: row/column names (GPU0 …, then NICs); ``links[i][j]``: X,
    NV18, PIX, PXB, PHB, NODE, SYS as printed. ``affinity``: columns after the matrix, by GPU."""

    labels: tuple[str, ...]
    links: tuple[tuple[str, ...], ...]
    cpu_affinity: tuple[str, ...]
    numa_affinity: tuple[str, ...]
    nic_names: dict[str, str] = field(hash=False)
    """NIC0 -> mlx5_0, from the legend; empty when rows carry real names."""


class LoadOf(StrEnum):
    """What of ours may have made the load of a machine, under whichever of its names."""

    ANYBODY = ""  # nothing that is known of
    RUN = "run"  # a run that is there
    ENDED = "ended"  # one that had ended a moment before, or has since


@dataclass(frozen=True, slots=True)
class HostFacts:
    """One probe's findings, all from one exec. What is missing is 0, empty or None."""

    os: str
    kernel: str
    boot_id: str
    cpu_model: str
    cpus: int
    numa_nodes: int
    memory_mib: int
    memory_available_mib: int
    load1: float  # NaN: facts of a moment are not known, as of a host that was recorded
    users: tuple[str, ...]
    python: str | None  # version of python3, None where missing
    driver_version: str | None
    cuda_version: str | None
    gpus: tuple[Gpu, ...]
    gpu_processes: tuple[GpuProcess, ...]
    topology: Topology | None
    clock_offset_s: float  # host clock minus ours, half the round trip taken off
    container_runtimes: tuple[str, ...] = ()
    hostname: str = ""  # what the machine calls itself
    machine: str = ""  # a digest of its /etc/machine-id, which is told to nobody
    architecture: str = ""  # x86_64, aarch64
    interconnects: tuple[str, ...] = ()  # InfiniBand ports: "mlx5_0 100 Gb/sec (4X EDR)"
    disk_free_mib: int | None = None  # of the file system that holds the host's work_dir
    disk_total_mib: int | None = None
    round_trip_s: float = 0.0  # what the clock offset may be wrong by, at most half of it
    gpu_problem: str = ""  # why nvidia-smi, though installed, said nothing useful
    missing: tuple[str, ...] = ()  # what the probe could not find out, in words
    nccl_library: str = ""  # version of the system's libnccl
    variables: dict[str, str] | None = field(default=None, hash=False)
    """Of its own, that libraries of a run read; what looks secret is ***. None: not recorded."""
    sought: tuple[Sought, ...] = ()  # where software was looked for
    software: tuple[Software, ...] = ()  # … and what was found
    lease: Lease | None = None  # who has the host; None: it is free
    lease_problem: str = ""  # why it can have no lease
    load_of: LoadOf = LoadOf.ANYBODY  # no probe tells, but whoever knows of the runs

    def without_gpus(self) -> HostFacts:
        """What counts for a run that computes on CPUs."""
        return replace(
            self,
            gpus=(),
            gpu_processes=(),
            gpu_problem="",
            driver_version=None,
            cuda_version=None,
            topology=None,
            nccl_library="",
        )

    def without_load(self, *, warm: bool = False) -> HostFacts:
        """What it is made of and who was seen there, without what it was at when it was asked;
        ``warm``: with how hot its GPUs were, which is the host's own trouble."""
        gpus = (
            replace(
                gpu,
                memory_used_mib=None,
                utilization_pct=None,
                power_w=None,
                temperature_c=gpu.temperature_c if warm else None,
                sm_clock_mhz=None,
            )
            for gpu in self.gpus
        )
        return replace(self, load1=math.nan, gpus=tuple(gpus))

    @property
    def of_a_moment(self) -> bool:
        """Load and free memory are known."""
        return not math.isnan(self.load1)

    @property
    def certain_clock_offset_s(self) -> float:
        """The part of the clock offset that a slow answer cannot explain; 0 where all can be."""
        certain = max(0.0, abs(self.clock_offset_s) - self.round_trip_s / 2)
        return certain if self.clock_offset_s >= 0 else 0.0 - certain


@dataclass(frozen=True, slots=True)
class Concern:
    """Worth a look, but no reason not to measure there; with what to do about it.

    ``degrades``: the host is not what it should be: memory errors, slowed down, hot, a broken
    driver, a clock that is off.
    """

    what: str
    remedy: str
    degrades: bool = False


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """A host as the console shows it at one moment. ``slots`` are the devices a run may use.

    ``probed_at``: when all this was so, seconds since the epoch; None: it was never asked.
    ``partitions``: of the queue that it is in; then all is what that queue tells of it.
    ``seen``: of one that does not tell what it has, when it last did. ``outdated``: what has made
    its load another one since it was asked, "before our run ended"; the facts are without it then.
    ``told_now``: that a run has it, or that it is out of reach, is no older than now: the campaign
    of that run tells.
    """

    name: str
    address: str
    state: HostState
    reason: str = ""
    facts: HostFacts | None = None
    slots: int = 0
    concerns: tuple[Concern, ...] = ()
    remedy: str = ""  # what to do about an unreachable host
    probed_at: float | None = None
    partitions: tuple[str, ...] = ()
    reservation: str = ""  # that holds it now
    seen: HostSnapshot | None = None
    outdated: str = ""
    told_now: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(concern.what for concern in self.concerns)

    @property
    def lease(self) -> Lease | None:
        return self.facts.lease if self.facts is not None else None

    @property
    def in_use(self) -> bool:
        """A run has it, or whoever else holds its lease; nothing else is the matter with it."""
        return self.state is HostState.READY and self.lease is not None

    @property
    def recorded(self) -> bool:
        """What is known of it was known when a campaign began; nobody has looked since."""
        told = self.partitions or self.outdated
        return self.facts is not None and not (self.facts.of_a_moment or told)

    @property
    def state_word(self) -> str:
        if self.in_use:
            return "in use"
        fit = self.state is HostState.READY  # else what was recorded is the matter with it
        return "recorded" if fit and self.recorded else str(self.state)

    @property
    def gpus_unknown(self) -> str:
        """Why nobody knows which GPUs it has; empty where that is known, if it is that of none."""
        return self.facts.gpu_problem if self.facts is not None and not self.facts.gpus else ""

    @property
    def tells(self) -> bool:
        """It says what it has."""
        return self.facts is not None and not self.gpus_unknown

    @property
    def capacity(self) -> HostCapacity:
        """What it can hold; a host that was never seen fits everything it was not declared for."""
        if self.facts is None:
            return HostCapacity(self.name, self.slots or None, None)
        known = len(self.facts.gpus)
        return HostCapacity(self.name, self.slots, known, gpu_problem=self.gpus_unknown)
