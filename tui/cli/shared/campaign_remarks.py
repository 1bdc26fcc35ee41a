"""What is said of a campaign that is on disk, beside its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # JSON

from backends.campaign.folder.index import CampaignSummary
from backends.use_cases import Workspace
from tui.cli.shared.output import say


def say_remarks(workspace: Workspace, path: Path) -> None:
    """What a reader of its figures must know."""
    for remark in workspace.remarks(path):
        say(f"note: {path.name}: {remark}")


def summary_document(campaign: CampaignSummary) -> dict[str, Any]:
    """A campaign in a list of campaigns."""
    return {
        "campaign": campaign.name,
        "path": str(campaign.path.absolute()),
        "state": campaign.state,
        "simulated": campaign.simulated,
        "done": campaign.done,
        "failed": campaign.failed,
        "cancelled": campaign.cancelled,
        "total": campaign.total,
        "reason": campaign.problem,
        "tags": list(campaign.about.tags),
        "note": campaign.about.note,
    }
