"""``parse``: throughput of logs that exist already."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backends.results.flop_words import flop_notes
from backends.results.grade_words import rules_text
from backends.results.numbers import fixed, trimmed
from backends.results.steady_words import disturbance_text
from backends.results.workload_figures import OTHER_READINGS, of_other_readings
from profiles.case_tag import parse_tag
from profiles.counted import counted
from profiles.errors import LogError, SelectionError
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.logs.failures import SIMULATED_LOG
from profiles.logs.log_paths import GPUS, recognise
from profiles.logs.same_content import copies, same_text
from profiles.throughput.as_stated import MOST_GPUS, devices_stated, measure_as_stated, split
from profiles.throughput.measure_run import Measurement
from tui.cli.shared.exit_codes import FAILED, OK
from tui.cli.shared.options import add_json, open_workspace
from tui.cli.shared.output import print_json, say

ASSUMED = "neither --gpus nor the path nor the log says how many devices; 1 is assumed"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--profile", metavar="P", required=True)
    parser.add_argument("--gpus", metavar="N", type=int, help="devices of the run in all")
    parser.add_argument("--batch-size", metavar="B", type=int, help="samples per device and step")
    parser.add_argument("--case", metavar="TAG", help="such as 4n8g; instead of --gpus")
    parser.add_argument("logs", metavar="LOG", nargs="+", type=Path)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """One throughput per log; exit code 1 when one could not be measured."""
    profile = open_workspace(arguments).catalog.get(arguments.profile)
    for path in arguments.logs:
        if path.is_dir():
            raise LogError(
                "is a directory", where=str(path), remedy="give log files, or use 'import'"
            )
        if not path.exists():
            raise LogError("no such log file", where=str(path), remedy="check the path")
    measured = [_measured(profile, path, arguments) for path in arguments.logs]
    documents = [document for document, _failed in measured]
    for at, of in copies(arguments.logs).items():
        documents[at]["warnings"].append(same_text(str(arguments.logs[of])))
    if arguments.json:
        print_json(documents)
    else:
        for document in documents:
            _print(document, "GPU" if profile.devices == "gpu" else "device")
    return FAILED if any(failed for _document, failed in measured) else OK


def _measured(
    profile: Profile, path: Path, arguments: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """What is printed of a log, and whether it tells of a failure."""
    case, told = _case(profile, path, arguments)
    measured, _parser, case = measure_as_stated(profile, path, case, told)
    sized = GPUS in told or devices_stated(measured.metrics) is not None
    warnings = (
        *(SIMULATED_LOG,) * measured.simulated,
        *(() if sized else (ASSUMED,)),
        *_against_the_path(profile, path, arguments, case),
    )
    return _document(path, profile, case, measured, warnings), bool(measured.reason)


def _against_the_path(
    profile: Profile, path: Path, arguments: argparse.Namespace, case: Case
) -> Iterator[str]:
    """Where the options, which count, say something else than the path."""
    recognised = recognise(profile, path)
    if recognised is None:
        return
    there, told = recognised.case, recognised.told
    if arguments.case is not None and GPUS in told and there.tag != case.tag:
        yield f"--case says {case.tag}, the path {there.tag}: one of the two is wrong"
    if arguments.gpus is not None and GPUS in told and there.gpus != case.gpus:
        yield f"--gpus says {case.gpus}, the path {there.gpus}: one of the two is wrong"
    given = arguments.batch_size
    if given is not None and "batch_size" in told and there.batch_size != given:
        yield f"--batch-size says {given}, the path {there.batch_size}: one of the two is wrong"


def _case(
    profile: Profile, path: Path, arguments: argparse.Namespace
) -> tuple[Case, frozenset[str]]:
    """What the options say, else what the path says, else one device; and what of it is known."""
    recognised = recognise(profile, path)
    told = recognised.told if recognised else frozenset()
    if arguments.case is not None and arguments.gpus is not None:
        raise SelectionError("both say how many devices", where="--case, --gpus", remedy="give one")
    if arguments.case is not None:
        nodes, per_node = parse_tag(arguments.case)
        told |= {GPUS}
    elif arguments.gpus is not None:
        nodes, per_node = _split(arguments.gpus)
        told |= {GPUS}
    elif recognised is not None:
        nodes, per_node = recognised.case.nodes, recognised.case.gpus_per_node
    else:
        nodes, per_node = 1, 1
    base = recognised.case.parameters if recognised else profile.defaults
    parameters = dict(base)
    if arguments.batch_size is not None:
        if arguments.batch_size < 1:
            raise SelectionError("must be 1 or more", where="--batch-size")
        parameters["batch_size"] = arguments.batch_size
        told |= {"batch_size"}
    return Case(profile.name, nodes, per_node, parameters), told


def _split(gpus: int) -> tuple[int, int]:
    if not 1 <= gpus <= MOST_GPUS:
        raise SelectionError(f"must be 1 to {MOST_GPUS}, not {gpus}", where="--gpus")
    return split(gpus)


def _document(
    path: Path, profile: Profile, case: Case, measured: Measurement, warnings: tuple[str, ...]
) -> dict[str, Any]:
    reasons = (measured.reason,) if measured.reason else ()
    disturbed = [disturbance_text(found) for found in measured.steady or ()]
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
        "warnings": [*warnings, *measured.warnings, *disturbed, *reasons],
    }


def _print(document: dict[str, Any], device: str) -> None:
    value = document["throughput"]
    figure = "not measured" if value is None else f"{fixed(value, 3)} {document['unit']}"
    if SIMULATED_LOG in document["warnings"]:
        figure = f"SIMULATED {figure}"
    devices = counted(document["gpus"], device)
    statistic, window = document["statistic"], document["window"]
    rule = f"{statistic}; {window}"
    if statistic == "summary":
        rule = rules_text([(statistic, window)], document["unit"])
    print(f"{document['path']}: {figure} ({rule}; {devices})")
    other = of_other_readings(document["metrics"], summed_up=statistic == "summary")
    for name, metric in document["metrics"].items():
        print(f"  {name}: {trimmed(metric, 3)}{' ‡' * (name in other)}")
    if other:
        print(f"  {OTHER_READINGS}")
    for note in flop_notes([document["metrics"]]):
        print(f"  {note}")
    for warning in document["warnings"]:
        say(f"  warning: {warning}")
