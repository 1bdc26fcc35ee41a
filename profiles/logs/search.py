"""One pattern over blocks of lines, as cheaply as the pattern and the block allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from profiles.format.line_reading import LineReading
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.regex.line_pattern import line_pattern
from profiles.logs.json_fields import NOWHERE, JsonFields, Places
from profiles.logs.lines import has_longer, lines_backwards, lines_with
from profiles.logs.literals import digits_that_count, required_literals, stays_in_line
from profiles.logs.prefilter import Narrower
from profiles.logs.ranks import RankFilter
from profiles.logs.sinks import Column, Sink

_END = 16384  # where a log's last match of a pattern often is
_SAME_DIGITS = bytes.maketrans(b"123456789", b"000000000")


class Search:
    """One reading's pattern, where its matches go, and ``ranks``: whose output counts."""

    def __init__(self, reading: LineReading, ranks: RankFilter, sink: Sink) -> None:
        pattern = reading.reading
        literals = required_literals(pattern)
        self._literal = literals[0] if literals else None
        self._literals = tuple(literal.decode() for literal in literals)
        self._narrower = Narrower(literals)
        self._ranks = ranks
        self._sink = sink
        self.last_only = sink.last_only
        self.numbers_alone = sink.numbers_alone
        self.add_numbers = sink.add_numbers
        self._pattern = line_pattern(pattern)
        self._objects = JsonFields(reading.paths, reading.where) if reading.paths else None
        groups = self._pattern.groupindex
        third = next((name for name in ("end", "unit") if name in groups), "time")
        names = [name for name in ("json", "value", "step", third) if name in groups]
        self._numbers = tuple(groups[name] for name in names)
        # Of those, where value, step and time are.
        self._order = tuple(
            at if self._objects else names.index(name) if name in groups else None
            for at, name in enumerate(("value", "step", third))
        )
        found_in_nothing = self._pattern.search("") is not None
        self.digits_that_count = None if found_in_nothing else digits_that_count(pattern)
        self._digitless = [literal.translate(_SAME_DIGITS) for literal in literals]
        whole = stays_in_line(pattern) and self._pattern.longest
        self._bytes_pattern = re.compile(pattern.encode(), re.MULTILINE) if whole else None
        self._text_pattern = re.compile(pattern, re.ASCII | re.MULTILINE) if whole else None

    @property
    def literal(self) -> bytes | None:
        """What is in every line that matches; None where nothing is known to be."""
        return self._literal

    @property
    def has_shapes(self) -> bool:
        """Whether it finds the same in lines that differ in digits alone, but for words' digits."""
        return self.digits_that_count is not None

    def dense(self, block: bytes) -> bool:
        """Whether a large part of the block's lines may match."""
        return self._narrower.dense(block)

    def run(self, block: bytes) -> None:
        """Search a block of lines that ends where a line ends."""
        if self.last_only:
            end = block[block.rfind(b"\n", 0, -_END) + 1 :] if len(block) > _END else block
            if self.last(end) or end is block:
                return
        lines = self._narrower.narrow(block)
        if self.last_only:
            self.last(lines)
            return
        if self._bytes_pattern is None or self._text_pattern is None or self._costly(lines):
            found: list[Any] = []
            for _start, line in lines_with(lines, self._literal):
                found += self._line(line)
            self._take(found)
            return
        if self._ranks.concerns(lines):
            lines = self._ranks.select(lines)
        if lines.isascii():
            self._take(self._bytes_pattern.findall(lines))
        else:
            self._take(self._text_pattern.findall(lines.decode("utf-8", "replace")))

    def _costly(self, lines: bytes) -> bool:
        """Whether a line is longer than the engine that takes blocks should be given."""
        longest = self._pattern.longest
        return longest < LINE_LIMIT and has_longer(lines, longest)

    def last(self, block: bytes) -> bool:
        """Hand over the last acceptable match; False without one."""
        for line in lines_backwards(block, self._literal):
            for row in reversed(self._each(self._line(line))):
                fields = self._fields(row)
                if fields is not None and self._sink.add(*fields):
                    return True
        return False

    def _fields(self, row: Any) -> tuple[str, str, str] | None:
        """Value, step and time of what findall found; None where its object does not count."""
        if self._objects is not None:
            return self._objects.fields(row)
        texts = (row,) if isinstance(row, str) else [row[number - 1] for number in self._numbers]
        value, step, time = ("" if at is None else texts[at] for at in self._order)
        return value, step, time

    def _each(self, found: Sequence[Any]) -> Sequence[Any]:
        """With the objects that follow another one on their line: lines get glued together."""
        if self._objects is None:
            return found
        texts: list[str] = []
        for row in found:
            text: str | None = row if isinstance(row, str) else row.decode()
            while text:
                texts.append(text)
                for literal in self._literals:
                    if text.find(literal, 1) < 0:
                        text = None
                        break
                else:
                    text = next(iter(self._pattern.findall(text[1:])), None)
        return texts

    def _line(self, line: bytes) -> list[str] | list[tuple[str, ...]]:
        text = line.decode("utf-8", "replace")
        parts = self._ranks.parts(text) if self._ranks.concerns(line) else [text]
        return [row for part in parts for row in self._pattern.findall(part)]

    def _take(self, found: Sequence[Any]) -> None:
        """What findall found (Any: the texts of the only group, or tuples of all groups)."""
        if not found:
            return
        columns: Sequence[Column] = [found]
        if self._pattern.groups > 1:  # picking columns costs a fifth of zip(*found)
            columns = [list(map(itemgetter(number - 1), found)) for number in self._numbers]
        if self._objects is not None:
            texts = self._each(columns[0])
            objects = [fields for text in texts if (fields := self._objects.fields(text))]
            if not objects:
                return
            columns = list(zip(*objects, strict=True))
        values, steps, times = (None if at is None else columns[at] for at in self._order)
        self._sink.add_all(values or (), steps, times)

    def may_match(self, line: bytes) -> bool:
        """Whether the line, or one with other digits, has what every match must contain."""
        plain = line.translate(_SAME_DIGITS)
        return all(literal in plain for literal in self._digitless)

    def places(self, text: str) -> Sequence[Places] | None:
        """Of each match in a part of a line, of a pattern that has shapes.

        None where a text with other digits may have other ones.
        """
        found = list(self._pattern.finditer(text))
        if self._objects is None:
            spans = [[match.span(number) for number in self._numbers] for match in found]
            return [
                Places(*(NOWHERE if at is None else own[at] for at in self._order)) for own in spans
            ]
        told: list[Places] = []
        for match in found:
            start, end = match.span(self._numbers[0])
            if all(text.find(literal, start + 1, end) >= 0 for literal in self._literals):
                return None  # perhaps another object
            places = self._objects.places(text[start:end])
            if places is None:
                return None
            told += [one.moved(start) for one in places]
        return told
