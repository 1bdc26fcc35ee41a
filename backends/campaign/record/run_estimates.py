"""How long runs take and when a campaign ends: by what their profiles say until it was measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import median, median_high, median_low

from backends.campaign.record.run_record import RunRecord, avoided
from backends.campaign.record.run_state import RunState
from backends.engines.engine import Waiting, WaitKind, Wanted
from backends.engines.filling import Offer, Use
from backends.engines.hosts_schedule import Slot, ends_at, timeline
from backends.engines.waiting_line import in_turn
from backends.results.usual_share import usual_share
from profiles.format.host_capacity import HostCapacity
from profiles.throughput.steady import lost_to_stalls

CaseKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """Seconds that a run at work takes in all. ``usual``: as far as others tell. ``due``: after
    that it is late, and :data:`MARGIN` of it later overdue; None where others alone tell, which is
    no reason for either."""

    usual: float
    due: float | None

    def total(self, passed: float) -> float:
        """After so many seconds. The usual ones, until they are nearly over; from there on steadily
        towards those when it is due: the share that is done never falls, nor jumps the end. Of one
        that is late those that have passed: it may end at any moment."""
        if self.due is not None and passed > self.due:
            return passed
        sure = SURE * self.usual
        if self.due is None or self.due <= self.usual or passed <= sure:
            return self.usual
        return self.usual + (self.due - self.usual) * min(1.0, (passed - sure) / (self.due - sure))

    @property
    def overdue(self) -> float | None:
        """From then on nobody knows when it ends."""
        return None if self.due is None else self.due * (1 + MARGIN)


MARGIN = 0.25
"""How much later than was expected, as a share of that, is nothing out of the ordinary: an estimate
is a median of few runs, or what a profile says, and neither knows how far it scatters."""
SURE = 0.9
"""Up to that share of what other sizes of it took, nothing says that a run takes longer."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that a run of each case takes, by the case's key; what nothing is known of is left
    out. ``slowness``: how many times as long it takes on a host that is not like most. ``avoid``:
    by run id, see :func:`backends.campaign.record.run_record.avoided`.
    ``measured``: the cases of which a run has ended; ``alike``: those of whose parameters one has,
    on another number of hosts or devices."""

    by_case: Mapping[CaseKey, float] = field(default_factory=dict)
    slowness: Mapping[str, float] = field(default_factory=dict)
    avoid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    measured: Collection[CaseKey] = frozenset()
    alike: Collection[CaseKey] = frozenset()

    def of(self, run: RunRecord) -> float | None:
        """On the hosts that it has, the slowest of which sets the pace. Of one at work neither
        whose case nor whose parameters were measured, what was expected, however soon others were
        done: they may be faster."""
        expected = self.expected(run)
        return None if expected is None else expected.usual

    def expected(self, run: RunRecord) -> Expected | None:
        """As :meth:`of`, with when it is due: by its own case, or by its profile, where others did
        not take longer. That they took less is no reason for that."""
        key, pace = case_key(run), self.pace(run.hosts)
        seconds = self.by_case.get(key)
        if seconds is None:
            return None
        if key in self.measured:
            return Expected(seconds * pace, seconds * pace)
        due = max(seconds, run.expected_s)
        usual = due if run.state.active and key not in self.alike else seconds
        return Expected(usual * pace, due * pace if run.expected_s else None)

    def pace(self, hosts: Iterable[str]) -> float:
        return max((self.slowness.get(name, 1.0) for name in hosts), default=1.0)


def durations(runs: Collection[RunRecord]) -> Durations:
    """Of a case the median of its own runs that succeeded; else what was expected of it, times what
    other cases took of an expectation of the same kind: those of its parameters, else all of its
    profile; without one the median of the profile's runs.

    Of a host the median of what its runs took of the median of their case, over cases of one host
    that several have run.
    """
    took = {
        # No other run will stand still for what this one did.
        run.run_id: (run.ended_at - run.started_at) * (1 - lost_to_stalls(run.steady))
        for run in runs
        if run.state is RunState.SUCCEEDED and run.started_at and run.ended_at
    }
    ended = [run for run in runs if took.get(run.run_id, 0.0) > 0]  # no clock was set back
    known = Durations(slowness=_slowness(ended, took))
    one: dict[CaseKey, RunRecord] = {}
    by_case: dict[CaseKey, list[float]] = defaultdict(list)
    by_profile: dict[str, list[float]] = defaultdict(list)
    shares: dict[Hashable, list[float]] = defaultdict(list)
    for run in runs:
        one.setdefault(case_key(run), run)
    for run in ended:
        seconds = took[run.run_id] / known.pace(run.hosts)
        by_case[case_key(run)].append(seconds)
        by_profile[run.profile].append(seconds)
        if run.expected_s:
            for kind in ((run.profile, run.timed), _kind(run)):
                shares[kind].append(seconds / run.expected_s)
    result: dict[CaseKey, float] = {}
    for key, run in one.items():
        if key in by_case:
            result[key] = median(by_case[key])
        elif run.expected_s:
            others = usual_share(shares, _kind(run), (run.profile, run.timed))
            result[key] = run.expected_s * (others or 1.0)
        elif run.profile in by_profile:
            result[key] = median(by_profile[run.profile])
    alike = frozenset(key for key, run in one.items() if _kind(run) in shares)
    by_id = {run.run_id: run for run in runs}
    avoid = {run.run_id: hosts for run in runs if (hosts := avoided(run, by_id))}
    return replace(known, by_case=result, measured=frozenset(by_case), alike=alike, avoid=avoid)


def _slowness(ended: Iterable[RunRecord], took: Mapping[str, float]) -> dict[str, float]:
    by_case: dict[CaseKey, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in ended:
        if len(run.hosts) == 1:
            by_case[case_key(run)][run.hosts[0]].append(took[run.run_id])
    found: dict[str, list[float]] = defaultdict(list)
    for hosts in by_case.values():
        if len(hosts) > 1:
            usual = median(chain.from_iterable(hosts.values()))
            for name, seconds in hosts.items():
                found[name] += [one / usual for one in seconds]
    return {name: _usual(shares) for name, shares in found.items()}


def _usual(shares: Sequence[float]) -> float:
    """Their median; of two in the middle the one nearer to 1. One run alone, which may have stood
    still, tells nothing of a host."""
    if len(shares) < 2:
        return 1.0
    middle = median_low(shares), median_high(shares)
    return min(middle, key=lambda share: abs(math.log(share)))


def case_key(run: RunRecord) -> CaseKey:
    """What takes the same time: the case; a profiled run of it may take another."""
    size = (run.profile, run.nodes, run.gpus_per_node, run.profiled)
    return (*size, *sorted(run.parameters.items()))


def _kind(run: RunRecord) -> CaseKey:
    """Of the same parameters, and expected by the same: cases of several sizes."""
    return (run.profile, run.timed, run.profiled, *sorted(run.parameters.items()))


class Estimates:
    """:func:`durations` of one campaign's runs, worked out anew only when one more has told."""

    def __init__(self) -> None:
        self._known = (0, 0)
        self._found = Durations()

    def of(self, runs: Collection[RunRecord]) -> Durations:
        """Runs are never taken away, and one that has succeeded stays so."""
        known = len(runs), sum(run.state is RunState.SUCCEEDED for run in runs)
        if known != self._known:
            self._known, self._found = known, durations(runs)
        return self._found


