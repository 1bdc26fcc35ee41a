"""Campaigns and their runs as rows for a reader."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from pathlib import Path

from backends.campaign.folder.index import CampaignSummary
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import RunView
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.nodesets import ranked_nodeset
from backends.results.numbers import NOTHING, bytes_text, fixed
from backends.results.past_result import LOGS_CHANGED, PastResult
from backends.results.render import Column
from backends.results.run_counts import lost_words, succeeded
from backends.results.side_by_side import begun_as
from profiles.cleantext import clean_text
from tui.campaign_words import (
    FIGURES,
    begun_words,
    figure_words,
    note_words,
    state_words,
)
from tui.cli.shared.print_table import Rows, Said, Tone

LONGEST = 80
"""Columns of a campaign's name in a list of one line each."""

_CAMPAIGN_TONES = {
    "live": Tone.BUSY,
    "finished": Tone.GOOD,
    "unfinished": Tone.WARN,
    "unreadable": Tone.BAD,
}
_RUN_TONES = {
    RunState.SUCCEEDED: Tone.GOOD,
    RunState.FAILED: Tone.BAD,
    RunState.CANCELLED: Tone.WARN,
    RunState.STARTING: Tone.BUSY,
    RunState.RUNNING: Tone.BUSY,
    RunState.CANCELLING: Tone.BUSY,
}
_CAMPAIGN = (
    Column("campaign", "left"),
    Column("state", "left"),
    Column("runs"),
    Column("begun", "left", rank=2, whole=True),
    Column("measures", "left", rank=4),
)
_FIGURES = (
    Column(FIGURES[0], "left", rank=1, whole=True, below=True),
    Column(FIGURES[1], rank=1, below=True),
    Column(FIGURES[2], "left", rank=1, below=True),
    Column(FIGURES[3], "left", rank=5),
)
_RUN = (
    Column("run", "left"),
    Column("profile", "left", rank=3, below=True),
    Column("case", "left", rank=1, whole=True, below=True),
    Column("state", "left"),
    Column("throughput"),
    Column("hosts", "left", rank=2, whole=True, below=True),
    Column("reason", "left", below=True),
)


def campaign_rows(
    campaigns: Sequence[CampaignSummary],
    sizes: Sequence[int] | None = None,
    figures: Sequence[PastResult | None] | None = None,
    noted: Collection[Path] = (),
) -> Rows:
    """One line per campaign; ``sizes``: bytes of each, as a column; ``figures``: of the fastest
    case of each, as columns; ``noted``: those of which logs were changed."""
    size = () if sizes is None else (Column("size", rank=6),)
    measured = () if figures is None else _FIGURES
    rows = []
    for number, campaign in enumerate(campaigns):
        row: list[str | Said] = [
            Said(campaign.called, Tone.NAME),
            Said(state_words(campaign), _campaign_tone(campaign)),
            f"{succeeded(campaign)}/{campaign.total}",
            *(() if figures is None else figure_words(figures[number])),
            _begun(campaign),
            campaign.measures,
            " · ".join(filter(None, [LOGS_CHANGED * (campaign.path in noted), _remarks(campaign)])),
        ]
        if sizes is not None:
            row.insert(1, bytes_text(sizes[number]))
        rows.append(row)
    return Rows(
        (
            _CAMPAIGN[0],
            *size,
            *_CAMPAIGN[1:3],
            *measured,
            *_CAMPAIGN[3:],
            Column("remarks", "left", below=True),
        ),
        rows,
    )


def watched_rows(campaigns: Sequence[CampaignSummary]) -> Rows:
    """A line for each where its name has no more than LONGEST columns, which is cut else."""
    from tui.text import shorten  # noqa: PLC0415 (comes with Textual; 50 ms)

    remarks = Column("remarks", "left", rank=1, whole=True)
    rows: list[list[str | Said]] = [
        [
            Said(shorten(clean_text(one.called), LONGEST), Tone.NAME),
            Said(one.state, _campaign_tone(one)),
            f"{succeeded(one)}/{one.total}",
            _begun(one),
            " · ".join(filter(None, ["SIMULATED" * one.simulated, *lost_words(one), _paused(one)])),
        ]
        for one in campaigns
    ]
    return Rows((*_CAMPAIGN[:4], remarks), rows)


def _begun(campaign: CampaignSummary) -> str:
    """By the reader's calendar and clock."""
    if campaign.created_at is None:
        return NOTHING
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(campaign.created_at))


def _campaign_tone(campaign: CampaignSummary) -> Tone:
    """What came to its end is good where all runs did so by themselves and well, and bad where
    some failed and none succeeded."""
    lost = campaign.failed + campaign.cancelled
    if campaign.state == "finished" and lost:
        return Tone.BAD if campaign.failed and lost >= campaign.total else Tone.WARN
    return _CAMPAIGN_TONES.get(campaign.state, Tone.QUIET)


def _remarks(campaign: CampaignSummary) -> str:
    """Why it is as it is, then what people say of it."""
    begun = ", ".join(begun_words(campaign))
    tags = " ".join(f"#{tag}" for tag in campaign.about.tags)
    words = ["SIMULATED" * campaign.simulated, campaign.problem, begun, _paused(campaign), tags]
    words += [begun_as(campaign.name, campaign.called), note_words(campaign)]
    return " · ".join(filter(None, words))


def _paused(campaign: CampaignSummary) -> str:
    return f"{campaign.paused} paused" if campaign.paused else ""


def run_rows(views: Sequence[RunView]) -> Rows:
    """One line per run, with the id that ``cancel --run`` takes."""
    return Rows(_RUN, [_run(view) for view in views])


def most_telling(shown: CampaignSnapshot, room: int) -> tuple[tuple[RunView, ...], int]:
    """As many runs as there is room for, in their order, and how many are left out: those at work
    first, then those that failed, then the last that ended; attempts that were replaced last."""
    if len(shown.runs) <= room:
        return shown.runs, 0
    room = max(1, room - 1)  # a line says how many more there are
    last = {run.run_id for run in shown.state.latest_attempts()}
    ranks = [_rank(view) if view.run_id in last else _REPLACED for view in shown.runs]
    numbers = sorted(range(len(ranks)), key=lambda n: (ranks[n], -n))[:room]
    more = shown.total - sum(ranks[number] < _REPLACED for number in numbers)
    return tuple(shown.runs[number] for number in sorted(numbers)), more


_REPLACED = 4


def _rank(view: RunView) -> int:
    if view.state.active:
        return 0
    if view.state is RunState.FAILED:
        return 1
    return 2 if view.state.ended else 3


def _run(view: RunView) -> list[str | Said]:
    value, how = view.throughput, ""
    if value is None and not view.state.ended:
        value, how = view.throughput_now, "last reading "
    tone = Tone.WARN if view.paused else _RUN_TONES.get(view.state, Tone.QUIET)
    state = "skipped" if view.skipped else view.state_text
    return [
        view.run_id,
        view.profile,
        view.label,
        Said(state, tone, below=state.partition(": ")[2]),
        NOTHING if value is None else f"{how}{fixed(value)} {view.unit}",
        ranked_nodeset(view.hosts) or NOTHING,
        _run_reason(view, tone),
    ]


def _run_reason(view: RunView, tone: Tone) -> Said:
    if view.log_changed and not view.reason:
        return Said("log missing" if view.log_missing else "log changed", Tone.WARN)
    return Said("never started" if view.skipped else view.reason, tone)
