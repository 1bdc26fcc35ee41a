"""Dense logs, twice as fast or more than line by line: lines of one shape are matched once.

A trainer prints the same line at every step, with other numbers. Lines that differ in their digits
alone are of one shape. A pattern that takes any digit where it takes one finds the same at the same
places in all of them, and so do escape sequences and the prefixes of ranks: what is left to do is
to cut those places out. Only the rank itself has to be the same, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from struct import Struct

from profiles.cleantext import ESCAPE_BYTES
from profiles.logs.ranks import RankFilter
from profiles.logs.search import Search

SAME_DIGITS = bytes.maketrans(b"123456789", b"000000000")

_SMALL = 1 << 14  # blocks up to this size are not worth it
_NEW = 32  # shapes that a block may bring: each costs as much as matching many lines
_KNOWN = 512  # shapes that are kept
_LONGEST = 4096  # bytes of a line that has one
_RECENT = 8  # of those, how many are tried before the line is looked up
_AT_ONCE = 16  # lines that are compared with a shape at once
_RUN = 8  # lines of one shape in a row that it takes, on average, to be faster than matching
_LONGEST_WAIT = 64  # blocks

_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Texts:
    """``cut``: takes texts out of a line, none of which overlap; ``columns``: where each goes.

    ``last``: of a run of lines only the last one's count.
    """

    cut: Struct
    columns: tuple[int, ...]
    last: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """Lines that are ``key``, with its newline, but for their digits.

    ``several``: that often. ``texts``: what is read. ``ranks``: by the place of each of their
    digits, which one it has to be. ``unclear``: numbers of the searches that may find more.
    """

    key: bytes
    several: bytes
    texts: tuple[_Texts, ...]
    ranks: Mapping[int, bytes]
    unclear: frozenset[int]


class Shapes:
    """Blocks of lines of few shapes. The first search's matches decide whether a block is dense."""

    def __init__(self, searches: Sequence[Search], ranks: RankFilter) -> None:
        self._searches = searches
        self._ranks = ranks
        self._usable = searches[0].any_digits and ranks.any_digits
        self._known: dict[bytes, _Shape] = {}
        self._recent: list[_Shape] = []
        self._wait = 0
        self._next_wait = 1

    def search(self, block: bytes) -> Sequence[Search]:
        """Search a block of whole lines; returns the searches for which nothing was done."""
        if not self._usable or len(block) <= _SMALL or not self._searches[0].dense(block):
            return self._searches
        if self._wait:
            self._wait -= 1
            return self._searches
        columns: list[list[bytes]] = [[] for one in self._searches for _ in range(one.groups)]
        unclear = self._cut(block, columns)
        if unclear is None:
            self._wait = self._next_wait
            self._next_wait = min(2 * self._next_wait, _LONGEST_WAIT)
            return self._searches
        self._next_wait = 1
        left: list[Search] = []
        start = 0
        for number, search in enumerate(self._searches):
            own = columns[start : start + search.groups]
            start += search.groups
            if number in unclear or (own[0] and not search.take(own)):
                left.append(search)
        return left

    def _cut(self, block: bytes, columns: list[list[bytes]]) -> set[int] | None:
        """Fill the columns; returns which searches' do not tell, None where none do."""
        text = block.translate(SAME_DIGITS)
        at, end = 0, len(text)
        most = len(self._known) + _NEW
        unclear: set[int] = set()
        spent = -_SMALL  # bytes that have to be done by now, with some patience
        while at < end:
            if at < spent:
                return None
            shape = next((one for one in self._recent if text.startswith(one.key, at)), None)
            if shape is None:
                stop = text.find(b"\n", at) + 1
                if not at < stop <= at + _LONGEST:
                    return None
                shape = self._shape(text[at:stop], block[at:stop])
                if shape is None or len(self._known) > most:
                    return None
            length = len(shape.key)
            start, at = at, at + length
            spent += _RUN * length
            while text.startswith(shape.several, at):
                at += len(shape.several)
            while text.startswith(shape.key, at):
                at += length
            for place, digit in shape.ranks.items():
                if block[start + place : at : length].strip(digit):
                    return None
            for texts in shape.texts:
                lines = memoryview(block)[at - length if texts.last else start : at]
                found = zip(*texts.cut.iter_unpack(lines), strict=True)
                for column, more in zip(texts.columns, found, strict=True):
                    columns[column] += more
            unclear |= shape.unclear
        return unclear

    def _shape(self, key: bytes, line: bytes) -> _Shape | None:
        """Of a line that is none of the recent ones; None where no more can be known."""
        shape = self._known.get(key)
        if shape is None and len(self._known) < _KNOWN:
            shape = self._known[key] = self._shape_of(key, _Line(line, self._ranks))
        if shape is not None:
            self._recent = [shape, *self._recent[: _RECENT - 1]]
        return shape

    def _shape_of(self, key: bytes, line: _Line) -> _Shape:
        cuts: dict[bool, list[tuple[_Place, int]]] = {True: [], False: []}
        unclear: set[int] = set()
        column = 0
        for number, search in enumerate(self._searches):
            found = line.places(search)
            if found is None:
                unclear.add(number)
            cuts[search.last_only] += zip(found or (), count(column))
            column += search.groups
        texts = [one for last, places in cuts.items() for one in _texts(places, len(key), last)]
        return _Shape(key, key * _AT_ONCE, tuple(texts), line.ranks, frozenset(unclear))


