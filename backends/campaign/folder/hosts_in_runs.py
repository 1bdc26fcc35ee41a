"""How hosts did in the real runs of the latest campaigns: how fast, and what failed there."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from backends.campaign.folder.index import list_campaigns
from backends.campaign.folder.refuse_foreign_files import ForeignFileError, refuse_strange
from backends.campaign.record import journal
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import fold
from backends.hangs.diagnosis import Confidence
from backends.precheck.past import HostInRuns

MOST_CAMPAIGNS = 20
FEWEST_HOSTS = 3
"""On which a case was run: of fewer nobody can tell who was slow."""
_OF_HOSTS: Mapping[str, str] = {
    Cause.STALLED: "stalled",
    Cause.LOST: "out of reach",
    Cause.REBOOTED: "rebooted",
    Cause.KILLED: "its supervisor ended",
    Cause.NODE_FAILED: "node failed",
}
_IN_EVIDENCE = ("Xid", "uncorrectable ECC", "fallen off the bus")


def hosts_in_runs(
    campaigns_dir: Path, hosts: Sequence[str], clock: Callable[[], float]
) -> dict[str, HostInRuns]:
    """Of these hosts, from the latest campaigns kept here; those that cannot be read are passed
    over. Blocking: it reads their journals."""
    runs: list[tuple[RunRecord, ...]] = []
    for summary in list_campaigns(campaigns_dir, clock)[:MOST_CAMPAIGNS]:
        if summary.imported or summary.simulated or summary.problem:
            continue
        try:
            refuse_strange(summary.path)
            state = fold(journal.read_events(summary.path / journal.FILE_NAME, readings=False))
        except (journal.JournalError, ForeignFileError, OSError):
            continue
        runs.append(tuple(state.runs.values()))
    return of_runs(runs, hosts)


def of_runs(
    campaigns: Iterable[Sequence[RunRecord]], hosts: Sequence[str]
) -> dict[str, HostInRuns]:
    """The same of runs, campaign by campaign: what is fast differs between them."""
    counts = dict.fromkeys(hosts, 0)
    speeds: dict[str, list[float]] = {host: [] for host in hosts}
    faults: dict[str, list[str]] = {host: [] for host in hosts}
    for runs in campaigns:
        cases: dict[str, list[RunRecord]] = {}
        for run in runs:
            if run.profiled or not run.state.ended or run.state is RunState.CANCELLED:
                continue
            for host in set(run.hosts) & set(hosts):
                counts[host] += 1
            if run.throughput and run.state is RunState.SUCCEEDED:
                cases.setdefault(run.case.key, []).append(run)
            for host, fault in _faults(run).items():
                if host in faults:
                    faults[host].append(fault)
        for same in cases.values():
            if len({host for run in same for host in run.hosts}) < FEWEST_HOSTS:
                continue
            usual = statistics.median(run.throughput or 0.0 for run in same)
            for run in same:
                for host in set(run.hosts) & set(hosts):
                    speeds[host].append((run.throughput or 0.0) / usual)
    return {
        host: HostInRuns(host, counts[host], tuple(speeds[host]), tuple(faults[host]))
        for host in hosts
        if counts[host]
    }


def _faults(run: RunRecord) -> dict[str, str]:
    """What was amiss on which host of a run, once for each; of a failure whose doing nobody can
    tell: nothing."""
    found = {slow.host: "slow rank" for slow in run.slow_ranks or () if slow.until is None}
    if run.state is not RunState.FAILED:
        return found
    told = " ".join((run.reason, *run.evidence))
    fault = next((word for word in _IN_EVIDENCE if word in told), _OF_HOSTS.get(run.category, ""))
    if fault:
        found |= dict.fromkeys(_at_fault(run), fault)
    return found


def _at_fault(run: RunRecord) -> set[str]:
    """By the run's own end, else by what was found when its hosts were asked why it does not
    move."""
    if run.failed_host:
        return {run.failed_host}
    if run.diagnosis is not None and run.diagnosis.confidence in (
        Confidence.HIGH,
        Confidence.MEDIUM,
    ):
        return {suspect.host for suspect in run.diagnosis.suspects}
    return set(run.hosts) if len(run.hosts) == 1 else set()
