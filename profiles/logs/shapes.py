"""Dense logs, several times as fast as line by line: lines of one shape are matched once.

A trainer prints the same line at every step, with other numbers. Lines that differ in their digits
alone are of one shape, but for digits in a pattern's own words. A pattern that takes any digit
where it takes one finds the same at the same places in all of them, and so do escape sequences and
the prefixes of ranks: what is left to do is to read the digits at those places, of all lines at
once. For this numpy is imported, so this module is for large logs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from profiles.cleantext import ESCAPE_BYTES
from profiles.logs.digits import Bytes, NumberAt, Numbers, texts_at
from profiles.logs.json_fields import Place, Places
from profiles.logs.ranks import RankFilter
from profiles.logs.readings import to_number
from profiles.logs.search import Search
from profiles.logs.sinks import AddNumbers

_NEW = 32  # shapes that a block may bring: each costs as much as matching many lines
_KNOWN = 512  # shapes that are kept
_LONGEST = 4096  # bytes of a line that has one
_SAME = 8  # lines of one length, on average, for which it is faster than matching
_SINGLE = 1 / 8  # share of lines without a shape that are worth a look one by one
_LONGEST_WAIT = 64  # blocks
_NEWLINE = ord("\n")
_DIGITS = b"0123456789"
_SAME_DIGITS = bytes.maketrans(b"123456789", b"000000000")

_Lines = NDArray[np.intp]  # which lines of a block, in their order


@dataclass(frozen=True, slots=True)
class _Texts:
    """What one search reads of each line of a shape."""

    value: NumberAt
    step: NumberAt
    third: Place

    def read(self, lines: _Lines, rows: Bytes) -> _Found:
        value, step = self.value.read(rows), self.step.read(rows)
        return _Found(lines, value, step, texts_at(rows, self.third))


@dataclass(frozen=True, slots=True)
class _Found:
    """Of what ``lines`` a search has read which values, steps and third texts, if there are any."""

    lines: _Lines
    values: Numbers
    steps: Numbers
    thirds: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class _Shape:
    """Lines whose bytes are each from ``least`` to ``least`` + ``more``: a digit, or one byte.

    ``texts``: what is read, by the number of the search. ``last``: searches that find something and
    want the last of it alone. ``left``: those that have to look for themselves.
    """

    least: Bytes
    more: Bytes
    texts: Mapping[int, _Texts]
    last: frozenset[int]
    left: frozenset[int]

    def strangers(self, rows: Bytes) -> NDArray[np.bool_] | None:
        """Which lines are not of the shape; None where all are."""
        beyond = rows - self.least
        strange = beyond.view(np.bool_)
        np.greater(beyond, self.more, out=strange)
        # All at once is faster than each, and most often enough.
        return np.logical_or.reduce(strange, axis=1) if strange.any() else None


@dataclass(slots=True)
class _Block:
    """What the shapes of one block tell. ``new``: shapes that it may bring."""

    data: bytes
    new: int = _NEW
    found: dict[int, list[_Found]] = field(default_factory=lambda: defaultdict(list))
    last: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    singles: list[bytes] = field(default_factory=list)

    def take(self, shape: _Shape, lines: _Lines, rows: Bytes) -> None:
        """Lines that are all of the shape."""
        self.left |= shape.left
        for number, texts in shape.texts.items():
            self.found[number].append(texts.read(lines, rows))
        for number in shape.last:
            line = (int(lines[-1]), rows[-1].tobytes())
            self.last[number] = max(line, self.last.get(number, line))

    def hand_over(self, number: int, search: Search) -> bool:
        """Give the search what is its own; False where it is not all of use."""
        if number in self.last:
            _line, text = self.last[number]
            return search.last(ESCAPE_BYTES.sub(b"", text))
        found = self.found[number]
        return not found or search.add_numbers is None or _add(found, search.add_numbers)


class Shapes:
    """Blocks of lines of few shapes."""

    def __init__(self, searches: Sequence[Search], ranks: RankFilter) -> None:
        self._searches = searches
        self._ranks = ranks
        counting = chain.from_iterable(search.digits_that_count or () for search in searches)
        self._words = frozenset(counting)
        self._known: dict[int, list[_Shape]] = defaultdict(list)  # by length
        self._count = 0
        self._wait = 0
        self._next_wait = 1

    def search(self, block: bytes) -> Sequence[Search]:
        """Search a block of whole lines; returns the searches for which nothing was done."""
        if self._wait:
            self._wait -= 1
            return self._searches
        told = _Block(block)
        if not self._tell(told):
            self._wait = self._next_wait
            self._next_wait = min(2 * self._next_wait, _LONGEST_WAIT)
            return self._searches
        self._next_wait = 1
        return [
            search
            for number, search in enumerate(self._searches)
            if number in told.left or not told.hand_over(number, search)
        ]

    def _tell(self, block: _Block) -> bool:
        """Fill in what the block's lines tell; False where they are of too many kinds."""
        text = np.frombuffer(block.data, np.uint8)
        ends = np.flatnonzero(text == _NEWLINE)
        if not block.data.endswith(b"\n"):
            ends = np.append(ends, len(text))
        starts = np.concatenate((np.zeros(1, np.intp), ends[:-1] + 1))
        lengths = ends - starts
        kinds = np.minimum(lengths, _LONGEST + 1).astype(np.uint16)  # sorted in no time
        order = np.argsort(kinds, kind="stable")
        groups = np.flatnonzero(np.diff(kinds[order])) + 1
        if len(groups) * _SAME > len(lengths):
            return False
        most = int(_SINGLE * len(lengths))
        for lines in np.split(order, groups):
            length = int(lengths[lines[0]])
            if length <= _LONGEST:
                self._of_length(block, lines, _rows(block.data, starts[lines], length))
            else:
                block.singles += [block.data[starts[at] : ends[at]] for at in lines.tolist()]
            if len(block.singles) > most:
                return False
        for line in block.singles:
            block.left |= self._may_match(line)
        return True

    def _of_length(self, block: _Block, lines: _Lines, rows: Bytes) -> None:
        """Take lines of one length."""
        known = self._known[rows.shape[1]]
        at = 0
        while len(lines):
            if at == len(known):
                if not block.new or self._count == _KNOWN:
                    break
                known.append(self._shape_of(rows[0].tobytes()))
                self._count += 1
                block.new -= 1
            shape = known[at]
            at += 1
            strange = shape.strangers(rows)
            if strange is None:
                block.take(shape, lines, rows)
                known.insert(0, known.pop(at - 1))  # perhaps the next ones', too
                return
            if not strange.all():
                block.take(shape, lines[~strange], rows[~strange])
                lines, rows = lines[strange], rows[strange]
        block.singles += [row.tobytes() for row in rows]

    def _shape_of(self, line: bytes) -> _Shape:
        told = _Line(line, self._ranks, self._words)
        texts: dict[int, _Texts] = {}
        last, left, never_zero = set[int](), set[int](), set[int]()
        for number, search in enumerate(self._searches):
            places = told.places(search)
            if places is None:
                left.add(number)
            elif places and search.last_only:
                if not search.numbers_alone or _digits_in(line, places[0]):
                    last.add(number)
            elif places:
                read = None if search.add_numbers is None else _texts(line, places[0])
                if read is None:
                    left.add(number)
                else:
                    texts[number] = read
                    never_zero.update(places[0].never_zero)
        least = np.frombuffer(line.translate(_SAME_DIGITS), np.uint8).copy()
        more = np.array([9 if byte in _DIGITS else 0 for byte in line], np.uint8)
        for at in never_zero:
            least[at], more[at] = ord("1"), 8
        for at in told.fixed:
            least[at], more[at] = line[at], 0
        return _Shape(least, more, texts, frozenset(last), frozenset(left))

    def _may_match(self, line: bytes) -> set[int]:
        """Numbers of the searches that may find something in a line without a shape."""
        plain = ESCAPE_BYTES.sub(b"", line)
        return {number for number, search in enumerate(self._searches) if search.may_match(plain)}


