"""A report links the raw logs of all hosts of a run that lie on disk."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.campaign.folder.artifacts import report_context
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.run_results import run_results
from backends.results.campaign_report import render_report
from backends.results.summary import summarise
from tests.unit.cli.conftest import FINISHED, assigned, planned, succeeded

HOSTS = ("v100b", "h200a", "v100a")


@pytest.mark.parametrize("rank0", [True, False])
@pytest.mark.parametrize("there", [[], ["h200a"], ["v100a"], ["h200a", "v100a"]])
def test_a_report_links_the_logs_of_all_hosts_that_are_on_disk(
    campaign: Callable[..., Path], there: list[str], rank0: bool
) -> None:
    path = campaign("c", planned("a"), assigned("a", *HOSTS), succeeded("a"), FINISHED)
    (path / "logs").mkdir(exist_ok=True)
    for name in ["a", *(f"a.{host}" for host in there)][not rank0 :]:
        (path / "logs" / f"{name}.log").write_text("x")
    state = read_campaign(path)
    runs = run_results(state)
    report = render_report(report_context(state, path), runs, summarise(runs))
    linked = set(re.findall(r"\((?:\./)?(logs/[^)]*)\)", report.replace("\\", "")))
    assert linked == {*["logs/a.log"][not rank0 :], *(f"logs/a.{host}.log" for host in there)}
