"""CONTRIBUTING.md names what there is: its files, its mappings, its tests and its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = TEXT.split("## What one touches to add")[1]
NAMED = sorted(set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", TEXT)))


@pytest.mark.parametrize("path", NAMED)
def test_a_file_that_is_named_is_there(path: str) -> None:
    there = (ROOT / path.replace("NAME", "*")).parent if "NAME" in path else ROOT / path
    assert there.exists()


def test_a_mapping_that_takes_a_line_is_in_its_file() -> None:
    lines = re.findall(r"`([A-Z]\w+)`(?: and `([A-Z]\w+)`)? of `([\w/.]+)`", TABLE)
    assert len(lines) >= 6
    for first, second, path in lines:
        source = (ROOT / path).read_text(encoding="utf-8")
        for name in filter(None, (first, second)):
            assert re.search(rf"^(?:class )?{name}\b", source, re.MULTILINE), f"{path}: {name}"


def test_a_test_that_shows_how_exists() -> None:
    tests = "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")
    )
    shown = re.findall(r"`(test_\w+)`", TABLE)
    assert len(shown) >= 4
    for name in shown:
        assert f"def {name}(" in tests, name


def test_a_command_of_make_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in re.findall(r"`make ([a-z -]+)", TEXT):
        for target in line.split():
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
