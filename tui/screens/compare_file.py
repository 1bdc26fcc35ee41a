"""A comparison as it is copied and written: as ``dlperf-tui compare`` prints it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from backends.results.comparison import Comparison
from backends.results.comparison_files import comparison_document, comparisons_csv
from backends.results.comparison_report import comparison_markdown
from tui.screens.named_file import format_of
from tui.side_by_side import Against, SideBySide

FORMATS = ("md", "csv", "json")


def copied_text(found: SideBySide) -> str:
    """All of it as markdown, as ``dlperf-tui compare`` prints each comparison."""
    told = []
    for other in found.others:
        if other.comparison is not None:
            told.append(comparison_markdown(_named(other, found)))
        elif other.problem is not None:
            told.append(f"{found.sides[other.place].name}: {other.problem}\n")
    return "\n".join(told)


def file_of(found: SideBySide, path: Path) -> str:
    """The same for a file: CSV and JSON where its name ends so, with every digit."""
    known = [_named(other, found) for other in found.others if other.comparison is not None]
    format = written_as(path)
    if format == "csv":
        return comparisons_csv(known)
    if format == "json":
        documents = [comparison_document(one) for one in known]
        return json.dumps(documents[0] if len(documents) == 1 else documents, indent=1) + "\n"
    return copied_text(found)


def written_as(path: Path) -> str:
    """Raises DlperfError: its name says no format, or one that a comparison has not."""
    return format_of(path, FORMATS)


def _named(other: Against, found: SideBySide) -> Comparison:
    if other.comparison is None:
        raise ValueError("it was not compared")
    ours, theirs = found.sides[found.baseline], found.sides[other.place]
    return replace(
        other.comparison,
        names=(ours.about.name, theirs.about.name),
        paths=(ours.about.path, theirs.about.path),
        settings=((ours.setting,) * bool(ours.setting), (theirs.setting,) * bool(theirs.setting)),
    )
