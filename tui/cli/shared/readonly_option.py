"""``--readonly``: nothing is changed."""

from __future__ import annotations

from typing import NoReturn

from profiles.errors import DlperfError


def refuse_change() -> NoReturn:
    """For a command that would change something."""
    raise DlperfError(
        "this command changes something", where="--readonly", remedy="leave --readonly out"
    )
