"""Which raw log is whose, and where it lies: the last section of report.md."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from backends.results.case_result import CaseResult
from backends.results.escaping import md_link, md_text
from backends.results.flag_lines import case_parts
from backends.results.run_result import RunResult
from backends.results.summary import Group
from backends.results.translations import Words

_FILLED = "_fp32_"
"""In the name of a log, see :func:`profiles.logs.own_log_names.log_path`."""


def case_name(case: CaseResult, groups: Sequence[Group]) -> str:
    """``1n8g batch_size=128``, as much of it as tells the case apart; markdown."""
    return md_text(" ".join(filter(None, case_parts(case, groups))))


def log_section(
    groups: Sequence[Group],
    other_logs: Mapping[str, Sequence[tuple[str, str]]],
    lost: Container[str],
    w: Words,
) -> list[str]:
    """Its blocks in markdown; none where there is no log. ``other_logs``: by run id, (host, file)
    of the run's further hosts. ``lost``: logs of rank 0 that are not there, which have no link."""
    lines = []
    linked: list[RunResult] = []
    for group in groups:
        for case in group.cases:
            named = [(_attempt_name(run, case, w), run) for run in _with_earlier_attempts(case)]
            named += [(w.profiled, run) for run in case.profiled_runs]
            with_log = [(name, run) for name, run in named if run.log]
            links = [_log_links(name, run, other_logs, lost) for name, run in with_log]
            linked += [run for _, run in with_log]
            if links:
                lines.append(f"- {case_name(case, groups)}: {', '.join(links)}")
    blocks = ["\n".join(lines)] if lines else []
    return blocks + [w.filler] * any(map(_is_filled, linked))


def _is_filled(run: RunResult) -> bool:
    """Its log is named for a precision that nobody stated; who named an imported one may have."""
    return not run.imported and "precision" not in run.parameters and _FILLED in (run.log or "")


def _log_links(
    name: str,
    run: RunResult,
    other_logs: Mapping[str, Sequence[tuple[str, str]]],
    lost: Container[str],
) -> str:
    """``1 (v100b)``: rank 0's log, and in brackets those of the run's other hosts."""
    log = run.log or ""
    others = [
        md_link(host, log[: log.rfind("/") + 1] + file)
        for host, file in other_logs.get(run.run_id, ())
    ]
    own = md_text(name) if log in lost else md_link(name, log)
    return own + (f" ({', '.join(others)})" if others else "")


def _with_earlier_attempts(case: CaseResult) -> Iterator[RunResult]:
    """The repeats by their numbers, each after the attempts that it replaced."""
    for last in sorted(case.runs, key=lambda run: run.repeat):
        yield from (run for run in case.superseded if run.repeat == last.repeat)
        yield last


def _attempt_name(run: RunResult, case: CaseResult, w: Words) -> str:
    if run in case.superseded:
        return w.attempt.format(repeat=run.repeat, attempt=run.attempt)
    return str(run.repeat)
