"""A pattern as the few kinds of items that matter for how its matching branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from profiles.format.regex.parse_tree import MANY, Item, Items, chars_of, ops

_IGNORE_CASE = 2  # re.IGNORECASE in a tree


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    mask: int


@dataclass(frozen=True, slots=True)
class Series:
    """One after the other; none: the empty text."""

    items: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternatives:
    branches: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``high`` None: without a limit. ``source``: the item of the pattern, to name it by."""

    body: Series
    low: int
    high: int | None
    source: Item


@dataclass(frozen=True, slots=True)
class Lookaround:
    """Takes nothing, and is never entered again once it has held."""

    body: Series


class Edge(Enum):
    BEGIN = auto()
    END = auto()
    BOUNDARY = auto()
    NO_BOUNDARY = auto()


@dataclass(frozen=True, slots=True)
class BackReference:
    """Takes any text."""


Node = Chars | Series | Alternatives | Repeat | Lookaround | Edge | BackReference

_EDGES = {
    ops.AT_BEGINNING: Edge.BEGIN,
    ops.AT_BEGINNING_STRING: Edge.BEGIN,
    ops.AT_END: Edge.END,
    ops.AT_END_STRING: Edge.END,
    ops.AT_BOUNDARY: Edge.BOUNDARY,
    ops.AT_NON_BOUNDARY: Edge.NO_BOUNDARY,
}
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def series_of(items: Items, flags: int = 0) -> Series:
    """The items of a parse tree; groups that are not repeated are opened."""
    nodes: list[Node] = []
    for item in items:
        node = _node(item, flags)
        nodes += node.items if isinstance(node, Series) else [node]
    return Series(tuple(nodes))


def nullable(node: Node) -> bool:
    """Whether it can take nothing."""
    match node:
        case Chars():
            return False
        case Series(items):
            return all(map(nullable, items))
        case Alternatives(branches):
            return any(map(nullable, branches))
        case Repeat(body, low):
            return low == 0 or nullable(body)
    return True


def one_takes_nothing(branches: Sequence[Series]) -> bool:
    """Whether at most one of these can take nothing: nothing, too, can be taken in two ways."""
    return sum(map(nullable, branches)) <= 1


def _node(item: Item, flags: int) -> Node:  # noqa: PLR0911 (one for each kind)
    code, argument = item
    mask = chars_of(item, bool(flags & _IGNORE_CASE))
    if mask is not None:
        return Chars(mask)
    if code is ops.SUBPATTERN:
        _number, added, removed, inner = argument
        return series_of(inner, (flags | added) & ~removed)
    if code is ops.BRANCH:
        return Alternatives(_each(argument[1], flags))
    if code in _REPEATS:
        low, high, body = argument
        limit = None if high is MANY else int(high)
        return Repeat(series_of(body, flags), int(low), limit, item)
    if code is ops.AT:
        return _EDGES[argument]
    if code is ops.ASSERT or code is ops.ASSERT_NOT:
        return Lookaround(series_of(argument[1], flags))
    if code is ops.ATOMIC_GROUP:
        return series_of(argument, flags)
    if code is ops.GROUPREF_EXISTS:
        return Alternatives(_each(argument[1:], flags))
    if code is ops.GROUPREF:
        return BackReference()
    return Chars(0)  # FAILURE, which takes nothing, ever


def _each(branches: Sequence[Items | None], flags: int) -> tuple[Series, ...]:
    return tuple(series_of(branch or [], flags) for branch in branches)
