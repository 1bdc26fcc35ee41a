"""Whether a run at work has fallen silent: long before it is given up as stalled."""

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


def silent_s(run: RunRecord, now: float) -> float | None:
    """For how long no reading came, where that is clearly longer than they took to come so far."""
    last, times = run.last_reading_at, run.series.times
    going = run.state is RunState.RUNNING and not run.collecting and not run.lost_hosts
    if not going or last is None or now - last <= SILENT_S or len(times) < FEWEST_TIMES:
        return None
    usual_s = (times[-1] - times[0]) / ((len(times) - 1) * run.series.stride)
    longest_s = max(later - earlier for earlier, later in pairwise(times))
    quiet_s = now - last
    return quiet_s if quiet_s > max(SILENT_TIMES * usual_s, LONGER_TIMES * longest_s) else None
