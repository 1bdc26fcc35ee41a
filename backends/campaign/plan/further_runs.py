"""What follows when all runs of a campaign have ended: more repeats, or why there are none, and
then the profiled runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from backends.campaign.record import events as ev
from backends.campaign.record.profiled_to_come import profiled_to_come
from backends.campaign.record.run_changes import planning
from backends.campaign.record.state import CampaignState, RunRecord, RunState, campaign_of
from backends.results.auto_repeats import AutoRepeats, Progress, decide
from backends.results.run_result import kept_parameters


def further_runs(state: CampaignState, now: float) -> list[ev.Event]:
    """The repeats that the campaign's rule asks for next, and the cases that it is done with; where
    there are no further ones, a profiled run of each case that is to be explained.

    Nothing where something is still under way, or the end of it all was asked for. Repeats go
    round-robin over the cases, as those of the plan do.
    """
    if state.cancel_asked or state.finished:
        return []
    if any(not run.state.ended for run in state.runs.values()):
        return []
    cases: dict[str, list[RunRecord]] = defaultdict(list)
    latest = state.latest_attempts()
    for run in latest:
        if not run.profiled:
            cases[run.case.key].append(run)
    events = [] if state.auto is None else _further_repeats(state, state.auto, cases, now)
    if any(isinstance(event, ev.RunPlanned) for event in events):
        return events
    to_come = profiled_to_come(state, latest)
    unexplained = {key: 1 for key in cases if key in to_come}
    return [*events, *_planned(state, cases, unexplained, now, profiled=True)]


def _further_repeats(
    state: CampaignState, rule: AutoRepeats, cases: Mapping[str, Sequence[RunRecord]], now: float
) -> list[ev.Event]:
    bases = _bases(cases)
    decision = decide(
        rule, [_progress(key, runs, bases[key]) for key, runs in cases.items()], _spent(state)
    )
    events: list[ev.Event] = [
        ev.CaseSettled(
            t=now,
            profile=first.profile,
            nodes=first.nodes,
            gpus_per_node=first.gpus_per_node,
            parameters=first.parameters,
            why=str(why),
        )
        for key, why in decision.stopped.items()
        if state.settled.get(key) is not why
        for first in cases[key][:1]
    ]
    events += _planned(state, cases, decision.more, now)
    return events


def _progress(key: str, runs: Sequence[RunRecord], base: str) -> Progress:
    ordered = sorted(runs, key=lambda run: run.started_at or 0.0)
    states = [run.state for run in ordered]
    good = [i for i, run in enumerate(ordered) if run.throughput]
    spans = [_gpu_s(ordered[i]) for i in good]
    return Progress(
        key=key,
        values=tuple(ordered[i].throughput or 0.0 for i in good),
        repeats=len(runs),
        base=base,
        failed_in_a_row=len(states) - 1 - (good[-1] if good else -1),
        cancelled=RunState.CANCELLED in states,
        gpu_s=sum(spans) / len(spans) if spans else 0.0,
    )


def _gpu_s(run: RunRecord) -> float:
    """Device seconds, from the assignment of its hosts to its end."""
    if run.started_at is None or run.ended_at is None:
        return 0.0
    return max(0.0, run.ended_at - run.started_at) * run.nodes * run.gpus_per_node


def _spent(state: CampaignState) -> float:
    """Of every attempt at a repeat, whatever became of it."""
    return sum(_gpu_s(run) for run in state.runs.values() if not run.profiled)


def _bases(cases: Mapping[str, Sequence[RunRecord]]) -> dict[str, str]:
    """For every case the one that its speedup refers to, as the results choose it."""
    groups: dict[tuple[object, ...], list[tuple[int, int, str]]] = defaultdict(list)
    group_of = {}
    for key, (run, *_) in cases.items():
        group = (run.profile, *sorted(kept_parameters(run.parameters).items()))
        group_of[key] = group
        groups[group].append((run.nodes * run.gpus_per_node, run.nodes, key))
    return {key: min(groups[group])[2] for key, group in group_of.items()}


def _planned(
    state: CampaignState,
    cases: Mapping[str, Sequence[RunRecord]],
    more: Mapping[str, int],
    now: float,
    *,
    profiled: bool = False,
) -> Iterator[ev.RunPlanned]:
    first = 1 + max(number_of(run_id) for run_id in (*state.runs, *state.strays))
    return plan_again(cases, more, first, now, profiled=profiled)


def plan_again(
    cases: Mapping[str, Sequence[RunRecord]],
    more: Mapping[str, int],
    first: int,
    now: float,
    *,
    profiled: bool = False,
) -> Iterator[ev.RunPlanned]:
    """So many more runs of each case, by its key, the first of all with this number in its id."""
    token = next((campaign_of(runs[0].run_id) for runs in cases.values()), "")
    number = first - 1
    for turn in range(max(more.values(), default=0)):
        for key, wanted in more.items():
            if turn >= wanted:
                continue
            number += 1
            yield replace(
                planning(cases[key][0], now),
                run_id=f"{token}-{number:04d}-a1",
                repeat=max(run.repeat for run in cases[key]) + 1 + turn,
                attempt=1,
                not_before=0.0,
                retry_of="",
                profiled=profiled,
            )


def number_of(run_id: str) -> int:
    """12 of ``3fa2c1d0-0012-a1``."""
    number = run_id.split("-")[1:2]
    return int(number[0]) if number and number[0].isdecimal() else 0
