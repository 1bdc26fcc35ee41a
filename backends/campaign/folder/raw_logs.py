"""Whether a campaign's raw logs are there, and still give the figures that its journal has."""

from __future__ import annotations

import glob
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.paths import run_logs
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.results.escaping import one_line
from backends.results.numbers import fixed
from profiles.counted import counted, first_of

if TYPE_CHECKING:
    from profiles.format.profile import Profile

_NAMED = 3


def missing_logs(state: CampaignState, directory: Path) -> str:
    """Which logs of figures are not there, in a sentence; empty where all are."""
    gone = [run.log for run in _measured(state) if not (directory / run.log).is_file()]
    if not gone:
        return ""
    named = first_of(list(map(one_line, gone)), _NAMED)
    return f"{counted(len(gone), 'log')} of its figures missing: {named}"


def differing_logs(
    state: CampaignState, directory: Path, today: Callable[[str], Profile | None]
) -> tuple[str, ...]:
    """A line per log that is missing or does not give its figure any more, by the profile that the
    campaign began with. Blocking: all are read.

    ``today``: a profile by its name, for campaigns that keep none, as imported ones.
    """
    return tuple(_differing(state, directory, today))


def _differing(
    state: CampaignState, directory: Path, today: Callable[[str], Profile | None]
) -> Iterator[str]:
    from backends.campaign.folder.frozen import profiles_of  # noqa: PLC0415 (only here)

    frozen = profiles_of(directory, state.frozen)
    known: dict[str, Profile | None] = {}
    for run in _measured(state):
        if run.profile not in known:
            known[run.profile] = frozen.get(run.profile) or today(run.profile)
        rule = "its rule" if run.profile in frozen else "the profile's rule of today"
        if not (directory / run.log).is_file():
            yield f"{one_line(run.log)}: missing; the campaign has {fixed(run.throughput)} of it"
        elif (profile := known[run.profile]) is None:
            yield f"{one_line(run.log)}: not measured again: no profile {run.profile}"
        elif (why := _why_not(run, profile, directory)) is not None:
            figure = f"{fixed(run.throughput)} {run.unit}"
            yield f"{one_line(run.log)}: {why} by {rule}, and the campaign has {figure}"


def _why_not(run: RunRecord, profile: Profile, directory: Path) -> str | None:
    """What the log gives in place of the run's figure; None where it is that."""
    from profiles.errors import DlperfError  # noqa: PLC0415 (only here are logs read)
    from profiles.format.case_matrix import make_case  # noqa: PLC0415
    from profiles.throughput.all_node_logs import with_all_logs  # noqa: PLC0415
    from profiles.throughput.measure_log_file import measure_file  # noqa: PLC0415

    logs = run_logs(directory, run)
    path = logs[0]
    if not run.hosts:  # imported
        logs += sorted(path.parent.glob(f"{glob.escape(path.stem)}.*.log"))
    try:
        # Parameters that a profile gained since are what they are by default.
        case = make_case(profile, run.nodes, run.gpus_per_node, run.parameters)
        measured, _parser = measure_file(profile, path, case)
        measured = with_all_logs(profile, case, measured, logs, profiled=False)
    except DlperfError as error:
        return f"cannot be measured again ({error.what})"
    found, had = measured.throughput, run.throughput
    if found is None:
        return f"gives nothing ({measured.reason})"
    same = had is not None and math.isclose(found, had, rel_tol=1e-9)
    return None if same else f"gives {fixed(found)}"


def _measured(state: CampaignState) -> Iterator[RunRecord]:
    """Runs whose figure was read from a log."""
    for run in state.runs.values():
        succeeded = run.state is RunState.SUCCEEDED and run.throughput is not None
        if succeeded and run.log and run.reading_count and not run.profiled:
            yield run
