"""A campaign is removed from this disk: all that is ours in it, and only where nothing is lost that
only it knows."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.campaign.folder import artifacts, debug_log, frozen, tags_and_note
from backends.campaign.folder.adopt import size_of
from backends.campaign.folder.directory_identity import elsewhere_words
from backends.campaign.folder.export_report import proposed_names
from backends.campaign.folder.index import CampaignSummary, summarise_campaign
from backends.campaign.folder.paths import KEEPER_LOG, SPOOL
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.refuse_foreign_files import ForeignFileError
from backends.campaign.folder.unbegun import is_unbegun
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import journal, lock
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from backends.inventory.nodesets import fold_nodeset
from profiles.counted import counted, first_of
from profiles.errors import DlperfError

_OURS = (
    *(REQUEST_NAME, frozen.FOLDER, journal.FILE_NAME, lock.FILE_NAME, debug_log.FILE_NAME),
    *(
        tags_and_note.FILE_NAME,
        artifacts.ENVIRONMENT,
        artifacts.PRECHECK,
        "logs",
        "telemetry",
        "diagnosis",
        "figures",
    ),
    *("results.csv", "results.json", "report.md", SPOOL, KEEPER_LOG, f"{KEEPER_LOG}.1"),
)
"""What a campaign has at its top by itself; drafts have a dot before and more behind."""
_HALF_GONE = re.compile(r"\..+\.(?:(?:removed|unpacking)-[0-9a-f]+|moved)")


class CannotRemoveError(DlperfError):
    """A campaign stays where it is."""


class HoldsOthersError(CannotRemoveError):
    """There is something in it that this program did not write."""


class UnknownLeftError(CannotRemoveError):
    """Its journal cannot be read, which alone knows what may be on hosts."""


class LeftOnHostsError(CannotRemoveError):
    """Something of it may be on a host, of which only this campaign knows."""


@dataclass(frozen=True, slots=True)
class Removable:
    """A campaign as it is while somebody is asked about it. ``size``: bytes on this disk.
    ``journal``: which file it is, and its bytes; None: there is none. ``exports``: files that were
    written into it under the names that are proposed for them."""

    summary: CampaignSummary
    size: int
    journal: tuple[int, int] | None
    exports: tuple[str, ...] = ()


def remove_campaign(
    path: Path,
    clock: Callable[[], float],
    *,
    force: bool = False,
    asked: Removable | None = None,
) -> None:
    """Remove a campaign's directory. Symlinks in it are removed, never followed. Blocking.

    ``force``: also where something of it may be left on a host, its journal cannot be read, a
    console that gives no sign holds it, or it holds what this program did not write.
    ``asked``: about what somebody was asked who said yes; None: nobody was.

    Raises
    ------
    CannotRemoveError: it stays. CampaignLockedError: a console is at work on it.
    """
    _refuse_link(path)
    path = path.absolute()
    writer = lock.CampaignLock(path, clock)
    writer.acquire(take_over=force)  # from here on nobody begins to work on it
    try:
        if not force:
            _check_content(path)
        if asked is not None:
            _check_unchanged(path, asked)
        gone = path.with_name(f".{path.name}.removed-{secrets.token_hex(4)}")
        try:
            path.rename(gone)  # at once: half of it is no campaign
        except OSError as error:
            raise _cannot(path, error) from error
    except BaseException:
        writer.release()
        raise
    remove_half_removed(gone)


def look_at_removable(path: Path, clock: Callable[[], float], *, force: bool = False) -> Removable:
    """What to ask about; raises as :func:`remove_campaign` would. Blocking."""
    _refuse_link(path)
    journal_then = _journal_of(path)  # what it gains from here on was not asked about
    if not force:
        _check_removable(path, clock)
    summary, size = summarise_campaign(path, clock), size_of(path)
    return Removable(summary, size, journal_then, _exports_in(path))


def _check_unchanged(path: Path, asked: Removable) -> None:
    if _journal_of(path) != asked.journal:
        raise CannotRemoveError(
            "has changed since it was asked about", where=str(path), remedy="look again"
        )


def _journal_of(path: Path) -> tuple[int, int] | None:
    try:
        found = (path / journal.FILE_NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size


def _check_removable(path: Path, clock: Callable[[], float]) -> None:
    writer = lock.CampaignLock(path, clock)
    held = writer.holder()
    if held is not None and (holder := writer.living()) is not None:
        raise lock.CampaignLockedError(path, holder, held[1], stale=False)
    _check_content(path)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise CannotRemoveError(
            "is a link, not a campaign",
            where=str(path),
            remedy=f"remove the link with rm, or name what it leads to: {path.resolve()}",
        )


def _check_content(path: Path) -> None:
    """Raise CannotRemoveError where removing it would lose what only it knows, or what is not
    ours."""
    try:
        strange = sorted(
            one.name for one in path.iterdir() if not (_is_ours(one.name) or _is_export(one))
        )
    except OSError as error:
        raise _cannot(path, error) from error
    if strange:
        raise HoldsOthersError(
            f"holds {first_of(strange, 1)}, which dlperf-tui did not write",
            where=str(path),
            remedy="move it away, or --force removes it too",
        )
    if is_unbegun(path, kept_here=True):
        return
    try:
        state = read_campaign(path)
    except (journal.JournalError, ForeignFileError) as error:
        raise UnknownLeftError(
            f"what it left on hosts is not known: {error.what}",
            where=str(path),
            remedy="--force removes it all the same; 'dlperf-tui sweep' lists what is left",
        ) from error
    if left := _left_on_hosts(state):
        raise LeftOnHostsError(
            left,
            where=str(path),
            remedy="'dlperf-tui cancel' ends and verifies it; --force removes it all the same",
        )


def _is_ours(name: str) -> bool:
    return name in _OURS or any(name.startswith(f".{ours}.") for ours in _OURS)


def _is_export(entry: Path) -> bool:
    return entry.name in proposed_names() and entry.is_file() and not entry.is_symlink()


def _exports_in(path: Path) -> tuple[str, ...]:
    with contextlib.suppress(OSError):  # removing it tells
        return tuple(
            sorted(one.name for one in path.iterdir() if _is_export(one) and not _is_ours(one.name))
        )
    return ()


def _left_on_hosts(state: CampaignState) -> str:
    """What may be on a host of which only this campaign knows; empty where nothing can be."""
    if elsewhere_words(state) or state.imported or state.simulated:
        return ""
    open_runs = [
        run for run in state.runs.values() if run.state.active or run.state is RunState.QUEUED
    ]
    if open_runs:
        hosts = fold_nodeset({host for run in open_runs for host in run.hosts})
        return f"{counted(len(open_runs), 'run')} may be at work{f' on {hosts}' if hosts else ''}"
    doubts = {d.host for run in state.runs.values() for d in run.cleanup.doubts if d.host}
    if doubts or any(run.cleanup.doubts for run in state.runs.values()):
        return f"what is left on {fold_nodeset(doubts) or 'its hosts'} is unverified"
    if state.strays or state.lost_ends:
        return "damage to its journal hides what became of some runs"
    return ""


def prunable(
    campaigns: Sequence[CampaignSummary],
    now: float,
    *,
    older_than_s: float | None = None,
    keep: int | None = None,
) -> tuple[CampaignSummary, ...]:
    """Those in which nothing was started; and where an age or a number is given, of the finished
    ones without tag or note those that are older, and beyond the ``keep`` newest."""
    chosen = [campaign for campaign in campaigns if campaign.state == "not started"]
    if older_than_s is None and keep is None:
        return tuple(chosen)
    finished = [campaign for campaign in campaigns if campaign.state == "finished"]
    finished.sort(key=lambda campaign: -(campaign.created_at or 0.0))
    for campaign in finished[keep or 0 :]:
        old = older_than_s is None or now - (campaign.created_at or now) > older_than_s
        if old and not (campaign.about.tags or campaign.about.note):
            chosen.append(campaign)
    return tuple(chosen)


def half_removed(campaigns: Path) -> Iterator[Path]:
    """What a removal, a move or an import that was killed has left; no campaign."""
    with contextlib.suppress(OSError), os.scandir(campaigns) as entries:
        for entry in entries:
            if _HALF_GONE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def remove_half_removed(path: Path) -> None:
    """Finish a removal. Raises CannotRemoveError. Blocking."""
    try:
        shutil.rmtree(path)  # follows no link, in whatever moment one is put there
    except OSError as error:
        raise _cannot(path, error) from error


def _cannot(path: Path, error: OSError) -> CannotRemoveError:
    return CannotRemoveError(
        f"cannot remove all of it: {error.strerror}",
        where=str(error.filename or path),
        remedy="check permissions, then 'dlperf-tui campaigns prune'",
    )
