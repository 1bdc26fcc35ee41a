"""Tables on a terminal: nothing is lost, however narrow it is."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from backends.results.render import Column
from tests.unit.cli.conftest import FINISHED, Cli, OnTerminal, assigned, planned, succeeded
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


def test_results_are_aligned_on_a_terminal_and_say_how_far_they_can_be_trusted(
    cli: Cli, campaign: Callable[..., Path], terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("forced", planned("a"), assigned("a"), succeeded("a"), FINISHED)
    journal = path / "events.jsonl"
    over = b'"forced":true,"overridden":["node1: in use: alice"]'
    text = journal.read_bytes().replace(b'"forced":false,"overridden":[]', over)
    assert over in text
    journal.write_bytes(text)
    for words in (("report", "forced"), ("compare", "forced", "forced")):
        shown = terminal(*words, NO_COLOR="1")
        assert shown.end() == 0, shown.shown
        shown.shows(b"")
        text = shown.shown.decode()
        assert "| --" not in text
        assert "---:" not in text
        if words[0] == "report":
            assert "1n1g, grade D" in text
            assert "forced" in text
    piped = cli("report", "forced")
    assert "| ---: |" in piped.out
    assert "grade D" in piped.err
