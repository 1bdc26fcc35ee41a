"""The line of the pages, which has the latest of a campaign's notes."""

from __future__ import annotations

from unittest.mock import PropertyMock, patch

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Size

from tui.widgets.header import Tabs


@given(
    note=st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=200),
    more=st.integers(0, 12),
    width=st.sampled_from([80, 100, 120, 160]),
)
@settings(deadline=None, max_examples=60)
def test_the_line_of_the_pages_says_how_many_notes_more_there_are_and_where(
    note: str, more: int, width: int
) -> None:
    with patch.object(Tabs, "size", PropertyMock(return_value=Size(width, 1))):
        tabs = Tabs("results")
        tabs.set_reactive(Tabs.note, note)
        tabs.set_reactive(Tabs.more, more)
        line = tabs.render().plain.rstrip()
    assert cell_len(line) <= width
    assert line.endswith(f" · N: {more} more") is (more > 0)
    if f"▲ {note}" not in line:
        assert "…" in line
        assert " · N" in line
