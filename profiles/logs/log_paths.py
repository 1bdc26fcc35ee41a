"""Existing logs: which case and repeat a file is, told from its path.

The names that this program writes, and DLPerf's own tree, are known without being declared:
``<anything>/4n8g/r50_b128_fp32_1.log``. Other names are declared by the profile, see
:class:`~profiles.format.profile.ImportPaths`. What no path tells may be stated by the log itself,
see :mod:`profiles.throughput.as_stated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from profiles.errors import SelectionError
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.case_matrix import make_case
from profiles.format.profile import Profile
from profiles.format.regex.line_pattern import line_pattern
from profiles.logs.own_log_names import read_own_name

DLPERF_TREE = (
    r"(?:^|/)(?P<nodes>\d+)n(?P<gpus_per_node>\d+)g/"
    r"[^/]+?_b(?:s|sz)?(?P<batch_size>\d+)_(?P<precision>[A-Za-z0-9]+)(?:_(?P<repeat>\d+))?\.log$"
)
"""``logs/<framework>/<model>/<4n8g>/<model>_b<batch>_<precision>_<repeat>.log``"""

GPUS = "gpus"
_SIZES = frozenset({"nodes", "gpus_per_node", GPUS})


@dataclass(frozen=True)
class RecognisedLog:
    """``repeat`` counts from 1; None where the path does not say. ``told``: what the path says:
    names of parameters, and ``gpus`` where it says how many devices there were. ``profiled``: it
    is of a run that counts for nothing."""

    case: Case
    repeat: int | None
    told: frozenset[str] = frozenset()
    attempt: int = 1
    profiled: bool = False


def recognise(profile: Profile, path: Path | str) -> RecognisedLog | None:
    """The case and repeat of a log, by the first pattern that fits its path and the profile.

    None: no pattern fits, or what the path says is no case of the profile (an unknown precision).
    """
    text = path.as_posix() if isinstance(path, Path) else path.replace("\\", "/")
    if (own := _own(profile, text)) is not None:
        return own
    for pattern in (*profile.import_.paths, DLPERF_TREE):
        line = line_pattern(pattern)
        match = line.search(text)
        if match is not None:
            groups = {name: match.group(number) for name, number in line.groupindex.items()}
            caught = {name: value for name, value in groups.items() if value}
            recognised = _recognised(profile, caught)
            if recognised is not None:
                return recognised
    return None


def _own(profile: Profile, path: str) -> RecognisedLog | None:
    name = read_own_name(profile, path)
    if name is None:
        return None
    values: dict[str, str] = dict(name.values)
    total = values.pop(GLOBAL_BATCH, None) if GLOBAL_BATCH not in profile.parameters else None
    try:
        case = make_case(profile, name.nodes, name.gpus_per_node, values)
    except SelectionError:
        return None
    if total is not None:
        case = replace(case, parameters={**case.parameters, GLOBAL_BATCH: int(total)})
    told = frozenset(values) | {GPUS}
    return RecognisedLog(case, name.repeat, told, name.attempt, name.repeat is None)


def _recognised(profile: Profile, caught: Mapping[str, str]) -> RecognisedLog | None:
    values = {
        name: profile.import_.values.get(name, {}).get(text, text)
        for name, text in caught.items()
        if name in profile.parameters
    }
    try:
        nodes, gpus_per_node = _size(caught, profile.import_.gpus_per_node)
        case = make_case(profile, nodes, gpus_per_node, values)
    except SelectionError:
        return None
    repeat = None
    if "repeat" in caught:
        repeat = int(caught["repeat"]) + 1 - profile.import_.first_repeat
    told = frozenset(values) | ({GPUS} if _SIZES & set(caught) else set())
    return RecognisedLog(case, repeat, told)


def _size(caught: Mapping[str, str], per_node: int) -> tuple[int, int]:
    if "gpus" not in caught:
        return int(caught.get("nodes", 1)), int(caught.get("gpus_per_node", 1))
    gpus = int(caught["gpus"])
    nodes = int(caught["nodes"]) if "nodes" in caught else -(-gpus // per_node)
    if nodes < 1 or gpus < 1 or gpus % nodes:
        raise SelectionError(f"{gpus} devices cannot be spread evenly over {nodes} nodes")
    return nodes, gpus // nodes
