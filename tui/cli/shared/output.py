"""One document on stdout, and lines for the person at the terminal on stderr."""

from __future__ import annotations

import json
import sys


def print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """A line for the person at the terminal; never on stdout, which may be a document."""
    print(text, file=sys.stderr, flush=True)
