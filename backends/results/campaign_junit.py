"""A campaign as JUnit XML: a test per run, so that a CI server shows which failed and why."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from backends.results.escaping import one_line
from backends.results.flag_lines import flag_lines
from backends.results.junit_document import junit_document
from backends.results.numbers import trimmed
from backends.results.run_result import SUCCEEDED, RunResult
from backends.results.summary import parameters_text, summarise


def campaign_junit(campaign: str, runs: Sequence[RunResult], notes: Sequence[str] = ()) -> str:
    """Failed: a run that failed and that no later attempt mended; skipped: cancelled, or not at its
    end; the throughput of all others is what they say. What the suite prints are ``notes`` and what
    is doubtful about its cases."""
    last = {(run.profile, *_case(run), run.repeat, run.profiled): run for run in runs}
    counted = list(last.values())
    failed = sum(run.state == "failed" for run in counted)
    skipped = sum(run.state not in (SUCCEEDED, "failed") for run in counted)
    suite = ET.Element(
        "testsuite",
        name=one_line("SIMULATED " * any(run.simulated for run in counted) + campaign),
        tests=str(len(counted)),
        failures=str(failed),
        errors="0",
        skipped=str(skipped),
    )
    for run in counted:
        repeat = "profiled" if run.profiled else f"repeat {run.repeat}"
        name = " ".join(filter(None, [*_case(run), repeat]))
        test = ET.SubElement(
            suite, "testcase", classname=one_line(run.profile), name=one_line(name)
        )
        if run.state == "failed":
            said = one_line(run.reason or run.state)
            ET.SubElement(test, "failure", message=said, type="failed").text = _where(run, said)
        elif run.state != SUCCEEDED:
            ET.SubElement(test, "skipped", message=one_line(run.why or run.state))
        elif run.throughput is not None:
            said = one_line(f"{trimmed(run.throughput)} {run.unit}")
            ET.SubElement(test, "system-out").text = _where(run, said)
    doubtful = [": ".join(line) for line in flag_lines(summarise(runs))]
    return junit_document(suite, (*notes, *doubtful))


def _case(run: RunResult) -> tuple[str, str]:
    return run.case_tag, parameters_text(run.parameters)


def _where(run: RunResult, said: str) -> str:
    on = f" on {', '.join(run.hosts)}" if run.hosts else ""
    return one_line(f"{said}{on}{f'; log: {run.log}' if run.log else ''}")
