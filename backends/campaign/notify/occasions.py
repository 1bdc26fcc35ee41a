"""What of a campaign an operator wants to be told: pure, from its state alone.

Each occasion has a key that stays the same however often one looks, so that it is told once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # JSON

from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState, RunState
from backends.results.findings import Grade
from backends.results.grade_words import grade_reasons
from backends.results.numbers import trimmed
from backends.results.summary import Group, parameters_text
from profiles.cleantext import clean_text

LOST_AFTER_S = 60.0
"""A host that is out of reach for less is no occasion."""
DISK_LOW = 2 << 30
"""Bytes free where the campaign lies, below which the disk is nearly full …"""
DISK_WELL = 2 * DISK_LOW
"""… until it has as many again."""
LONGEST = 300
"""Characters of a text."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """``text``: one display-safe line. ``facts``: what else of it is in the command's JSON."""

    key: str
    kind: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self, state: CampaignState, path: Path, t: float) -> dict[str, Any]:
        """The keys are a contract with operators' commands: docs/inventory.md lists them."""
        return {
            "id": f"{path.name}/{self.key}",
            "event": self.kind,
            "text": self.text,
            "time": t,
            "campaign": state.campaign,
            "path": str(path),
            "simulated": state.simulated,
            **self.facts,
        }


def occasions(
    state: CampaignState,
    on: Collection[str],
    groups: Sequence[Group],
    *,
    now: float,
    max_attempts: int,
    disk_low: int | None,
) -> Iterator[Occasion]:
    """All that there are now, told or not, the end last.

    ``groups``: its results so far. ``disk_low``: bytes that are free where that is too little.
    """
    if "host_lost" in on:
        yield from _hosts_lost(state, now)
    if "disk" in on and disk_low is not None:
        number = sum(kind == "disk" for _, kind, _ in state.told.values())
        text = f"{trimmed(disk_low / (1 << 30), 1)} GiB are left on the campaign's disk"
        yield _said(f"disk:{number}", "disk", state, text, free_bytes=disk_low)
    if "failure" in on:
        yield from _failures(state, max_attempts)
    if ("grade" in on or "end" in on) and state.runs:
        if "grade" in on and not state.simulated:
            yield from _grades(state, groups, max_attempts)
        if "end" in on and state.finished:
            yield _end(state, groups)


def _said(key: str, kind: str, state: CampaignState, text: str, **facts: Any) -> Occasion:
    return Occasion(key, kind, clean_text(f"{state.called}: {text}"[:LONGEST]), facts)


def _hosts_lost(state: CampaignState, now: float) -> Iterator[Occasion]:
    since: dict[str, tuple[float, str]] = {}
    for run in state.runs.values():
        for host, (t, reason) in run.lost_hosts.items():
            since[host] = min((t, reason), since.get(host, (t, reason)))
    for host, (t, reason) in since.items():
        # Each run of a host learns of an outage by itself, so that it has several beginnings.
        told = [
            known for key, (known, _, _) in state.told.items() if key.startswith(f"lost:{host}:")
        ]
        if now - t >= LOST_AFTER_S and not any(known >= t for known in told):
            yield _said(
                f"lost:{host}:{int(t)}", "host_lost", state,
                f"{host} is out of reach: {reason}", host=host, reason=reason, since=t,
            )  # fmt: skip


def _failures(state: CampaignState, max_attempts: int) -> Iterator[Occasion]:
    """Of repeats that are given up; one that is tried again may yet succeed."""
    for run in state.latest_attempts():
        if run.state is RunState.FAILED and _is_final(run, state, max_attempts):
            yield _said(
                f"failure:{run.run_id}", "failure", state,
                f"{_name(run)} failed: {run.reason}", **_run_facts(run),
            )  # fmt: skip


def _is_final(run: RunRecord, state: CampaignState, max_attempts: int) -> bool:
    """Of a latest attempt: that no further one comes by itself."""
    if run.state is not RunState.FAILED:
        return run.state.ended
    again = run.category == Cause.REQUEUED or run.retry != "never"
    return state.finished or not again or state.tries(run) >= max_attempts


def _name(run: RunRecord) -> str:
    return f"{run.profile} {run.case.label} {run.which}"


def _run_facts(run: RunRecord) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "profile": run.profile,
        "case": run.case.tag,
        "parameters": dict(run.parameters),
        "repeat": run.repeat,
        "attempt": run.attempt,
        "hosts": list(run.hosts),
        "reason": run.reason,
        "log": run.log,
    }


def _grades(
    state: CampaignState, groups: Collection[Group], max_attempts: int
) -> Iterator[Occasion]:
    """Of cases with a figure, all of whose repeats have ended, and to which none is added."""
    open_cases = {
        _case(r) for r in state.latest_attempts() if not _is_final(r, state, max_attempts)
    }
    for group in groups:
        for case in group.cases:
            key = (case.profile, case.nodes, case.gpus_per_node, *sorted(case.parameters.items()))
            going_on = state.auto is not None and case.stopped is None and not state.finished
            if key in open_cases or going_on or case.throughput is None:
                continue
            if case.grade not in (Grade.C, Grade.D):
                continue
            reasons = grade_reasons(case, group, "en")
            why = f": {'; '.join(reasons)}" if reasons else ""
            name = " ".join(
                filter(None, [case.profile, case.case, parameters_text(case.parameters)])
            )
            yield _said(
                f"grade:{name}:{case.repeats}", "grade", state,
                f"{case.profile} {case.case} has grade {case.grade}{why}",
                profile=case.profile, case=case.case, parameters=dict(case.parameters),
                grade=str(case.grade), reasons=list(reasons), throughput=case.throughput,
                unit=case.unit,
            )  # fmt: skip


def _case(run: RunRecord) -> tuple[object, ...]:
    return (run.profile, run.nodes, run.gpus_per_node, *sorted(run.parameters.items()))


def _end(state: CampaignState, groups: Collection[Group]) -> Occasion:
    states = [run.state for run in state.latest_attempts()]
    counts = {
        str(one): states.count(one)
        for one in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)
    }
    grades = [str(c.grade) for group in groups for c in group.cases if c.grade is not None]
    said = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    worst = f"; worst grade {max(grades)}" if grades else ""
    # A campaign that is taken up again has more runs when it ends.
    return _said(
        f"end:{len(state.runs)}", "end", state, f"has ended: {said}{worst}", **counts, grades=grades
    )
