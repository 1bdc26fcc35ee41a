"""Who is at work on a campaign, or that nobody is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backends.campaign.record.lock import Holder, Role
from profiles.counted import counted
from profiles.durations import clock_text

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot
    from tui.backend_protocols import CampaignSummary

DESERTED = "nobody goes on with this campaign"
HANDING_OVER = "handing over to a keeper …"
PAST = "past campaign"


def lies_elsewhere(viewed: CampaignSnapshot) -> str:
    """Why nothing is run from its directory, in few words; "" where that is the campaign's own."""
    if viewed.state.copy_of is not None:
        return "this is a copy"
    return "it goes on in a copy" * (viewed.state.handed_to is not None)


def way_on_elsewhere(viewed: CampaignSnapshot) -> str:
    """How a campaign goes on from a directory that is not its own, and why so; "" in its own."""
    elsewhere = lies_elsewhere(viewed)
    if viewed.simulated:  # which no command adopts
        return f"{elsewhere}: a demo goes on with the original" * bool(elsewhere)
    return f"{elsewhere}: the command 'resume CAMPAIGN --adopt' goes on" * bool(elsewhere)


def titled(shown: CampaignSnapshot, *, goes_on: bool = True) -> str:
    """ "2026-11-21-resnet50: 9/24 runs · ETA 41m", by its directory; where nothing was measured it
    says so. ``goes_on``: somebody goes on with it, so that it has an ETA."""
    said = " · ".join([shown.summary if goes_on else shown.progress, *again_words(shown)])
    return f"{shown.called}: {'SIMULATED · ' * shown.simulated}{said}"


def again_words(shown: CampaignSnapshot | CampaignSummary) -> list[str]:
    """``2 tried again``, ``1 skipped run was planned again``: rows of runs with a later one in
    their place; those were begun, these were not. With the counts of all other runs they are every
    row."""
    words = [f"{shown.tried_again} tried again"] if shown.tried_again else []
    if skipped := shown.planned_again:
        was = "was" if skipped == 1 else "were"
        words.append(f"{counted(skipped, 'skipped run')} {was} planned again")
    return words


def kept_words(holder: Holder, now: float) -> str:
    """ "the keeper of alice on login1 (pid 4711) goes on with it since 14:02": the reader's time of
    day; of another day with the date."""
    if holder.role == Role.HANDOVER:
        return f"{holder} is {HANDING_OVER}"
    if not holder.since:
        return f"{holder} is at work on it"
    does = "goes on with it" if holder.role == Role.KEEPER else "is at work on it"
    return f"{holder} {does} since {clock_text(holder.since, now)}"
