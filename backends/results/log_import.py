"""A tree of existing logs as runs: measured where they lie, copied into the campaign on request."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from backends.file_modes import make_directory, make_file
from backends.hosts.fingerprint import devices_alone
from backends.results.escaping import one_line
from backends.results.mlperf_scaling import metrics_beside
from backends.results.run_result import RunResult
from profiles.errors import DlperfError, LogError
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.format.workload_section import workload_of
from profiles.logs.log_paths import GPUS, RecognisedLog, recognise
from profiles.throughput.as_stated import devices_stated, measure_as_stated
from profiles.throughput.measure_run import Measurement

LOGS = "logs"


@dataclass(frozen=True, slots=True)
class ImportedTree:
    """What a tree holds.

    ``runs`` have their ``log`` below ``logs/`` of a campaign; ``sources`` says where each lies now,
    by run id. ``warnings`` are lines for the operator: what was left out and why, what is doubtful.
    """

    runs: tuple[RunResult, ...]
    sources: Mapping[str, Path]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    relative: str
    log: RecognisedLog


@dataclass(frozen=True, slots=True)
class _Measured:
    """``measurement`` is None where the log could not be read, of which ``failures`` says why."""

    path: Path
    relative: str
    case: Case
    repeat: int | None
    measurement: Measurement | None
    failures: tuple[str, ...]
    gpu: str = ""  # as the log states it
    assumed: bool = False  # nothing says how many devices there were


def import_tree(
    profile: Profile, tree: Path, *, on_file: Callable[[int, int], None] | None = None
) -> ImportedTree:
    """Measure every log of the tree that the profile recognises, in the order of their paths.

    What a path does not tell of the case, its devices and parameters, the log may state. Links that
    lead out of the tree, and what is no regular file, are left out. A log without a throughput is a
    failed run with the reason. Logs that carry no repeat number are numbered in their order; a
    number that is taken moves to the next free one, with a warning.

    Parameters
    ----------
    tree: a directory, or a single log.
    on_file: called with (logs measured, logs in all) after each.

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
            remedy="name files as the profile's [import] paths say, "
            "such as 2n8g/model_b128_fp32_1.log",
        )
    beside = [metrics_beside(profile, entry.path) for entry in found]  # before the long work
    measured: list[_Measured] = []
    for log in found:
        measured.append(_measured(profile, log))
        if on_file is not None:
            on_file(len(measured), len(found))
    warnings += _doubtful(measured)
    runs: list[RunResult] = []
    sources: dict[str, Path] = {}
    for (entry, repeat), more in zip(_numbered(measured, warnings), beside, strict=True):
        run = _run(profile, entry, repeat, more)
        runs.append(run)
        sources[run.run_id] = entry.path
    return ImportedTree(tuple(runs), sources, tuple(warnings))


def copy_logs(imported: ImportedTree, campaign: Path) -> None:
    """Copy every log byte for byte to its place in the campaign directory.

    Raises
    ------
    OSError: a log cannot be read or written; nothing half-copied keeps a log's name.
    """
    for run in imported.runs:
        if run.log is None:
            continue
        target = campaign / run.log
        make_directory(target.parent)
        temporary = target.with_name(
            f".{hashlib.sha256(target.name.encode()).hexdigest()[:16]}.tmp"
        )
        try:
            make_file(temporary)
            shutil.copyfile(imported.sources[run.run_id], temporary)
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


def _recognised(profile: Profile, tree: Path, warnings: list[str]) -> Iterator[_Found]:
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
        log = recognise(profile, relative) or recognise(profile, path)
        if log is None:
            warnings.append(f"{one_line(relative)}: not recognised; left out")
        else:
            yield _Found(path, relative, log)


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


def _doubtful(found: list[_Measured]) -> Iterator[str]:
    """What the figures rest on and nobody said.

    Logs of one case in several directories may be of different hardware.
    """
    for directory in dict.fromkeys(str(Path(one.relative).parent) for one in found if one.assumed):
        yield f"{one_line(directory)}: nothing says how many devices its logs are of; 1 is assumed"
    directories: dict[Case, dict[str, None]] = {}
    for entry in found:
        directories.setdefault(entry.case, {})[str(Path(entry.relative).parent)] = None
    for case, names in directories.items():
        if len(names) > 1:
            yield (
                f"logs of {case.label} lie in {', '.join(map(one_line, names))}; they count as "
                "repeats: import each directory by itself if their hardware differs"
            )


def _numbered(found: list[_Measured], warnings: list[str]) -> Iterator[tuple[_Measured, int]]:
    taken: dict[Case, dict[int, str]] = {}
    for entry in found:
        if entry.repeat is not None:
            taken.setdefault(entry.case, {}).setdefault(entry.repeat, entry.relative)
    for entry in found:
        own = taken.setdefault(entry.case, {})
        repeat = entry.repeat
        if repeat is None or own[repeat] != entry.relative:
            free = next(number for number in range(1, len(own) + 2) if number not in own)
            if repeat is not None:
                warnings.append(
                    f"{one_line(entry.relative)}: {one_line(own[repeat])} is repeat {repeat} of "
                    f"{entry.case.label} as well; counted as repeat {free}"
                )
            repeat = free
            own[free] = entry.relative
        yield entry, repeat


def _measured(profile: Profile, entry: _Found) -> _Measured:
    case, repeat = entry.log.case, entry.log.repeat
    try:
        measurement, parser, case = measure_as_stated(profile, entry.path, case, entry.log.told)
    except DlperfError as error:
        return _Measured(entry.path, entry.relative, case, repeat, None, (error.what,))
    failures = tuple(failure.reason for failure in parser.failures)
    assumed = GPUS not in entry.log.told and devices_stated(measurement.metrics) is None
    return _Measured(
        entry.path,
        entry.relative,
        case,
        repeat,
        measurement,
        failures,
        gpu=parser.stated.get("gpu", ""),
        assumed=assumed,
    )


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
        readings=measurement.readings,
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
        warnings=(*measurement.warnings, *said),
        steady=measurement.steady,
    )
