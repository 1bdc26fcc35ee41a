"""What stands below the grid where a terminal is tall: the grids of the other profiles that take
part, then everything that was measured of the case under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import inf
from typing import TYPE_CHECKING

from rich.text import Text

from backends.results.past_result import PastResult
from profiles.counted import counted
from tui.matrix_labels import column_kinds, column_labels
from tui.matrix_marks import Marks, Rows
from tui.matrix_past import result_words
from tui.text import number, plain, shorten
from tui.theme import ACCENT, MUTED, TEXT
from tui.widgets.grid_text import Figures, GridText

if TYPE_CHECKING:
    from profiles.references.reference_tables import Reference

MOST_PUBLISHED = 9
"""Lines; the likest come first, and all of them change with the row of the cursor."""
GAP = 3
"""Columns between two grids, lines between two rows of them."""


@dataclass(frozen=True, slots=True)
class OtherGrid:
    """A profile that takes part beside the one in front."""

    part: Marks
    cells: Rows
    figures: Figures

    def block(self, room: int, most: int) -> list[Text]:
        part = self.part
        marked = sum(cell.state == "marked" for row in self.cells for cell in row)
        title = f"{plain(part.profile.name)}  {counted(marked, 'case')}"
        labels, kinds = tuple(column_labels(part)), column_kinds(part)
        grid = GridText(labels, self.cells, kinds, self.figures, room)
        head = Text(shorten(f" {title}", room), f"bold {TEXT}", end="")
        return [head, *grid.lines(most - 1)]


def others_lines(others: Sequence[OtherGrid], width: int, height: int) -> list[Text]:
    """Side by side as long as there is room, then below; those that have none are named."""
    lines: list[Text] = []
    left = list(others)
    while left and height - len(lines) >= 4:
        most = height - len(lines) - (len(left) > 1)
        row: list[Text] = []
        used = 0
        while left:
            block = left[0].block(width - used, most)
            wide = max(line.cell_len for line in block)
            if used and used + wide > width:
                break
            row = _beside(row, used, block)
            used += wide + GAP
            left.pop(0)
        lines += [*row, Text(end="")]
    if left:
        names = ", ".join(plain(other.part.profile.name) for other in left)
        lines.append(Text(shorten(f" also marked: {names}", width), ACCENT, end=""))
    return lines[:height]


def _beside(row: list[Text], used: int, block: list[Text]) -> list[Text]:
    joined = []
    for left, right in zip_longest(row, block, fillvalue=Text(end="")):
        line = left.copy()
        line.append(" " * (used - line.cell_len)).append_text(right)
        joined.append(line)
    return joined


def past_lines(
    label: str, same: Sequence[PastResult], now: float, width: int, height: int
) -> list[Text]:
    """The newest first; the rest is counted."""
    words = (result_words(one, now, width - 1) for one in same)
    return _listed(f"{label} before", words, len(same), width, height)


def published_lines(
    rows: Sequence[Reference], batch: int | None, width: int, height: int
) -> list[Text]:
    """What others measured, and on what; ``batch``: of the case, where that goes without saying.
    The nearest batch size comes first."""
    words = (_published(row, batch) for row in sorted(rows, key=lambda row: _apart(row, batch)))
    title = "published: same workload, precision and number of GPUs"
    return _listed(title, words, len(rows), width, min(height, MOST_PUBLISHED))


def _apart(row: Reference, batch: int | None) -> float:
    """How many times as large the one is as the other; infinite where nobody says."""
    if not (batch and row.batch_size):
        return inf
    return max(batch, row.batch_size) / min(batch, row.batch_size)


def _published(row: Reference, batch: int | None) -> str:
    size = f", b{row.batch_size}" if row.batch_size not in (None, batch) else ""
    year = f", {row.date[:4]}" if row.date else ""
    what = f"{number(row.value)} {row.unit}{size}, {row.framework}, {row.gpu.name}"
    return f"{what}: {row.system}{year}"


def _listed(title: str, words: Iterable[str], total: int, width: int, height: int) -> list[Text]:
    """Of ``total`` lines those that have room; no more of ``words`` are made."""
    if height < 2 or not total:
        return []
    lines = [Text(shorten(f" {title}", width), f"bold {TEXT}", end="")]
    shown = total if total < height else height - 2
    lines += [Text(shorten(f" {plain(one)}", width), MUTED, end="") for one in islice(words, shown)]
    if more := total - shown:
        lines.append(Text(f" +{more} more", MUTED, end=""))
    return [*lines, Text(end="")]


def below_text(lines: Sequence[Text], width: int, height: int) -> Text:
    """All of ``height``, so that nothing is laid out anew when other lines come."""
    kept = [*lines[:height], *(Text(end="") for _ in range(height - len(lines)))]
    for line in kept:
        line.truncate(width)
    return Text("\n", end="").join(kept)
