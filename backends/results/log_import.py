"""A tree of existing logs as runs: measured where they lie, copied into the campaign on request."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from backends.file_modes import make_directory, make_file
from backends.hosts.fingerprint import devices_alone
from backends.results.escaping import one_line
from backends.results.mlperf_scaling import metrics_beside
from backends.results.run_result import RunResult
from profiles.case_tag import parse_tag
from profiles.errors import DlperfError, LogError
from profiles.format.case import Case
from profiles.format.case_matrix import make_case
from profiles.format.profile import Profile
from profiles.format.workload_section import workload_of
from profiles.logs.log_paths import GPUS, RecognisedLog, recognise
from profiles.logs.own_log_names import log_path
from profiles.logs.same_content import copies, same_text
from profiles.throughput.all_node_logs import with_all_logs
from profiles.throughput.as_stated import devices_stated, measure_as_stated
from profiles.throughput.doubts import Doubt, Doubts
from profiles.throughput.measure_run import Measurement

LOGS = "logs"


@dataclass(frozen=True, slots=True)
class ImportedTree:
    """What a tree holds.

    ``runs`` have their ``log`` below ``logs/`` of a campaign, and those of their other hosts beside
    it; ``sources`` says where each lies now, by its place in the campaign. ``warnings`` are lines
    for the operator: what was left out and why, what is doubtful.
    """

    runs: tuple[RunResult, ...]
    sources: Mapping[str, Path]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    relative: str
    log: RecognisedLog
    others: tuple[tuple[str, Path], ...] = ()  # the logs of the run's other hosts

    @property
    def logs(self) -> dict[str, Path]:
        """Every log of the run by its path in the tree, the first host's first."""
        return {self.relative: self.path, **dict(self.others)}


@dataclass(frozen=True, slots=True)
class _Measured:
    """``measurement`` is None where the log could not be read, of which ``failures`` says why."""

    found: _Found
    case: Case
    measurement: Measurement | None
    failures: tuple[str, ...]
    gpu: str = ""  # as the log states it
    assumed: bool = False  # nothing says how many devices there were
    doubts: Doubts = field(default_factory=dict)  # whether it is a repeat of its own

    @property
    def relative(self) -> str:
        return self.found.relative

    @property
    def repeat(self) -> int | None:
        return self.found.log.repeat

    @property
    def attempt(self) -> int:
        return self.found.log.attempt


def import_tree(profile: Profile, tree: Path) -> ImportedTree:
    """Measure every log of the tree that the profile recognises, in the order of their paths.

    What a path does not tell of the case, its devices and parameters, the log may state. Links that
    lead out of the tree, and what is no regular file, are left out. A log without a throughput is a
    failed run with the reason. Logs that carry no repeat number are numbered in their order; a
    number that is taken moves to the next free one, with a warning.

    Parameters
    ----------
    tree: a directory, or a single log.

    Raises
    ------
    LogError: no such directory, nothing in it is recognised, or a file beside a log is broken.
    """
    warnings: list[str] = []
    found = list(_recognised(profile, tree, warnings))
    if not found:
        raise LogError(
            f"no log of profile {profile.name} is recognised",
            where=str(tree),
            remedy=f"name a log {_such_as(profile)}",
        )
    beside = [metrics_beside(profile, entry.path) for entry in found]  # before the long work
    measured = _doubted([_measured(profile, log) for log in found])
    warnings += _assumed(measured)
    warnings += _told_once(measured)
    runs: list[RunResult] = []
    sources: dict[str, Path] = {}
    for (entry, repeat), more in zip(_numbered(measured, warnings), beside, strict=True):
        run = _run(profile, entry, repeat, more)
        runs.append(run)
        sources |= {f"{LOGS}/{name}": path for name, path in entry.found.logs.items()}
    return ImportedTree(tuple(runs), sources, tuple(warnings))


