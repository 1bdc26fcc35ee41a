"""Why a run does not move, as a value that is journaled: who stands out, by what, how surely."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backends.hangs.evidence import Lack


class Sign(StrEnum):
    """What a rank, or a host, stands out by."""

    STOPPED = "stopped"
    TRACED = "traced"
    GONE = "gone"
    GPU_LOST = "gpu_lost"
    XID = "xid"
    OUT_OF_MEMORY = "out_of_memory"
    RAS_DEAD = "ras_dead"
    RAS_MISSING = "ras_missing"
    UNINTERRUPTIBLE = "uninterruptible"
    HOST_SILENT = "host_silent"
    BEHIND = "behind"  # in the numbers of collectives
    AHEAD = "ahead"
    OTHER_COLLECTIVE = "other_collective"  # of the same number
    NOT_STARTED = "not_started"  # the same one, which all others have started
    NO_DUMP = "no_dump"  # its flight recorder is silent, those of all others are not
    STACK_DIFFERS = "stack_differs"
    IDLE_GPU = "idle_gpu"  # while those of all others are busy
    NVLINK = "nvlink"
    PCIE = "pcie"
    HUNG_TASK = "hung_task"
    NETWORK = "network"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"  # nobody is named


class Source(StrEnum):
    STACKS = "py-spy"
    FLIGHT = "flight recorder"
    RAS = "NCCL RAS"
    KERNEL = "kernel log"
    GPUS = "nvidia-smi"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sign, with what it was seen by.

    number, most: of the collective it has come to, and of that which most have come to.
    xid: of the driver's message. at: seconds since the epoch. text: a line that shows it.
    """

    sign: Sign
    collective: str = ""
    number: int | None = None
    most: int | None = None
    xid: int | None = None
    at: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Suspect:
    """``rank``: None where only the host is known; ``device``: of a GPU there."""

    host: str
    rank: int | None = None
    device: int | None = None
    pid: int | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def signs(self) -> frozenset[Sign]:
        return frozenset(finding.sign for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Lacking:
    """Evidence that was not to be had on some hosts, and why."""

    source: Source
    why: Lack
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found when the hosts of a run that does not move were asked.

    suspects: the likeliest first; none where nobody stands out.
    waiting: how many ranks were seen to wait for others, of ``ranks``; in which ``collective`` and
        ``number`` of it, where that is known of all of them.
    files: the raw evidence, relative to the campaign.
    """

    suspects: tuple[Suspect, ...] = ()
    confidence: Confidence = Confidence.NONE
    ranks: int = 0
    waiting: int = 0
    collective: str = ""
    number: int | None = None
    lacking: tuple[Lacking, ...] = ()
    files: tuple[str, ...] = ()
