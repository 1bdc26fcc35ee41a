"""A copy of a recorded campaign that grows on disk as the campaign did."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from backends.campaign.folder.regular_file import open_to_read
from backends.campaign.record.journal import FILE_NAME as JOURNAL
from backends.replay.recording import Recording, Track
from profiles.errors import DlperfError


class Playback:
    """The copy in ``directory``, which it makes, and brings up to one moment after the other.

    Parameters
    ----------
    before: another copy; what is whole there, and at ``now``, is shared with it.

    Raises
    ------
    DlperfError: it cannot be written. Every method blocks.
    """

    def __init__(
        self,
        recording: Recording,
        directory: Path,
        *,
        before: Playback | None = None,
        now: float = -math.inf,
    ) -> None:
        self.directory = directory
        self._recording = recording
        self._written = dict.fromkeys(recording.tracks, 0)
        with told(directory):
            directory.mkdir(mode=0o700, parents=True)
            for path in recording.others:
                if not self._shares(path, before):
                    source, target = recording.source / path, self._target(path)
                    shutil.copyfile(source, target, follow_symlinks=False)
            for path, track in recording.tracks.items():
                if track.size_at(now) >= track.size and self._shares(path, before):
                    del self._written[path]

    def tell(self, now: float) -> None:
        """Add what the journal said until then, and nothing else."""
        if JOURNAL in self._written:
            with told(self.directory):
                self._grow(JOURNAL, self._recording.tracks[JOURNAL], now)

    def show(self, now: float) -> None:
        """Add all that had come until then."""
        with told(self.directory):
            for path in tuple(self._written):
                self._grow(path, self._recording.tracks[path], now)

    def _target(self, path: str) -> Path:
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _shares(self, path: str, before: Playback | None) -> bool:
        """Whether it is here now because it was there; not every file system can do this."""
        if before is None or path in before._written:
            return False
        try:
            os.link(before.directory / path, self._target(path))
        except OSError:
            return False
        return True

    def _grow(self, path: str, track: Track, now: float) -> None:
        written, size, whole = self._written[path], track.size_at(now), track.size
        if size > written:
            more = self._bytes(path, written, size - written)
            if size < whole and not track.exact:
                more = more[: more.rfind(b"\n") + 1]
            with self._target(path).open("ab") as file:
                file.truncate(written)  # there may be some of it, where there was no room for all
                file.write(more)
            written += len(more)
            self._written[path] = written
        if size >= whole:
            del self._written[path]

    def _bytes(self, path: str, at: int, count: int) -> bytes:
        if path == JOURNAL:
            return self._recording.lines[at : at + count]
        fd = open_to_read(self._recording.source / path)
        if fd is None:  # gone meanwhile
            return b""
        with os.fdopen(fd, "rb") as file:
            file.seek(at)
            return file.read(count)


@contextlib.contextmanager
def told(directory: Path | str) -> Iterator[None]:
    """What the disk refuses there is a DlperfError."""
    try:
        yield
    except OSError as error:
        raise DlperfError(
            f"the replay cannot be written: {error.strerror}",
            where=str(directory),
            remedy="free space there, or name another place with TMPDIR",
        ) from error
