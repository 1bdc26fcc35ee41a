"""The terminal itself."""

from __future__ import annotations

import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class Terminal(LinuxDriver):
    """Draws on standard output, which is known to be a terminal. Textual draws on standard error:
    where that goes to a file, nothing would be seen."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # Textual's own
        super().__init__(*arguments, **options)
        self._file = sys.__stdout__
