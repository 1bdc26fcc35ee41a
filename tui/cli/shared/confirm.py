"""A question before something is done that cannot be undone."""

from __future__ import annotations

import shutil
import sys

from profiles.cleantext import clean_text
from profiles.errors import SelectionError
from tui.cli.shared.output import folded


def agreed(question: str, *, unasked: str) -> bool:
    """Whether whoever sits at the terminal says yes.

    Raises
    ------
    SelectionError: nobody is there to ask; ``unasked`` says what was not done.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SelectionError(unasked, remedy="add --yes")
    asked = folded(f"{clean_text(question)} [y/N]", shutil.get_terminal_size().columns - 2)
    print(f"{asked} ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
