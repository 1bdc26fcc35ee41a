"""Whether a campaign's raw logs are there, and still give the figures that its journal has."""

from __future__ import annotations

import glob
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.log_stamps import Glance, glance_at, is_as_stamped
from backends.campaign.folder.paths import run_logs
from backends.campaign.record.run_record import MISSING, MISSING_BESIDE
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.results.escaping import one_line
from backends.results.numbers import fixed
from profiles.counted import counted, first_of

if TYPE_CHECKING:
    from profiles.format.profile import Profile

_NAMED = 3
CHANGED = "was changed after its run"


class Weight(Enum):
    """GRAVE: it is known to be the log. DOUBT: or a profile that is another today, or none. NOTE:
    the log was changed, and that costs no figure anything."""

    GRAVE = auto()
    DOUBT = auto()
    NOTE = auto()


@dataclass(frozen=True, slots=True)
class LogDoubt:
    """``log``: as it is called in the campaign. ``why``: what became of it, and what it gives in
    place of the figure of its run."""

    run_id: str
    log: str
    why: str
    weight: Weight = Weight.GRAVE


class LogChecks:
    """Looks whether logs give their figures, and reads again only what has changed since it looked.

    ``today``: a profile by its name, for campaigns that keep none, as imported ones.
    ``written``: where the logs of a campaign were written, if not in its directory.
    """

    def __init__(self, today: Callable[[str], Profile | None], written: Path | None = None) -> None:
        self._today = today
        self._written = written
        self._seen: dict[tuple[object, ...], tuple[LogDoubt, ...]] = {}
        self._looks: dict[Path, int] = {}

    @property
    def recorded(self) -> bool:
        """The logs are those of a recording: each is whole as soon as its run has ended."""
        return self._written is not None

    def doubts(
        self,
        state: CampaignState,
        directory: Path,
        *,
        whole: bool = False,
        unstamped: bool = True,
        go_on: Callable[[], bool] = lambda: True,
    ) -> tuple[LogDoubt, ...]:
        """Of each log that is missing, does not give its figure, or was changed. Blocking.

        Read is only what is not as it was when its run was measured, or was written after that.
        ``whole``: all are. ``unstamped``: also those of journals that do not tell what they were,
        of which otherwise only those are told that are missing. ``go_on``: asked before each run;
        those that are left when it says no are not looked at.
        """
        directory = self._written or directory
        profiles = Profiles(directory, state.frozen, self._today)
        found: list[LogDoubt] = []
        for run in _measured(state):
            if not go_on():
                break
            glances = tuple(map(glance_at, logs_of(run, directory)))
            key = _key(run, directory, glances, whole=whole)
            if key not in self._seen:
                if not (run.log_stamps or unstamped):
                    found += _at_a_glance(run, directory, glances) or ()
                    continue
                self._seen[key] = _doubts(run, directory, profiles, glances, whole=whole)
                self._looks[directory] = self._looks.get(directory, 0) + 1
            found += self._seen[key]
        return tuple(found)

    def as_known(self, directory: Path, logs: Sequence[str]) -> tuple[object, ...]:
        """Another one than before as soon as there may be more to say of these files, seen by what
        the disk says of them alone."""
        return self._looks.get(self._written or directory, 0), *map(_as_on_disk, logs)

    def logs_of(self, state: CampaignState, directory: Path) -> tuple[str, ...]:
        """Those that figures were read from."""
        directory = self._written or directory
        return tuple(str(log) for run in _measured(state) for log in logs_of(run, directory))

    def at_once(self, state: CampaignState, directory: Path) -> tuple[tuple[LogDoubt, ...], bool]:
        """The same, as far as no log has to be read for it, or was read before; and whether there
        are logs for which one has to be. Blocking, but for no longer than the disk is asked."""
        directory = self._written or directory
        found: list[LogDoubt] = []
        unread = False
        for run in _measured(state):
            glances = tuple(map(glance_at, logs_of(run, directory)))
            known = self._seen.get(_key(run, directory, glances, whole=False))
            if known is None:
                known = _at_a_glance(run, directory, glances)
                unread |= known is None or bool(known and run.log_stamps)
            found += known or ()
        return tuple(found), unread


def with_doubts(state: CampaignState, doubts: Sequence[LogDoubt]) -> CampaignState:
    """With what there is to say of the logs at the runs that they are of, and nothing else; the
    same object where it is so already."""
    grave: dict[str, tuple[tuple[str, str], ...]] = {}
    for doubt in doubts:
        if doubt.weight is Weight.GRAVE:
            grave[doubt.run_id] = (*grave.get(doubt.run_id, ()), (doubt.log, doubt.why))
    changed = {
        run_id: replace(run, log_differs=grave.get(run_id, ()))
        for run_id, run in state.runs.items()
        if run.log_differs != grave.get(run_id, ())
    }
    return replace(state, runs={**state.runs, **changed}) if changed else state


def doubt_lines(doubts: Sequence[LogDoubt]) -> tuple[str, ...]:
    """A line per log, wherever it is told; many that are missing together in one, as are many that
    were changed and give their figures."""
    gone = [doubt for doubt in doubts if doubt.why.startswith(MISSING)]
    noted = [doubt for doubt in doubts if doubt.weight is Weight.NOTE]
    many = [*gone * (len(gone) > _NAMED), *noted * (len(noted) > _NAMED)]
    lines = [f"{one_line(doubt.log)}: {doubt.why}" for doubt in doubts if doubt not in many]
    if len(gone) > _NAMED:
        lines.append(f"{counted(len(gone), 'log')} of its figures missing: {_first(gone)}")
    if len(noted) > _NAMED:
        still = [doubt for doubt in noted if doubt.why != CHANGED]
        figures = "; they still give the figures" * (len(still) == len(noted))
        lines.append(f"{len(noted)} logs were changed after their runs{figures}: {_first(noted)}")
    return tuple(lines)


