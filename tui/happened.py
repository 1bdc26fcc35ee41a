"""What happened in a campaign, as its notes tell it: runs that were paused and started and how they
ended, what each diagnosis found, runs that were added, who went on with the campaign and who let go
of it, and each end of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from rich.cells import cell_len

from backends.campaign.record.lock import Role
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import CampaignState
from backends.hangs.verdict_words import verdict_line
from profiles.counted import counted, first_of
from profiles.durations import format_duration
from tui.run_names import run_names
from tui.text import rate_text

Note = tuple[float, str, str]
STARTED, DIAGNOSED = "started", "diagnosed"
ENDED, ADDED, WENT_ON = "ended", "added", "goes on"
CAME, LET_GO = "came", "let go"
PAUSED, UNPAUSED = "paused", "unpaused"
_ROLES: Mapping[str, str] = {
    Role.CONSOLE: "a console",
    Role.COMMAND: "a command",
    Role.KEEPER: "a keeper",
}
MOST = 200
"""Of a campaign of many runs the last ones."""


AT_ONCE_S = 1.0
ROOM = 48
"""Columns for the names of several runs, where one has no more."""


def happened(state: CampaignState) -> list[Note]:
    """As :attr:`CampaignState.notes`: time, what in a word, and of which run, or of how many and
    which where the same happened to several within AT_ONCE_S; the oldest first."""
    return sorted(_all(state), key=lambda note: note[0])[-MOST:]


def _all(state: CampaignState) -> Iterator[Note]:
    names = run_names(state.runs.values())
    yield from _together(chain.from_iterable(map(_of_run, state.runs.values())), names)
    ended = 0.0
    for at, how in state.turns:
        if how:
            ended = at
        went_on = WENT_ON, f"{format_duration(at - ended)} after its end"
        yield at, *((ENDED, how) if how else went_on)
    yield from _added(state, names)
    for writer in state.writers:
        whose = f"{_ROLES.get(writer.role, writer.role)} of {writer.user} on {writer.host}"
        yield writer.t, LET_GO if writer.left else CAME, f"{whose} (pid {writer.pid})"


def _of_run(run: RunRecord) -> Iterator[tuple[float, str, str, str]]:
    """When, what, its id, and what goes on behind its name."""
    if run.started_at is not None:
        yield run.started_at, STARTED, run.run_id, ""
    if run.state.ended and run.ended_at is not None:
        yield run.ended_at, run.ended_as, run.run_id, _outcome(run)
    for at, by in run.pauses:
        yield at, PAUSED if by else UNPAUSED, run.run_id, f" by {by}" * bool(by)
    for at, found in run.diagnoses:
        silent = (run.last_reading_at or 0.0) <= at
        yield at, DIAGNOSED, run.run_id, f": {verdict_line(found, silent=silent)}"


def _together(
    events: Iterable[tuple[float, str, str, str]], names: Mapping[str, str]
) -> Iterator[Note]:
    groups: dict[tuple[str, str], tuple[float, list[str]]] = {}
    for at, what, run_id, behind in sorted(events, key=lambda event: event[0]):
        begun, of = groups.get((what, behind), (at, []))
        if at - begun > AT_ONCE_S or run_id in of:
            yield begun, what, _several(of, behind, names)
            begun, of = at, []
        groups[what, behind] = begun, [*of, run_id]
    for (what, behind), (begun, of) in groups.items():
        yield begun, what, _several(of, behind, names)


def _several(run_ids: Sequence[str], behind: str, names: Mapping[str, str]) -> str:
    """ "1n8g #1 by alice", "11 runs by alice: 1n8g #1, 1n8g #2, +9"."""
    named = [names[run_id] for run_id in run_ids]
    if len(named) == 1:
        return f"{named[0]}{behind}"
    fit = (n for n in range(len(named), 1, -1) if cell_len(first_of(named, n)) <= ROOM)
    which = first_of(named, next(fit, 1))
    of = counted(len(named), "run")
    return f"{of}: {which}{behind}" if behind.startswith(":") else f"{of}{behind}: {which}"


def _added(state: CampaignState, names: Mapping[str, str]) -> Iterator[Note]:
    """Runs that were planned later than the first ones, those of one moment together."""
    planned: dict[float, list[str]] = {}
    for run in () if state.imported else state.runs.values():
        if run.attempt == 1:
            planned.setdefault(run.planned_at, []).append(names[run.run_id])
    for at in sorted(planned)[1:]:
        yield at, ADDED, f"{counted(len(planned[at]), 'run')}: {first_of(planned[at])}"


def _outcome(run: RunRecord) -> str:
    if run.throughput is not None:
        return f": {rate_text(run.throughput, run.unit)}"
    return f": {run.reason}" if run.reason else ""
