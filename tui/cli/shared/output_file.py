"""A file that a command was told to write: nothing of others is written over unless told to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.results.own_output import is_own_output
from backends.results.result_files import write_atomically
from profiles.errors import DlperfError, SelectionError
from tui.cli.shared.output import say


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force", action="store_true", help="write over a file that is there, whatever is in it"
    )


def refuse_to_lose(
    path: Path, option: str, *, force: bool, own: Callable[[Path], bool] = is_own_output
) -> None:
    """Before anything is done: raise SelectionError where something is in the way that would be
    lost. ``own``: whether a file is one that may be written again."""
    if not os.path.exists(path) or path.is_dir():  # noqa: PTH110 (what cannot be seen: writing tells)
        return
    if not path.is_file():
        raise SelectionError(
            "is no regular file", where=f"{option} {path}", remedy="name one, or a new one"
        )
    if force:
        return
    try:
        known = own(path)
    except OSError:  # nobody can tell what it holds
        known = False
    if not known:
        what = "a file is there that may hold something else than this would be"
        remedy = "give another name, or --force to write over it"
        raise SelectionError(what, where=f"{option} {path}", remedy=remedy)


def write_output(path: Path, text: str, option: str) -> None:
    """Write it, and say so.

    Raises
    ------
    DlperfError: it cannot be written.
    """
    with told(path):
        try:
            write_atomically(path, text)
        except OSError as error:
            raise DlperfError(
                f"cannot write: {error.strerror}", where=str(path), remedy=f"give another {option}"
            ) from error


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say that the file was written, and which directory was made for it."""
    missing = not os.path.exists(path.parent)  # noqa: PTH110 (see above)
    yield
    say(f"written: {path}" + f", in a new directory, {path.parent}" * missing)