def _texts(cuts: Sequence[tuple[_Place, int]], length: int, last: bool) -> Iterator[_Texts]:
    """Takes that none overlap in, as few as it needs."""
    left = sorted(cuts)
    while left:
        layout, end = "", 0
        columns: list[int] = []
        later: list[tuple[_Place, int]] = []
        for (start, stop), column in left:
            if start < end:
                later.append(((start, stop), column))
                continue
            layout += f"{start - end}x{stop - start}s"
            columns.append(column)
            end = stop
        yield _Texts(Struct(f"{layout}{length - end}x"), tuple(columns), last)
        left = later


class _Line:
    """The first line of a shape. ``ranks``: as those of a :class:`_Shape`."""

    def __init__(self, line: bytes, ranks: RankFilter) -> None:
        line = line.removesuffix(b"\n")
        # Where in the line the characters are that are left without escape sequences.
        self._at = list(range(len(line)))
        for match in reversed(list(ESCAPE_BYTES.finditer(line))):
            del self._at[match.start() : match.end()]
        self._plain = bytes(line[at] for at in self._at)
        self._text = self._plain.decode("utf-8", "replace")
        self._parts, found = [(0, len(self._text))], list[_Place]()
        if ranks.concerns(self._plain):
            self._parts, found = ranks.cut(self._text)
        spans = [self._place(start, end) for start, end in found]
        self.ranks = {at: line[at : at + 1] for span in spans for at in range(*span)}

    def places(self, search: Search) -> Sequence[_Place] | None:
        """Of what the groups of its match hold, empty without one; None where that is unclear."""
        if self.ranks and not self._plain.isascii():
            return None  # characters and bytes are at other places
        if not search.any_digits:
            return None if search.may_match(self._plain.translate(SAME_DIGITS), SAME_DIGITS) else ()
        found = [
            [(start + a, start + b) if a < b else (0, 0) for a, b in groups]
            for start, end in self._parts
            for groups in search.places(self._text[start:end])
        ]
        if not found:
            return ()
        # Texts of several matches would have to be taken in turns.
        if len(found) > 1 or not self._plain.isascii():
            return None
        places = [self._place(start, end) for start, end in found[0]]
        torn = [len(range(*place)) for place in places] != [len(range(*one)) for one in found[0]]
        return None if torn else places  # by an escape sequence

    def _place(self, start: int, end: int) -> _Place:
        return (self._at[start], self._at[end - 1] + 1) if start < end else (0, 0)
