"""Which runs of a campaign shared a host, or a machine, while they ran."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from backends.campaign.record.run_record import RunRecord


def shared_with(runs: Iterable[RunRecord]) -> Mapping[str, tuple[str, ...]]:
    """By run id the other runs that were on one of its hosts at the same time, in the order of the
    campaign; what shared with none is left out.

    Two on the same device of a host came one after the other, however near. A queue numbers the
    devices of each job by themselves, so there that tells nothing.
    """
    by_host: dict[str, list[RunRecord]] = defaultdict(list)
    place: dict[str, int] = {}
    for number, run in enumerate(runs):
        place[run.run_id] = number
        for host in run.hosts if run.launched_at is not None else ():
            by_host[host].append(run)
    found: dict[str, set[str]] = defaultdict(set)
    for host, there in by_host.items():
        for one, other in _together(there):
            if one.job_id or not set(one.devices.get(host, ())) & set(other.devices.get(host, ())):
                found[one.run_id].add(other.run_id)
                found[other.run_id].add(one.run_id)
    return {
        run_id: tuple(sorted(others, key=place.__getitem__)) for run_id, others in found.items()
    }


def beside_on_its_machine(runs: Iterable[RunRecord]) -> Mapping[str, tuple[str, ...]]:
    """By run id the hosts that are other names of one of its machines, and on which other runs were
    at work at the same time; what had its machines alone is left out.

    One machine has one boot id, whatever it is called.
    """
    by_machine: dict[str, dict[str, RunRecord]] = defaultdict(dict)
    for run in runs:
        for boot_id in run.boot_ids if run.launched_at is not None else ():
            by_machine[boot_id][run.run_id] = run
    by_machine.pop("", None)
    found: dict[str, set[str]] = defaultdict(set)
    for boot_id, there in by_machine.items():
        for one, other in _together([*there.values()]):
            names, others = _names(one, boot_id), _names(other, boot_id)
            found[one.run_id] |= others - names
            found[other.run_id] |= names - others
    return {run_id: tuple(sorted(names)) for run_id, names in found.items() if names}


def _names(run: RunRecord, boot_id: str) -> set[str]:
    """What the run calls a machine."""
    return {host for host, boot in zip(run.hosts, run.boot_ids, strict=False) if boot == boot_id}


def _together(runs: Sequence[RunRecord]) -> Iterable[tuple[RunRecord, RunRecord]]:
    """Pairs that ran at the same time."""
    at_work: list[RunRecord] = []
    for run in sorted(runs, key=lambda run: run.launched_at or 0.0):
        began = run.launched_at or 0.0
        at_work = [one for one in at_work if _end(one) > began]
        yield from ((one, run) for one in at_work)
        at_work.append(run)


def _end(run: RunRecord) -> float:
    """When nothing of it was at work any more, by its hosts or by who saw it first."""
    told = (time for time in (run.ended_at, run.over_at) if time is not None)
    return min(told, default=math.inf)
