r"""What a pattern's matches must contain, so that lines without it need not be looked at.

``required_literals(r"iter (?P<step>\d+), .*samples/s: (?P<value>[\d.]+)")`` are ``iter ``, ``, ``
and ``samples/s: ``: every match holds all of them. The structure comes from :mod:`re`'s own parser;
whatever is not understood here yields no literal, which costs speed and never a reading.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

# Any: re's parse tree is untyped; there is no public way to it, and every use below is guarded.
try:
    from re import _constants, _parser  # type: ignore[attr-defined]
except ImportError:  # an interpreter that keeps it elsewhere: no literals, slower, still right
    _parser = None

_OPAQUE = re.IGNORECASE | re.VERBOSE  # case folding hides literals; verbose is parsed, not seen


@functools.lru_cache(maxsize=512)
def required_literals(pattern: str) -> tuple[bytes, ...]:
    """ASCII texts that every match contains, longest first."""
    tree = _parse(pattern)
    if tree is None or tree.state.flags & re.IGNORECASE:
        return ()
    found = {text for text in _runs(tree) if text}
    return tuple(text.encode() for text in sorted(found, key=lambda text: (-len(text), text)))


@functools.lru_cache(maxsize=512)
def stays_in_line(pattern: str) -> bool:
    """Whether the pattern finds the same in a block of lines as in each line by itself.

    True only for patterns made of ASCII literals, ``.``, character classes that cannot take a
    newline, ``^`` and ``$``, groups, alternatives and ordinary repeats.
    """
    tree = _parse(pattern)
    plain = tree is not None and not tree.state.flags & (re.DOTALL | _OPAQUE | re.MULTILINE)
    return plain and pattern.isascii() and all(_in_line(item) for item in _items(tree))


def _parse(pattern: str) -> Any:
    if _parser is None:
        return None
    try:
        return _parser.parse(pattern, re.ASCII)
    except (re.error, RecursionError):
        return None


def _runs(items: Iterable[Any]) -> Iterator[str]:
    """Literal runs of a sequence; groups continue the run, anything else ends it."""
    run = ""
    for text in _pieces(items):
        if text is None:
            yield run
            run = ""
        else:
            run += text
    yield run


def _pieces(items: Iterable[Any]) -> Iterator[str | None]:
    for code, argument in items:
        if code is _constants.LITERAL:
            yield chr(argument) if argument < 128 else None
        elif code is _constants.SUBPATTERN:
            _group, add_flags, _del_flags, inner = argument
            if add_flags & re.IGNORECASE:
                yield None
            else:
                yield from _pieces(inner)
        elif code in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] >= 1:
            # At least once: what is inside is there, but it does not join what follows.
            yield None
            yield from _pieces(argument[2])
            yield None
        elif code is not _constants.AT:
            yield None


def _items(tree: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for code, argument in tree:
        yield code, argument
        if code is _constants.SUBPATTERN:
            yield from _items(argument[3])
        elif code is _constants.BRANCH:
            for branch in argument[1]:
                yield from _items(branch)
        elif code in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            yield from _items(argument[2])


def _in_line(item: tuple[Any, Any]) -> bool:
    code, argument = item
    if code is _constants.LITERAL:
        return bool(argument != ord("\n"))
    if code is _constants.SUBPATTERN:
        return not argument[1] and not argument[2]
    if code is _constants.AT:
        return argument in (_constants.AT_BEGINNING, _constants.AT_END, _constants.AT_BOUNDARY)
    if code is _constants.IN:
        return all(_class_without_newline(member) for member in argument)
    return code in (
        _constants.ANY,
        _constants.BRANCH,
        _constants.MAX_REPEAT,
        _constants.MIN_REPEAT,
    )


def _class_without_newline(member: tuple[Any, Any]) -> bool:
    code, argument = member
    if code is _constants.LITERAL:
        return bool(argument != ord("\n"))
    if code is _constants.RANGE:
        return not argument[0] <= ord("\n") <= argument[1]
    return code is _constants.CATEGORY and argument in (
        _constants.CATEGORY_DIGIT,
        _constants.CATEGORY_WORD,
    )
