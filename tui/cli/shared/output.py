"""One document on stdout, and lines for the person at the terminal on stderr."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tui.cli.shared.exit_codes import OK


def print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def print_campaign(path: Path, **more: object) -> None:
    """The document of a campaign that was changed, or that others go on with."""
    print_json({"campaign": path.name, "path": str(path.absolute()), **more})


def say(text: str) -> None:
    """A line for the person at the terminal; never on stdout, which may be a document."""
    print(text, file=sys.stderr, flush=True)


def say_folded(text: str) -> None:
    """The same; on a terminal a line that is too long goes on in the next one between words."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(
            text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    say(text)


def planned_by_others(path: Path, planned: Sequence[str], arguments: argparse.Namespace) -> int:
    """Whoever goes on with the campaign starts these runs. The exit code."""
    if arguments.json:
        print_campaign(path, planned=list(planned))
    return OK
