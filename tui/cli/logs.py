"""``logs``: the raw log of a run, also while it grows."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.campaign.folder.directory_identity import elsewhere_words
from backends.campaign.folder.growing_log import GrowingLog
from backends.campaign.folder.paths import host_log_path
from backends.campaign.folder.reader import CampaignReader
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from backends.results.run_result import SKIPPED
from backends.use_cases import Workspace
from profiles.cleantext import LineCleaner
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean
from tui.cli.shared.chosen_runs import chosen_run, latest_run
from tui.cli.shared.exit_codes import FAILED, OK, code_of
from tui.cli.shared.options import add_campaign, find_first, open_workspace
from tui.cli.shared.output import say
from tui.program_name import called_as, named, resume_of

SOON_S = 0.25
AT_LAST_S = 2.0
"""What is quiet is looked at less and less often; a network file system tells no sooner."""
RETRIED_WITHIN_S = 10.0
"""Another attempt is planned right after the failure; a network file system tells that later."""


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        help="its number, or its id, its beginning or end; the one that is at work, or was last",
    )
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on as it grows: until RUN and its retries have ended, or run after run until "
        "CAMPAIGN has",
    )
    parser.add_argument("-n", "--lines", metavar="N", type=int, help="begin with the last N lines")
    parser.add_argument("--host", metavar="HOST", help="of this host; rank 0's")


def run(arguments: argparse.Namespace) -> int:
    """Byte for byte in a pipe; on a terminal without what could act on it.

    With ``-f`` exit code 1 where the run, in the last of its attempts, or any of the campaign
    did not succeed.
    """
    if arguments.lines is not None and arguments.lines < 1:
        raise SelectionError("must be 1 or more", where="--lines")
    workspace = open_workspace(arguments)
    words = filter(None, (arguments.campaign, arguments.run))
    path = find_first(workspace.find_to_read, tuple(words), "logs")
    reader = CampaignReader(path)
    if arguments.follow:
        _note_if_nobody_works(workspace, path, reader.state(), arguments.run)
    chosen, state = _chosen(reader, path, arguments)
    name = _log_name(chosen, arguments.host, path)
    if arguments.run is None:
        _say_which(chosen, state, workspace, path)
    if arguments.follow:
        ended = _follow(reader, chosen, GrowingLog(path, name), arguments.lines)
        if arguments.run is None:
            return _follow_others(reader, workspace, path, ended, arguments.host)
        ended = _follow_retries(reader, path, ended, arguments.host)
        return OK if ended.state is RunState.SUCCEEDED else FAILED
    if not (path / name).exists():
        raise SelectionError(
            f"the log of run {chosen.run_id} is not on this disk"
            f"{' any more' if chosen.state.ended else ' yet'}",
            where=str(path / name),
            remedy="" if chosen.state.ended else "-f waits for it",
        )
    empty = True
    with _shown(GrowingLog(path, name), arguments.lines) as (log, out):
        for data in log.read():
            empty = False
            out.write(data)
    if empty:
        say(f"the log of run {chosen.run_id} is empty{'' if chosen.state.ended else ' as yet'}")
    return OK


def _chosen(
    reader: CampaignReader, path: Path, arguments: argparse.Namespace
) -> tuple[RunRecord, CampaignState]:
    """The run, once it has a log; that is waited for with ``-f`` alone."""
    told, waits = False, _waits()
    while True:
        state = reader.state()
        found = latest_run(state)
        if arguments.run is not None:
            found = chosen_run(state, arguments.run, path)
        if found is not None and found.log:
            return found, state
        over = found.state.ended if found is not None else state.finished
        if over or not arguments.follow:
            none = "figures without logs" if state.imported else "no run has begun"
            what = none if found is None else f"run {found.run_id} {_said(found)}"
            raise SelectionError(
                f"{what}: there is no log{'' if over else ' yet'}",
                where=str(path),
                remedy="" if over else "-f waits for it",
            )
        if not told:
            say("waiting for the run to begin" if found else "waiting for a run to begin")
            told = True
        time.sleep(next(waits))


def _said(run: RunRecord) -> str:
    return "was skipped and never started" if run.skipped else run.state.said


def _say_which(run: RunRecord, state: CampaignState, workspace: Workspace, path: Path) -> None:
    others = sum(one.state.active and one is not run for one in state.runs.values())
    are = "at work" if others and workspace.writer(path) is not None else "had not ended"
    more = f"; {others} more {are}" if others else ""
    logged = [one.run_id for one in state.runs.values() if one.log and one is not run]
    if state.finished and logged:
        has = "has a log" if len(logged) == 1 else "have logs"
        name = named(workspace.shown(path))
        more = f"; {len(logged)} more {has}: {called_as()} logs {name} {logged[0]}"
    say(f"run {run.run_id}, {run.profile} {run.label}{more}")


def _log_name(run: RunRecord, host: str | None, path: Path) -> str:
    if host is None or run.hosts[:1] == (host,):
        return run.log
    if host not in run.hosts:
        raise SelectionError(
            f"run {run.run_id} was not on {host!r}{did_you_mean(host, run.hosts)}",
            where=str(path),
            remedy=f"it was on {', '.join(run.hosts)}",
        )
    return host_log_path(run.log, host)


def _note_if_nobody_works(
    workspace: Workspace, path: Path, state: CampaignState, run: str | None
) -> None:
    """And how more of it comes, unless what is asked for has ended."""
    over = run is not None and chosen_run(state, run, path).state.ended
    if over or state.finished or state.imported or workspace.writer(path) is not None:
        return
    command = ""
    if workspace.shown(path) == path:  # a bundle does not go on
        copy = bool(elsewhere_words(state))
        command = resume_of(path, simulated=state.simulated, copy=copy)
    does = f"; go on with it{' in' * state.simulated}: {command}" * bool(command)
    say(f"nobody is at work on it, so nothing comes{does}")


def _follow(
    reader: CampaignReader, run: RunRecord, log: GrowingLog, lines: int | None = None
) -> RunRecord:
    """The run when it has ended."""
    begun_anew = 0
    waits = _waits()
    with _shown(log, lines) as (_, out):
        while True:
            # First: what was written before its end is read below.
            run = reader.state().runs.get(run.run_id, run)
            quiet = True
            for data in log.read():
                if log.begun_anew > begun_anew:
                    begun_anew = log.begun_anew
                    out.finish()
                    say("the log here was begun anew")
                out.write(data)
                quiet = False
            out.flush()
            if run.state.ended:
                out.finish()
                say(f"run {run.run_id} {run.state}{f': {run.reason}' if run.reason else ''}")
                return run
            if not quiet:
                waits = _waits()
            time.sleep(next(waits))


def _follow_retries(
    reader: CampaignReader, path: Path, run: RunRecord, host: str | None
) -> RunRecord:
    """Each attempt after this one, as it begins; the last of them, when it has ended."""
    while (again := _retry(reader, run)) is not None:
        say(f"it is tried again: run {again.run_id}")
        waits = _waits()
        while not (again.log or again.state.ended):
            time.sleep(next(waits))
            again = reader.state().runs.get(again.run_id, again)
        if not again.log:
            say(f"run {again.run_id} {SKIPPED if again.skipped else again.state}")
            return again
        run = _follow(reader, again, GrowingLog(path, _log_name(again, host, path)))
    return run


def _retry(reader: CampaignReader, run: RunRecord) -> RunRecord | None:
    """Once it is planned; None where none is, soon after a failure that it may mend."""
    until = time.monotonic() + (0.0 if run.retry == "never" else RETRIED_WITHIN_S)
    while True:
        state = reader.state()
        found = _retry_of(run, state)
        if found is not None or state.finished or time.monotonic() >= until:
            return found
        time.sleep(SOON_S)


def _retry_of(run: RunRecord, state: CampaignState) -> RunRecord | None:
    return next((one for one in state.runs.values() if one.retry_of == run.run_id), None)


def _follow_others(
    reader: CampaignReader, workspace: Workspace, path: Path, last: RunRecord, host: str | None
) -> int:
    """Run after run until the campaign has finished; the exit code is that of ``status``."""
    seen = {last.run_id}
    told, waits = False, _waits()
    while True:
        state = reader.state()
        found = _next(state, last, seen, host)
        if found is not None:
            _say_which(found, state, workspace, path)
            last = _follow(reader, found, GrowingLog(path, _log_name(found, host, path)))
            seen.add(last.run_id)
            told, waits = False, _waits()
        elif state.finished:
            return code_of(state)
        else:
            if not told:
                say("waiting for the next run to begin")
                told = True
            time.sleep(next(waits))


def _next(
    state: CampaignState, last: RunRecord, seen: Container[str], host: str | None
) -> RunRecord | None:
    """The first that began after the last one's end, however it went on, or is at work beside it;
    None: there is none yet."""
    end = last.ended_at or 0.0
    began = (
        run
        for run in state.runs.values()
        if run.log and run.run_id not in seen and (host is None or host in run.hosts)
    )
    found = (run for run in began if run.state.active or (run.started_at or 0.0) >= end)
    return min(found, key=lambda run: run.started_at or 0.0, default=None)


def _waits() -> Iterator[float]:
    """Seconds until the next look: twice as long each time, up to :data:`AT_LAST_S`."""
    wait_s = SOON_S
    while True:
        yield wait_s
        wait_s = min(AT_LAST_S, 2 * wait_s)


@contextmanager
def _shown(log: GrowingLog, lines: int | None) -> Iterator[tuple[GrowingLog, _Out]]:
    """From the last so many lines on, where they are limited."""
    out = _Out()
    try:
        if lines is not None:
            log.skip_to_last(lines)
        yield log, out
    finally:
        log.close()
        out.finish()


class _Out:
    """Where the bytes go: as they are, or to a terminal in lines that cannot act on it."""

    def __init__(self) -> None:
        self._cleaner = LineCleaner() if sys.stdout.isatty() else None

    def write(self, data: bytes) -> None:
        if self._cleaner is None:
            sys.stdout.buffer.write(data)
        else:
            self._print(self._cleaner.feed(data))

    def flush(self) -> None:
        sys.stdout.flush()

    def finish(self) -> None:
        """The last line, if it had no end; on a terminal."""
        if self._cleaner is not None:
            self._print(self._cleaner.finish())
        sys.stdout.flush()

    def _print(self, lines: list[str]) -> None:
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
