"""Regular expressions of a profile: compiled the same way everywhere, errors in profile terms.

:func:`compile_pattern` is for looking at a pattern; whatever meets a log's text goes through
:func:`line_pattern`, which no pattern and no line can hang.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from profiles.errors import ProfileError
from profiles.format.regex.backtracking import judge
from profiles.format.regex.match_with_re2 import LinearPattern, available

# What RE2 lacks: lookaround, backreferences, conditions, atomic groups, possessive repeats.
_BEYOND_RE2 = re.compile(r"\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|[*+?}]\+")


@functools.lru_cache(maxsize=512)
def compile_pattern(text: str) -> re.Pattern[str]:
    r"""Compile a profile's pattern. ``\d``, ``\w`` and ``\s`` mean ASCII only.

    Raises
    ------
    ProfileError: the pattern does not compile; the message gives the column (from 1).
    """
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        column = f" at column {error.pos + 1}" if error.pos is not None else ""
        what = f"{error.msg}{column}"
    except (RecursionError, OverflowError):
        what = "it is nested too deep, or repeats too often"
    raise ProfileError(
        f"pattern {text!r} does not compile: {what}",
        remedy="write it in single quotes ('…') so that TOML leaves backslashes alone",
    ) from None


def check_groups(text: str, required: frozenset[str], known: frozenset[str]) -> None:
    """Raise ProfileError unless the pattern has the ``required`` groups and only ``known`` ones."""
    groups = set(compile_pattern(text).groupindex)
    for name in sorted(groups - known):
        raise ProfileError(
            f"pattern {text!r} has an unknown group {name!r}",
            remedy="known groups: " + ", ".join(sorted(known)),
        )
    for name in sorted(required - groups):
        raise ProfileError(
            f"pattern {text!r} has no group {name!r}",
            remedy=f"put (?P<{name}>…) around what it should read",
        )


def costly(text: str) -> str:
    """Why backtracking over a line could take forever, naming the part; empty when it cannot."""
    judgement = judge(text)
    if judgement.longest:
        return ""
    if judgement.nested:
        return f"nested quantifier {judgement.part}: one text fits it in many ways"
    return f"{judgement.part} can share out a line in too many ways"


def check_runs(text: str) -> None:
    """Raise ProfileError when the pattern can neither be bounded nor run in linear time.

    Quick for a pattern that RE2 can surely express.
    """
    if _BEYOND_RE2.search(text) or not available():
        line_pattern(text)


@functools.lru_cache(maxsize=512)
def line_pattern(text: str) -> LinePattern:
    """The pattern, for single lines.

    Raises
    ------
    ProfileError: no line is short enough for :mod:`re`, and RE2 cannot express it, or is missing.
    """
    return LinePattern(text)


class LinePattern:
    """A pattern that is tried on single lines, and takes a bounded time for each.

    Lines up to ``longest`` bytes are :mod:`re`'s, longer ones RE2's; of these only the beginning
    counts where RE2 cannot express the pattern, or is missing. See :func:`line_pattern`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._pattern = compile_pattern(text)
        if reason := costly(text):
            try:
                self._linear  # noqa: B018 (made now, so that it is said now)
            except ProfileError as error:
                raise ProfileError(
                    f"pattern {text!r} could hang on a line ({reason}), and {error.what}",
                    remedy=error.remedy or "write it without what backtracks",
                ) from None

    @property
    def groups(self) -> int:
        return self._pattern.groups

    @property
    def groupindex(self) -> Mapping[str, int]:
        return self._pattern.groupindex

    @functools.cached_property
    def longest(self) -> int:
        """Bytes of a line that :mod:`re` is used for: 0, or up to :data:`LINE_LIMIT`."""
        return judge(self._text).longest

    def findall(self, line: str) -> list[Any]:
        """As :meth:`re.Pattern.findall`: texts, or tuples of texts."""
        if len(line) <= self.longest:
            return self._pattern.findall(line)
        linear = self._linear_or_none
        if linear is None:
            return self._pattern.findall(line[: self.longest])
        if self.groups < 2:
            return [match.group(self.groups) or "" for match in linear.finditer(line)]
        return [match.groups("") for match in linear.finditer(line)]

    def finditer(self, line: str) -> Iterator[Any]:
        """Matches of either engine (Any: RE2's have no type): group by number, start, end."""
        if len(line) <= self.longest:
            return self._pattern.finditer(line)
        linear = self._linear_or_none
        if linear is None:
            return self._pattern.finditer(line[: self.longest])
        return linear.finditer(line)

    def search(self, line: str) -> Any:
        """The first match or None."""
        if len(line) <= self.longest:
            return self._pattern.search(line)
        return next(self.finditer(line), None)

    @functools.cached_property
    def _linear(self) -> LinearPattern:
        return LinearPattern(self._text)

    @functools.cached_property
    def _linear_or_none(self) -> LinearPattern | None:
        try:
            return self._linear
        except ProfileError:
            return None
