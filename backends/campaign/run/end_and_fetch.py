"""A run's end on its hosts: its processes ended, its logs safely here, and what is in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.run.mirror import LogMirror, UnsafeLogError
from backends.remote.wrapper_messages import (
    CancelReport,
    LogDigest,
    RemoteError,
    RunPhase,
    RunStatus,
)
from backends.transports.transport import HostUnreachableError

COLLECT_LIMIT_S = 30.0
"""For so long nothing may move while the rest of an ended run's log is fetched and compared."""

Kept = Mapping[str, LogDigest | None]
"""By host: the digest of the log that is safely here; None where the host has none."""


class Ending:
    """Of one run, on all of its hosts.

    Parameters
    ----------
    limit_s: for so long a host may be away before it is in doubt.
    in_all_s: and so long it may take in all, besides the grace time; None: it may.
    """

    def __init__(
        self,
        run_id: str,
        mirrors: Mapping[str, LogMirror],
        *,
        limit_s: float,
        in_all_s: float | None = None,
    ) -> None:
        self._run_id = run_id
        self._mirrors = mirrors
        self._limit_s = limit_s
        self._in_all_s = in_all_s
        self.kept: dict[str, LogDigest | None] = {}

    async def tear_down(self, grace_s: float) -> Cleanup:
        """End everything of the run everywhere: TERM, after ``grace_s`` KILL."""
        ends = (self._tear_down_one(mirror, grace_s) for mirror in self._mirrors.values())
        found = await asyncio.gather(*ends)
        return Cleanup(True, tuple(doubt for doubt in found if doubt is not None))

    async def _tear_down_one(self, mirror: LogMirror, grace_s: float) -> Doubt | None:
        limit_s = None if self._in_all_s is None else 2 * grace_s + self._in_all_s
        try:
            async with asyncio.timeout(limit_s):
                report = await mirror.contact.persist(
                    lambda: mirror.remote.cancel(self._run_id, grace_s=grace_s), self._limit_s
                )
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            return doubt_of_error(mirror.name, error)
        return doubt_of_report(mirror.name, report)

    async def collect(self, cleanup: Cleanup) -> Cleanup:
        """Fetch and verify the logs of the hosts that answered; ``cleanup`` with what is open.

        What is verified is in :attr:`kept` from then on.
        """
        away = [doubt.host for doubt in cleanup.doubts if doubt.why in (Why.AWAY, Why.REFUSED)]
        mirrors = [mirror for name, mirror in self._mirrors.items() if name not in away]
        found = await asyncio.gather(*map(self._collect_one, mirrors))
        return replace(cleanup, doubts=cleanup.doubts + tuple(d for d in found if d is not None))

    async def remove(self) -> None:
        """Delete what is kept from the hosts; raises like :meth:`RemoteHost.remove`."""
        kept = self.kept.items()
        removals = (self._mirrors[h].remote.remove(self._run_id, log) for h, log in kept)
        await asyncio.gather(*removals)

    async def _collect_one(self, mirror: LogMirror) -> Doubt | None:
        try:
            self.kept[mirror.name] = await mirror.collect(COLLECT_LIMIT_S)
        except (HostUnreachableError, RemoteError, TimeoutError, UnsafeLogError) as error:
            problem = mirror.log.problem or doubt_of_error(mirror.name, error).detail
            return Doubt(mirror.name, Why.NO_LOG, problem)
        return None


def doubt_of_error(
    host: str, error: HostUnreachableError | RemoteError | TimeoutError | UnsafeLogError
) -> Doubt:
    """What a failed attempt to end or to fetch something leaves open."""
    if isinstance(error, HostUnreachableError):
        return Doubt(host, Why.AWAY, str(error.problem))
    if isinstance(error, TimeoutError):
        return Doubt(host, Why.AWAY, "no answer")
    return Doubt(host, Why.REFUSED, error.what)


def doubt_of_report(host: str, report: CancelReport) -> Doubt | None:
    """What the host's own look leaves open; None: nothing of the run is left there."""
    if report.left is None and report.phase is RunPhase.LOST:
        return Doubt(host, Why.KILLED, pids_text(report.orphans))
    if report.left is None:
        return Doubt(host, Why.ORPHANS, pids_text(report.orphans))
    return Doubt(host, Why.DEAF, str(report.left)) if report.left else None


def doubt_of_status(host: str, status: RunStatus) -> Doubt | None:
    """What the host's own record leaves open of an end that nobody had to bring about."""
    if status.left:
        return Doubt(host, Why.DEAF, str(status.left))
    return None if status.orphans == () else Doubt(host, Why.ORPHANS, pids_text(status.orphans))


def cleanup_of(statuses: Mapping[str, RunStatus | None]) -> Cleanup:
    """What the hosts' own records tell of an end that nobody had to bring about; by host."""
    doubts = [doubt_of_status(name, status) for name, status in statuses.items() if status]
    return Cleanup(True, tuple(doubt for doubt in doubts if doubt is not None))


def pids_text(pids: Sequence[int] | None) -> str:
    return ",".join(map(str, pids or ()))
