"""What the hosts of a run that does not move can tell, as frozen values. Nothing here judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the run; ``state`` as /proc has it (R, S, D, T, t, Z), ``before`` a second ago.

    rank, local_rank: None where nothing says, or where it is a helper of a rank.
    cpu: clock ticks that it used in that second. stuck: threads that cannot be interrupted.
    """

    pid: int
    state: str
    before: str
    parent: int = 0
    rank: int | None = None
    local_rank: int | None = None
    cpu: int = 0
    stuck: int = 0
    wchan: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """The main thread of a process: functions from the innermost out, and where each is."""

    pid: int
    functions: tuple[str, ...]
    places: tuple[str, ...]


class Lack(StrEnum):
    """Why a stack, a flight recorder's dump or an answer of NCCL's RAS is not there."""

    NOT_INSTALLED = "not installed"
    FORBIDDEN = "not permitted"
    SILENT = "did not answer in time"
    NOT_THERE = "not there"
    TOO_LARGE = "too large"
    UNREADABLE = "not understood"


@dataclass(frozen=True, slots=True)
class RasProcess:
    """A process as NCCL's RAS names it; ``rank`` is that in its communicator, of ``ranks``."""

    pid: int
    node: str
    gpu: str = ""
    rank: int | None = None
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class RasCount:
    """Ranks of a communicator that have launched fewer or more operations than most.

    ``operation``: the number they have come to, 0: none yet; ``most``: that of the most ranks;
    ``collective``: empty where RAS counts all kinds together.
    """

    process: RasProcess
    operation: int
    most: int
    collective: str = ""


@dataclass(frozen=True, slots=True)
class RasReport:
    """What NCCL's RAS says. ``gpus``: of the whole job; ``whole``: it came to its end."""

    gpus: int | None
    missing: tuple[RasProcess, ...] = ()
    dead: tuple[RasProcess, ...] = ()
    counts: tuple[RasCount, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Collective:
    """The last collective that a rank's flight recorder has: ``state`` is scheduled, started or
    completed."""

    name: str
    number: int
    state: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """``utilization_pct``: None where nvidia-smi does not say; ``lost``: it says so."""

    index: int
    bus_id: str
    utilization_pct: int | None = None
    lost: bool = False


class KernelProblem(StrEnum):
    XID = "xid"
    NVLINK = "nvlink"
    PCIE = "pcie"
    HUNG_TASK = "hung task"
    OUT_OF_MEMORY = "out of memory"
    NETWORK = "network"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A line of the kernel's log, ``ago_s`` seconds ago; ``bus_id``: of the device in it."""

    problem: KernelProblem
    text: str
    ago_s: float | None
    xid: int | None = None
    bus_id: str = ""
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """All that one host told. ``devices``: the run's own there, in the order of its local ranks.

    ``answered``: False where it did not within the limit, and then all else is empty.
    ``listed``: whether its list of processes came to its end.
    ``stacks``, ``flights``: by pid, by rank. ``files``: of the raw evidence, in the campaign.
    """

    host: str
    devices: tuple[int, ...] = ()
    answered: bool = True
    listed: bool = True
    processes: tuple[Process, ...] = ()
    stacks: tuple[Stack | tuple[int, Lack], ...] = ()
    flights: tuple[tuple[int, Collective | Lack], ...] = ()
    ras: RasReport | Lack = Lack.NOT_THERE
    gpus: tuple[Gpu, ...] | Lack = Lack.NOT_INSTALLED
    gpu_of_pid: tuple[tuple[int, str], ...] = ()
    kernel: tuple[KernelLine, ...] | Lack = Lack.NOT_THERE
