"""A case's figures beside published ones (:mod:`profiles.references`), and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from backends.hosts.fingerprint import devices_of
from backends.results.case_result import CaseResult
from backends.results.run_result import RunResult, precision
from profiles.references.arithmetic import Arithmetic, arithmetic
from profiles.references.matching import Held, Subject, held_against
from profiles.references.reference_tables import Measured, Reference, bundled_references

_TIMES = ("time_to_train_s", "time_to_train")
"""Metrics in seconds that are the time to train."""


def held_figures(case: CaseResult) -> tuple[Held, ...]:
    """The published figures that a case can be held against, then the nearest others; empty for
    what was not measured, or was simulated."""
    if case.simulated or not (runs := [run for run in case.runs if run.succeeded]):
        return ()
    return held_against(_subject(case, runs), bundled_references())


def held_document(held: Held) -> dict[str, Any]:  # JSON
    return {
        **reference_document(held.reference),
        "percent": None if held.ratio is None else 100 * held.ratio,
        "comparable": held.comparable,
        "differs": [str(difference) for difference in held.differs],
    }


def reference_document(there: Reference) -> dict[str, Any]:  # JSON
    """A published figure alone; null where its source does not say."""
    return {
        "workload": there.workload,
        "metric": str(there.metric),
        "value": there.value,
        "unit": there.unit,
        "precision": None if there.precision is Arithmetic.UNSTATED else str(there.precision),
        "system": there.system,
        "gpu": there.gpu.name,
        "gpus": there.gpus,
        "nodes": there.nodes,
        "batch_size": there.batch_size,
        "framework": there.framework,
        "source": there.source,
        "date": there.date or None,
        "caveat": there.caveat,
    }


def _subject(case: CaseResult, runs: Iterable[RunResult]) -> Subject:
    """What the repeats do not agree on is not known."""
    workloads = {run.workload for run in runs}
    kinds = {run.arithmetic for run in runs}
    gpus = {devices_of(run.fingerprint) if run.fingerprint else "" for run in runs}
    figures: dict[Measured, tuple[float, str]] = {}
    if case.throughput is not None:
        figures[Measured.THROUGHPUT] = (case.throughput, case.unit)
    seconds = next((case.metrics[name] for name in _TIMES if name in case.metrics), None)
    if seconds is not None:
        figures[Measured.TIME_TO_TRAIN] = (seconds / 60, "min")
    return Subject(
        # Of a journal that does not tell, the model: enough for a figure that comes near.
        workload=(workloads.pop() if len(workloads) == 1 else "") or case.model,
        stated=arithmetic(kinds.pop()) if len(kinds) == 1 else Arithmetic.UNSTATED,
        gpu=gpus.pop() if len(gpus) == 1 else "",
        gpus=case.gpus,
        figures=figures,
        framework=case.framework,
        batch_size=case.batch_size,
        called=precision(case.parameters) or "",
    )
