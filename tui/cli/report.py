"""``report``: tables of one or more campaigns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from backends.campaign.folder.artifacts import precheck_document, report_context
from backends.campaign.folder.bundle import SUFFIX, Bundle
from backends.campaign.folder.compare_campaigns import recorded_each
from backends.campaign.folder.export_report import linked
from backends.campaign.folder.raw_logs import Weight, doubt_lines, with_doubts
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.results.campaign_junit import campaign_junit
from backends.results.layouts.arrange import Arrangement
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import footer
from backends.results.publish import FORMATS, LAYOUTS, publish
from backends.results.result_files import write_figures
from backends.results.run_result import RunResult
from backends.results.side_by_side import logs_from, shown_names
from backends.results.summary import Group, parameters_text, summarise
from backends.use_cases import Workspace
from profiles.errors import DlperfError, SelectionError
from tui.cli.shared.campaign_remarks import log_doubt_lines, say_log_doubts, say_remarks
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_campaign, open_workspace
from tui.cli.shared.output import say, say_folded
from tui.cli.shared.output_file import add_force, refuse_to_lose, told, write_output
from tui.cli.shared.print_table import print_tables
from tui.cli.shared.say_findings import MOST, say_findings

WHOLE = ("html", "junit")
"""Formats of a campaign, and of none of its layouts."""


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "campaigns_named", nargs="+")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), help=_said_of_layouts())
    parser.add_argument(
        "--format",
        choices=(*FORMATS, *WHOLE),
        help="md, csv: the layout's tables, but speedup as csv: results.csv, unless --columns, "
        "--style or --decimals choose; json: every figure, the same for all layouts but "
        "dlperf-json and mlperf; html: the whole report as one file; junit: a test per run, for CI",
    )
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--center", choices=("median", "mean"), default="median")
    parser.add_argument(
        "--style", choices=("full", "oneflow"), default="full", help="of the speedup layout"
    )
    parser.add_argument("--columns", metavar="NAME,NAME", help="of the speedup layout")
    parser.add_argument(
        "--decimals", metavar="N", type=int, choices=range(10), help="of the throughput, 0 to 9"
    )
    parser.add_argument(
        "--sort",
        metavar="N",
        type=int,
        help="rows by column N of the table as md has it, the largest first with -N",
    )
    parser.add_argument("--transpose", action="store_true", help="rows as columns")
    parser.add_argument("--figures", action="store_true", help="SVG figures beside the markdown")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="instead of stdout; without --format its name says which: .md, .csv, .json or .html",
    )
    parser.add_argument(
        "--bundle",
        metavar="FILE",
        type=Path,
        help="the campaign with its raw logs as one .tar.zst, which report, compare, history, "
        "status, logs and import read",
    )
    add_force(parser)


def _said_of_layouts() -> str:
    return "; ".join(
        f"{layout.name}: {layout.help} ({', '.join(layout.formats)})" for layout in LAYOUTS.values()
    )


def run(arguments: argparse.Namespace) -> int:
    """One layout of one or more campaigns, or all of one."""
    workspace = open_workspace(arguments)
    arguments.format = arguments.format or _format_by_name(arguments)
    if arguments.output is not None:
        refuse_to_lose(arguments.output, "-o", force=arguments.force)
    if arguments.bundle is not None or arguments.format in WHOLE:
        return _whole(workspace, arguments)
    paths = [workspace.find_to_read(name) for name in arguments.campaigns_named]
    base = _base(arguments.output, paths)
    together = _runs(workspace, paths)
    layout = LAYOUTS[arguments.layout or next(iter(LAYOUTS))]
    written_as = arguments.format or layout.formats[0]
    in_words = written_as == "md"
    if written_as != "json":
        together = shown_names(paths, together, begun=in_words)
    names = dict.fromkeys(run.campaign for own in together for run in own)
    printed = arguments.output is None and layout.tables and in_words
    here = Path.cwd()
    # A link leads down only; and what was unpacked of a bundle goes when this ends.
    all_below = all(
        path.resolve().is_relative_to(here) and workspace.bundles.of(path) is None for path in paths
    )
    links_from = here if printed and all_below else base
    found_from = _logs_base(paths) if arguments.format == "json" else links_from
    runs = [
        run
        for path, own in zip(paths, together, strict=True)
        for run in logs_from(own, path, found_from)
    ]
    runs = [*linked(runs, links_from, layout.name, arguments.format)]
    options = LayoutOptions(
        lang=arguments.lang,
        style=arguments.style,
        columns=None if arguments.columns is None else tuple(arguments.columns.split(",")),
        decimals=arguments.decimals,
        arrangement=_arrangement(arguments),
    )
    machines = recorded_each(zip(paths, together, strict=True))
    text = publish(
        " + ".join(names),
        runs,
        path=workspace.shown(paths[0]) if len(paths) == 1 else None,
        layout=layout.name,
        format=arguments.format,
        center=arguments.center,
        options=options,
        precheck=precheck_document(paths[0]) if len(paths) == 1 else None,
        machines=machines,
        notes=_notes(workspace, paths) if arguments.format == "json" else (),
    )
    figures: tuple[Path, ...] = ()
    if arguments.figures:
        # What was unpacked of a bundle goes when this ends.
        where = base if workspace.bundles.of(base) is None else Path.cwd()
        own_groups = summarise(run for own in together for run in own)
        figures = _figures(own_groups, where, arguments, export=where not in paths)
    if arguments.output is not None:
        write_output(arguments.output, text, "-o")
        if layout.tables is not None and arguments.format != "json":
            # Which the tables leave out.
            say_findings(summarise(runs, arguments.center), arguments.lang, MOST)
    elif layout.tables is None or arguments.format not in (None, "md"):
        print(text, end="")
    else:
        groups = summarise(runs, arguments.center)
        below = footer(groups, options, machines)
        parts = [
            partial(print_tables, layout.tables(groups, options), ((), (below,) * bool(below))),
            partial(say_findings, groups, arguments.lang, MOST),
        ]
        # Below it on a terminal, notes would push the table's heading out of sight.
        for part in reversed(parts) if sys.stdout.isatty() else parts:
            part()
    for path in paths:
        if (bundle := workspace.bundles.of(path)) is not None:
            say(_cite(workspace.checked(path), bundle))
    for figure in figures:
        say(f"written: {figure}")
    return OK


def _figures(
    groups: Sequence[Group], where: Path, arguments: argparse.Namespace, *, export: bool
) -> tuple[Path, ...]:
    def check(path: Path) -> None:
        refuse_to_lose(path, "--figures", force=arguments.force)

    found = write_figures(where, groups, arguments.lang, export=export, check=check)
    return tuple(where / name for _title, name in found)


def _format_by_name(arguments: argparse.Namespace) -> str | None:
    """What the file's name says where no format is asked for; None: the layout's own.

    Raises
    ------
    SelectionError: the name says one that there is not, or that the layout has not.
    """
    if arguments.output is None:
        return None
    said: str = arguments.output.suffix.lower().removeprefix(".")
    if said == "html" and arguments.layout is None:
        return "html"
    if said in ("", "txt"):
        return None
    layout = LAYOUTS[arguments.layout or next(iter(LAYOUTS))]
    if said not in layout.formats:
        known = (*layout.formats, *(["html"] if arguments.layout is None else []))
        raise SelectionError(
            f"the layout {layout.name} is not written as {said}",
            where=f"-o {arguments.output}",
            remedy=f"name it {' or '.join(f'….{one}' for one in known)}, or say --format",
        )
    return said


def _arrangement(arguments: argparse.Namespace) -> Arrangement:
    number = arguments.sort
    if number == 0:
        raise SelectionError("columns are counted from 1", where="--sort", remedy="give 1 or more")
    column = None if number is None else abs(number) - 1
    return Arrangement(column, (number or 0) < 0, arguments.transpose)


def _notes(workspace: Workspace, paths: Sequence[Path]) -> Sequence[tuple[float, str, str]]:
    """Of one campaign, those that go with its results."""
    return workspace.state(paths[0]).notes_of_results if len(paths) == 1 else ()


def _whole(workspace: Workspace, arguments: argparse.Namespace) -> int:
    """What is of one campaign and no layout of it: a bundle, HTML, JUnit."""
    from backends.campaign.folder.read_bundle import campaign_in  # noqa: PLC0415 (only here)
    from backends.campaign.folder.whole_report import (  # noqa: PLC0415 (only here)
        bundle_of,
        html_of,
        unfit_words,
    )
    from backends.campaign.folder.write_bundle import directory_in_bundle  # noqa: PLC0415

    _refuse_with_whole(arguments)
    path = workspace.find_to_read(arguments.campaigns_named[0])
    say_remarks(workspace, path)
    found = workspace.log_doubts(path, whole=arguments.bundle is not None)
    for line in log_doubt_lines(found):
        say_folded(line)
    state = with_doubts(workspace.state(path), found)
    # What is known to be of the logs is among the report's own notes.
    doubts = doubt_lines([doubt for doubt in found if doubt.weight is not Weight.GRAVE])
    bundle = workspace.bundles.of(path)
    if arguments.bundle is not None:
        name = directory_in_bundle(state.campaign or path.name)
        refuse_to_lose(
            arguments.bundle,
            "--bundle",
            force=arguments.force,
            own=lambda file: campaign_in(file) == name,
        )
        with told(arguments.bundle):
            bundle = bundle_of(state, path, arguments.bundle, say, doubts)
    if arguments.format == "html":
        _say_without_figures()
        _give(
            html_of(state, path, bundle=bundle, lang=arguments.lang, notes=doubts), arguments.output
        )
    elif arguments.format == "junit":
        notes = (*report_context(state, path).notes, *doubts)
        _give(campaign_junit(state.campaign, run_results(state), notes), arguments.output)
    if bundle is not None:
        unfit = unfit_words(state)
        if arguments.format is None and not unfit:
            print(_cite(state, bundle))
        else:
            say(_cite(state, bundle))
        return FAILED if unfit and arguments.bundle is not None else OK
    return OK


def _cite(state: CampaignState, bundle: Bundle) -> str:
    """What to write where it is quoted, or why it is not to be."""
    from backends.campaign.folder.whole_report import cite_of, unfit_words  # noqa: PLC0415 (late)

    return unfit_words(state) or f"cite: {cite_of(state, bundle)}"


def _say_without_figures() -> None:
    from backends.results.svg_figures import require_matplotlib  # noqa: PLC0415 (only here)

    try:
        require_matplotlib()
    except DlperfError as error:
        say_folded(f"note: the report has no figures: {error}")


def _refuse_with_whole(arguments: argparse.Namespace) -> None:
    asked = "--bundle" if arguments.bundle is not None else f"--format {arguments.format}"
    if arguments.bundle is not None and arguments.format not in (None, *WHOLE):
        raise SelectionError(
            f"goes with --format {' or '.join(WHOLE)}, or none",
            where=asked,
            remedy="write the layout with a second call",
        )
    if len(arguments.campaigns_named) > 1:
        raise SelectionError("is of one campaign", where=asked, remedy="name one")
    if arguments.bundle is not None and not arguments.bundle.name.endswith(SUFFIX):
        raise SelectionError(
            f"a bundle's name ends in {SUFFIX}", where=str(arguments.bundle), remedy="give one"
        )
    others = (
        ("--layout", arguments.layout is not None),
        ("--figures", arguments.figures),
        ("--columns", arguments.columns is not None),
        ("--decimals", arguments.decimals is not None),
        ("--sort", arguments.sort is not None),
        ("--transpose", arguments.transpose),
        ("-o", arguments.output is not None and arguments.format is None),
    )
    for name, given in others:
        if given:
            raise SelectionError("is of a layout", where=f"{asked}, {name}", remedy="leave it out")


def _give(text: str, output: Path | None) -> None:
    if output is None:
        print(text, end="")
        return
    write_output(output, text, "-o")


def _runs(workspace: Workspace, paths: Sequence[Path]) -> tuple[tuple[RunResult, ...], ...]:
    """Of each campaign; what must be known of them is said."""
    for path in paths:
        say_remarks(workspace, path)
        state = workspace.state(path)
        say_log_doubts(workspace, path)
        for _, _, text in state.notes_of_begin:
            say_folded(f"note: {path.name}: {text}")
        if unfinished := state.unfinished:
            say_folded(f"note: {path.name}: {unfinished}")
    together, assumed = workspace.runs_together(paths)
    for one in assumed:
        values = parameters_text(dict(one.parameters))
        say(
            f"note: {paths[one.campaign].name}: {one.profile} had no such parameter yet, "
            f"so its default is taken: {values}"
        )
    return together


def _base(output: Path | None, paths: Sequence[Path]) -> Path:
    """What logs and figures are relative to: the written file's directory, else the one campaign's
    own; links that are printed are so to the current directory, where that is above them."""
    if output is not None:
        return output.parent
    return paths[0] if len(paths) == 1 else Path.cwd()


def _logs_base(paths: Sequence[Path]) -> Path | None:
    """Of a document: its one campaign, which it names; of several there is none."""
    return paths[0] if len(paths) == 1 else None
