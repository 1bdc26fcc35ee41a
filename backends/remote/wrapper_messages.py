"""Values that travel between the console and a host: what to start, and what became of it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from backends.remote.lease import Lease
from profiles.errors import DlperfError


class RemoteError(DlperfError):
    """A host was reached but could not do what was asked."""

    exit_code = 1


class LeaseHeldError(RemoteError):
    """Another run holds the host."""

    def __init__(self, host: str, lease: Lease) -> None:
        self.host = host
        self.lease = lease
        super().__init__(f"held by {lease}", where=host, remedy=lease.remedy)

    @property
    def holder(self) -> str:
        return self.lease.holder

    @property
    def since(self) -> float | None:
        return self.lease.since


class LogShorterError(RemoteError):
    """The log on the host has fewer bytes than are held here."""


class LogNotKeptError(RemoteError):
    """The log on the host is not the one that is safe elsewhere; nothing was removed."""


@dataclass(frozen=True, slots=True)
class LogDigest:
    """A whole log: its ``size`` in bytes and its SHA-256 in hexadecimal."""

    size: int
    sha256: str


class StartStep(StrEnum):
    """What the start of a run on a host is at, the first first; the host's name goes behind it."""

    CONNECTING = "connecting to"
    COPYING = "copying files to"
    LAUNCHING = "launching it on"


@dataclass(frozen=True, slots=True)
class StagedTree:
    """Files that a run finds in its working directory. ``archive``: a tar; ``digest``: of it."""

    digest: str
    archive: bytes = field(repr=False)

    @classmethod
    def of(cls, files: Mapping[str, Path | bytes]) -> StagedTree:
        """Pack files. Keys: relative paths on the host; values: content, a file or a directory.

        The same content gives the same digest: owners and times are left out, modes are kept.
        Raises ValueError for a path that leaves the working directory, OSError for files that
        cannot be read.
        """
        members: dict[str, tuple[bytes, int]] = {}
        for name, source in sorted(files.items()):
            if isinstance(source, bytes):
                members[name] = (source, 0o755 if source.startswith(b"#!") else 0o644)
            elif source.is_dir():
                for path in sorted(source.rglob("*")):
                    if path.is_file() and "__pycache__" not in path.parts:
                        inner = path.relative_to(source).as_posix()
                        members[f"{name.rstrip('/')}/{inner}"] = _read(path)
            else:
                members[name] = _read(source)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, (content, mode) in sorted(members.items()):
                parts = Path(name).parts
                if not parts or Path(name).is_absolute() or ".." in parts:
                    raise ValueError(f"not a path inside the working directory: {name!r}")
                entry = tarfile.TarInfo(Path(name).as_posix())
                entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content))
        return cls.packed(buffer.getvalue())

    @classmethod
    def packed(cls, archive: bytes) -> StagedTree:
        """Files that are packed already."""
        return cls(hashlib.sha256(archive).hexdigest()[:32], archive)


def _read(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One host's part of a run.

    ``script``: sh text that execs the workload; it runs in a fresh directory that holds copies of
    ``stage``. ``timeout_s``: enforced on the host, whether a console is there or not. ``grace_s``:
    between TERM and KILL. ``lease``: who takes the host, for others to read; empty takes no lease.
    ``group``: with other runs of the same it shares the host, each on its own ``devices``; empty:
    with none. ``container_name``: a container of this run alone, with the run id in its name; it is
    removed when the run ends.
    """

    run_id: str
    script: str
    lease: str
    group: str = ""
    devices: tuple[int, ...] = ()
    timeout_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    stage: tuple[StagedTree, ...] = ()
    grace_s: float = 10.0
    container_name: str | None = None

    @property
    def sharing(self) -> str:
        """As the wrapper takes it; empty: with nobody."""
        shares = self.group and self.devices
        return f"{self.group} {','.join(map(str, self.devices))}" if shares else ""


class RunPhase(StrEnum):
    ABSENT = "absent"
    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"  # the supervisor is gone without a record: killed, or the host rebooted


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a host knows of a run. Times are seconds since the epoch on the host's clock.

    ``boot_id``: the boot that the run was started in; the present one where the run is absent.
    ``size``: bytes of the log. ``exit_code``: as sh tells it, 128 + n for a signal. ``leftovers``:
    processes that the script left running and that were ended; ``left``: those that would not end.
    ``orphans``: processes that may be left without our marker, where nobody adopts a run's orphans;
    None: nobody can tell. ``oom_kills``: processes that the kernel ended because the run's cgroup
    was at its limit of memory. ``quiet_s``: since the log of a run at work was written to, by the
    host's clock; None: nobody can tell.
    """

    phase: RunPhase
    pid: int | None = None
    boot_id: str = ""
    same_boot: bool = False
    size: int = 0
    exit_code: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    timed_out: bool = False
    leftovers: int = 0
    left: int = 0
    cancelled: bool = False
    orphans: tuple[int, ...] | None = ()
    oom_kills: int = 0
    quiet_s: float | None = None

    @property
    def signal(self) -> int | None:
        """The signal that ended the script, None when it exited by itself."""
        code = self.exit_code
        return code - 128 if code is not None and 128 < code <= 128 + 64 else None


@dataclass(frozen=True, slots=True)
class CancelReport:
    """``left``: processes that would not end; None: nobody can tell that none is left, because its
    supervisor was killed (``phase`` LOST), or because of ``orphans``; see :class:`RunStatus`."""

    killed: int
    left: int | None
    phase: RunPhase = RunPhase.EXITED
    orphans: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something of ours on a host. ``phase`` ABSENT: processes whose run directory is gone.

    ``size``: bytes of its log there. ``orphans``: see :class:`RunStatus`.
    """

    host: str
    run_id: str
    phase: RunPhase
    processes: int
    started_at: float | None = None
    who: str = ""
    size: int = 0
    orphans: tuple[int, ...] | None = ()
