"""Which kinds of scaling are columns of the matrix: weak, and strong under each global batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from rich.text import Text
from textual import on
from textual.widgets import Static

from profiles.case_tag import parse_tag
from profiles.counted import counted
from profiles.format.case_matrix import global_batches
from tui.matrix_marks import Marks
from tui.screens.editors import MarkList
from tui.text import cell, plain
from tui.theme import MUTED, TEXT, WARN
from tui.widgets.keyed_table import Column, KeyedTable

SAID = 1
"""Cases whose reason the dialog has room for; those of the others stand on the grid."""

WEAK = "weak"
WEAK_ABOUT = "each device keeps its batch size, however many there are"
STRONG_ABOUT = "all devices share one batch, however many there are"


class ScalingEditor(MarkList[Marks]):
    """Offers every global batch that cases of two sizes can share; others can be written."""

    WRITE_HINT = "global batches, such as 256,1024"

    def __init__(self, marks: Marks) -> None:
        super().__init__(
            f"Scaling · {marks.profile.name}",
            "",
            (Column("kind", "Scaling", 8), Column("batch", "Batch", 16), Column("about", "", None)),
        )
        self._marks = marks
        self._totals = dict.fromkeys([*offered(marks), *marks.totals])
        self.marked = {str(total) for total in marks.totals} | ({WEAK} if marks.weak else set())

    def entries(self) -> Iterable[tuple[str, tuple[Text, ...]]]:
        sizes = ", ".join(str(size) for size in self._marks.shown["batch_size"])
        yield WEAK, (cell("weak", "bold"), cell(sizes), cell("per device", MUTED))
        for total in sorted(self._totals):
            shares = self._marks.shares(total)
            here = sum(isinstance(share, int) for share in shares.values())
            about = f"in all, in {here} of {counted(len(shares), 'case')}"
            yield str(total), (cell("strong", "bold"), cell(total), cell(about, MUTED))

    @on(KeyedTable.Moved)
    def _describe(self) -> None:
        key = self.query_one(KeyedTable).current_key
        if key is None:
            return
        strong = key != WEAK
        text = Text(f"{key.capitalize()} scaling: {WEAK_ABOUT}." if not strong else "", MUTED)
        if not self._totals:
            text.append(f"\n{none_offered(self._marks)}", WARN)
        if strong:
            text = shares_text(self._marks.shares(int(key)))
        self.query_one(".message", Static).update(text)

    def written(self, text: str) -> None:
        totals = global_batches([word for word in text.replace(",", " ").split() if word])
        for total in totals:
            self._marks.shares(total)
        self._totals.update(dict.fromkeys(totals))
        self.marked |= {str(total) for total in totals}

    def outcome(self) -> Marks:
        return self._marks.with_scaling(
            weak=WEAK in self.marked, totals=[int(key) for key in self.marked - {WEAK}]
        )


def offered(marks: Marks) -> list[int]:
    """Global batches under which there is something to compare: cases of two sizes, or more."""
    choices = marks.profile.parameters["batch_size"].choices
    devices = {nodes * gpus for nodes, gpus in map(parse_tag, marks.tags)}
    totals = {size * number for size, number in product(choices, devices) if isinstance(size, int)}
    return [total for total in sorted(totals) if _sizes(marks.shares(total)) > 1]


def none_offered(marks: Marks) -> str:
    """Why there is no strong scaling to choose."""
    sizes = marks.profile.parameters["batch_size"].choice_texts
    name = plain(marks.profile.name)
    if not sizes:
        return f"No strong scaling: {name} names no batch sizes to share a batch out in."
    taken = plain(" or ".join(sizes))
    return (
        f"No strong scaling: {name} has no two cases on different numbers of devices "
        f"whose batch in all is the same with {taken} per device."
    )


def _sizes(shares: Mapping[str, int | str]) -> int:
    return len({share for share in shares.values() if isinstance(share, int)})


def shares_text(shares: Mapping[str, int | str]) -> Text:
    """What each device gets, ``1n1g 128, 1n2g 2n1g 64``; below it, what is left out and why."""
    text = Text(f"Strong scaling: {STRONG_ABOUT}.\n", MUTED)
    tags: dict[int, list[str]] = {}
    for tag, share in shares.items():
        if isinstance(share, int):
            tags.setdefault(share, []).append(tag)
    parts = (f"{' '.join(tags[share])} {share}" for share in sorted(tags, reverse=True))
    text.append(f"per device: {', '.join(parts)}", TEXT)
    left_out = [(tag, why) for tag, why in shares.items() if isinstance(why, str)]
    for tag, why in left_out[:SAID]:
        text.append(f"\n▲ left out {tag}: {plain(why)}", WARN)
    if more := [tag for tag, _ in left_out[SAID:]]:
        text.append(f", {' '.join(more)} alike", WARN)
    return text
