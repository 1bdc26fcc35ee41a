"""One run's life, from assigned hosts to its end: start, follow, watch, tear down, measure.

The run itself lives on its hosts and does not need us; everything here can be interrupted at any
point and taken up again from the journal, the local logs and the hosts' answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

from backends.campaign import events as ev
from backends.campaign.rawlog import RawLog
from backends.campaign.state import RunRecord, RunState
from backends.campaign.verdict import Ended, judge_end, memory_of, unmeasured
from backends.launchers.base import HostCommand
from backends.remote.client import RemoteHost
from backends.remote.model import (
    CancelReport,
    LeaseHeldError,
    RemoteError,
    RunSpec,
    RunStatus,
    StagedTree,
)
from backends.transports.base import HostUnreachableError, Problem
from profiles.cleantext import clean_text
from profiles.durations import parse_duration
from profiles.failures import BUILT_IN, Failure, FailureScanner
from profiles.logparse import LogParser, Reading
from profiles.matrix import Case
from profiles.model import Profile
from profiles.throughput import is_warmup, measure_run, reading_throughput

TEAR_DOWN_GRACE_S = 3.0
CANCEL_GRACE_S = 10.0
READINGS_EVERY_S = 0.5
DISK_FULL_RETRY_S = 5.0
START_LIMIT_S = 60.0
HOLD_SCRIPT = "exec sleep 2147483647\n"
"""What a passive member runs: it holds the host until the first node's launcher is done."""

_T = TypeVar("_T")


class Recorder(Protocol):
    """Where a supervisor's events go: state and journal of the campaign."""

    def note(self, event: ev.Event) -> None:
        """Apply now, write soon."""

    async def record(self, event: ev.Event) -> None:
        """Apply now, return when it is on disk."""


@dataclass(slots=True)
class Member:
    """One host's part in a run."""

    name: str
    remote: RemoteHost
    command: HostCommand
    log: RawLog
    stage: tuple[StagedTree, ...] = ()
    scanner: FailureScanner = field(default_factory=lambda: FailureScanner(BUILT_IN))
    status: RunStatus | None = None
    lost_since: float | None = None

    @property
    def passive(self) -> bool:
        """Takes part without a process of ours: held for the launcher's remote ranks."""
        return not self.command.argv


class Deferred(Exception):
    """The hosts are held by somebody else; nothing of this run is left on any of them."""

    def __init__(self, host: str, holder: str) -> None:
        self.host = host
        self.holder = holder
        super().__init__(f"{host} is held by {holder}")


