"""How long runs take and when a campaign ends: by what their profiles say until it was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.engines.engine import Waiting, WaitKind, Wanted
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import ends_at
from profiles.format.host_capacity import HostCapacity

CaseKey = tuple[object, ...]


def estimates(runs: Iterable[RunRecord]) -> dict[CaseKey, float]:
    """Seconds that a run of each case takes, by the case's key; what nothing is known of is left
    out.

    The median of the case's own runs that succeeded; else what the profile expects, times what the
    profile's other cases took of what was expected of them; without such an expectation the median
    of the profile's runs.
    """
    one: dict[CaseKey, RunRecord] = {}
    took: dict[CaseKey, list[float]] = defaultdict(list)
    by_profile: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        key = case_key(run)
        one.setdefault(key, run)
        if run.state is RunState.SUCCEEDED and run.started_at and run.ended_at:
            seconds = run.ended_at - run.started_at
            took[key].append(seconds)
            by_profile[run.profile].append(seconds)
            if run.expected_s:
                shares[run.profile].append(seconds / run.expected_s)
    result: dict[CaseKey, float] = {}
    for key, run in one.items():
        if key in took:
            result[key] = median(took[key])
        elif run.expected_s:
            result[key] = run.expected_s * median(shares.get(run.profile, [1.0]))
        elif run.profile in by_profile:
            result[key] = median(by_profile[run.profile])
    return result


def case_key(run: RunRecord) -> CaseKey:
    """What takes the same time: the case; a profiled run of it may take another."""
    size = (run.profile, run.nodes, run.gpus_per_node, run.profiled)
    return (*size, *sorted(run.parameters.items()))


class Estimates:
    """:func:`estimates` of one campaign's runs, worked out anew only when one more has told."""

    def __init__(self) -> None:
        self._known = (0, 0)
        self._seconds: Mapping[CaseKey, float] = {}

    def of(self, runs: Collection[RunRecord]) -> Mapping[CaseKey, float]:
        """Runs are never taken away, and one that has succeeded stays so."""
        known = len(runs), sum(run.state is RunState.SUCCEEDED for run in runs)
        if known != self._known:
            self._known, self._seconds = known, estimates(runs)
        return self._seconds


class Remaining:
    """How long a campaign still takes, played anew only when something of it has changed."""

    def __init__(self) -> None:
        self._of: object = None
        self._played_at = 0.0
        self._ends_at: float | None = None

    def seconds(
        self,
        left: Sequence[RunRecord],
        expected: Mapping[CaseKey, float],
        now: float,
        hosts: int,
        waiting: Mapping[str, Waiting],
        pack: int = 0,
    ) -> float | None:
        """Until the last of these runs has ended, as they are scheduled on so many ``hosts`` (0:
        not known); None where nothing is known of one, or of when a queue lets the first begin, or
        one has outlived what was expected. ``pack``: so many devices of a host are shared."""
        active = [run for run in left if run.state.active and run.started_at is not None]
        of = (
            len(left),
            tuple((run.run_id, run.state, run.started_at, run.collecting) for run in active),
        )
        if of != self._of:
            self._of, self._played_at = of, now
            self._ends_at = _ends_at(left, expected, now, hosts, pack)
        if self._ends_at is None or any(_outlived(run, expected, now) for run in active):
            return None
        if active:
            return max(0.0, self._ends_at - now)
        delay_s = _until_given(left, waiting, now)
        return None if delay_s is None else delay_s + self._ends_at - self._played_at


def _until_given(
    left: Sequence[RunRecord], waiting: Mapping[str, Waiting], now: float
) -> float | None:
    """Seconds until the queue gives hosts to the first of these runs, of which none is at work; 0
    where none is queued, None where the queue does not say."""
    why = [waiting[run.run_id] for run in left if run.run_id in waiting]
    queued = [one for one in why if one.kind is WaitKind.QUEUED]
    if not queued:
        return 0.0
    known = [one.expected_at for one in queued if one.expected_at is not None]
    return max(0.0, min(known) - now) if known else None


def _ends_at(
    left: Sequence[RunRecord], expected: Mapping[CaseKey, float], now: float, hosts: int, pack: int
) -> float | None:
    if not left or any(case_key(run) not in expected for run in left):
        return None
    ends: dict[str, float] = {}
    wanted = []
    for run in left:
        seconds = expected[case_key(run)]
        if not run.state.active:
            wanted.append(_wanted(run, seconds, pack))
        elif run.started_at is not None:
            ends[run.run_id] = now if run.collecting else max(now, run.started_at + seconds)
    last = ends_at(_offers(left, ends, hosts, pack), wanted, now)
    return max([last, *ends.values()])


def _outlived(run: RunRecord, expected: Mapping[CaseKey, float], now: float) -> bool:
    end = (run.started_at or now) + expected[case_key(run)]
    return end <= now and not (run.collecting or run.state is RunState.CANCELLING)


def _wanted(run: RunRecord, expected_s: float, pack: int) -> Wanted:
    return Wanted(
        run.run_id,
        run.nodes,
        run.gpus_per_node,
        repeat=run.repeat,
        expected_s=expected_s,
        settle_s=run.settle_s,
        pack=_packs(run, pack),
    )


def _packs(run: RunRecord, pack: int) -> bool:
    return pack > 0 and run.nodes == 1


def _offers(
    left: Sequence[RunRecord], ends: Mapping[str, float], hosts: int, pack: int
) -> list[Offer]:
    """Those that runs are on, and as many others as there are; what they hold is not recorded,
    unless it is shared."""
    uses: dict[str, list[Use]] = {name: [] for run in left for name in run.hosts}
    for run in left:
        if run.run_id in ends:
            for name in run.hosts:
                own = run.devices.get(name) if _packs(run, pack) else None
                uses[name].append(Use(ends[run.run_id] + run.settle_s, devices=own))
    width = max(hosts, *(run.nodes for run in left))
    uses |= {str(number): [] for number in range(width - len(uses))}
    return [
        Offer(HostCapacity(name, pack or None, None), tuple(used)) for name, used in uses.items()
    ]
