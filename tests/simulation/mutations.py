"""Faults of the past, put back one at a time: with each of them the simulation must find a
violation, or it would be theatre."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from backends import campaign_start
from backends.campaign.dispatch import Dispatcher
from backends.campaign.due_runs import DueRuns
from backends.campaign.folder import reader
from backends.campaign.folder.reader import CampaignReader
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.cleanup_doubts import Doubt
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.run import cleanup
from backends.campaign.run.end_and_fetch import doubt_of_error
from backends.campaign.run.mirror import LogMirror
from backends.campaign_start import Starter
from backends.engines.direct import _HostUse
from backends.engines.engine import Wanted
from backends.keeper.server import RequestServer, Work
from backends.keeper.spool import Taken
from backends.remote.wrapper_messages import LogDigest, RemoteError
from backends.simulated.disk import Claim, Lease, RunFiles
from backends.simulated.kernel import Routine
from backends.simulated.supervising import Asked, Launcher
from backends.simulated.wrapper import Wrapper
from backends.transports.transport import HostUnreachableError
from tests.simulation.keeping import play_kept
from tests.simulation.playing import CHUNK, Player, play_all
from tests.simulation.scenario import Told, play

Mutation = Callable[[], contextlib.AbstractContextManager[Any]]


def _hasty_cancel() -> contextlib.AbstractContextManager[Any]:
    """Of a run that nobody follows here: cancelled at once, and its log deleted unfetched."""

    def cancel(self: Dispatcher, run_id: str) -> None:
        run = self._recorder.state.runs.get(run_id)
        if run is None or run.state.ended:
            return
        self.cancel_asked.add(run_id)
        if run_id in self._supervisors:
            self._supervisors[run_id].request_cancel()
        elif run_id not in self._under_way:
            self._recorder.note(ev.RunCancelled(t=self._clock(), run_id=run_id))
        self.wake()

    async def tidy_up(mirror: LogMirror, run: RunRecord, *_: Any, **__: Any) -> Doubt | None:
        try:
            await mirror.remote.cancel(run.run_id, grace_s=3.0)
            await mirror.remote.discard(run.run_id)
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            return doubt_of_error(mirror.name, error)
        return None

    both = contextlib.ExitStack()
    both.enter_context(mock.patch.object(Dispatcher, "cancel", cancel))
    both.enter_context(mock.patch.object(cleanup, "tidy_up", tidy_up))
    return both


def _believed_stream() -> contextlib.AbstractContextManager[Any]:
    """What came over the channel was right; what became of it on this disk is not looked at."""

    async def verify(self: LogMirror, limit_s: float) -> LogDigest | None:
        await self.log.drained()
        return await self.contact.persist(self._digest_there, limit_s)

    both = contextlib.ExitStack()
    both.enter_context(mock.patch.object(LogMirror, "verify", verify))
    both.enter_context(mock.patch.object(LogMirror, "remove", _removed_unlooked))
    return both


async def _removed_unlooked(
    self: LogMirror, kept: LogDigest | None, *, verified: bool = False
) -> None:
    await self.remote.remove(self._run_id, kept, verified=verified)


def _todays_profile() -> contextlib.AbstractContextManager[Any]:
    def basis(self: Starter, path: Path, state: Any, *_: Any) -> Any:
        return self._todays_basis(path, state)

    return mock.patch.object(Starter, "_basis", basis)


def _newer_journal() -> contextlib.AbstractContextManager[Any]:
    return mock.patch.object(journal, "_check_schema", return_value=journal.SCHEMA)


def _lost_plan() -> contextlib.AbstractContextManager[Any]:
    def begin(self: CampaignReader) -> journal.JournalReader:
        return journal.JournalReader(self.directory / journal.FILE_NAME)

    return mock.patch.object(CampaignReader, "_begin", begin)


def _nothing_hides() -> contextlib.AbstractContextManager[Any]:
    """On hosts without python3 what is in no tree and has no marker is not there."""
    return mock.patch.object(Wrapper, "orphans", return_value=[])


def _hasty_end() -> contextlib.AbstractContextManager[Any]:
    """What a handler of TERM starts gets TERM in turn, at once."""
    return mock.patch.object(Wrapper, "of_a_handler", return_value=False)


def _lost_ends() -> contextlib.AbstractContextManager[Any]:
    return mock.patch.object(campaign_start, "recovered", return_value=[])


def _nobody_looks() -> contextlib.AbstractContextManager[Any]:
    """Whose place the journal has lost is started once more, without a look at the hosts."""
    return mock.patch.object(campaign_start, "look_for_strays", mock.AsyncMock(return_value=[]))


def _ignorant_copy() -> contextlib.AbstractContextManager[Any]:
    return mock.patch.object(reader, "copied_from", return_value=None)


class _Hasty(set[str]):
    def __bool__(self) -> bool:
        return False


def _hasty_schedule() -> contextlib.AbstractContextManager[Any]:
    """Hosts are given away before the runs of the time before have them again."""
    begin = Dispatcher.__init__

    def __init__(self: Dispatcher, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        self._unadopted = _Hasty()

    return mock.patch.object(Dispatcher, "__init__", __init__)


def _forgotten_pause() -> contextlib.AbstractContextManager[Any]:
    """What is paused has its turn like any other run."""

    def wanted(self: DueRuns, under_way: Collection[str]) -> list[Wanted]:
        planned = [run for run in self.ours() if run.state is RunState.PLANNED]
        return [self.want(run) for run in planned if run.run_id not in under_way]

    both = contextlib.ExitStack()
    both.enter_context(mock.patch.object(DueRuns, "wanted", wanted))
    both.enter_context(mock.patch.object(Dispatcher, "_unwanted", return_value=False))
    return both


def _first_to_end() -> contextlib.AbstractContextManager[Any]:
    """The first of several runs that share a host gives it back, whoever else is there."""
    finish = Launcher._finish

    def _finish(self: Launcher, files: RunFiles, asked: Asked, lease: Lease, *more: Any) -> Routine:
        yield from finish(self, files, asked, lease, *more)
        lease.claims.clear()
        for process in self._kernel.living():
            process.holds_lease = False

    return mock.patch.object(Launcher, "_finish", _finish)


def _anybodys_group() -> contextlib.AbstractContextManager[Any]:
    """Who shares a host shares it with every campaign that does."""

    def beside(self: Claim, sharing: str) -> bool:
        own, wanted = (one.partition(" ")[2].split(",") for one in (self.sharing, sharing))
        return bool(self.sharing and sharing) and not {*own} & {*wanted}

    return mock.patch.object(Claim, "beside", beside)


def _same_devices() -> contextlib.AbstractContextManager[Any]:
    """Runs that share a host get its first devices, and the host leaves that to the console."""

    def beside(self: Claim, sharing: str) -> bool:
        own, wanted = (one.partition(" ")[0] for one in (self.sharing, sharing))
        return bool(own) and own == wanted

    both = contextlib.ExitStack()
    both.enter_context(mock.patch.object(Claim, "beside", beside))
    both.enter_context(mock.patch.object(_HostUse, "free", return_value=None))
    return both


class _Unwritten:
    """A campaign that says at once that all is on disk."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    async def written(self) -> None: ...


