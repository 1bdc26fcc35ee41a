"""Every command that a page of the documentation shows is one that the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tui.cli.arguments import build_parser
from tui.cli.commands import COMMANDS

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/command-line.md")


def shown(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if "dlperf-tui " in line]


@pytest.mark.parametrize("line", [line for page in PAGES for line in shown(page)])
def test_a_command_that_is_shown_is_taken(line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[: words.index(">")] if ">" in words else words
    assert words[0] == "dlperf-tui"
    build_parser().parse_args(words[1:])


def test_every_command_is_on_its_page() -> None:
    named = {shlex.split(line)[1] for line in shown("docs/command-line.md")}
    assert named == set(COMMANDS)
