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


@functools.lru_cache(maxsize=512)
def with_any_number(pattern: str) -> str:
    """The pattern; itself where its value is no usual number, or that would make it costly."""
    wider = _GROUP.sub(_wider, pattern)
    if judge(wider).longest >= min(judge(pattern).longest, _LONG_ENOUGH):
        return wider
    return pattern


def _wider(group: re.Match[str]) -> str:
    comma = "" if group["before"] is not None or group["behind"] is not None else ","
    if group["body"] == _WHOLE:
        return rf"(?P<value>[\d{comma}]+)"
    number = rf"[\d.{comma}]+(?:[eE][-+]?\d+)?"
    return rf"(?P<value>[-+]?(?:{number}|[nN][aA][nN]|[iI][nN][fF](?:inity)?))"
