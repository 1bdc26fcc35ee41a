"""Where a campaign lies, so that a copy of its directory knows that it is one.

A directory is told by its inode number and that of its ``frozen/``: they stay when it is moved
within a file system, are the same on every machine that mounts it and under whatever path, and no
copy has them. The clone of a whole file system has them too; and one that gives out other numbers
at each mount makes a campaign look like its own copy.
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from backends.campaign.folder.frozen import FOLDER
from backends.campaign.record.state import CampaignState, Place
from profiles.cleantext import clean_text
from profiles.errors import DlperfError


class ElsewhereError(DlperfError):
    """Nothing is run from this directory: the campaign goes on in another one, or may."""

    def __init__(self, directory: Path, what: str, *, simulated: bool = False) -> None:
        adopt = "'dlperf-tui resume --adopt CAMPAIGN' goes on with this one and no other"
        remedy = "a demo goes on with the original" if simulated else adopt
        super().__init__(what, where=str(directory), remedy=remedy)


def place_of(directory: Path) -> Place:
    """Raises OSError where the directory cannot be looked at."""
    try:
        frozen = str((directory / FOLDER).stat().st_ino)
    except FileNotFoundError:
        frozen = ""
    inodes = f"{directory.stat().st_ino}-{frozen}"
    return Place(inodes, socket.gethostname(), str(directory.absolute()))


def is_at(directory: Path, place: Place) -> bool:
    """Whether the campaign of that place lies in this directory."""
    try:
        here = place_of(directory)
    except OSError:
        return False
    outer, _, inner = place.inodes.partition("-")
    outer_here, _, inner_here = here.inodes.partition("-")
    return outer == outer_here and (inner == inner_here or not (inner and inner_here))


def moved_to(directory: Path, place: Place) -> Path | None:
    """Under which other name the campaign of that place, which lay in ``directory``, lies beside
    it; None where it does not, or is on its way out. Blocking."""
    if place.inodes:
        with contextlib.suppress(OSError):
            beside = (one for one in directory.parent.iterdir() if not one.name.startswith("."))
            return next((one for one in beside if is_at(one, place)), None)
    return None


def copied_from(directory: Path, state: CampaignState) -> Place | None:
    """Of which directory this one is a copy; None where it is the campaign itself."""
    if not state.place.inodes or is_at(directory, state.place):
        return None
    return state.place


def elsewhere_words(state: CampaignState) -> str:
    """Why nothing is run from the directory, in words; empty where it is the campaign's own."""
    if state.copy_of is not None:
        return f"this is a copy of {clean_text(str(state.copy_of))}, which may be alive"
    if state.handed_to is not None:
        return f"this campaign goes on in {clean_text(str(state.handed_to))}"
    return ""


def check_place(directory: Path, state: CampaignState) -> None:
    """Raise ElsewhereError where nothing may be run from the directory."""
    if words := elsewhere_words(state):
        raise ElsewhereError(directory, words, simulated=state.simulated)
