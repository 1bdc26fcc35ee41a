"""Whether a campaign's raw logs are there, and still give the figures that its journal has."""

from __future__ import annotations

import glob
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.log_stamps import Glance, glance_at, is_as_stamped
from backends.campaign.folder.paths import run_logs
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.results.escaping import one_line
from backends.results.numbers import fixed
from profiles.counted import counted, first_of

if TYPE_CHECKING:
    from profiles.format.profile import Profile

_NAMED = 3
MISSING = "missing; "


@dataclass(frozen=True, slots=True)
class LogDoubt:
    """``why``: what the log gives in place of the figure of its run. ``grave``: that is known to be
    the log, and not a profile that is another today, or none."""

    run_id: str
    log: str
    why: str
    grave: bool = True


class LogChecks:
    """Looks whether logs give their figures, and reads again only what has changed since it looked.

    ``today``: a profile by its name, for campaigns that keep none, as imported ones.
    """

    def __init__(self, today: Callable[[str], Profile | None]) -> None:
        self._today = today
        self._seen: dict[tuple[object, ...], LogDoubt | None] = {}

    def doubts(
        self, state: CampaignState, directory: Path, *, whole: bool = False, unstamped: bool = True
    ) -> tuple[LogDoubt, ...]:
        """Of each log that is missing or does not give its figure. Blocking.

        Read is only what is not as it was when its run was measured, or was written after that.
        ``whole``: all are. ``unstamped``: also those of journals that do not tell what they were.
        """
        profiles = _Profiles(directory, state.frozen, self._today)
        found = []
        for run in _measured(state):
            if not (run.log_stamps or unstamped):
                continue
            glances = tuple(map(glance_at, logs_of(run, directory)))
            key = (directory, run.run_id, run.throughput, run.log_stamps, glances, whole)
            if key not in self._seen:
                self._seen[key] = _doubt(run, directory, profiles, glances, whole=whole)
            found.append(self._seen[key])
        return tuple(filter(None, found))


def with_doubts(state: CampaignState, doubts: Sequence[LogDoubt]) -> CampaignState:
    """With what there is to say of the logs at the runs that they are of."""
    grave = {doubt.run_id: doubt for doubt in doubts if doubt.grave}
    if not grave:
        return state
    runs = {
        run.run_id: replace(run, log_differs=grave[run.run_id].why) if run.run_id in grave else run
        for run in state.runs.values()
    }
    return replace(state, runs=runs)


def doubt_lines(doubts: Sequence[LogDoubt]) -> tuple[str, ...]:
    """A line per log, wherever it is told; many that are missing together in one."""
    gone = [doubt for doubt in doubts if doubt.why.startswith(MISSING)]
    each = doubts if len(gone) <= _NAMED else [doubt for doubt in doubts if doubt not in gone]
    lines = [f"{one_line(doubt.log)}: {doubt.why}" for doubt in each]
    if len(gone) > _NAMED:
        named = first_of([one_line(doubt.log) for doubt in gone], _NAMED)
        lines.append(f"{counted(len(gone), 'log')} of its figures missing: {named}")
    return tuple(lines)


def lines_of(state: CampaignState) -> tuple[str, ...]:
    """The same, of a state that has them at its runs."""
    return doubt_lines(
        [
            LogDoubt(run.run_id, run.log, run.log_differs)
            for run in state.runs.values()
            if run.log_differs
        ]
    )


def logs_of(run: RunRecord, directory: Path) -> list[Path]:
    """All that its figure was read from, rank 0's first."""
    logs = run_logs(directory, run)
    return logs if run.hosts else [*logs, *logs_beside(logs[0])]


def logs_beside(log: Path) -> list[Path]:
    """Of an imported run's other hosts."""
    return sorted(log.parent.glob(f"{glob.escape(log.stem)}.*.log"))


class _Profiles:
    """By which runs were measured; read when the first of them is needed."""

    def __init__(
        self, directory: Path, digest: str, today: Callable[[str], Profile | None]
    ) -> None:
        self._directory, self._digest, self._today = directory, digest, today
        self._frozen: Mapping[str, Profile] | None = None
        self._known: dict[str, Profile | None] = {}

    def of(self, name: str) -> tuple[Profile | None, bool]:
        """And whether the campaign began with it."""
        if self._frozen is None:
            from backends.campaign.folder.frozen import profiles_of  # noqa: PLC0415 (only here)

            self._frozen = profiles_of(self._directory, self._digest)
        if name in self._frozen:
            return self._frozen[name], True
        if name not in self._known:
            self._known[name] = self._today(name)
        return self._known[name], False


def _doubt(
    run: RunRecord,
    directory: Path,
    profiles: _Profiles,
    glances: Sequence[Glance | None],
    *,
    whole: bool,
) -> LogDoubt | None:
    figure = f"{fixed(run.throughput)} {run.unit}"
    if glances[0] is None:
        return LogDoubt(run.run_id, run.log, f"{MISSING}the campaign has {figure} of it")
    logs = logs_of(run, directory)
    known = len(run.log_stamps) == len(logs)
    same = known and all(map(is_as_stamped, logs, run.log_stamps))
    if not whole and (same or (not run.log_stamps and not _written_since(run, glances))):
        return None
    profile, frozen = profiles.of(run.profile)
    grave = frozen or (bool(run.log_stamps) and not same)
    if profile is None:
        if not (whole or grave):
            return None
        since = "not what it was, and " * (bool(run.log_stamps) and not same)
        why = f"{since}not measured again: no profile {run.profile}"
        return LogDoubt(run.run_id, run.log, why, grave)
    if (given := _why_not(run, profile, logs)) is None:
        return None
    rule = "its rule" if frozen else "the profile's rule of today"
    return LogDoubt(run.run_id, run.log, f"{given} by {rule}, and the campaign has {figure}", grave)


def _written_since(run: RunRecord, glances: Sequence[Glance | None]) -> bool:
    """After it had ended: what its journal did not note at that."""
    ended = run.ended_at or 0.0
    return any(one is None or one[1] > ended for one in glances)


def _why_not(run: RunRecord, profile: Profile, logs: Sequence[Path]) -> str | None:
    """What the log gives in place of the run's figure; None where it is that."""
    from profiles.errors import DlperfError  # noqa: PLC0415 (only here are logs read)
    from profiles.format.case_matrix import make_case  # noqa: PLC0415
    from profiles.throughput.all_node_logs import with_all_logs  # noqa: PLC0415
    from profiles.throughput.measure_log_file import measure_file  # noqa: PLC0415

    try:
        # Parameters that a profile gained since are what they are by default.
        case = make_case(profile, run.nodes, run.gpus_per_node, run.parameters)
        measured, _parser = measure_file(profile, logs[0], case)
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
