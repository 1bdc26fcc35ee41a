"""What a campaign measured, written where the operator wants it: its report, or one layout."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from backends.campaign.folder.artifacts import precheck_document, report_context
from backends.campaign.folder.compare_campaigns import recorded_each
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.results.campaign_report import render_report
from backends.results.layouts.common import DEFAULT, LayoutOptions
from backends.results.layouts.layout import Format, Results
from backends.results.publish import LAYOUTS, published
from backends.results.result_files import write_atomically
from backends.results.run_result import RunResult
from backends.results.side_by_side import logs_from, shown_names
from backends.results.summary import summarise
from backends.results.translations import LANGUAGES, Lang
from profiles.errors import DlperfError

Written = Format | Literal["html"]
REPORT = "report"
REPORT_FORMATS: tuple[Written, ...] = ("md", "html")


@dataclass(frozen=True, slots=True)
class Export:
    """``layout``: None for the whole report, of which ``options`` are the language alone."""

    layout: str | None = None
    format: Written = "md"
    options: LayoutOptions = DEFAULT

    @property
    def whole_document(self) -> bool:
        """Every run and result as JSON, which is the same of every layout but some."""
        return self.layout is not None and LAYOUTS[self.layout].writes_document(self.format)

    @property
    def translated(self) -> bool:
        """The language makes a difference."""
        return self.layout is None or LAYOUTS[self.layout].translates(self.format)

    @property
    def file_name(self) -> str:
        """That is proposed for it, in the directory of its campaign: of what it depends on."""
        layout = None if self.whole_document else self.layout
        return _file_name(
            layout, self.options.lang if self.translated else DEFAULT.lang, self.format
        )


def _file_name(layout: str | None, lang: Lang, format: Written) -> str:
    language = "" if lang == DEFAULT.lang else f".{lang}"
    return f"{layout or REPORT}{language}.{format}"


def formats_of(layout: str | None) -> tuple[Written, ...]:
    """In which a layout, or the whole report, can be written; its own first."""
    return REPORT_FORMATS if layout is None else LAYOUTS[layout].formats


def proposed_names() -> frozenset[str]:
    """Of all exports, of today and before: what lies beside a journal under such a name is one."""
    named = frozenset(
        _file_name(layout, lang, format)
        for layout in (None, *LAYOUTS)
        for format in formats_of(layout)
        for lang in LANGUAGES
    )
    return named | {_file_name(None, DEFAULT.lang, "json")}


def linked(
    runs: Sequence[RunResult], base: Path, layout: str, format: str | None
) -> tuple[RunResult, ...]:
    """As a layout has them: tables link to no log that is not there; ``base``: of the logs' paths.
    Blocking: the disk is asked for each."""
    if LAYOUTS[layout].tables is None or format == "json":
        return tuple(runs)
    return tuple(
        run if not run.log or os.path.exists(base / run.log) else replace(run, log="")  # noqa: PTH110
        for run in runs
    )


def _runs(state: CampaignState, campaign: Path, what: Export, where: Path) -> tuple[RunResult, ...]:
    runs = run_results(state)
    if what.format != "json":
        (runs,) = shown_names([campaign], [runs], begun=what.format != "csv")
        # The document names the campaign, so that its logs are found from there.
        runs = logs_from(runs, campaign, where)
    return tuple(runs)


def laid_out(
    state: CampaignState, campaign: Path, what: Export, layout: str, where: Path
) -> Results:
    """What a ``layout`` has of the campaign that lies in ``campaign``, with the paths of logs as
    they are found from the directory ``where``; blocking."""
    runs = linked(_runs(state, campaign, what, where), where, layout, what.format)
    machines = recorded_each([(campaign, runs)])
    precheck, notes = precheck_document(campaign), state.notes_of_results
    return Results(state.campaign, runs, summarise(runs), campaign, precheck, machines, notes)


def exported(state: CampaignState, campaign: Path, what: Export, where: Path) -> str:
    """The text of an export; of the other parameters see :func:`laid_out`. Blocking.

    Raises
    ------
    SelectionError: there is nothing to report.
    """
    if what.layout is None and what.format == "html":
        from backends.campaign.folder.whole_report import html_of  # noqa: PLC0415 (seldom needed)

        return html_of(state, campaign, lang=what.options.lang)
    if what.layout is None or what.format == "html":
        context, runs = report_context(state, campaign), _runs(state, campaign, what, where)
        return render_report(context, runs, summarise(runs), what.options.lang)
    results = laid_out(state, campaign, what, what.layout, where)
    return published(results, what.layout, what.format, what.options)


def export(state: CampaignState, campaign: Path, target: Path, what: Export) -> None:
    """Write an export to ``target``; blocking.

    Raises
    ------
    DlperfError: there is nothing to report, or the file cannot be written.
    """
    try:
        write_atomically(target, exported(state, campaign, what, target.parent))
    except OSError as error:
        raise DlperfError(
            f"cannot write the report: {error.strerror or error}",
            where=str(target),
            remedy="choose a directory that may be written",
        ) from error
