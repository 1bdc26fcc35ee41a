"""What jobs ask for that has to be there, such as a partition, and where that is said. Pure."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from backends.inventory.host_entry import Inventory
from backends.inventory.job_options import JobOptions
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean

_SHORT = {"partition": ("-p",), "account": ("-A",), "qos": ("-q",), "reservation": ()}
"""Keys of ``[slurm]`` whose values have to be there, and sbatch's short options for them."""

Keys = Mapping[str, object]
"""What ``[slurm]`` of a profile says."""
NO_PROFILE: Mapping[str, Keys] = {"": {}}


@dataclass(frozen=True, slots=True)
class Ask:
    """``key``: partition, account, qos or reservation; ``where``: file, option or profile."""

    key: str
    value: str
    where: str


def asks(inventory: Inventory, profiles: Mapping[str, Keys] = NO_PROFILE) -> tuple[Ask, ...]:
    """One for each key, profile and cluster; the value is empty where nobody says one."""
    of_clusters = inventory.clusters or {"": inventory.job_options}
    file = f"{inventory.path}: " if inventory.path else ""
    return tuple(
        _ask(key, options, keys, file, cluster, profile)
        for cluster, options in of_clusters.items()
        for profile, keys in profiles.items()
        for key in _SHORT
    )


def partitions_of(asked: Iterable[Ask], known: Collection[str]) -> frozenset[str] | None:
    """The partitions that jobs may be in, of those that are ``known``; None: whichever the queue
    takes where none is named.

    Raises
    ------
    SelectionError: one of them is not there.
    """
    wanted: set[str] = set()
    for ask in (ask for ask in asked if ask.key == "partition"):
        for name in ask.value.split(","):
            if name and name not in known:
                raise SelectionError(
                    f"there is no partition {name!r}{did_you_mean(name, known)}",
                    where=ask.where,
                    remedy=f"there are {', '.join(sorted(known)) or 'none'}",
                )
            wanted.add(name)
    return None if "" in wanted else frozenset(wanted)


def _ask(key: str, options: JobOptions, keys: Keys, file: str, cluster: str, profile: str) -> Ask:
    """What sbatch would go by: the operator's own words are the last it is told."""
    extra = keys.get("extra", ())
    levels = (
        ("--sbatch", _said(options.asked, key)),
        (f"profile {profile}: extra of [slurm]", _said(extra, key)),
        (f"{file}extra of [slurm]", _said(options.extra, key)),
        (f"profile {profile}: [slurm]", str(keys.get(key) or "")),
        (f"cluster {cluster}" if cluster else f"{file}[slurm]", getattr(options, key)),
    )
    where, value = next((level for level in levels if level[1]), ("", ""))
    return Ask(key, value, where)


def _said(words: object, key: str) -> str:
    """What options of sbatch say of it; empty: nothing."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument(*_SHORT[key], f"--{key}", default="")
    lines: Sequence[str] = words if isinstance(words, Sequence) else ()
    try:
        split = [word for line in lines for word in shlex.split(line)]
        return str(getattr(parser.parse_known_args(split)[0], key))
    except (ValueError, argparse.ArgumentError):  # sbatch tells what is wrong with them
        return ""
