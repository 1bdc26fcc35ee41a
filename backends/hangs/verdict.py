"""From evidence to a diagnosis: which rank stands out, by what, and how surely. Pure.

A rank that does not come to a collective keeps all others in it, so whoever waits is innocent. What
one host says of itself (a process that is stopped, a GPU that is lost) says more than a difference
between ranks; a rank is named only where its signs single it out, and never from its number alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backends.hangs.diagnosis import (
    Confidence,
    Diagnosis,
    Finding,
    Lacking,
    Sign,
    Source,
    Suspect,
)
from backends.hangs.evidence import Collective, HostEvidence, Lack, RasReport, Stack
from backends.hangs.rank_places import Devices, Place, Ranks
from backends.hangs.signs import (
    NO_RECORD,
    Findings,
    from_flights,
    from_kernel,
    from_processes,
    from_ras,
    from_stacks,
    from_utilisation,
)
from backends.hangs.stacks import collective_of, waits

DIRECT = frozenset(
    {
        Sign.STOPPED,
        Sign.TRACED,
        Sign.GONE,
        Sign.GPU_LOST,
        Sign.XID,
        Sign.OUT_OF_MEMORY,
        Sign.RAS_DEAD,
        Sign.RAS_MISSING,
    }
)
"""Of these one is enough."""
STRONG = frozenset(
    {
        Sign.UNINTERRUPTIBLE,
        Sign.HOST_SILENT,
        Sign.BEHIND,
        Sign.OTHER_COLLECTIVE,
        Sign.NOT_STARTED,
    }
)


def diagnose(
    evidence: Sequence[HostEvidence],
    *,
    world: int,
    run_s: float,
    now: float,
    bus_ids: Mapping[tuple[str, int], str] | None = None,
    files: tuple[str, ...] = (),
) -> Diagnosis:
    """What the evidence carries, and no more.

    Parameters
    ----------
    world: how many ranks the run has.
    run_s: how long it has run; what the kernel said before is not its own.
    now: seconds since the epoch, of the asking.
    bus_ids: of each host's GPUs by (host, index), as they were known before: one that is lost is
        not listed any more.
    """
    ranks = Ranks(evidence, world)
    found = Findings()
    stacks = _stacks(evidence, ranks)
    flights = {
        rank: told
        for host in evidence
        for rank, told in host.flights
        if rank < world and isinstance(told, Collective)
    }
    report = _best_report(evidence, ranks)
    from_processes(evidence, ranks, found)
    from_kernel(evidence, ranks, found, Devices(evidence, ranks, bus_ids or {}), run_s, now)
    if report is not None:
        from_ras(report, ranks, found)
    from_flights(evidence, flights, ranks, found)
    from_stacks(stacks, ranks, found)
    from_utilisation(evidence, ranks, found)
    suspects, confidence = _judged(found, world)
    accused = {suspect.rank for suspect in suspects}
    collective, number = _others_in(flights, stacks, accused)
    waiting = sum(waits(stack) for rank, stack in stacks.items() if rank not in accused)
    return Diagnosis(
        suspects=suspects,
        confidence=confidence,
        ranks=world,
        waiting=waiting,
        collective=collective,
        number=number,
        lacking=_lacking(evidence, report),
        files=files,
    )


def _best_report(evidence: Sequence[HostEvidence], ranks: Ranks) -> RasReport | None:
    """Of this job, and the one that tells of most: any process of the job can be the one asked."""
    reports = [
        host.ras
        for host in evidence
        if isinstance(host.ras, RasReport) and _is_ours(host.ras, ranks)
    ]
    return max(reports, key=lambda r: (r.whole, len(r.dead) + len(r.missing)), default=None)


def _is_ours(report: RasReport, ranks: Ranks) -> bool:
    """Another job on the host may have the port."""
    named = [*report.dead, *report.missing, *(count.process for count in report.counts)]
    pids = {pid for _, pid in ranks.by_pid}
    if any(process.pid in pids for process in named):
        return True
    return report.gpus is None or report.gpus == ranks.world


def _stacks(evidence: Sequence[HostEvidence], ranks: Ranks) -> dict[int, Stack]:
    stacks = {}
    for host in evidence:
        for stack in host.stacks:
            if isinstance(stack, Stack) and (place := ranks.by_pid.get((host.host, stack.pid))):
                stacks[place.rank or 0] = stack
    return stacks


def weight(signs: Iterable[Sign]) -> int:
    return sum(4 if sign in DIRECT else 2 if sign in STRONG else 1 for sign in set(signs))


def _judged(found: Findings, world: int) -> tuple[tuple[Suspect, ...], Confidence]:
    places = _with_their_hosts(found.of)
    suspects = [
        Suspect(place.host, place.rank, place.device, place.pid, tuple(findings))
        for place, findings in places.items()
    ]
    suspects.sort(key=lambda s: (-weight(s.signs), s.rank is None, s.rank or 0, s.host))
    best = weight(suspects[0].signs) if suspects else 0
    kept = [s for s in suspects if weight(s.signs) * 2 > best]
    direct = [s for s in kept if s.signs & DIRECT]
    kept = direct or kept
    if not kept or (not direct and len(kept) * 2 > max(2, world)):
        return (), Confidence.NONE
    if direct:
        return tuple(kept), Confidence.HIGH
    return tuple(kept), Confidence.MEDIUM if best >= 2 else Confidence.LOW


def _with_their_hosts(of: Mapping[Place, list[Finding]]) -> dict[Place, list[Finding]]:
    """What is known of a host alone goes to the rank there that stands out, where it is one."""
    ranked = {place: list(findings) for place, findings in of.items() if place.rank is not None}
    for place, findings in of.items():
        if place.rank is not None:
            continue
        there = [other for other in ranked if other.host == place.host]
        if len(there) == 1 and place.pid is None and place.device in (None, there[0].device):
            ranked[there[0]].extend(f for f in findings if f not in ranked[there[0]])
        else:
            ranked[place] = list(findings)
    return ranked


def _others_in(
    flights: Mapping[int, Collective], stacks: Mapping[int, Stack], accused: set[int | None]
) -> tuple[str, int | None]:
    """The collective that all who are not accused are in, where all of them told the same."""
    told = {(f.name, f.number) for rank, f in flights.items() if rank not in accused}
    if len(told) == 1:
        return next(iter(told))
    names = {collective_of(stack) for rank, stack in stacks.items() if rank not in accused}
    return (names.pop() if len(names) == 1 else ""), None


def _lacking(evidence: Sequence[HostEvidence], report: RasReport | None) -> tuple[Lacking, ...]:
    """What the reader would have to look for elsewhere; by source and reason, with the hosts."""
    hosts: dict[tuple[Source, Lack], list[str]] = {}

    def note(source: Source, why: Lack, host: HostEvidence) -> None:
        names = hosts.setdefault((source, why), [])
        if host.host not in names:
            names.append(host.host)

    for host in evidence:
        if not host.answered:
            note(Source.HOST, Lack.SILENT, host)
            continue
        for stack in host.stacks:
            if not isinstance(stack, Stack):
                note(Source.STACKS, stack[1], host)
        if isinstance(host.kernel, Lack):
            note(Source.KERNEL, host.kernel, host)
        if not host.devices:
            continue  # of CPUs there is neither
        if isinstance(host.gpus, Lack):
            note(Source.GPUS, host.gpus, host)
        if report is None and isinstance(host.ras, Lack):
            note(Source.RAS, host.ras, host)
        recorded = any(not isinstance(told, Lack) for _, told in host.flights)
        for _, told in host.flights:
            if isinstance(told, Lack) and not (recorded and told in NO_RECORD):
                note(Source.FLIGHT, told, host)  # else it says something of its rank
    return tuple(Lacking(source, why, tuple(names)) for (source, why), names in hosts.items())
