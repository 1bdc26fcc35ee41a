"""Where a run is in its life; :mod:`backends.campaign.record.state` has the ways between.

Apart from the record: who shows states need not load what journals hold.
"""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    PLANNED = "planned"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def said(self) -> str:
        """What a sentence says of the run: ``has failed``, ``is running``."""
        return f"{'has' if self in (RunState.SUCCEEDED, RunState.FAILED) else 'is'} {self}"

    @property
    def waits(self) -> bool:
        """It has not started."""
        return self in (RunState.PLANNED, RunState.QUEUED)

    @property
    def active(self) -> bool:
        """Something of the run may exist on its hosts."""
        return self in (RunState.STARTING, RunState.RUNNING, RunState.CANCELLING)

    @property
    def ended(self) -> bool:
        return self in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)