class RunSupervisor:
    """Drives one run to its end and records it. :meth:`execute` may be cancelled: that detaches."""

    def __init__(
        self,
        run: RunRecord,
        profile: Profile,
        members: Sequence[Member],
        recorder: Recorder,
        *,
        clock: Callable[[], float],
        lease_text: str,
        fingerprint: str = "",
        diagnosis_path: Path | None = None,
        peak_memory_mib: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.run = run
        self.profile = profile
        self.case: Case = run.case
        self.members = tuple(members)
        self._recorder = recorder
        self._clock = clock
        self._lease_text = lease_text
        self._fingerprint = fingerprint
        self._diagnosis_path = diagnosis_path
        self._peak_memory_mib = peak_memory_mib
        launch = profile.launch
        self._timeout_s = parse_duration(launch.timeout)
        self._stall_s = parse_duration(launch.stall_timeout)
        self._lost_limit_s = parse_duration(launch.lost_limit)
        self.parser = LogParser(profile, self.case)
        self._unsent: list[tuple[float | None, float, float]] = []
        self._sent = run.reading_count
        self._warmup = run.warmup
        self._last_sign = clock()
        self._cancel = asyncio.Event()

    # What the operator can ask for -------------------------------------------------------------

    def request_cancel(self) -> None:
        self._cancel.set()

    # Life --------------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Until the run has ended and that is recorded.

        Raises
        ------
        Deferred: the hosts are held by somebody else and the run never started.
        """
        self._replay_local_log()
        if self.run.state is RunState.CANCELLING:
            self._cancel.set()
        ended = await self._live()
        if ended.cancelled:
            await self._finish_cancelled(ended)
        elif ended.reason:
            await self._finish_failed(ended)
        else:
            await self._finish_measured()

    async def _live(self) -> Ended:
        """Start where needed, follow everything, end at the first of: done, failure, cancel."""
        cancelled = asyncio.create_task(self._cancel.wait())
        work = asyncio.create_task(self._start_and_follow())
        pump = asyncio.create_task(self._pump_readings())
        try:
            await asyncio.wait({cancelled, work}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            await self._recorder.record(ev.RunCancelling(t=self._clock(), run_id=self.run.run_id))
            clean = await self._tear_down(CANCEL_GRACE_S)
            with contextlib.suppress(TimeoutError, Deferred):
                async with asyncio.timeout(5.0):  # the last bytes of the logs
                    await work
            return Ended(cancelled=True, clean=clean)
        finally:
            for task in (cancelled, work, pump):
                task.cancel()
            await asyncio.gather(cancelled, work, pump, return_exceptions=True)
            self._send_readings()

    async def _start_and_follow(self) -> Ended:
        try:
            await self._start_all()
        except (HostUnreachableError, RemoteError) as error:
            lost = isinstance(error, HostUnreachableError)
            return Ended(
                reason=f"{error.what} while starting",
                category="lost" if lost else "host",
                host=error.where,
                retry="later" if lost else "never",
                clean=await self._tear_down(TEAR_DOWN_GRACE_S),
            )
        follows = {asyncio.create_task(self._follow(member)): member for member in self.members}
        watch = asyncio.create_task(self._watch_stall())
        try:
            return await self._until_over(follows, watch)
        finally:
            for task in (*follows, watch):
                task.cancel()
            await asyncio.gather(*follows, watch, return_exceptions=True)

    # Starting ----------------------------------------------------------------------------------

    async def _start_all(self) -> None:
        if self.run.state is not RunState.STARTING:
            return
        results = await asyncio.gather(
            *(self._start(member) for member in self.members), return_exceptions=True
        )
        held = [r for r in results if isinstance(r, LeaseHeldError)]
        other = [r for r in results if isinstance(r, BaseException) and r not in held]
        if other:
            raise other[0]
        if held:
            await self._tear_down(0.0)
            await asyncio.gather(*(m.remote.remove(self.run.run_id) for m in self.members))
            raise Deferred(held[0].host, held[0].holder)
        boot_ids = tuple(r.boot_id for r in results if isinstance(r, RunStatus))
        await self._recorder.record(
            ev.RunLaunched(t=self._clock(), run_id=self.run.run_id, boot_ids=boot_ids)
        )
        self.run = replace(self.run, state=RunState.RUNNING, boot_ids=boot_ids)
        self._last_sign = self._clock()

    async def _start(self, member: Member) -> RunStatus:
        spec = RunSpec(
            run_id=self.run.run_id,
            script=member.command.script if not member.passive else HOLD_SCRIPT,
            timeout_s=self._timeout_s,
            lease=self._lease_text,
            stage=member.stage,
            container_name=member.command.container,
            grace_s=CANCEL_GRACE_S,
        )
        return await self._persist(member, lambda: member.remote.start(spec), limit_s=START_LIMIT_S)

    # Following ---------------------------------------------------------------------------------

    async def _follow(self, member: Member) -> RunStatus:
        """The member's log to its end; survives lost connections and full disks."""
        while True:
            status = await self._persist(member, lambda: self._follow_once(member))
            if status is not None:
                member.status = status
                return status
            await asyncio.sleep(DISK_FULL_RETRY_S)
            member.log.reopen()

    async def _follow_once(self, member: Member) -> RunStatus | None:
        """One connection's worth; None when the local disk stopped taking bytes."""
        stopped = asyncio.Event()

        def take(data: bytes) -> None:
            if member.lost_since is not None:
                self._contact_back(member)
            written = member.log.write(data)
            if written:
                self._digest(member, written)
            if member.log.problem:
                stopped.set()

        following = asyncio.create_task(
            member.remote.follow(self.run.run_id, member.log.size, take)
        )
        full = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({following, full}, return_when=asyncio.FIRST_COMPLETED)
            if not full.done():
                return following.result()
            self._recorder.note(
                ev.Noted(
                    t=self._clock(),
                    text=f"cannot write {member.log.path.name}: {member.log.problem};"
                    " the run goes on, its log is fetched when there is room",
                )
            )
            return None
        finally:
            for task in (following, full):
                task.cancel()
            await asyncio.gather(following, full, return_exceptions=True)

    def _digest(self, member: Member, data: bytes) -> None:
        if member is self.members[0]:
            self._take_readings(self.parser.feed(data), self._clock())
        else:
            member.scanner.feed(data)

    def _replay_local_log(self) -> None:
        """Bring parser and scanners to where the local files end."""
        first = self.members[0]
        for block in first.log.blocks():
            self._take_readings(self.parser.feed(block), self.run.last_reading_at or self._clock())
        for member in self.members[1:]:
            for block in member.log.blocks():
                member.scanner.feed(block)

    def _take_readings(self, readings: Iterable[Reading], now: float) -> None:
        for reading in readings:
            self._last_sign = now
            if reading.index < self.run.reading_count:
                continue  # the journal has it from before a resume
            value = reading_throughput(self.profile, self.case, reading)
            self._unsent.append((reading.step, value, now))
            if is_warmup(self.profile, self.case, reading.index, reading.step):
                self._warmup = max(self._warmup, reading.index + 1)

    async def _pump_readings(self) -> None:
        while True:
            await asyncio.sleep(READINGS_EVERY_S)
            self._send_readings()

    def _send_readings(self) -> None:
        if not self._unsent:
            return
        batch, self._unsent = tuple(self._unsent), []
        self._recorder.note(
            ev.ReadingsArrived(
                t=self._clock(),
                run_id=self.run.run_id,
                first=self._sent,
                readings=batch,
                warmup=self._warmup,
            )
        )
        self._sent += len(batch)

    # Watching ----------------------------------------------------------------------------------

    async def _until_over(
        self, follows: Mapping[asyncio.Task[RunStatus], Member], watch: asyncio.Task[str]
    ) -> Ended:
        pending: set[asyncio.Task[RunStatus] | asyncio.Task[str]] = {*follows, watch}
        while any(task in pending for task, member in follows.items() if not member.passive):
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if watch in done:
                return Ended(
                    reason=watch.result(),
                    category="stalled",
                    clean=await self._tear_down(TEAR_DOWN_GRACE_S),
                )
            for task in done:
                member = follows[task]  # type: ignore[index]  # watch is handled above
                ended = self._judge(member, task)  # type: ignore[arg-type]
                if ended is not None:
                    clean = await self._tear_down(TEAR_DOWN_GRACE_S)
                    await self._last_bytes(follows, pending)
                    return replace(ended.explained(self._failures()), clean=clean)
        if any(member.passive for member in self.members):
            await self._tear_down(0.0)
        return Ended()

    async def _last_bytes(
        self,
        follows: Mapping[asyncio.Task[RunStatus], Member],
        pending: set[asyncio.Task[RunStatus] | asyncio.Task[str]],
    ) -> None:
        """What the other hosts said before they were ended, for a short while."""
        rest = [task for task in follows if task in pending]
        if rest:
            await asyncio.wait(rest, timeout=2.0)

    def _judge(self, member: Member, task: asyncio.Task[RunStatus]) -> Ended | None:
        """How a member's end ends the run; None when it went well."""
        error = task.exception()
        if isinstance(error, RemoteError):
            return Ended(reason=str(error), category="host", host=member.name)
        if isinstance(error, HostUnreachableError):
            return Ended(
                reason=f"{member.name}: {error.problem}, not back within "
                f"{self.profile.launch.lost_limit}",
                category="lost",
                host=member.name,
                retry="later",
            )
        if error is not None:
            raise error
        return judge_end(member.name, task.result(), self.profile.launch.timeout)

    def _failures(self) -> list[tuple[str, Sequence[Failure]]]:
        """Named failures of every host's whole log, rank 0 first."""
        self._take_readings(self.parser.finish(), self._clock())
        for member in self.members[1:]:
            member.scanner.finish()
        found: list[tuple[str, Sequence[Failure]]]
        found = [(self.members[0].name, self.parser.failures)]
        return found + [(member.name, member.scanner.failures) for member in self.members[1:]]

    async def _watch_stall(self) -> str:
        """The reason, once no reading came for too long although all hosts are in contact."""
        while True:
            quiet = self._clock() - self._last_sign
            if any(member.lost_since is not None for member in self.members):
                self._last_sign = self._clock() - min(quiet, self._stall_s * 0.9)
            elif quiet >= self._stall_s:
                await self._diagnose()
                last = self.parser.readings[-1].step if self.parser.readings else None
                if not self.parser.readings:
                    return f"no reading within {self.profile.launch.stall_timeout}"
                return f"stalled at iteration {last:g}" if last is not None else "stalled"
            await asyncio.sleep(min(max(self._stall_s - quiet, 0.05), 5.0))

    async def _diagnose(self) -> None:
        """Keep what the hosts can tell about the stalled ranks before they are ended."""
        if self._diagnosis_path is None:
            return
        answers = await asyncio.gather(
            *(member.remote.diagnose(self.run.run_id) for member in self.members),
            return_exceptions=True,
        )
        parts = [
            f"== {member.name}\n{answer}\n"
            for member, answer in zip(self.members, answers, strict=True)
        ]
        with contextlib.suppress(OSError):
            await asyncio.to_thread(
                self._diagnosis_path.write_text, "".join(parts), encoding="utf-8"
            )

    # Contact -----------------------------------------------------------------------------------

    async def _persist(
        self,
        member: Member,
        attempt: Callable[[], Awaitable[_T]],
        limit_s: float | None = None,
    ) -> _T:
        """Repeat ``attempt`` with backoff and jitter while the host cannot be reached.

        Raises HostUnreachableError once the host has been away for ``limit_s`` (default: the
        profile's lost limit), or at once where waiting cannot mend it (a changed host key).
        """
        limit_s = self._lost_limit_s if limit_s is None else limit_s
        delay = 0.5
        while True:
            try:
                result = await attempt()
            except (HostUnreachableError, TimeoutError) as caught:
                error = _as_unreachable(member, caught)
                self._contact_lost(member, error)
                away = self._clock() - (member.lost_since or self._clock())
                if not error.problem.transient or away >= limit_s:
                    raise error from caught
                await asyncio.sleep(delay * random.uniform(0.7, 1.3))  # noqa: S311
                delay = min(delay * 1.6, 10.0)
            else:
                self._contact_back(member)
                return result

    def _contact_lost(self, member: Member, error: HostUnreachableError) -> None:
        if member.lost_since is None:
            member.lost_since = self._clock()
            self._recorder.note(
                ev.ContactChanged(
                    t=member.lost_since,
                    run_id=self.run.run_id,
                    host=member.name,
                    lost=True,
                    reason=str(error.problem),
                )
            )

    def _contact_back(self, member: Member) -> None:
        if member.lost_since is not None:
            member.lost_since = None
            self._recorder.note(
                ev.ContactChanged(
                    t=self._clock(), run_id=self.run.run_id, host=member.name, lost=False
                )
            )

    # Ending ------------------------------------------------------------------------------------

    async def _tear_down(self, grace_s: float) -> str:
        """End everything of the run on all its hosts; what is known of leftovers, in words."""

        async def one(member: Member) -> CancelReport | HostUnreachableError:
            try:
                return await self._persist(
                    member, lambda: member.remote.cancel(self.run.run_id, grace_s=grace_s)
                )
            except HostUnreachableError as error:
                return error

        reports = await asyncio.gather(*(one(member) for member in self.members))
        unclear = []
        left = 0
        for member, report in zip(self.members, reports, strict=True):
            if isinstance(report, HostUnreachableError):
                unclear.append(f"{member.name}: {report.problem}")
            elif report.left is None:
                unclear.append(f"{member.name}: {report.detail}")
            else:
                left += report.left
        if unclear:
            return "unverified: " + "; ".join(unclear)
        return f"{left} left"

    async def _finish_cancelled(self, ended: Ended) -> None:
        await self._recorder.record(
            ev.RunCancelled(t=self._clock(), run_id=self.run.run_id, clean=ended.clean)
        )

    async def _finish_failed(self, ended: Ended) -> None:
        await self._recorder.record(
            ev.RunFailed(
                t=self._clock(),
                run_id=self.run.run_id,
                reason=clean_text(ended.reason),
                evidence=ended.evidence,
                category=ended.category,
                host=ended.host,
                exit_status=ended.exit_status,
                retry=ended.retry,
                clean=ended.clean,
            )
        )

    async def _finish_measured(self) -> None:
        self._take_readings(self.parser.finish(), self._clock())
        self._send_readings()
        measured = measure_run(self.profile, self.case, self.parser)
        if measured.throughput is None:
            ended = unmeasured(measured, self.members[0].log.last_lines())
            await self._finish_failed(ended.explained(self._failures()))
            return
        await self._recorder.record(
            ev.RunSucceeded(
                t=self._clock(),
                run_id=self.run.run_id,
                throughput=measured.throughput,
                readings=measured.readings,
                used=measured.used,
                window=measured.window,
                statistic=measured.statistic,
                metrics=dict(measured.metrics),
                gpu_memory_mib=memory_of(measured) or self._peak_memory_mib(),
                warnings=measured.warnings,
                fingerprint=self._fingerprint,
            )
        )


def _as_unreachable(
    member: Member, error: HostUnreachableError | TimeoutError
) -> HostUnreachableError:
    """A host that was reached but does not answer counts as out of contact."""
    if isinstance(error, HostUnreachableError):
        return error
    return HostUnreachableError(member.name, Problem.TIMEOUT, "the host does not answer")
