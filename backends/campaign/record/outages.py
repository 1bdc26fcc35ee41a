"""When hosts were out of reach of the runs on them, and what became of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backends.campaign.record.cleanup_doubts import Why
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.transports.transport import Problem
from profiles.counted import counted
from profiles.durations import format_duration

MOST_KEPT = 20
"""The latest; of those before their number alone is known."""
MOST_NAMED = 3
"""Runs of an outage that are named."""

_ANSWERED = (Why.REFUSED, Why.KILLED, Why.ORPHANS, Why.DEAF)
"""Doubts about a host that was reached."""


@dataclass(frozen=True, slots=True)
class Outage:
    """``lost``: runs that have lost the host and not found it again; ``runs``: all that had;
    ``put_back``: those of them that were planned anew before they had started. Times are in seconds
    since the epoch; ``until``: None while it lasts. ``back``: the host came back to a run that
    was at work; else all its runs were over. ``heard``: it answered at ``until``, and maybe could
    have before, as nobody asked."""

    host: str
    since: float
    reason: str
    runs: tuple[str, ...]
    lost: frozenset[str]
    until: float | None = None
    back: bool = False
    heard: bool = False
    put_back: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outages:
    """``earlier``: how many there were before those that are kept."""

    kept: tuple[Outage, ...] = ()
    earlier: int = 0


NO_OUTAGES = Outages()


def outages_after(
    outages: Outages, before: RunRecord, after: RunRecord, t: float, *, asked: bool = True
) -> Outages:
    """With what became of a run's contact to its hosts, ``t`` in seconds since the epoch;
    ``asked``: a host that is back was asked all the time."""
    if before.started_at is not None and after.started_at != before.started_at:
        outages = _put_back(outages, after.run_id)
    if before.lost_hosts == after.lost_hosts:
        return outages
    run_id, kept = after.run_id, [*outages.kept]
    for host in {*before.lost_hosts} - {*after.lost_hosts}:
        if (at := _open(kept, host)) is not None:
            kept[at] = _found_again(kept[at], after, t, asked=asked)
    for host in {*after.lost_hosts} - {*before.lost_hosts}:
        since, reason = after.lost_hosts[host]
        if reason == Problem.JOB_ENDS:
            continue
        if (at := _open(kept, host)) is None:
            kept.append(Outage(host, since, reason, (run_id,), frozenset({run_id})))
        else:
            runs = tuple(dict.fromkeys((*kept[at].runs, run_id)))
            kept[at] = replace(kept[at], runs=runs, lost=kept[at].lost | {run_id})
    return Outages(tuple(kept[-MOST_KEPT:]), outages.earlier + max(0, len(kept) - MOST_KEPT))


def _open(outages: Sequence[Outage], host: str) -> int | None:
    return next((n for n, o in enumerate(outages) if o.host == host and o.until is None), None)


def _put_back(outages: Outages, run_id: str) -> Outages:
    if not any(run_id in outage.runs for outage in outages.kept):
        return outages
    kept = (
        replace(outage, put_back=outage.put_back | {run_id}) if run_id in outage.runs else outage
        for outage in outages.kept
    )
    return replace(outages, kept=tuple(kept))


def _found_again(outage: Outage, run: RunRecord, t: float, *, asked: bool) -> Outage:
    if run.run_id not in outage.lost:
        return outage
    lost = outage.lost - {run.run_id}
    back = outage.back or run.state.active
    heard = outage.heard or (_heard(outage.host, run) if run.state.ended else not asked)
    return replace(outage, lost=lost, back=back, heard=heard, until=None if lost else t)


def _heard(host: str, run: RunRecord) -> bool:
    """Whether the run's end was learnt from the host, and not only given up on."""
    if (doubt := run.cleanup.of(host)) is not None:
        return doubt.why in _ANSWERED
    return run.state is RunState.SUCCEEDED or (run.state.ended and run.cleanup.looked)


def outage_notes(outages: Outages, runs: Mapping[str, RunRecord]) -> list[tuple[float, str, str]]:
    """(When it was over or began, level, text) of each, the oldest first."""
    notes = [(o.until or o.since, _level(o, runs), outage_text(o, runs)) for o in outages.kept]
    if outages.earlier:
        first = outages.kept[0].since
        said = f"{counted(outages.earlier, 'outage')} of hosts before that, which are not listed"
        notes.insert(0, (first, "warn", said))
    return sorted(notes, key=lambda note: note[0])


