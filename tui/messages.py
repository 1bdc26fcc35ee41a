"""What widgets and workers tell the application."""

from __future__ import annotations

from textual.message import Message
from textual.notifications import Notification, Notifications

from profiles.errors import DlperfError

MOST_AT_ONCE = 3
PASSING = "information"
"""How grave what was said of the page and of the last key is; problems stay their time. With a
title: of what ended by itself."""


class Problem(Message):
    """Something that was asked for cannot be done; the operator is told what and how to mend it."""

    def __init__(self, error: DlperfError) -> None:
        super().__init__()
        self.error = error


class Said(Message):
    """Something was done that cannot be seen on the page. ``ended``: what came to its end by
    itself, and not with the last key. ``until_key``: the next key takes it away."""

    def __init__(self, text: str, *, ended: str = "", until_key: bool = False) -> None:
        super().__init__()
        self.text = text
        self.ended = ended
        self.until_key = until_key


class NoMore(Message):
    """What was said before is over: its words go away. ``ended``: as it was said with."""

    def __init__(self, text: str, *, ended: str = "") -> None:
        super().__init__()
        self.text = text
        self.ended = ended


class Mended(Message):
    """What was told of this is not so any more: its words go away."""

    def __init__(self, error: DlperfError) -> None:
        super().__init__()
        self.error = error


class CampaignStarted(Message):
    """A campaign is attached; its runs can be watched."""


def let_pass(shown: Notifications) -> None:
    """What was said of a page or a dialog that is left; what ended by itself stays its time."""
    for one in list(shown):
        if one.severity == PASSING and not one.title:
            del shown[one]


def take_back(shown: Notifications, words: str, title: str = "", severity: str = PASSING) -> None:
    """What passes, or ended by itself with this title, and has these words; or what is graver."""
    for one in list(shown):
        if (one.severity, one.title, one.message) == (severity, title, words):
            del shown[one]


def make_room(shown: Notifications, new: Notification) -> None:
    """One word of what was done last, and a few problems, each once."""
    if new.severity == PASSING and not new.title:
        let_pass(shown)
    for one in list(shown):
        if (one.title, one.message) == (new.title, new.message):
            del shown[one]
    for one in list(shown)[: max(0, len(shown) + 1 - MOST_AT_ONCE)]:
        del shown[one]
