"""What each source says against a rank or a host. Pure; what it comes to is for the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from backends.hangs.diagnosis import Finding, Sign
from backends.hangs.evidence import (
    Collective,
    HostEvidence,
    KernelLine,
    KernelProblem,
    Lack,
    Process,
    RasReport,
    Stack,
)
from backends.hangs.rank_places import Devices, Place, Ranks
from backends.hangs.stacks import collective_of, waits

IDLE_PCT, BUSY_PCT = 5, 90
_KERNEL_SIGNS = {
    KernelProblem.XID: Sign.XID,
    KernelProblem.NVLINK: Sign.NVLINK,
    KernelProblem.PCIE: Sign.PCIE,
    KernelProblem.HUNG_TASK: Sign.HUNG_TASK,
    KernelProblem.OUT_OF_MEMORY: Sign.OUT_OF_MEMORY,
    KernelProblem.NETWORK: Sign.NETWORK,
}
_T = TypeVar("_T")


class Findings:
    def __init__(self) -> None:
        self.of: dict[Place, list[Finding]] = {}

    def add(self, place: Place, finding: Finding) -> None:
        found = self.of.setdefault(place, [])
        if len(found) < 16 and finding not in found:
            found.append(finding)


def from_processes(evidence: Sequence[HostEvidence], ranks: Ranks, found: Findings) -> None:
    for host in evidence:
        if not host.answered and any(other.answered for other in evidence):
            found.add(Place(host.host), Finding(Sign.HOST_SILENT))
        for process in host.processes:
            place = ranks.by_pid.get((host.host, process.pid))
            sign = _state_sign(process)
            if sign is None or (place is None and sign is Sign.UNINTERRUPTIBLE):
                continue  # a helper of a rank may well read from a disk
            if place is None:
                parent = ranks.by_pid.get((host.host, process.parent))
                place = parent or Place(host.host, pid=process.pid)
            text = process.wchan if sign is Sign.UNINTERRUPTIBLE else ""
            found.add(place, Finding(sign, text=text or process.command))
    told = set(ranks.by_rank)
    gone = [ranks.place(rank) for rank in sorted(set(range(ranks.world)) - told)]
    # Where none of its ranks is seen, a host may know them by another name, or not at all.
    seen = {place.host for place in ranks.by_rank.values()}
    if all(host.answered and host.listed for host in evidence) and len(gone) <= len(told):
        for place in gone if seen.issuperset(place.host for place in gone) else ():
            found.add(place, Finding(Sign.GONE))


def _state_sign(process: Process) -> Sign | None:
    if process.state == process.before == "T":
        return Sign.STOPPED
    if process.state == process.before == "t":
        return Sign.TRACED
    if process.state == process.before == "D":
        return Sign.UNINTERRUPTIBLE
    return None


def from_kernel(
    evidence: Sequence[HostEvidence],
    ranks: Ranks,
    found: Findings,
    devices: Devices,
    run_s: float,
    now: float,
) -> None:
    for host in evidence:
        for gpu in host.gpus if not isinstance(host.gpus, Lack) else ():
            if gpu.lost and (place := devices.place(host, gpu.bus_id)) is not None:
                found.add(place, Finding(Sign.GPU_LOST))
        for line in host.kernel if not isinstance(host.kernel, Lack) else ():
            sign = _KERNEL_SIGNS.get(line.problem) if host.devices or line.xid is None else None
            if sign is None or line.ago_s is None or line.ago_s > run_s:
                continue
            place = _place_of(line, host, ranks, devices)
            if place is not None:
                finding = Finding(sign, xid=line.xid, at=now - line.ago_s, text=line.text)
                found.add(place, finding)


def _place_of(line: KernelLine, host: HostEvidence, ranks: Ranks, devices: Devices) -> Place | None:
    if line.problem in (KernelProblem.HUNG_TASK, KernelProblem.OUT_OF_MEMORY):
        own = {process.pid for process in host.processes}
        place = ranks.by_pid.get((host.host, line.pid or 0))
        return place or (Place(host.host, pid=line.pid) if line.pid in own else None)
    if line.problem is KernelProblem.NETWORK:
        return Place(host.host)
    if line.problem is KernelProblem.PCIE and not line.bus_id:
        return None
    place = devices.place(host, line.bus_id, line.pid)
    if line.problem is KernelProblem.PCIE and place is not None and place.device is None:
        return None  # of a device that is none of our GPUs
    return place


def from_ras(report: RasReport, ranks: Ranks, found: Findings) -> None:
    for sign, named in ((Sign.RAS_DEAD, report.dead), (Sign.RAS_MISSING, report.missing)):
        for process in named:
            place = ranks.of_ras(process)
            if place is not None:
                found.add(place, Finding(sign))
    for count in report.counts:
        place = ranks.of_ras(count.process)
        if place is not None:
            sign = Sign.BEHIND if count.operation < count.most else Sign.AHEAD
            name = count.collective
            found.add(place, Finding(sign, name, count.operation, count.most))


NO_RECORD = (Lack.SILENT, Lack.NOT_THERE)
"""Of a rank beside others that have a flight recorder's dump it says that it stands out."""


