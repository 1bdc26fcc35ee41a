"""The campaigns on disk: which there are, and how far each has come."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from backends.campaign.folder.by_our_clock import begun_at, was_at
from backends.campaign.folder.directory_identity import copied_from, elsewhere_words
from backends.campaign.folder.refuse_foreign_files import ForeignFileError, refuse_strange
from backends.campaign.folder.tags_and_note import About, read_about
from backends.campaign.folder.unbegun import NOTHING_STARTED, is_unbegun
from backends.campaign.record import journal
from backends.campaign.record.events import CampaignHandedOn, CampaignPlaced, RunPlanned
from backends.campaign.record.lock import CampaignLock, Role
from backends.campaign.record.profiled_to_come import profiled_to_come
from backends.campaign.record.state import CampaignState, RunState, campaign_of, fold, hosts_of
from backends.results.attempts import latest_attempts
from backends.results.run_counts import run_counts
from backends.results.run_result import RunResult
from profiles.errors import DlperfError
from profiles.format.case_labels import parameter_values

_ACTIVE = frozenset(state for state in RunState if state.active)


@dataclass(frozen=True, slots=True)
class CampaignSummary:
    """``state``: live (a console writes it), unfinished (nobody does) or finished; and, with the
    ``problem`` that says why: copy (it goes on elsewhere), not started, unreadable."""

    name: str
    path: Path
    state: str
    done: int
    failed: int
    total: int
    created_at: float | None
    simulated: bool
    imported: bool
    problem: str = ""
    elsewhere: bool = False  # it goes on in another directory, or may: this one is a copy
    about: About = field(default_factory=About)  # what people say of it
    cancelled: int = 0  # runs, of those that are done
    skipped: int = 0  # of the cancelled: before they had started
    not_begun: int = 0  # of the failed: running them was in vain
    at_work: int = 0  # of those that have not ended: as far as was written
    seen_at: float | None = None  # of an unfinished one, when something of it was written last
    paused: int = 0  # runs that are not to be started
    keeper: bool = False  # it is live, and a keeper goes on with it
    profiles: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()  # their sizes, such as 2n8g
    parameters: tuple[str, ...] = ()  # all values that they have, such as b256
    tried_again: int = 0  # beside all: attempts with a later one in their place
    planned_again: int = 0  # likewise: what was never begun, which is no attempt
    forced: bool = False  # stops of preflight were overridden when it began
    hosts_forced: tuple[str, ...] = ()  # which of them stopped, where every one is named
    left_out: tuple[str, ...] = ()  # what it began without, and why: "node3: in use"

    @property
    def called(self) -> str:
        """As its directory is: what lists have and commands take."""
        return self.path.name or self.name

    def saying(self, about: About) -> Self:
        """The same, of which something else is said."""
        return replace(self, about=about)

    def counting(self, runs: Sequence[RunResult]) -> Self:
        """The same with the counts of ``runs``, which were read after it was listed, so that they
        agree with what is told of these."""
        latest = latest_attempts(runs)
        total, at_work = max(self.total, len(latest)), sum(run.state in _ACTIVE for run in latest)
        return replace(self, total=total, at_work=at_work, **run_counts(runs, latest))

    @property
    def hosts_left_out(self) -> tuple[str, ...]:
        """See :func:`hosts_of`."""
        return hosts_of(self.left_out)

    @property
    def measures(self) -> str:
        """What it is about: "cpu-smoke 1n1g 1n2g b16"."""
        return " ".join((", ".join(self.profiles), *self.cases, *self.parameters)).strip()


def list_campaigns(directory: Path, clock: Callable[[], float]) -> tuple[CampaignSummary, ...]:
    """Newest first. A directory that cannot be read counts as empty, others' private campaigns
    as not there."""
    try:
        with os.scandir(directory) as entries:
            paths = [
                Path(entry.path) for entry in entries if entry.is_dir() and entry.name[:1] != "."
            ]
    except OSError:
        return ()
    found = []
    for path in paths:
        with contextlib.suppress(PermissionError):
            if is_unbegun(path, kept_here=True):
                found.append(_not_started(path))
            elif (path / journal.FILE_NAME).exists():
                found.append(_begun(path, clock))
    return tuple(sorted(found, key=lambda s: (-(s.created_at or 0.0), s.name)))


def is_of(directory: Path, run_id: str) -> bool:
    """Whether a campaign of the directory has the run, as far as can be read; of each no more than
    the first lines are. Blocking."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(DlperfError, OSError):
                if _token(Path(entry.path, journal.FILE_NAME)) == campaign_of(run_id):
                    return True
    return False


def _token(path: Path) -> str:
    """What the ids of a campaign's runs begin with; empty where it has none."""
    events = journal.read_events(path, readings=False) if path.is_file() else iter(())
    return next((campaign_of(one.run_id) for one in events if isinstance(one, RunPlanned)), "")


