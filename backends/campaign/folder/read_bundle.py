"""A bundle back into a directory. It may come from anybody: nothing in it is believed.

Only regular files with plain names below one directory are made, each new; sizes are bounded before
anything is read, and the directory counts only when every checksum is right.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from backends.campaign.folder.bundle import (
    BLOCK,
    CHECKSUMS,
    LONGEST_NAME,
    MOST_BYTES,
    MOST_FILES,
    BundleError,
    checksum_lines,
    is_plain,
)
from backends.campaign.record import journal
from backends.file_modes import make_directory, open_file

_MOST_WINDOW = 1 << 27
"""Memory that decompressing may take."""
_HEADERS = (1 << 16) + tarfile.RECORDSIZE
"""Bytes of headers before a member, with what is read ahead of them."""
_PAX = frozenset({"path", "size"})


def unpack(bundle: Path, into: Path) -> Path:
    """Unpack into the directory ``into``, which exists and is the caller's to remove when this
    raises; returns the campaign's directory in it. Blocking.

    Raises
    ------
    BundleError: it is no bundle of ours, is damaged, or too large. OSError: the disk is full.
    """
    room = min(MOST_BYTES, shutil.disk_usage(into).free // 2)
    try:
        top, digests, told = _members(bundle, into, room)
    except tarfile.TarError as error:
        raise BundleError(bundle, f"is no bundle, or is damaged: {error}") from error
    except (ValueError, EOFError) as error:
        raise BundleError(bundle, "is no bundle, or is damaged") from error
    except _TooMuchError as error:
        raise BundleError(bundle, str(error)) from error
    if told is None:
        raise BundleError(bundle, f"ends before its {CHECKSUMS}")
    if told != checksum_lines(digests):
        raise BundleError(bundle, f"its files are not those of its {CHECKSUMS}")
    if journal.FILE_NAME not in digests:
        raise BundleError(bundle, "holds no campaign")
    return into / top


def campaign_in(bundle: Path) -> str | None:
    """The name that a bundle's directory has; None: that is no bundle of ours. Blocking; raises
    OSError."""
    import zstandard  # noqa: PLC0415 (see below)

    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    with bundle.open("rb") as file, decompressor.stream_reader(file) as stream:
        bounded = _Bounded(stream, zstandard.ZstdError)
        bounded.allowed = _HEADERS
        try:
            with tarfile.open(fileobj=bounded, mode="r|", format=tarfile.PAX_FORMAT) as tar:
                first = tar.next()
        except (tarfile.TarError, ValueError, EOFError, _TooMuchError):
            return None
    return PurePosixPath(first.name).parts[0] if first and is_plain(first.name) else None


class _TooMuchError(Exception):
    """More than there is room for, or than a campaign has."""


class _Bounded(io.RawIOBase):
    """What is decompressed, no more of it than was allowed before."""

    def __init__(self, source: IO[bytes], errors: type[Exception]) -> None:
        self._source = source
        self._errors = errors
        self.allowed = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self.allowed:
            raise _TooMuchError("a header in it is larger than any of ours")
        try:
            found = self._source.read(size)
        except self._errors as error:
            raise tarfile.ReadError("it cannot be decompressed") from error
        self.allowed -= len(found)
        return found


def _members(bundle: Path, into: Path, room: int) -> tuple[str, dict[str, str], bytes | None]:
    """The directory's name, the digest of each file below it, and SHA256SUMS if it came last."""
    import zstandard  # noqa: PLC0415 (only who makes or reads a bundle waits for it)

    top, digests, told = "", dict[str, str](), None
    seen: set[str] = set()
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    with bundle.open("rb") as file, decompressor.stream_reader(file) as stream:
        bounded = _Bounded(stream, zstandard.ZstdError)
        bounded.allowed = _HEADERS
        with tarfile.open(fileobj=bounded, mode="r|", format=tarfile.PAX_FORMAT) as tar:
            while (member := tar.next()) is not None:
                _check(bundle, member, seen, told)
                top = top or PurePosixPath(member.name).parts[0]
                name = str(PurePosixPath(member.name).relative_to(top))
                room -= member.size
                if room < 0 or len(seen) > MOST_FILES:
                    raise _TooMuchError("unpacks to more than there is room for")
                bounded.allowed = member.size + _HEADERS
                source = tar.extractfile(member)
                if source is None:
                    raise BundleError(bundle, f"{name!r} is no regular file")
                if name == CHECKSUMS:
                    told = _checksums(source, member.size)
                else:
                    digests[name] = _write(source, into / member.name)
                tar.members.clear()  # type: ignore[attr-defined]  # else they all stay in memory
                bounded.allowed = _HEADERS
    return top, digests, told


def _check(bundle: Path, member: tarfile.TarInfo, seen: set[str], told: bytes | None) -> None:
    refused: dict[str, Callable[[], bool]] = {
        "is no regular file": lambda: member.type != tarfile.REGTYPE or member.issparse(),
        "has headers that are not ours": lambda: not set(member.pax_headers) <= _PAX,
        "has a name that none of ours has": lambda: not is_plain(member.name),
        "lies elsewhere than the files before it": lambda: (
            bool(seen)
            and PurePosixPath(member.name).parts[0] != PurePosixPath(next(iter(seen))).parts[0]
        ),
        "is in it twice": lambda: member.name in seen,
        "is behind its checksums": lambda: told is not None,
    }
    for what, applies in refused.items():
        if applies():
            raise BundleError(bundle, f"{member.name[:LONGEST_NAME]!r} {what}")
    seen.add(member.name)


def _checksums(source: IO[bytes], size: int) -> bytes:
    if size > MOST_FILES * (LONGEST_NAME + 68):
        raise _TooMuchError(f"{CHECKSUMS} is larger than any of ours")
    return source.read()


def _write(source: IO[bytes], target: Path) -> str:
    digest = hashlib.sha256()
    try:
        make_directory(target.parent)
        fd = open_file(target, os.O_WRONLY | os.O_EXCL)
    except (FileExistsError, NotADirectoryError) as error:  # also "a" and then "a/b"
        raise tarfile.ReadError(f"{target.name!r} is in the way of another file") from error
    with os.fdopen(fd, "wb") as file:
        while block := source.read(BLOCK):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()
