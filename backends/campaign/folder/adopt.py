"""A campaign goes on in another directory: in a copy of it, or where it was moved to."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from backends.campaign.folder.directory_identity import check_place, place_of
from backends.campaign.folder.paths import check_name
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, write_now
from backends.campaign.record.lock import FILE_NAME as LOCK_NAME
from backends.campaign.record.lock import CampaignLock
from backends.campaign.record.state import CampaignState, Place
from profiles.errors import DlperfError

_HANDS = 100
"""Through so many a campaign may have gone; else two name each other."""


class CannotMoveError(DlperfError):
    """A campaign stays where it is."""


def be_here(
    directory: Path, state: CampaignState, clock: Callable[[], float], *, take_over: bool = False
) -> None:
    """Make this directory the one that the campaign goes on in, where it is not already.

    Another one is told, if it is found; before, so that whatever happens in between, never two go
    on. The directory is locked by the caller. Blocking.

    Raises
    ------
    CampaignLockedError: somebody works in the other. JournalError: a journal cannot be written.
    """
    here = place_of(directory)
    told: list[ev.Event] = []
    if state.copy_of is not None or state.handed_to is not None:
        other = _other(directory, state)
        if other is not None:
            with _locked(other, clock, take_over=take_over) as lock:
                handed = ev.CampaignHandedOn(t=clock(), host=here.host, path=here.path)
                write_now(other / FILE_NAME, [handed], owned=lock.owned)
        who = "the other could not be told" if other is None else f"{other} is told"
        text = f"this copy was adopted, {who}"
        told.append(ev.Noted(t=clock(), text=text, level="warn" if other is None else "info"))
    if told or state.place != here:
        write_now(directory / FILE_NAME, [placed(here, clock()), *told])


def placed(place: Place, now: float) -> ev.CampaignPlaced:
    return ev.CampaignPlaced(t=now, place=place.inodes, host=place.host, path=place.path)


def _other(directory: Path, state: CampaignState) -> Path | None:
    """Where the campaign has gone on so far; None where that is not to be seen from here."""
    before: Path | None = None
    path = Path(state.place.path if state.handed_to is None else state.handed_to.path)
    for _ in range(_HANDS):
        try:
            if path.samefile(directory):  # an adoption that was ended in between
                return before
            there = read_campaign(path)
        except (DlperfError, OSError):
            return None
        same = (there.created_at, there.frozen) == (state.created_at, state.frozen)
        if not same or there.copy_of is not None:
            return None
        if there.handed_to is None:
            return path
        before, path = path, Path(there.handed_to.path)
    return None


def move(old: Path, new: Path, clock: Callable[[], float]) -> None:
    """Move a campaign's directory to a path that does not exist yet; it stays the campaign, and a
    copy of one that has finished stays that, and on its file system.

    To another file system it is copied; a kill in between leaves the old one as it was, or both
    there with neither going on before ``resume --adopt``. Blocking.

    Raises
    ------
    CannotMoveError: there is something at ``new``, or it cannot be written. CampaignLockedError:
        a console works on the campaign. ElsewhereError: it goes on elsewhere, or may.
        SelectionError: no campaign can have that name.
    """
    check_name(new)
    state = read_campaign(old)
    copy = state.finished and state.copy_of is not None  # nothing of it can be gone on with twice
    if not copy:
        check_place(old, state)
    if new.exists() or new.is_symlink():
        raise CannotMoveError("there is something already", where=str(new), remedy="name another")
    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        with _locked(old, clock) as lock:
            try:
                old.rename(new)
            except OSError as error:
                if copy or error.errno != errno.EXDEV:
                    raise
                _copy_over(old, new, lock, clock)
            else:
                if not copy:
                    write_now(new / FILE_NAME, [placed(place_of(new), clock())])
                (new / LOCK_NAME).unlink()
                return
        gone = old.rename(old.with_name(f".{old.name}.moved"))  # at once: half of it is no campaign
        shutil.rmtree(gone)
    except OSError as error:
        raise CannotMoveError(
            f"cannot move the campaign: {error.strerror}",
            where=str(new),
            remedy="check permissions and free space",
        ) from error


def _copy_over(old: Path, new: Path, lock: CampaignLock, clock: Callable[[], float]) -> None:
    """Copy, and only then say where it goes on: first to the old one, then to the new one."""
    draft = new.with_name(f".{new.name}.moving")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(old, draft, symlinks=True, ignore=shutil.ignore_patterns(f"*{LOCK_NAME}*"))
    _sync_tree(draft)
    place = place_of(draft)
    home = Place(place.inodes, place.host, str(new.absolute()))
    handed = ev.CampaignHandedOn(t=clock(), host=home.host, path=home.path)
    write_now(old / FILE_NAME, [handed], owned=lock.owned)
    write_now(draft / FILE_NAME, [placed(home, clock())])
    draft.rename(new)


def _sync_tree(directory: Path) -> None:
    for where, _, names in os.walk(directory):
        for path in (*(Path(where) / name for name in names), Path(where)):
            if path.is_symlink():
                continue
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


@contextlib.contextmanager
def _locked(
    directory: Path, clock: Callable[[], float], *, take_over: bool = False
) -> Iterator[CampaignLock]:
    lock = CampaignLock(directory, clock)
    lock.acquire(take_over=take_over)
    try:
        yield lock
    finally:
        lock.release()


def size_of(directory: Path) -> int:
    """Bytes of the files in it; what cannot be looked at counts as nothing."""
    total = 0
    for where, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(where) / name).lstat().st_size
    return total
