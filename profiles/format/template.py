"""Commands: words first, then placeholders, so that no value can ever split or join words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache

from profiles.errors import ProfileError
from profiles.scalars import Scalar

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.+-]*)\}", re.ASCII)


def placeholders(template: str) -> tuple[str, ...]:
    """Names in braces, in order; ``{{`` and ``}}`` are literal braces."""
    return tuple(match.group(1) for match in _PLACEHOLDER.finditer(template) if match.group(1))


def render_text(template: str, values: Mapping[str, Scalar | Sequence[str]]) -> str:
    """Fill the placeholders of one text; a sequence is joined with commas.

    Raises
    ------
    ProfileError: a placeholder has no value.
    """

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return match.group()[0]
        return _text(_value(name, template, values))

    return _PLACEHOLDER.sub(fill, template)


def fill_known(template: str, values: Mapping[str, Scalar]) -> str:
    """Fill the placeholders that ``values`` names; all others, and ``{{``, stay as they are.

    Fractions are written as printf's ``%g`` does, with 6 significant digits.
    """

    def fill(match: re.Match[str]) -> str:
        value = values.get(match.group(1) or "")
        if value is None:
            return match.group()
        return f"{value:g}" if isinstance(value, float) else _text(value)

    return _PLACEHOLDER.sub(fill, template)


def render_words(template: str, values: Mapping[str, Scalar | Sequence[str]]) -> tuple[str, ...]:
    """The words of a command.

    ``template`` is split as a POSIX shell would, then each word's placeholders are filled. A word
    that is one placeholder with a sequence as its value becomes as many words as that holds,
    which is how ``{arguments}`` expands; inside a longer word a sequence is joined with commas.

    Raises
    ------
    ProfileError: the template cannot be split, or a placeholder has no value.
    """
    try:
        words = _words(template)
    except ValueError as error:
        raise ProfileError(
            f"command {template!r} cannot be split into words: {error}",
            remedy="close the quotes",
        ) from None
    rendered: list[str] = []
    for word in words:
        whole = _PLACEHOLDER.fullmatch(word)
        if whole is not None and whole.group(1):
            value = _value(whole.group(1), template, values)
            if not isinstance(value, str | int | float):
                rendered.extend(value)
                continue
        rendered.append(render_text(word, values))
    return tuple(rendered)


@lru_cache(maxsize=256)  # a plan of thousands has as many commands, of a few templates
def _words(template: str) -> tuple[str, ...]:
    return tuple(shlex.split(template))


def _value(
    name: str, template: str, values: Mapping[str, Scalar | Sequence[str]]
) -> Scalar | Sequence[str]:
    try:
        return values[name]
    except KeyError:
        raise ProfileError(
            f"unknown placeholder {{{name}}} in {template!r}",
            remedy="known: " + ", ".join(sorted(values)),
        ) from None


def _text(value: Scalar | Sequence[str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(value)
