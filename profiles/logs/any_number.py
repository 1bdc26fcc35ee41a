r"""A pattern that takes a number however it is written, so that none is missed or read as another.

``samples/s: (?P<value>[\d.]+)`` finds no value in ``samples/s: nan`` or ``-3.5``, and another than
is meant in ``26,500.0`` or ``2.65e4``. What is taken is judged by whoever reads it
(:func:`profiles.logs.readings.to_number`).
"""

from __future__ import annotations

import functools
import re

from profiles.format.regex.backtracking import judge

_USUAL = (
    r"[\d.]+",
    r"\d[\d.]*",
    r"[\d,]+",
    r"[\d.,]+",
    r"[\d,.]+",
    r"[\d.e+]+",
    r"\d+\.\d+",
    r"\d+\.?\d*",
    r"\d+(?:\.\d+)?",
    r"\d[\d.]*(?:e[+-]?\d+)?",
    r"\d[\d.]*(?:e-?\d+)?",
)
_WHOLE = r"\d+"
# Beside a comma of the pattern's own, one of the text may separate two numbers.
_GROUP = re.compile(
    rf"(?P<before>(?<=,))?\(\?P<value>(?P<body>{'|'.join(map(re.escape, (_WHOLE, *_USUAL)))})\)"
    r"(?P<behind>(?=,[(\\\[]))?"
)
_LONG_ENOUGH = 512  # bytes of a line: longer ones are RE2's
# A unit that has to follow, so that "inf" cannot be the begin of a word that a wildcard skips.
_UNIT = re.compile(r"(?:\\s[*+?]*| )?[A-Za-z](?![?*{])")
_LAZY = re.compile(r"[*+}]\?\(\?P<value>")


@functools.lru_cache(maxsize=512)
def with_any_number(pattern: str) -> str:
    """The pattern; itself where its value is no usual number, or that would make it costly."""
    # A digit first: behind a wildcard that takes little, a comma between words would be a number.
    numbers = [r"\.?\d[\d.{comma}]*"]
    if not _LAZY.search(pattern):
        numbers.append(r"[\d.{comma}]+")
    for number in numbers:
        wider = _GROUP.sub(functools.partial(_wider, number), pattern)
        try:
            longest = judge(wider).longest
        except re.error:  # what looks like the group is text, in a class of characters
            return pattern
        if longest >= min(judge(pattern).longest, _LONG_ENOUGH):
            return wider
    return pattern


def _wider(number: str, group: re.Match[str]) -> str:
    comma = "" if group["before"] is not None or group["behind"] is not None else ","
    number = number.format(comma=comma)
    if group["body"] == _WHOLE:
        whole = number.removeprefix(r"\.?").replace(".", "")
        return rf"(?P<value>{whole})"
    end = "" if _UNIT.match(group.string, group.end()) else r"\b"
    none = rf"[nN][aA][nN]{end}|[iI][nN][fF](?:inity)?{end}"
    # \B: a dash behind a letter or digit is no sign, but separates ("10-12.5").
    return rf"(?P<value>(?:\B[-+])?(?:{number}(?:[eE][-+]?\d+)?|{none}))"
