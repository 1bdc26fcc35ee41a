"""What lists of campaigns say of one, on a screen and in a command's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backends.hosts.fingerprint import short_devices
from backends.inventory.nodesets import fold_nodeset
from backends.results.numbers import NOTHING, fixed, readable
from backends.results.run_counts import lost_words

if TYPE_CHECKING:
    from backends.results.past_result import PastResult
    from tui.backend_protocols import CampaignSummary

FIGURES = ("fastest case", "speedup", "grade", "device")
"""Headings of :func:`figure_words`."""
MARKS = {
    "†": "not all repeats of it and of its base were measured in one environment",
    "‡": "measured by another rule than its base",
    "§": "the share of repeats that ran beside other runs differs from that of its base by half or "
    "more",
    "?": "logs were written after their runs; a report reads them each time, a list does not",
}
"""Of a speedup, the last of a grade, in their places in :func:`figure_words`."""
GRADES = "A a claim, B a table, C orientation, D is a number, no more"
"""What a figure of each is good for, in the helps."""


def state_words(summary: CampaignSummary) -> str:
    """``finished``; ``finished, 2 failed, 1 skipped``; ``live, 1 cancelled``: the gravest first."""
    return ", ".join([summary.state, *lost_words(summary)])


def begun_words(summary: CampaignSummary) -> list[str]:
    """``forced past node2``, ``left out: node[3-4]``: what its operator decided when it began."""
    hosts = summary.hosts_left_out
    left_out = [f"left out: {fold_nodeset(hosts)}"] if hosts else []
    past = summary.hosts_forced
    forced = f"forced past {fold_nodeset(past)}" if past else "forced"
    return [*[forced] * summary.forced, *left_out]


def note_words(summary: CampaignSummary) -> str:
    """Its operator's, told from what the machines say; "" where none was noted."""
    return f"note: {summary.about.note}" if summary.about.note else ""


def grade_mark(fastest: PastResult) -> str:
    return "?" if fastest.logs_unread and fastest.grade else ""


def figure_words(fastest: PastResult | None) -> tuple[str, str, str, str]:
    """``1n4g 26,596 images/s``, its speedup, "base" of that which others have theirs over, its
    grade, and the model of its devices."""
    if fastest is None:
        return (NOTHING,) * 4
    device = short_devices(fastest.devices)
    return (
        f"{fastest.tag} {readable(fastest.throughput)} {fastest.unit}",
        "base" if fastest.is_base else " ".join([fixed(fastest.speedup), *fastest.marks]),
        f"{fastest.grade}{grade_mark(fastest)}" if fastest.grade else NOTHING,
        device or NOTHING,
    )
