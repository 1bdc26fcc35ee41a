"""Jobs as Slurm knows them: one call for all of ours, one more for those that it has forgotten.

squeue's text is read, not its JSON: that has every job of the cluster whatever is asked for
(megabytes), and controllers are shared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from backends.engines.slurm.commands import (
    SEPARATOR,
    RefusedError,
    SlurmCommands,
    SlurmError,
    columns,
    is_number,
    node_names,
    rows,
)
from profiles.cleantext import clean_text


class JobState(StrEnum):
    """squeue(1), JOB STATE CODES. What it does not list is UNKNOWN: the job still is."""

    PENDING = "PENDING"
    CONFIGURING = "CONFIGURING"
    RUNNING = "RUNNING"
    COMPLETING = "COMPLETING"
    STAGE_OUT = "STAGE_OUT"
    SIGNALING = "SIGNALING"
    RESIZING = "RESIZING"
    SUSPENDED = "SUSPENDED"
    STOPPED = "STOPPED"
    REQUEUED = "REQUEUED"
    REQUEUE_FED = "REQUEUE_FED"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    RESV_DEL_HOLD = "RESV_DEL_HOLD"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    REVOKED = "REVOKED"
    UNKNOWN = "UNKNOWN"

    @property
    def ended(self) -> bool:
        """Nothing of it runs any more, and it will not begin again by itself."""
        return self in _ENDED

    @property
    def waits(self) -> bool:
        """It is in the queue, and has no nodes yet, or no longer."""
        return self in _WAITS


_ENDED = frozenset(
    {
        JobState.COMPLETED,
        JobState.CANCELLED,
        JobState.FAILED,
        JobState.TIMEOUT,
        JobState.NODE_FAIL,
        JobState.PREEMPTED,
        JobState.BOOT_FAIL,
        JobState.DEADLINE,
        JobState.OUT_OF_MEMORY,
        JobState.REVOKED,
    }
)
_LAUNCH_FAILED = ("launch failed", "joblaunchfailure")
_WAITS = frozenset(
    {
        JobState.PENDING,
        JobState.REQUEUED,
        JobState.REQUEUE_FED,
        JobState.REQUEUE_HOLD,
        JobState.SPECIAL_EXIT,
        JobState.RESV_DEL_HOLD,
    }
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job at one moment.

    ``reason``: why it waits or ended, in Slurm's words; ``start_time``: when it began or is
    expected to, seconds since the epoch; ``exit_code``, ``signal``: of the batch script, None until
    it ended; ``restarts``: how often it was requeued; ``cancelled_by``: a user id or name, told by
    the accounting alone.
    """

    job_id: str
    name: str
    state: JobState
    reason: str = ""
    partition: str = ""
    nodes: tuple[str, ...] = ()
    start_time: float | None = None
    exit_code: int | None = None
    signal: int = 0
    restarts: int = 0
    cancelled_by: str = ""

    @property
    def launched(self) -> bool:
        """False: Slurm could not begin it where it had nodes; it is over, or held for ever."""
        return not any(words in self.reason.lower() for words in _LAUNCH_FAILED)


# All of ours, in one call -------------------------------------------------------------------------

_POLLED = ("JobID", "Name", "State", "Reason", "Partition", "NodeList")
_POLLED_NUMBERS = ("StartTime", "exit_code", "RestartCnt")


async def current_jobs(
    commands: SlurmCommands, *, prefix: str = "", ids: Collection[str] = ()
) -> dict[str, Job]:
    """This user's jobs by id, those that ended some minutes ago as well.

    ``prefix``: of names; ``ids``: besides. Neither: all. One that is not there has been forgotten
    (:func:`accounted_jobs` may know it), or never was.

    Raises
    ------
    SlurmError, HostUnreachableError.
    """
    form = columns(*_POLLED, *_POLLED_NUMBERS)
    text = await commands.run("squeue", "--me", "--noheader", "--states=all", f"--Format={form}")
    jobs = {job.job_id: job for job in parse_squeue(text)}
    if not prefix and not ids:
        return jobs
    return {
        job_id: job
        for job_id, job in jobs.items()
        if job_id in ids or (prefix and job.name.startswith(prefix))
    }


def parse_squeue(text: str) -> list[Job]:
    """What :func:`current_jobs` asks for."""
    found = []
    for row in rows(text, len(_POLLED) + len(_POLLED_NUMBERS)):
        job_id, name, word, reason, partition, nodes, start, status, restarts = row
        if not is_number(job_id):
            continue
        state = _state(word)
        code, signal = _status(status) if state.ended else (None, 0)
        job = Job(
            job_id,
            name,
            state,
            reason=_said(reason),
            partition=partition,
            nodes=node_names(nodes),
            start_time=_time(start),
            exit_code=code,
            signal=signal,
            restarts=int(restarts) if is_number(restarts) else 0,
        )
        found.append(job)
    return found


# Those that Slurm has forgotten -------------------------------------------------------------------

_ACCOUNTED = ("JobIDRaw", "JobName", "State", "ExitCode", "Partition", "NodeList", "Start")


async def accounted_jobs(commands: SlurmCommands, ids: Sequence[str]) -> dict[str, Job]:
    """What the accounting says of jobs, by id; of nothing where there is none.

    Raises
    ------
    SlurmError, HostUnreachableError.
    """
    words = ("--allocations", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}")
    form = f"--format={','.join(_ACCOUNTED)}"
    try:
        text = await commands.run("sacct", *words, form, f"--jobs={','.join(ids)}")
    except RefusedError as error:
        if "accounting storage is disabled" in error.words:
            return {}
        raise
    found = {job.job_id: job for job in parse_sacct(text)}
    who = {by: await _named(commands, by) for by in {job.cancelled_by for job in found.values()}}
    return {
        job_id: replace(job, cancelled_by=who[job.cancelled_by]) for job_id, job in found.items()
    }


async def _named(commands: SlurmCommands, user: str) -> str:
    """The login name of a user id, where the login node knows it."""
    if not user.isdigit():
        return user
    with contextlib.suppress(SlurmError):
        return (await commands.run("id", "-nu", user)).strip() or user
    return user


def parse_sacct(text: str) -> list[Job]:
    """What :func:`accounted_jobs` asks for."""
    found = []
    for line in text.splitlines():
        row = line.split(SEPARATOR)
        if len(row) != len(_ACCOUNTED) or not is_number(row[0]):
            continue
        job_id, name, words, status, partition, nodes, start = row
        word, _, by = words.partition(" by ")
        state = _state(word)
        code, signal = _status(status) if state.ended else (None, 0)
        job = Job(
            job_id,
            name,
            state,
            partition=partition,
            nodes=node_names(nodes),
            start_time=_time(start),
            exit_code=code,
            signal=signal,
            cancelled_by=clean_text(by, cap=100),
        )
        found.append(job)
    return found


# Values -------------------------------------------------------------------------------------------


def _state(word: str) -> JobState:
    try:
        return JobState(word.strip().rstrip("+").upper())
    except ValueError:
        return JobState.UNKNOWN


def _said(reason: str) -> str:
    words = reason.strip().replace("_", " ")
    return "" if words in ("None", "none", "(null)") else clean_text(words, cap=300)


def _time(text: str) -> float | None:
    return float(text) if is_number(text) else None


def _status(text: str) -> tuple[int | None, int]:
    """Exit code and signal of ``3:0``, or of a wait status, as squeue tells it: 768."""
    code, colon, signal = text.partition(":")
    if not is_number(code):
        return None, 0
    if colon:
        return int(code), int(signal) if is_number(signal) else 0
    return int(code) >> 8 & 0xFF, int(code) & 0x7F
