"""The cases that a source measured, as a profile runs them: its own, and those of the published
tables that its framework is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiles.case_tag import format_tag
from profiles.errors import ProfileError, SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.workload_section import workload_of
from profiles.references.arithmetic import on_gpu, same
from profiles.references.matching import plain_workload
from profiles.references.reference_tables import Measured, Reference

if TYPE_CHECKING:
    from profiles.format.profile import Profile

OWN = "the profile's own cases"


@dataclass(frozen=True, slots=True)
class Preset:
    """``name``: the system and framework of a table, or :data:`OWN`. ``source``: where it stands.
    ``cases``: in the table's order. ``left``: figures of it that the profile has no case for."""

    name: str
    source: str
    cases: tuple[Case, ...]
    left: int = 0


def presets(profile: Profile, references: Iterable[Reference]) -> tuple[Preset, ...]:
    """The profile's own first, then a table's each; of two that are the same the later.

    Everything else of a case is at the profile's defaults, as its source had it.
    """
    found = [Preset(OWN, profile.source, _own(profile))]
    tables: dict[tuple[str, str, str], list[Reference]] = {}
    for row in references:
        if row.metric is Measured.THROUGHPUT and _is_of(row.framework, profile.framework):
            tables.setdefault((row.system, row.framework, row.source), []).append(row)
    for (system, framework, source), rows in tables.items():
        cases = [(row, _case(profile, row)) for row in rows]
        known = tuple(dict.fromkeys(case for _, case in cases if case is not None))
        left = sum(case is None and _named(profile, row) for row, case in cases)
        if known:
            found.append(Preset(f"{system}, {framework}", source, known, left))
    different: dict[frozenset[Case], Preset] = {}
    for preset in found:
        if preset.cases:
            different[frozenset(preset.cases)] = preset
    return tuple(different.values())


def published(
    profile: Profile, case: Case, settings: Mapping[str, str], references: Iterable[Reference]
) -> tuple[Reference, ...]:
    """Throughputs of the case's workload at its precision on as many GPUs; those of its framework
    first, then those with its batch size, then the newest. ``settings``: with their defaults."""
    try:
        stated = workload_of(profile.workload, case, settings)
    except ProfileError:  # the case lacks what a variant goes by: it cannot be run, either
        return ()
    name = plain_workload(stated.name)
    found = [
        row
        for row in references
        if row.metric is Measured.THROUGHPUT
        and (row.gpus, row.nodes) == (case.gpus, case.nodes)
        and plain_workload(row.workload) == name
        and same(on_gpu(stated.arithmetic, has_tf32=row.gpu.has_tf32), row.precision)
    ]
    found.sort(key=lambda row: row.date, reverse=True)
    found.sort(key=lambda row: row.batch_size != case.batch_size)
    found.sort(key=lambda row: not _is_of(row.framework, profile.framework))
    return tuple(found)


def _own(profile: Profile) -> tuple[Case, ...]:
    try:
        return expand(profile, None, {})
    except SelectionError:  # all are excluded at the defaults
        return ()


def _is_of(framework: str, own: str) -> bool:
    """``PyTorch 1.5`` is of PyTorch; ``NGC TensorFlow2`` is not of NGC TensorFlow."""
    there, here = framework.casefold(), own.casefold()
    return there == here or there.startswith(f"{here} ")


def _named(profile: Profile, row: Reference) -> bool:
    names = profile.workload.names if profile.workload is not None else ()
    return plain_workload(row.workload) in map(plain_workload, names)


def _case(profile: Profile, row: Reference) -> Case | None:
    """The first, in the order of its precisions, that would give the published figure."""
    settings = profile.settings_with({})
    for case in _candidates(profile, row):
        try:
            stated = workload_of(profile.workload, case, settings)
        except ProfileError:  # a variant goes by what a published figure does not say
            continue
        kind = on_gpu(stated.arithmetic, has_tf32=row.gpu.has_tf32)
        named = plain_workload(stated.name) == plain_workload(row.workload)
        if named and same(kind, row.precision):
            return case
    return None


def _candidates(profile: Profile, row: Reference) -> Iterator[Case]:
    precision = profile.parameters.get("precision")
    batch = profile.parameters.get("batch_size")
    if batch is not None and row.batch_size is None:
        return
    for choice in precision.choice_texts if precision is not None else ("",):
        given: dict[str, tuple[str, ...]] = {}
        if precision is not None:
            given["precision"] = (choice,)
        if batch is not None:
            given["batch_size"] = (str(row.batch_size),)
        try:
            yield from expand(profile, [format_tag(row.nodes, row.gpus // row.nodes)], given)
        except SelectionError:  # it takes no such batch, or excludes the case
            continue
