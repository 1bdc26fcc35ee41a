"""Files that ``report`` and ``compare`` write: in which format, and what they do not write over."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.results.own_output import is_own_output
from backends.results.publish import LAYOUTS
from tests.unit.cli.conftest import Cli

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SCALING = EXAMPLES / "h200-x4"
OF_LAYOUT = {"collectives": EXAMPLES / "h200-x4-allreduce", "llm": EXAMPLES / "h200-x4-gpt-124m"}
OTHERS = {
    "notes.md": "# Notes\n\nThe run of Tuesday used dlperf-tui 0.1.0.\n",
    "readme.md": "# Project\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    "data.csv": "time,watts\n0,300\n",
    "one.csv": "throughput\n3\n",
    "settings.json": '{"editor": {"tabs": {"width": 4}}}',
    "list.json": "[1, 2]",
    "page.html": "<!DOCTYPE html>\n<html lang='en'><body>mine</body></html>\n",
    "binary.md": "\0\1\2" * 100,
}


def _words(layout: str) -> tuple[str, ...]:
    return ("report", str(OF_LAYOUT.get(layout, SCALING)), "--layout", layout)


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"mlperf"}))
def test_what_was_written_before_is_written_again_in_every_format_and_language(
    cli: Cli, tmp_path: Path, layout: str
) -> None:
    target = tmp_path / "out.txt"
    more = [("--lang", "en"), ("--lang", "zh"), ("--sort", "-2"), ("--transpose",)]
    more += [("--style", "oneflow"), ("--columns", "speedup,throughput")] * (layout == "speedup")
    for format in LAYOUTS[layout].formats:
        for options in more[: 2 if format == "json" else None]:
            if layout == "dlperf-json" and options[0] != "--lang":
                continue
            words = (*_words(layout), "--format", format, *options, "-o", str(target))
            cli(*words)
            assert is_own_output(target), words
    for format in ("html", "junit"):
        for lang in ("en", "zh"):
            cli("report", str(SCALING), "--format", format, "--lang", lang, "-o", str(target))
            assert is_own_output(target)


def test_so_are_the_reports_of_campaigns_and_what_compare_writes(cli: Cli, tmp_path: Path) -> None:
    for campaign in EXAMPLES.iterdir():
        assert is_own_output(campaign / "report.md")
        assert is_own_output(campaign / "results.csv")
        assert is_own_output(campaign / "results.json")
        assert not is_own_output(campaign / "campaign.toml")
        assert not is_own_output(campaign / "events.jsonl")
        assert not is_own_output(campaign / "environment.json")
    suite = tmp_path / "suite.xml"
    for _ in range(2):
        cli("compare", str(SCALING), str(SCALING), "--junit", str(suite))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_file_of_others_is_kept_unless_told(
    cli: Cli, tmp_path: Path, command: str, name: str
) -> None:
    target = tmp_path / name
    target.write_text(OTHERS[name])
    words = {
        "report": ("report", str(SCALING), "--format", "csv", "-o", str(target)),
        "compare": ("compare", str(SCALING), str(SCALING), "--junit", str(target)),
    }[command]
    said = cli(*words, code=2)
    assert "--force" in said.err
    assert not said.out
    assert len(said.err.splitlines()) == 1
    assert target.read_text() == OTHERS[name]
    cli(*words, "--force")
    assert is_own_output(target)


@pytest.mark.parametrize("content", [OTHERS["page.html"], "<?xml version='1.0'?>\n<svg></svg>\n"])
def test_a_figure_of_others_is_kept_unless_told(cli: Cli, tmp_path: Path, content: str) -> None:
    pytest.importorskip("matplotlib")
    report = tmp_path / "r.md"
    words = ("report", str(OF_LAYOUT["llm"]), "--figures", "-o", str(report))
    for _ in range(2):  # its own are drawn anew
        cli(*words)
    first, second = sorted((tmp_path / "figures").iterdir())
    drawn = first.read_bytes()
    report.unlink()
    first.unlink()
    second.write_text(content)
    said = cli(*words, code=2)
    assert "--force" in said.err
    assert str(second) in said.err
    assert second.read_text() == content
    assert not first.exists()
    assert not report.exists()
    cli(*words, "--force")
    assert first.read_bytes() == drawn
    assert is_own_output(second)


def test_a_device_is_never_replaced_by_a_file(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = cli("report", str(SCALING), "-o", str(pipe), "--force", code=2)
    assert "no regular file" in said.err
    assert pipe.is_fifo()


def test_a_bundle_takes_the_place_of_one_of_the_same_campaign_alone(
    cli: Cli, tmp_path: Path
) -> None:
    target = tmp_path / "a.tar.zst"
    for _ in range(2):
        cli("report", str(SCALING), "--bundle", str(target))
    before = target.read_bytes()
    other = ("report", str(OF_LAYOUT["llm"]), "--bundle", str(target))
    assert "--force" in cli(*other, code=2).err
    assert target.read_bytes() == before
    cli(*other, "--force")
    target.write_bytes(b"no bundle at all" * 1000)
    cli(*other, code=2)


def test_a_directory_that_is_made_is_told(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "typed" / "wrong" / "out.md"
    said = cli("report", str(SCALING), "-o", str(target))
    assert f"new directory, {target.parent}" in said.err
    bundle = tmp_path / "typed" / "again" / "a.tar.zst"
    said = cli("report", str(SCALING), "--bundle", str(bundle))
    assert f"new directory, {bundle.parent}" in said.err
    assert "new directory" not in cli("report", str(SCALING), "-o", str(target)).err


HOLDS: dict[str, Callable[[str], object]] = {
    "md": lambda text: text.startswith("###"),
    "CSV": lambda text: text.startswith("profile,"),
    "json": json.loads,
    "html": lambda text: text.startswith("<!DOCTYPE html>"),
    "txt": lambda text: text.startswith("###"),
}


@pytest.mark.parametrize("suffix", HOLDS)
def test_the_name_of_the_file_says_the_format_where_nothing_else_does(
    cli: Cli, tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"out.{suffix}"
    cli("report", str(SCALING), "-o", str(target))
    assert HOLDS[suffix](target.read_text())
    cli("report", str(SCALING), "--format", "json", "-o", str(target))
    assert json.loads(target.read_text())


def test_a_name_that_says_a_format_which_the_layout_has_not_is_one_line(
    cli: Cli, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    said = cli("report", str(SCALING), "--layout", "dlperf-json", "-o", str(target), code=2)
    assert "dlperf-json is not written as csv" in said.err
    assert len(said.err.splitlines()) == 1
    assert not target.exists()


@pytest.mark.parametrize("name", ["table.pdf", "table.xml"])
def test_a_name_that_says_a_format_which_there_is_not_is_one_line(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    said = cli.complaint("report", SCALING, "-o", tmp_path / name)
    assert "name it ….md or ….csv or ….json or ….html" in said
    assert not (tmp_path / name).exists()
