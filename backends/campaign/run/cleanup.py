"""After a run has ended and is recorded: nothing of it stays on its hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path

from backends.campaign.cleanup_words import reason_text
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Doubt, Why
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.state import RunRecord
from backends.campaign.run.end_and_fetch import Kept, doubt_of_error, doubt_of_report
from backends.campaign.run.factory import RunFactory
from backends.campaign.run.mirror import LogMirror, UnsafeLogError
from backends.engines.engine import Engine
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import CancelReport, LogNotKeptError, RemoteError, RunPhase
from backends.transports.transport import HostUnreachableError
from profiles.errors import DlperfError

LIMIT_S = 20.0
GRACE_S = 10.0
_UNSEEN = (Why.KILLED, Why.ORPHANS, Why.OLD)
"""Processes may be left that carry no marker: only the host's record of the run can find them."""


class Cleaner:
    """Removes a campaign's ended runs from their hosts, and says what could not be removed."""

    def __init__(
        self,
        path: Path,
        engine: Engine,
        factory: RunFactory,
        recorder: Recorder,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._engine = engine
        self._factory = factory
        self._recorder = recorder
        self._clock = clock
        self._untidy: set[tuple[str, str]] = set()  # host and run that could not be cleaned up
        self._at_work: set[tuple[str, str]] = set()

    async def tidy(self, run: RunRecord, names: Sequence[str], kept: Kept) -> None:
        """Remove an ended run from its hosts, once its end is on disk.

        ``kept``: by host, the logs that are known to be here.
        """
        await self._recorder.written()
        await asyncio.gather(*(self._tidy_one(run, name, kept) for name in names))

    async def _tidy_one(self, run: RunRecord, name: str, kept: Kept) -> None:
        key = (name, run.run_id)
        if key in self._at_work:
            return
        self._at_work.add(key)
        try:
            remote = RemoteHost(self._engine.transport(name))
            mirror = self._factory.mirror(run, remote, self._path, self._warn)
            doubt = await tidy_up(mirror, run, kept)
        finally:
            self._at_work.discard(key)
        if doubt is None:
            await self._tidied(run, key)
        elif key not in self._untidy:
            self._untidy.add(key)
            text = f"{name}: run {run.run_id} is not cleaned up: {reason_text(doubt)}"
            self._warn(f"{text}; see 'dlperf-tui sweep'")

    async def _tidied(self, run: RunRecord, key: tuple[str, str]) -> None:
        name, _ = key
        doubted = run.cleanup.of(name) is not None
        if doubted:
            event = ev.HostVerified(t=self._clock(), run_id=run.run_id, host=name)
            await self._recorder.record(event)
        if doubted or key in self._untidy:
            self._untidy.discard(key)
            text = f"{name}: run {run.run_id} is cleaned up now"
            self._recorder.note(ev.Noted(t=self._clock(), text=text, level="info"))

    def _warn(self, text: str) -> None:
        self._recorder.note(ev.Noted(t=self._clock(), text=text))

    async def tidy_what_was_left(self) -> None:
        """What an earlier console of this campaign had no time to remove."""
        runs = self._recorder.state.runs.values()
        # In an order that is the same each time, so that what happened can be played again.
        hosts = dict.fromkeys(name for run in runs if run.state.ended for name in run.hosts)
        await asyncio.gather(*(self.tidy_host(name) for name in hosts))

    async def tidy_again(self) -> None:
        """What could not be removed when its run ended: its last processes may have ended since."""
        runs = self._recorder.state.runs
        untidy = [(runs[run_id], name) for name, run_id in sorted(self._untidy) if run_id in runs]
        await asyncio.gather(*(self._tidy_one(run, name, {}) for run, name in untidy))

    async def tidy_host(self, name: str) -> None:
        """Remove every ended run of the campaign from one host."""
        try:
            async with asyncio.timeout(LIMIT_S):
                leftovers = await RemoteHost(self._engine.transport(name)).sweep()
        except (DlperfError, TimeoutError):
            return  # a host that is away is looked at again when it is back
        there = {leftover.run_id for leftover in leftovers}
        # Also what is in doubt though nothing of it is to be seen: then that is what was found.
        runs = [
            run
            for run in self._recorder.state.runs.values()
            if run.state.ended
            and name in run.hosts
            and (run.run_id in there or run.cleanup.of(name) is not None)
        ]
        for run in runs:
            await self.tidy(run, [name], {})


class Word(IntEnum):
    """What a person has said of a run of which nobody can tell whether processes are left."""

    NONE = 0
    ASKED = 1  # they look now: where its supervisor was killed, a look that finds nothing counts
    VERIFIED = 2  # they have looked themselves, and vouch for it that nothing is left


async def tidy_up(
    mirror: LogMirror, run: RunRecord, kept: Kept, word: Word = Word.NONE
) -> Doubt | None:
    """Remove an ended run from one host, and before that end what still runs of it there.

    A log that is not known to be here is fetched and compared first. Returns what is left to do;
    None when nothing of the run is on the host any more.

    Parameters
    ----------
    kept: by host, the logs that have been verified already.
    """
    try:
        doubted = run.cleanup.of(mirror.name)
        if mirror.name in kept and doubted is None:
            try:
                await mirror.remove(kept[mirror.name])
            except LogNotKeptError:
                pass  # somebody wrote to it meanwhile: it is fetched below
            else:
                return None
        return await _end_and_remove(mirror, run, word)
    except UnsafeLogError as error:
        return Doubt(mirror.name, Why.NO_LOG, error.what)
    except (HostUnreachableError, RemoteError, TimeoutError) as error:
        if mirror.log.problem:
            return Doubt(mirror.name, Why.NO_LOG, mirror.log.problem)
        return doubt_of_error(mirror.name, error)


async def _end_and_remove(mirror: LogMirror, run: RunRecord, word: Word) -> Doubt | None:
    """What carries its marker is ended whatever its record says, or without one."""
    async with asyncio.timeout(LIMIT_S + 2 * GRACE_S):
        report = await mirror.remote.cancel(run.run_id, grace_s=GRACE_S)
    doubted = run.cleanup.of(mirror.name)
    if doubted is not None and report.phase is RunPhase.ABSENT and word is not Word.VERIFIED:
        async with asyncio.timeout(LIMIT_S):
            status = await mirror.remote.status(run.run_id)
        boot_ids = dict(zip(run.hosts, run.boot_ids, strict=False))
        same_boot = boot_ids.get(mirror.name, status.boot_id) == status.boot_id
        if doubted.why in _UNSEEN and same_boot:
            return doubted  # its record is gone, and with it the way to tell; a reboot ends all
    doubt = doubt_of_report(mirror.name, report)
    if doubt is not None and not _dispelled(doubt, report, word):
        return doubt
    try:
        await mirror.open()
        digest = await mirror.collect(LIMIT_S)
        await mirror.remove(digest, verified=word is Word.VERIFIED)
    finally:
        await mirror.close()
    return None


def _dispelled(doubt: Doubt, report: CancelReport, word: Word) -> bool:
    if doubt.why is Why.KILLED and report.orphans == () and word is Word.ASKED:
        return True
    return doubt.why in _UNSEEN and word is Word.VERIFIED
