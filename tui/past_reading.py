"""Past results for a page that is in front: read in a thread, and again after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backends.campaign.folder.past_index import PastIndex
    from backends.campaign.record.status_view import CampaignSnapshot
    from backends.results.past_result import Past
    from tui.session import Session

AGAIN_S = 15.0
"""Other consoles and keepers measure, too."""
LEAST_S = 2.0
"""However many runs end meanwhile."""


class PastReading:
    """``index``: None before the first look has begun. ``clock``: seconds."""

    def __init__(self, session: Session, clock: Callable[[], float] = monotonic) -> None:
        self._session = session
        self._clock = clock
        self._wanted = self._stopped = False
        self._read_at = -inf
        self._ended: object = None  # how many runs had, of which campaign, when it was due last
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        self._begun = False  # the next one has, so that it is none any more
        self.index: PastIndex | None = None
        self._looks = 0  # that the index had made before
        self._none: Mapping[Path, Sequence[Past]] = {}
        self.known = False  # all was read once; what comes later is only newer

    def is_due(self, viewed: CampaignSnapshot | None) -> bool:
        """It is not being read, and was a while ago, or before a run of ``viewed`` ended."""
        ended = None if viewed is None else (viewed.identity, viewed.ended)
        age = self._clock() - self._read_at
        if self._wanted or age < (AGAIN_S if ended == self._ended else LEAST_S):
            return False
        self._ended = ended
        return True

    @property
    def complete(self) -> bool:
        """All was read that there is, as far as the last look could tell."""
        return self.index is not None and self.index.complete

    @property
    def by_campaign(self) -> Mapping[Path, Sequence[Past]]:
        """What each measured, by its directory; until all was read once without those of which only
        is known what they had measured before."""
        if self.index is None or self.index.looks == self._looks:
            return self._none
        return self.index.by_campaign if self.known else self.index.current

    async def read(self) -> None:
        """Read what is new. What that takes is loaded in the thread as well."""
        async with self._turn:
            self._begun = self._wanted = True
            try:
                index = await asyncio.to_thread(lambda: self._session.workspace.past)
                if self.index is None:
                    self.index, self._looks = index, index.looks
                await asyncio.to_thread(index.read, lambda: self._wanted)
                self.known = self.known or index.complete
            finally:
                self._wanted, self._read_at = False, self._clock()

    async def look_at_logs(self) -> None:
        """Of what was read: whether logs still give the figures."""
        async with self._turn:
            if self.index is None or self._stopped:
                return
            self._wanted = True
            try:
                await asyncio.to_thread(self.index.look_at_logs, lambda: self._wanted)
            finally:
                self._wanted = False

    async def up_to_date(self) -> None:
        """Until all is read that was written before this was called: by a look that begins later,
        the same one for all who wait. It goes on where one of them does not wait for its end."""
        if self._next is None or self._begun or self._next.done():
            self._begun = False
            self._next = asyncio.create_task(self.read())
        await asyncio.shield(self._next)

    def stop(self) -> None:
        """The console goes: nothing else ends the thread."""
        self._wanted, self._stopped = False, True
        if self._next is not None:
            self._next.cancel()
