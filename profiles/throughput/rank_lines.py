"""What the ranks of a profiled run tell in the logs of its hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from profiles.cleantext import ESCAPE_BYTES
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.regex.line_pattern import line_pattern
from profiles.logs.literals import required_literals
from profiles.throughput.rank_times import RankTime

_GROUPS = ("rank", "step", "compute", "communication", "input")


def read_rank_times(profile: Profile, logs: Iterable[Path]) -> tuple[RankTime, ...]:
    """What the ranks of a profiled run have told in its hosts' logs, the last word of each.

    Blocking. Nothing of a log that cannot be read, or of a line that no rank can have meant.
    """
    if profile.explain is None:
        return ()
    found: dict[int, RankTime] = {}
    for log in logs:
        for groups in _matches(profile.explain.reading, log):
            try:
                told = RankTime(int(groups[0]), *map(float, groups[1:]))
            except ValueError:
                continue
            found[told.rank] = told
    return tuple(found[rank] for rank in sorted(found))


def _matches(reading: str, log: Path) -> Iterator[tuple[str, ...]]:
    pattern = line_pattern(reading)
    order = [pattern.groupindex[name] for name in _GROUPS]
    literals = required_literals(reading)
    try:
        with log.open("rb") as lines:
            for raw in iter(lambda: lines.readline(LINE_LIMIT), b""):
                line = ESCAPE_BYTES.sub(b"", raw) if b"\x1b" in raw else raw
                if not literals or literals[0] in line:
                    for match in pattern.finditer(line.decode("utf-8", "replace")):
                        yield tuple(match.group(number) or "" for number in order)
    except OSError:
        return
