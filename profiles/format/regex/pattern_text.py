r"""Parse trees back to patterns: for messages, and for RE2, whose syntax is a little different.

RE2 (https://github.com/google/re2/wiki/Syntax) has neither lookaround nor backreferences; its
``\s`` lacks the vertical tab, its ``$`` is Python's only where no newline can follow, and it folds
the case of more than ASCII. So classes are written out, and case is folded here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profiles.format.regex.parse_tree import MANY, Item, Items, ops

_IGNORE_CASE = 2  # re.IGNORECASE in a tree
_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
_SPECIAL_IN_CLASS = frozenset(r"\^[]-&~|")
_CLASSES: Mapping[Any, str] = {
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
}
_SPACES = r"\t\n\x0B\f\r "
_NOT_SPACES = r"\x00-\x08\x0E-\x1F!-\x{10FFFF}"
_EDGES: Mapping[Any, str] = {
    ops.AT_BEGINNING: "^",
    ops.AT_BEGINNING_STRING: r"\A",
    ops.AT_END: "$",
    ops.AT_END_STRING: r"\Z",
    ops.AT_BOUNDARY: r"\b",
    ops.AT_NON_BOUNDARY: r"\B",
}
_RE2_EDGES = {**_EDGES, ops.AT_END_STRING: r"\z"}


class NotInRe2Error(ValueError):
    """The pattern has something that RE2 cannot do; the text names it."""


def pattern_text(items: Items) -> str:
    """The pattern, as a person would write it; what is folded or scoped is not shown."""
    return _Writer(re2=False).sequence(items, 0)


def re2_text(items: Items, flags: int) -> str:
    """The same pattern for RE2, its groups without their names.

    Raises
    ------
    NotInRe2Error: it has a lookaround, a backreference, or the like.
    """
    return _Writer(re2=True).sequence(items, flags & _IGNORE_CASE)


class _Writer:
    def __init__(self, *, re2: bool) -> None:
        self._re2 = re2

    def sequence(self, items: Items, fold: int) -> str:
        return "".join(self._item(item, fold) for item in items)

    def _item(self, item: Item, fold: int) -> str:  # noqa: PLR0911 (one for each kind)
        code, argument = item
        if code is ops.LITERAL or code is ops.NOT_LITERAL:
            return self._literal(argument, fold, negated=code is ops.NOT_LITERAL)
        if code is ops.ANY:
            return "."
        if code is ops.IN:
            return self._class(argument, fold)
        if code is ops.AT:
            return (_RE2_EDGES if self._re2 else _EDGES)[argument]
        if code is ops.BRANCH:
            return f"(?:{self._opened([item], fold)})"
        if code is ops.SUBPATTERN:
            number, added, removed, inner = argument
            fold = (fold | added) & ~removed & _IGNORE_CASE
            return f"({'?:' if number is None else ''}{self._opened(inner, fold)})"
        if code is ops.MAX_REPEAT or code is ops.MIN_REPEAT:
            return self._repeat(argument, fold) + ("?" if code is ops.MIN_REPEAT else "")
        if self._re2:
            raise NotInRe2Error(_NAMES.get(code, "what RE2 does not know"))
        return self._beyond_re2(code, argument)

    def _opened(self, items: Items, fold: int) -> str:
        """What stands in a group anyway."""
        if len(items) == 1 and items[0][0] is ops.BRANCH:
            return "|".join(self.sequence(branch, fold) for branch in items[0][1][1])
        return self.sequence(items, fold)

    def _repeat(self, argument: tuple[int, int, Items], fold: int) -> str:
        low, high, body = argument
        inner = self.sequence(body, fold)
        if len(body) != 1 or body[0][0] in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            inner = f"(?:{inner})"
        short = {(0, MANY): "*", (1, MANY): "+", (0, 1): "?"}.get((low, high))
        if short is None:
            upper = "" if high is MANY else str(high)
            short = f"{{{low}}}" if low == high else f"{{{low},{upper}}}"
        return inner + short

    def _literal(self, number: int, fold: int, *, negated: bool) -> str:
        other = chr(number).swapcase()
        if fold and number < 128 and other != chr(number):
            return f"[{'^' if negated else ''}{_member(number)}{other}]"
        return f"[^{_member(number)}]" if negated else _char(number)

    def _class(self, members: Items, fold: int) -> str:
        negated = members[0][0] is ops.NEGATE
        texts = [self._member(item, fold) for item in (members[1:] if negated else members)]
        if len(texts) == 1 and not negated and texts[0] in _CLASSES.values():
            return texts[0]
        return f"[{'^' if negated else ''}{''.join(texts)}]"

    def _member(self, item: Item, fold: int) -> str:
        code, argument = item
        if code is ops.LITERAL:
            argument, code = (argument, argument), ops.RANGE
        if code is ops.RANGE:
            low, high = argument
            text = _member(low) if low == high else f"{_member(low)}-{_member(high)}"
            return text + (_other_case(low, high) if fold else "")
        if self._re2 and argument is ops.CATEGORY_SPACE:
            return _SPACES
        if self._re2 and argument is ops.CATEGORY_NOT_SPACE:
            return _NOT_SPACES
        return _CLASSES[argument]

    def _beyond_re2(self, code: Any, argument: Any) -> str:
        if code is ops.ASSERT or code is ops.ASSERT_NOT:
            behind = "<" if argument[0] < 0 else ""
            mark = "=" if code is ops.ASSERT else "!"
            return f"(?{behind}{mark}{self.sequence(argument[1], 0)})"
        if code is ops.POSSESSIVE_REPEAT:
            return self._repeat(argument, 0) + "+"
        if code is ops.ATOMIC_GROUP:
            return f"(?>{self.sequence(argument, 0)})"
        if code is ops.GROUPREF:
            return f"\\{argument}"
        return "(?…)"


_NAMES: Mapping[Any, str] = {
    ops.ASSERT: "a lookaround (?=…)",
    ops.ASSERT_NOT: "a lookaround (?!…)",
    ops.FAILURE: "a lookaround (?!)",
    ops.GROUPREF: "a backreference",
    ops.GROUPREF_EXISTS: "a condition (?(…)…)",
    ops.ATOMIC_GROUP: "an atomic group (?>…)",
    ops.POSSESSIVE_REPEAT: "a possessive repeat",
}


def _char(number: int) -> str:
    return _escaped(number, _SPECIAL)


def _member(number: int) -> str:
    return _escaped(number, _SPECIAL_IN_CLASS)


def _escaped(number: int, special: frozenset[str]) -> str:
    char = chr(number)
    if char in special:
        return f"\\{char}"
    return char if char.isprintable() else f"\\x{{{number:X}}}"


def _other_case(low: int, high: int) -> str:
    """The letters of the other case of an ASCII range."""
    letters = (chr(n) for n in range(low, min(high, 127) + 1) if chr(n).isalpha())
    return "".join(letter.swapcase() for letter in letters)
