"""Whether a run at work is late with a reading, or has fallen silent: long before it is given up as
stalled.

``read_by``: so far its log is read, seconds since the epoch: of the time since, nobody knows.
"""

from __future__ import annotations

from itertools import pairwise

from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState

SILENT_S = 20.0
SILENT_TIMES = 5.0
LONGER_TIMES = 1.5
"""A run is silent when no reading came for this long, for so many times what one usually takes, and
for so many times the longest time that passed between two of them: an evaluation, a checkpoint."""
FEWEST_TIMES = 3
LATE_S = 5.0
LATE_TIMES = 3.0
FEWEST_READINGS = 10
"""Where so many came, the next one is late after this long, and so many times the longest gap."""


def silent_s(run: RunRecord, read_by: float) -> float | None:
    """For how long no reading came, where that is clearly longer than they took to come so far."""
    quiet_s, times = _quiet_s(run, read_by), run.series.times
    if quiet_s <= SILENT_S or len(times) < FEWEST_TIMES:
        return None
    usual_s = (times[-1] - times[0]) / ((len(times) - 1) * run.series.stride)
    limit_s = max(SILENT_TIMES * usual_s, LONGER_TIMES * _longest_s(run))
    return quiet_s if quiet_s > limit_s else None


def late_s(run: RunRecord, read_by: float) -> float | None:
    """The same where the next one is only late: nothing follows from that."""
    quiet_s = _quiet_s(run, read_by)
    if quiet_s <= LATE_S or run.reading_count < FEWEST_READINGS:
        return None
    return quiet_s if quiet_s > LATE_TIMES * _longest_s(run) else None


def _quiet_s(run: RunRecord, read_by: float) -> float:
    """Since the last reading; 0 of a run that need not have any."""
    going = run.state is RunState.RUNNING and not run.collecting and not run.lost_hosts
    return read_by - run.last_reading_at if going and run.last_reading_at is not None else 0.0


def _longest_s(run: RunRecord) -> float:
    return max((later - earlier for earlier, later in pairwise(run.series.times)), default=0.0)
