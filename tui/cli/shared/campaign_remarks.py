"""What is said of a campaign that is on disk, beside its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # JSON

from backends.campaign.folder.index import CampaignSummary
from backends.results.past_result import PastResult
from backends.use_cases import Workspace
from tui.cli.shared.output import say_folded


def say_remarks(workspace: Workspace, path: Path) -> None:
    """What a reader of its figures must know."""
    for remark in workspace.remarks(path):
        say_folded(f"note: {path.name}: {remark}")


def fastest_document(fastest: PastResult) -> dict[str, Any]:
    """The figure that a list of campaigns has of one."""
    return {
        "profile": fastest.profile,
        "case": fastest.tag,
        "parameters": dict(fastest.parameters),
        "throughput": fastest.throughput,
        "unit": fastest.unit,
        "speedup": fastest.speedup,
        "speedup_marks": list(fastest.marks),
        "grade": fastest.grade,
        "devices": fastest.devices,
    }


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
        "skipped": campaign.skipped,
        "total": campaign.total,
        "reason": campaign.problem,
        "tags": list(campaign.about.tags),
        "note": campaign.about.note,
        "forced": campaign.forced,
        "left_out": list(campaign.left_out),
    }
