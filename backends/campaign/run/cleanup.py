"""After a run has ended and is recorded: nothing of it stays on its hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.state import RunRecord
from backends.engines.base import Engine
from backends.remote.client import RemoteHost
from backends.remote.messages import RemoteError
from backends.transports.base import HostUnreachableError
from profiles.errors import DlperfError

LIMIT_S = 20.0
GRACE_S = 3.0
SWEEP_LIMIT_S = 20.0


class Cleaner:
    """Removes a campaign's ended runs from their hosts, and says what could not be removed."""

    def __init__(self, engine: Engine, recorder: Recorder, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._recorder = recorder
        self._clock = clock
        self._untidy: set[tuple[str, str]] = set()  # host and run that could not be cleaned up

    async def tidy(self, run: RunRecord, names: Sequence[str]) -> None:
        """Remove an ended run from its hosts, once its end is on disk."""
        await self._recorder.written()
        remotes = [RemoteHost(self._engine.transport(name)) for name in names]
        answers = await asyncio.gather(*(tidy_up(remote, run) for remote in remotes))
        for name, left in zip(names, answers, strict=True):
            key = (name, run.run_id)
            if left and key not in self._untidy:
                self._untidy.add(key)
                text = f"{name}: run {run.run_id} is not cleaned up: {left}"
                self._note(f"{text}; see 'dlperf-tui sweep'", "warn")
            elif not left and (key in self._untidy or run.clean.startswith("unverified")):
                self._untidy.discard(key)
                self._note(f"{name}: run {run.run_id} is cleaned up now", "info")

    def _note(self, text: str, level: str) -> None:
        self._recorder.note(ev.Noted(t=self._clock(), text=text, level=level))

    async def tidy_what_was_left(self) -> None:
        """What an earlier console of this campaign had no time to remove."""
        runs = self._recorder.state.runs.values()
        # In an order that is the same each time, so that what happened can be played again.
        hosts = dict.fromkeys(name for run in runs if run.state.ended for name in run.hosts)
        await asyncio.gather(*(self.tidy_host(name) for name in hosts))

    async def tidy_host(self, name: str) -> None:
        """Remove every ended run of the campaign from one host."""
        try:
            async with asyncio.timeout(SWEEP_LIMIT_S):
                leftovers = await RemoteHost(self._engine.transport(name)).sweep()
        except (DlperfError, TimeoutError):
            return  # a host that is away is looked at again when it is back
        for leftover in leftovers:
            run = self._recorder.state.runs.get(leftover.run_id)
            if run is not None and run.state.ended:
                await self.tidy(run, [name])


async def tidy_up(remote: RemoteHost, run: RunRecord) -> str:
    """Remove a run's files from one host, and end what still runs of it there.

    Returns what is left to do, in words; empty when nothing is.
    """
    try:
        async with asyncio.timeout(LIMIT_S):
            if run.clean.startswith("unverified"):
                return await _end(remote, run)
            try:
                await remote.remove(run.run_id)
            except RemoteError:  # it has not ended there
                return await _end(remote, run)
            return ""
    except HostUnreachableError as error:
        return str(error.problem)
    except TimeoutError:
        return "no answer"
    except RemoteError as error:
        return error.what


async def _end(remote: RemoteHost, run: RunRecord) -> str:
    report = await remote.cancel(run.run_id, grace_s=GRACE_S)
    if report.left is None:
        return report.detail
    if report.left:
        return f"{report.left} processes do not end"
    await remote.remove(run.run_id)
    return ""
