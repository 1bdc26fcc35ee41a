"""Which hosts were away while runs were at work there, for the person at the terminal."""

from __future__ import annotations

from backends.campaign.record.state import CampaignState
from tui.cli.shared.output import say_folded


def say_outages(state: CampaignState) -> None:
    for _, _, text in state.notes_of_outages:
        say_folded(f"note: {text}")