def latest_written(directory: Path) -> Path | None:
    """The campaign of which something happened last, one that was measured where there is any; of
    each no more than the first lines are read, and the last ones of those written last. That it
    was moved or copied is nothing that happened."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name[:1] == ".":
                continue
            with contextlib.suppress(OSError):
                found.append((_written_at(Path(entry.path)), Path(entry.path)))
    return _latest(found, simulated=False) or _latest(found, simulated=True)


def _latest(written: Sequence[tuple[float, Path]], *, simulated: bool) -> Path | None:
    latest, at = None, -math.inf
    for by_disk, path in sorted(written, reverse=True):
        if by_disk <= at:  # nor has any of the others more
            break
        if is_simulated(path) == simulated:
            ours = min(by_disk, _last_done(path, by_disk))
            if latest is None or ours > at:
                latest, at = path, ours
    return latest


def _last_done(path: Path, by_disk: float) -> float:
    """When something else happened than that it goes on in another directory: the file of a copy is
    younger."""
    events = journal.last_events(path / journal.FILE_NAME)
    return next((event.t for event in events if not isinstance(event, _MOVES)), by_disk)


_MOVES = (CampaignPlaced, CampaignHandedOn)


def _written_at(path: Path) -> float:
    """By the clock of the disk, seconds since the epoch. Raises OSError."""
    return (path / journal.FILE_NAME).stat().st_mtime


def is_simulated(path: Path) -> bool:
    """Whether a campaign's hosts were made up; no where there is no journal that says so."""
    with contextlib.suppress(journal.JournalError):
        begun = journal.beginning(path / journal.FILE_NAME)
        return begun is not None and begun.simulated
    return False


def summarise_campaign(path: Path, clock: Callable[[], float]) -> CampaignSummary:
    """How far it has come, if it ever began."""
    with contextlib.suppress(OSError):
        if is_unbegun(path, kept_here=True):
            return _not_started(path)
    return _begun(path, clock)


def _begun(path: Path, clock: Callable[[], float]) -> CampaignSummary:
    """A journal that cannot be read is no reason to show no other."""
    try:
        return _summary(path, clock)
    except (journal.JournalError, ForeignFileError) as error:
        return _nothing_of(path, "unreadable", error.what)


def _not_started(path: Path) -> CampaignSummary:
    return _nothing_of(path, "not started", NOTHING_STARTED)


def _nothing_of(path: Path, state: str, problem: str) -> CampaignSummary:
    """A campaign of which nothing is known, and why."""
    return CampaignSummary(
        name=path.name,
        path=path,
        state=state,
        done=0,
        failed=0,
        total=0,
        created_at=None,
        simulated=False,
        imported=False,
        problem=problem,
    )


def _summary(path: Path, clock: Callable[[], float]) -> CampaignSummary:
    refuse_strange(path)
    state = fold(journal.read_events(path / journal.FILE_NAME, readings=False))
    latest = state.latest_attempts()
    over = _is_over(state)
    counts = run_counts(state.runs.values(), latest)
    if state.lost_ends:
        failed, cancelled = _failed_and_cancelled(state, path)
        counts["done"] = sum(r.state.ended or r.run_id in state.lost_ends for r in latest)
        counts["failed"] = sum(run.run_id in failed for run in latest)
        counts["cancelled"] = sum(run.run_id in cancelled for run in latest)
        counts["skipped"] = sum(
            run.run_id in cancelled and run.started_at is None for run in latest
        )
    writer = CampaignLock(path, clock).living()
    copy_of = copied_from(path, state)
    elsewhere = elsewhere_words(state.found(path.name, frozen_damage="", copy_of=copy_of))
    stands = "finished" if over else "copy" if elsewhere else "live" if writer else "unfinished"
    last = _last_done(path, state.created_at or 0.0)
    return CampaignSummary(
        name=state.campaign or path.name,
        path=path,
        state=stands,
        total=len(latest) + len(profiled_to_come(state, latest)),
        created_at=begun_at(state, path),
        simulated=state.simulated,
        imported=state.imported,
        problem=elsewhere if not over else "",
        elsewhere=bool(elsewhere),
        about=read_about(path),
        at_work=sum(run.state.active and run.run_id not in state.lost_ends for run in latest),
        seen_at=was_at(last, state, path) if stands == "unfinished" else None,
        paused=sum(run.paused for run in latest),
        keeper=not over and writer is not None and writer.role == Role.KEEPER,
        profiles=tuple(dict.fromkeys(run.profile for run in latest)),
        cases=tuple(dict.fromkeys(run.case.tag for run in latest)),
        parameters=parameter_values(run.case for run in latest),
        forced=state.forced,
        hosts_forced=state.hosts_forced,
        left_out=state.left_out,
        **counts,
    )


def _is_over(state: CampaignState) -> bool:
    """Also where only the lines are damaged that say how runs ended, which its own page measures
    again from their logs: not here, where there may be many campaigns."""
    ends = (run.state.ended or run.run_id in state.lost_ends for run in state.runs.values())
    return state.finished or (bool(state.lost_ends) and all(ends))


def _failed_and_cancelled(state: CampaignState, path: Path) -> tuple[set[str], set[str]]:
    """Runs by id, with those whose end is lost: as results.json says; where it does not, a run
    failed of which no log is here to measure."""
    from backends.campaign.folder.read_results_json import told_results  # noqa: PLC0415 (seldom)

    failed = {run.run_id for run in state.runs.values() if run.state is RunState.FAILED}
    cancelled = {run.run_id for run in state.runs.values() if run.state is RunState.CANCELLED}
    told = told_results(path)
    for run_id in state.lost_ends:
        said = told.get(run_id, {}).get("state")
        here = (path / state.runs[run_id].log).is_file()
        if said == "cancelled":
            cancelled.add(run_id)
        elif said == "failed" or not here:
            failed.add(run_id)
    return failed, cancelled
