"""Why a run ended as it did: the reason, the lines that show it, and whether to try again. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import UNKNOWN, Cleanup, Why
from backends.campaign.record.run_view import DEMO_LEFT
from backends.engines.engine import AllocationEnd, EndKind
from backends.hangs.diagnosis import Confidence, Diagnosis
from backends.hangs.verdict_words import verdict_line
from backends.remote.wrapper_messages import RemoteError, RunPhase, RunStatus
from backends.results.run_result import MEMORY_METRIC
from backends.transports.transport import HostUnreachableError
from profiles.durations import format_duration
from profiles.logs.failures import NODE_LOST, UNREACHABLE, UNSPECIFIC, Failure
from profiles.throughput.measure_run import Measurement

NOW_S = 0.0
LATER_S = 60.0

_RETRY_DELAYS = {"now": NOW_S, "later": LATER_S}

_SIGNALS = {
    4: "illegal instruction",
    6: "aborted",
    7: "bus error",
    9: "SIGKILL",
    11: "segmentation fault",
}


_KILLED = 128 + 9
_OF_ITS_OWN_ACCORD = frozenset({1, 2, 6, 13, 15})
"""Signals by which a framework ends itself when a peer is gone, too."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run's work on its hosts ended; no ``reason`` and not ``cancelled``: it went well.
    ``vague``: it may be what somebody saw of the end of another host's part."""

    reason: str = ""
    category: Cause | None = None
    evidence: tuple[str, ...] = ()
    host: str = ""
    exit_status: int | None = None
    retry: str = "never"
    cancelled: bool = False
    vague: bool = False
    cleanup: Cleanup = UNKNOWN

    @property
    def well(self) -> bool:
        return not self.reason and not self.cancelled

    @property
    def explains_itself(self) -> bool:
        """Not merely an exit status: what other hosts' logs say is a consequence of it."""
        return self.category not in (Cause.EXIT, Cause.NO_READING) or (self.exit_status or 0) > 128

    def explained(self, failures: Sequence[tuple[str, Sequence[Failure]]]) -> Ended:
        """With the first named failure of any host's log, the failing host's own first.

        What explains itself keeps its reason, unless it is a signal that the failing host's own
        log has a name for; the failure's line is evidence in any case. What befell another node
        than the log's own is a reason only where no host's own end is known, and is no host's.
        """
        found = [
            (host, named[0], _elsewhere(named, node))
            for node, (host, named) in enumerate(failures)
            if named
        ]
        found.sort(key=lambda item: (item[2], item[0] != self.host))
        if not found:
            return self
        host, failure, elsewhere = found[0]
        evidence = (*self.evidence, failure.evidence_line)[:5]
        killed = self.exit_status == _KILLED and failure.reason in UNSPECIFIC
        own_signal = self.category is Cause.EXIT and host == self.host and not killed
        if (self.explains_itself and not own_signal) or (elsewhere and self.host):
            return replace(self, evidence=evidence)
        return replace(
            self,
            reason=failure.reason,
            category=Cause.NAMED,
            evidence=evidence,
            host="" if elsewhere or (failure.reason == UNREACHABLE and len(failures) > 1) else host,
            retry=failure.retry,
            vague=elsewhere or failure.reason in UNSPECIFIC,
        )

    def traced(
        self,
        ends: Sequence[tuple[str, RunStatus | None]],
        failures: Sequence[tuple[str, Sequence[Failure]]],
        timeout: str,
    ) -> Ended:
        """Of a run over several hosts that ended by an exit status: the end that the others
        followed, the earliest by the hosts' clocks where several ended by themselves.

        ``ends``: of the hosts that had a process of ours; ``failures``: of each host's log, rank
        0's first. Without a host where all logs say that it was another's.
        """
        if self.category is not Cause.EXIT or len(failures) < 2:
            return self
        places = {host: (node, named) for node, (host, named) in enumerate(failures)}
        found = []
        for host, status in ends:
            if status is None or status.phase is RunPhase.ABSENT:
                continue
            if status.cancelled and status.phase is not RunPhase.LOST:
                continue
            if (end := judge_end(host, status, timeout)) is not None:
                node, named = places[host]
                doubt = _doubt(end, node, named)
                found.append((doubt, status.ended_at or math.inf, node, end))
        if not found:
            return self
        doubt, _, _, end = min(found, key=lambda item: item[:3])
        host = "" if doubt >= _NOTICED else end.host
        return replace(end, host=host, vague=doubt >= _UNSPECIFIC, cleanup=self.cleanup)

    def named_by_host(
        self, hosts: Sequence[str], failures: Sequence[tuple[str, Sequence[Failure]]]
    ) -> Ended:
        """Of a run over several hosts: with its host in the reason, unless another host's log says
        the same of itself, or nobody can tell whose doing it was."""
        if self.host not in hosts:
            return self
        if self.category not in (Cause.EXIT, Cause.NAMED, Cause.OUT_OF_MEMORY):
            return self
        if self.category is Cause.NAMED and (
            self.vague
            or any(
                named[0].reason == self.reason and not _elsewhere(named, node)
                for node, (host, named) in enumerate(failures)
                if named and host != self.host
            )
        ):
            return self
        what = self.reason.removeprefix(f"{self.host}: ")
        return replace(self, reason=f"{self.host}: {what}")

    def but_for_who_is_away(self) -> Ended:
        """What may have been another host's doing, with the host that could not be reached
        then."""
        away = (doubt for doubt in self.cleanup.doubts if doubt.why is Why.AWAY)
        doubt = next(away, None)
        if doubt is None or not self.vague:
            return self
        reason = f"{doubt.host}: {doubt.detail}; {self.reason}"
        return replace(self, reason=reason, host=doubt.host, vague=False)

    def suspecting(
        self, found: Diagnosis, failures: Sequence[tuple[str, Sequence[Failure]]]
    ) -> Ended:
        """With who stood out when the hosts were asked, and the run did not move any more: as the
        cause, where by the logs its node alone was lost and had not lost another itself.
        ``failures``: of each host's log, rank 0's first."""
        hosts = {suspect.host for suspect in found.suspects}
        surely = found.confidence in (Confidence.HIGH, Confidence.MEDIUM)
        suspected = hosts.pop() if len(hosts) == 1 and surely else ""
        gone = [one[0].node if one and one[0].reason == NODE_LOST else None for _, one in failures]
        followed = {place for place, node in enumerate(gone) if node not in (None, place)}
        lost = {node for node in gone if node is not None} - followed
        at = [place for place, (host, _) in enumerate(failures) if host == suspected]
        lost_it = suspected and self.reason == NODE_LOST and [*lost] == at
        effect = ", so the others lost its node" if lost_it else f"; {self.reason}"
        reason = f"{verdict_line(found, past=True)}{effect}"
        return replace(self, reason=reason, host=suspected)


