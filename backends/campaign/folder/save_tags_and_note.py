"""A tag or a note is written, and shown in the campaign's report at once where that is at rest; so
is another name."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from backends.campaign.folder.artifacts import REPORT, rewrite_results
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.refuse_foreign_files import refuse_ways_out
from backends.campaign.folder.tags_and_note import About, read_about, write_about
from backends.campaign.record.lock import CampaignLock, CampaignLockedError
from backends.campaign.record.state import CampaignState

MOST_WAIT_S = 10.0


def describe(
    directory: Path, change: Callable[[About], About], clock: Callable[[], float]
) -> About:
    """``change``: from what is said there, whoever said it, to what is to be said. One after the
    other, of all programs on this machine. Blocking.

    Raises
    ------
    DlperfError: it cannot be written, or is no campaign.
    """
    state = read_campaign(directory)
    refuse_ways_out(directory)
    with _in_turn(directory):
        about = change(read_about(directory))
        write_about(directory, about)
        renew_report(state, directory, clock)
    return about


def renew_report(state: CampaignState, directory: Path, clock: Callable[[], float]) -> None:
    """Where there is one, and nobody is at work on the campaign. Blocking."""
    if not (directory / REPORT).is_file():
        return
    lock = CampaignLock(directory, clock)
    try:
        lock.acquire()
    except CampaignLockedError:  # whose console writes the report again
        return
    try:
        with contextlib.suppress(OSError):  # the report stays as it was
            rewrite_results(state, directory)
    finally:
        lock.release()


@contextlib.contextmanager
def _in_turn(directory: Path) -> Iterator[None]:
    """Only by chance where the file system knows no locks, or where somebody holds this one for
    longer than any of us would: whoever can read the directory can."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    until = time.monotonic() + MOST_WAIT_S
    try:
        while time.monotonic() < until:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(fd)
