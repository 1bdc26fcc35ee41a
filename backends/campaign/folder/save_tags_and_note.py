"""A tag or a note is written, and shown in the campaign's report at once where that is at rest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from backends.campaign.folder.artifacts import REPORT, rewrite_results
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.refuse_foreign_files import refuse_ways_out
from backends.campaign.folder.tags_and_note import About, write_about
from backends.campaign.record.lock import CampaignLock, CampaignLockedError


def describe(directory: Path, about: About, clock: Callable[[], float]) -> None:
    """Blocking.

    Raises
    ------
    DlperfError: it cannot be written, or is no campaign.
    """
    state = read_campaign(directory)
    refuse_ways_out(directory)
    write_about(directory, about)
    if not (directory / REPORT).is_file():
        return
    lock = CampaignLock(directory, clock)
    try:
        lock.acquire()
    except CampaignLockedError:  # whose console writes the report again, with what is said
        return
    try:
        with contextlib.suppress(OSError):  # the report stays as it was; what is said is written
            rewrite_results(state, directory)
    finally:
        lock.release()