def _level(outage: Outage, runs: Mapping[str, RunRecord]) -> str:
    hit = (run for run in outage.runs if run in runs and run not in outage.put_back)
    failed = any(runs[run].state is RunState.FAILED for run in hit)
    return "info" if (outage.back or outage.heard) and not failed else "warn"


def outage_text(outage: Outage, runs: Mapping[str, RunRecord]) -> str:
    """``node2 was out of reach for 1m31s (refused): cpu-smoke 1n2g #1 went on, and succeeded;
    2026-11-28 06:12:31 to 06:14:02 UTC``"""
    told = "; ".join(_told(outage, runs))
    became = f": {told}" if told else ""
    since, reason = _clock(outage.since), f" ({outage.reason})" if outage.reason else ""
    if outage.until is None:
        return f"{outage.host} is out of reach{reason}{became}; since {since} UTC"
    until = _clock(outage.until)
    until = until[11:] if until[:10] == since[:10] else until
    if outage.heard or not outage.back:
        ends = _no_moment(outage, runs, since, until)
        return f"{outage.host} was out of reach{reason}{became}; {ends}"
    lasted = format_duration(max(0.0, outage.until - outage.since))
    return f"{outage.host} was out of reach for {lasted}{reason}{became}; {since} to {until} UTC"


def _no_moment(outage: Outage, runs: Mapping[str, RunRecord], since: str, until: str) -> str:
    """When it was, where nobody saw the host come back."""
    if outage.heard:
        ends = [runs[run].ended_at for run in outage.runs if run in runs]
        over = all(end is not None and end <= (outage.until or end) for end in ends)
        whose = "its run" if len(outage.runs) == 1 else "its runs"
        said = f", {whose} having ended by then" * over
        return f"from {since}, heard from again by {until} UTC at the latest{said}"
    ended = "had ended or were put back" if outage.put_back else "had ended"
    return f"{since} until its runs {ended}, {until} UTC"


def _told(outage: Outage, runs: Mapping[str, RunRecord]) -> Iterator[str]:
    known = [runs[run_id] for run_id in outage.runs if run_id in runs]
    yield from (_became(run, outage) for run in known[:MOST_NAMED])
    if more := len(known) - MOST_NAMED:
        yield from [f"{counted(more, 'more run')} there"] * (more > 0)


def _clock(t: float) -> str:
    return f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d %H:%M:%S}"


def _became(run: RunRecord, outage: Outage) -> str:
    named = f"{run.profile} {run.label}"
    if run.run_id in outage.put_back:
        return f"{named} had not started{_put_back_and(run)}"
    if not run.state.ended:
        return f"{named} {_at_work(run, outage)}"
    if run.state is RunState.FAILED:
        return f"{named} failed: {run.reason}" if run.reason else f"{named} failed"
    if _launched_later(run, outage):
        return f"{named} had not started, and {_ended(run)} later"
    went_on = outage.back and run.launched_at is not None
    return f"{named} {'went on, and ' * went_on}{_ended(run)}"


def _launched_later(run: RunRecord, outage: Outage) -> bool:
    until, launched = outage.until, run.launched_at
    return until is not None and launched is not None and launched > until


def _at_work(run: RunRecord, outage: Outage) -> str:
    if run.launched_at is None:
        return "is being started there" if outage.until is None else "was being started"
    if _launched_later(run, outage):
        return "was being started, and started later"
    return "goes on" if outage.back and run.run_id not in outage.lost else "is at work there"


def _put_back_and(run: RunRecord) -> str:
    if run.state.waits:
        return " and was put back"
    if not run.state.ended:
        return ", was put back, and was started later"
    if run.state is RunState.FAILED and run.reason:
        return f", was put back, and failed later: {run.reason}"
    return f", was put back, and {_ended(run)} later"


def _ended(run: RunRecord) -> str:
    return "was cancelled" if run.state is RunState.CANCELLED else str(run.state)
