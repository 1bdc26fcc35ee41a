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
        """Behind the name of a run: ``is running``, ``has failed``, ``was cancelled``."""
        ended = {RunState.CANCELLED: "was", RunState.SUCCEEDED: "has", RunState.FAILED: "has"}
        return f"{ended.get(self, 'is')} {self}"

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
