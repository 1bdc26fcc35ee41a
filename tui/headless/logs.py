"""parse and import: throughput of logs that exist already."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from profiles.errors import LogError, SelectionError
from profiles.format.matrix import Case
from profiles.format.profile import Profile
from profiles.tags import parse_tag
from profiles.throughput.file import measure_file
from profiles.throughput.measure import Measurement
from tui.headless.common import open_workspace, print_json, say

OK, FAILED = 0, 1
MOST_GPUS = 1_000_000


def parse(arguments: argparse.Namespace) -> int:
    """``parse``: one throughput per log; exit code 1 when one could not be measured."""
    profile = open_workspace(arguments).catalog.get(arguments.profile)
    for path in arguments.logs:
        if path.is_dir():
            raise LogError(
                "is a directory", where=str(path), remedy="give log files, or use 'import'"
            )
        if not path.exists():
            raise LogError("no such log file", where=str(path), remedy="check the path")
    documents = [_measured(profile, path, arguments) for path in arguments.logs]
    if arguments.json:
        print_json(documents)
    else:
        for document in documents:
            _print(document)
    return FAILED if any(d["throughput"] is None for d in documents) else OK


def _measured(profile: Profile, path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    case, warnings = _case(profile, path, arguments)
    measured, _parser = measure_file(profile, path, case)
    return _document(path, profile, case, measured, warnings)


def _case(
    profile: Profile, path: Path, arguments: argparse.Namespace
) -> tuple[Case, tuple[str, ...]]:
    """What the options say, else what the path says, else one device."""
    from profiles.logs.tree import recognise  # noqa: PLC0415 (only here)

    recognised = recognise(profile, path)
    warnings = []
    if arguments.case is not None and arguments.gpus is not None:
        raise SelectionError("both say how many devices", where="--case, --gpus", remedy="give one")
    if arguments.case is not None:
        nodes, per_node = parse_tag(arguments.case)
    elif arguments.gpus is not None:
        nodes, per_node = _split(arguments.gpus)
    elif recognised is not None:
        nodes, per_node = recognised.case.nodes, recognised.case.gpus_per_node
    else:
        nodes, per_node = 1, 1
        warnings.append("neither --gpus nor the path says how many devices; 1 is assumed")
    base = recognised.case.parameters if recognised else _defaults(profile)
    parameters = dict(base)
    if arguments.batch_size is not None:
        if arguments.batch_size < 1:
            raise SelectionError("must be 1 or more", where="--batch-size")
        parameters["batch_size"] = arguments.batch_size
    return Case(profile.name, nodes, per_node, parameters), tuple(warnings)


def _defaults(profile: Profile) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in profile.parameters.items()}


def _split(gpus: int) -> tuple[int, int]:
    """Devices in all as nodes × devices per node; hosts of eight where there are more."""
    if not 1 <= gpus <= MOST_GPUS:
        raise SelectionError(f"must be 1 to {MOST_GPUS}, not {gpus}", where="--gpus")
    return (gpus // 8, 8) if gpus > 8 and gpus % 8 == 0 else (1, gpus)


def _document(
    path: Path, profile: Profile, case: Case, measured: Measurement, warnings: tuple[str, ...]
) -> dict[str, Any]:
    reasons = (measured.reason,) if measured.throughput is None and measured.reason else ()
    return {
        "path": str(path),
        "profile": profile.name,
        "throughput": measured.throughput,
        "unit": measured.unit,
        "readings": measured.readings,
        "window": measured.window,
        "statistic": measured.statistic,
        "scope": measured.scope,
        "gpus": case.gpus,
        "metrics": dict(measured.metrics),
        "warnings": [*warnings, *measured.warnings, *reasons],
    }


def _print(document: dict[str, Any]) -> None:
    value = document["throughput"]
    figure = "not measured" if value is None else f"{value:.3f} {document['unit']}"
    rule = f"{document['statistic']}; {document['window']}; {document['gpus']} GPUs"
    print(f"{document['path']}: {figure} ({rule})")
    for name, metric in document["metrics"].items():
        print(f"  {name}: {metric:g}")
    for warning in document["warnings"]:
        say(f"  warning: {warning}")


def import_tree(arguments: argparse.Namespace) -> int:
    """``import``: logs, or a file of figures, become a campaign that reports like any other."""
    from backends.campaign.folder.artifacts import rewrite_results  # noqa: PLC0415
    from backends.campaign.folder.imported import create_imported  # noqa: PLC0415 (only here)
    from backends.results.entered_figures import import_figures  # noqa: PLC0415
    from backends.results.log_import import copy_logs  # noqa: PLC0415
    from backends.results.log_import import import_tree as measure_tree  # noqa: PLC0415

    output: Path = arguments.output
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise SelectionError("exists already", where=str(output), remedy="give another -o")
    if arguments.profile is None:
        if arguments.tree.suffix.lower() not in (".toml", ".csv"):
            raise SelectionError(
                "reading logs takes a profile",
                where=str(arguments.tree),
                remedy="give it with --profile; a file of figures is a .toml or .csv",
            )
        runs = tuple(import_figures(arguments.tree))
    else:
        profile = open_workspace(arguments).catalog.get(arguments.profile)
        found = measure_tree(profile, arguments.tree)
        for warning in found.warnings:
            say(f"warning: {warning}")
        runs = found.runs
        try:
            copy_logs(found, output)
        except OSError as error:
            raise LogError(
                f"cannot copy the logs: {error.strerror}",
                where=str(output),
                remedy="check permissions and free space",
            ) from error
    state = create_imported(output, runs, time.time())
    rewrite_results(state, output)
    measured = sum(run.throughput is not None for run in runs)
    print(f"{output}: {len(runs)} runs, {measured} measured")
    return OK if measured else FAILED
