"""Rows of a list that are marked with Space or `*`: their sign, and how many they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from functools import lru_cache
from typing import TypeVar

from rich.text import Text

from tui.text import cell
from tui.theme import ACCENT
from tui.widgets.filter_table import TablePanel
from tui.widgets.keyed_table import Column

MARK = Column("mark", "", 3, still=True)
NONE_IS_MARKED = "none is marked"
NO_ROW = "no row has the words of the filter"
UNMARK = "Unmark these"
"""What the key that marks all does where all are."""
Key = TypeVar("Key")


@lru_cache
def mark_cell(*, marked: bool) -> Text:
    return cell("[x]", ACCENT) if marked else cell("")


def all_marked(marked: Mapping[Key, None], keys: Iterable[Key]) -> bool:
    """That there are any, and each has a mark."""
    return bool(asked := {*keys}) and asked <= marked.keys()


def toggle_marks(marked: MutableMapping[Key, None], keys: Iterable[Key]) -> None:
    """Mark all of them, or take their marks away where all have one."""
    if all_marked(marked, keys := tuple(keys)):
        for key in keys:
            marked.pop(key, None)
    else:
        marked.update(dict.fromkeys(keys))


def hidden_marks(marked: Collection[str], panel: TablePanel) -> int:
    """How many the filter leaves out. ``marked``: keys of the panel's rows."""
    return len({*marked} - {*panel.table.shown_keys}) if panel.filter_text else 0


def marks_words(marked: Collection[str], panel: TablePanel) -> str:
    """For a title: `` · 3 marked, 2 of them hidden``; "" where none is."""
    if not marked:
        return ""
    hidden = hidden_marks(marked, panel)
    of_them = "" if hidden == len(marked) else f"{hidden} of them "
    return f" · {len(marked)} marked" + f", {of_them}hidden" * bool(hidden)
