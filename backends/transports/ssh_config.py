"""The part of an ssh configuration that can be about one host.

asyncssh parses all of the file for each host: where it has a block for each of a thousand that
takes 40 ms every time. Format: ssh_config(5).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_BLOCK = re.compile(r"\s*(?P<keyword>host|match)(?:\s*=\s*|\s+)(?P<words>.*)", re.IGNORECASE)
_NAMES = re.compile(r"[A-Za-z0-9_.:-]+(\s+[A-Za-z0-9_.:-]+)*\s*", re.ASCII)
_QUOTED = re.compile(r"\s*[^\s=]*[\"'\\]")  # a keyword that only asyncssh should read

_Block = tuple[frozenset[str] | None, str]
"""Whom it is about, None: perhaps everybody; and its lines."""


@contextmanager
def about(path: Path, name: str) -> Iterator[Path]:
    """A file that says of this host what ``path`` says, without blocks of others.

    Raises OSError.
    """
    blocks = _blocks(path, path.stat().st_mtime_ns)
    kept = [lines for names, lines in blocks if names is None or name.casefold() in names]
    if len(kept) == len(blocks):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="dlperf-ssh-") as file:
        file.write("".join(kept).encode("utf-8", "surrogateescape"))
        file.flush()
        yield Path(file.name)


@lru_cache(maxsize=8)
def _blocks(path: Path, _changed_at_ns: int) -> tuple[_Block, ...]:
    blocks: list[_Block] = [(None, "")]
    for line in path.read_text("utf-8", "surrogateescape").split("\n"):
        if (match := _BLOCK.match(line)) is not None:
            blocks.append((_names(match), ""))
        names, lines = blocks[-1]
        blocks[-1] = (None if _QUOTED.match(line) else names, f"{lines}{line}\n")
    return tuple(blocks)


def _names(match: re.Match[str]) -> frozenset[str] | None:
    """Of a ``Host`` line that has nothing but names; of all others asyncssh knows the rules."""
    words = match["words"]
    if match["keyword"].lower() != "host" or _NAMES.fullmatch(words) is None:
        return None
    return frozenset(words.casefold().split())
