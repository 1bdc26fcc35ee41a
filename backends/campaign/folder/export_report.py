"""What a campaign measured, written where the operator wants it: its report, or one layout."""

from __future__ import annotations

from pathlib import Path

from backends.campaign.folder.artifacts import precheck_document, report_context
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.results.campaign_report import render_report
from backends.results.publish import LAYOUTS, publish
from backends.results.result_files import write_atomically
from backends.results.side_by_side import logs_from
from backends.results.summary import summarise
from profiles.errors import DlperfError


def export(state: CampaignState, campaign: Path, target: Path, layout: str | None = None) -> None:
    """Write a report of the campaign that lies in ``campaign`` to ``target``; blocking.

    ``layout``: None for the whole report, as markdown; else in the format that the name ends in,
    where the layout has it.

    Raises
    ------
    DlperfError: there is nothing to report, or the file cannot be written.
    """
    runs = logs_from(run_results(state), campaign, target.parent)
    if layout is None:
        text = render_report(report_context(state, campaign), runs, summarise(runs))
    else:
        ending = target.suffix.removeprefix(".")
        known = (format for format in LAYOUTS[layout].formats if format == ending)
        format = next(known, None)
        if format == "json":
            runs = run_results(state)  # the document names the campaign
        text = publish(
            state.campaign,
            runs,
            path=campaign,
            layout=layout,
            format=format,
            precheck=precheck_document(campaign),
        )
    try:
        write_atomically(target, text)
    except OSError as error:
        raise DlperfError(
            f"cannot write the report: {error.strerror or error}",
            where=str(target),
            remedy="choose a directory that may be written",
        ) from error
