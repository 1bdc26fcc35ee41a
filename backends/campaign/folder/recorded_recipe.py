"""What the runs of a campaign were started from, read from what it froze when it began."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any  # TOML

from backends.campaign.folder import frozen
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.record import journal
from backends.results.recipes import NOT_SET, Recipe
from profiles.errors import DlperfError

_THAT_COUNT = ("devices", "launch", "slurm", "measure")
"""Sections of a profile; what else it says changes neither a run nor its figure."""
_THAT_DO_NOT = frozenset(
    {"launch.expected", "launch.timeout", "launch.stall_timeout", "launch.stage"}
    | {"measure.example", "measure.failure"}
)


def recorded_recipe(campaign: Path, took_part: Collection[str]) -> Recipe | None:
    """``took_part``: the hosts by name. None where nothing was frozen, or it is not as it was.
    Blocking."""
    try:
        begun = journal.beginning(campaign / journal.FILE_NAME)
        if begun is None or not begun.frozen:
            return None
        manifest = frozen.read_manifest(campaign, begun.frozen)
        profiles = {one.name: dict(_made_of(campaign, one)) for one in manifest.profiles}
    except (DlperfError, OSError, ValueError, RecursionError):
        return None
    used = [host for host in manifest.hosts if host.name in took_part] or manifest.hosts
    set_here = {host.name: dict(_pair(text) for text in host.environment) for host in used}
    facts = {host.name: host.facts for host in recorded_hosts(campaign, 0.0)}
    own = {name: one.variables if (one := facts.get(name)) else None for name in set_here}
    seen = [{**found, **set_here[name]} for name, found in own.items() if found is not None]
    every = _variables(seen) if len(seen) == len(set_here) else None
    return Recipe(profiles, _variables(set_here.values()), every)


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _made_of(
    campaign: Path, profile: frozen.FrozenProfile
) -> Iterator[tuple[tuple[str, str], str]]:
    for files in profile.stage:
        yield ("file", PurePath(files.source).name), files.digest
    for name, value in profile.settings.items():
        yield ("setting", name), value
    said = tomllib.loads(frozen.profile_text(campaign, profile).decode())
    for section in _THAT_COUNT:
        for name, value in _entries(section, said.get(section, {})):
            yield ("profile", name), value


def _entries(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """``launch.command`` and its text; deeper tables are one entry."""
    if isinstance(value, Mapping) and "." not in name:
        for key, own in value.items():
            yield from _entries(f"{name}.{key}", own)
    elif value != {} and name not in _THAT_DO_NOT:
        yield name, " ".join(value.split()) if isinstance(value, str) else repr(value)


def _variables(each: Collection[Mapping[str, str]]) -> dict[str, str]:
    """Of each all values that it has on these hosts, in order: ``0 and not set``."""
    names = sorted({name for own in each for name in own})
    return {name: " and ".join(sorted({own.get(name, NOT_SET) for own in each})) for name in names}
