"""The software that a profile's runs use on a host, as far as it can be read there: the image and
what it says of itself, packages of the interpreter, git revisions of checkouts.

What cannot be read is unknown. Nothing is started for it but the tools that know; no framework is
imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol

from backends.hosts.fingerprint import UNKNOWN, is_unknown
from backends.hosts.host_facts import HostSnapshot, Software, Sought
from profiles.cleantext import clean_text
from profiles.errors import ProfileError
from profiles.format.launch_section import Launch
from profiles.format.profile import Profile
from profiles.format.template import render_text

_MOST = 1000  # lines of one host
_TELLING = {"image": "id", "python": "packages", "git": "revision"}  # what tells the most
_DIGEST = re.compile(r"((?:sha256:)?[0-9a-f]{12})[0-9a-f]{28,}")
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*", re.ASCII)
_OWN_PATHS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")


def sought_by(
    profile: Profile, settings: Mapping[str, str], launch: Launch | None = None
) -> tuple[Sought, ...]:
    """What tells the software of a profile's runs; with ``launch`` of those alone."""
    launches = [launch] if launch is not None else _launches(profile)
    found: dict[Sought, None] = {}
    for one in launches:
        found.update(dict.fromkeys(_of_launch(profile, settings, one)))
    return tuple(found)


class Planned(Protocol):
    """One case to be run, as :class:`backends.campaign.plan.selection.PlannedCase`."""

    @property
    def profile(self) -> Profile: ...
    @property
    def settings(self) -> Mapping[str, str]: ...


def sought_for(planned: Iterable[Planned]) -> tuple[Sought, ...]:
    """The same for several profiles."""
    by_profile = {one.profile.name: one for one in planned}
    found = [one for p in by_profile.values() for one in sought_by(p.profile, p.settings)]
    return tuple(dict.fromkeys(found))


def sought_words(sought: Iterable[Sought]) -> list[str]:
    """As arguments of ``probe.sh``."""
    places = dict.fromkeys((one.kind, one.value) for one in sought)
    return [word for place in places for word in place]


def parse_software(text: str) -> tuple[Software, ...]:
    """Lines of kind, where, name and version with tabs between them; others are left out."""
    found = []
    for line in text.splitlines()[:_MOST]:
        words = [clean_text(word.strip())[:300] for word in line.split("\t")]
        if len(words) == 4 and all(words):
            found.append(Software(*words))
    return tuple(dict.fromkeys(found))


def with_unknown(software: Sequence[Software], sought: Iterable[Sought]) -> tuple[Software, ...]:
    """In the order of ``sought``; a line that says so for what nothing was found of."""
    told: dict[Software, None] = {}
    for one in sought:
        unknown = Software(one.kind, one.value, _TELLING[one.kind], UNKNOWN)
        told.update(dict.fromkeys(_of(software, one) or [unknown]))
    return tuple(told)


def software_of_runs(snapshot: HostSnapshot, sought: Collection[Sought]) -> HostSnapshot:
    """The same host, and of its software what is ``sought`` alone: it may have been looked at
    for another plan, too."""
    if snapshot.facts is None:
        return snapshot
    own = tuple(one for one in snapshot.facts.sought if one in sought)
    places = {(one.kind, one.value) for one in own}
    software = tuple(s for s in snapshot.facts.software if (s.kind, s.where) in places)
    return replace(snapshot, facts=replace(snapshot.facts, sought=own, software=software))


def software_by_role(software: Sequence[Software], sought: Iterable[Sought]) -> Mapping[str, str]:
    """What was found of what was sought, by its role: the same words for the same software."""
    found: dict[str, list[str]] = {}
    for one in sought:
        for key, version in _WORDS[one.kind](one.role, _of(software, one)).items():
            found.setdefault(key, []).append(version)
    return {
        role: UNKNOWN if any(map(is_unknown, versions)) else " + ".join(sorted(set(versions)))
        for role, versions in found.items()
    }


def _of(software: Iterable[Software], sought: Sought) -> list[Software]:
    there = (sought.kind, sought.value)
    return sorted((one for one in software if (one.kind, one.where) == there), key=_by_name)


def _by_name(software: Software) -> tuple[bool, str]:
    return software.name not in _TELLING.values(), software.name


def _image_words(role: str, found: Sequence[Software]) -> dict[str, str]:
    """The id says what it is; the versions are for readers."""
    versions = {one.name: one.version for one in found}
    number = versions.pop("id", UNKNOWN)
    versions.pop("digest", None)
    return {role: ", ".join([short_digest(number), *(f"{n} {v}" for n, v in versions.items())])}


def _python_words(role: str, found: Sequence[Software]) -> dict[str, str]:
    versions = [
        one.version if one.name == "packages" else f"{one.name} {one.version}" for one in found
    ]
    return {role: ", ".join(versions) or UNKNOWN}


def _git_words(role: str, found: Sequence[Software]) -> dict[str, str]:
    versions = {one.name: one.version for one in found}
    return {
        role: short_digest(versions.get("revision", UNKNOWN)),
        f"{role} changes": short_digest(versions.get("changes", UNKNOWN)),
    }


_WORDS: Mapping[str, Callable[[str, Sequence[Software]], dict[str, str]]] = {
    "image": _image_words,
    "python": _python_words,
    "git": _git_words,
}


def short_digest(digest: str) -> str:
    """As much of it as tells it apart."""
    return _DIGEST.sub(lambda match: match[1], digest)


def _launches(profile: Profile) -> list[Launch]:
    launch = profile.launch
    return [launch.with_variant(variant) for variant in (None, *launch.variant)]


def _of_launch(profile: Profile, settings: Mapping[str, str], launch: Launch) -> Iterable[Sought]:
    def filled(text: str) -> str:
        try:
            return render_text(text, settings)
        except ProfileError:
            return ""  # it differs from case to case

    named = {
        name: settings[name]
        for name, setting in profile.settings.items()
        if setting.check == "directory"
    }
    if launch.container is not None:
        if image := filled(launch.container.image):
            yield Sought("image", f"{launch.container.runtime} {image}", "image")
        directories = named  # the launch's own are of the image
    else:
        words = [filled(word) for word in launch.command.split()]
        yield from _programs(profile, settings, launch, words[0])
        scripts = [word for word in words if word.endswith((".py", ".sh"))]
        script = str(PurePosixPath(scripts[0]).parent) if scripts else ""
        directories = {**named, "workdir": filled(launch.workdir or ""), "script": script}
    roles: dict[str, str] = {}
    for role, directory in directories.items():
        if directory.startswith(("/", "~")):
            roles.setdefault(directory, role)
    yield from (Sought("git", directory, role) for directory, role in roles.items())


def _programs(
    profile: Profile, settings: Mapping[str, str], launch: Launch, first: str
) -> Iterable[Sought]:
    """The interpreters; none where the launch changes where their packages are looked for."""
    if any(name in launch.environment for name in _OWN_PATHS):
        return
    programs = {
        name: (settings.get(name) or "").partition(" ")[0]
        for name, setting in profile.settings.items()
        if setting.check == "executable"
    }
    if _PYTHON.fullmatch(first) and first not in programs.values():
        programs["python"] = first
    for role, program in programs.items():
        if program and ("/" in program or "PATH" not in launch.environment):
            yield Sought("python", program, role)
