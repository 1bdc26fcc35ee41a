"""What people say of a campaign: tags, and a note.

A file beside the journal and no part of it: it can be written while a console is at work on the
campaign, and nothing that is measured depends on it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from backends.campaign.folder.regular_file import open_to_read
from profiles.cleantext import clean_text
from profiles.errors import DlperfError, SelectionError

FILE_NAME = "about.toml"
NOTE_CAP = 2000
"""Characters of a note."""
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,63}", re.ASCII)
_MOST_TAGS = 100
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class About:
    """``note``: one line, display-safe."""

    tags: tuple[str, ...] = ()
    note: str = ""


def read_about(directory: Path) -> About:
    """Nothing where nothing was said, or where what was cannot be read. Blocking."""
    fd = open_to_read(directory / FILE_NAME)
    if fd is None:
        return About()
    import tomllib  # noqa: PLC0415 (most campaigns have no such file)

    try:
        document = tomllib.loads(os.read(fd, _MOST_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return About()
    finally:
        os.close(fd)
    tags, note = document.get("tags"), document.get("note")
    known = tags if isinstance(tags, list) else []
    return About(
        tuple(tag for tag in known if isinstance(tag, str) and _TAG.fullmatch(tag))[:_MOST_TAGS],
        clean_text(" ".join(note.split())[:NOTE_CAP]) if isinstance(note, str) else "",
    )


def write_about(directory: Path, about: About) -> None:
    """Replace what was said, whole or not at all. Blocking.

    Raises
    ------
    DlperfError: it cannot be written.
    """
    import tomli_w  # noqa: PLC0415 (only who writes needs these)

    from backends.results.result_files import write_in_campaign  # noqa: PLC0415

    said: dict[str, object] = {"tags": list(about.tags)} if about.tags else {}
    if about.note:
        said["note"] = about.note
    path = directory / FILE_NAME
    try:
        if said:
            write_in_campaign(path, tomli_w.dumps(said))
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise DlperfError(
            f"cannot write: {error.strerror}",
            where=str(path),
            remedy="check permissions and free space",
        ) from error


def checked_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, in the order given; raises SelectionError where one is no tag."""
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise SelectionError(f"{tag!r} is no tag", remedy=_remedy(tag))
    unique = tuple(dict.fromkeys(tags))
    if len(unique) > _MOST_TAGS:
        raise SelectionError(f"more than {_MOST_TAGS} tags", remedy="take some away first")
    return unique


def _remedy(tag: str) -> str:
    parts = re.split(r"[,;]+", tag.strip(",;"))
    if len(parts) > 1 and all(map(_TAG.fullmatch, parts)):
        return f"spaces part tags: {' '.join(parts)}"
    return "use letters, digits and . _ / + -, 64 at most"


def checked_note(text: str) -> str:
    """As one display-safe line; raises SelectionError where it is too long."""
    note = clean_text(" ".join(text.split()))
    if len(note) > NOTE_CAP:
        raise SelectionError(
            f"a note has at most {NOTE_CAP:,} characters, not {len(note):,}",
            remedy="keep the rest in a file beside the campaign's",
        )
    return note
