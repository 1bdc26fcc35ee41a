"""All that a campaign has to say, as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from backends.campaign.folder.artifacts import report_context
from backends.campaign.folder.bundle import Bundle, cite_line
from backends.campaign.folder.write_bundle import write_bundle
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.results.campaign_report import ReportContext, render_report
from backends.results.html_report import html_report
from backends.results.summary import summarise
from backends.results.svg_figures import Drawing, draw_figures
from backends.results.translations import Lang
from profiles.counted import counted
from profiles.errors import DlperfError


def html_of(
    state: CampaignState,
    path: Path,
    *,
    bundle: Bundle | None = None,
    lang: Lang = "en",
    notes: tuple[str, ...] = (),
) -> str:
    """The report of the campaign that lies in ``path``, with how to cite it where it is in a
    bundle; ``notes``: said besides. Without matplotlib it has no figures. Blocking."""
    runs = run_results(state)
    groups = summarise(runs)
    drawings: tuple[Drawing, ...] = ()
    with suppress(DlperfError):  # the extra is not installed
        drawings = draw_figures(groups, lang)
    shown = tuple((one.title, f"figures/{one.name}") for one in drawings)
    context = _noted(replace(report_context(state, path), figures=shown), notes)
    figures = {f"figures/{one.name}": one.svg for one in drawings}
    footer = (unfit_words(state) or cite_of(state, bundle),) if bundle is not None else ()
    return html_report(
        context.called or context.campaign,
        render_report(context, runs, groups, lang),
        figures,
        footer=footer,
        lang=lang,
    )


def bundle_of(
    state: CampaignState,
    path: Path,
    target: Path,
    say: Callable[[str], None],
    notes: tuple[str, ...] = (),
) -> Bundle:
    """Write the campaign that lies in ``path`` as a bundle; ``say``: what it is not yet; ``notes``:
    what its report says besides."""
    if unfinished := state.unfinished:
        say(f"note: {unfinished}; it is bundled as it is now")
    report = ""
    if notes or unfit_words(state):
        runs = run_results(state)
        report = render_report(_noted(report_context(state, path), notes), runs, summarise(runs))
    return write_bundle(path, state.campaign or path.name, target, report)


def _noted(context: ReportContext, notes: tuple[str, ...]) -> ReportContext:
    return replace(context, notes=(*context.notes, *notes))


def unfit_words(state: CampaignState) -> str:
    """Why a bundle of it is not to be cited; empty where it may be."""
    unfit = sum(bool(run.log_differs) for run in state.runs.values())
    return f"not to be cited: its logs do not give {counted(unfit, 'figure')}" if unfit else ""


def cite_of(state: CampaignState, bundle: Bundle) -> str:
    """What to write where a figure of it is quoted."""
    began = ""
    if state.created_at:
        began = datetime.fromtimestamp(state.created_at, UTC).strftime("%Y-%m-%d")
    simulated = "SIMULATED, " if state.simulated else ""
    runs = f"{simulated}{counted(len(state.latest_attempts()), 'run')}"
    return cite_line(state.campaign, state.version, began, runs, bundle)
