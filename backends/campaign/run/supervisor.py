"""One run's life, from assigned hosts to its end: start, follow, watch, tear down, measure.

The run itself lives on its hosts and does not need us; everything here can be interrupted at any
point and taken up again from the journal, the local logs and the hosts' answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from backends.campaign.folder.log_stamps import stamps_of
from backends.campaign.pausing import operator
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_changes import launching
from backends.campaign.record.run_view import TAKEN_UP
from backends.campaign.record.silence import SILENT_S
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.run.diagnosing import ANSWER_LIMIT_S, Diagnoser, Evidence, all_answer
from backends.campaign.run.end_and_fetch import Ending, Kept, cleanup_of
from backends.campaign.run.end_events import cancelled, failed, ran_s, requeued, succeeded
from backends.campaign.run.end_reason import (
    Ended,
    judge_allocation_end,
    judge_end,
    judge_loss,
    judge_over,
    judge_stall,
    judge_start,
    memory_of,
    unmeasured,
)
from backends.campaign.run.host_part import FailureLog, Member, priced
from backends.campaign.run.host_watch import HostWatch, seen_meanwhile
from backends.campaign.run.mirror import LogMirror
from backends.campaign.run.postmortem import explained_by_host
from backends.campaign.run.reading_feed import ReadingFeed
from backends.campaign.run.recovery import MEASURED_AGAIN
from backends.campaign.run.slow_rank_feed import SlowRankFeed
from backends.campaign.run.stall import StallWatch
from backends.campaign.run.start_on_hosts import CANCEL_GRACE_S, Deferred, Start
from backends.clocks import loop_clock, sleep
from backends.engines.engine import AllocationEnd, EndKind
from backends.remote.wrapper_messages import RemoteError, RunPhase, RunStatus
from backends.transports.transport import HostUnreachableError
from profiles.durations import parse_duration
from profiles.format.profile import Profile
from profiles.logs.failures import Failure

TEAR_DOWN_GRACE_S = 2.0
START_SETTLES_S = 15.0
"""How long a cancellation waits for a start that is on its way, so that nothing starts after it."""
LAST_BYTES_S = 2.0
UNTOLD_LOOK_S = 1.0
"""It is looked so often whether all that came while nobody watched is here."""
LEAST_S = 0.001
"""0 says that nobody knows how long it took."""


class RunSupervisor:
    """Drives one run to its end and records it. :meth:`execute` may be cancelled: that detaches.

    Parameters
    ----------
    members: rank 0's host first.
    lease_text: who takes the hosts, for others to read; group: with whose runs it shares its host.
    watches: on what the hosts do meanwhile. evidence: where is kept what they say of a hang.
    fingerprint: of the hosts' environment; ``warnings``: what is noted with the result.
    taken: why the engine took the hosts away, asked when the run has ended badly; None: it did not.
    idle: called when nothing of the run is at work on its hosts any more; the next may start there.
    fresh: the run was assigned just now: its logs begin.
    patience_s: of a run that is cancelled, for how long a host may be away. What cannot be verified
        by then is left as it is, for a later console. None: the profile's lost_limit, and then the
        run has ended with that doubt.
    """

    def __init__(
        self,
        run: RunRecord,
        profile: Profile,
        members: Sequence[Member],
        recorder: Recorder,
        *,
        clock: Callable[[], float],
        lease_text: str,
        group: str = "",
        fingerprint: str = "",
        warnings: tuple[str, ...] = (),
        watches: Sequence[HostWatch] = (),
        evidence: Evidence,
        taken: Callable[[], Awaitable[AllocationEnd | None]],
        idle: Callable[[], None] = lambda: None,
        fresh: bool = False,
        patience_s: float | None = None,
    ) -> None:
        self.run = run
        self.profile = profile
        self.members = tuple(members)
        self._recorder = recorder
        self._clock = clock
        self._now = loop_clock()  # asked in a thread where a log is read again
        self._fingerprint = fingerprint
        self._warnings = warnings
        self._watches = tuple(watches)
        self._diagnoser = Diagnoser(run, self.members, recorder, evidence, clock, self._note)
        self._why_taken = taken
        self._idle = idle
        self._fresh = fresh
        self._was_at_work = run.state is RunState.RUNNING
        self._untold = self._was_at_work  # what came while nobody watched is not all here
        self._patience_s = patience_s
        self._launch = profile.launch_for(run.case)
        self._lost_limit_s = parse_duration(self._launch.lost_limit)
        self._watch = StallWatch(parse_duration(self._launch.stall_timeout))
        self.feed = ReadingFeed(
            run, profile, recorder, self._came_at, lambda: self._watch.reading_came(self._now())
        )
        self._slow_ranks = SlowRankFeed(run, profile, recorder, clock, on_gpus=evidence.on_gpus)
        self._others = {member.name: FailureLog(profile) for member in self.members[1:]}
        self._mirrors = {member.name: self._mirror(member) for member in self.members}
        self._ending = Ending(
            run.run_id,
            self._mirrors,
            limit_s=self._lost_limit_s if patience_s is None else patience_s,
            in_all_s=patience_s,
        )
        self._start = Start(run, self.members, self._ending, self._launch, lease_text, group)
        self._cancel = asyncio.Event()
        self._taken: asyncio.Future[AllocationEnd] = asyncio.get_running_loop().create_future()
        self._start_over = asyncio.Event()

    def _mirror(self, member: Member) -> LogMirror:
        first = member is self.members[0]
        boot_ids = dict(zip(self.run.hosts, self.run.boot_ids, strict=False))

        def take(data: bytes) -> None:
            (self.feed.take if first else self._others[member.name].take)(data)
            self._slow_ranks.take(member.name, data)

        def restarted(why: str) -> None:
            self._slow_ranks.restart(member.name)
            if first:
                self.feed.restart(why)
            else:
                self._others[member.name] = FailureLog(self.profile)

        return LogMirror(
            self.run.run_id,
            member.remote,
            member.log,
            member.contact,
            boot_id=boot_ids.get(member.name, ""),
            take=take,
            restarted=restarted,
            note=self._note,
            clock=self._clock,
        )

    def _came_at(self) -> float:
        """When what the first host printed last came here."""
        came_at = self._mirrors[self.members[0].name].came_at
        return self._clock() if came_at is None else came_at

    def request_cancel(self) -> None:
        self._cancel.set()

    @property
    def starting(self) -> str:
        """What its start is at, on which hosts, or that it is taken up again; "" once it has
        started there and its hosts have told of it, or before."""
        heard = all(mirror.heard for mirror in self._mirrors.values())
        if self._was_at_work and (self._untold or not heard):
            return TAKEN_UP
        return self._start.doing

    @property
    def given_up_at(self) -> float | None:
        """To the second, when it will be ended as stalled if no reading comes; None where one came
        a moment ago."""
        if self._watch.quiet_by(self._now()) <= SILENT_S / 2:  # what was read late is silent sooner
            return None
        return float(round(self._clock() + self._watch.over_at - self._now()))

    @property
    def unread_since(self) -> float | None:
        """When the first of what its first host printed came that is not told yet: what it has
        printed since, nobody knows; None: all is told."""
        waits = self._mirrors[self.members[0].name].unread_since, self.feed.untold_since
        return min((t for t in waits if t is not None), default=None)

    def request_diagnosis(self) -> None:
        """Have its hosts asked what keeps it; nothing of it is disturbed."""
        self._diagnoser.request()

    def allocation_ended(self, end: AllocationEnd) -> None:
        """The engine took the hosts away; what ran there is the engine's to end."""
        if not self._taken.done():
            self._taken.set_result(end)

    async def execute(self) -> Ended:
        """Until the run has ended and that is recorded, or until it is left ``cancelling``.

        The logs that are safely here by then are in :attr:`kept`.

        Raises
        ------
        Deferred: the hosts are held by somebody else and the run never started.
        """
        try:
            mirrors = self._mirrors.values()
            await asyncio.gather(*(mirror.open(fresh=self._fresh) for mirror in mirrors))
            if self.run.state is RunState.CANCELLING:
                self._cancel.set()
            ended = await self._live()
            if not ended.well and not self._taken.done():
                self._tell_over()
                ended = replace(ended, cleanup=await self._ending.collect(ended.cleanup))
            if ended.cancelled:
                ended = self._over_before(ended)
            await self._record(ended)
        except Deferred:
            await asyncio.gather(*(mirror.log.discard() for mirror in self._mirrors.values()))
            raise
        else:
            return ended
        finally:
            await asyncio.gather(*(mirror.close() for mirror in self._mirrors.values()))

    @property
    def kept(self) -> Kept:
        """By host: the log there that is, verified, on this disk."""
        return self._ending.kept

    async def _record(self, ended: Ended) -> None:
        self.feed.send()
        self._slow_ranks.finish()
        if self._requeued is not None:
            await self._recorder.record(requeued(self.run, self._requeued, self._clock()))
        elif ended.cancelled:
            if not (self._patience_s is not None and ended.cleanup.may_mend):
                await self._recorder.record(
                    cancelled(self.run, ended, self._clock(), self._fingerprint)
                )
        elif ended.reason:
            named = self._failures()
            traced = ended.traced(self._ends, named, self._launch.timeout)
            await self._finish_failed(traced.explained(named))
        else:
            await self._finish_measured(ended)

    async def _live(self) -> Ended:
        """Start where needed, follow everything, end at the first of: done, failure, cancel."""
        cancelled = asyncio.create_task(self._cancel.wait())
        work = asyncio.create_task(self._start_and_follow())
        aside = [asyncio.create_task(self.feed.pump())]
        aside += [asyncio.create_task(watch.follow()) for watch in self._watches]
        aside.append(asyncio.create_task(self._diagnoser.answer_requests()))
        try:
            first: set[asyncio.Future[Any]] = {cancelled, work, self._taken}  # of three kinds
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return await self._unless_taken(work.result())
            if self._taken.done():
                return await self._hosts_taken(self._taken.result(), work)
            return await self._cancelled(work)
        finally:
            for task in (cancelled, work, *aside):
                task.cancel()
            await asyncio.gather(cancelled, work, *aside, return_exceptions=True)
            self.feed.send()

    async def _unless_taken(self, ended: Ended) -> Ended:
        """What takes the hosts away ends the processes there first, and is the reason then."""
        if ended.well or ended.cancelled or (end := await self._why_taken()) is None:
            return ended
        self.allocation_ended(end)
        return judge_allocation_end(end)

    async def _cancelled(self, work: asyncio.Task[Ended]) -> Ended:
        if self.run.state is not RunState.CANCELLING:
            by = self._recorder.state.end_wished_by(self.run.run_id) or operator()
            event = ev.RunCancelling(t=self._clock(), run_id=self.run.run_id, by=by)
            await self._recorder.record(event)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SETTLES_S):
                await self._start_over.wait()
        cleanup = await self._ending.tear_down(CANCEL_GRACE_S)
        with contextlib.suppress(TimeoutError, Deferred):
            async with asyncio.timeout(LAST_BYTES_S):
                await work
        return Ended(cancelled=True, cleanup=cleanup)

    async def _hosts_taken(self, end: AllocationEnd, work: asyncio.Task[Ended]) -> Ended:
        """The last bytes may still be on their way; then the engine's word is what counts."""
        with contextlib.suppress(TimeoutError, Deferred):
            async with asyncio.timeout(LAST_BYTES_S):
                await work
        return judge_allocation_end(end)

    @property
    def _requeued(self) -> AllocationEnd | None:
        end = self._taken.result() if self._taken.done() else None
        return end if end is not None and end.kind is EndKind.REQUEUED else None

    @property
    def _ends(self) -> list[tuple[str, RunStatus | None]]:
        return [(m.name, self._mirrors[m.name].ended) for m in self.members if not m.passive]

    def _over_before(self, ended: Ended) -> Ended:
        """A run that was over everywhere before the word arrived has ended as it did."""
        how = judge_over(self._ends, self._launch.timeout)
        return ended if how is None else replace(how, cleanup=ended.cleanup)

    async def _start_and_follow(self) -> Ended:
        try:
            if self.run.state is RunState.STARTING:
                await self._launched(await self._start.everywhere())
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            cleanup = await self._ending.tear_down(TEAR_DOWN_GRACE_S)
            return replace(judge_start(error), cleanup=cleanup)
        finally:
            self._start_over.set()
        follows = {
            asyncio.create_task(self._mirrors[member.name].follow(self._lost_limit_s)): member
            for member in self.members
        }
        watch = asyncio.create_task(self._watch_stall())
        try:
            return await self._until_over(follows, watch)
        finally:
            for task in (*follows, watch):
                task.cancel()
            await asyncio.gather(*follows, watch, return_exceptions=True)

    async def _launched(self, boot_ids: tuple[str, ...]) -> None:
        await self._recorder.record(launching(self.run, boot_ids, self._clock()))
        self.run = replace(self.run, state=RunState.RUNNING, boot_ids=boot_ids)

    # Following ---------------------------------------------------------------------------------

    def _note(self, text: str) -> None:
        self._recorder.note(ev.Noted(t=self._clock(), text=text))

    async def _until_over(
        self, follows: Mapping[asyncio.Task[RunStatus], Member], watch: asyncio.Task[Ended]
    ) -> Ended:
        pending: set[asyncio.Task[RunStatus] | asyncio.Task[Ended]] = {*follows, watch}
        at_work = {task for task, member in follows.items() if not member.passive}
        while at_work & pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if self._cancel.is_set():  # who cancels ends it, with the grace time of that
                await asyncio.wait(follows)
                return Ended(cancelled=True)
            if watch in done:
                stalled = watch.result()
                cleanup = await self._ending.tear_down(TEAR_DOWN_GRACE_S)
                return replace(stalled, cleanup=cleanup)
            if not at_work & pending:
                self._tell_over()
            ends = (self._judge(member, task) for task, member in follows.items() if task in done)
            failed = [ended for ended in ends if ended is not None]
            if failed:
                rest = [task for task in follows if task in pending]
                if rest and failed[0].category is Cause.EXIT:  # it may follow another host's end
                    await asyncio.wait(rest, timeout=LAST_BYTES_S)
                cleanup = await self._ending.tear_down(TEAR_DOWN_GRACE_S)
                if rest:  # what the other hosts said before they were ended
                    await asyncio.wait(rest, timeout=LAST_BYTES_S)
                return replace(failed[0], cleanup=cleanup)
        if any(member.passive for member in self.members):
            cleanup = await self._ending.tear_down(0.0)
        else:
            cleanup = cleanup_of({name: mirror.ended for name, mirror in self._mirrors.items()})
        self._idle()
        return Ended(cleanup=await self._ending.collect(cleanup))

    def _tell_over(self) -> None:
        run = self._recorder.state.runs[self.run.run_id]
        if run.state is RunState.RUNNING and not run.collecting:
            took = max(0.0, ran_s(self._ends))
            self._recorder.note(ev.RunOver(t=self._clock(), run_id=run.run_id, ran_s=took))

    def _judge(self, member: Member, task: asyncio.Task[RunStatus]) -> Ended | None:
        """How a member's end ends the run; None when it went well."""
        error = task.exception()
        if isinstance(error, RemoteError | HostUnreachableError):
            return judge_loss(member.name, error, self._launch.lost_limit)
        if error is not None:
            raise error
        status = task.result()
        if status.phase is RunPhase.ABSENT and self._recorder.state.lost_lines:
            # It was removed there, as is only done once its log is here and its end is written.
            self._warnings = (*self._warnings, MEASURED_AGAIN)
            return None
        if status.leftovers:
            left = f"{status.leftovers} processes outlived the command and were ended"
            self._warnings = (*self._warnings, f"{member.name}: {left}")
        simulated = self._recorder.state.simulated
        return judge_end(member.name, status, self._launch.timeout, simulated=simulated)

    def _failures(self) -> list[tuple[str, Sequence[Failure]]]:
        """Named failures of every host's whole log, rank 0 first."""
        self.feed.finish()
        first = (self.members[0].name, self.feed.parser.failures)
        return [first, *((name, log.failures) for name, log in self._others.items())]

    # Watching ----------------------------------------------------------------------------------

    async def _watch_stall(self) -> Ended:
        """Once no reading came for too long although all hosts are in contact; they are asked why
        before anything is ended."""
        self._watch.start(self._now())
        readings = self.feed.count
        while True:
            # What the local disk does not take is no silence of the run.
            in_contact = not any(m.contact.lost or m.log.held_up for m in self.members)
            self._untold = self._untold and in_contact and self.feed.count == readings
            if self._untold and (quiet_s := await self._quiet_before()) is not None:
                self._untold = False
                if self.feed.count == readings:
                    self._watch.was_quiet(quiet_s)
            if self._watch.stalled(self._now(), in_contact=in_contact):
                if await all_answer(self.members, self.run.run_id):
                    if self._watch.over:
                        await self._diagnoser.ask()
                        if self._watch.over:  # it has not moved meanwhile
                            break
                else:  # a connection had died unnoticed: the readings are there, only not here
                    self._watch.reading_came(self._now())
            await sleep(min(self._watch.next_look_s, UNTOLD_LOOK_S if self._untold else math.inf))
        last = await self.members[0].log.last_lines()
        step = self.feed.last[0] if self.feed.last else None
        quiet_s = max(self._watch.quiet_s, self._clock() - self._last_reading_at)
        return judge_stall(self.feed.count, step, quiet_s, last)

    @property
    def _last_reading_at(self) -> float:
        """By the journal; before the first, when it began."""
        run = self._recorder.state.runs[self.run.run_id]
        last = run.launched_at if run.last_reading_at is None else run.last_reading_at
        return self._clock() if last is None else last

    async def _quiet_before(self) -> float | None:
        """For how long no reading can have come, of a run that is taken up; None: not known yet.

        That is known where all of its log is here, and both the host's clock, since the log was
        written to, and ours, since its last reading, say so.
        """
        mirror = self._mirrors[self.members[0].name]
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                told = await mirror.remote.status(self.run.run_id)
        except (HostUnreachableError, RemoteError, TimeoutError):
            return None
        if told.size != mirror.log.size or not (mirror.heard or told.size == 0):
            return None
        if told.quiet_s is None:
            return 0.0
        return max(0.0, min(told.quiet_s, self._clock() - self._last_reading_at))

    # Ending ------------------------------------------------------------------------------------

    async def _finish_failed(self, ended: Ended) -> None:
        member = next((m for m in self.members if m.name == ended.host), None)
        if member is not None and ended.category is Cause.EXIT:
            run_s = self._clock() - (self.run.started_at or self._clock())
            ended = await explained_by_host(ended, member, run_s)
        ended = self._blamed(ended)
        took, now = ran_s(self._ends), self._clock()
        if ended.category is Cause.LEFT:  # it lived as long as that console wrote
            lived = (self._recorder.left_at or now) - (self.run.launched_at or now)
            took = max(LEAST_S, lived)
        await self._recorder.record(failed(self.run, ended, now, took, self._fingerprint))

    def _blamed(self, ended: Ended) -> Ended:
        """With the host whose doing it was, as far as anybody knows."""
        if len(self.members) < 2:
            return ended
        told = ended = ended.but_for_who_is_away()
        if not any(member.passive for member in self.members):  # else a launcher speaks for all
            hosts = [member.name for member in self.members]
            told = ended.named_by_host(hosts, self._failures())
        run = self._recorder.state.runs[self.run.run_id]
        if not told.vague or run.diagnosis is None or not run.diagnosis.suspects:
            return told
        moved = (run.last_reading_at or 0.0) > (run.diagnosed_at or 0.0)
        return told if moved else told.suspecting(run.diagnosis, self._failures())

    async def _finish_measured(self, ended: Ended) -> None:
        self.feed.finish()
        logs = [m.log.path for m in self.members]
        measured = await asyncio.to_thread(self.feed.measured, logs)
        if measured.reason:
            nothing = unmeasured(measured, await self.members[0].log.last_lines())
            failed = replace(nothing.explained(self._failures()), cleanup=ended.cleanup)
            await self._finish_failed(failed)
            return
        run = self._recorder.state.runs[self.run.run_id]
        seen = await seen_meanwhile(self._watches, run, measured.steady or (), dict(self._ends))
        await self._recorder.record(
            succeeded(
                self.run,
                priced(measured, self.members, self.run.gpus_per_node),
                self._clock(),
                telemetry=seen,
                gpu_memory_mib=memory_of(measured) or seen.memory_mib,
                warnings=(*measured.warnings, *self._warnings),
                fingerprint=self._fingerprint,
                cleanup=ended.cleanup,
                ran_s=ran_s(self._ends),
                log_stamps=await asyncio.to_thread(stamps_of, logs),
            )
        )
