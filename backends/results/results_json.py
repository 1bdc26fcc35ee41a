"""The JSON document of ``run``, ``status`` and ``report``, and the rows of results.csv.

The keys are a contract with other programs: docs/reports.md lists them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backends.hangs.verdict_words import verdict_line
from backends.results.case_result import CaseResult
from backends.results.findings import Grade
from backends.results.gpu_time import gpu_seconds
from backends.results.grade_words import found_lines, grade_reasons
from backends.results.projection import Projected, Projection, project_group
from backends.results.reference_comparison import held_document, held_figures
from backends.results.run_result import SUMMARY, RunResult
from backends.results.scaling_loss import Cause, explain, node_set, scaling
from backends.results.statistics import low_high
from backends.results.summary import Group
from backends.results.telemetry_figures import cost_per_1e9_tokens, joules_per_sample, typical
from backends.results.workload_figures import of_other_readings

if TYPE_CHECKING:
    from profiles.scalars import Scalar

RESULT_COLUMNS = (
    "profile",
    "framework",
    "model",
    "case",
    "nodes",
    "gpus_per_node",
    "gpus",
)
FIGURE_COLUMNS = (
    "throughput",
    "unit",
    "center",
    "median",
    "mean",
    "min",
    "max",
    "cv",
    "interval_low",
    "interval_high",
    "half_width",
    "base",
    "speedup",
    "speedup_low",
    "speedup_high",
    "efficiency",
    "efficiency_low",
    "efficiency_high",
    "ratio_method",
    "gpu_memory_mib",
    "joules_per_sample",
    "cost_per_1e9_tokens",
    "repeats",
    "succeeded",
    "stopped",
    "grade",
    "grade_reasons",
    "flags",
)
"""Of results.csv; between the two stand the parameters, then come the metrics."""

HERE = Path()
"""The campaign's directory as a file in it sees it, which is moved and copied with it."""

_INTERVALS = {
    "interval": "interval",
    "speedup": "speedup_interval",
    "efficiency": "efficiency_interval",
}
"""Columns NAME_low and NAME_high of results.csv, and the key of the document they come from."""

Cell = str | int | float | bool | None


def document(
    campaign: str,
    runs: Iterable[RunResult],
    groups: Sequence[Group],
    path: Path | None = HERE,
    precheck: Mapping[str, object] | None = None,
    notes: Sequence[tuple[float, str, str]] = (),
) -> dict[str, Any]:  # JSON
    """``{"campaign", "gpu_hours", "path", "runs", "results", "projections"}`` with every run,
    ended or not; and ``"precheck"`` where one went before it, ``"notes"`` where there are any.

    ``path``: the campaign's directory; :data:`HERE` in a file that lies in it; None: of several
    that are reported together.
    """
    runs = tuple(runs)
    gpu_s = gpu_seconds(runs)
    return {
        "campaign": campaign,
        "gpu_hours": None if gpu_s is None else gpu_s / 3600,
        "path": None if path is None else "." if path == HERE else str(path.absolute()),
        "runs": [run_document(run) for run in runs],
        "results": [case_document(case, group) for group in groups for case in group.cases],
        "projections": [
            projection_document(found, group)
            for group in groups
            if (found := project_group(group)) is not None
        ],
        **({} if precheck is None else {"precheck": dict(precheck)}),
        **({"notes": notes_document(notes)} if notes else {}),
    }


def notes_document(notes: Iterable[tuple[float, str, str]]) -> list[dict[str, Any]]:  # JSON
    """Of times, levels and texts."""
    return [{"t": t, "level": level, "text": text} for t, level, text in notes]


