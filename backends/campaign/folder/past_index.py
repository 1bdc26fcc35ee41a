"""What the campaigns of a directory measured, by profile and case size: read once, and again only
where a journal has changed."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from backends.campaign.folder import frozen
from backends.campaign.folder.by_our_clock import was_at
from backends.campaign.folder.raw_logs import LogChecks, with_doubts
from backends.campaign.folder.refuse_foreign_files import refuse_strange
from backends.campaign.record import journal
from backends.campaign.record.run_results import run_results
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState, fold
from backends.hosts.fingerprint import devices_of_several
from backends.results.case_result import CaseResult
from backends.results.layouts.cells import speedup_marks
from backends.results.past_result import Past, PastFailure, PastResult
from backends.results.summary import Group, summarise
from profiles.errors import DlperfError

MOST_CAMPAIGNS = 2000
"""Of a directory the ones written last; what is older is not looked for."""
MOST_JOURNAL_BYTES = 64 << 20
"""A longer one is left out: reading it would hold up all others."""
FIRST = 16
"""So many campaigns, then twice as many, and so on: each time what they say can be seen."""

Found = Mapping[tuple[str, str], tuple[Past, ...]]
"""By profile and tag."""


@dataclass(frozen=True, slots=True)
class _Journal:
    """``changed``: its mtime in ns, bytes, inode."""

    path: Path
    changed: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a campaign. ``seen``: of its ``logs``, when that was. ``unread``: some have
    to be read for :meth:`PastIndex.look_at_logs`."""

    changed: tuple[int, int, int]
    results: tuple[Past, ...]
    logs: tuple[str, ...] = ()
    seen: tuple[object, ...] = ()
    unread: bool = False


