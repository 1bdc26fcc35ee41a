"""A campaign as one file: what a bundle is, for who writes one and who reads one.

A tar of regular files below one directory, compressed with zstd: ``tar --zstd -xf`` unpacks it, and
``sha256sum -c SHA256SUMS`` checks it. The same campaign gives the same bytes.
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from backends.campaign.folder import artifacts, frozen, tags_and_note
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import journal
from profiles.errors import DlperfError, SelectionError

SUFFIX = ".tar.zst"
CHECKSUMS = "SHA256SUMS"
EVIDENCE = (
    *(REQUEST_NAME, frozen.FOLDER, journal.FILE_NAME, tags_and_note.FILE_NAME),
    *(artifacts.ENVIRONMENT, artifacts.PRECHECK, "logs", "telemetry", "diagnosis"),
    *("results.csv", "results.json", artifacts.REPORT, "figures"),
)
"""What travels, of the top of a campaign's directory: neither locks nor logs of this program."""
MOST_BYTES = 1 << 34
"""Of all files together."""
MOST_FILES = 200_000
LONGEST_NAME = 1024
BLOCK = 1 << 16


class BundleError(DlperfError):
    """A bundle that is none, is damaged, or tries what no bundle of ours does."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            what, where=str(path), remedy="have it made and sent again: 'report … --bundle'"
        )


@dataclass(frozen=True, slots=True)
class Bundle:
    """``sha256``: of the file, in hexadecimal digits. ``path``: of the file."""

    path: Path
    sha256: str


def is_bundle(name: str) -> bool:
    """Whether a file of that name is there, and called as bundles are."""
    return name.endswith(SUFFIX) and Path(name).is_file()


def refuse_bundle(name: str) -> None:
    """Raise SelectionError: what is asked for takes a campaign."""
    if is_bundle(name):
        raise SelectionError(
            "is a bundle, which can only be looked at",
            where=name,
            remedy=f"make a campaign of it: dlperf-tui import {name} -o DIRECTORY",
        )


def is_plain(name: str) -> bool:
    """Whether a member may have this name: relative, canonical, printable, of a file that travels,
    below one directory."""
    parts = PurePosixPath(name).parts
    return (
        len(parts) > 1
        and str(PurePosixPath(name)) == name
        and len(name.encode("utf-8", "surrogateescape")) <= LONGEST_NAME
        and not any(unicodedata.category(char) in ("Cc", "Cs") for char in name)
        and all(not part.startswith(".") for part in parts)
        and not name.startswith("/")
        and parts[1] in (*EVIDENCE, CHECKSUMS)
    )


def checksum_lines(digests: dict[str, str]) -> bytes:
    """SHA256SUMS, as ``sha256sum`` writes it: of names below the bundle's directory."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def digest_of(path: Path) -> str:
    """SHA-256 of a file. Blocking; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cite_line(name: str, version: str, began: str, what: str, bundle: Bundle) -> str:
    """What to write where a figure of the campaign is quoted."""
    made_by = f"dlperf-tui {version}".strip()
    said = ", ".join(filter(None, [what, began, made_by]))
    return f"{name} ({said}), {bundle.path.name}, sha256:{bundle.sha256}"
