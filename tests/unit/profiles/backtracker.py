"""A backtracking matcher that counts its steps: what :mod:`re` does, without its shortcuts."""

from __future__ import annotations

from collections.abc import Callable

from profiles.format.regex.parse_tree import MANY, WORD, Item, Items, chars_of, items_of, ops

Rest = Callable[[int], bool]


class TooManyStepsError(Exception):
    """More than the limit."""


class Backtracker:
    """Searches one text. ``steps``: characters and edges looked at, and repeats entered."""

    def __init__(self, pattern: str, text: str, limit: float) -> None:
        self._items, self._flags = items_of(pattern)
        self._text = text
        self._limit = limit
        self._groups: dict[int, str] = {}
        self.steps = 0

    def search_all(self) -> list[tuple[int, int]]:
        """The spans that ``re.finditer`` finds."""
        spans: list[tuple[int, int]] = []
        start = 0
        while start <= len(self._text):
            end = self._match_at(start)
            if end is None:
                start += 1
                continue
            spans.append((start, end))
            start = end if end > start else start + 1
        return spans

    def _match_at(self, start: int) -> int | None:
        found: list[int] = []

        def accept(end: int) -> bool:
            found.append(end)
            return True

        self._groups.clear()
        return found[0] if self._all(self._items, 0, start, accept) else None

    def _all(self, items: Items, index: int, at: int, rest: Rest) -> bool:
        if index == len(items):
            return rest(at)
        return self._one(items[index], at, lambda end: self._all(items, index + 1, end, rest))

    def _one(self, item: Item, at: int, rest: Rest) -> bool:
        self.steps += 1
        if self.steps > self._limit:
            raise TooManyStepsError
        code, argument = item
        mask = chars_of(item, bool(self._flags & 2))
        if mask is not None:
            taken = at < len(self._text) and mask >> min(ord(self._text[at]), 128) & 1
            return bool(taken) and rest(at + 1)
        if code is ops.SUBPATTERN:
            number, _, _, inner = argument

            def close(end: int) -> bool:
                before = self._groups.get(number)
                self._groups[number] = self._text[at:end]
                if rest(end):
                    return True
                if before is None:
                    del self._groups[number]
                else:
                    self._groups[number] = before
                return False

            return self._all(inner, 0, at, rest if number is None else close)
        if code is ops.BRANCH:
            return any(self._all(branch, 0, at, rest) for branch in argument[1])
        if code is ops.MAX_REPEAT or code is ops.MIN_REPEAT:
            return self._repeat(argument, 0, at, rest, greedy=code is ops.MAX_REPEAT)
        if code is ops.AT:
            return self._edge(argument, at) and rest(at)
        if code is ops.ASSERT:
            return self._all(argument[1], 0, at, lambda _end: True) and rest(at)
        if code is ops.ASSERT_NOT:
            return not self._all(argument[1], 0, at, lambda _end: True) and rest(at)
        if code is ops.GROUPREF:
            text = self._groups.get(argument)
            if text is None or not self._text.startswith(text, at):
                return False
            self.steps += len(text)
            return rest(at + len(text))
        raise AssertionError(code)

    def _repeat(
        self, argument: tuple[int, int, Items], count: int, at: int, rest: Rest, *, greedy: bool
    ) -> bool:
        low, high, body = argument
        self.steps += 1

        def again() -> bool:
            if high is not MANY and count >= high:
                return False
            return self._all(
                body,
                0,
                at,
                lambda end: (
                    (end > at or count < low)
                    and self._repeat(argument, count + 1, end, rest, greedy=greedy)
                ),
            )

        if count < low:
            return again()
        return again() or rest(at) if greedy else rest(at) or again()

    def _edge(self, kind: object, at: int) -> bool:
        if kind is ops.AT_BEGINNING:
            return at == 0
        if kind is ops.AT_END:
            return at == len(self._text)
        sides = [
            0 <= side < len(self._text) and bool(WORD >> min(ord(self._text[side]), 128) & 1)
            for side in (at - 1, at)
        ]
        if kind is ops.AT_BOUNDARY:
            return sides[0] != sides[1]
        return sides[0] == sides[1] and self._text != ""  # as in Python before 3.14
