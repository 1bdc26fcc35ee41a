"""How a campaign runs a profile: its text, the operator's settings, the files that it ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import profiles
from backends.remote.wrapper_messages import StagedTree
from profiles.errors import ProfileError
from profiles.format.catalog import Source
from profiles.format.profile import Profile
from profiles.format.template import render_text

BUNDLED_FILES = Path(profiles.__file__).parent


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Files or a directory that hosts get a copy of. ``source``: where they lie here."""

    source: Path
    tree: StagedTree


@dataclass(frozen=True, slots=True)
class ProfileSetup:
    """A profile as one campaign runs it. Commands can be shown without what is staged."""

    source: Source
    settings: Mapping[str, str]
    stage: tuple[StagedFiles, ...] = ()

    @property
    def profile(self) -> Profile:
        return self.source.profile


def staged_files(source: Source, settings: Mapping[str, str]) -> tuple[StagedFiles, ...]:
    """The files that a profile ships, as they are now.

    Paths are relative to the profile's own file, and bundled workloads (``workloads/…``) are found
    from any profile.

    Raises
    ------
    ProfileError: a file is not there or cannot be read.
    """
    found = []
    for relative in source.profile.launch.stage:
        name = render_text(relative, settings)
        own = (source.path.parent / name).resolve()
        files = own if own.exists() else BUNDLED_FILES / name
        try:
            found.append(packed(files))
        except OSError as error:
            raise ProfileError(
                f"cannot read {own}: {error.strerror}",
                where=f"profile {source.profile.name}: launch.stage",
                remedy="put the file there or correct the path",
            ) from error
    return tuple(found)


def packed(source: Path) -> StagedFiles:
    """What lies at ``source`` now. Raises OSError where it cannot be read."""
    return StagedFiles(source, StagedTree.of({source.name: source}))
