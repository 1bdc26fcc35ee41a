"""Why a case is below ideal: the share of its efficiency that each cause takes, as far as known.

Efficiency is ideal step time over step time, also under strong scaling, where the ideal is the
base's in proportion to the batch. A step is a sum of parts, each of which takes the fraction f of
it; so a part takes f(case) - E x f(base) of the efficiency E, and these differences add up to the
loss, 1 - E. Fractions are those of the profiled run, in its step's last rank: the one that all
others wait for. docs/statistics.md, "Why it does not scale", says what each part is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from statistics import median_low
from typing import TYPE_CHECKING

from backends.results.case_result import CaseResult, machine_names
from backends.results.run_result import RunResult
from backends.results.summary import Group
from profiles.format.case import GLOBAL_BATCH

if TYPE_CHECKING:
    from profiles.throughput.rank_times import RankTime


class Scaling(StrEnum):
    """What stays the same over the cases of a group: the batch per device, or of all devices."""

    WEAK = "weak"
    STRONG = "strong"


class NodeSet(StrEnum):
    """The hosts of a case against those of its base; names of one machine are one host."""

    SAME = "same"
    SHARED_OTHERWISE = "shared_otherwise"  # the same, each with another part of the repeats
    WIDER = "wider"  # those of the base, and more
    OTHER = "other"  # not all of the base's are among them


class Cause(StrEnum):
    """Keys of ``explained`` in results.json."""

    COMMUNICATION = "communication"  # exposed
    STRAGGLERS = "stragglers"  # the last rank, beyond the others' time
    INPUT = "input"
    COMPUTE = "compute"  # slower on every device


NOTABLE = 0.05
"""How much slower a profiled run may be before it is mentioned: its shares are its own."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of a case with an efficiency below 1. Shares are fractions of the ideal, as efficiency is.

    Parameters
    ----------
    shares: of what is known, 0 where it is known to take nothing; never negative, and with
        ``unexplained`` they add up to ``loss``. A cause that is missing is not known.
    straggler: the last rank, where others wait for it.
    profiled: the run that tells; None: only its counted runs' own logs do.
    slower: by what fraction its steps, or those of its base, took longer than those of the counted
        runs, for profiling costs; None where the batch size is not known. Where that is notable and
        more than the loss, it may be all that the shares would show: there are none.
    found: what the shares came to before they were made to fit the loss; None where they did.
    """

    loss: float
    shares: Mapping[Cause, float]
    straggler: int | None = None
    profiled: RunResult | None = None
    slower: float | None = None
    found: float | None = None

    @property
    def straggler_host(self) -> str | None:
        """Launchers fill one host after the other. None where nobody is behind."""
        if self.straggler is None or self.profiled is None:
            return None
        at = self.straggler // self.profiled.gpus_per_node
        return self.profiled.hosts[at] if at < len(self.profiled.hosts) else None

    @property
    def unexplained(self) -> float:
        return max(0.0, self.loss - sum(self.shares.values()))


def scaling(group: Group) -> Scaling | None:
    """None where the batch size is not known."""
    if GLOBAL_BATCH in group.parameters:
        return Scaling.STRONG
    return None if group.batch_size is None else Scaling.WEAK


def node_set(case: CaseResult, base: CaseResult) -> NodeSet | None:
    """None where the hosts of one of them are not known."""
    ours, theirs = _machine_shares(case, base)
    if not ours or not theirs:
        return None
    if ours.keys() == theirs.keys():
        return NodeSet.SAME if ours == theirs else NodeSet.SHARED_OTHERWISE
    return NodeSet.WIDER if theirs.keys() < ours.keys() else NodeSet.OTHER


def _machine_shares(
    case: CaseResult, base: CaseResult
) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """Of the figure of each, by one name of a machine: a repeat on two of them is half of each
    one's."""
    machine = machine_names(case, base)
    ours, theirs = (_shares(one, machine) for one in (case, base))
    return ours, theirs


