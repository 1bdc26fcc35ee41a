"""Patterns on RE2 (https://github.com/google/re2), which takes time in proportion to the text.

Many times as slow as :mod:`re` on a log of readings, so only for what that could not bound.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from profiles.errors import ProfileError
from profiles.format.regex.parse_tree import items_of
from profiles.format.regex.pattern_text import NotInRe2Error, re2_text

INSTALL = "install google-re2: python3 -m pip install google-re2"

_MOST_READ = 1 << 24
"""Bytes that matches in one line may have been looked for in: each look is linear, but a line of
64 KiB could hold as many matches."""


@functools.cache
def available() -> bool:
    """Whether google-re2 is installed; the path is searched once, not for each pattern."""
    return importlib.util.find_spec("re2") is not None


@functools.cache
def _re2() -> ModuleType:
    import re2  # noqa: PLC0415 (most profiles never need it)

    module: ModuleType = re2
    return module


@functools.lru_cache(maxsize=64)
def finder(words: tuple[bytes, ...]) -> Callable[[bytes], bool]:
    """Whether a text has one of the words, which are ASCII: ten times as fast as looking for each.

    Without RE2 a text may be said to have one.
    """
    if not available() or not words:
        return lambda text: bool(words)
    options = _re2().Options()
    options.encoding = _re2().Options.Encoding.LATIN1  # of bytes
    pattern = _re2().compile(b"|".join(map(re.escape, words)), options)
    return lambda text: pattern.search(text) is not None


class LinearPattern:
    """One pattern; its groups by number."""

    def __init__(self, pattern: str) -> None:
        """Raise ProfileError where RE2 is missing, or cannot express the pattern."""
        if not available():
            raise ProfileError("google-re2 is not installed", remedy=INSTALL)
        options = _re2().Options()
        options.log_errors = False
        try:
            text = re2_text(*items_of(pattern))
            self._pattern = _re2().compile(text, options)
        except NotInRe2Error as error:
            raise ProfileError(f"RE2 has nothing like {error}") from None
        except _re2().error as error:
            raise ProfileError(f"RE2 does not take it: {error}") from None

    def finditer(self, line: str) -> Iterator[Any]:
        """Its matches, which are like those of :mod:`re` (Any: the library has no types)."""
        left = _MOST_READ
        for match in self._pattern.finditer(line):
            yield match
            left -= len(line) - match.start()
            if left < 0:
                return

    def search(self, line: str) -> Any:
        """The first match or None."""
        return next(self.finditer(line), None)
