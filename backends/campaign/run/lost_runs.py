"""Runs that are on hosts although the journal has lost where they went: found by looking there.

Without this such a run would be started once more, somewhere else, or be called cancelled unseen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from backends.campaign.cancelling import CancelOrder
from backends.campaign.folder.paths import run_log_path
from backends.campaign.pausing import operator
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.run_changes import place_lost
from backends.campaign.record.state import (
    CampaignState,
    RunRecord,
    RunState,
    apply,
    next_attempt_id,
)
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RemoteError
from backends.transports.transport import HostUnreachableError
from profiles.format.profile import Profile

LOOK_LIMIT_S = 8.0
PLACE_LOST = "where it ran is in a line of the journal that cannot be read"
NOT_ASKED = "could not be asked for runs of which the journal has lost a line"


async def look_for_strays(
    state: CampaignState,
    remotes: Sequence[RemoteHost],
    profiles: Mapping[str, Profile],
    now: float,
    directory: Path,
    order: CancelOrder | None = None,
) -> list[ev.Event]:
    """What must have happened to runs that a damaged journal calls planned, or does not know.

    A run of one host is followed there. Of one of several the order of its ranks is lost as well:
    it is ended and tried again, as is one that is nowhere though its log is in the campaign's
    ``directory``. One that was tried again since is ended where it is. ``remotes``: of all of the
    campaign's hosts. ``order``: runs are to be ended; one that may be on a host that is away is not
    called cancelled before that has answered.
    """
    sought = _open(state) or any(map(place_lost, state.runs.values()))
    if not state.lost_lines or not sought:
        return []
    found: dict[str, list[str]] = {}
    away: list[str] = []
    for remote, run_ids in zip(remotes, await asyncio.gather(*map(_runs_on, remotes)), strict=True):
        name = remote.transport.host.name
        if run_ids is None:
            away.append(name)
        for run_id in run_ids or ():
            found.setdefault(run_id, []).append(name)
    events: list[ev.Event] = [ev.Noted(t=now, text=f"{name} {NOT_ASKED}") for name in away]
    for run_id, names in sorted(found.items()):
        for event in _told(state, run_id, names, away, profiles, now):
            state = apply(state, event)
            events.append(event)
    for run in _open(state):
        if run.state is RunState.PLANNED and run.profile in profiles:
            log = _log(state, run, profiles)
            has_run = await asyncio.to_thread(_holds_something, directory / log)
            found_now = _nowhere(run, log, away, order, now, has_run=has_run)
            for event in found_now:
                state = apply(state, event)
            events += found_now
    return events


def _nowhere(
    run: RunRecord,
    log: str,
    away: Sequence[str],
    order: CancelOrder | None,
    now: float,
    *,
    has_run: bool,
) -> list[ev.Event]:
    """What becomes of a planned run that no host knows which could be asked.

    ``has_run``: there is a log of it, so that its end is lost as well as its place.
    """
    run_id = run.run_id
    there: list[ev.Event] = [_assigned(run_id, away, log, now)] if away else []
    if away and order is not None and (order.run_ids is None or run_id in order.run_ids):
        return [*there, ev.RunCancelling(t=now, run_id=run_id, by=operator())]
    return [*there, _lost(run_id, away, now)] if has_run else []


def _assigned(run_id: str, hosts: Sequence[str], log: str, now: float) -> ev.RunAssigned:
    return ev.RunAssigned(t=now, run_id=run_id, hosts=tuple(hosts), commands=(), port=0, log=log)


def _lost(run_id: str, hosts: Sequence[str], now: float) -> ev.RunFailed:
    return ev.RunFailed(
        t=now,
        run_id=run_id,
        reason=PLACE_LOST,
        category=Cause.LOST,
        retry="now",
        cleanup=Cleanup(False, tuple(Doubt(name, Why.NOT_LOOKED) for name in hosts)),
    )


def _log(state: CampaignState, run: RunRecord, profiles: Mapping[str, Profile]) -> str:
    taken = {other.log for other in state.runs.values()}
    return run_log_path(profiles[run.profile], run, taken)


def _holds_something(log: Path) -> bool:
    try:
        return log.stat().st_size > 0
    except OSError:
        return False


def _open(state: CampaignState) -> list[RunRecord]:
    """Runs that are not known to be anywhere; a failed one may have been tried again."""
    return [
        run
        for run in state.latest_attempts()
        if run.state in (RunState.PLANNED, RunState.FAILED, RunState.CANCELLED)
    ]


async def _runs_on(remote: RemoteHost) -> list[str] | None:
    try:
        async with asyncio.timeout(LOOK_LIMIT_S):
            return [leftover.run_id for leftover in await remote.sweep()]
    except (HostUnreachableError, RemoteError, TimeoutError):
        return None


def _told(
    state: CampaignState,
    run_id: str,
    names: Sequence[str],
    away: Sequence[str],
    profiles: Mapping[str, Profile],
    now: float,
) -> list[ev.Event]:
    """What a run's being on the hosts ``names`` tells; those that are ``away`` told nothing."""
    events: list[ev.Event] = []
    run = state.runs.get(run_id)
    if run is None:
        before = [r for r in _open(state) if next_attempt_id(r.run_id, r.attempt) == run_id]
        if not before or not before[0].state.ended:
            return []
        events.append(next_attempt(before[0], now))
        run = apply(state, events[0]).runs[run_id]
    if run.profile not in profiles or not (run.state is RunState.PLANNED or place_lost(run)):
        return []
    log = _log(state, run, profiles)
    if run.state.ended:  # another attempt is in its place: all that is left of it is to be ended
        return [*events, _assigned(run_id, names, log, now)]
    alone = run.nodes == 1 and len(names) == 1
    # Else nobody knows which of them is rank 0, and whether these are all.
    hosts = tuple(names) if alone else (*names, *away)
    events.append(_assigned(run_id, hosts, log, now))
    if not alone:
        events.append(_lost(run_id, hosts, now))
    return events
