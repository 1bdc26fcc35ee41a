"""A campaign made of results that exist already: read from logs, or entered by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from backends import version
from backends.campaign.folder.artifacts import rewrite_results
from backends.campaign.folder.bundle import is_bundle
from backends.campaign.folder.log_stamps import stamps_of
from backends.campaign.folder.opened_bundles import import_bundle, refuse_existing
from backends.campaign.folder.paths import check_name
from backends.campaign.folder.raw_logs import logs_beside
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.codec import encode
from backends.campaign.record.journal import FILE_NAME
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, fold
from backends.file_modes import Share, make_directory, make_file, narrow
from backends.results.entered_figures import import_figures
from backends.results.log_import import copy_logs, import_tree
from backends.results.run_result import RunResult
from profiles.errors import LogError, SelectionError
from profiles.format.profile import Profile


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a tree of logs, or of a file of figures."""

    path: Path  # of the campaign
    runs: int
    measured: int  # of them
    warnings: tuple[str, ...]


def import_campaign(
    source: Path, profile: Profile | None, output: Path, share: Share, now: float
) -> Imported:
    """Make a campaign in ``output`` that reports like any other. Blocking.

    Parameters
    ----------
    source: a tree of logs, which are copied; without ``profile`` a TOML or CSV file of figures, or
        a bundle, which becomes the campaign that it is.

    Raises
    ------
    SelectionError: ``output`` exists already, no campaign can be called so, or a tree came without
        a profile.
    LogError: nothing can be read, or the campaign not be written.
    """
    check_name(output)
    if profile is None and is_bundle(str(source)):
        return _unbundled(source, output, share)
    refuse_existing(output)
    if profile is None and source.suffix.lower() not in (".toml", ".csv"):
        raise SelectionError(
            "reading logs takes a profile",
            where=str(source),
            remedy="give it with --profile; figures are in a .toml or .csv, a bundle is a .tar.zst",
        )
    tree = None if profile is None else import_tree(profile, source)
    runs = tuple(import_figures(source)) if tree is None else tree.runs
    try:
        make_directory(output, share)
        narrow(output, share)
        if tree is not None:
            copy_logs(tree, output)
        state = _write_journal(output, runs, now)
        rewrite_results(state, output)
    except OSError as error:
        raise LogError(
            f"cannot write the campaign: {error.strerror}",
            where=str(output),
            remedy="check permissions and free space",
        ) from error
    measured = sum(run.succeeded for run in runs)
    return Imported(output, len(runs), measured, tree.warnings if tree is not None else ())


def _unbundled(source: Path, output: Path, share: Share) -> Imported:
    import_bundle(source, output, share)
    runs = run_results(read_campaign(output))
    return Imported(output, len(runs), sum(run.succeeded for run in runs), ())


def _write_journal(directory: Path, runs: Sequence[RunResult], now: float) -> CampaignState:
    """It comes last to be visible: a directory without one is no campaign. Raises OSError."""
    events = tuple(_events(directory, runs, now))
    draft = directory / f".{FILE_NAME}"
    make_file(draft)
    draft.write_bytes(b"".join(encode(event) for event in events))
    draft.replace(directory / FILE_NAME)
    return fold(events)


def _events(directory: Path, runs: Sequence[RunResult], now: float) -> Iterator[ev.Event]:
    simulated = any(run.simulated for run in runs)
    yield ev.CampaignCreated(
        t=now, campaign=directory.name, version=version(), simulated=simulated, imported=True
    )
    for run in runs:
        yield ev.RunPlanned(
            t=now,
            run_id=run.run_id,
            profile=run.profile,
            framework=run.framework,
            model=run.model,
            unit=run.unit,
            nodes=run.nodes,
            gpus_per_node=run.gpus_per_node,
            parameters=dict(run.parameters),
            repeat=run.repeat,
            attempt=run.attempt,
            workload=run.workload,
            arithmetic=run.arithmetic,
        )
    for run in runs:
        event = _end(run, directory, now)
        if event is not None:
            yield event
    yield ev.CampaignFinished(t=now)


def _end(run: RunResult, directory: Path, now: float) -> ev.Event | None:
    """None for a figure that was left open: its case shows as not measured."""
    if run.state == "failed":
        return ev.RunFailed(
            t=now,
            run_id=run.run_id,
            reason=run.reason,
            category=Cause.NO_READING,
            log=run.log or "",
        )
    if not run.succeeded:
        return None
    log = directory / run.log if run.log else None
    return ev.RunSucceeded(
        t=now,
        run_id=run.run_id,
        throughput=run.throughput,
        readings=run.readings,
        used=run.used or 0,
        window=run.window,
        statistic=run.statistic,
        metrics=dict(run.metrics),
        gpu_memory_mib=run.gpu_memory_mib,
        warnings=run.warnings,
        doubts=run.doubts,
        fingerprint=run.fingerprint,
        steady=run.steady,
        log=run.log or "",
        log_stamps=stamps_of([log, *logs_beside(log)]) if log is not None else (),
    )
