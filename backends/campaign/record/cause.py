"""Why a run failed, as a code. The sentence for people is the reason that stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Cause(StrEnum):
    """The ``category`` of a failed run in the journal.

    In journals of earlier versions a failure that the log names has its sentence there instead.
    """

    EXIT = "exit"  # the command's own exit status
    NAMED = "named"  # a log, or the host's kernel, says what went wrong
    NO_READING = "no reading"
    STALLED = "stalled"
    TIMEOUT = "timeout"
    KILLED = "killed"  # its supervisor or its directory is gone
    LEFT = "left"  # its hosts were simulated, and the demo that had them is over
    REBOOTED = "rebooted"
    LOST = "lost"  # out of reach for too long
    HOST = "host"  # the host refuses to start it, or says what nobody understands
    REQUEST = "request"  # what was asked cannot be started
    INTERNAL = "internal"  # a mistake of ours
    IN_VAIN = "in vain"  # it was not run: its case does not fit into memory

    # The engine took its hosts; see :class:`backends.engines.engine.EndKind`.
    NODE_FAILED = "node failed"
    TIME_LIMIT = "time limit"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"
    CANCELLED = "cancelled"
    OUT_OF_MEMORY = "out of memory"
    PROLOG_FAILED = "prolog failed"
    LAUNCH_FAILED = "launch failed"
    DEADLINE = "deadline"
    REFUSED = "refused"
    VANISHED = "vanished"


AWAY: Mapping[str, str] = {Cause.LOST: "out of reach", Cause.REBOOTED: "rebooted"}
"""Of a host that has to be looked at before the next run goes there; a probe tells more."""