def from_flights(
    evidence: Sequence[HostEvidence],
    flights: Mapping[int, Collective],
    ranks: Ranks,
    found: Findings,
) -> None:
    silent = [
        rank
        for host in evidence
        for rank, told in host.flights
        if rank not in flights and told in NO_RECORD and rank < ranks.world
    ]
    if len(flights) > len(silent):
        for rank in silent:
            found.add(ranks.place(rank), Finding(Sign.NO_DUMP))
    if len(flights) < 2:
        return
    numbers = {rank: told.number for rank, told in flights.items()}
    most = most_of(numbers.values())
    if most is None:  # as many here as there: who has come less far keeps the others
        most = max(numbers.values())
    for rank in sorted(flights):
        told = flights[rank]
        if told.number != most:
            sign = Sign.BEHIND if told.number < most else Sign.AHEAD
            found.add(
                ranks.place(rank), Finding(sign, told.name, told.number, most, text=told.state)
            )
    same = {rank: told for rank, told in flights.items() if told.number == most}
    _odd(same, [told.name for told in same.values()], Sign.OTHER_COLLECTIVE, ranks, found)
    states = {rank: told for rank, told in same.items() if told.state == "scheduled"}
    started = sum(told.state == "started" for told in same.values())
    if started >= max(1, len(states)):
        for rank in sorted(states):
            told = states[rank]
            found.add(ranks.place(rank), Finding(Sign.NOT_STARTED, told.name, told.number, most))


def _odd(
    flights: Mapping[int, Collective],
    names: Sequence[str],
    sign: Sign,
    ranks: Ranks,
    found: Findings,
) -> None:
    usual = most_of(names)
    for rank in sorted(flights):
        told = flights[rank]
        if usual is not None and told.name != usual:
            found.add(
                ranks.place(rank), Finding(sign, told.name, told.number, told.number, text=usual)
            )


def from_stacks(stacks: Mapping[int, Stack], ranks: Ranks, found: Findings) -> None:
    """Who does not wait while most do; or waits elsewhere than all others."""
    if len(stacks) < 2:
        return
    busy = [rank for rank, stack in stacks.items() if not waits(stack)]
    if busy and len(busy) * 2 <= len(stacks):
        odd = busy
    elif not busy:
        usual = most_of([stack.functions for stack in stacks.values()])
        odd = [r for r, s in stacks.items() if usual is not None and s.functions != usual]
        if len(stacks) < 3 or len(odd) * 3 > len(stacks):
            return  # all wait, and where exactly is chance
    else:
        return  # most are at work: then nobody keeps the others
    for rank in sorted(odd):
        stack = stacks[rank]
        where = f"{stack.functions[0]} ({stack.places[0]})"
        found.add(ranks.place(rank), Finding(Sign.STACK_DIFFERS, collective_of(stack), text=where))


def from_utilisation(evidence: Sequence[HostEvidence], ranks: Ranks, found: Findings) -> None:
    """A rank that waits in NCCL's kernel keeps its GPU busy; who has not come there does not."""
    busy: dict[Place, int] = {}
    for host in evidence:
        percent = {
            gpu.index: gpu.utilization_pct
            for gpu in (host.gpus if not isinstance(host.gpus, Lack) else ())
            if gpu.utilization_pct is not None
        }
        for place in ranks.by_rank.values():
            if place.host == host.host and place.device in percent:
                busy[place] = percent[place.device] or 0
    idle = [place for place, value in busy.items() if value <= IDLE_PCT]
    others = [value for place, value in busy.items() if place not in idle]
    if idle and len(idle) < len(others) and min(others) >= BUSY_PCT:
        for place in idle:
            found.add(place, Finding(Sign.IDLE_GPU))
    elif len(idle) == len(others) == 1 and others[0] >= BUSY_PCT:
        found.add(idle[0], Finding(Sign.IDLE_GPU))


def most_of(values: Iterable[_T]) -> _T | None:
    """What more than half of them are; None where nothing is."""
    counted = Counter(values)
    total = sum(counted.values())
    for value, count in counted.most_common(1):
        return value if count * 2 > total else None
    return None