STEPS = 20
"""From what is usual to when a run is due, and from there to when it is overdue: the schedule is
not played for every second of it."""


class Remaining:
    """How long a campaign still takes, played anew only when something of it has changed."""

    def __init__(self) -> None:
        self._of: object = None
        self._played_at = 0.0
        self._due_at = 0.0  # before that none of those left can begin
        self._ends_at: float | None = None

    def seconds(
        self,
        left: Sequence[RunRecord],
        expected: Durations,
        now: float,
        hosts: int,
        waiting: Mapping[str, Waiting],
        pack: int = 0,
        runs: Iterable[RunRecord] = (),
        unusable: Collection[str] = (),
    ) -> float | None:
        """Until the last of these runs has ended, as they are scheduled on so many ``hosts`` (0:
        not known); None where nothing is known of one, or of when a queue lets the first begin, or
        one is overdue. While one is late it stays what the others take. ``pack``: so many devices
        of a host are shared. ``runs``: all of the campaign, after some of which hosts still rest.
        ``unusable``: hosts that none can begin on, for nobody knows how long."""
        active = [run for run in left if run.state.active and run.started_at is not None]
        of = (
            len(left),
            tuple((run.run_id, run.state, run.started_at, run.collecting) for run in active),
            tuple((run.run_id, run.not_before) for run in left if run.not_before),
            tuple(sorted(unusable)),
            tuple(_steps(run, expected, now) for run in active),
        )
        if of != self._of:
            self._of, self._played_at = of, now
            rests = _rests(runs, now)
            delays = (run.delay_s(now) for run in left if not run.state.active)
            self._due_at = max(
                [now + min(delays, default=0.0), *(at + run.settle_s for run, at in rests)]
            )
            self._ends_at = _ends_at(left, expected, now, hosts, pack, rests, unusable)
        if self._ends_at is None or any(_outlived(run, expected, now) for run in active):
            return None
        if any(_late_s(run, expected, now) for run in active):
            return max(0.0, self._ends_at - self._played_at)
        if active:
            end = max(self._ends_at, *(_end(run, expected, now) for run in active))
            return max(0.0, end - now)
        delay_s = _until_given(left, waiting, now)
        since = max(self._played_at, min(now, self._due_at))
        return None if delay_s is None else delay_s + self._ends_at - since


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


