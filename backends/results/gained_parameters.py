"""Campaigns side by side of which some are older than a parameter that their profile gained later.

A profile that gains a parameter gives it the default under which it does what it did before. So the
older runs had that value, and count as having it; any other value is another case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backends.results.run_result import RunResult
    from profiles.scalars import Scalar

Defaults = Callable[[str], Mapping[str, "Scalar"]]
"""Of a profile by its name: its parameters' defaults; nothing where the profile is not known."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What runs of ``profile`` in the campaign at this place in the order are taken to have had."""

    campaign: int
    profile: str
    parameters: tuple[tuple[str, Scalar], ...]


def no_defaults(_profile: str) -> Mapping[str, Scalar]:
    """For runs whose profiles nobody knows."""
    return {}


def with_defaults(
    campaigns: Sequence[Sequence[RunResult]], defaults: Defaults
) -> tuple[tuple[tuple[RunResult, ...], ...], tuple[Assumed, ...]]:
    """The campaigns' runs, each with the default of every parameter that it lacks and a run of the
    same profile in another campaign has. ``defaults`` is asked only where something is lacking."""
    known: dict[str, dict[str, None]] = {}
    for runs in campaigns:
        for run in runs:
            known.setdefault(run.profile, {}).update(dict.fromkeys(run.parameters))
    assumed: dict[Assumed, None] = {}
    filled: list[list[RunResult]] = []
    for place, runs in enumerate(campaigns):
        filled.append([])
        for run in runs:
            lacking = [name for name in known[run.profile] if name not in run.parameters]
            values = defaults(run.profile) if lacking else {}
            added = {name: values[name] for name in lacking if name in values}
            if added:
                assumed[Assumed(place, run.profile, tuple(added.items()))] = None
            filled[-1].append(replace(run, parameters={**run.parameters, **added}))
    return tuple(tuple(runs) for runs in filled), tuple(assumed)
