"""What widgets and workers tell the application."""

from __future__ import annotations

from textual.message import Message

from profiles.errors import DlperfError


class Problem(Message):
    """Something that was asked for cannot be done; the operator is told what and how to mend it."""

    def __init__(self, error: DlperfError) -> None:
        super().__init__()
        self.error = error


class Said(Message):
    """Something was done that cannot be seen on the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class CampaignStarted(Message):
    """A campaign is attached; its runs can be watched."""
