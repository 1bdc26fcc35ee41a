"""One document on stdout, and lines for the person at the terminal on stderr."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tui.cli.shared.exit_codes import OK

_UNBROKEN = re.compile(
    r"[\u3000-\u9fff\uff00-\uffef][，。、；：）]*|[^\s\u3000-\u9fff\uff00-\uffef]+[，。、；：）]*|\s+"
)
"""A Chinese character, or a word of other characters, with the punctuation that ends it."""

_PART = re.compile(r"[^/,=_-]*[/,=_-]+|[^/,=_-]+")
"""Of a path or a list without spaces."""


def print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def print_campaign(path: Path, **more: object) -> None:
    """The document of a campaign that was changed, or that others go on with."""
    print_json({"campaign": path.name, "path": str(path.absolute()), **more})


def say(text: str) -> None:
    """A line for the person at the terminal; never on stdout, which may be a document."""
    with suppress(OSError):  # a pipe: what was printed comes first; who closed it is told later
        sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


def say_folded(text: str) -> None:
    """The same; on a terminal a line that is too long goes on in the next one between words."""
    say(folded(text, shutil.get_terminal_size().columns) if sys.stderr.isatty() else text)


def folded(text: str, width: int, *, indent: str = "  ", parts: bool = False) -> str:
    """In lines of at most that many columns; what has no space and no Chinese stays whole, or with
    ``parts`` goes on behind a slash, a comma or the like where a line has no room for it."""
    from rich.cells import cell_len  # noqa: PLC0415 (comes with Textual; 50 ms)

    lines = [""]
    for word in _UNBROKEN.findall(text):
        for part in _PART.findall(word) if parts and cell_len(word) > width else (word,):
            if lines[-1].strip() and cell_len(lines[-1] + part.rstrip()) > width:
                lines.append(indent)
            lines[-1] += part if lines[-1].strip() else part.lstrip()
    return "\n".join(line.rstrip() for line in lines)


def planned_by_others(path: Path, planned: Sequence[str], arguments: argparse.Namespace) -> int:
    """Whoever goes on with the campaign starts these runs. The exit code."""
    if arguments.json:
        print_campaign(path, planned=list(planned))
    return OK