def _rows(block: bytes, starts: _Lines, length: int) -> Bytes:
    """The lines of one length, copied."""
    shape = (len(block) - length + 1, length)
    windows: Bytes = np.ndarray(shape, np.uint8, block, strides=(1, 1))
    return windows[starts]


def _digits_in(line: bytes, places: Places) -> bool:
    """Whether the value has any: ``nan`` is no number in any line of the shape."""
    return any(byte in _DIGITS for byte in line[slice(*places.value)])


def _texts(line: bytes, places: Places) -> _Texts | None:
    """None where the line's own value is no finite number."""
    if not math.isfinite(to_number(line[slice(*places.value)])):
        return None
    value, step = NumberAt.of(line, places.value), NumberAt.of(line, places.step)
    return _Texts(value, step, places.third)


def _add(found: Sequence[_Found], add: AddNumbers) -> bool:
    """In the order of the lines; False, and nothing, where a value is too large for a number."""
    values = np.concatenate([one.values for one in found])
    if not np.isfinite(values).all():
        return False
    steps = np.concatenate([one.steps for one in found])
    thirds = _thirds(found)
    if len(found) > 1:
        order = np.argsort(
            np.concatenate([one.lines for one in found]).astype(np.uint32), kind="stable"
        )
        values, steps = values[order], steps[order]
        if thirds is not None and thirds.count(thirds[0]) < len(thirds):
            thirds = [thirds[at] for at in order.tolist()]
    with np.errstate(over="ignore"):  # an infinite number is seen, and left out
        add(values, steps, thirds)
    return True


