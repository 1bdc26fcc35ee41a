"""Scroll bars leave no mark that reads as one of the page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.scrollbar import ScrollBar

from tests.console.conftest import console
from tests.console.fakes import FakeWorkspace
from tui.scroll_bars import WholeCells


@given(st.integers(1, 200), st.integers(1, 500), st.floats(0, 1))
def test_a_bar_across_has_no_characters_and_begins_and_ends_where_its_page_does(
    size: int, more: int, share: float
) -> None:
    whole = size + more
    for at, end in ((0.0, 0), (share * more, None), (float(more), -1)):
        drawn = WholeCells.render_bar(size, whole, size, at, vertical=False).segments
        cells = [one for one in drawn if one != Segment.line()]
        assert len(cells) == size
        assert not "".join(one.text for one in cells).strip()
        thumb = [bool(one.style and one.style.reverse) for one in cells]
        assert any(thumb)
        assert end is None or thumb[end]


async def test_the_bars_of_the_console_are_these(workspace: FakeWorkspace) -> None:
    async with console(workspace):
        assert ScrollBar.renderer is WholeCells
