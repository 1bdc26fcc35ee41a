r"""What a pattern's matches must contain, so that lines without it need not be looked at.

``required_literals(r"iter (?P<step>\d+), .*samples/s: (?P<value>[\d.]+)")`` are ``iter ``, ``, ``
and ``samples/s: ``: every match holds all of them. The structure comes from :mod:`re`'s own parser;
whatever is not understood here yields no literal, which costs speed and never a reading.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter

from profiles.format.regex.parse_tree import DIGIT, Item, Items, chars_of, items_of, ops

_OPAQUE = re.IGNORECASE | re.VERBOSE  # case folding hides literals; verbose is parsed, not seen


@functools.lru_cache(maxsize=512)
def required_literals(pattern: str) -> tuple[bytes, ...]:
    """ASCII texts that every match contains, longest first."""
    items, flags = _parse(pattern)
    if flags & re.IGNORECASE:
        return ()
    found = {text for text in _runs(items) if text}
    return tuple(text.encode() for text in sorted(found, key=lambda text: (-len(text), text)))


@functools.lru_cache(maxsize=512)
def stays_in_line(pattern: str) -> bool:
    """Whether the pattern finds the same in a block of lines as in each line by itself.

    True only for patterns made of ASCII literals, ``.``, character classes that cannot take a
    newline, ``^`` and ``$``, groups, alternatives and ordinary repeats.
    """
    items, flags = _parse(pattern)
    plain = not flags & (re.DOTALL | _OPAQUE | re.MULTILINE)
    return plain and pattern.isascii() and all(_in_line(item) for item in _items(items))


@functools.lru_cache(maxsize=512)
def digits_that_count(pattern: str) -> tuple[bytes, ...] | None:
    """The words of the pattern that have digits, as ``top_1: ``: in these alone digits count.

    The pattern finds the same, at the same places, in a text with other digits, if those stay that
    stand in such a word, or in what differs from one in digits alone. None for patterns that may
    take one digit and not another elsewhere, or that look ahead, behind or back.
    """
    items, flags = _parse(pattern)
    members = list(_items(items))
    if not members or not all(map(_any_digit_or_none, members)):
        return None
    words = {text for text in _texts(items) if any(map(str.isdigit, text))}
    folded = [flags, *(argument[1] for code, argument in members if code is ops.SUBPATTERN)]
    if words and any(flag & re.IGNORECASE for flag in folded):
        return None
    if not all(word.isascii() and any(map(str.isalpha, word)) for word in words):
        return None  # without a letter nearly any digit is in one
    return tuple(sorted(word.encode() for word in words))


def _parse(pattern: str) -> tuple[Items, int]:
    try:
        return items_of(pattern)
    except (re.error, RecursionError):
        return (), _OPAQUE


def _runs(items: Items) -> Iterator[str]:
    """Literal runs of a sequence; groups continue the run, anything else ends it."""
    run = ""
    for text in _pieces(items):
        if text is None:
            yield run
            run = ""
        else:
            run += text
    yield run


def _pieces(items: Iterable[Item]) -> Iterator[str | None]:
    for code, argument in items:
        if code is ops.LITERAL:
            yield chr(argument) if argument < 128 else None
        elif code is ops.SUBPATTERN:
            _group, add_flags, _del_flags, inner = argument
            if add_flags & re.IGNORECASE:
                yield None
            else:
                yield from _pieces(inner)
        elif code in (ops.MAX_REPEAT, ops.MIN_REPEAT) and argument[0] >= 1:
            # At least once: what is inside is there, but it does not join what follows.
            yield None
            yield from _pieces(argument[2])
            yield None
        elif code is ops.BRANCH:
            yield None
            for text in set.intersection(*(set(_runs(branch)) for branch in argument[1])):
                yield text
                yield None
        elif code is not ops.AT:
            yield None


def _items(tree: Items) -> Iterator[Item]:
    return chain.from_iterable(_sequences(tree))


def _sequences(tree: Items) -> Iterator[Items]:
    yield tree
    for code, argument in tree:
        if code is ops.SUBPATTERN:
            yield from _sequences(argument[3])
        elif code is ops.BRANCH:
            for branch in argument[1]:
                yield from _sequences(branch)
        elif code in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            yield from _sequences(argument[2])


def _texts(tree: Items) -> Iterator[str]:
    """What stands in the pattern letter by letter; a match has the whole text where it has any."""
    for sequence in _sequences(tree):
        for code, run in groupby(sequence, itemgetter(0)):
            if code is ops.LITERAL:
                yield "".join(chr(argument) for _code, argument in run)


def _in_line(item: Item) -> bool:
    code, argument = item
    if code is ops.LITERAL:
        return bool(argument != ord("\n"))
    if code is ops.SUBPATTERN:
        return not argument[1] and not argument[2]
    if code is ops.AT:
        return argument in (ops.AT_BEGINNING, ops.AT_END, ops.AT_BOUNDARY)
    if code is ops.IN:
        return all(_class_without_newline(member) for member in argument)
    return code in (
        ops.ANY,
        ops.BRANCH,
        ops.MAX_REPEAT,
        ops.MIN_REPEAT,
    )


def _class_without_newline(member: Item) -> bool:
    code, argument = member
    if code is ops.LITERAL:
        return bool(argument != ord("\n"))
    if code is ops.RANGE:
        return not argument[0] <= ord("\n") <= argument[1]
    return code is ops.CATEGORY and argument in (
        ops.CATEGORY_DIGIT,
        ops.CATEGORY_WORD,
    )


def _any_digit_or_none(item: Item) -> bool:
    """Whether digits are alike to the item, but for a digit that stands in the pattern itself."""
    if item[0] is ops.LITERAL:
        return True
    taken = chars_of(item, ignore_case=False)  # digits have no case
    if taken is not None:
        return taken & DIGIT in (0, DIGIT)
    return item[0] in (ops.AT, ops.SUBPATTERN, ops.BRANCH, ops.MAX_REPEAT, ops.MIN_REPEAT)
