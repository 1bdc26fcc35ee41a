"""That nobody was at work on a campaign for a time, for its results to say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from backends.campaign.record.events import Noted
from backends.campaign.record.lock import Holder
from profiles.durations import format_duration


def unwatched(holder: Holder | None, signs: Sequence[float], now: float) -> Noted:
    """``Nobody watched it for 1m31s at most: root on vm (pid 7) was killed or lost; from 2026-11-28
    06:12:31 to 06:14:02 UTC, when it was resumed``: from the last of the ``signs`` of who was at
    work, seconds since the epoch: that of their lock, which is of every few seconds, and the last
    event that they wrote."""
    began = min(now, max(signs))
    ends = (datetime.fromtimestamp(t, UTC) for t in (began, now))
    since, until = (f"{end:%Y-%m-%d %H:%M:%S}" for end in ends)
    until = until[11:] if until[:10] == since[:10] else until
    lasted = format_duration(now - began)
    who = f"{holder or 'who was at work'} was killed or lost"
    text = f"Nobody watched it for {lasted} at most: {who}; from {since} to {until} UTC, "
    text += "when it was resumed"
    return Noted(t=now, text=text, of_results=True)