def _shares(case: CaseResult, machine: Mapping[str, str]) -> dict[str, Fraction]:
    runs = [run for run in case.measured_runs if run.hosts]
    placed = [Counter(machine[host] for host in run.hosts) for run in runs]
    return {
        name: sum((Fraction(on[name], on.total()) for on in placed), Fraction()) / len(placed)
        for name in set().union(*placed)
    }


def explain(case: CaseResult, base: CaseResult) -> Explanation | None:
    """None for the base, and where nothing is lost, or it is not known that anything is: then the
    efficiency has no interval, or one that includes 1."""
    if case is base or case.efficiency is None or case.efficiency >= 1:
        return None
    if case.efficiency_interval is None or case.efficiency_interval.high >= 1:
        return None
    loss = 1 - case.efficiency
    mine, its = case.profiled, base.profiled
    if mine is not None and its is not None:
        slower = _more(_slower(mine, case), _slower(its, base))
        if slower is not None and slower > max(NOTABLE, loss):
            return Explanation(loss, {}, None, mine, slower)
        ours, theirs = fractions(mine), fractions(its)
        grown = {cause: ours[cause] - case.efficiency * theirs[cause] for cause in Cause}
        shares = _within(grown, loss)
        last = last_rank(mine).rank if shares[Cause.STRAGGLERS] else None
        total = sum(max(0.0, share) for share in grown.values())
        return Explanation(loss, shares, last, mine, slower, total if total > loss else None)
    waits = _input_fraction(case), _input_fraction(base)
    if waits[0] is None or waits[1] is None:
        return Explanation(loss, {})
    return Explanation(loss, _within({Cause.INPUT: waits[0] - case.efficiency * waits[1]}, loss))


def _within(grown: Mapping[Cause, float], loss: float) -> dict[Cause, float]:
    """No less than nothing; and where that is more than was lost, because something else became
    faster, in proportion less."""
    positive = {cause: max(0.0, value) for cause, value in grown.items()}
    total = sum(positive.values())
    scale = loss / total if total > loss else 1.0
    return {cause: value * scale for cause, value in positive.items()}


def fractions(run: RunResult) -> dict[Cause, float]:
    """Of its last rank's step, by cause; what is missing to 1 the devices were idle.

    The median of two ranks is the lower: half of one's delay is not the other's.
    """
    last = last_rank(run)
    waited = min(last.input_s, last.late_s)
    own = last.late_s - waited  # computing, or idle for a reason of its own
    usual = median_low(rank.late_s - rank.input_s for rank in run.ranks)
    computing = min(median_low(rank.compute_s for rank in run.ranks), own)
    seconds = {
        Cause.COMMUNICATION: last.communication_s,
        Cause.STRAGGLERS: max(0.0, own - max(usual, computing)),
        Cause.INPUT: waited,
        Cause.COMPUTE: computing,
    }
    return {cause: value / last.step_s for cause, value in seconds.items()}


def last_rank(run: RunResult) -> RankTime:
    """The one that all others of a profiled run wait for."""
    return max(run.ranks, key=lambda rank: rank.late_s)


def _work(case: CaseResult) -> int | None:
    """Of a device per step, as the throughput counts it: samples, or the tokens of sequences."""
    length = case.parameters.get("sequence_length")
    if case.batch_size is None or case.unit != "tokens/s" or not isinstance(length, int):
        return case.batch_size
    return case.batch_size * length


def _slower(run: RunResult, case: CaseResult) -> float | None:
    """Of the steps that the ranks tell of against those of the counted runs."""
    batch, speed = _work(case), case.throughput_per_device
    if batch is None or speed is None:
        return None
    return max(0.0, last_rank(run).step_s * speed / batch - 1)


def _more(one: float | None, other: float | None) -> float | None:
    """None where neither is known."""
    return max((each for each in (one, other) if each is not None), default=None)


def _input_fraction(case: CaseResult) -> float | None:
    """Of a step, by what the logs of the counted runs say of the wait for data."""
    wait = case.metrics.get("data_time_s")
    batch, speed = _work(case), case.throughput_per_device
    if wait is None or batch is None or speed is None or not 0 <= wait * speed / batch <= 1:
        return None
    return wait * speed / batch