class PastIndex:
    """One thread reads, any may look: :attr:`found` is replaced, never changed.

    ``directory``: of the campaigns. One that cannot be read is left out. ``checks``: whether logs
    still give the figures; None: they are not looked at.
    """

    def __init__(self, directory: Path, checks: LogChecks | None = None) -> None:
        self._directory = directory
        self._checks = checks
        self._reading = threading.Lock()
        self._read: dict[Path, _Read] = {}
        self._changed_since: set[Path] = set()  # journals, since they were read
        self.found: Found = {}
        self.by_campaign: Mapping[Path, tuple[Past, ...]] = {}
        """By its directory."""
        self.current: Mapping[Path, tuple[Past, ...]] = {}
        """The same of those that were read as their journals are, by the last look."""
        self.looks = 0
        self.complete = False
        """All were read, as far as the last look could tell."""

    def read(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Read what is new, the campaigns written last first, as long as ``go_on`` says. Blocking:
        some milliseconds a campaign."""
        with self._reading:
            journals = _journals(self._directory)
            gone = self._read.keys() - {one.path for one in journals}
            for path in gone:
                del self._read[path]
            new = [one for one in journals if self._changed(one.path) != one.changed]
            self._changed_since = {one.path for one in new}
            self._show_current()
            self.looks += 1
            self.complete = not new
            show_at = FIRST
            for number, one in enumerate(new, 1):
                if not go_on():
                    return
                self._read[one.path] = self._read_one(one)
                self._changed_since.discard(one.path)
                if number == show_at:
                    show_at *= 2
                    self._show()
            if new or gone:
                self._show()
            self.complete = True

    def look_at_logs(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Which of the campaigns that were read have logs that do not give their figures, as long
        as ``go_on`` says. Blocking: a stat of each log, and what was changed is read, once; of a
        journal that does not tell what its logs were only what somebody else has read."""
        if self._checks is None:
            return
        with self._reading:
            new = False
            for path, known in [*self._read.items()]:
                if not go_on():
                    break
                now = self._checks.as_known(path.parent, known.logs)
                if known.unread or now != known.seen:
                    journal_then = _Journal(path, known.changed)
                    self._read[path] = again = self._read_one(journal_then, logs=True)
                    new |= again.results != known.results
            if new:
                self._show()

    def _read_one(self, one: _Journal, *, logs: bool = False) -> _Read:
        """``logs``: those that were changed are read for it."""
        directory, checks = one.path.parent, self._checks
        if (state := _state(directory)) is None:
            return _Read(one.changed, ())
        if checks is None:
            return _Read(one.changed, _results(directory, state))
        names = checks.logs_of(state, directory)
        seen = checks.as_known(directory, names)
        if logs:
            doubts = checks.doubts(state, directory, unstamped=False)
            seen = (*checks.as_known(directory, ()), *seen[1:])  # what was read for it is known
            unread = checks.at_once(state, directory)[1]
        else:
            doubts, unread = checks.at_once(state, directory)
        results = _results(directory, with_doubts(state, doubts))
        if unread:
            results = tuple(map(_not_looked_at, results))
        return _Read(one.changed, results, names, seen, unread=unread and not logs)

    def _changed(self, path: Path) -> tuple[int, int, int] | None:
        return self._read[path].changed if path in self._read else None

    def _show(self) -> None:
        found: dict[tuple[str, str], list[Past]] = {}
        for one in self._read.values():
            for past in one.results:
                found.setdefault((past.profile, past.tag), []).append(past)
        self.by_campaign = {path.parent: one.results for path, one in self._read.items()}
        self._show_current()
        now = {key: tuple(results) for key, results in found.items()}
        if now != self.found:  # who looks sees by the object whether it is another
            self.found = now

    def _show_current(self) -> None:
        changed = {path.parent for path in self._changed_since}
        told: Mapping[Path, tuple[Past, ...]] = self.by_campaign
        if changed & told.keys():
            told = {path: results for path, results in told.items() if path not in changed}
        self.current = told


def _journals(directory: Path) -> list[_Journal]:
    """Of all campaigns, those written last first; a directory that cannot be read has none."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name[:1] == ".":
                continue
            path = Path(entry.path, journal.FILE_NAME)
            with contextlib.suppress(OSError):
                told = path.stat()
                if stat.S_ISREG(told.st_mode) and told.st_size <= MOST_JOURNAL_BYTES:
                    changed = told.st_mtime_ns, told.st_size, told.st_ino
                    found.append(_Journal(path, changed))
    found.sort(key=lambda one: one.changed, reverse=True)
    return found[:MOST_CAMPAIGNS]


def _state(directory: Path) -> CampaignState | None:
    """None: it cannot be read, or is another's alone."""
    with contextlib.suppress(DlperfError, OSError, ArithmeticError):
        refuse_strange(directory)
        # With the readings: whether GPUs were watched, and so a grade, depends on when they came.
        return fold(journal.read_events(directory / journal.FILE_NAME))
    return None


def _results(directory: Path, state: CampaignState) -> tuple[Past, ...]:
    """What a campaign measured, and what failed."""
    with contextlib.suppress(DlperfError, OSError, ArithmeticError):
        settings = _settings(directory, state)
        groups = summarise(run_results(state))
        return tuple(
            past
            for group in groups
            for case in group.cases
            if (past := _past(case, group, state, directory, settings)) is not None
        )
    return ()


def _not_looked_at(past: Past) -> Past:
    return replace(past, logs_unread=True) if isinstance(past, PastResult) else past


def _settings(directory: Path, state: CampaignState) -> Mapping[str, Mapping[str, str]]:
    """By profile; none where the campaign began without, or they are not what it began with."""
    if not state.frozen:
        return {}
    try:
        manifest = frozen.read_manifest(directory, state.frozen)
    except frozen.FrozenError:
        return {}
    return {profile.name: profile.settings for profile in manifest.profiles}


def _past(
    case: CaseResult,
    group: Group,
    state: CampaignState,
    directory: Path,
    settings: Mapping[str, Mapping[str, str]],
) -> Past | None:
    """``settings``: by profile. None: neither measured nor failed yet, or all was cancelled."""
    spread = case.spread
    failed = [run for run in case.runs if run.state == RunState.FAILED]
    runs = failed if spread is None else case.measured_runs
    if not runs:
        return None
    ended = (state.runs[run.run_id].ended_at for run in runs)
    last = max((at for at in ended if at is not None), default=state.created_at or 0.0)
    ran: dict[str, Any] = {  # what both kinds have
        "profile": case.profile,
        "tag": case.case,
        "parameters": case.parameters,
        "settings": settings.get(case.profile),
        "devices": _devices(run.fingerprint for run in runs),
        "campaign": directory.name or state.campaign,
        "path": directory,
        "at": was_at(last, state, directory),
        "simulated": case.simulated,
        "imported": state.imported,
    }
    if spread is None:
        return PastFailure(reason=runs[-1].reason, **ran)
    took = list(_seconds(case, state))
    return PastResult(
        throughput=spread.median,
        unit=case.unit,
        repeats=spread.n,
        half_width=spread.student if spread.half_width is None else spread.half_width,
        grade=case.grade,
        run_s=median(took) if took else None,
        speedup=None if case is group.base_case else case.speedup,
        is_base=case is group.base_case
        and any(other.speedup is not None for other in group.cases if other is not case),
        marks=speedup_marks(case, group),
        log_changed=any(run.log_differs or run.log_changed for run in case.runs),
        **ran,
    )


def _seconds(case: CaseResult, state: CampaignState) -> Iterator[float]:
    """How long each of its runs took; an imported one says nothing of that."""
    for result in () if state.imported else case.measured_runs:
        run = state.runs[result.run_id]
        if run.started_at and run.ended_at and run.ended_at > run.started_at:
            yield run.ended_at - run.started_at


def _devices(fingerprints: Iterable[str]) -> str:
    """Empty where one of them is not known."""
    texts = set(fingerprints)
    return devices_of_several(texts) if texts and "" not in texts else ""
