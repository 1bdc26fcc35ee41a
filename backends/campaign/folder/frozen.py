"""``frozen/``: what a campaign is run from, copied into it when it began.

The profiles' text byte for byte, their resolved settings, the files they ship, the hosts, and every
run of the plan. ``manifest.json`` names all of it with its SHA-256; the manifest's own is in the
journal. Whoever goes on with a campaign, or reports it, takes what is here and not what profiles
and ``campaign.toml`` have become since.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any  # JSON

from backends import version
from backends.campaign.folder.regular_file import sync_directory
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import events as ev
from backends.campaign.record.codec import event_of
from backends.file_modes import make_directory, make_file
from backends.inventory.host_entry import Host
from backends.inventory.host_to_toml import host_of, host_table
from backends.inventory.queue import Queue, queue_of, queue_table
from backends.remote.wrapper_messages import StagedTree
from profiles.errors import DlperfError
from profiles.logs.own_log_names import safe_name

if TYPE_CHECKING:
    from backends.campaign.plan.profile_in_campaign import ProfileSetup
    from profiles.format.profile import Profile

FOLDER = "frozen"
MANIFEST = "manifest.json"
KEPT_BYTES = 16 << 20
"""Of staged files that are larger only the digest is kept."""
MOST_BYTES = 64 << 20
"""A file of ``frozen/`` that is larger is not one that we wrote: millions of runs are less."""


class FrozenError(DlperfError):
    """What the campaign is run from is not what it began with."""

    def __init__(self, directory: Path, what: str) -> None:
        super().__init__(
            what,
            where=str(directory),
            remedy="put it back as it was; or 'dlperf-tui cancel' what still runs, and begin anew "
            "with 'dlperf-tui run --from' its campaign.toml",
        )


@dataclass(frozen=True, slots=True)
class FrozenFiles:
    """What a profile ships. ``source``: where it lay; ``digest``: of its archive of ``size``."""

    source: str
    digest: str
    size: int

    @property
    def kept(self) -> bool:
        return self.size <= KEPT_BYTES

    @property
    def file(self) -> str:
        return f"stage/{safe_name(self.digest)}.tar"


@dataclass(frozen=True, slots=True)
class FrozenProfile:
    """``source``: the file it was read from; ``sha256``: of its text."""

    name: str
    source: str
    sha256: str
    settings: Mapping[str, str]
    stage: tuple[FrozenFiles, ...]

    @property
    def file(self) -> str:
        return f"profiles/{safe_name(self.name)}.toml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """``attempts``: how often a run is tried; ``request``: SHA-256 of campaign.toml; ``queue``:
    that gives the hosts."""

    profiles: tuple[FrozenProfile, ...]
    hosts: tuple[Host, ...]
    attempts: int
    request: str
    planned: tuple[ev.RunPlanned, ...]
    queue: Queue | None = None


def freeze(
    directory: Path,
    setups: Sequence[ProfileSetup],
    hosts: Sequence[Host],
    attempts: int,
    planned: Sequence[ev.RunPlanned],
    queue: Queue | None = None,
) -> str:
    """Write ``frozen/`` into a new campaign, whose campaign.toml is there; returns its digest.

    Everything is on disk when it returns. Blocking. Raises OSError.
    """
    folder = directory / FOLDER
    for path in (folder, folder / "profiles", folder / "stage"):
        make_directory(path, exist_ok=False)
    frozen = []
    for setup in setups:
        stage = []
        for files in setup.stage:
            archive = files.tree.archive
            entry = FrozenFiles(str(files.source), files.tree.digest, len(archive))
            if entry.kept and not (folder / entry.file).exists():
                _write(folder / entry.file, archive)
            stage.append(entry)
        profile = FrozenProfile(
            setup.profile.name,
            str(setup.source.path.absolute()),
            _sha256(setup.source.text),
            dict(setup.settings),
            tuple(stage),
        )
        _write(folder / profile.file, setup.source.text)
        frozen.append(profile)
    request = _sha256((directory / REQUEST_NAME).read_bytes())
    manifest = _encode(
        Manifest(tuple(frozen), tuple(hosts), attempts, request, tuple(planned), queue)
    )
    _write(folder / MANIFEST, manifest)
    for path in (folder / "profiles", folder / "stage", folder, directory):
        sync_directory(path)
    return _sha256(manifest)


def read_manifest(directory: Path, digest: str) -> Manifest:
    """The manifest that the journal names; raises FrozenError when it is another one."""
    data = _read(directory, MANIFEST)
    if _sha256(data) != digest:
        raise FrozenError(directory, f"{FOLDER}/{MANIFEST} is not what the campaign began with")
    try:
        return _decode(json.loads(data))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise FrozenError(directory, f"{FOLDER}/{MANIFEST} cannot be understood") from None


def damage(directory: Path, digest: str) -> str:
    """What of ``frozen/`` is not as it was, in words; empty when it is whole. Blocking."""
    try:
        manifest = read_manifest(directory, digest)
        for profile in manifest.profiles:
            profile_text(directory, profile)
            for files in profile.stage:
                if files.kept:
                    _tree(directory, files)
    except FrozenError as error:
        return error.what
    return ""


def thaw(directory: Path, manifest: Manifest, *, stage: bool = True) -> Mapping[str, ProfileSetup]:
    """The setups that the campaign began with, by the profile's name. Blocking.

    ``stage``: with the files that they ship, which only a run that is to be started needs.

    Raises
    ------
    FrozenError: something in ``frozen/`` is missing or was changed, or files that were too large
        to keep have changed where they lie.
    """
    from backends.campaign.plan.profile_in_campaign import (  # noqa: PLC0415 (the models)
        ProfileSetup,
        StagedFiles,
    )
    from profiles.format.catalog import read_source  # noqa: PLC0415

    setups = {}
    for profile in manifest.profiles:
        profile_text(directory, profile)
        source = read_source(directory / FOLDER / profile.file)
        files = tuple(
            StagedFiles(Path(f.source), _tree(directory, f)) for f in profile.stage if stage
        )
        setups[profile.name] = ProfileSetup(source, profile.settings, files)
    return setups


def profiles_of(directory: Path, digest: str) -> dict[str, Profile]:
    """Those that the campaign began with, by their names; none where they are not here as they
    were, or of a format that is read no more. Blocking."""
    try:
        setups = thaw(directory, read_manifest(directory, digest), stage=False)
    except DlperfError:
        return {}
    return {name: setup.profile for name, setup in setups.items()}


def changed_since(
    directory: Path, manifest: Manifest, *, stage: bool = False, simulated: bool = False
) -> tuple[str, ...]:
    """What lies elsewhere today than when the campaign began: profiles, campaign.toml, and with
    ``stage`` the files that profiles ship. What is not there any more is not told; nor are profiles
    where it was ``simulated``: the demo's are never as the files lie that they are made of.
    Blocking."""
    changed = []
    for profile in manifest.profiles:
        if not simulated and _differs(Path(profile.source), profile.sha256):
            changed.append(f"profile {profile.name}")
        if stage:
            changed += [Path(f.source).name for f in profile.stage if f.kept and _repacked(f)]
    if _differs(directory / REQUEST_NAME, manifest.request):
        changed.append(REQUEST_NAME)
    return tuple(changed)


def changed_words(changed: Sequence[str]) -> str:
    """The one note about what :func:`changed_since` found; empty where that is nothing."""
    if not changed:
        return ""
    return f"changed since the campaign began: {', '.join(changed)}; it goes by what it began with"


def _differs(path: Path, sha256: str) -> bool:
    try:
        return _sha256(path.read_bytes()) != sha256
    except OSError:
        return False


def _repacked(files: FrozenFiles) -> bool:
    """Whether what would be packed now is something else."""
    from backends.campaign.plan.profile_in_campaign import packed  # noqa: PLC0415

    try:
        return packed(Path(files.source)).tree.digest != files.digest
    except (OSError, ValueError):
        return False


def profile_text(directory: Path, profile: FrozenProfile) -> bytes:
    """As it was when the campaign began; raises FrozenError where it is so no more. Blocking."""
    text = _read(directory, profile.file)
    if _sha256(text) != profile.sha256:
        raise FrozenError(directory, f"{FOLDER}/{profile.file} was changed since the beginning")
    return text


def _tree(directory: Path, files: FrozenFiles) -> StagedTree:
    if files.kept:
        tree = StagedTree.packed(_read(directory, files.file))
        if tree.digest != files.digest:
            raise FrozenError(directory, f"{FOLDER}/{files.file} was changed since the beginning")
        return tree
    from backends.campaign.plan.profile_in_campaign import packed  # noqa: PLC0415

    try:
        tree = packed(Path(files.source)).tree
    except OSError as error:
        raise FrozenError(directory, f"cannot read {files.source}: {error.strerror}") from error
    if tree.digest != files.digest:
        raise FrozenError(directory, f"{files.source} was changed since the beginning")
    return tree


def _read(directory: Path, name: str) -> bytes:
    try:
        with (directory / FOLDER / name).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read() if size <= MOST_BYTES else b""
    except FileNotFoundError:
        raise FrozenError(directory, f"{FOLDER}/{name} is missing") from None
    except OSError as error:
        raise FrozenError(directory, f"{FOLDER}/{name} cannot be read: {error.strerror}") from error
    if size > MOST_BYTES:
        raise FrozenError(directory, f"{FOLDER}/{name} is too large: {size:,} bytes")
    return data


def _write(path: Path, data: bytes) -> None:
    make_file(path)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# The manifest as JSON: runs are listed by their case, so that a plan of thousands stays small.

_OF_A_CASE = (
    *("profile", "framework", "model", "unit", "nodes", "gpus_per_node", "parameters"),
    *("workload", "arithmetic", "expected_s", "timed", "settle_s"),
)


def _encode(manifest: Manifest) -> bytes:
    cases: list[dict[str, Any]] = []
    runs: list[tuple[str, int, int]] = []
    numbers: dict[str, int] = {}
    for run in manifest.planned:
        case = {name: getattr(run, name) for name in _OF_A_CASE}
        case["parameters"] = dict(run.parameters)
        number = numbers.setdefault(_json(case), len(cases))
        if number == len(cases):
            cases.append(case)
        runs.append((run.run_id, number, run.repeat))
    document = {
        "version": version(),
        "profiles": [asdict(profile) for profile in manifest.profiles],
        "hosts": [host_table(host, whole=True) for host in manifest.hosts],
        "queue": manifest.queue and queue_table(manifest.queue),
        "attempts": manifest.attempts,
        "request": manifest.request,
        "cases": cases,
        "runs": runs,
    }
    return f"{_json(document)}\n".encode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _decode(document: Any) -> Manifest:
    cases = document["cases"]
    planned = tuple(_planned(cases[n], run_id, repeat) for run_id, n, repeat in document["runs"])
    return Manifest(
        tuple(_profile(table) for table in document["profiles"]),
        tuple(host_of(table) for table in document["hosts"]),
        int(document["attempts"]),
        str(document["request"]),
        planned,
        queue_of(document["queue"]) if document.get("queue") else None,
    )


def _planned(case: Any, run_id: object, repeat: object) -> ev.RunPlanned:
    run = event_of({"kind": "RunPlanned", "t": 0, "run_id": run_id, "repeat": repeat, **case})
    if not isinstance(run, ev.RunPlanned):
        raise ValueError  # noqa: TRY004 (its values are wrong)
    return run


def _profile(table: Any) -> FrozenProfile:
    return FrozenProfile(
        str(table["name"]),
        str(table["source"]),
        str(table["sha256"]),
        {str(name): str(value) for name, value in table["settings"].items()},
        tuple(
            FrozenFiles(str(files["source"]), str(files["digest"]), int(files["size"]))
            for files in table["stage"]
        ),
    )
