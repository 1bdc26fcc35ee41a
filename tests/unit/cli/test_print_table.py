"""Tables on a terminal: nothing is lost, however narrow it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from backends.hosts.probe import parse_probe, snapshot_of
from backends.inventory.host_entry import Host
from backends.results.escaping import md_text
from backends.results.publish import LAYOUTS
from backends.results.render import Align, Column, Link, Table
from tests.unit.cli.conftest import FINISHED, Cli, OnTerminal, assigned, planned, succeeded
from tui.cli import main
from tui.cli.shared.host_rows import print_hosts
from tui.cli.shared.print_table import Rows, Said, Tone, print_on, print_rows, print_tables

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


class OnTty(StringIO):
    def isatty(self) -> bool:
        return True


SPECIAL = st.text("ab1-[]*_<>|&~$#.:", max_size=12).map("v100*[1-2]{}".format)


@given(cell=SPECIAL, title=SPECIAL, note=SPECIAL, heading=SPECIAL)
@pytest.mark.parametrize("out", [OnTty, StringIO])
def test_what_is_escaped_in_a_pipe_is_as_it_is_on_a_terminal(
    out: type[StringIO], cell: str, title: str, note: str, heading: str
) -> None:
    columns = (Column(heading, "left"), Column(f"{heading}b", "left"))
    rows = ((cell, note), (note, cell))
    facts = parse_probe(b"@@dlperf:begin\n1\n@@dlperf:cpus\n2\n@@dlperf:end\n1\n", 1.0, 1.0)
    host = snapshot_of(Host(title), replace(facts, cpu_model=cell, users=(note,)))
    table = Table(title, columns, rows, caption=note, notes=(cell,), links=(Link(cell, "logs/a"),))
    printed: tuple[tuple[Callable[[], None], tuple[str, ...]], ...] = (
        (lambda: print_rows(Rows(columns, rows)), (heading, cell, note)),
        (lambda: print_tables([table], ((title,), (note,))), (heading, cell, title, note)),
        (lambda: print_hosts([replace(host, reason=note)], wide=True), (title, cell, note)),
    )
    for show, texts in printed:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "10000")
            patch.setenv("NO_COLOR", "1")
            patch.setattr(sys, "stdout", said := out())
            show()
        shown = re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue())
        assert ("\\" in shown) is (out is StringIO), shown
        assert all((text if out is OnTty else md_text(text)) in shown for text in texts), shown


NONE_OF_IT = ("llm", "mlperf", "collectives")
"""Layouts that have no word of the campaign below that needs an escape."""
OF_IT = [name for name, one in LAYOUTS.items() if one.tables and name not in NONE_OF_IT]
TABLES = (
    "status",
    "status new",
    "campaigns ls",
    "compare old new",
    "history old new",
    "history old new --wide",
    *(f"report new --lang {lang} --layout {name}" for name in OF_IT for lang in ("en", "zh")),
)


@pytest.mark.parametrize("words", TABLES)
def test_no_table_of_the_command_line_has_escapes_on_a_terminal(
    cli: Cli, campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    for name in ("old", "new"):
        run = replace(planned("a"), nodes=2, parameters={"mode": "a*b|c[0]"})
        end = succeeded("a")
        campaign(name, run, assigned("a", "v100-1", "v100-2"), end, FINISHED)
        cli("campaigns", "note", name, "of v100-[1-2], *all* of <them>")
    monkeypatch.setenv("COLUMNS", "200")
    for out in (OnTty(), StringIO()):
        monkeypatch.setattr(sys, "stdout", out)
        main([*words.split(), "--campaigns", str(cli.campaigns)])
        assert ("\\" in out.getvalue()) is not out.isatty(), out.getvalue()


WHOLE = st.text("abc", min_size=1, max_size=12)
SAID = st.lists(WHOLE, min_size=1, max_size=6).map(" ".join)
RANKS = (0, 2, 0, 1, 0)


@given(
    st.lists(st.tuples(*[SAID | st.just("")] * len(NAMES)), min_size=1, max_size=4),
    st.lists(st.sampled_from(["left", "right"]), min_size=5, max_size=5),
    st.integers(20, 200),
)
def test_a_narrow_terminal_breaks_no_word_and_says_which_columns_it_has_no_room_for(
    rows: list[tuple[str, ...]], align: list[Align], width: int
) -> None:
    columns = tuple(map(Column, NAMES, align, RANKS))
    out = StringIO()
    print_on(Console(file=out, width=width, highlight=False), Rows(columns, rows))
    table, _, left_out = out.getvalue().partition("no room for")
    shown = table.split()
    told = [name for name in NAMES if name in left_out]
    kept = [number for number, name in enumerate(NAMES) if name in shown]
    words = [word for row in rows for number in kept for word in row[number].split()]
    assert sorted(shown) == sorted([*words, *(NAMES[number] for number in kept)])
    for number, (name, rank) in enumerate(zip(NAMES, RANKS, strict=True)):
        empty = not any(row[number] for row in rows)
        assert (name in told) == (number not in kept and not empty)
        assert number in kept or rank or (name == NAMES[-1] and empty)
    widest = max(len(line.rstrip()) for line in table.splitlines())
    ranked = [number for number in kept if RANKS[number]]
    assert widest <= width or not ranked  # nothing is wider while something can be left out
    if width == 200 and not told:
        assert "\n\n" not in table


BELOW = (
    Column("Case", "left"),
    Column("History", "left", rank=1, whole=True, below=True),
    Column("Change"),
    Column("Hosts", "left", rank=2),
    Column("Why", "left", below=True),
)
OF_A_CASE = ("1n1g", "▁▁▁▁│▇▇▇▇", "+3.0%", "node[1-4]", "the level is another one since")


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "Case  History    Change  Hosts      Why",
                "1n1g  ▁▁▁▁│▇▇▇▇   +3.0%  node[1-4]  the level is another one since",
                "2n8g                  –  node5",
            ],
        ),
        (
            40,
            [
                "Case  History    Change  Hosts",
                "1n1g  ▁▁▁▁│▇▇▇▇   +3.0%  node[1-4]",
                "  Why: the level is another one since",
                "2n8g                  –  node5",
            ],
        ),
        (
            24,
            [
                "Case  History    Change",
                "1n1g  ▁▁▁▁│▇▇▇▇   +3.0%",
                "  Why: the level is",
                "  another one since",
                "2n8g                  –",
            ],
        ),
        (
            16,
            [
                "Case  Change",
                "1n1g   +3.0%",
                "  History:",
                "  ▁▁▁▁│▇▇▇▇",
                "  Why: the level",
                "  is another one",
                "  since",
                "2n8g       –",
            ],
        ),
    ],
)
def test_reasons_stand_below_their_row_before_anything_is_left_out_or_squeezed(
    width: int, lines: list[str]
) -> None:
    out = StringIO()
    rows = Rows(BELOW, [OF_A_CASE, ("2n8g", "", "–", "node5", "")])
    print_on(Console(file=out, width=width, highlight=False), rows)
    shown, _, left_out = out.getvalue().partition("no room for")
    assert [line.rstrip() for line in shown.splitlines()] == lines
    assert bool(left_out) == (width < 40)


@given(st.lists(st.sampled_from(["cpu-smoke", "torch-gpt"]), min_size=1, max_size=6))
def test_what_goes_below_rows_and_is_the_same_in_each_is_said_once(profiles: list[str]) -> None:
    out = StringIO()
    columns = (Column("run", "left", whole=True), Column("profile", "left", rank=3, below=True))
    rows = Rows(columns, [(f"r{n} of a long name", one) for n, one in enumerate(profiles)])
    print_on(Console(file=out, width=24, highlight=False), rows)
    shown = out.getvalue()
    once = len(profiles) > 1 and len({*profiles}) == 1
    assert shown.count("profile of each: ") == once
    for one in {*profiles}:
        assert shown.count(one) == (1 if once else profiles.count(one))


PARTS = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=12)


@given(st.lists(PARTS.map("/".join), min_size=1, max_size=6), st.integers(20, 100))
def test_what_stands_below_a_row_breaks_a_path_that_has_no_room_between_its_names_alone(
    words: list[str], width: int
) -> None:
    out = StringIO()
    rows = Rows(BELOW, [("2n8g", "", "–", "node5", " ".join(["x" * width, *words]))])
    print_on(Console(file=out, width=width, highlight=False), rows)
    shown = out.getvalue().partition("x" * (width - 2))[2].partition("no room for")[0]
    assert re.split(r"[/\s]+", shown.strip())[1:] == "/".join(words).split("/")
    assert max(map(cell_len, out.getvalue().splitlines())) <= width


EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
LONG = "2026-11-21-resnet50-b256-amp"


def test_campaigns_and_comparisons_have_whole_words_in_80_columns(
    cli: Cli, campaign: Callable[..., Path], terminal: Callable[..., OnTerminal]
) -> None:
    for name in (f"{LONG}-before", f"{LONG}-after"):
        campaign(name, planned("a"), assigned("a"), succeeded("a"), FINISHED)
        cli("campaigns", "tag", name, "baseline", "before-the-upgrade")
        cli("campaigns", "note", name, "what we promised to everybody in november")
    listed = terminal("campaigns", "ls", NO_COLOR="1", COLUMNS="80")
    compared = terminal("compare", f"{LONG}-before", f"{LONG}-after", NO_COLOR="1", COLUMNS="80")
    for one, needed in (
        (listed, [f"{LONG}-before", f"{LONG}-after", "finished", "november", "1/1"]),
        (compared, ["1n1g", "100.00", "inconclusive", "candidate", "verdict"]),
    ):
        assert one.end() == 0, one.shown
        said = re.sub(r"\x1b\[[\d;]*m", "", one.shown.decode()).splitlines()
        of_any_length = str(cli.campaigns), "warning: "  # a path and a warning stay whole
        lines = [line for line in said if not any(one in line for one in of_any_length)]
        words = " ".join(lines).split()
        for word in needed:
            assert word in words, one.shown
        assert max(map(len, lines)) <= 80, one.shown
    assert re.search(
        rb"no room for size, .*begun, measures: a wider terminal or a pipe", listed.shown
    )
    of_a_row = re.search(rb"\n  .*(begun|measures|device): ", listed.shown)
    assert not of_a_row, "once, and of no row"
    assert b"#before-the-upgrade" in listed.shown


def test_what_is_said_below_a_list_fits_80_columns_too(
    cli: Cli, terminal: Callable[..., OnTerminal]
) -> None:
    """The legend of a mark is a sentence."""
    cli.campaigns.symlink_to(EXAMPLES)
    shown = terminal("campaigns", "ls", NO_COLOR="1", COLUMNS="80")
    assert shown.end() == 0, shown.shown
    text = re.sub(r"\x1b\[[\d;]*m", "", shown.shown.decode())
    assert "? logs were written after their runs" in text
    lines = [line for line in text.splitlines() if str(cli.campaigns) not in line]
    assert max(map(cell_len, lines)) <= 80


@pytest.mark.parametrize("name", ["h200-x4-gpt-124m", "h200-x4-resnet50-graphs"])
def test_runs_of_long_cases_have_whole_words_in_80_columns(
    cli: Cli, terminal: Callable[..., OnTerminal], name: str
) -> None:
    cli.campaigns.symlink_to(EXAMPLES)
    shown = terminal("status", name, NO_COLOR="1", COLUMNS="80")
    assert shown.end() == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown.shown.decode()).splitlines()
    assert max(map(cell_len, lines)) <= 80
    words = " ".join(lines).split()
    plain = {word for row in cli("status", name).rows for cell in row for word in cell.split()}
    assert plain <= {*words, ""}
    assert not any(re.fullmatch(r" +(b\d+|#\d)", line.rstrip()) for line in lines)


def test_a_history_keeps_its_line_and_its_change_in_80_columns(
    terminal: Callable[..., OnTerminal],
) -> None:
    names = [EXAMPLES / name for name in ("h200-x4-gpt-124m", "h200-x2-gpt-124m")]
    shown = terminal("history", *names, NO_COLOR="1", COLUMNS="80")
    assert shown.end() == 0, shown.shown
    text = re.sub(r"\x1b\[[\d;]*m", "", shown.shown.decode())
    assert re.search(r"\n1n1g  [▁-█]{2} .* none .* same", text)
    assert text.count("torch-gpt, batch_size=") == 1
    assert "no room for history" not in text
    said = "The verdict on 1n1g rests on: no change found; the mean of the last is +0.7% off"
    assert said in " ".join(text.split())
    assert max(map(cell_len, text.splitlines())) <= 80


def test_a_campaign_of_another_name_says_what_it_was_begun_as(
    cli: Cli, terminal: Callable[..., OnTerminal]
) -> None:
    cli.campaigns.symlink_to(EXAMPLES)
    listed = terminal("campaigns", "ls", NO_COLOR="1", COLUMNS="80")
    assert listed.end() == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", listed.shown.decode())
    begun = re.findall(r"\n(\S+)  (?:.*\n  )*?.*begun as (\S+)", text)
    assert ("h200-x2-resnet50-graphs-again", "2026-11-28-resnet50-graphs") in begun
    assert not [one for one in begun if one[1].endswith(one[0])], "but for the day it is the same"


@pytest.mark.parametrize("columns", [60, 70, 80, 90, 100, 140])
def test_a_figure_of_a_list_is_on_one_line_with_its_case_and_unit(
    cli: Cli, terminal: Callable[..., OnTerminal], columns: int
) -> None:
    cli.campaigns.symlink_to(EXAMPLES)
    listed = terminal("campaigns", "ls", NO_COLOR="1", COLUMNS=str(columns))
    assert listed.end() == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", listed.shown.decode())
    units = re.findall(r"(?:images|tokens|samples|GB)/s", text)
    whole = re.findall(r"1n\dg [\d,.]+ (?:images|tokens|samples|GB)/s", text)
    assert len(units) == len(whole)
    assert whole


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
    assert " · forced past node1: in use: alice" in piped.out.splitlines()[-1]
    assert "Forced in spite of: node1: in use: alice" in piped.err


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("example", "layout"),
    [
        *(("h200-x4-resnet50-graphs", name) for name in ("speedup", "pivot", "compare", "airank")),
        *(("h200-x4-gpt-124m", name) for name in ("speedup", "llm")),
        ("h200-x4-allreduce", "collectives"),
    ],
)
def test_every_layout_of_a_report_has_whole_words_in_80_columns(
    terminal: Callable[..., OnTerminal], example: str, layout: str, lang: str
) -> None:
    """And the throughput, with what it is divided by, is never what there is no room for."""
    words = ("report", EXAMPLES / example, "--layout", layout, "--lang", lang)
    shown = terminal(*words, NO_COLOR="1", COLUMNS="80")
    assert shown.end() == 0, shown.shown
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown.shown.decode()).splitlines()
    lines = [line for line in lines if "logs/" not in line]  # a path stays whole
    assert max(map(cell_len, lines)) <= 80, lines
    text = "".join(lines)
    for kept in {"speedup": ("1n1g", "speedup", "efficiency"), "llm": ("tokens/s", "MFU")}.get(
        layout if lang == "en" else "", ()
    ):
        assert kept in text.partition("no room for")[0]


@given(width=st.integers(60, 200))
def test_words_of_a_column_are_not_folded_within_its_least(width: int) -> None:
    columns = (
        Column("case", "left"),
        Column("verdict", "left", least=17),
        Column("remark", "left"),
    )
    rows = Rows(columns, [("a case of five words", "slower, in doubt: other hosts", "so " * 60)])
    out = StringIO()
    print_on(Console(file=out, width=width), rows)
    assert "slower, in doubt:" in out.getvalue()
