"""Which case of one campaign is held against which of another: the same one, or one that differs in
some parameters alone. And what tells the two apart where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from backends.results.run_result import RunResult
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean
from profiles.scalars import scalar_text

if TYPE_CHECKING:
    from profiles.scalars import Scalar

Parameters = tuple[tuple[str, "Scalar"], ...]
Key = tuple[str, str, Parameters]
"""A case: its profile, its tag, and its parameters by name."""
Differing = Mapping[str, tuple[tuple["Scalar", ...], tuple["Scalar", ...]]]
"""By name, what a parameter is in the baseline and what it is in the candidate."""


class NoCommonCaseError(SelectionError):
    """``across``: parameters that differ, all else being the same; empty where more than that
    does."""

    def __init__(self, what: str, remedy: str, across: tuple[str, ...] = ()) -> None:
        super().__init__(what, remedy=remedy)
        self.across = across


def key_of(profile: str, tag: str, parameters: Mapping[str, Scalar]) -> Key:
    return profile, tag, tuple(sorted(parameters.items()))


def pairs(
    ours: Sequence[Key], theirs: Sequence[Key], across: Collection[str] = ()
) -> list[tuple[Key | None, Key | None]]:
    """Every case of either side once at least. One that both have is held against itself; one that
    only one side has, against all that differ in ``across`` alone."""
    by_rest: dict[Key, list[Key]] = {}
    for key in theirs:
        by_rest.setdefault(but_for(key, across), []).append(key)
    both = {*ours} & {*theirs}
    found: list[tuple[Key | None, Key | None]] = []
    for mine in ours:
        like = by_rest.get(but_for(mine, across), []) if across else []
        others = [other for other in like if mine not in both or other not in both]
        with_it = [mine, *others] if mine in both else others
        found += [(mine, other) for other in with_it] or [(mine, None)]
    told = {other for _, other in found}
    return [*found, *((None, key) for key in theirs if key not in told)]


def but_for(key: Key, across: Collection[str]) -> Key:
    """What two cases share that differ in these parameters alone."""
    profile, tag, parameters = key
    return profile, tag, tuple(pair for pair in parameters if pair[0] not in across)


def differing(pairs: Iterable[tuple[Key | None, Key | None]]) -> Differing:
    """The parameters in which pairs differ, and the values that they have there."""
    found: dict[str, tuple[dict[Scalar, None], dict[Scalar, None]]] = {}
    for one, other in pairs:
        if one is None or other is None:
            continue
        for name in _apart(one, other):
            for side, key in enumerate((one, other)):
                found.setdefault(name, ({}, {}))[side].update(dict.fromkeys(_values(key, name)))
    return {name: (tuple(ours), tuple(theirs)) for name, (ours, theirs) in found.items()}


def _values(key: Key, name: str) -> list[Scalar]:
    return [value for own, value in key[2] if own == name]


def _apart(one: Key, other: Key) -> tuple[str, ...]:
    ours, theirs = dict(one[2]), dict(other[2])
    names = sorted({*ours, *theirs})
    return tuple(name for name in names if ours.get(name) != theirs.get(name))


def nearest(ours: Sequence[Key], theirs: Sequence[Key]) -> tuple[str, ...]:
    """The fewest parameters that have to be left out of sight for the sides to have a case in
    common; of several as few, those that give most pairs. Empty where it takes more than that."""
    sets = Counter(_apart(one, other) for one in ours for other in theirs if one[:2] == other[:2])
    return min(sets, key=lambda names: (len(names), -sets[names], names), default=())


def check_across(across: Iterable[str], keys: Iterable[Key]) -> None:
    """Raises SelectionError for what is no parameter of any of these cases."""
    known = sorted({name for _, _, parameters in keys for name, _ in parameters})
    for name in across:
        if name not in known:
            has = f"they have {', '.join(known)}" if known else "they have none"
            raise SelectionError(
                f"no parameter {name!r} in what is compared{did_you_mean(name, known)}",
                where="--across",
                remedy=has,
            )


def no_common_case(ours: Sequence[Key], theirs: Sequence[Key]) -> NoCommonCaseError:
    """Says what differs instead."""
    what = "the two campaigns have no case in common"
    across = nearest(ours, theirs)
    if not across:
        profiles = [dict.fromkeys(key[0] for key in side) for side in (ours, theirs)]
        sizes = [dict.fromkeys(key[1] for key in side) for side in (ours, theirs)]
        for mine, others in (profiles, sizes):
            if mine and others and not {*mine} & {*others}:
                there = f"{' '.join(mine)} in the baseline, {' '.join(others)} in the candidate"
                what = f"{what}: {there}"
                break
        return NoCommonCaseError(
            what, "compare campaigns of the same profiles, parameters and cases"
        )
    found = differing(pairs(ours, theirs, across))
    return NoCommonCaseError(
        f"{what}: {differing_words(found)}",
        f"'--across {' '.join(across)}' compares them all the same",
        across,
    )


def differing_words(found: Differing) -> str:
    """``compile is off in the baseline, on in the candidate``"""
    return "; ".join(
        f"{name} is {_listed(ours)} in the baseline, {_listed(theirs)} in the candidate"
        for name, (ours, theirs) in found.items()
    )


def _listed(values: Sequence[Scalar]) -> str:
    return " and ".join(map(scalar_text, values)) or "–"


def varying(keys: Sequence[Key]) -> tuple[str, ...]:
    """The parameters that differ between cases of one profile and size."""
    first: dict[tuple[str, str], Parameters] = {}  # of its profile and size
    names: set[str] = set()
    for profile, tag, parameters in keys:
        like = first.setdefault((profile, tag), parameters)
        names |= {name for name, _ in {*parameters} ^ {*like}}
    return tuple(sorted(names))


def settings(
    runs: Iterable[RunResult], across: Collection[str]
) -> tuple[tuple[Parameters, tuple[RunResult, ...]], ...]:
    """Runs by what they have of these parameters, in the order in which each was first run."""
    found: dict[Parameters, list[RunResult]] = {}
    for run in runs:
        setting = tuple((name, run.parameters[name]) for name in across if name in run.parameters)
        found.setdefault(setting, []).append(run)
    return tuple((setting, tuple(own)) for setting, own in found.items())


def run_keys(runs: Iterable[RunResult]) -> tuple[Key, ...]:
    """The cases that the runs are of."""
    found = (key_of(run.profile, run.case_tag, run.parameters) for run in runs)
    return tuple(dict.fromkeys(found))