_BY_ITSELF, _NAMED, _UNSPECIFIC, _NOTICED = range(4)
"""How much doubt there is that a host's part ended by itself: none, to that its own log denies
it."""


def _elsewhere(named: Sequence[Failure], node: int) -> bool:
    return bool(named) and named[0].node not in (None, node)


def _doubt(end: Ended, node: int, named: Sequence[Failure]) -> int:
    status = end.exit_status or 0
    if end.category is not Cause.EXIT or status == _KILLED:
        return _BY_ITSELF
    if _elsewhere(named, node):
        return _NOTICED
    if status in (126, 127) or (status > 128 and status - 128 not in _OF_ITS_OWN_ACCORD):
        return _NAMED
    return _NAMED if named and named[0].reason not in UNSPECIFIC else _UNSPECIFIC


def judge_start(error: HostUnreachableError | RemoteError | TimeoutError) -> Ended:
    """How a run ends that could not be started."""
    if isinstance(error, RemoteError):
        what = f"{error.where}: {error.what}, while starting"
        return Ended(reason=what, category=Cause.HOST, host=error.where)
    what, host = "no answer", ""
    if isinstance(error, HostUnreachableError):
        what, host = error.what, error.host
    reason = f"{host}: {what}, while starting".removeprefix(": ")
    return Ended(reason=reason, category=Cause.LOST, host=host, retry="later")


def judge_loss(host: str, error: RemoteError | HostUnreachableError, lost_limit: str) -> Ended:
    """How a run ends whose log on one host cannot be followed any more."""
    if isinstance(error, RemoteError):
        return Ended(reason=str(error), category=Cause.HOST, host=host)
    away = f", not back within {lost_limit}" if error.problem.transient else ""
    return Ended(
        reason=f"{host}: {error.problem}{away}", category=Cause.LOST, host=host, retry="later"
    )


def judge_stall(
    readings: int, step: float | None, quiet_s: float, last_lines: tuple[str, ...]
) -> Ended:
    """How a run ends that has been silent for too long, for ``quiet_s`` by now: after so many
    readings, the last of them of this step."""
    quiet = format_duration(quiet_s)
    reason = f"no reading within {quiet}"
    if readings:
        at = f"after {readings} readings" if step is None else f"at step {step:.12g}"
        reason = f"stalled {at}: no reading for {quiet}"
    return Ended(reason=reason, category=Cause.STALLED, evidence=last_lines)


