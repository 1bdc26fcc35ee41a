"""One run's life, from assigned hosts to its end: start, follow, watch, tear down, measure.

The run itself lives on its hosts and does not need us; everything here can be interrupted at any
point and taken up again from the journal, the local logs and the hosts' answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.state import RunRecord, RunState, next_attempt_id
from backends.campaign.run.gpu_watch import TelemetryLog
from backends.campaign.run.host_part import FailureLog, Follower, Member
from backends.campaign.run.postmortem import ask_host
from backends.campaign.run.reading_feed import ReadingFeed
from backends.campaign.run.stall import StallWatch
from backends.campaign.run.verdict import (
    Ended,
    judge_allocation_end,
    judge_end,
    memory_of,
    unmeasured,
)
from backends.engines.base import AllocationEnd, EndKind
from backends.remote.messages import CancelReport, LeaseHeldError, RemoteError, RunSpec, RunStatus
from backends.transports.base import HostUnreachableError
from profiles.cleantext import clean_text
from profiles.durations import parse_duration
from profiles.format.profile import Profile
from profiles.logs.failures import Failure
from profiles.throughput.measure import measure_run

TEAR_DOWN_GRACE_S = 2.0
CANCEL_GRACE_S = 10.0
START_LIMIT_S = 60.0
START_SETTLES_S = 15.0
"""How long a cancellation waits for a start that is on its way, so that nothing starts after it."""
LAST_BYTES_S = 2.0
ANSWER_LIMIT_S = 30.0
HOLD_SCRIPT = "exec sleep 2147483647\n"
"""What a passive member runs: it holds the host until the first node's launcher is done."""


class Deferred(Exception):
    """The hosts are held by somebody else; nothing of this run is left on any of them."""

    def __init__(self, host: str, holder: str) -> None:
        self.host = host
        self.holder = holder
        super().__init__(f"{host} is held by {holder}")


