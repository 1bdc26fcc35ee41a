"""What NCCL's RAS answers to ``verbose status``, from 2.24 on.

The text is meant for people and has changed: "collective operation counts" became counts of each
kind ("AllReduce operation counts"). Source: NVIDIA NCCL, user guide, "RAS", and src/ras of NCCL
2.24 to 2.28. A mismatch may only be a moment's of a job that moves; what it means is for
:mod:`backends.hangs.verdict` to say.
"""

from __future__ import annotations

import re

from backends.hangs.evidence import RasCount, RasProcess, RasReport

_TOTAL = re.compile(r"^\s*\d+\s+\d+\s+\d+\s+\d+\s+(\d{1,7})\s*$")
_GROUP = re.compile(r"^\s*(\d{1,7})\s+\d+\s+\d+\s+\S+\s+(\d{1,7})\s+\d+\s+[A-Z]")
_COMMUNICATOR = re.compile(r"^#(\d{1,7})-\d+ \([0-9a-f]+\) ")
_OPERATIONS = re.compile(r"^Communicator ranks have different (\S{1,32}) operation counts")
_MANY = re.compile(
    r"^(\d{1,7}) ranks have (?:launched up to operation (\d{1,15})|not launched any)"
)
_ONE = re.compile(
    r"^Rank (\d{1,7}) has (?:launched up to operation (\d{1,15})|not launched any operations) -- "
)
_RANK = re.compile(r"^Rank (\d{1,7}) ")
_PROCESS = re.compile(r"^Process (\d{1,10}) on node (\S{1,255}?)(?: managing GPUs? (\S.{0,60}))?$")
_MANAGED = re.compile(
    r"-- GPU (\S{1,32}).{0,60}? managed by process (\d{1,10}) on node (\S{1,255})$"
)


def read_ras(text: str) -> RasReport | None:
    """None for what RAS never said."""
    if "Job summary" not in text and "Communicators..." not in text:
        return None
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line.strip())
    return RasReport(
        gpus=reader.gpus,
        missing=_once(reader.missing),
        dead=_once(reader.dead),
        counts=tuple(reader.counts),
        whole="\nWarnings\n" in text.replace("\r", ""),
    )


def _once(named: list[RasProcess]) -> tuple[RasProcess, ...]:
    """A process is named by itself and as a rank of each communicator: the largest tells most."""
    found: dict[tuple[int, str], RasProcess] = {}
    for one in named:
        before = found.get((one.pid, one.node))
        if before is None or (one.ranks or 0) > (before.ranks or 0):
            found[one.pid, one.node] = one
    return tuple(found.values())


class _Reader:
    def __init__(self) -> None:
        self.gpus: int | None = None
        self.missing: list[RasProcess] = []
        self.dead: list[RasProcess] = []
        self.counts: list[RasCount] = []
        self._ranks: dict[str, int] = {}  # of a communicator, by its group
        self._size: int | None = None  # of the one that is spoken of
        self._into: list[RasProcess] | None = None
        self._collective: str | None = None
        self._most = self._told = 0
        self._operation = 0

    def take(self, line: str) -> None:
        if self.gpus is None and (total := _TOTAL.match(line)):
            self.gpus = int(total[1])
        elif group := _GROUP.match(line):
            self._ranks[group[1]] = int(group[2])
        elif not self._heading(line):
            self._named(line)

    def _heading(self, line: str) -> bool:
        """What the lines below it are about."""
        if communicator := _COMMUNICATOR.match(line):
            self._size = self._ranks.get(communicator[1])
            self._begin()
        elif line in ("INCOMPLETE", "DEAD", "TIMEOUT", "Errors", "Warnings"):
            self._size = None
            self._begin()
        elif line.startswith("Missing communicator data"):
            self._begin(self.missing)
        elif "considered dead" in line or "are dead" in line:
            self._begin(self.dead)
        elif line.startswith("Communicator ranks"):
            self._begin()
            if kind := _OPERATIONS.match(line):
                self._collective = "" if kind[1] == "collective" else kind[1]
        else:
            return False
        return True

    def _named(self, line: str) -> None:
        """A process, a rank, or how many of them."""
        if process := _PROCESS.match(line):
            if self._into is not None:
                self._into.append(RasProcess(int(process[1]), process[2], process[3] or ""))
        elif self._collective is not None and (many := _MANY.match(line)):
            self._count(int(many[1]), int(many[2] or 0))
        elif rank := _RANK.match(line):
            named = _process(line, int(rank[1]), self._size)
            if self._into is not None and named is not None:
                self._into.append(named)
            elif self._collective is not None:
                if one := _ONE.match(line):
                    self._operation = int(one[2] or 0)
                self._outlier(named)

    def _begin(self, into: list[RasProcess] | None = None) -> None:
        self._into = into
        self._collective = None
        self._most = self._told = self._operation = 0

    def _count(self, ranks: int, operation: int) -> None:
        self._operation = operation
        if ranks > self._told:
            self._told, self._most = ranks, operation

    def _outlier(self, process: RasProcess | None) -> None:
        if process is not None and self._operation != self._most:
            count = RasCount(process, self._operation, self._most, self._collective or "")
            self.counts.append(count)


def _process(line: str, rank: int, ranks: int | None) -> RasProcess | None:
    managed = _MANAGED.search(line)
    if managed is None:
        return None
    return RasProcess(int(managed[2]), managed[3], managed[1], rank, ranks)
