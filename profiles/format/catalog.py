"""The catalogue: bundled profiles, the user's own, and those of ``--profile-dir``.

A file that is wrong becomes a problem that names file, line, key and remedy; it never hides the
other profiles. Later directories win over earlier ones: bundled, user, extra.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from profiles.errors import ProfileError
from profiles.format.profile import Profile
from profiles.format.validators import MistakeAt, key_text
from profiles.nearest import nearest
from profiles.schema_mistakes import mistakes, read_toml

LIBRARY = Path(__file__).parent.parent / "library"
"""Where the bundled profiles are."""


@dataclass(frozen=True, slots=True)
class Source:
    """A profile with the file that it was read from, and what that said at the moment."""

    profile: Profile
    path: Path
    text: bytes


def load_file(path: Path) -> Profile:
    """Read one profile; raises like :func:`read_source`."""
    return read_source(path).profile


def read_source(path: Path) -> Source:
    """Read one profile.

    Raises
    ------
    ProfileError: the file cannot be read, is not TOML, or does not describe a profile.
    """
    try:
        return source_of(path, path.read_bytes())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProfileError(
            f"cannot read the profile: {reason}", where=str(path), remedy="check path and access"
        ) from error


def source_of(path: Path, content: bytes) -> Source:
    """The profile that this is when it stands in that file.

    Raises
    ------
    UnicodeDecodeError: it is no text. ProfileError: it is not TOML, or describes no profile.
    """
    text = content.decode()
    try:
        data = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(path, error) from None
    try:
        return Source(Profile.model_validate(data), path, content)
    except ValidationError as error:
        raise _validation_error(path, text, data, error) from None


class Catalog:
    """Profiles by name. Problems are files that could not be read; the rest is still there."""

    def __init__(
        self,
        profiles: Mapping[str, Source],
        problems: Mapping[Path, ProfileError],
    ) -> None:
        self._profiles = dict(sorted(profiles.items()))
        self._problems = dict(problems)

    @classmethod
    def load(cls, extra_dirs: Sequence[Path] = (), user_dir: Path | None = None) -> Catalog:
        """Read every ``*.toml`` of the directories. A user directory may be missing.

        Raises
        ------
        ProfileError: one of ``extra_dirs`` is not a directory.
        """
        for directory in extra_dirs:
            if not directory.is_dir():
                raise ProfileError(
                    "no such directory", where=str(directory), remedy="check --profile-dir"
                )
        profiles, problems = _bundled(LIBRARY)
        for directory in [*([user_dir] if user_dir is not None else []), *extra_dirs]:
            found, wrong = _read(directory)
            profiles, problems = profiles | found, problems | wrong
        return cls(profiles, problems)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._profiles)

    @property
    def problems(self) -> tuple[ProfileError, ...]:
        return tuple(self._problems.values())

    def get(self, name_or_path: str) -> Profile:
        """The profile of that name, or in that file when it has a slash or ends in ``.toml``.

        Raises
        ------
        ProfileError: unknown name (with near matches), or the file is wrong.
        """
        return self.source(name_or_path).profile

    def find(self, name: str) -> Profile | None:
        """The profile of that name, where there is one."""
        source = self._profiles.get(name)
        return source.profile if source is not None else None

    def source(self, name_or_path: str) -> Source:
        """The profile with its file; raises like :meth:`get`."""
        if "/" in name_or_path or name_or_path.endswith(".toml"):
            return read_source(Path(name_or_path).expanduser())
        if name_or_path in self._profiles:
            return self._profiles[name_or_path]
        for path, problem in self._problems.items():
            if path.stem == name_or_path:
                raise problem
        near = difflib.get_close_matches(name_or_path, self._profiles, n=3, cutoff=0.6)
        raise ProfileError(
            f"no profile is called {name_or_path!r}",
            remedy=f"did you mean {' or '.join(near)}?"
            if near
            else "dlperf-tui profiles lists them; a path to a .toml file works too",
        )


def _read(directory: Path) -> tuple[dict[str, Source], dict[Path, ProfileError]]:
    """The profiles of a directory by name, and what is wrong with its other files."""
    profiles: dict[str, Source] = {}
    problems: dict[Path, ProfileError] = {}
    for path in sorted(directory.glob("*.toml")):
        try:
            source = read_source(path)
            _check_unique(source.profile, path, profiles)
        except ProfileError as problem:
            problems[path] = problem
        else:
            profiles[source.profile.name] = source
    return profiles, problems


_bundled = functools.cache(_read)
"""What came with the program stays as it is for as long as it runs."""


def _check_unique(profile: Profile, path: Path, seen: Mapping[str, Source]) -> None:
    if profile.name in seen:
        raise ProfileError(
            f"{seen[profile.name].path.name} beside it is also called {profile.name!r}",
            where=f"{path}: name",
            remedy="rename one of the two",
        )


def _toml_error(path: Path, error: tomllib.TOMLDecodeError) -> ProfileError:
    message = str(error)
    where = str(path)
    if position := re.search(r" ?\(at line (\d+), column (\d+)\)$", message):
        where = f"{path}:{position.group(1)}:{position.group(2)}"
        message = message[: position.start()]
    message = message.removesuffix(" (at end of document)")
    return ProfileError(
        f"not valid TOML: {message}", where=where, remedy="mend the line; text needs quotes"
    )


def _validation_error(path: Path, text: str, data: object, error: ValidationError) -> ProfileError:
    found = mistakes(error.errors(include_url=False), data)
    # A misspelt key also leaves the right one missing: the misspelling is what to tell.
    first = next((mistake for mistake in found if mistake.kind == "extra_forbidden"), found[0])
    location, message, remedy = first.at, first.what, ""
    if first.kind == "value_error":
        cause = first.details[0]["ctx"]["error"]
        if isinstance(cause, MistakeAt):
            location, message = (*location, *cause.at), cause.what
    elif first.kind == "extra_forbidden":
        message, remedy = f"unknown key {location[-1]!r}", _near_key(location)
    elif first.kind == "missing":
        message, remedy = f"{location[-1]!r} is missing", "add it"
    key = key_text(location)
    if len(found) > 1:
        remedy = "; ".join(filter(None, (remedy, f"{len(found) - 1} more to mend after that")))
    line = _line_of(text, location)
    where = f"{path}:{line}" if line else str(path)
    return ProfileError(message, where=f"{where}: {key}" if key else where, remedy=remedy)


def _near_key(location: Sequence[int | str]) -> str:
    known = _known_keys(location[:-1])
    if (near := nearest(str(location[-1]), known)) is not None:
        return f"did you mean {near!r}?"
    return f"known keys: {', '.join(known)}" if known else "remove it"


def _known_keys(location: Sequence[int | str]) -> list[str]:
    schema = Profile.model_json_schema(by_alias=True)
    node = schema
    for part in location:
        if isinstance(part, int):
            node = node.get("items", {})
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            node = node.get("additionalProperties", {}) or {}
        for choice in (node, *node.get("anyOf", ()), *node.get("allOf", ())):
            if "$ref" in choice:
                node = schema["$defs"][choice["$ref"].rsplit("/", 1)[1]]
                break
    return list(node.get("properties", {}))


def _line_of(text: str, location: Sequence[int | str]) -> int | None:
    """The line that sets the key, found by the deepest table header and key that the text has."""
    names = [part for part in location if isinstance(part, str)]
    lines = text.splitlines()
    for depth in range(len(names), 0, -1):
        header = ".".join(names[: depth - 1])
        if (line := _find_key(lines, header, names[depth - 1])) is not None:
            return line
    return None


def _find_key(lines: Sequence[str], header: str, key: str) -> int | None:
    current = ""
    for number, line in enumerate(lines, start=1):
        if table := re.match(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}", line):
            current = table.group(1).replace('"', "").replace("'", "")
            if current == (f"{header}.{key}" if header else key):
                return number
        elif current == header and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return number
    return None
