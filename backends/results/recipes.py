"""What runs were started from besides their parameters, and in what two campaigns differ there.

Another version of a training script, another command or variable, makes another speed; no
fingerprint of an environment tells of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from backends.debug import without_secrets

NOT_SET = "not set"
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
    sides = [ours.variables, theirs.variables]
    if ours.seen is not None and theirs.seen is not None:
        sides = [ours.seen, theirs.seen]
    one, other = ({("variable", name): value for name, value in own.items()} for own in sides)
    return (*found, *_apart("", one, other))


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
    said: dict[str, list[Unlike]] = {}
    for unlike in found:
        said.setdefault(unlike.profile, []).append(unlike)
    lines = []
    for profile, own in said.items():
        by_name = {kind: [u.name for u in own if u.kind == kind] for kind in _BY_NAME}
        parts = []
        if files := by_name["file"]:
            parts.append(f"other versions of {', '.join(files)}")
        if sections := by_name["profile"]:
            parts.append(f"the profile says something else in {', '.join(sections)}")
        parts += [_values(unlike) for unlike in own if unlike.kind not in _BY_NAME]
        alike = (
            f"{profile} was not run alike" if profile else "Other variables are set on the hosts"
        )
        lines.append(f"{alike}: {'; '.join(parts)}.")
    return lines


def _values(unlike: Unlike) -> str:
    ours, theirs = (
        NOT_SET if value is None else value or "empty"
        for value in (unlike.baseline, unlike.candidate)
    )
    return f"{unlike.name} is {ours} in the baseline, {theirs} in the candidate"
