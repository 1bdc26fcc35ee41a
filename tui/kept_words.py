"""Who is at work on a campaign, or that nobody is, in words."""

from __future__ import annotations

from datetime import datetime

from backends.campaign.record.lock import Holder, Role

DESERTED = "nobody goes on with this campaign"


def kept_words(holder: Holder, now: float) -> str:
    """ "the keeper of alice on login1 (pid 4711) goes on with it since 14:02": the reader's time of
    day; of another day with the date."""
    if not holder.since:
        return f"{holder} is at work on it"
    since, today = (datetime.fromtimestamp(t).astimezone() for t in (holder.since, now))
    form = "%H:%M" if since.date() == today.date() else "%Y-%m-%d %H:%M"
    does = "goes on with it" if holder.role == Role.KEEPER else "is at work on it"
    return f"{holder} {does} since {since.strftime(form)}"