def _hasty_answer() -> contextlib.AbstractContextManager[Any]:
    """Whoever asks is told before the journal knows, so that a kill in between makes it a lie."""
    take = RequestServer._one

    async def one(self: RequestServer, work: Any, taken: Taken) -> None:
        await take(self, _Unwritten(work), taken)  # type: ignore[arg-type]  # all of its face

    return mock.patch.object(RequestServer, "_one", one)


MUTATIONS: Mapping[str, Mutation] = {
    "cancel says so at once and deletes the log": _hasty_cancel,
    "the stream is verified and not the file": _believed_stream,
    "resume goes by today's profile": _todays_profile,
    "a newer journal is written to": _newer_journal,
    "runs that the journal has lost are not planned again": _lost_plan,
    "what hides on a host without python3 is called clean": _nothing_hides,
    "a run whose end the journal has lost has failed": _lost_ends,
    "a run whose place the journal has lost is started once more": _nobody_looks,
    "a copy of a campaign goes on beside it": _ignorant_copy,
    "what a handler of TERM starts is ended at once": _hasty_end,
    "what is paused is started all the same": _forgotten_pause,
    "hosts are assigned before what is there is adopted": _hasty_schedule,
    "the first of several runs on a host gives it back": _first_to_end,
    "a host is shared with every campaign that packs": _anybodys_group,
    "runs that share a host get the same devices": _same_devices,
    "a request is answered before the journal has it": _hasty_answer,
}

OF_KEEPERS = frozenset({"a request is answered before the journal has it"})
"""Found in campaigns of hours that keepers go on with."""


def player_of(name: str) -> Player:
    """How the stories are played in which a mutation is to be found."""
    return play_kept if name in OF_KEEPERS else play


def play_mutated(name: str, seed: int, root: Path) -> Told:
    """A seed with a fault of the past."""
    with MUTATIONS[name]():
        return player_of(name)(seed, root)


@dataclass(frozen=True)
class Found:
    """A mutation was seen: after so many ``seeds``, by which violation."""

    seeds: int
    seed: int
    violation: str


def find(name: str, most: int, jobs: int, likely: int | None = None) -> Found | None:
    """The first seed that has a violation with the mutation, and none without; None: none of
    the first ``most`` has. A ``likely`` one is looked at before them."""
    chunk = 1 if name in OF_KEEPERS else CHUNK
    mutated = partial(play_mutated, name)
    first = [] if likely is None else [likely]
    every = play_all(range(1, most + 1), jobs, mutated, chunk)
    for count, told in enumerate(itertools.chain(play_all(first, 1, mutated), every), 1):
        if told.violations:
            assert "AttributeError" not in told.violations[0], "the mutation fell behind the code"
            (sound,) = play_all([told.seed], 1, player_of(name))
            if not sound.violations:
                return Found(count, told.seed, told.violations[0])
    return None
