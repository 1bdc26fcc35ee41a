"""Campaigns on disk as a screen shows them, whoever is at work on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from backends.campaign.folder.directory_identity import elsewhere_words
from backends.campaign.folder.moment import NOTHING, MomentReader
from backends.campaign.folder.raw_logs import LogChecks, LogDoubt, levelled_lines, with_doubts
from backends.campaign.folder.reader import CampaignReader
from backends.campaign.record.lock import Holder
from backends.campaign.record.state import CampaignState
from backends.campaign.record.status_view import CampaignSnapshot, Kept, take


class CampaignViews:
    """Looks at campaigns; each look reads only what is new since the one before.

    Parameters
    ----------
    clock: seconds since the epoch.
    complete: with what the journal has lost, at a moment; it may read whole logs.
    writer: who is at work on a campaign, if anybody.
    checks: whether logs of what has ended still give its figures.
    real: of campaigns that were measured, where ``clock`` is of simulated hosts.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        complete: Callable[[CampaignState, Path, float], CampaignState],
        writer: Callable[[Path], Holder | None],
        checks: LogChecks,
        real: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self._real = real or clock
        self._complete = complete
        self._writer = writer
        self._checks = checks
        self._completed: dict[Path, tuple[CampaignState, CampaignState]] = {}
        self._judged: dict[Path, tuple[CampaignState, tuple[LogDoubt, ...], CampaignState]] = {}
        self._readers: dict[Path, CampaignReader] = {}
        self._kept: dict[tuple[Path, str], Kept] = {}  # by directory and whose it is
        self._before: dict[tuple[Path, str], tuple[LogDoubt, ...]] = {}  # as above
        self._seen: dict[Path, tuple[CampaignState, tuple[LogDoubt, ...], int]] = {}
        self._moments: dict[Path, MomentReader] = {}

    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        """A read-only view of any campaign, live or past, of this or another console.

        ``quick``: logs of what has ended are not read; whether they have to be is in the snapshot.
        """
        moment = self._moments.setdefault(path, MomentReader(path)).read()  # before its journal
        reader = self._reader(path)
        state = self._with_what_is_lost(path, reader.state())
        kept = self._kept.setdefault((path, state.stem), Kept())
        doubts, unread = self._doubts(path, state, quick=quick)
        judged = self._with_doubts(path, state, doubts)
        writer = None if state.finished else self._writer(path)
        moment = NOTHING if writer is None else moment
        shown = take(
            judged,
            path,
            now=max(self._now(state) if moment.at is None else moment.at, _reached(state)),
            waiting=moment.waiting,
            starting=moment.starting,
            given_up=moment.given_up,
            unread=moment.unread,
            read_only=True,
            kept_by=writer,
            revision=self._revision(path, judged, doubts),
            kept=kept,
        )
        known = {"", *(text for _, _, text in state.notes)}
        remarks = (elsewhere_words(state) if not state.finished else "", reader.changed)
        told = [("warn", remark) for remark in remarks if remark not in known]
        shown = replace(shown, logs_unread=unread) if unread else shown
        return shown.of_its_begin([*told, *levelled_lines(doubts)])

    def _doubts(
        self, path: Path, state: CampaignState, *, quick: bool
    ) -> tuple[tuple[LogDoubt, ...], bool]:
        """Of one at work: of what had ended when it was first looked at, or when it was gone on
        with; a look at it is every half second, and each asks the disk of every log. Of a
        recording: of what has ended by then."""
        key = path, state.stem
        unread, whole = False, state.finished or self._checks.recorded
        if whole and quick:
            self._before[key], unread = self._checks.at_once(state, path)
        elif whole:
            self._before[key] = self._checks.doubts(state, path)
        elif key not in self._before:
            self._before[key] = self._checks.doubts(state, path, unstamped=False)
        return self._before[key], unread

    def _with_doubts(
        self, path: Path, state: CampaignState, doubts: tuple[LogDoubt, ...]
    ) -> CampaignState:
        known = self._judged.get(path)
        if known is None or known[0] is not state or known[1] != doubts:  # else the same object
            known = self._judged[path] = state, doubts, with_doubts(state, doubts)
        return known[2]

    def _revision(self, path: Path, state: CampaignState, doubts: tuple[LogDoubt, ...]) -> int:
        """Grows when something has happened since the last look, or is known of its logs."""
        known, had, number = self._seen.get(path, (state, doubts, 0))
        number += known is not state or had != doubts
        self._seen[path] = state, doubts, number
        return number

    def _now(self, state: CampaignState) -> float:
        return self._clock() if state.simulated else self._real()

    def _reader(self, path: Path) -> CampaignReader:
        return self._readers.setdefault(path, CampaignReader(path))

    def _with_what_is_lost(self, path: Path, state: CampaignState) -> CampaignState:
        if not state.lost_ends:
            return state
        known = self._completed.get(path)
        if known is None or known[0] != state:  # once, not with every look
            known = self._completed[path] = state, self._complete(state, path, self._now(state))
        return known[1]

    def remarks(self, path: Path) -> tuple[str, ...]:
        """What a reader of its figures must know: that it goes on elsewhere, damage, changes."""
        reader = self._reader(path)
        state = reader.state()
        elsewhere = "" if state.finished else elsewhere_words(state)
        return tuple(text for text in (elsewhere, state.damage, reader.changed) if text)


def _reached(state: CampaignState) -> float:
    """What time it is by whoever writes it, at least: whose clock may be ahead of ours, as that of
    simulated hosts is, for which time passes faster."""
    at_work = [run for run in state.runs.values() if run.state.active]
    begun = [run.started_at for run in at_work if run.started_at is not None]
    read = [run.series.times[-1] for run in at_work if run.series.times]
    return max((*begun, *read), default=0.0)
