"""Settings: what the operator must have in place, given as ``--set name=value``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from profiles.errors import SelectionError
from profiles.format.case_matrix import can_vary
from profiles.format.profile import Profile
from profiles.nearest import nearest

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[kKMGT]?")


def resolve_settings(profile: Profile, given: Mapping[str, str]) -> dict[str, str]:
    """Every setting of the profile with the value given for it, or its default.

    Raises
    ------
    SelectionError: a name is unknown, a value is none of its kind, or a setting without a default
        was not given; the message names all that are missing and how to give them.
    """
    for name in given:
        if name not in profile.settings:
            raise SelectionError(
                f"profile {profile.name} has no setting {name!r}", remedy=_suggestion(profile, name)
            )
        _check_number(profile, name, given[name])
    values = {name: given.get(name, setting.default) for name, setting in profile.settings.items()}
    missing = [name for name, value in values.items() if not value and needs_value(profile, name)]
    if missing:
        described = ", ".join(f"{name} ({profile.settings[name].description})" for name in missing)
        example = " ".join(f"--set {name}=…" for name in missing)
        raise SelectionError(
            f"profile {profile.name} needs {described}", remedy=f"give it with {example}"
        )
    return {name: value or "" for name, value in values.items()}


def _check_number(profile: Profile, name: str, value: str) -> None:
    """What is a number by default is one; with a factor, for sizes such as 4K."""
    default = profile.settings[name].default or ""
    if NUMBER.fullmatch(default) and value and not NUMBER.fullmatch(value):
        raise SelectionError(
            f"{name} of {profile.name} must be a number, not {value!r}", remedy=f"such as {default}"
        )


def needs_value(profile: Profile, name: str) -> bool:
    """Whether the operator must give the setting."""
    return profile.settings[name].default is None


def split_overrides(
    profile: Profile, given: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """``--set NAME=V,V`` values as parameter overrides and settings.

    A setting takes one value; commas that split it are put back, since a path may hold them.

    Raises
    ------
    SelectionError: the profile has neither a parameter nor a setting of that name.
    """
    parameters: dict[str, tuple[str, ...]] = {}
    settings: dict[str, str] = {}
    for name, values in given.items():
        if can_vary(profile, name):
            parameters[name] = tuple(values)
        elif name in profile.settings:
            settings[name] = ",".join(values)
        else:
            raise SelectionError(
                f"profile {profile.name} has no parameter or setting {name!r}",
                remedy=_suggestion(profile, name),
            )
    return parameters, settings


def _suggestion(profile: Profile, name: str) -> str:
    known = (*profile.parameters, *profile.settings)
    if (near := nearest(name, known)) is not None:
        return f"did you mean {near!r}?"
    return "it has " + (", ".join(known) or "none")
