"""What the program's exit code says to the script that called it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backends.campaign.record.state import CampaignState

OK = 0
"""All good."""

FAILED = 1
"""Some run did not succeed, something is left, a regression, or a bundle its logs do not carry."""

WRONG = 2
"""The request was wrong, and nothing was started."""

INTERRUPTED = 3
"""The console let go; runs continue detached."""


def code_of(state: CampaignState) -> int:
    """Of a campaign: whether all runs that were asked for and have ended succeeded."""
    return FAILED if state.lost else OK
