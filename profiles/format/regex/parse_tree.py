"""Patterns as :mod:`re` itself reads them: its parse tree, and which characters an item can take.

The tree is a list of (opcode, argument). Sets of characters are bit masks over ASCII, with one bit
for all that is not ASCII; the newline is in none of them, for patterns are matched within lines.
Masks may hold too much, never too little.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

# re's parser has no public name, and its tree no types (Any): what of it is used is read here and
# in the modules that import this one.
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["ALL", "BEYOND", "DIGIT", "MANY", "WORD", "Item", "Items", "chars_of", "items_of", "ops"]

Item = tuple[Any, Any]
Items = Sequence[Item]

MANY = _parser.MAXREPEAT
"""The upper limit of a repeat that has none."""

BEYOND = 1 << 128
"""All that is not ASCII."""


def _mask(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= BEYOND if number > 127 else 1 << number
    return mask & ~(1 << 10)


ALL = _mask(range(129))
WORD = _mask(n for n in range(128) if chr(n).isalnum() or chr(n) == "_")
DIGIT = _mask(range(48, 58))
_SPACE = _mask(b" \t\r\f\v")
_CATEGORIES = {
    ops.CATEGORY_DIGIT: DIGIT,
    ops.CATEGORY_WORD: WORD,
    ops.CATEGORY_SPACE: _SPACE,
    ops.CATEGORY_NOT_DIGIT: ALL & ~DIGIT,
    ops.CATEGORY_NOT_WORD: ALL & ~WORD,
    ops.CATEGORY_NOT_SPACE: ALL & ~_SPACE,
}
_LETTERS = _mask(n for n in range(128) if chr(n).isalpha())


@functools.lru_cache(maxsize=512)
def items_of(pattern: str) -> tuple[Items, int]:
    """The items of a pattern that compiles, and its flags."""
    tree = _parser.parse(pattern, re.ASCII)
    return list(tree), int(tree.state.flags)


def chars_of(item: Item, ignore_case: bool) -> int | None:
    """What an item of one character takes; None where the item is none of those."""
    code, argument = item
    if code is ops.LITERAL:
        return _folded(_mask([argument]), ignore_case)
    if code is ops.NOT_LITERAL:
        return _complement(_folded(_mask([argument]), ignore_case))
    if code is ops.ANY:
        return ALL
    if code is ops.IN:
        negated = argument[0][0] is ops.NEGATE
        mask = _folded(_members(argument[1:] if negated else argument), ignore_case)
        return _complement(mask) if negated else mask
    return None


def _members(members: Items) -> int:
    mask = 0
    for code, argument in members:
        if code is ops.LITERAL:
            mask |= _mask([argument])
        elif code is ops.RANGE:
            low, high = argument
            mask |= _mask(range(low, min(high, 128) + 1)) | (BEYOND if high > 127 else 0)
        else:
            mask |= _CATEGORIES[argument]
    return mask


def _complement(mask: int) -> int:
    return ALL & ~mask | BEYOND  # of what is not ASCII only some was taken


def _folded(mask: int, ignore_case: bool) -> int:
    if not ignore_case:
        return mask
    letters = mask & _LETTERS
    return mask | (letters << 32 | letters >> 32) & _LETTERS
