"""Who is at work on a campaign, or that nobody is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backends.campaign.record.lock import Holder, Role
from profiles.durations import clock_text

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot

DESERTED = "nobody goes on with this campaign"
HANDING_OVER = "handing over to a keeper …"
PAST = "past campaign"


def titled(shown: CampaignSnapshot) -> str:
    """ "2026-11-21-resnet50: 9/24 runs · ETA 41m"; where nothing was measured it says so."""
    again = f" · {shown.tried_again} tried again" if shown.tried_again else ""
    return f"{shown.name}: {'SIMULATED · ' * shown.simulated}{shown.summary}{again}"


def kept_words(holder: Holder, now: float) -> str:
    """ "the keeper of alice on login1 (pid 4711) goes on with it since 14:02": the reader's time of
    day; of another day with the date."""
    if not holder.since:
        return f"{holder} is at work on it"
    does = "goes on with it" if holder.role == Role.KEEPER else "is at work on it"
    return f"{holder} {does} since {clock_text(holder.since, now)}"
