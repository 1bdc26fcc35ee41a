"""Whatever a host, a log or a profile says, it stays one cell, one line and no formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from backends.results.campaign_report import ExecutedCommands, ReportContext, render_report
from backends.results.dataframe import results_csv
from backends.results.escaping import csv_cell, md_block, md_code, md_link, md_text, one_line
from backends.results.render import Column, Table, markdown_rows, render_csv
from backends.results.run_result import RunResult
from backends.results.summary import summarise

GITHUB = MarkdownIt("gfm-like")
# The parser takes any word with a dot and a known ending for a link, and "//a.b"; GitHub does not.
assert GITHUB.linkify is not None
GITHUB.linkify.set({"fuzzy_link": False})
GITHUB.linkify.add("//", None)

MALICIOUS = [
    "a | b",
    "a\\| b",
    "x\n| injected | row |",
    "x\r\n\r\n# heading",
    "\u2028| injected |",
    "```\n# heading\n```",
    "~~~",
    "````",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "`code` ``",
    "<script>alert(1)</script>",
    "<!-- comment",
    "&lt;img src=x&gt;",
    "[click](javascript:alert(1))",
    "[1-2]: http://example.org",
    "a-[1-2]: http://example.org",
    "a_[1-2](http://example.org)",
    "![image](http://example.org/x.png)",
    "https://example.org",
    "www.example.org",
    "root@example.org",
    "*bold* _em_ __strong__ ~~gone~~",
    "# heading",
    "1. list",
    "- list",
    '=HYPERLINK("http://example.org")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    "＝1+1",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "$x$",
    "",
    " ",
]

hostile = st.one_of(
    st.sampled_from(MALICIOUS),
    st.text(max_size=40),
    st.text(alphabet="|`*_[]()<>\\\n\r#=+-@!&;:/w.ha1 ~$\"',", max_size=30),
    st.text(alphabet="[]12-,a_.:()! \\", max_size=20),
    st.lists(st.sampled_from(MALICIOUS), min_size=1, max_size=3).map(" ".join),
)


def inline_text(token: Token) -> str:
    """What a reader sees of a cell; fails on anything but plain text."""
    for child in token.children or ():
        assert child.type in ("text", "text_special"), (child.type, token.content)
    return "".join(child.content for child in token.children or ())


@given(st.lists(st.lists(hostile, min_size=2, max_size=2), min_size=1, max_size=3))
def test_hostile_text_adds_no_cell_no_row_and_no_markup(rows: list[list[str]]):
    table = Table("t", (Column("a"), Column("b")), tuple(tuple(row) for row in rows))
    tokens = GITHUB.parse("\n".join(markdown_rows(table)))
    assert sum(token.type == "tr_open" for token in tokens) == len(rows) + 1
    cells = [
        inline_text(tokens[i + 1]) for i, token in enumerate(tokens) if token.type == "td_open"
    ]
    assert cells == [one_line(text) for row in rows for text in row]


@given(hostile)
def test_hostile_text_in_a_list_item_stays_its_words(text: str):
    tokens = GITHUB.parse(f"- {md_text(text)}")
    kinds = [token.type for token in tokens if token.type.endswith("_open")]
    seen = [inline_text(token) for token in tokens if token.type == "inline"]
    if one_line(text):
        assert kinds == ["bullet_list_open", "list_item_open", "paragraph_open"]
        assert seen == [one_line(text)]


SEVERAL = st.lists(hostile.filter(one_line), min_size=2, max_size=4)


@given(SEVERAL, st.sampled_from(["- ", "", "> "]))
def test_no_text_makes_a_link_of_another(texts: list[str], start: str):
    tokens = GITHUB.parse("\n\n".join(start + md_text(text) for text in texts))
    seen = [inline_text(token) for token in tokens if token.type == "inline"]
    assert seen == [one_line(text) for text in texts]


@given(hostile)
def test_hostile_text_as_inline_code_stays_code(text: str):
    tokens = GITHUB.parse(f"x {md_code(text)} y")
    (inline,) = (token for token in tokens if token.type == "inline")
    kinds = [child.type for child in inline.children or ()]
    expected = ["text", "code_inline", "text"] if one_line(text) else ["text"]
    assert kinds == expected


@given(st.lists(hostile, min_size=1, max_size=4).map("\n".join))
def test_hostile_text_cannot_leave_a_fenced_block(text: str):
    tokens = GITHUB.parse(md_block(text) + "\n\nafter")
    assert [token.type for token in tokens] == [
        "fence",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]


@given(hostile, hostile)
def test_links_lead_below_the_report_or_nowhere(text: str, path: str):
    tokens = GITHUB.parse(f"x {md_link(text, path)}")
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                target = str(child.attrs["href"])
                assert target.startswith("./")
                assert ".." not in target.split("/")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "logs/../../x"])
def test_path_out_of_the_campaign_is_no_link(path: str):
    assert md_link("log", path) == "log"


def test_odd_file_names_are_encoded_in_links():
    assert md_link("a]b", "logs/a b(1).log") == r"[a\]b](./logs/a%20b%281%29.log)"
    assert md_link("log", "javascript:alert(1)") == "[log](./javascript%3Aalert%281%29)"


def is_harmless(cell: str) -> bool:
    if not cell.lstrip().startswith(tuple("=+-@\t＝＋－＠")) or cell == "-":
        return True
    return float(cell.removesuffix("%")) is not None  # raises unless it is a number


def test_what_github_links_by_itself_is_broken_up():
    assert md_text("see www.example.org") == r"see www\.example.org"
    assert md_text("HTTP://example.org") == r"HTTP\:\/\/example.org"
    assert md_text("root@example.org") == r"root\@example.org"
    assert md_text("ask @root, (@root) or _@root") == r"ask \@root, (\@root) or \_\@root"


WORD = st.text("abcXYZ019", min_size=1, max_size=8)


@given(WORD, WORD, WORD)
def test_who_is_at_work_where_is_read_as_it_is_written(user: str, host: str, then: str):
    words = f"{user}@{host}, campaign {then}"
    assert md_text(f"held by {words}") == f"held by {words}"
    assert "\\@" in md_text(f"held by {user}@{host}.{then}")


@given(hostile)
def test_no_cell_is_a_formula_and_numbers_stay_numbers(text: str):
    cell = csv_cell(text)
    assert "\n" not in cell
    assert "\r" not in cell
    assert is_harmless(cell)


@pytest.mark.parametrize("number", ["-3.5", "+2", "1e-5", "-1.2%", "383.760", "-", "–", "0"])
def test_numbers_and_dashes_pass_through_csv(number: str):
    assert csv_cell(number) == number


@pytest.mark.parametrize("text", ["=1+1", "-1+1", "+cmd|' /C calc'!A0", "@x", "\t=1", "--"])
def test_formulas_are_guarded_in_csv(text: str):
    assert csv_cell(text).startswith("'")


def hostile_run(text: str) -> RunResult:
    return RunResult(
        run_id=text,
        profile=text,
        framework=text,
        model=text,
        case_tag="1n1g",
        nodes=1,
        gpus_per_node=1,
        parameters={"batch_size": 8, text: text},
        repeat=1,
        throughput=100.0,
        unit=text,
        reason=text,
        hosts=(text,),
        log=f"logs/{text}",
        window=text,
        statistic=text,
        warnings=(text,),
    )


@given(hostile)
def test_hostile_text_everywhere_leaves_a_report_of_the_same_shape(text: str):
    failed = RunResult(
        **{name: getattr(hostile_run(text), name) for name in RunResult.__dataclass_fields__}
        | {"state": "failed", "throughput": None, "repeat": 2}
    )
    runs = [hostile_run(text), failed]
    context = ReportContext(
        campaign=f"campaign {text}",
        environment={
            "hosts": [{"name": text, "facts": {"os": text, "gpus": [{"name": text}]}}],
            text: {text: text},
        },
        commands=(ExecutedCommands(text, ((text, text), (text, text))),),
        version=text,
    )
    tokens = GITHUB.parse(render_report(context, runs, summarise(runs)))
    headings = [token for token in tokens if token.type == "heading_open"]
    assert [token.tag for token in headings].count("h1") == 1
    assert [token.tag for token in headings].count("h2") == 6
    assert not any(token.type in ("html_block", "code_block") for token in tokens)
    assert sum(token.type == "table_open" for token in tokens) == 2
    for token in tokens:
        for child in token.children or ():
            assert child.type != "html_inline"
            if child.type == "link_open":
                assert str(child.attrs["href"]).startswith("./")


@given(hostile)
def test_hostile_text_leaves_results_csv_of_one_row_per_case(text: str):
    groups = summarise([hostile_run(text)])
    rows = list(csv.reader(io.StringIO(results_csv(groups), newline="")))
    assert len(rows) == 2
    assert len(rows[0]) == len(rows[1])
    for cell in rows[1]:
        assert is_harmless(cell)


def test_csv_of_a_table_reads_back(tmp_path: Path):
    table = Table("t", (Column("a"), Column("b")), (("1,5", 'say "x"'), ("-", "=1")))
    assert list(csv.reader(io.StringIO(render_csv([table])))) == [
        ["a", "b"],
        ["1,5", 'say "x"'],
        ["-", "'=1"],
    ]


@given(st.text(alphabet="#+=-:. 12x_>*", min_size=1, max_size=12))
def test_words_below_other_words_stay_words_of_their_paragraph(text: str):
    if not (literal := one_line(text)):
        return
    tokens = GITHUB.parse(f"above\n{md_text(text)}\n")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert read(tokens[1]) == f"above\n{literal}"


def read(inline: Token) -> str:
    parts = {"text": lambda t: t.content, "softbreak": lambda _: "\n"}
    return "".join(parts.get(t.type, lambda t: t.content)(t) for t in inline.children or ())


@given(st.sampled_from("#+-=:"), st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True))
def test_a_mark_that_begins_a_word_needs_no_backslash(mark: str, word: str):
    assert md_text(mark + word) == mark + word


NODESETS = st.from_regex(
    r"[a-v]{1,5}([._-][a-v0-9]{1,3}){0,2}[._-]?"
    r"\[[0-9]{1,2}(-[0-9]{1,2})?(,[0-9]{1,2})?\](-[0-9])?",
    fullmatch=True,
)


@given(NODESETS, st.sampled_from(["", " is up", "(x)", "[x]", ": x", "[1]", "!", "_", " (x)"]))
def test_a_nodeset_stays_to_be_copied_where_it_can_be_no_link(nodeset: str, behind: str) -> None:
    line = md_text(f"{nodeset}{behind}")
    assert (nodeset in line) == (not nodeset.endswith("]") or behind[:1] not in ("(", "["))
    (_, inline, _) = GITHUB.parse(line)
    assert "".join(token.content for token in inline.children or ()) == f"{nodeset}{behind}"
    assert not any(token.type == "link_open" for token in inline.children or ())
