"""Who is at work on a campaign, or that nobody is, in words."""

from __future__ import annotations

from backends.campaign.record.lock import Holder, Role
from profiles.durations import clock_text

DESERTED = "nobody goes on with this campaign"


def kept_words(holder: Holder, now: float) -> str:
    """ "the keeper of alice on login1 (pid 4711) goes on with it since 14:02": the reader's time of
    day; of another day with the date."""
    if not holder.since:
        return f"{holder} is at work on it"
    does = "goes on with it" if holder.role == Role.KEEPER else "is at work on it"
    return f"{holder} {does} since {clock_text(holder.since, now)}"
