"""What somebody who mistyped a name is likely to have meant."""

from __future__ import annotations

from collections.abc import Iterable

LETTERS_A_SLIP = 4
"""Of a word: a slip for so many of them, one at least. "export" is two away from "report"."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that takes the fewest slips, without regard to case, or that ``word`` is the
    beginning of; None: there is none near."""
    meant = word.casefold()
    most = max(1, len(meant) // LETTERS_A_SLIP)
    found = [(_slips(meant, name.casefold()), name) for name in known]
    near = [(slips, name) for slips, name in found if slips <= most]
    begun = [(len(name), name) for _, name in found if name.casefold().startswith(meant)]
    return min(near or begun, default=(0, None))[1] if len(meant) > 1 else None


def _slips(one: str, other: str) -> int:
    """Letters left out, put in, taken for others or swapped (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, there in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there))
            if i > 1 < j and letter == other[j - 2] and there == one[i - 2]:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ ", did you mean 'node1'?", to stand behind what is wrong; empty where nothing is near."""
    near = nearest(word, known)
    return f", did you mean {near!r}?" if near is not None else ""
