"""A campaign's directory into one file that others can check and report from."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from backends.campaign.folder import artifacts
from backends.campaign.folder.bundle import (
    BLOCK,
    CHECKSUMS,
    EVIDENCE,
    MOST_BYTES,
    MOST_FILES,
    Bundle,
    checksum_lines,
    is_plain,
)
from backends.campaign.folder.regular_file import open_to_read
from backends.campaign.record import journal
from profiles.errors import DlperfError
from profiles.logs.own_log_names import safe_name

LEVEL = 10
"""Of zstd, in one thread: other ones give other bytes."""


def write_bundle(campaign: Path, name: str, target: Path, report: str = "") -> Bundle:
    """Write the campaign in the directory ``campaign``, called ``name``, to ``target``. Blocking.

    ``report``: in place of its report.md, where not empty.

    Of a campaign at work: what its journal says now, and at least the logs that it knows.

    Raises
    ------
    DlperfError: it holds what cannot travel, a file cannot be read, or the target not be written;
        nothing is left behind.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("xb") as file:
            hashing = _Hashing(file)
            _write(campaign, directory_in_bundle(name), hashing, report.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise DlperfError(
            f"cannot write the bundle: {error.strerror or error}",
            where=str(error.filename or target),
            remedy="choose a directory that may be written and has room",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return Bundle(target, hashing.sha256.hexdigest())


def directory_in_bundle(name: str) -> str:
    """Below which the files of the campaign ``name`` lie."""
    return safe_name(name, "campaign")


class _Hashing:
    """Writes to a file, and knows what it wrote."""

    def __init__(self, file: BinaryIO) -> None:
        self.sha256 = hashlib.sha256()
        self._file = file

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return self._file.write(data)


def _write(campaign: Path, top: str, out: _Hashing, report: bytes) -> None:
    import zstandard  # noqa: PLC0415 (only who makes or reads a bundle waits for it)

    # What the journal says was written before is in the logs: so its end is looked up first.
    ends = {journal.FILE_NAME: (campaign / journal.FILE_NAME).stat().st_size}
    digests: dict[str, str] = {}
    total = 0
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, threads=0)
    with (
        compressor.stream_writer(cast(IO[bytes], out), closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        names = {*_files(campaign), *((artifacts.REPORT,) if report else ())}
        for name in sorted(names):
            if not is_plain(f"{top}/{name}"):
                raise _cannot_travel(campaign, name, "has a name that not every system can hold")
            written = report if name == artifacts.REPORT else b""
            with io.BytesIO(written) if written else _opened(campaign, name) as file:
                size = len(written) or min(
                    os.fstat(file.fileno()).st_size, ends.get(name, MOST_BYTES)
                )
                total += size
                if total > MOST_BYTES or len(digests) >= MOST_FILES:
                    raise DlperfError(
                        f"more than {MOST_BYTES >> 30} GiB or {MOST_FILES:,} files",
                        where=str(campaign),
                        remedy="pack its directory with tar",
                    )
                part = _Part(file, size)
                tar.addfile(_member(f"{top}/{name}", size), part)
            digests[name] = part.sha256.hexdigest()
        sums = checksum_lines(digests)
        tar.addfile(_member(f"{top}/{CHECKSUMS}", len(sums)), io.BytesIO(sums))


class _Part(io.RawIOBase):
    """The first ``size`` bytes of a file that may grow, and their digest."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.sha256 = hashlib.sha256()
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        found = self._file.read(min(wanted, BLOCK) if size < 0 else wanted)
        self._left -= len(found)
        self.sha256.update(found)
        return found


def _member(name: str, size: int) -> tarfile.TarInfo:
    """With nothing in it of when, where or by whom it was written."""
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member


@contextlib.contextmanager
def _opened(campaign: Path, name: str) -> Iterator[BinaryIO]:
    fd = open_to_read(campaign / name)
    if fd is None:
        raise _cannot_travel(campaign, name, "is no file that can be read")
    with os.fdopen(fd, "rb") as file:
        yield file


def _files(campaign: Path) -> Iterator[str]:
    """Relative names of all files that travel; no link is followed."""
    with os.scandir(campaign) as entries:
        tops = [entry for entry in entries if entry.name in EVIDENCE]
    while tops:
        entry = tops.pop()
        name = str(Path(entry.path).relative_to(campaign))
        if entry.is_symlink():
            raise _cannot_travel(campaign, name, "is a link")
        if entry.is_dir(follow_symlinks=False):
            with os.scandir(entry.path) as entries:
                tops += [e for e in entries if not e.name.startswith(".")]
        else:
            yield name


def _cannot_travel(campaign: Path, name: str, why: str) -> DlperfError:
    return DlperfError(
        f"{name!r} {why}",
        where=str(campaign),
        remedy="put a regular file of a plain name in its place, or take it away",
    )
