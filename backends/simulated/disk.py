"""A simulated host's files: what the wrapper keeps of runs, on a disk that can fill up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SupervisorRecord:
    """Names one process for ever, and when it was started (seconds since the epoch, there)."""

    pid: int
    ticks: int
    boot_id: str
    started: float


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How a run ended; ``ended``: seconds since the epoch on the host's clock."""

    code: int
    ended: float
    timed_out: bool
    leftovers: int
    left: int
    cancelled: bool
    orphans: str = "-"


@dataclass(frozen=True, slots=True)
class EndingNote:
    """Until when (uptime) who had TERM since then has time: their pids."""

    until: float
    signalled: frozenset[int]


@dataclass(slots=True, eq=False)
class RunFiles:
    """A run's directory. ``tickets``: of starts that may still come; ``preparing``: pids of those
    that make ready for it."""

    run_id: str
    host: str
    script: bytes = b""
    container: str = ""
    who: str = ""
    log: bytearray | None = None
    log_written: float = 0.0  # seconds since the epoch, by the machine's clock
    tickets: set[str] = field(default_factory=set)
    preparing: set[int] = field(default_factory=set)
    claimed: bool = False
    supervisor: SupervisorRecord | None = None
    reaper: bool = False
    exit: ExitRecord | None = None
    cancelled: bool = False
    ending: EndingNote | None = None

    @property
    def known(self) -> bool:
        """Whether its supervisor has said anything yet."""
        return self.supervisor is not None or self.exit is not None


@dataclass(slots=True)
class HolderNote:
    """Who took a lease last: a user's note beside it. ``since``: whole seconds since the epoch."""

    since: int
    run_id: str
    who: str


@dataclass(slots=True, eq=False)
class Claim:
    """A run's hold on its machine. ``owner``: the supervisor that took it, or who starts that.

    ``sharing``: "GROUP DEVICES" while it shares the machine with others of its group; else empty.
    """

    note: HolderNote
    owner: SupervisorRecord
    sharing: str = ""

    def beside(self, sharing: str) -> bool:
        """Whether a run that shares in this way goes on other devices beside it."""
        group, _, devices = self.sharing.partition(" ")
        other, _, wanted = sharing.partition(" ")
        return bool(group) and group == other and not {*devices.split(",")} & {*wanted.split(",")}


@dataclass(slots=True)
class Lease:
    """A machine's lease: the claims of runs that have not given it back, by run id."""

    claims: dict[str, Claim] = field(default_factory=dict)


class Disk:
    """A file system; several hosts may share one, as they do a home on NFS.

    ``room``: bytes that still fit, None: as many as you like. Records are small and have their
    place taken beforehand, so they fit on a full disk too.
    """

    def __init__(self, room: int | None = None) -> None:
        self.room = room
        self.runs: dict[tuple[str, str], RunFiles] = {}
        self.stages: set[str] = set()
        self.wrappers: set[str] = set()

    @property
    def full(self) -> bool:
        return self.room is not None and self.room <= 0

    def take(self, size: int) -> int:
        """Use up to ``size`` bytes; how many there were."""
        if self.room is None:
            return size
        taken = max(0, min(size, self.room))
        self.room -= taken
        return taken

    def of_host(self, host: str) -> Iterator[RunFiles]:
        """The runs of one host, as a shell's ``*`` sorts them."""
        return iter([files for (_, name), files in sorted(self.runs.items()) if name == host])
