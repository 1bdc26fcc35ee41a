"""The hosts of a live campaign: looked at again when they were lost, left as they were found."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from backends.campaign.record.state import CampaignState, RunRecord
from backends.campaign.run.cleanup import tidy_up
from backends.campaign.run.factory import Crew
from backends.engines.direct import DirectEngine
from backends.hosts.facts import HostState
from backends.remote.messages import RemoteError
from backends.transports.base import HostUnreachableError
from profiles.errors import DlperfError

REPROBE_EVERY_S = 30.0
LEASE_LOOK_EVERY_S = 5.0
SWEEP_LIMIT_S = 20.0


class Caretaker:
    """Keeps the engine's picture of the hosts true, and removes ended runs from them.

    Parameters
    ----------
    state: the campaign's, now. note: tells the operator; text and level.
    written: returns when all that happened is on disk.
    changed: called when a host can be used again.
    jitter: 0 … 1, so that two consoles do not always look at the same moment.
    """

    def __init__(
        self,
        engine: DirectEngine,
        crew: Crew,
        *,
        state: Callable[[], CampaignState],
        note: Callable[[str, str], None],
        written: Callable[[], Awaitable[None]],
        changed: Callable[[], None],
        jitter: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._crew = crew
        self._state = state
        self._note = note
        self._written = written
        self._changed = changed
        self._jitter = jitter
        self._look_again = asyncio.Event()
        self._untidy: set[tuple[str, str]] = set()  # host and run that could not be cleaned up

    def doubt(self, name: str, reason: str) -> None:
        """A host that failed to answer is not used until a probe finds it well."""
        self._engine.out_of_reach(name, reason)
        self._look_again.set()

    async def keep_hosts(self) -> None:
        """Look again at hosts that could not be used, so that they join when they are back."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look_again.wait(), REPROBE_EVERY_S)
            self._look_again.clear()
            names = self._engine.doubtful_hosts
            away = self._engine.away
            for snapshot in await asyncio.gather(*(self._crew.probe(name) for name in names)):
                self._engine.seen(snapshot)
                if snapshot.state is not HostState.UNREACHABLE and snapshot.name in away:
                    await self.tidy_host(snapshot.name)
            if names:
                self._changed()

    async def keep_leases(self) -> None:
        """Look whether hosts that others hold are free again."""
        while True:
            await asyncio.sleep(LEASE_LOOK_EVERY_S * (0.5 + self._jitter()))
            for name in self._engine.held_hosts:
                try:
                    holder = await self._crew.remote(name).lease_holder()
                except (HostUnreachableError, RemoteError, TimeoutError):
                    holder = ""  # the next start will tell
                if not holder:
                    self._engine.held(name, "")
                    self._changed()

    async def tidy(self, run: RunRecord, names: Sequence[str]) -> None:
        """Remove an ended run from its hosts, once its end is on disk."""
        await self._written()
        remotes = [self._crew.remote(name) for name in names]
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

    async def tidy_what_was_left(self) -> None:
        """What an earlier console of this campaign had no time to remove."""
        runs = self._state().runs.values()
        hosts = {name for run in runs if run.state.ended for name in run.hosts}
        await asyncio.gather(*(self.tidy_host(name) for name in hosts))

    async def tidy_host(self, name: str) -> None:
        """Remove every ended run of the campaign from one host."""
        try:
            async with asyncio.timeout(SWEEP_LIMIT_S):
                leftovers = await self._crew.remote(name).sweep()
        except (DlperfError, TimeoutError):
            return  # a host that is away is looked at again when it is back
        for leftover in leftovers:
            run = self._state().runs.get(leftover.run_id)
            if run is not None and run.state.ended:
                await self.tidy(run, [name])
