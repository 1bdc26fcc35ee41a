"""The connection to one host of a run, as the run sees it: lost, tried again, back."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from backends.campaign.record.events import NOT_ASKED_SINCE
from backends.clocks import loop_time, sleep
from backends.transports.transport import HostUnreachableError, Problem

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 5.0
LONGEST_LOOK_S = 60.0
"""Time between two looks beyond this was spent suspended, and counts for nobody."""

_T = TypeVar("_T")


class Contact:
    """Repeats what needs the host while it cannot be reached.

    Parameters
    ----------
    changed: told when contact is lost (True and the reason) and when it is back (False, and
        :data:`NOT_ASKED_SINCE` where it may have been for long).
    clock: seconds; one that nobody sets, as it is only the time between two looks that counts.
    lost: it was when somebody asked last, as the journal of a campaign that is gone on with says.
    jitter: 0 … 1, so that many hosts behind one switch do not come back all at once.
    """

    def __init__(
        self,
        host: str,
        changed: Callable[[bool, str], None],
        clock: Callable[[], float] = loop_time,
        jitter: Callable[[], float] = random.random,
        *,
        lost: bool = False,
    ) -> None:
        self.host = host
        self._changed = changed
        self._clock = clock
        self._jitter = jitter
        self._looked_at: float | None = None
        self._unheard = lost
        self._away_s = 0.0

    @property
    def lost(self) -> bool:
        return self._unheard or self._looked_at is not None

    async def persist(self, attempt: Callable[[], Awaitable[_T]], limit_s: float) -> _T:
        """The result of ``attempt``, which is made again with backoff as long as it takes.

        Raises
        ------
        HostUnreachableError: the host has been away for ``limit_s``, or waiting cannot mend it.
        """
        delay = FIRST_DELAY_S
        while True:
            try:
                result = await attempt()
            except (HostUnreachableError, TimeoutError) as caught:
                error = _as_unreachable(self.host, caught)
                if self.is_lost(error) == 0.0:
                    delay = FIRST_DELAY_S
                if not error.problem.transient or self._away_s >= limit_s:
                    raise error from caught
                await sleep(delay * (0.7 + 0.6 * self._jitter()))
                delay = min(delay * 1.6, LONGEST_DELAY_S)
            else:
                self.is_back()
                return result

    def is_lost(self, error: HostUnreachableError) -> float:
        """Note a failed attempt; for how many seconds the host has been away."""
        now = self._clock()
        if self._looked_at is None:
            self._away_s = 0.0
            self._changed(True, str(error.problem))
        else:
            self._away_s += min(max(0.0, now - self._looked_at), LONGEST_LOOK_S)
        self._looked_at, self._unheard = now, False
        return self._away_s

    def is_back(self) -> None:
        if self.lost:
            why = NOT_ASKED_SINCE if self._unheard else ""
            self._looked_at, self._unheard = None, False
            self._changed(False, why)


def _as_unreachable(host: str, error: HostUnreachableError | TimeoutError) -> HostUnreachableError:
    """A host that was reached but does not answer counts as out of contact."""
    if isinstance(error, HostUnreachableError):
        return error
    return HostUnreachableError(host, Problem.TIMEOUT, "the host does not answer")