def _thirds(found: Sequence[_Found]) -> Sequence[bytes] | None:
    """One after the other; None where there are none."""
    if not any(one.thirds for one in found):
        return None
    own = (one.thirds or [b""] * len(one.lines) for one in found)
    return list(chain.from_iterable(own))


class _Line:
    """The first line of a shape. ``fixed``: where the digits of ranks and words are."""

    def __init__(self, line: bytes, ranks: RankFilter, words: Iterable[bytes]) -> None:
        # Where in the line the characters are that are left without escape sequences.
        self._at = list(range(len(line)))
        for match in reversed(list(ESCAPE_BYTES.finditer(line))):
            del self._at[match.start() : match.end()]
        self._plain = bytes(line[at] for at in self._at)
        self._text = self._plain.decode("utf-8", "replace")
        self._parts, found = [(0, len(self._text))], list[Place]()
        if ranks.concerns(self._plain):
            self._parts, found = ranks.cut(self._text)
        spans = [self._place(start, end) for start, end in found]
        self._ranks = {at for span in spans for at in range(*span)}
        self.fixed = self._ranks | set(self._digits_of(words))

    def _digits_of(self, words: Iterable[bytes]) -> Iterator[int]:
        """Where the digits are of what differs from one of the words in digits alone."""
        plain = self._plain.translate(_SAME_DIGITS)
        for word in words:
            digits = [at for at, byte in enumerate(word) if byte in _DIGITS]
            start = -1
            while (start := plain.find(word.translate(_SAME_DIGITS), start + 1)) >= 0:
                yield from (self._at[start + at] for at in digits)

    def places(self, search: Search) -> Sequence[Places] | None:
        """Of what the search reads of its match, empty without one; None where that is unclear."""
        if self._ranks and not self._plain.isascii():
            return None  # characters and bytes are at other places
        if not search.has_shapes:
            return None if search.may_match(self._plain) else ()
        found = [(at, search.places(self._text[at:end])) for at, end in self._parts]
        if any(places is None for _at, places in found):
            return None
        matches = [(at, match) for at, places in found for match in places or ()]
        if not matches:
            return ()
        # Texts of several matches would have to be taken in turns.
        if len(matches) > 1 or not self._plain.isascii():
            return None
        moved = [self._moved(at, match) for at, match in matches]
        return None if None in moved else [match for match in moved if match]

    def _moved(self, by: int, match: Places) -> Places | None:
        """The same places in the line; None where an escape sequence tears one."""
        ends = [(by + a, by + b) if a < b else (0, 0) for a, b in match.texts]
        places = [self._place(start, end) for start, end in ends]
        if [len(range(*place)) for place in places] != [len(range(*end)) for end in ends]:
            return None
        value, step, third = places
        return Places(value, step, third, tuple(self._at[by + at] for at in match.never_zero))

    def _place(self, start: int, end: int) -> Place:
        return (self._at[start], self._at[end - 1] + 1) if start < end else (0, 0)
