"""What runs were started from besides their parameters, and in what two campaigns differ there.

Another version of a training script, another command or variable, makes another speed; no
fingerprint of an environment tells of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from backends.debug import without_secrets

NOT_SET = "not set"
FEW = 3
"""Variables that are named where only one side recorded them; of more it is said how many."""
_BY_NAME = ("file", "profile")  # their values are digests, or too long for a line


@dataclass(frozen=True, slots=True)
class Recipe:
    """``profiles``: by a profile's name what its runs were made of, each by a kind and a name:
    ``("file", "train.py")`` its digest, ``("setting", "iterations")`` a value, ``("profile",
    "launch.command")`` what the profile says there. ``variables``: of the hosts that took part, as
    the inventory sets them, with all values that a variable has on them; ``seen``: the same with
    those that the hosts have by themselves, None where these are not recorded."""

    profiles: Mapping[str, Mapping[tuple[str, str], str]]
    variables: Mapping[str, str]
    seen: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Unlike:
    """``profile`` empty: of the hosts. ``kind``: ``file``, ``profile``, ``setting`` or
    ``variable``. A side that does not have it: None; secrets are ``***``."""

    profile: str
    kind: str
    name: str
    baseline: str | None
    candidate: str | None


def recipes_apart(
    ours: Recipe | None, theirs: Recipe | None, profiles: Collection[str]
) -> tuple[Unlike, ...]:
    """Where both are known; of these profiles alone."""
    if ours is None or theirs is None:
        return ()
    found = []
    for profile in profiles:
        one, other = ours.profiles.get(profile), theirs.profiles.get(profile)
        if one is not None and other is not None:
            found += _apart(profile, one, other)
    set_here = {*ours.variables, *theirs.variables}
    sides = [
        {name: value for name, value in (own.seen or {}).items() if name in set_here}
        | {**own.variables}
        for own in (ours, theirs)
    ]
    if ours.seen is not None and theirs.seen is not None:
        sides = [{**ours.seen}, {**theirs.seen}]
    one, other = ({("variable", name): value for name, value in own.items()} for own in sides)
    return (*found, *_apart("", one, other))


def recorded_alone(ours: Recipe | None, theirs: Recipe | None) -> tuple[Unlike, ...]:
    """Variables that the hosts of one side have by themselves, where the other side did not record
    any such; what the inventory of either sets is none of them."""
    if ours is None or theirs is None or (ours.seen is None) is (theirs.seen is None):
        return ()
    set_here = {*ours.variables, *theirs.variables}
    one, other = (
        {("variable", name): value for name, value in seen.items() if name not in set_here}
        for seen in (ours.seen or {}, theirs.seen or {})
    )
    return tuple(_apart("", one, other))


def _apart(
    profile: str, one: Mapping[tuple[str, str], str], other: Mapping[tuple[str, str], str]
) -> list[Unlike]:
    return [
        Unlike(profile, *key, _shown(key[1], one.get(key)), _shown(key[1], other.get(key)))
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]


def _shown(name: str, value: str | None) -> str | None:
    """Blotted out where the name is that of a secret."""
    return None if value is None else without_secrets(f"{name}={value}").partition("=")[2]


def recipe_words(found: Collection[Unlike]) -> list[str]:
    """A sentence for each profile, and one for the hosts."""
    values = "{name} is {before} in the baseline, {after} in the candidate"
    lines = []
    for profile, parts in _told(found, values).items():
        whose = "Other variables are set on the hosts"
        if profile:
            whose = f"{profile} was not run alike"
        lines.append(f"{whose}: {'; '.join(parts)}.")
    return lines


def recorded_alone_words(found: Sequence[Unlike]) -> list[str]:
    """``Variables that hosts have by themselves are recorded of the candidate alone:
    OMP_NUM_THREADS=8 and 4 more.``"""
    if not found:
        return []
    side = "candidate" if found[0].baseline is None else "baseline"
    named = [f"{one.name}={one.baseline or one.candidate or ''}" for one in found[:FEW]]
    more = f" and {len(found) - FEW} more" * (len(found) > FEW)
    return [
        f"Variables that hosts have by themselves are recorded of the {side} alone: "
        f"{', '.join(named)}{more}."
    ]


def recipe_changes(found: Collection[Unlike]) -> list[str]:
    """The same of what came one after the other, for a line that says more: ``resnet50: other
    versions of train.py, iterations 72 → 100``."""
    told = _told(found, "{name} {before} → {after}")
    return [f"{profile or 'variables'}: {', '.join(parts)}" for profile, parts in told.items()]


def not_recorded(whose: Collection[str]) -> list[str]:
    """What is said where nobody knows what the runs of these were started from."""
    return [
        f"What the runs of {' and '.join(whose)} were started from is not recorded: "
        "scripts, commands, settings and variables may be others."
    ] * bool(whose)


def _told(found: Collection[Unlike], values: str) -> dict[str, list[str]]:
    """By profile what differs; ``values``: how the two of a name are told."""
    of_profile: dict[str, list[Unlike]] = {}
    for unlike in found:
        of_profile.setdefault(unlike.profile, []).append(unlike)
    return {profile: [*_parts(own, values)] for profile, own in of_profile.items()}


def _parts(found: Collection[Unlike], values: str) -> Iterator[str]:
    by_name = {kind: [u.name for u in found if u.kind == kind] for kind in _BY_NAME}
    if files := by_name["file"]:
        yield f"other versions of {', '.join(files)}"
    if sections := by_name["profile"]:
        yield f"the profile says something else in {', '.join(sections)}"
    for unlike in found:
        if unlike.kind not in _BY_NAME:
            before, after = _value(unlike.baseline), _value(unlike.candidate)
            yield values.format(name=unlike.name, before=before, after=after)


def _value(value: str | None) -> str:
    return NOT_SET if value is None else value or "empty"