def to_json(value: object) -> str:
    """Two-space indented JSON in UTF-8 with a line break at the end. Never NaN: null."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def run_document(run: RunResult) -> dict[str, Any]:  # JSON
    return {
        "run_id": run.run_id,
        "campaign": run.campaign or None,
        "profile": run.profile,
        "case": run.case_tag,
        "parameters": _plain(run.parameters.items()),
        "repeat": run.repeat,
        "attempt": run.attempt,
        "profiled": run.profiled,
        "devices": {host: list(indices) for host, indices in run.devices.items()},
        "placement": run.placement,
        "job_id": run.job_id,
        "shared_with": list(run.shared_with),
        "state": run.state,
        "paused": {"by": run.paused_by, "since": run.paused_at} if run.paused_at else None,
        "throughput": run.measured,
        "unit": run.unit,
        "reason": run.why,
        "diagnosis": _diagnosis(run),
        "slow_ranks": None if run.slow_ranks is None else [asdict(one) for one in run.slow_ranks],
        "hosts": list(run.hosts),
        "log": run.log,
        "gpu_memory_mib": run.gpu_memory_mib,
        "metrics": _plain(run.metrics.items()),
        "metrics_of_other_readings": of_other_readings(
            run.metrics, summed_up=run.statistic == SUMMARY
        ),
        "warnings": list(run.warnings),
        "telemetry": [asdict(gpu) for gpu in run.telemetry.gpus] if run.telemetry else None,
        "host_load": [asdict(host) for host in run.telemetry.hosts] if run.telemetry else None,
        "meanwhile": [asdict(one) for one in run.telemetry.meanwhile] if run.telemetry else [],
        "joules_per_sample": joules_per_sample(run),
        "cost_per_1e9_tokens": cost_per_1e9_tokens(run),
        "preflight": list(run.warned),
        "forced": run.forced,
        "window_readings": run.used,
        "window_s": run.window_s,
        "window_cv": run.within_cv,
        "steadiness": run.steadiness,
        "steady": [found.to_json() for found in run.steady] if run.steady else None,
        "ranks": [{**rank.to_json(), "idle_s": rank.idle_s} for rank in run.ranks] or None,
        "simulated": run.simulated,
        "imported": run.imported,
    }


def _diagnosis(run: RunResult) -> dict[str, Any] | None:  # JSON
    """Why it did not move, in words and as values; null where nobody asked."""
    found = run.diagnosis
    if found is None:
        return None
    return {"verdict": verdict_line(found), "at": run.diagnosed_at, **asdict(found)}


def case_document(case: CaseResult, group: Group) -> dict[str, Any]:  # JSON
    spread = case.spread
    ratio = case.speedup_interval
    return {
        "campaign": group.campaign or None,
        "profile": case.profile,
        "framework": case.framework,
        "model": case.model,
        "case": case.case,
        "nodes": case.nodes,
        "gpus_per_node": case.gpus_per_node,
        "gpus": case.gpus,
        "parameters": _plain(case.parameters.items()),
        "throughput": case.throughput,
        "unit": case.unit,
        "center": group.center,
        "median": spread.median if spread else None,
        "mean": spread.mean if spread else None,
        "min": spread.minimum if spread else None,
        "max": spread.maximum if spread else None,
        "cv": spread.cv if spread else None,
        "half_width": spread.half_width if spread else None,
        "interval": low_high(spread.interval if spread else None),
        "base": group.base,
        "speedup": case.speedup,
        "speedup_interval": low_high(ratio),
        "efficiency": case.efficiency,
        "efficiency_interval": low_high(case.efficiency_interval),
        "ratio_method": str(ratio.method) if ratio else None,
        "throughput_per_device": case.throughput_per_device,
        "scaling": scaling(group),
        "node_set": node_set(case, group.base_case),
        "explained": _explained(case, group),
        "gpu_memory_mib": case.gpu_memory_mib,
        "joules_per_sample": typical(case.measured_runs, joules_per_sample),
        "cost_per_1e9_tokens": typical(case.measured_runs, cost_per_1e9_tokens),
        "metrics": _plain(case.metrics.items()),
        "metrics_of_other_readings": of_other_readings(case.metrics, summed_up=case.summed_up),
        "repeats": case.repeats,
        "succeeded": case.succeeded,
        "outliers": [case.measured_runs[i].repeat for i in spread.outliers] if spread else [],
        "stopped": case.stopped,
        "grade": _letter(case),
        "grade_reasons": grade_reasons(case, group),
        "findings": [
            {"kind": str(found.concern), "grade": str(found.ceiling), "words": line}
            for found, line in found_lines(case, group)
        ],
        "flags": [str(concern) for concern in case.concerns],
        "references": [held_document(held) for held in held_figures(case)],
    }


def _letter(case: CaseResult) -> str | None:
    """D also where no repeat succeeded, for programs that look for the worst."""
    grade = case.grade or (Grade.D if case.failed_runs else None)
    return None if grade is None else str(grade)


def _explained(case: CaseResult, group: Group) -> dict[str, Any] | None:  # JSON
    """What an efficiency below 1 is lost to; a cause that is not known is null."""
    explained = explain(case, group.base_case)
    if explained is None:
        return None
    return {
        "loss": explained.loss,
        **{str(cause): explained.shares.get(cause) for cause in Cause},
        "unexplained": explained.unexplained,
        "straggler_rank": explained.straggler,
        "straggler_host": explained.straggler_host,
        "profiled_run": explained.profiled.run_id if explained.profiled else None,
        "profiled_slower": explained.slower,
    }


def projection_document(found: Projection, group: Group) -> dict[str, Any]:  # JSON
    return {
        "campaign": group.campaign or None,
        "profile": group.profile,
        "framework": group.framework,
        "model": group.model,
        "parameters": _plain(group.parameters.items()),
        "unit": group.unit,
        "base": group.base,
        "scaling_model": str(found.model) if found.model else None,
        "coefficients": dict(found.coefficients or {}),
        "error": found.error,
        "reason": str(found.reason) if found.reason else None,
        "withheld": list(found.withheld),
        "points": [_projected(point, group) for point in found.points],
    }


def _projected(point: Projected, group: Group) -> dict[str, Any]:  # JSON
    base = group.base_case
    speedup = point.over(base.throughput) if base.throughput else None
    return {
        "case": point.case,
        "nodes": point.nodes,
        "gpus_per_node": point.gpus_per_node,
        "gpus": point.gpus,
        "throughput": point.throughput,
        "band": [point.low, point.high],
        "speedup": speedup.throughput if speedup else None,
        "speedup_band": [speedup.low, speedup.high] if speedup else None,
        "efficiency": speedup.throughput * base.gpus / point.gpus if speedup else None,
    }


def _plain(items: Iterable[tuple[str, Scalar]]) -> dict[str, Scalar | None]:
    """A metric can be NaN (a loss that diverged); JSON has no word for it."""
    return {
        key: None if isinstance(value, float) and value - value != 0 else value
        for key, value in items
    }


def result_columns(groups: Sequence[Group]) -> tuple[str, ...]:
    """The columns of results.csv: what identifies a case, its parameters, figures, metrics; the
    campaign first where there are several."""
    parameters = dict.fromkeys(
        _parameter(name) for group in groups for case in group.cases for name in case.parameters
    )
    metrics = sorted({name for group in groups for case in group.cases for name in case.metrics})
    several = len({group.campaign for group in groups}) > 1
    return (
        *(("campaign",) if several else ()),
        *RESULT_COLUMNS,
        *parameters,
        *FIGURE_COLUMNS,
        *(f"metric:{name}" for name in metrics),
    )


def result_rows(groups: Sequence[Group]) -> list[dict[str, Cell]]:
    """One row per case, with the keys of :func:`result_columns`; None where there is nothing."""
    return [_result_row(case, group) for group in groups for case in group.cases]


def _result_row(case: CaseResult, group: Group) -> dict[str, Cell]:
    known = case_document(case, group)
    row: dict[str, Cell] = {name: known[name] for name in ("campaign", *RESULT_COLUMNS)}
    row.update({_parameter(name): value for name, value in known["parameters"].items()})
    row.update({name: known.get(name) for name in FIGURE_COLUMNS})
    row["flags"] = ";".join(known["flags"])
    row["grade_reasons"] = "; ".join(known["grade_reasons"])
    for column, key in _INTERVALS.items():
        row[f"{column}_low"], row[f"{column}_high"] = known[key] or (None, None)
    row.update({f"metric:{name}": value for name, value in known["metrics"].items()})
    return row


def _parameter(name: str) -> str:
    taken = name in ("campaign", *RESULT_COLUMNS, *FIGURE_COLUMNS)
    return f"parameter:{name}" if taken else name
