"""Ends that the journal has lost: read again from the logs and the results that are here."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any  # JSON

from backends.campaign.folder.log_stamps import stamps_of
from backends.campaign.folder.paths import run_logs
from backends.campaign.folder.read_results_json import told_results
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.run_changes import END_LOST
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.campaign.run.end_events import succeeded
from backends.campaign.run.end_reason import memory_of
from profiles.errors import LogError
from profiles.format.profile import Profile
from profiles.throughput.all_node_logs import with_all_logs
from profiles.throughput.measure_log_file import measure_file

MEASURED_AGAIN = f"measured again from its log: {END_LOST}"


def recovered(
    state: CampaignState, directory: Path, profiles: Mapping[str, Profile], now: float
) -> list[ev.Event]:
    """What must have happened to runs of a campaign that nobody works on. Blocking.

    A run has ended where results.json says so, which is written after the journal; and where it was
    active when the campaign finished. Its log is here then, whole. A run that was starting has been
    launched where there is something in its log.
    """
    results = told_results(directory)
    found: list[ev.Event] = []
    for run in state.runs.values():
        if run.state.ended or state.imported:
            continue
        told = results.get(run.run_id, {})
        if told.get("state") in ("succeeded", "failed", "cancelled"):
            found.append(
                _end(_placed(run, told), directory, profiles, str(told["state"]), told, now)
            )
        elif run.run_id in state.lost_ends and run.state.active:
            found.append(_end(run, directory, profiles, "", {}, now))
        elif run.state is RunState.STARTING and _has_log(run, directory):
            found.append(ev.RunLaunched(t=now, run_id=run.run_id))
    return found


def _end(
    run: RunRecord,
    directory: Path,
    profiles: Mapping[str, Profile],
    state: str,
    told: Mapping[str, Any],
    now: float,
) -> ev.Event:
    reason = told.get("reason")
    unlooked = Cleanup(False, tuple(Doubt(host, Why.NOT_LOOKED) for host in run.hosts))
    if state == "cancelled" or (not state and run.state is RunState.CANCELLING):
        return ev.RunCancelled(t=now, run_id=run.run_id, cleanup=unlooked)
    if state != "failed" and (measured := _measured(run, directory, profiles, now)) is not None:
        return measured
    text = reason if isinstance(reason, str) and reason else END_LOST
    return ev.RunFailed(t=now, run_id=run.run_id, reason=text, cleanup=unlooked)


def _measured(
    run: RunRecord, directory: Path, profiles: Mapping[str, Profile], now: float
) -> ev.RunSucceeded | None:
    """The success that the whole log of a run tells of; None where it tells of none."""
    path = directory / run.log
    if run.profile not in profiles or not run.log or not run.hosts:
        return None
    profile = profiles[run.profile]
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):  # a pipe would be waited for
            return None
        measured, _ = measure_file(profile, path, run.case)
        measured = with_all_logs(
            profile, run.case, measured, run_logs(directory, run), profiled=run.profiled
        )
    except (LogError, OSError):
        return None
    if measured.reason or measured.readings < run.reading_count:
        return None
    return succeeded(
        run,
        measured,
        min(now, info.st_mtime),
        gpu_memory_mib=memory_of(measured),
        warnings=(*measured.warnings, MEASURED_AGAIN),
        log_stamps=stamps_of(run_logs(directory, run)),
    )


def _has_log(run: RunRecord, directory: Path) -> bool:
    try:
        return bool(run.log) and (directory / run.log).stat().st_size > 0
    except OSError:
        return False


def _placed(run: RunRecord, told: Mapping[str, Any]) -> RunRecord:
    """With the hosts and the log that the results name, where the journal has lost them too."""
    log, hosts = told.get("log"), told.get("hosts")
    if not run.log and isinstance(log, str) and _inside(log):
        run = replace(run, log=log)
    if not run.hosts and isinstance(hosts, list) and all(isinstance(h, str) for h in hosts):
        run = replace(run, hosts=tuple(hosts))
    return run


def _inside(log: str) -> bool:
    path = PurePosixPath(log)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in log
