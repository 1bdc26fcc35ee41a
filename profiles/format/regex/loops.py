r"""Whether the body of a repeat takes every text in one way only.

That is so when the expression is deterministic (one-unambiguous: A. Brüggemann-Klein, D. Wood,
One-Unambiguous Regular Languages, 1998): of the items that can come next, at most one takes any
given character. ``(?:\d+,)*`` is, ``(a+)+`` and ``(\d+|\w+)*`` are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from profiles.format.regex.pattern_items import (
    Alternatives,
    Chars,
    Edge,
    Node,
    Repeat,
    Series,
    one_takes_nothing,
)

_MOST_POSITIONS = 400


class AmbiguousError(ValueError):
    """The repeat is not shown to be deterministic."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A deterministic repeat as masks of characters: those it can begin with, end with and hold,
    and ``onward``: those with which it goes on where it could end."""

    first: int
    last: int
    chars: int
    onward: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Positions (one for each character item) that can be first and last."""

    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    nullable: bool = True


@dataclass(slots=True)
class _Automaton:
    """Glushkov's: from each position those that can come next, as often as there are ways."""

    masks: list[int] = field(default_factory=list)
    following: list[list[int]] = field(default_factory=list)

    def part(self, node: Node) -> _Part:
        match node:
            case Chars(mask):
                return self._position(mask)
            case Series(items):
                return self._joined(items)
            case Alternatives(branches) if one_takes_nothing(branches):
                parts = [self.part(branch) for branch in branches]
                return _Part(
                    tuple(at for part in parts for at in part.first),
                    tuple(at for part in parts for at in part.last),
                    any(part.nullable for part in parts),
                )
            case Repeat():
                return self._repeat(node)
            case Edge():
                return _Part()  # without it there are only more ways
        raise AmbiguousError

    def _position(self, mask: int) -> _Part:
        if len(self.masks) == _MOST_POSITIONS:
            raise AmbiguousError
        self.masks.append(mask)
        self.following.append([])
        here = (len(self.masks) - 1,)
        return _Part(here, here, nullable=False)

    def _joined(self, items: Iterable[Node]) -> _Part:
        whole = _Part()
        for item in items:
            part = self.part(item)
            for at in whole.last:
                self.following[at] += part.first
            whole = _Part(
                whole.first + part.first if whole.nullable else whole.first,
                whole.last + part.last if part.nullable else part.last,
                whole.nullable and part.nullable,
            )
        return whole

    def _repeat(self, node: Repeat) -> _Part:
        if node.high is None or node.high > _MOST_POSITIONS:
            return self.closed(self.part(node.body), node.low)
        optional = Alternatives((node.body, Series()))
        return self._joined([node.body] * node.low + [optional] * (node.high - node.low))

    def closed(self, part: _Part, low: int) -> _Part:
        if part.nullable:
            raise AmbiguousError
        for at in part.last:
            self.following[at] += part.first
        return _Part(part.first, part.last, nullable=low == 0)

    def deterministic(self, first: Iterable[int]) -> bool:
        return all(map(self._disjoint, (first, *self.following)))

    def _disjoint(self, positions: Iterable[int]) -> bool:
        taken = 0
        for at in positions:
            if taken & self.masks[at]:
                return False
            taken |= self.masks[at]
        return True

    def union(self, positions: Iterable[int]) -> int:
        mask = 0
        for at in positions:
            mask |= self.masks[at]
        return mask


def loop_of(repeat: Repeat) -> Loop:
    """What the repeat takes.

    Raises
    ------
    AmbiguousError: there may be a text that it takes in several ways.
    """
    automaton = _Automaton()
    part = automaton.closed(automaton.part(repeat.body), repeat.low)
    if not automaton.deterministic(part.first):
        raise AmbiguousError
    return Loop(
        automaton.union(part.first),
        automaton.union(part.last),
        automaton.union(range(len(automaton.masks))),
        automaton.union(at for last in part.last for at in automaton.following[last]),
    )
