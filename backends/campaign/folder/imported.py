"""A campaign made of results that exist already: read from logs, or entered by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from backends import version
from backends.access import Share, make_directory, make_file, narrow
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.events import encode
from backends.campaign.record.journal import FILE_NAME
from backends.campaign.record.state import CampaignState, fold
from backends.results.run_result import RunResult
from profiles.errors import DlperfError


def imported_directory(directory: Path, share: Share) -> None:
    """Make the directory of an imported campaign, or take an empty one. Raises OSError."""
    make_directory(directory, share)
    narrow(directory, share)


def create_imported(directory: Path, runs: Sequence[RunResult], now: float) -> CampaignState:
    """Write the journal of an imported campaign into a new directory; returns its state.

    The journal comes last to be visible: a directory without one is no campaign.

    Raises
    ------
    DlperfError: the directory exists and is not empty, or cannot be written.
    """
    events = tuple(_events(directory.name, runs, now))
    try:
        make_directory(directory, Share.PRIVATE)
        if (directory / FILE_NAME).exists():
            raise DlperfError(
                "there is a campaign already", where=str(directory), remedy="give another -o"
            )
        draft = directory / f".{FILE_NAME}"
        make_file(draft)
        draft.write_bytes(b"".join(encode(event) for event in events))
        draft.replace(directory / FILE_NAME)
    except OSError as error:
        raise DlperfError(
            f"cannot write the campaign: {error.strerror}",
            where=str(directory),
            remedy="check permissions and free space",
        ) from error
    return fold(events)


def _events(name: str, runs: Sequence[RunResult], now: float) -> Iterator[ev.Event]:
    yield ev.CampaignCreated(t=now, campaign=name, version=version(), imported=True)
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
        )
    for run in runs:
        event = _end(run, now)
        if event is not None:
            yield event
    yield ev.CampaignFinished(t=now)


def _end(run: RunResult, now: float) -> ev.Event | None:
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
    return ev.RunSucceeded(
        t=now,
        run_id=run.run_id,
        throughput=run.throughput,
        readings=run.readings,
        used=run.readings,
        window=run.window,
        statistic=run.statistic,
        metrics=dict(run.metrics),
        gpu_memory_mib=run.gpu_memory_mib,
        warnings=run.warnings,
        fingerprint=run.fingerprint,
        steady=run.steady,
        log=run.log or "",
    )
