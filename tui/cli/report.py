"""``report``: tables of one or more campaigns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from backends.results.layouts.common import LayoutOptions
from backends.results.publish import FORMATS, LAYOUTS, publish
from backends.results.result_files import write_atomically, write_figures
from backends.results.run_result import RunResult
from backends.results.side_by_side import logs_from
from backends.results.summary import parameters_text, summarise
from backends.use_cases import Workspace
from profiles.errors import DlperfError
from tui.cli.shared.campaign_remarks import say_remarks
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import open_workspace
from tui.cli.shared.output import say
from tui.cli.shared.print_table import print_tables
from tui.cli.shared.say_findings import say_findings


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaigns_named", metavar="CAMPAIGN", nargs="+")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), help=_said_of_layouts())
    parser.add_argument("--format", choices=FORMATS)
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--center", choices=("median", "mean"), default="median")
    parser.add_argument(
        "--style", choices=("full", "oneflow"), default="full", help="of the speedup layout"
    )
    parser.add_argument("--columns", metavar="NAME,NAME", help="of the speedup layout")
    parser.add_argument(
        "--decimals", metavar="N", type=int, choices=range(10), help="of the throughput, 0 to 9"
    )
    parser.add_argument("--figures", action="store_true", help="SVG figures beside the markdown")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path)


def _said_of_layouts() -> str:
    return "; ".join(
        f"{layout.name}: {layout.help} ({', '.join(layout.formats)})" for layout in LAYOUTS.values()
    )


def run(arguments: argparse.Namespace) -> int:
    """One layout of one or more campaigns."""
    workspace = open_workspace(arguments)
    paths = [workspace.find_campaign(name) for name in arguments.campaigns_named]
    base = _base(arguments.output, paths)
    together = _runs(workspace, paths)
    names = dict.fromkeys(run.campaign for own in together for run in own)
    found_from = _logs_base(paths) if arguments.format == "json" else base
    runs = [
        run
        for path, own in zip(paths, together, strict=True)
        for run in logs_from(own, path, found_from)
    ]
    layout = LAYOUTS[arguments.layout or next(iter(LAYOUTS))]
    options = LayoutOptions(
        lang=arguments.lang,
        style=arguments.style,
        columns=None if arguments.columns is None else tuple(arguments.columns.split(",")),
        decimals=arguments.decimals,
    )
    text = publish(
        " + ".join(names),
        runs,
        path=paths[0] if len(paths) == 1 else None,
        layout=layout.name,
        format=arguments.format,
        center=arguments.center,
        options=options,
    )
    if arguments.output is not None:
        _write(arguments.output, text)
        say(f"written: {arguments.output}")
    elif layout.tables is None or arguments.format not in (None, "md"):
        print(text, end="")
    else:
        groups = summarise(runs, arguments.center)
        print_tables(layout.tables(groups, options))
        say_findings(groups)
    if arguments.figures:
        export = base not in paths
        groups = summarise(run for own in together for run in own)
        for _title, name in write_figures(base, groups, arguments.lang, export=export):
            say(f"written: {base / name}")
    return OK


def _runs(workspace: Workspace, paths: Sequence[Path]) -> tuple[tuple[RunResult, ...], ...]:
    """Of each campaign; what must be known of them is said."""
    for path in paths:
        say_remarks(workspace, path)
    together, assumed = workspace.runs_together(paths)
    for one in assumed:
        values = parameters_text(dict(one.parameters))
        say(
            f"note: {paths[one.campaign].name}: {one.profile} had no such parameter yet, "
            f"so its default is taken: {values}"
        )
    return together


def _base(output: Path | None, paths: Sequence[Path]) -> Path:
    """What links are relative to: the written file's directory, else the one campaign's own."""
    if output is not None:
        return output.parent
    return paths[0] if len(paths) == 1 else Path.cwd()


def _logs_base(paths: Sequence[Path]) -> Path | None:
    """Of a document: its one campaign, which it names; of several there is none."""
    return paths[0] if len(paths) == 1 else None


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DlperfError(
            f"cannot write: {error.strerror}", where=str(path), remedy="give another -o"
        ) from error