class RunSupervisor:
    """Drives one run to its end and records it. :meth:`execute` may be cancelled: that detaches.

    Parameters
    ----------
    members: rank 0's host first.
    telemetry: of the members that have GPUs.
    fingerprint: of the hosts' environment; ``warnings``: what is noted with the result.
    idle: called when nothing of the run is at work on its hosts any more; the next may start there.
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
        fingerprint: str = "",
        warnings: tuple[str, ...] = (),
        telemetry: Sequence[TelemetryLog] = (),
        diagnosis_path: Path | None = None,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.run = run
        self.profile = profile
        self.members = tuple(members)
        self._recorder = recorder
        self._clock = clock
        self._lease_text = lease_text
        self._fingerprint = fingerprint
        self._warnings = warnings
        self._telemetry = tuple(telemetry)
        self._diagnosis_path = diagnosis_path
        self._idle = idle
        self._launch = profile.launch_for(run.case)
        self._lost_limit_s = parse_duration(self._launch.lost_limit)
        self._watch = StallWatch(parse_duration(self._launch.stall_timeout))
        self.feed = ReadingFeed(run, profile, recorder, clock, self._watch.reading_came)
        self._others = {member.name: FailureLog(profile) for member in self.members[1:]}
        self._cancel = asyncio.Event()
        self._taken: asyncio.Future[AllocationEnd] = asyncio.get_running_loop().create_future()
        self._start_over = asyncio.Event()

    def request_cancel(self) -> None:
        self._cancel.set()

    def allocation_ended(self, end: AllocationEnd) -> None:
        """The engine took the hosts away; what ran there is the engine's to end."""
        if not self._taken.done():
            self._taken.set_result(end)

    async def execute(self) -> bool:
        """Until the run has ended and that is recorded; whether all of its logs are safely here.

        Raises
        ------
        Deferred: the hosts are held by somebody else and the run never started.
        """
        try:
            await asyncio.to_thread(self._replay_local_logs)
            if self.run.state is RunState.CANCELLING:
                self._cancel.set()
            ended = await self._live()
            if self._requeued is not None:
                event = requeued(self.run, self._requeued, self._clock())
                await self._recorder.record(event)
            elif ended.cancelled:
                await self._finish_cancelled(ended)
            elif ended.reason:
                await self._finish_failed(ended)
            else:
                await self._finish_measured()
            synced = [asyncio.to_thread(member.log.sync) for member in self.members]
            return all(await asyncio.gather(*synced))
        finally:
            for member in self.members:
                member.log.close()

    def _replay_local_logs(self) -> None:
        """Bring parser and scanners to where the local files end."""
        for member in self.members:
            take = self._taker(member)
            for block in member.log.blocks():
                take(block)

    def _taker(self, member: Member) -> Callable[[bytes], None]:
        first = member is self.members[0]
        return self.feed.take if first else self._others[member.name].take

    async def _live(self) -> Ended:
        """Start where needed, follow everything, end at the first of: done, failure, cancel."""
        cancelled = asyncio.create_task(self._cancel.wait())
        work = asyncio.create_task(self._start_and_follow())
        aside = [asyncio.create_task(self.feed.pump())]
        aside += [asyncio.create_task(telemetry.follow()) for telemetry in self._telemetry]
        try:
            first: set[asyncio.Future[Any]] = {cancelled, work, self._taken}  # of three kinds
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if self._taken.done():
                return await self._hosts_taken(self._taken.result(), work)
            await self._recorder.record(ev.RunCancelling(t=self._clock(), run_id=self.run.run_id))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_SETTLES_S):
                    await self._start_over.wait()
            clean = await self._tear_down(CANCEL_GRACE_S)
            with contextlib.suppress(TimeoutError, Deferred):
                async with asyncio.timeout(LAST_BYTES_S):
                    await work
            return Ended(cancelled=True, clean=clean)
        finally:
            for task in (cancelled, work, *aside):
                task.cancel()
            await asyncio.gather(cancelled, work, *aside, return_exceptions=True)
            self.feed.send()

    async def _hosts_taken(self, end: AllocationEnd, work: asyncio.Task[Ended]) -> Ended:
        """The last bytes may still be on their way; then the engine's word is what counts."""
        with contextlib.suppress(TimeoutError, Deferred):
            async with asyncio.timeout(LAST_BYTES_S):
                await work
        return judge_allocation_end(end).explained(self._failures())

    @property
    def _requeued(self) -> AllocationEnd | None:
        end = self._taken.result() if self._taken.done() else None
        return end if end is not None and end.kind is EndKind.REQUEUED else None

    async def _start_and_follow(self) -> Ended:
        try:
            await self._start_all()
        except (HostUnreachableError, RemoteError, TimeoutError) as error:
            return await self._not_started(error)
        finally:
            self._start_over.set()
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
            raise Deferred(held[0].host, held[0].lease.explained)
        boot_ids = tuple(r.boot_id for r in results if isinstance(r, RunStatus))
        await self._recorder.record(
            ev.RunLaunched(t=self._clock(), run_id=self.run.run_id, boot_ids=boot_ids)
        )
        self.run = replace(self.run, state=RunState.RUNNING, boot_ids=boot_ids)

    async def _start(self, member: Member) -> RunStatus:
        spec = RunSpec(
            run_id=self.run.run_id,
            script=member.command.script if not member.passive else HOLD_SCRIPT,
            timeout_s=parse_duration(self._launch.timeout),
            lease=self._lease_text,
            stage=member.stage,
            container_name=member.command.container,
            grace_s=CANCEL_GRACE_S,
        )
        return await member.contact.persist(lambda: member.remote.start(spec), START_LIMIT_S)

    async def _not_started(self, error: HostUnreachableError | RemoteError | TimeoutError) -> Ended:
        clean = await self._tear_down(TEAR_DOWN_GRACE_S)
        if isinstance(error, RemoteError):
            what = f"{error.where}: {error.what}, while starting"
            return Ended(reason=what, category="host", host=error.where, clean=clean)
        what, host = "no answer", ""
        if isinstance(error, HostUnreachableError):
            what, host = error.what, error.host
        return Ended(
            reason=f"{host}: {what}, while starting".removeprefix(": "),
            category="lost",
            host=host,
            retry="later",
            clean=clean,
        )

    # Following ---------------------------------------------------------------------------------

    async def _follow(self, member: Member) -> RunStatus:
        boot_ids = dict(zip(self.run.hosts, self.run.boot_ids, strict=False))
        follower = Follower(
            member,
            self.run.run_id,
            boot_id=boot_ids.get(member.name, ""),
            lost_limit_s=self._lost_limit_s,
            take=self._taker(member),
            problem=self._note,
        )
        return await follower.to_the_end()

    def _note(self, text: str) -> None:
        self._recorder.note(ev.Noted(t=self._clock(), text=text))

    async def _until_over(
        self, follows: Mapping[asyncio.Task[RunStatus], Member], watch: asyncio.Task[Ended]
    ) -> Ended:
        pending: set[asyncio.Task[RunStatus] | asyncio.Task[Ended]] = {*follows, watch}
        while any(task in pending for task, member in follows.items() if not member.passive):
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if watch in done:
                stalled = watch.result()
                return replace(stalled, clean=await self._tear_down(TEAR_DOWN_GRACE_S))
            ends = (self._judge(member, task) for task, member in follows.items() if task in done)
            failed = [ended for ended in ends if ended is not None]
            if failed:
                clean = await self._tear_down(TEAR_DOWN_GRACE_S)
                rest = [task for task in follows if task in pending]
                if rest:  # what the other hosts said before they were ended
                    await asyncio.wait(rest, timeout=LAST_BYTES_S)
                return replace(failed[0].explained(self._failures()), clean=clean)
        if any(member.passive for member in self.members):
            await self._tear_down(0.0)
        self._idle()
        await self._verify()
        return Ended()

    def _judge(self, member: Member, task: asyncio.Task[RunStatus]) -> Ended | None:
        """How a member's end ends the run; None when it went well."""
        error = task.exception()
        if isinstance(error, RemoteError):
            return Ended(reason=str(error), category="host", host=member.name)
        if isinstance(error, HostUnreachableError):
            away = f", not back within {self._launch.lost_limit}"
            return Ended(
                reason=f"{member.name}: {error.problem}{away if error.problem.transient else ''}",
                category="lost",
                host=member.name,
                retry="later",
            )
        if error is not None:
            raise error
        status = task.result()
        if status.leftovers:
            left = f"{status.leftovers} processes outlived the command and were ended"
            self._warnings = (*self._warnings, f"{member.name}: {left}")
        return judge_end(member.name, status, self._launch.timeout)

    def _failures(self) -> list[tuple[str, Sequence[Failure]]]:
        """Named failures of every host's whole log, rank 0 first."""
        self.feed.finish()
        found: list[tuple[str, Sequence[Failure]]]
        found = [(self.members[0].name, self.feed.parser.failures)]
        return found + [(name, log.failures) for name, log in self._others.items()]

    # Watching ----------------------------------------------------------------------------------

    async def _watch_stall(self) -> Ended:
        """Once no reading came for too long although all hosts are in contact."""
        self._watch.start(self._clock())
        while True:
            in_contact = not any(member.contact.lost for member in self.members)
            if self._watch.stalled(self._clock(), in_contact=in_contact):
                if await self._all_answer():
                    if self._watch.over:
                        break
                else:  # a connection had died unnoticed: the readings are there, only not here
                    self._watch.reading_came(self._clock())
            await asyncio.sleep(self._watch.next_look_s)
        await self._diagnose()
        readings = self.feed.parser.readings
        reason = f"no reading within {self._launch.stall_timeout}"
        if readings:
            step = readings[-1].step
            at = f"after {len(readings)} readings" if step is None else f"at iteration {step:g}"
            reason = f"stalled {at}: no reading for {self._launch.stall_timeout}"
        return Ended(
            reason=reason, category="stalled", evidence=self.members[0].log.last_lines()
        ).explained(self._failures())

    async def _all_answer(self) -> bool:
        async def answers(member: Member) -> bool:
            try:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    await member.remote.status(self.run.run_id)
            except (HostUnreachableError, TimeoutError):
                return False
            except RemoteError:
                pass  # a strange answer is one
            return True

        return all(await asyncio.gather(*map(answers, self.members)))

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
        try:
            await asyncio.to_thread(
                self._diagnosis_path.write_text, "".join(parts), encoding="utf-8"
            )
        except OSError as error:
            self._note(f"cannot write {self._diagnosis_path.name}: {error.strerror}")

    # Ending ------------------------------------------------------------------------------------

    async def _tear_down(self, grace_s: float) -> str:
        """End everything of the run on all its hosts; what is known of leftovers, in words."""

        async def one(member: Member) -> CancelReport | str:
            try:
                return await member.contact.persist(
                    lambda: member.remote.cancel(self.run.run_id, grace_s=grace_s),
                    self._lost_limit_s,
                )
            except HostUnreachableError as error:
                return str(error.problem)
            except RemoteError as error:
                return error.what

        reports = await asyncio.gather(*(one(member) for member in self.members))
        unclear = []
        left = 0
        for member, report in zip(self.members, reports, strict=True):
            if isinstance(report, str):
                unclear.append(f"{member.name}: {report}")
            elif report.left is None:
                unclear.append(f"{member.name}: {report.detail}")
            else:
                left += report.left
        if unclear:
            return "unverified: " + "; ".join(unclear)
        return f"{left} left"

    async def _verify(self) -> None:
        """Whether the logs here are the logs there; one that is not is fetched again."""
        await asyncio.gather(*(self._verify_one(member) for member in self.members))

    async def _verify_one(self, member: Member) -> None:
        try:
            digest = await member.remote.digest(self.run.run_id)
        except (HostUnreachableError, RemoteError, TimeoutError):
            return  # it came over a channel that protects itself; this is a second look
        if not digest or member.log.sha256 in ("", digest):
            return
        self._note(f"{member.log.path.name} differed from the log on {member.name}; fetched again")
        member.log.restart()
        if member is self.members[0]:
            self.feed.restart()
        else:
            self._others[member.name] = FailureLog(self.profile)
        await self._follow(member)

    async def _finish_cancelled(self, ended: Ended) -> None:
        await self._recorder.record(
            ev.RunCancelled(t=self._clock(), run_id=self.run.run_id, clean=ended.clean)
        )

    async def _finish_failed(self, ended: Ended) -> None:
        ended = await self._asked_the_host(ended)
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

    async def _asked_the_host(self, ended: Ended) -> Ended:
        """An exit status without an explanation may have one outside of the log."""
        member = next((m for m in self.members if m.name == ended.host), None)
        if member is None or ended.category != "exit":
            return ended
        run_s = self._clock() - (self.run.started_at or self._clock())
        reason, evidence = await ask_host(member.remote.transport, run_s)
        if not reason:
            lines = ended.evidence or member.log.last_lines()
            return replace(ended, evidence=lines)
        return replace(ended, reason=f"{member.name}: {reason}", category=reason, evidence=evidence)

    async def _finish_measured(self) -> None:
        self.feed.finish()
        measured = measure_run(self.profile, self.run.case, self.feed.parser)
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
                warnings=(*measured.warnings, *self._warnings),
                fingerprint=self._fingerprint,
            )
        )

    def _peak_memory_mib(self) -> int | None:
        peaks = [t.peak_memory_mib for t in self._telemetry if t.peak_memory_mib is not None]
        return max(peaks, default=None)


def requeued(run: RunRecord, end: AllocationEnd, now: float) -> ev.RunRequeued:
    """The attempt that takes a run's place in the engine's queue."""
    return ev.RunRequeued(
        t=now,
        run_id=run.run_id,
        next_id=next_attempt_id(run.run_id, run.attempt),
        reason=judge_allocation_end(end).reason,
        job_id=end.job_id,
    )