def levelled_lines(doubts: Sequence[LogDoubt]) -> tuple[tuple[str, str], ...]:
    """The same with "info" or "warn" before each; the warnings are last, as what is newest is."""
    noted = [doubt for doubt in doubts if doubt.weight is Weight.NOTE]
    warned = [doubt for doubt in doubts if doubt.weight is not Weight.NOTE]
    told = (("info", noted), ("warn", warned))
    return tuple((level, line) for level, own in told for line in doubt_lines(own))


def _first(doubts: Sequence[LogDoubt]) -> str:
    return first_of([one_line(doubt.log) for doubt in doubts], _NAMED)


def lines_of(state: CampaignState) -> tuple[str, ...]:
    """The same, of a state that has them at its runs."""
    return doubt_lines(
        [
            LogDoubt(run.run_id, log, why)
            for run in state.runs.values()
            for log, why in run.log_differs
        ]
    )


def logs_of(run: RunRecord, directory: Path) -> list[Path]:
    """All that its figure was read from, rank 0's first."""
    logs = run_logs(directory, run)
    return logs if run.hosts else [*logs, *logs_beside(logs[0])]


def logs_beside(log: Path) -> list[Path]:
    """Of an imported run's other hosts."""
    return sorted(log.parent.glob(f"{glob.escape(log.stem)}.*.log"))


class Profiles:
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


def _key(
    run: RunRecord, directory: Path, glances: tuple[Glance | None, ...], *, whole: bool
) -> tuple[object, ...]:
    return (directory, run.run_id, run.throughput, run.log_stamps, glances, whole)


def _at_a_glance(
    run: RunRecord, directory: Path, glances: Sequence[Glance | None]
) -> tuple[LogDoubt, ...] | None:
    """None: that cannot be told without reading a log."""
    logs = logs_of(run, directory)
    if gone := _gone(run, directory, logs, glances):
        return gone
    noted = [stamp[:2] for stamp in run.log_stamps]
    same = noted == [*glances] if noted else not _written_since(run, glances)
    return () if same else None


def _doubts(
    run: RunRecord,
    directory: Path,
    profiles: Profiles,
    glances: Sequence[Glance | None],
    *,
    whole: bool,
) -> tuple[LogDoubt, ...]:
    figure = f"{fixed(run.throughput)} {run.unit}"
    logs = logs_of(run, directory)
    edited = _edited(run, directory, logs, glances)
    if gone := _gone(run, directory, logs, glances):
        # What is left of several cannot tell whether they gave the figure.
        return (*gone, *(LogDoubt(run.run_id, log, CHANGED, Weight.NOTE) for log in edited))
    same = len(run.log_stamps) == len(logs) and not edited
    if not whole and (same or (not run.log_stamps and not _written_since(run, glances))):
        return ()
    profile, frozen = profiles.of(run.profile)
    grave = frozen or (bool(run.log_stamps) and not same)
    weight = Weight.GRAVE if grave else Weight.DOUBT
    first = edited[0] if edited else run.log
    if profile is None:
        if not (whole or grave):
            return ()
        since = "not what it was, and " * (bool(run.log_stamps) and not same)
        why = f"{since}not measured again: no profile {run.profile}"
        return (LogDoubt(run.run_id, first, why, weight),)
    if (given := _why_not(run, profile, logs)) is None:
        gives = "; it still gives" if len(logs) == 1 else ", whose logs still give"
        why = f"{CHANGED}{gives} the figure"
        return tuple(LogDoubt(run.run_id, log, why, Weight.NOTE) for log in edited)
    rule = "its rule" if frozen else "the profile's rule of today"
    why = f"{given} by {rule}, and the campaign has {figure}"
    return (LogDoubt(run.run_id, first, why, weight),)


def _gone(
    run: RunRecord,
    directory: Path,
    logs: Sequence[Path],
    glances: Sequence[Glance | None],
) -> tuple[LogDoubt, ...]:
    """Of each log that is missing. Those beside an imported one have no names in the journal, and
    are counted."""
    figure = f"{fixed(run.throughput)} {run.unit}"
    several = max(len(logs), len(run.log_stamps)) > 1
    why = f"{MISSING}the campaign has {figure} of {'its run' if several else 'it'}"
    looked = zip(logs, glances, strict=True)
    names = [_name(log, directory) for log, glance in looked if glance is None]
    found = [LogDoubt(run.run_id, name, why) for name in names]
    if (lost := len(run.log_stamps) - len(logs)) > 0 and not run.hosts:
        beside = f"{counted(lost, 'log')} {MISSING_BESIDE}the campaign has {figure}"
        found.append(LogDoubt(run.run_id, run.log, beside))
    return tuple(found)


def _edited(
    run: RunRecord, directory: Path, logs: Sequence[Path], glances: Sequence[Glance | None]
) -> tuple[str, ...]:
    """Those that are there and not byte for byte what they were, as far as that is known."""
    known = len(logs) if len(run.log_stamps) == len(logs) else min(1, len(run.log_stamps))
    stamped = zip(logs[:known], glances[:known], run.log_stamps[:known], strict=True)
    return tuple(
        _name(log, directory)
        for log, glance, stamp in stamped
        if glance is not None and not is_as_stamped(log, stamp)
    )


def _name(log: Path, directory: Path) -> str:
    return log.relative_to(directory).as_posix()


def _as_on_disk(log: str) -> tuple[int, int] | None:
    try:
        told = Path(log).stat()
    except OSError:
        return None
    return told.st_mtime_ns, told.st_size


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
