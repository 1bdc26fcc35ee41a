"""Why a run ended as it did: the reason, the lines that show it, and whether to try again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import UNKNOWN, Cleanup
from backends.campaign.record.run_view import DEMO_LEFT
from backends.engines.engine import AllocationEnd, EndKind
from backends.remote.wrapper_messages import RemoteError, RunPhase, RunStatus
from backends.results.run_result import MEMORY_METRIC
from backends.transports.transport import HostUnreachableError
from profiles.durations import format_duration
from profiles.logs.failures import Failure
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run's work on its hosts ended; no ``reason`` and not ``cancelled``: it went well."""

    reason: str = ""
    category: Cause | None = None
    evidence: tuple[str, ...] = ()
    host: str = ""
    exit_status: int | None = None
    retry: str = "never"
    cancelled: bool = False
    cleanup: Cleanup = UNKNOWN

    @property
    def well(self) -> bool:
        return not self.reason and not self.cancelled

    @property
    def explains_itself(self) -> bool:
        """Not merely an exit status: what other hosts' logs say is a consequence of it."""
        return self.category not in (Cause.EXIT, Cause.NO_READING) or (self.exit_status or 0) > 128

    def explained(self, failures: Iterable[tuple[str, Sequence[Failure]]]) -> Ended:
        """With the first named failure of any host's log, the failing host's own first.

        What explains itself keeps its reason, unless it is a signal that the failing host's own
        log has a name for; the failure's line is evidence in any case.
        """
        found = [(host, failure) for host, named in failures for failure in named]
        found.sort(key=lambda item: item[0] != self.host)  # stable: log order within a host
        if not found:
            return self
        host, failure = found[0]
        evidence = (*self.evidence, failure.evidence_line)[:5]
        own_signal = self.category is Cause.EXIT and host == self.host
        if self.explains_itself and not own_signal:
            return replace(self, evidence=evidence)
        return replace(
            self,
            reason=failure.reason,
            category=Cause.NAMED,
            evidence=evidence,
            host=host,
            retry=failure.retry,
        )


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
