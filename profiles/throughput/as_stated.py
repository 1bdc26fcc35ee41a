"""A log whose case is told neither by its path nor by an option: what it states itself stands."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from pathlib import Path

from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import make_case
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.logs.log_paths import GPUS
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.measure_run import Measurement

_WORLD_SIZE = "world_size"
_LAST_DEVICE = "last_device"
MOST_GPUS = 1_000_000


def devices_stated(numbers: Mapping[str, float]) -> float | None:
    """Devices by a log's facts: its processes, or else all that it lists of its host."""
    if _WORLD_SIZE in numbers:
        return numbers[_WORLD_SIZE]
    return numbers[_LAST_DEVICE] + 1 if _LAST_DEVICE in numbers else None


def measure_as_stated(
    profile: Profile, path: Path, case: Case, told: Set[str]
) -> tuple[Measurement, LogParser, Case]:
    """Measure the log; where it states what nobody told, as the case that it states.

    Parameters
    ----------
    told: names of parameters that are known, and ``gpus`` where the number of devices is.

    Raises
    ------
    LogError: the file cannot be read.
    """
    measured, parser = measure_file(profile, path, case)
    stated = _stated(profile, case, told, parser.stated, measured.metrics)
    if stated != case:
        measured, parser = measure_file(profile, path, stated)
    return measured, parser, stated


def _stated(
    profile: Profile,
    case: Case,
    told: Set[str],
    words: Mapping[str, str],
    numbers: Mapping[str, float],
) -> Case:
    size = None if GPUS in told else _size(numbers)
    nodes, per_node = size or (case.nodes, case.gpus_per_node)
    parameters = dict(case.parameters)
    for name, parameter in profile.parameters.items():
        text = words.get(name) or _text(numbers.get(parameter.fact))
        if text and name not in told:
            with suppress(SelectionError):  # not known to the profile, which a warning says
                known = make_case(profile, nodes, per_node, {name: text}).parameters
                parameters[name] = known[name]
    return Case(case.profile, nodes, per_node, parameters)


def _text(number: float | None) -> str | None:
    if number is None:
        return None
    return str(int(number)) if number.is_integer() else str(number)


def _size(numbers: Mapping[str, float]) -> tuple[int, int] | None:
    """Nodes and devices of each; None where the log does not state a number that can be."""
    processes = devices_stated(numbers) or 0
    if not 1 <= processes <= MOST_GPUS or processes != int(processes):
        return None
    hosts = numbers.get("hosts", 0)
    if hosts >= 1 and processes % hosts == 0:
        return int(hosts), int(processes // hosts)
    return split(int(processes))


def split(gpus: int) -> tuple[int, int]:
    """Devices in all as nodes × devices per node; hosts of eight where there are more."""
    return (gpus // 8, 8) if gpus > 8 and gpus % 8 == 0 else (1, gpus)
