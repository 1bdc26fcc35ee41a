"""Bundles that are looked at, and one that becomes a campaign of this disk."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path

from backends.campaign.folder.bundle import Bundle, BundleError, digest_of
from backends.campaign.folder.read_bundle import unpack
from backends.file_modes import Share, make_directory, narrow
from profiles.errors import DlperfError, SelectionError


class OpenedBundles:
    """Each unpacked once, into a directory of its own that goes when this object does."""

    def __init__(self) -> None:
        self._directories: list[tempfile.TemporaryDirectory[str]] = []
        self._by_path: dict[Path, Bundle] = {}

    def open(self, bundle: Path) -> Path:
        """The campaign's directory. Blocking.

        Raises
        ------
        BundleError: it is none. DlperfError: there is no room for it.
        """
        directory = tempfile.TemporaryDirectory(prefix="dlperf-tui-bundle-")
        try:
            found = unpack(bundle, Path(directory.name))
            self._by_path[found] = Bundle(bundle, digest_of(bundle))
        except OSError as error:
            directory.cleanup()
            raise _cannot(bundle, error) from error
        except BaseException:
            directory.cleanup()
            raise
        self._directories.append(directory)
        return found

    def of(self, campaign: Path) -> Bundle | None:
        """What the directory was unpacked from; None for a campaign of this disk."""
        return self._by_path.get(campaign)


def import_bundle(bundle: Path, output: Path, share: Share) -> None:
    """Make the campaign in a bundle one of this disk, in ``output``. Blocking.

    It is a copy: reported like the original, and not gone on with unless it is adopted.

    Raises
    ------
    SelectionError: ``output`` exists already. BundleError: it is none. DlperfError: no room.
    """
    refuse_existing(output)
    draft = output.with_name(f".{output.name}.unpacking-{secrets.token_hex(4)}")
    try:
        make_directory(draft, share)
        narrow(draft, share)
        found = unpack(bundle, draft)
        if output.exists():
            output.rmdir()
        found.rename(output)
    except OSError as error:
        raise _cannot(bundle, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def refuse_existing(output: Path) -> None:
    """Raise SelectionError unless a campaign can be made there."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise SelectionError("exists already", where=str(output), remedy="give another -o")


def _cannot(bundle: Path, error: OSError) -> DlperfError:
    if error.filename == str(bundle):
        return BundleError(bundle, f"cannot be read: {error.strerror}")
    return DlperfError(
        f"cannot unpack: {error.strerror}",
        where=str(error.filename or bundle),
        remedy="make room, or set TMPDIR to where there is",
    )
