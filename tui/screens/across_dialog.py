"""Which parameters may differ between two cases that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from backends.results.paired_cases import run_keys
from profiles.errors import DlperfError, SelectionError
from profiles.scalars import scalar_text
from tui.screens.editors import MarkList
from tui.side_by_side import Side, varying_parameters
from tui.text import cell
from tui.widgets.keyed_table import Column


class AcrossList(MarkList[tuple[str, ...]]):
    """Those that differ between the cases that were read; the result are those that are marked."""

    WRITE_HINT = "their names, such as compile graphs"

    def __init__(self, read: Sequence[Side], across: Iterable[str]) -> None:
        words = "Cases are compared that are the same but for what is marked here."
        columns = (Column("name", "Parameter", 20, most=32), Column("values", "Values", None))
        super().__init__("Across", words, columns)
        self._needs_one = len(read) == 1
        keys = run_keys(run for side in read for run in side.runs)
        self._values: dict[str, dict[str, None]] = {}
        for name in varying_parameters(read):
            own = [dict(parameters).get(name) for _, _, parameters in keys]
            self._values[name] = {scalar_text(value): None for value in own if value is not None}
        self.marked = {*across} & {*self._values}

    def entries(self) -> Iterable[tuple[str, tuple[Text, ...]]]:
        for name, values in self._values.items():
            yield name, (cell(name), cell(", ".join(values)))

    def written(self, text: str) -> None:
        names = text.replace(",", " ").split()
        for name in names:
            if name not in self._values:
                raise SelectionError(
                    f"{name!r} is none of them", remedy=f"there are {', '.join(self._values)}"
                )
        self.marked = {*names}

    def outcome(self) -> tuple[str, ...]:
        """Raises DlperfError: none, where there is but one campaign."""
        if self._needs_one and not self.marked:
            raise DlperfError("of one campaign there is nothing else to compare", remedy="mark one")
        return tuple(name for name in self._values if name in self.marked)
