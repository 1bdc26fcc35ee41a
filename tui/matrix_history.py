"""Marks as they were: what was changed on the matrix, to be taken back step by step."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass

from tui.matrix_marks import Marks

MOST_STEPS = 100
"""Of one profile; the oldest are forgotten."""

Repeats = tuple[int | Mapping[str, int] | None, bool]
"""How many are asked for, by profile where unlike, and whether they go on until it is known."""

_PARTS = (
    ("marks", ("wanted",)),
    ("cases", ("tags",)),
    ("values", ("shown",)),
    ("scaling", ("weak", "totals")),
    ("settings", ("settings",)),
)


@dataclass(frozen=True, slots=True)
class Step:
    """What stood before a change. ``repeats``: where they were changed with the marks."""

    part: Marks
    repeats: Repeats | None = None


class MarksHistory:
    """Every profile's own changes, in memory alone."""

    def __init__(self) -> None:
        self._steps: dict[str, deque[Step]] = defaultdict(lambda: deque(maxlen=MOST_STEPS))

    def add(self, before: Marks, after: Marks, repeats: Repeats | None = None) -> None:
        """``repeats``: those before, where they were changed, too. What changes nothing is none."""
        if before != after or repeats is not None:
            self._steps[before.profile.name].append(Step(before, repeats))

    def __contains__(self, profile: str) -> bool:
        return bool(self._steps.get(profile))

    def pop(self, profile: str) -> Step:
        """The last one of a profile that has some; it is forgotten."""
        return self._steps[profile].pop()


def restored_words(step: Step, now: Marks, *, repeats: bool) -> str:
    """ "taken back: marks, values": what of ``now`` the step restores, and whether its repeats; of
    one that restores nothing, that."""
    words = [
        word
        for word, names in _PARTS
        if any(getattr(step.part, name) != getattr(now, name) for name in names)
    ]
    if repeats:
        words.append("repeats")
    if words:
        return f"taken back: {', '.join(words)}"
    since = ": the repeats were changed since" if step.repeats is not None else ""
    return f"nothing of it is left to take back{since}"
