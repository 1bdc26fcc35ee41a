"""What the choices of a case add to its command: words and environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from profiles.format.case import Case
from profiles.format.profile import ANY_CHOICE, Profile
from profiles.format.template import render_text

_T = TypeVar("_T")


def parameter_arguments(profile: Profile, case: Case) -> tuple[str, ...]:
    """The words that the case's choices add to the command, in the profile's order.

    Placeholders in them are filled with the case's parameters, nodes, gpus_per_node, gpus and
    global_batch; others raise ProfileError.
    """
    words: list[str] = []
    for name, parameter in profile.parameters.items():
        chosen = _chosen(parameter.arguments, case.text(name))
        words += [render_text(word, case.values()) for word in chosen or ()]
    return tuple(words)


def parameter_environment(profile: Profile, case: Case) -> dict[str, str]:
    """The environment that the case's choices add; filled like :func:`parameter_arguments`."""
    environment: dict[str, str] = {}
    for name, parameter in profile.parameters.items():
        chosen = _chosen(parameter.environment, case.text(name))
        environment |= {
            key: render_text(text, case.values()) for key, text in (chosen or {}).items()
        }
    return environment


def _chosen(table: Mapping[str, _T], choice: str) -> _T | None:
    return table.get(choice, table.get(ANY_CHOICE))
