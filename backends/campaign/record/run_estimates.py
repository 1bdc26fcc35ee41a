"""How long runs take and when a campaign ends: by what their profiles say until it was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState

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


def remaining_s(
    left: Sequence[RunRecord], expected: Mapping[CaseKey, float], now: float, hosts: int
) -> float | None:
    """Seconds until the last of these runs has ended, side by side on ``hosts`` (0: not known) in
    their order; None where nothing is known of one, or one has outlived what was expected."""
    if not left or any(case_key(run) not in expected for run in left):
        return None
    names = {name for run in left for name in run.hosts}
    width = max(hosts, len(names), *(run.nodes for run in left))
    free_at: list[float] = []
    for run in left:
        if run.state.active and run.started_at is not None:
            ends = expected[case_key(run)] - (now - run.started_at)
            if ends <= 0 and run.state is not RunState.CANCELLING:
                return None
            free_at += [max(0.0, ends)] * run.nodes
    free_at += [0.0] * (width - len(free_at))
    for run in left:
        if not run.state.active:
            free_at.sort()
            free_at[: run.nodes] = [free_at[run.nodes - 1] + expected[case_key(run)]] * run.nodes
    return max(free_at)
