"""A parameter's value and its text. Apart from the models, whose library takes long to import."""

from __future__ import annotations

Scalar = str | int | float | bool


def scalar_text(value: Scalar) -> str:
    """A parameter's value as it is written in commands, case ids and file names."""
    return str(value).lower() if isinstance(value, bool) else str(value)
