"""``run`` says each finding of preflight once, and what stops it as its one line of error."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.preflight_finding import Finding, Level, StoppedError
from tui.cli.run import _say_findings

WAYS = "--force starts all the same"
LEVELS = st.lists(st.sampled_from(Level), max_size=6)


@given(levels=LEVELS, force=st.booleans())
def test_each_finding_is_said_once(levels: list[Level], force: bool) -> None:
    findings = [Finding(f"node{i}", level, f"finding<{i}>") for i, level in enumerate(levels)]
    heard = StringIO()
    stopped = ""
    with redirect_stderr(heard):
        try:
            _say_findings(findings, lambda: WAYS, force=force)
        except StoppedError as error:
            stopped = str(error)
    for finding in findings:
        said = heard.getvalue().count(finding.what) + stopped.count(finding.what)
        assert said == (finding.level is not Level.OK)
    assert (WAYS in stopped) == bool(stopped)
    assert bool(stopped) == (Level.STOP in levels and not force)


def test_what_stops_it_names_the_host_and_the_remedy() -> None:
    findings = [Finding("node1", Level.STOP, "no torchrun", "install it")]
    words = rf"node1: preflight stops: no torchrun.*install it; or {WAYS}"
    with pytest.raises(StoppedError, match=words):
        _say_findings(findings, lambda: WAYS, force=False)
