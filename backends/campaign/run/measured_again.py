"""A finished campaign whose journal has lost how runs ended, as its logs tell: to be read."""

from __future__ import annotations

from pathlib import Path

from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, fold


def measured_again(state: CampaignState, directory: Path, now: float) -> CampaignState:
    """With the ends that are lost, and nothing written: ``resume`` writes them down.

    A run that cannot be measured again, its log or its frozen profile not being here as they were,
    has failed, and says that its end is lost. Blocking.
    """
    if state.finished or not state.lost_ends:
        return state
    # Seldom, so what reads logs is loaded then.
    from backends.campaign.folder.frozen import profiles_of  # noqa: PLC0415
    from backends.campaign.run.recovery import recovered  # noqa: PLC0415

    profiles = profiles_of(directory, state.frozen)
    ends: list[ev.Event] = [
        event
        for event in recovered(state, directory, profiles, now)
        if getattr(event, "run_id", "") in state.lost_ends
    ]
    return fold([*ends, ev.CampaignFinished(t=now)], state)
