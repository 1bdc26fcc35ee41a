"""What each flag of a case means, a line each, for the helps of the pages that show them."""

from __future__ import annotations

from collections.abc import Mapping

from backends.results.findings import Concern
from backends.results.short_flags import SHORT
from backends.results.statistics import OUTLIER_LIMIT
from tui.campaign_words import MARKS

MEANINGS: Mapping[Concern, str] = {
    Concern.SIMULATED: "no hardware was measured",
    Concern.CLOCK: "timestamps run backwards or contradict the log's readings",
    Concern.SAME_LOG: "one log stands for several repeats",
    Concern.LOG_CHANGED: "cut, edited or missing since, or it does not give the figure any more",
    Concern.FAR_ABOVE: "far above the other readings of the run",
    Concern.IDLE_GPUS: "a GPU of a run did nothing while it was measured",
    Concern.FORCED: "started although preflight said stop",
    Concern.FAILED_RUNS: "repeats without a figure; cancelled runs, skipped and repeats missing "
    "where none failed",
    Concern.MIXED_ENVIRONMENT: "its repeats come from different ones",
    Concern.OTHER_ENVIRONMENT: "than that of its base",
    Concern.OTHER_RULE: "another statistic or window: the speedup divides unlike figures",
    Concern.SHARED_UNLIKE: MARKS["§"],
    Concern.SUPERLINEAR: "an efficiency above 105%: rather a wrong base than a miracle",
    Concern.NO_BASE: "no speedup, as the base has no result",
    Concern.WEAK_BASE: "the base has a worse grade, and a speedup is no better than its base",
    Concern.WIDE_INTERVAL: "half of its 95% interval is more than 1%",
    Concern.CV_RED: "its repeats scatter far",
    Concern.CV_AMBER: "its repeats scatter",
    Concern.UNSTEADY: "a run had a warm-up, a step, a trend or stalls inside its window",
    Concern.DRIFT: "the repeats become slower, or faster, one after the other",
    Concern.DEPENDENT_REPEATS: "each takes after the one before it",
    Concern.FIRST_RUN_SLOW: "cold caches or clocks, maybe",
    Concern.OUTLIERS: f"off the median by over {OUTLIER_LIMIT:g} × 1.4826 × the median distance "
    "from it; it counts; 1% off at most is too near to matter and costs no grade",
    Concern.SHARED_MACHINE: "other runs were on it by another name, or its nodes are one machine",
    Concern.DISTURBED: "by other processes, swapping, memory errors or busy CPUs",
    Concern.THROTTLED: "a GPU was slowed down by heat or by its supply",
    Concern.PACKED: "it shared a host with other runs, on devices of its own",
    Concern.PREFLIGHT: "of what may change the figure, such as the load of a host",
    Concern.OTHER_DIRECTORY: "its imported logs may be of different hardware",
    Concern.FEW_REPEATS: "under six",
    Concern.UNOBSERVED: "what its machines did is not known, or of too little of the time",
    Concern.STEADINESS_UNKNOWN: "too few readings to tell",
    Concern.UNKNOWN_ENVIRONMENT: "not recorded",
    Concern.WARNINGS: "of its log, or that its hosts differ",
    Concern.NEGATIVE_SCALING: "slower than a case with fewer devices",
    Concern.NEGATIVE_IN_DOUBT: "negative scaling, but repeats do not tell it from noise",
    Concern.OTHER_HOSTS: "on none of its base's hosts; it costs no grade by itself",
    Concern.POWER_CAPPED: "a GPU was held at its power cap, or at clocks that were set",
    Concern.RETRIED: "attempts failed, or were left, before; they have no figure and cost no grade",
}
FLAGS = "Each flag:\n" + "".join(f"{SHORT[one]}: {MEANINGS[one]}.\n" for one in Concern)
