"""The times that ranks take of their own, from the lines of a host's log as they come."""

from __future__ import annotations

import math

from profiles.cleantext import ESCAPE_BYTES
from profiles.format.measure_section import OwnTimes
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.regex.line_pattern import line_pattern
from profiles.logs.literals import required_literals


class OwnTimeReader:
    """Of one host's log; lines that no rank can have meant are left out."""

    def __init__(self, section: OwnTimes) -> None:
        self._pattern = line_pattern(section.reading)
        self._groups = tuple(self._pattern.groupindex[name] for name in ("rank", "value"))
        self._step = self._pattern.groupindex.get("step")
        self._lines: dict[int, int] = {}  # of each rank, where they do not say the step
        self._scale = section.scale
        self._literal = next(iter(required_literals(section.reading)), b"")
        self._rest = b""

    @property
    def has_steps(self) -> bool:
        return self._step is not None

    def feed(self, data: bytes) -> list[tuple[int, int, float]]:
        """(rank, step, seconds) of the lines that ended in these bytes; where lines do not say the
        step, those of a rank are counted from 1 on."""
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            self._rest = (self._rest + data)[:LINE_LIMIT]
            return []
        block, self._rest = self._rest + data[:end], data[end:][:LINE_LIMIT]
        if self._literal not in block:
            return []
        found = []
        for line in block.replace(b"\r", b"\n").split(b"\n"):
            if self._literal in line:
                found += self._in_line(ESCAPE_BYTES.sub(b"", line[:LINE_LIMIT]))
        return found

    def _in_line(self, line: bytes) -> list[tuple[int, int, float]]:
        """Two ranks may share a line, where one has not ended its own."""
        told = []
        for match in self._pattern.finditer(line.decode("utf-8", "replace")):
            rank, value = (match.group(number) or "" for number in self._groups)
            try:
                seconds = float(value) * self._scale
            except ValueError:
                continue
            if not (_is_number(rank) and len(rank) < 8 and math.isfinite(seconds)):
                continue
            number = int(rank)
            if self._step is None:
                self._lines[number] = self._lines.get(number, 0) + 1
                told.append((number, self._lines[number], seconds))
            elif _is_number(step := match.group(self._step) or "") and len(step) < 16:
                told.append((number, int(step), seconds))
        return told


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
