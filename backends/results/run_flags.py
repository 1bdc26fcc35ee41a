"""What is to be distrusted about one run by itself, in a word each."""

from __future__ import annotations

from collections.abc import Iterator

from backends.results.run_result import RunResult
from backends.results.telemetry_figures import THROTTLED, disturbed, idle_gpus, most_throttled
from profiles.throughput.steady import Shape


def run_flags(run: RunResult) -> tuple[str, ...]:
    """``("throttled", "unsteady")``: of a run that gave a figure; the graver first."""
    return tuple(_flags(run)) if run.measured is not None else ()


def _flags(run: RunResult) -> Iterator[str]:
    if idle_gpus(run):
        yield "GPUs idle"
    shapes = {one.shape for one in run.steady or ()}
    if Shape.STALLS in shapes:
        yield "slow readings"
    if shapes.difference({Shape.STALLS}):
        yield "unsteady"
    if disturbed([run]):
        yield "disturbed"
    if (most_throttled(run, at_its_limit=False) or 0.0) > THROTTLED:
        yield "throttled"
