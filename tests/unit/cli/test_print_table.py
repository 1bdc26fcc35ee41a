"""Tables on a terminal: nothing is lost, however narrow it is."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from backends.results.render import Column
from tui.cli.shared.print_table import Rows, Said, Tone, print_on

NAMES = ("Host", "State", "Devices", "Driver", "Remarks")
WORDS = st.text("abc ", min_size=1, max_size=30).map(str.strip).filter(bool)


@given(
    st.lists(st.tuples(*[WORDS] * len(NAMES)), min_size=1, max_size=4),
    st.integers(20, 200),
)
def test_a_narrow_terminal_loses_no_character(rows: list[tuple[str, ...]], width: int) -> None:
    columns = tuple(Column(name, "left") for name in NAMES)
    out = StringIO()
    said = Rows(columns, [(Said(row[0], Tone.NAME), *row[1:]) for row in rows])
    print_on(Console(file=out, width=width, highlight=False), said)
    shown = sorted(out.getvalue().replace("\n", "").replace(" ", ""))
    assert shown == sorted("".join(("".join(NAMES), *map("".join, rows))).replace(" ", ""))
