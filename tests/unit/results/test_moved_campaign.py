"""A campaign is called by its directory, wherever it was moved."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from backends.campaign.folder.adopt import placed
from backends.campaign.folder.directory_identity import place_of
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.journal import FILE_NAME, write_now
from backends.results.publish import LAYOUTS
from backends.results.side_by_side import called_each
from tests.unit.hosts.test_machines import EXAMPLES
from tests.unit.results.conftest import Dlperf


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ((None,), ["old"]),
        (("d/old",), ["old"]),
        (("d/old.tar.gz",), ["old"]),
        (("d/six",), ["six"]),
        (("d/ol", "d/six"), ["ol", "six"]),
        (("d/six", "d/six"), ["six", "six"]),
        (("d/six", "e/six", "d/ol"), ["d/six", "e/six", "ol"]),
    ],
)
def test_a_campaign_is_called_as_commands_take_it(
    paths: Sequence[str | None], said: list[str]
) -> None:
    names = ["old"] * len(paths)
    assert called_each(names, [None if path is None else Path(path) for path in paths]) == said


def test_what_was_moved_is_found_and_told_by_every_command(dlperf: Dlperf, tmp_path: Path) -> None:
    for name in ("h200-x4", "six"):
        shutil.copytree(EXAMPLES / "h200-x4", tmp_path / "all" / name)
    for words in (("status", "six"), ("history", "six"), ("compare", "h200-x4", "six")):
        said = dlperf("--campaigns", tmp_path / "all", *words)
        if words[0] == "history":
            assert "| six |" in said
        if words[0] == "compare":
            assert "Baseline: h200-x4. Candidate: six." in said
        if words[0] == "status":  # as it is called, and listed
            assert said.startswith("six: ")
    assert dlperf("--campaigns", tmp_path / "all", "status", "--line", "six").startswith("six · ")


@pytest.mark.parametrize("example", ["h200-x4", "h200-x4-resnet50-graphs"])
@pytest.mark.parametrize("called", ["", "again"])
@pytest.mark.parametrize("words", [("--format", "md"), ("--format", "html")])
def test_texts_call_a_campaign_by_its_directory_and_what_it_began_as_where_that_is_another(
    dlperf: Dlperf, tmp_path: Path, example: str, called: str, words: tuple[str, ...]
) -> None:
    copy = shutil.copytree(EXAMPLES / example, tmp_path / (called or example))
    began = read_campaign(copy).campaign
    text = dlperf("report", copy, *words)
    report = words == ("--format", "html")
    name = "again" if report else f"again (begun as {began})"
    name = name if called else example
    assert name in text
    others = text.replace(f"Begun as {began}.", "") if report else text.replace(name, "")
    assert bool(called and report) is (f"Begun as {began}." in text)
    assert not re.findall(rf"{example}\b", others.replace(name, "")), "nor by another"


@pytest.mark.parametrize("example", ["h200-x4", "h200-x4-resnet50-graphs"])
def test_a_campaign_that_is_moved_has_its_name_in_its_report_and_in_csv_at_once(
    dlperf: Dlperf, tmp_path: Path, example: str
) -> None:
    kept = ("--campaigns", tmp_path)
    shutil.copytree(EXAMPLES / example, tmp_path / "first")
    write_now(tmp_path / "first" / FILE_NAME, [placed(place_of(tmp_path / "first"), 0.0)])
    began = read_campaign(tmp_path / "first").campaign
    path, second = tmp_path / "first", tmp_path / began
    for new in ("again", "third"):
        dlperf(*kept, "campaigns", "mv", path, new)
        if not second.exists():  # another has the name that it began with
            shutil.copytree(EXAMPLES / "h200-x4-gpt-124m", second)
        path = tmp_path / new
        report = (path / "report.md").read_text()
        assert report.startswith(f"# {new}\n\nBegun as {began}.\n")
        assert json.loads((path / "results.json").read_text())["campaign"] == began
        assert json.loads(dlperf("report", path, "--format", "json"))["campaign"] == began
        for layout in LAYOUTS.values():
            if "csv" not in layout.formats:
                continue
            try:
                alone = dlperf("report", path, "--layout", layout.name, "--format", "csv")
            except AssertionError:  # it has nothing of that
                continue
            rows = [*csv.DictReader(io.StringIO(alone))]
            assert {row.get("campaign", new) for row in rows} <= {new}
            assert began not in alone


@pytest.mark.parametrize("finished", [True, False])
def test_a_copy_gets_another_name_once_nothing_of_it_goes_on(
    dlperf: Dlperf, tmp_path: Path, finished: bool
) -> None:
    kept = tmp_path / "all"
    shutil.copytree(EXAMPLES / "h200-x2-gpt-124m", kept / "six")
    journal = kept / "six" / FILE_NAME
    if not finished:
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(line for line in lines if b'"CampaignFinished"' not in line))
    before = journal.read_bytes()
    dlperf("--campaigns", kept, "campaigns", "mv", "six", "seven", code=0 if finished else 2)
    assert {one.name for one in kept.iterdir()} == {"seven" if finished else "six"}
    [now] = kept.glob(f"*/{FILE_NAME}")
    assert now.read_bytes() == before, "a copy stays one"
    assert read_campaign(now.parent).copy_of is not None
    assert not (now.parent / "writer.lock").exists()


def test_texts_of_several_never_call_two_alike(dlperf: Dlperf, tmp_path: Path) -> None:
    copies = [shutil.copytree(EXAMPLES / "h200-x4", tmp_path / n / "six") for n in "ab"]
    text = dlperf("report", *copies, "--format", "md")
    assert all(str(copy) in text for copy in copies)


@pytest.mark.parametrize("example", ["h200-x4", "h200-x2-gpt-1.3b", "two-cores-auto"])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_campaign_that_was_copied_has_a_history_by_its_tag_and_counts_once(
    dlperf: Dlperf, tmp_path: Path, example: str, copies: int
) -> None:
    kept = ("--campaigns", tmp_path / "all")
    for number in range(copies):
        shutil.copytree(EXAMPLES / example, tmp_path / "all" / f"copy-{number}")
        dlperf(*kept, "campaigns", "tag", f"copy-{number}", "nightly")
    rows = json.loads(dlperf(*kept, "history", "--tag", "nightly", "--json"))["cases"]
    assert rows
    alone = json.loads(dlperf(*kept, "history", "copy-0", "--json"))["cases"]
    assert [len(row["points"]) for row in rows] == [len(row["points"]) for row in alone]
