"""A file that is named by hand: what the name means, and what is asked before it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.cells import cell_len

from backends.results.result_files import write_atomically
from profiles.errors import DlperfError
from tui.screens.dialogs import LINE, Answer, Choice

Format = TypeVar("Format", bound=str)


def meant(text: str) -> Path:
    """The file that was named, from the root on.

    Raises
    ------
    DlperfError: no file can have that name.
    """
    if not text.strip():
        raise DlperfError("no file is named", remedy="name one, or leave with Esc")
    unlike = DlperfError(
        "this cannot be the name of a file", remedy="name it from / on, in plain characters"
    )
    try:
        path = Path(text).expanduser().absolute()
        encoded = os.fsencode(path)
    except RuntimeError as error:
        user = Path(text).parts[0]
        raise DlperfError(
            f"no home directory is known for {user}", remedy=f"name the file, or write ./{user}"
        ) from error
    except (OSError, ValueError) as error:  # the directory that we are in may be gone, too
        raise unlike from error
    if b"\0" in encoded:
        raise unlike
    return path


SUFFIXES = ("md", "csv", "json", "html")
"""That say a format."""


def format_of(path: Path, formats: Sequence[Format]) -> Format:
    """What the file's name says, of the formats that there are.

    Raises
    ------
    DlperfError: the name says another one, or none: what was typed may have been meant for keys.
    """
    said = path.suffix.lower().removeprefix(".")
    if (known := next((one for one in formats if one == said), None)) is not None:
        return known
    endings = [f".{one}" for one in formats]
    no_such = f"this is not written as {said}" if said in SUFFIXES else "the name says no format"
    raise DlperfError(no_such, remedy=f"end it with {' or '.join(endings)}")


def whole(text: str, written: Callable[[Path], str]) -> str:
    """Where it will be written, unless that is what can be read already, and as what
    (``written``); or why it cannot be."""
    try:
        path = meant(text)
        read = text == str(path) and cell_len(text) <= LINE
        return f"as {written(path)}" if read else _in_lines(f"{path}, as {written(path)}")
    except DlperfError as error:
        return error.what


def _in_lines(path: str) -> str:
    """A line begins with a directory or the file, whose name is whole where a line has room."""
    lines = [""]
    for part in re.findall("[^/]*/|[^/]+", path):
        if cell_len(lines[-1] + part) > LINE:
            lines.append("")
        lines[-1] += part
    return "\n".join(filter(None, lines))


def destination(text: str, title: str, campaign: Path | None = None) -> tuple[Path, Choice | None]:
    """The path that was typed, and what is to be asked before anything is written there; blocking.

    What cannot be looked at is not there for os.path, where Path raises: writing tells of it.

    Raises
    ------
    DlperfError: it is in the directory of the ``campaign``, which lies there no more.
    """
    path = meant(text)
    its_own = campaign is not None and path.is_relative_to(campaign)
    if its_own and not os.path.exists(str(campaign)):  # noqa: PTH110
        raise DlperfError(
            "the campaign was moved or removed",
            where=str(campaign),
            remedy="name a file elsewhere, or open it with O where it is now",
        )
    if os.path.exists(path):  # noqa: PTH110 (see above)
        over = Answer("y", "write over it", "yes", destroys=True)
        answers = (over, Answer("n", "leave it", "no"))
        return path, Choice(title, f"{path} exists already.", answers)
    if not os.path.exists(path.parent):  # noqa: PTH110
        answers = (Answer("y", "make it", "yes"), Answer("n", "write nothing", "no"))
        return path, Choice(title, f"There is no directory {path.parent}.", answers)
    return path, None


def write_named(path: Path, text: str) -> None:
    """Blocking.

    Raises
    ------
    DlperfError: it cannot be written there.
    """
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DlperfError(
            f"cannot be written: {error.strerror or error}",
            where=str(path),
            remedy="choose a directory that may be written",
        ) from error