def _rests(runs: Iterable[RunRecord], now: float) -> list[tuple[RunRecord, float]]:
    """Those that have ended and whose hosts rest, with since when; never longer than was meant,
    wherever the clock was set since."""
    over = ((run, run.over_at or run.ended_at or 0.0) for run in runs if run.state.ended)
    rests = ((run, min(at, now)) for run, at in over)
    return [(run, at) for run, at in rests if at + run.settle_s > now]


def _ends_at(
    left: Sequence[RunRecord],
    expected: Durations,
    now: float,
    hosts: int,
    pack: int,
    rests: Sequence[tuple[RunRecord, float]],
    unusable: Collection[str],
) -> float | None:
    if not left or any(expected.of(run) is None for run in left):
        return None
    ends, wanted = _ahead(left, expected, now, pack)
    offers = _offers(left, ends, hosts, pack, rests, unusable, expected.slowness)
    end = max([ends_at(offers, wanted, now), *ends.values()])
    return end if end < math.inf else None


def expected_slots(
    left: Sequence[RunRecord],
    expected: Durations,
    now: float,
    hosts: int,
    pack: int = 0,
    names: Sequence[str] = (),
    runs: Iterable[RunRecord] = (),
    endless: Collection[str] = (),
    unusable: Collection[str] = (),
    most: int | None = None,
) -> dict[str, Slot]:
    """By run id: when and where the runs that are ``left`` will be, in seconds since the epoch;
    those at work are where they are. Whose turn nobody can tell is left out.

    ``names``: of hosts, for those of so many ``hosts`` that no run has been on; others are numbers.
    ``runs``, ``unusable``: see :meth:`Remaining.seconds`. ``endless``: ids of runs at work whose
    end nothing tells; what waits for their hosts is left out, too. ``most``: so many of them alone,
    those at work and those whose turn is first.
    """
    if not left:
        return {}
    ends, wanted = _ahead(left, expected, now, pack)
    if most is not None:
        wanted = [want for _, want in in_turn(wanted, pack or 1)][: max(0, most - len(ends))]
    ends |= dict.fromkeys(ends.keys() & endless, math.inf)
    rests = _rests(runs, now)
    offers = _offers(left, ends, hosts, pack, rests, unusable, expected.slowness, names)
    at_work = {
        run.run_id: Slot(run.hosts, run.started_at or now, ends[run.run_id])
        for run in left
        if run.run_id in ends
    }
    return at_work | timeline(offers, wanted, now)


