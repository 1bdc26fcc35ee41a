r"""How long a line may be that a pattern is tried on with :mod:`re`, which backtracks.

A backtracking engine tries, at every start, every way in which the pattern can share out the line
among its repeats. Two things multiply the ways:

- A repeat of what can itself take one text in several ways (``(a+)+``): two to the power of the
  line. The body of a repeat must therefore be shown to be deterministic (:mod:`.loops`).
- Several repeats that can leave characters to what follows them (``.*x.*y``). Each of these
  *choices*, and where the search starts is one, multiplies the ways by the line's length over the
  *stride* of what has to stand behind it: how far apart two places are at which that can stand. A
  repeat that cannot take what follows it leaves no choice.

Every way costs a step, or a whole line where a repeat is read on it that another way has read, too.
From that comes the longest line of which no byte can cost more than :data:`STEPS_PER_BYTE`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from profiles.format.regex.loops import AmbiguousError, Loop, loop_of
from profiles.format.regex.parse_tree import ALL, WORD, Item, items_of
from profiles.format.regex.pattern_items import (
    Alternatives,
    BackReference,
    Chars,
    Edge,
    Lookaround,
    Node,
    Repeat,
    Series,
    one_takes_nothing,
    series_of,
)
from profiles.format.regex.pattern_text import pattern_text

LINE_LIMIT = 1 << 16
"""Bytes of a line that are looked at; longer lines lose their end, never the lines after them."""

STEPS_PER_BYTE = 512
"""At 10 to 30 ns a step: what a connection brings at once (32 KiB) takes half a second at worst."""

SHORTEST = 200
"""A pattern that is not good for lines of this length is not worth trying."""

_LONGEST_RUN = 48
_COPIES = 32  # a repeat of so many is unrolled; of more, it counts as one without a limit


@dataclass(frozen=True, slots=True)
class Judgement:
    """``longest``: bytes of a line, up to :data:`LINE_LIMIT`; 0: not to be tried at all.

    ``part``: of the pattern, what makes it costly; ``nested``: it repeats what repeats.
    """

    longest: int
    part: str = ""
    nested: bool = False


@functools.lru_cache(maxsize=512)
def judge(pattern: str) -> Judgement:
    """What backtracking over one line of ASCII-flagged ``pattern`` may cost; it must compile."""
    try:
        terms = _terms(pattern)
    except _AmbiguousPart as found:
        return Judgement(0, pattern_text([found.source]), nested=True)
    except RecursionError:
        return Judgement(0, pattern)
    longest = _longest(terms)
    if longest == LINE_LIMIT:
        return Judgement(longest)
    worst = max(terms, key=lambda term: term.steps(SHORTEST))
    part = " … ".join(pattern_text([source]) for source in worst.sources)
    return Judgement(longest if longest >= SHORTEST else 0, part or pattern)


def most_steps(pattern: str, length: int) -> float:
    """How many steps a search may take in a line of this length, for each item of the pattern."""
    try:
        return sum(term.steps(length) for term in _terms(pattern))
    except (_AmbiguousPart, RecursionError):
        return math.inf


def _terms(pattern: str) -> Sequence[_Term]:
    items, flags = items_of(pattern)
    series = series_of(items, flags)
    anchored = bool(series.items) and series.items[0] is Edge.BEGIN
    walk = _Walk()
    walk.whole(series, _SURE, _State(() if anchored else (1.0,)))
    return walk.terms


class _AmbiguousPart(Exception):
    def __init__(self, source: Item) -> None:
        self.source = source
        super().__init__()


@dataclass(frozen=True, slots=True)
class _After:
    """What can come next: after a word character, and after another. ``ends``: nothing need come,
    so that the match is certain."""

    word: int
    other: int
    ends: bool

    def next_to(self, last: int) -> int:
        """The characters that can follow one of ``last``."""
        found = self.word if last & WORD else 0
        return found | self.other if last & ~WORD else found

    def __or__(self, other: _After) -> _After:
        return _After(self.word | other.word, self.other | other.other, self.ends or other.ends)


_SURE = _After(0, 0, ends=True)
_UNSURE = _After(0, 0, ends=False)


@dataclass(frozen=True, slots=True)
class _State:
    """On the way through a pattern.

    ``strides``: of the choices so far, the last one's from ``run``, the characters that have to
    stand behind it, as long as those are known. ``ways``: by what is optional. ``before``: what the
    last character can be.
    """

    strides: tuple[float, ...]
    sources: tuple[Item, ...] = ()
    ways: float = 1.0
    run: tuple[int, ...] | None = ()
    before: int = ALL

    def took(self, mask: int, count: int = 1) -> _State:
        if not count:
            return self
        if self.run is None or not self.strides or len(self.run) + count > _LONGEST_RUN:
            return replace(self, before=mask, run=None)
        run = self.run + (mask,) * count
        return replace(self, before=mask, run=run, strides=(*self.strides[:-1], _stride(run)))


@dataclass(frozen=True, slots=True)
class _Term:
    """So many ways, each a step, or a reading of the line."""

    strides: tuple[float, ...]
    ways: float
    sources: tuple[Item, ...] = ()
    reads: bool = True

    def steps(self, length: float) -> float:
        product = self.ways * (length if self.reads else 1.0)
        for stride in self.strides:
            product *= length / stride + 1
        return product / math.factorial(len(self.strides) + self.reads)  # choices are in order


@dataclass(slots=True)
class _Walk:
    terms: list[_Term] = field(default_factory=lambda: [_Term((), 1.0)])

    def whole(self, series: Series, after: _After, state: _State) -> None:
        end = self.over(series, after, state)
        self.terms.append(_Term(end.strides, end.ways, end.sources, reads=False))

    def over(self, series: Series, after: _After, state: _State) -> _State:
        afters = [after]
        for node in reversed(series.items[1:]):
            afters.append(_enter(node, afters[-1]))
        for node, behind in zip(series.items, reversed(afters), strict=False):
            state = self._step(node, behind, state)
        return state

    def _step(  # noqa: PLR0911 (one for each kind)
        self, node: Node, after: _After, state: _State
    ) -> _State:
        match node:
            case Chars(mask):
                return state.took(mask)
            case Repeat():
                return self._repeat(node, after, state)
            case Alternatives(branches):
                return self._alternatives(branches, after, state)
            case Lookaround(body):
                self.whole(body, _UNSURE, state)  # what it reads is read again
                return state
            case Series():
                return self.over(node, after, state)
            case BackReference():
                self._reads_the_line(state)
                return state.took(ALL)
        return state  # an edge

    def _alternatives(self, branches: Sequence[Series], after: _After, state: _State) -> _State:
        states = [self.over(branch, after, state) for branch in branches]
        firsts = [_enter(branch, after) for branch in branches]
        one_way = one_takes_nothing(branches) and _disjoint(
            first.word | first.other for first in firsts
        )
        ways = [each.ways for each in states]
        deepest = max(states, key=lambda each: len(each.strides))
        return _State(
            strides=tuple(
                min(each.strides[at] for each in states if at < len(each.strides))
                for at in range(len(deepest.strides))
            ),
            sources=deepest.sources,
            ways=max(ways) if one_way else sum(ways),
            run=None,
            before=functools.reduce(int.__or__, (each.before for each in states)),
        )

    def _repeat(self, repeat: Repeat, after: _After, state: _State) -> _State:
        body, low, high = repeat.body, repeat.low, repeat.high
        single = body.items[0] if len(body.items) == 1 else None
        if isinstance(single, Chars) and high is not None and high <= _COPIES:
            return _few(single.mask, low, high, after, state)
        if high is not None and high <= _COPIES and (high == 1 or _size(repeat) <= _MOST):
            optional = Alternatives((body, Series()))
            copies = Series((body,) * low + (optional,) * (high - low))
            return self.over(copies, after, state)
        try:
            loop = loop_of(repeat)
        except AmbiguousError:
            raise _AmbiguousPart(repeat.source) from None
        return self._loop(repeat, loop, after, state)

    def _loop(self, repeat: Repeat, loop: Loop, after: _After, state: _State) -> _State:
        before = loop.last if repeat.low else loop.last | state.before
        if after.ends:  # it takes what it can, and the search goes on behind it
            return replace(state, before=before, run=None)
        # Whether what is read from two places overlaps, and so is read twice.
        overlaps = bool(state.before & loop.chars)
        if not loop.onward & after.next_to(loop.last):
            if overlaps:
                self._reads_the_line(state, repeat.source)
            return replace(state, before=before, run=None)
        self._reads_the_line(state, repeat.source)
        # Without an overlap all the ways through the last choice and this one are places in a line.
        kept = state.strides if overlaps else state.strides[:-1]
        return _State((*kept, 1.0), (*state.sources, repeat.source), state.ways)

    def _reads_the_line(self, state: _State, *source: Item) -> None:
        self.terms.append(_Term(state.strides, state.ways, (*state.sources, *source)))


_MOST = 400  # items that a repeat is unrolled to


def _size(node: Node) -> int:
    match node:
        case Series(items):
            return sum(map(_size, items))
        case Alternatives(branches):
            return sum(map(_size, branches))
        case Repeat(body, _, high):
            return _size(body) * (high or 1)
    return 1


def _few(mask: int, low: int, high: int, after: _After, state: _State) -> _State:
    """Up to :data:`_COPIES` characters of a set."""
    if low == high:
        return state.took(mask, low) if low else state
    unsure = not after.ends and mask & after.next_to(mask)
    ways = state.ways * (high - low + 1 if unsure else 1)
    before = mask if low else mask | state.before
    return replace(state.took(mask, low), ways=ways, run=None, before=before)


def _enter(node: Node, after: _After) -> _After:  # noqa: PLR0911 (one for each kind)
    """What can come next before ``node``."""
    match node:
        case Chars(mask):
            return _After(mask, mask, ends=False)
        case Series(items):
            for item in reversed(items):
                after = _enter(item, after)
            return after
        case Alternatives(branches):
            return functools.reduce(_After.__or__, (_enter(branch, after) for branch in branches))
        case Repeat(body, low):
            inside = _enter(body, after)
            return inside if low else inside | after
        case BackReference():
            return _After(ALL, ALL, ends=False)
        case Edge.BOUNDARY:
            return _After(after.word & ~WORD, after.other & WORD, ends=False)
        case Edge.NO_BOUNDARY:
            return _After(after.word & WORD, after.other & ~WORD, ends=False)
        case Edge.END:
            return _After(0, 0, ends=False)
    return replace(after, ends=False)  # the beginning, a lookaround


def _disjoint(masks: Iterable[int]) -> bool:
    taken = 0
    for mask in masks:
        if taken & mask:
            return False
        taken |= mask
    return True


def _stride(run: Sequence[int]) -> float:
    """How far apart two places are, at least, at which characters of these sets can stand."""
    for shift in range(1, len(run)):
        if all(map(int.__and__, run, run[shift:])):
            return float(shift)
    return float(len(run))


def _longest(terms: Sequence[_Term]) -> int:
    low, high = 0, LINE_LIMIT
    while low < high:
        middle = (low + high + 1) // 2
        if sum(term.steps(middle) for term in terms) <= STEPS_PER_BYTE * middle:
            low = middle
        else:
            high = middle - 1
    return low
