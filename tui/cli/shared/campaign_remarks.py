"""What is said of a campaign that is on disk, beside its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any  # Any: JSON

from backends.campaign.folder.index import CampaignSummary
from backends.results.past_result import PastResult
from backends.use_cases import Workspace
from tui.cli.shared.output import say_folded

if TYPE_CHECKING:
    from backends.campaign.folder.raw_logs import LogDoubt


def say_remarks(workspace: Workspace, path: Path) -> None:
    """What a reader of its figures must know."""
    for remark in workspace.remarks(path):
        say_folded(f"note: {path.name}: {remark}")


def say_log_doubts(workspace: Workspace, path: Path) -> None:
    """Which of its logs do not give its figures any more, or were changed."""
    for line in log_doubt_lines(workspace.log_doubts(path), f"{path.name}: "):
        say_folded(line)


def log_doubt_lines(doubts: Sequence[LogDoubt], before: str = "") -> tuple[str, ...]:
    """With "note" or "warning" and ``before`` that."""
    from backends.campaign.folder.raw_logs import levelled_lines  # noqa: PLC0415 (late)

    words = {"info": "note", "warn": "warning"}
    return tuple(f"{words[level]}: {before}{line}" for level, line in levelled_lines(doubts))


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
        "not_begun": campaign.not_begun,
        "cancelled": campaign.cancelled,
        "skipped": campaign.skipped,
        "total": campaign.total,
        "reason": campaign.problem,
        "tags": list(campaign.about.tags),
        "note": campaign.about.note,
        "forced": campaign.forced,
        "left_out": list(campaign.left_out),
    }