def copy_logs(imported: ImportedTree, campaign: Path) -> None:
    """Copy every log byte for byte to its place in the campaign directory.

    Raises
    ------
    OSError: a log cannot be read or written; nothing half-copied keeps a log's name.
    """
    for log, source in imported.sources.items():
        target = campaign / log
        make_directory(target.parent)
        temporary = target.with_name(
            f".{hashlib.sha256(target.name.encode()).hexdigest()[:16]}.tmp"
        )
        try:
            make_file(temporary)
            shutil.copyfile(source, temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def gpu_memory_mib(profile: Profile, metrics: Mapping[str, float]) -> int | None:
    """The metric ``memory`` where the profile measures it in MiB."""
    metric = profile.measure.metrics.get("memory")
    if metric is None or metric.unit != "MiB" or "memory" not in metrics:
        return None
    return round(metrics["memory"])


def _such_as(profile: Profile) -> str:
    """A name that is recognised for certain."""
    nodes, gpus_per_node = parse_tag(profile.matrix.cases[0])
    own = log_path(profile, make_case(profile, nodes, gpus_per_node, {}), 1, 1)
    other = ", or as the profile's [import] paths say" if profile.import_.paths else ""
    return f"as in {'/'.join(Path(own).parts[-2:])}{other}"


def _recognised(profile: Profile, tree: Path, warnings: list[str]) -> Iterator[_Found]:
    seen = dict(_named(profile, tree, warnings))
    others: dict[str, list[tuple[str, Path]]] = {}
    runs = {}
    for relative, (path, log) in seen.items():
        shown = one_line(relative)
        if (first := _first_hosts(seen, relative, log)) is not None:
            others.setdefault(first, []).append((relative, path))
        elif log is None:
            warnings.append(f"{shown}: not recognised; left out")
        elif log.profiled:
            warnings.append(f"{shown}: of a profiled run, which is no repeat; left out")
        else:
            runs[relative] = _Found(path, relative, log)
    for relative, found in runs.items():
        yield replace(found, others=tuple(others.get(relative, ())))


def _named(
    profile: Profile, tree: Path, warnings: list[str]
) -> Iterator[tuple[str, tuple[Path, RecognisedLog | None]]]:
    """Every file that may be a log, by its path in the tree, and what that path says."""
    root = tree.resolve()
    if not root.exists():
        raise LogError("no such file or directory", where=str(tree), remedy="check the path")
    names = _files(root, warnings) if root.is_dir() else iter([root])
    base = root if root.is_dir() else root.parent
    beside = {beside.file for beside in profile.import_.beside.values()}
    for path in names:
        if path.name in beside:
            continue
        relative = path.relative_to(base).as_posix()
        try:
            relative.encode()
        except UnicodeEncodeError:
            warnings.append(f"{one_line(relative)}: the name is not UTF-8; left out")
            continue
        # The tree's own name may be the one that tells the case, when a part of a tree is given.
        yield relative, (path, recognise(profile, relative) or recognise(profile, path))


def _first_hosts(
    seen: Mapping[str, tuple[Path, RecognisedLog | None]], relative: str, log: RecognisedLog | None
) -> str | None:
    """The log of a run of several hosts that ``….<host>.log`` is another log of; None: of none.

    ``log``: what the path itself is recognised as, which for another host's is that run or nothing.
    """
    *stems, ending = relative.split(".")
    if ending != "log":
        return None
    for count in range(1, len(stems)):
        name = ".".join([*stems[:count], ending])
        _path, first = seen.get(name, (None, None))
        if first is not None and first.case.nodes > 1 and log in (None, first):
            return name
    return None


def _files(root: Path, warnings: list[str]) -> Iterator[Path]:
    """Regular files below ``root`` in sorted order; hidden ones are nobody's logs."""

    def unreadable(error: OSError) -> None:
        name = one_line(str(Path(str(error.filename)).relative_to(root)))
        warnings.append(f"{name}: {error.strerror}; left out")

    for directory, subdirectories, files in os.walk(root, onerror=unreadable):
        subdirectories[:] = sorted(name for name in subdirectories if not name.startswith("."))
        for name in list(subdirectories):
            if (Path(directory) / name).is_symlink():
                shown = one_line((Path(directory) / name).relative_to(root).as_posix())
                warnings.append(f"{shown}: a link to a directory; not followed")
        for name in sorted(files):
            path = Path(directory) / name
            if not name.startswith(".") and _is_inside(path, root, warnings):
                yield path


def _is_inside(path: Path, root: Path, warnings: list[str]) -> bool:
    shown = one_line(path.relative_to(root).as_posix())
    try:
        real = path.resolve(strict=True)
        regular = stat.S_ISREG(real.stat().st_mode)
    except (OSError, RuntimeError):
        warnings.append(f"{shown}: a link that leads nowhere; left out")
        return False
    if not real.is_relative_to(root):
        warnings.append(f"{shown}: a link that leads out of the tree; left out")
    elif not regular:
        warnings.append(f"{shown}: not a regular file; left out")
    else:
        return True
    return False


def _assumed(found: list[_Measured]) -> Iterator[str]:
    """What the figures rest on and nobody said."""
    for directory in dict.fromkeys(str(Path(one.relative).parent) for one in found if one.assumed):
        yield f"{one_line(directory)}: nothing says how many devices its logs are of; 1 is assumed"


def _told_once(found: list[_Measured]) -> Iterator[str]:
    """The doubts: of a copy with its name, of what a case's logs share once."""
    for entry in found:
        for text in entry.doubts.get(Doubt.SAME_LOG, ()):
            yield f"{one_line(entry.relative)}: {text}"
    shared = (text for entry in found for text in entry.doubts.get(Doubt.OTHER_DIRECTORY, ()))
    yield from dict.fromkeys(shared)


def _doubted(found: list[_Measured]) -> list[_Measured]:
    """With what lets one doubt that each log is a repeat of its own.

    Logs of one case in several directories may be of different hardware.
    """
    same = copies([entry.found.path for entry in found])
    directories: dict[Case, dict[str, None]] = {}
    for entry in found:
        directories.setdefault(entry.case, {})[str(Path(entry.relative).parent)] = None
    doubted = []
    for at, entry in enumerate(found):
        doubts: dict[str, tuple[str, ...]] = {}
        if at in same:
            other = one_line(found[same[at]].relative)
            doubts[Doubt.SAME_LOG] = (same_text(other),)
        if len(names := directories[entry.case]) > 1:
            lie = ", ".join(map(one_line, names))
            doubts[Doubt.OTHER_DIRECTORY] = (
                f"logs of {entry.case.label} lie in {lie}; they count as "
                "repeats: import each directory by itself if their hardware differs",
            )
        doubted.append(replace(entry, doubts=doubts))
    return doubted


def _numbered(found: list[_Measured], warnings: list[str]) -> Iterator[tuple[_Measured, int]]:
    """Each log with its repeat; an attempt at one is no repeat of its own."""
    taken: dict[Case, dict[tuple[int, int], str]] = {}
    for entry in found:
        if entry.repeat is not None:
            own = taken.setdefault(entry.case, {})
            own.setdefault((entry.repeat, entry.attempt), entry.relative)
    for entry in found:
        own = taken.setdefault(entry.case, {})
        repeat = entry.repeat
        if repeat is None or own[repeat, entry.attempt] != entry.relative:
            numbers = {number for number, _attempt in own}
            free = next(number for number in range(1, len(numbers) + 2) if number not in numbers)
            if repeat is not None:
                other = one_line(own[repeat, entry.attempt])
                warnings.append(
                    f"{one_line(entry.relative)}: {other} is repeat {repeat} of "
                    f"{entry.case.label} as well; counted as repeat {free}"
                )
            repeat = free
            own[free, entry.attempt] = entry.relative
        yield entry, repeat


def _measured(profile: Profile, entry: _Found) -> _Measured:
    case = entry.log.case
    try:
        measurement, parser, case = measure_as_stated(profile, entry.path, case, entry.log.told)
        logs = list(entry.logs.values())
        measurement = with_all_logs(profile, case, measurement, logs, profiled=False)
    except DlperfError as error:
        return _Measured(entry, case, None, (error.what,))
    failures = tuple(failure.reason for failure in parser.failures)
    assumed = GPUS not in entry.log.told and devices_stated(measurement.metrics) is None
    gpu = parser.stated.get("gpu", "")
    return _Measured(entry, case, measurement, failures, gpu=gpu, assumed=assumed)


def _run(profile: Profile, entry: _Measured, repeat: int, beside: Mapping[str, float]) -> RunResult:
    case = entry.case
    digest = hashlib.sha256(entry.relative.encode()).hexdigest()[:10]
    workload = workload_of(profile.workload, case, {})
    run = RunResult(
        run_id=f"{profile.name}-{case.tag}-r{repeat}-{digest}",
        profile=profile.name,
        framework=profile.framework,
        model=profile.model,
        case_tag=case.tag,
        nodes=case.nodes,
        gpus_per_node=case.gpus_per_node,
        parameters=dict(case.parameters),
        repeat=repeat,
        attempt=entry.attempt,
        state="failed",
        unit=profile.unit,
        log=f"{LOGS}/{entry.relative}",
        fingerprint=devices_alone(entry.gpu),
        workload=workload.name,
        arithmetic=str(workload.arithmetic) if workload.name else "",
        imported=True,
    )
    measurement = entry.measurement
    if measurement is None:
        return replace(run, reason="; ".join(entry.failures))
    run = replace(
        run,
        simulated=measurement.simulated,
        readings=measurement.readings,
        used=measurement.used or None,
        window=measurement.window,
        statistic=measurement.statistic,
        metrics={**measurement.metrics, **beside},
        gpu_memory_mib=gpu_memory_mib(profile, measurement.metrics),
    )
    if measurement.reason:
        return replace(run, reason="; ".join((*entry.failures[:1], measurement.reason)))
    # No exit status came with the log: what it says is told, and its figure stands.
    said = tuple(f"the log says: {reason}" for reason in entry.failures)
    return replace(
        run,
        state="succeeded",
        throughput=measurement.throughput,
        warnings=(*measurement.warnings, *chain.from_iterable(entry.doubts.values()), *said),
        doubts={**measurement.doubts, **entry.doubts},
        steady=measurement.steady,
    )