def judge_end(
    host: str, status: RunStatus, timeout: str, *, simulated: bool = False
) -> Ended | None:
    """How the end on one host ends the run; None when it went well there. ``simulated``: hosts go
    with the console that has them, and another one's know nothing of the run."""
    if status.phase is RunPhase.LOST:
        what = "its supervisor was killed" if status.same_boot else "the host rebooted"
        return Ended(
            reason=f"{host}: {what}",
            category=Cause.KILLED if status.same_boot else Cause.REBOOTED,
            host=host,
            retry="later",
        )
    if status.phase is RunPhase.ABSENT:
        gone = f"{host}: the run's directory is gone"
        left = Ended(reason=DEMO_LEFT, category=Cause.LEFT, retry="now")
        return left if simulated else Ended(reason=gone, category=Cause.KILLED, host=host)
    if status.timed_out:
        return Ended(reason=f"timed out after {timeout}", category=Cause.TIMEOUT, host=host)
    if status.exit_code and status.oom_kills:
        return Ended(
            reason=f"{host}: out of memory: the kernel ended {status.oom_kills} of its processes",
            category=Cause.OUT_OF_MEMORY,
            exit_status=status.exit_code,
            host=host,
        )
    if status.exit_code:
        reason, retry = exit_reason(status.exit_code)
        return Ended(
            reason=f"{host}: {reason}",
            category=Cause.EXIT,
            exit_status=status.exit_code,
            host=host,
            retry=retry,
        )
    return None


def judge_over(ends: Sequence[tuple[str, RunStatus | None]], timeout: str) -> Ended | None:
    """How a run ended that was over on each of these hosts before it was cancelled; None: it was
    not."""
    judged = []
    for host, status in ends:
        if status is None or status.phase is not RunPhase.EXITED or status.cancelled:
            return None
        judged.append(judge_end(host, status, timeout))
    return next((end for end in judged if end is not None), Ended())


_ALLOCATION_ENDS: dict[EndKind, tuple[str, str]] = {
    EndKind.NODE_FAILED: ("the node failed", "later"),
    EndKind.TIME_LIMIT: ("the job reached its time limit", "never"),
    EndKind.PREEMPTED: ("the job was preempted", "later"),
    EndKind.REQUEUED: ("the job was requeued", "never"),  # the engine itself tries again
    EndKind.CANCELLED: ("the job was cancelled", "never"),
    EndKind.OUT_OF_MEMORY: ("the job ran out of memory", "never"),
    EndKind.PROLOG_FAILED: ("the job's prolog failed", "later"),
    EndKind.LAUNCH_FAILED: ("the job could not be launched", "later"),
    EndKind.DEADLINE: ("the job's deadline has passed", "never"),
    EndKind.REFUSED: ("the job was refused", "never"),
    EndKind.VANISHED: ("the job is gone, and nobody knows why", "later"),
}


def judge_allocation_end(end: AllocationEnd) -> Ended:
    """How a run ends whose hosts were taken from it. That the time of all runs together was over is
    not its own doing."""
    what, retry = _ALLOCATION_ENDS[end.kind]
    if end.of_all:
        what = what.replace("the job", "the campaign's job")
        retry = "later" if end.kind is EndKind.TIME_LIMIT else retry
    where = f"{end.host}: " if end.host else ""
    by = f" by {end.by}" if end.by else ""
    reason = f"{where}{what}{by}" + (f": {end.detail}" if end.detail else "")
    return Ended(reason=reason, category=Cause(end.kind), host=end.host, retry=retry)


def exit_reason(status: int) -> tuple[str, str]:
    """Reason and retry class of an exit status, as a shell reports it (128 + n: signal n)."""
    if status == 127:
        return "command not found on the host", "never"
    if status == 126:
        return "command cannot be executed on the host", "never"
    if status > 128:
        number = status - 128
        retry = "never" if number == 4 else "later"  # the same instruction stays illegal
        return f"killed by signal {number} ({_SIGNALS.get(number, 'terminated')})", retry
    return f"exit status {status}", "never"


def retry_delay_s(retry: str) -> float | None:
    """Seconds until another attempt makes sense; None: never."""
    return _RETRY_DELAYS.get(retry)


def unmeasured(measurement: Measurement, last_lines: tuple[str, ...]) -> Ended:
    """A run that ended well but whose log says nothing that can be measured."""
    return Ended(
        reason=measurement.reason or "its log has no reading",
        category=Cause.NO_READING,
        evidence=last_lines,
    )


def memory_of(measurement: Measurement) -> int | None:
    value = measurement.metrics.get(MEMORY_METRIC)
    return None if value is None else round(value)