def _ahead(
    left: Sequence[RunRecord], expected: Durations, now: float, pack: int
) -> tuple[dict[str, float], list[Wanted]]:
    """When those at work end, and what the others want; infinite where nobody knows."""
    ends: dict[str, float] = {}
    wanted = []
    for run in left:
        if not run.state.active:
            wanted.append(_wanted(run, expected, now, pack))
        elif run.started_at is not None:
            end = _end(run, expected, now)
            ends[run.run_id] = end if run.collecting else max(now, end)
    return ends, wanted


def _outlived(run: RunRecord, expected: Durations, now: float) -> bool:
    if run.collecting or run.state is RunState.CANCELLING:
        return False
    takes = expected.expected(run)
    if takes is None or takes.overdue is None:
        return _end(run, expected, now) <= now
    return now - (run.started_at or now) >= takes.overdue


def _late_s(run: RunRecord, expected: Durations, now: float) -> float:
    """For how long one at work should have ended already; 0: it is not late."""
    takes = expected.expected(run)
    if takes is None or takes.due is None or run.collecting or run.state is RunState.CANCELLING:
        return 0.0
    return max(0.0, now - (run.started_at or now) - takes.due)


def _end(run: RunRecord, expected: Durations, now: float) -> float:
    """When one at work has ended, as far as is known ``now``; infinite where nothing is."""
    if run.collecting and run.over_at is not None:
        return run.over_at
    began, takes = run.started_at or now, expected.expected(run)
    return math.inf if takes is None else began + takes.total(now - began)


def _steps(run: RunRecord, expected: Durations, now: float) -> int:
    """How often what a run at work takes has changed so much that others are told anew."""
    takes, passed = expected.expected(run), now - (run.started_at or now)
    if takes is None or takes.due is None:
        return 0
    if late_s := _late_s(run, expected, now):
        return STEPS + 1 + int(STEPS * late_s / (MARGIN * takes.due))
    if takes.due <= takes.usual:
        return 0
    return int(STEPS * (takes.total(passed) - takes.usual) / (takes.due - takes.usual))


def _wanted(run: RunRecord, expected: Durations, now: float, pack: int) -> Wanted:
    return Wanted(
        run.run_id,
        run.nodes,
        run.gpus_per_node,
        repeat=run.repeat,
        expected_s=expected.of(run) or math.inf,
        not_before=now + run.delay_s(now),
        avoid=expected.avoid.get(run.run_id, ()),
        settle_s=run.settle_s,
        pack=_packs(run, pack),
        slowness=expected.slowness,
    )


def _packs(run: RunRecord, pack: int) -> bool:
    return pack > 0 and run.nodes == 1


def _offers(
    left: Sequence[RunRecord],
    ends: Mapping[str, float],
    hosts: int,
    pack: int,
    rests: Sequence[tuple[RunRecord, float]],
    unusable: Collection[str],
    ended_on: Collection[str],
    names: Sequence[str] = (),
) -> list[Offer]:
    """``names``, those that runs are or were on, and as many others as there are; what they hold is
    not recorded, unless it is shared."""
    at_work = [(run, ends[run.run_id]) for run in left if run.run_id in ends]
    known = (*left, *(run for run, _ in rests))
    taken = chain.from_iterable(run.hosts for run in known)
    uses: dict[str, list[Use]] = {n: [] for n in (*names, *taken, *ended_on, *unusable)}
    for run, end in (*at_work, *rests):
        for name in run.hosts:
            own = run.devices.get(name) if _packs(run, pack) else None
            uses[name].append(Use(end + run.settle_s, devices=own))
    width = max(hosts, *(run.nodes for run in left))
    uses |= {str(number): [] for number in range(width - len(uses))}
    return [
        Offer(
            HostCapacity(name, pack or None, None),
            tuple(used),
            unusable="unusable" if name in unusable else "",
        )
        for name, used in uses.items()
    ]
