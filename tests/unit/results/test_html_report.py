"""The report as one HTML file: what others wrote stays text, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from backends.results.campaign_junit import campaign_junit
from backends.results.campaign_report import ExecutedCommands, ReportContext, render_report
from backends.results.html_report import html_report
from backends.results.run_result import RunResult
from backends.results.summary import summarise
from tests.unit.results.conftest import Dlperf

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "h200-x2-auto"
Runs = Callable[..., list[RunResult]]

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "div", "table", "thead"),
    *(
        "tbody",
        "tr",
        "th",
        "td",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
    ),
    *("blockquote", "strong", "img", "a", "span", "br", "hr"),
}
ATTRIBUTES = {
    *(("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content")),
    *(("meta", "name"), ("th", "class"), ("td", "class"), ("div", "class"), ("span", "class")),
    *(("span", "title"), ("a", "href"), ("a", "rel"), ("img", "alt"), ("img", "src")),
    *(("code", "class"), ("ol", "start")),
}


class Page(HTMLParser):
    """What a browser would find: tags with attributes, text, and the style."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.style = ""
        self._in = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "style":
            self.style += data
        else:
            self.text.append(data)


def harmless(page: str) -> Page:
    read = Page(page)
    for tag, attributes in read.found:
        assert tag in TAGS, tag
        for name, value in attributes.items():
            assert (tag, name) in ATTRIBUTES, (tag, name)
            if name == "href":
                assert (value or "").startswith("https://")
            if name == "src":
                assert (value or "").startswith("data:image/svg+xml;base64,")
    assert "url(" not in read.style
    assert "@import" not in read.style
    policies = [a["content"] or "" for tag, a in read.found if "http-equiv" in a]
    digest = base64.b64encode(hashlib.sha256(read.style.encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; form-action 'none'"
    ]
    return read


def report(runs: list[RunResult], text: str, figures: dict[str, str] | None = None) -> str:
    context = ReportContext(
        campaign=text,
        environment={"hosts": {text: {"kernel": text}}, text: text},
        commands=(ExecutedCommands(text, ((text, text), (text, text))),),
        version=text,
        figures=tuple((text, path) for path in figures or {}),
        notes=(text,),
        tags=(text,),
        said=text,
    )
    markdown = render_report(context, runs, summarise(runs))
    return html_report(text, markdown, figures or {}, footer=(text,))


PIECES = (
    *("<script>alert(1)</script>", "<img src=http://x onerror=y>", "](http://x)", "![", "]"),
    *("[a](javascript:x)", "`", "``", "~~~", "\n\n", "\n", "|", "&lt;", "&#60;", '"', "'"),
    *("<style>", "</title>", "</style>", "<!--", "-->", "]]>", "<a href='x'>", "https://x"),
    *("#", ">", "- ", "\\", "*", "_", "<https://x>", "[x]: http://x", "\x00", "\x1b]8;;x\x07"),
    *("data:text/html,x", "](data:image/svg+xml,x)", "    ", "\t", "<meta http-equiv=x>"),
)
HOSTILE = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(HOSTILE)
def test_what_others_wrote_never_becomes_markup(text: str):
    runs = [
        RunResult(
            run_id="a", profile=text, framework=text, model=text, case_tag="1n1g", nodes=1,
            gpus_per_node=1, parameters={"p": text}, repeat=n, state=state, throughput=value,
            unit=text, reason=text, hosts=(text,), log=f"logs/{text}", window=text,
            statistic=text, fingerprint=text, warnings=(text,), warned=(text,),
        )
        for n, state, value in [(1, "succeeded", 1.0), (2, "failed", None)]
    ]  # fmt: skip
    harmless(report(runs, text, {"figures/a.svg": "<svg/>"}))


@given(HOSTILE)
def test_not_even_markdown_that_nobody_escaped_becomes_markup_of_its_own(text: str):
    harmless(html_report(text, text, {}, footer=(text,)))


def test_words_arrive_as_they_are(runs_of: Runs):
    text = "a <b> & \"c\" 'd' `e` *f* _g_ [h](https://i) | 10 < 11"
    page = harmless(report(runs_of("1n1g", [1.0]), text))
    assert "".join(page.text).count(text) >= 5
    assert not [tag for tag, _ in page.found if tag in ("em", "b", "a")]


def test_figures_are_inside_and_only_those_that_are_given(runs_of: Runs):
    page = harmless(
        html_report("t", "![known](./figures/a.svg) ![unknown](./b.svg) ![x](https://x/y.png)",
                    {"figures/a.svg": "<svg>é</svg>"})
    )  # fmt: skip
    (image,) = [attributes for tag, attributes in page.found if tag == "img"]
    assert image["alt"] == "known"
    assert base64.b64decode((image["src"] or "").partition(",")[2]).decode() == "<svg>é</svg>"
    assert "unknown" in "".join(page.text)


def test_a_campaign_as_html_has_its_tables_figures_and_grades(dlperf: Dlperf, tmp_path: Path):
    text = dlperf("report", EXAMPLE, "--format", "html")
    page = harmless(text)
    said = "".join(page.text)
    assert said.count("Both cases have grade B.") == 1
    assert "and is not level before step" in said
    assert [tag for tag, _ in page.found].count("img") == 2
    markdown = (EXAMPLE / "report.md").read_text()
    rows = re.findall(r"^\| (?!---)", markdown, re.M)
    assert [tag for tag, _ in page.found].count("tr") == len(rows)
    assert dlperf("report", EXAMPLE, "--format", "html", "-o", tmp_path / "r.html") == ""
    assert (tmp_path / "r.html").read_text() == text
    assert 'lang="zh"' in dlperf("report", EXAMPLE, "--format", "html", "--lang", "zh")


def test_junit_has_a_test_per_run_that_counts(runs_of: Runs, dlperf: Dlperf):
    suite = ET.fromstring(dlperf("report", EXAMPLE, "--format", "junit"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("18", "0", "0")
    notes = suite.find("system-out")
    assert notes is suite[-1]  # where JUnit's schema has it
    flags = (EXAMPLE / "report.md").read_text().partition("## Flags")[2].partition("##")[0]
    said = [line.removeprefix("- ") for line in flags.splitlines() if line.startswith("- ")]
    assert said
    assert (notes.text or "").splitlines() == said
    again = runs_of("1n1g", [None, 2.0, None])
    mended = [*again, *runs_of("1n1g", [3.0], attempt=2)]
    cancelled = [replace(run, state="cancelled", reason="") for run in runs_of("1n2g", [None])]
    read = ET.fromstring(campaign_junit("c\x1b[1m", [*mended, *cancelled]))
    assert [read.get(key) for key in ("tests", "failures", "skipped")] == ["4", "1", "1"]

    def names(outcome: str) -> list[str | None]:
        return [case.get("name") for case in read if case.find(outcome) is not None]

    assert names("failure") == ["1n1g batch_size=64, precision=fp32 repeat 3"]
    assert names("skipped") == ["1n2g batch_size=64, precision=fp32 repeat 1"]


@given(st.text(max_size=50))
def test_junit_of_any_words_is_xml(text: str):
    run = RunResult("a", text, text, text, "1n1g", 1, 1, {"x": text}, 1, state="failed",
                    reason=text, hosts=(text,), log=text)  # fmt: skip
    assert len(ET.fromstring(campaign_junit(text, [run], [text])).findall("testcase")) == 1
