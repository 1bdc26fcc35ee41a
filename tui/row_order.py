"""The order of a table's rows, chosen by key: by the next of its columns, the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

T = TypeVar("T")

OUT_OF_SIGHT = "the list is out of sight; z All panels"
"""Why it is not put in another order; or not turned round, as it stands as it came."""
AS_THE_CASES = "the list is in the order of the cases"


@dataclass(frozen=True, slots=True)
class RowOrder(Generic[T]):
    """``sorts``: by name, what is compared of each; None: they stay as they come. ``figures``:
    those of which the largest comes first, until they are reversed."""

    sorts: Mapping[str, Callable[[T], Any] | None]  # Any: what can be put in order
    by: str
    descending: bool = False
    figures: frozenset[str] = frozenset()

    @property
    def next(self) -> RowOrder[T]:
        names = list(self.sorts)
        by = names[(names.index(self.by) + 1) % len(names)]
        return replace(self, by=by, descending=by in self.figures)

    @property
    def reversed(self) -> RowOrder[T]:
        return replace(self, descending=not self.descending)

    @property
    def given(self) -> bool:
        """They stay as they come."""
        return self.sorts[self.by] is None

    @property
    def words(self) -> str:
        return "" if self.given else f"by {self.by} {'▾' if self.descending else '▴'}"

    @property
    def behind_title(self) -> str:
        """The same behind what a list is called: ``" · by state ▴"``."""
        return "" if self.given else f" · {self.words}"

    def of(self, items: Iterable[T]) -> list[T]:
        """Those without a value come last, whichever way round."""
        found = list(items)
        if (value := self.sorts[self.by]) is None:
            return found
        told = [item for item in found if value(item) is not None]
        rest = [item for item in found if value(item) is None]
        return [*sorted(told, key=value, reverse=self.descending), *rest]
