"""A verdict that rests on a log which does not give its figure says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backends.campaign.record.run_results import run_results
from backends.results.comparison_files import comparison_document
from backends.results.comparison_report import comparison_table
from backends.use_cases import Workspace
from tests.unit.results.test_logs_edited_later import FALSE, campaign
from tui.screens.compare_panels import campaigns_panel
from tui.screens.compare_text import below_rows, compared_rows, labels_of
from tui.side_by_side import held_against, read_sides


@pytest.mark.parametrize("deed", ["removed", "cut"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_verdict_is_marked_and_its_reason_and_its_campaign_count_the_logs(
    tmp_path: Path, deed: str, count: int
) -> None:
    with campaign(stamped=True) as made:
        for name in ("a", "b"):
            shutil.copytree(made, tmp_path / name)
    workspace = Workspace.open(campaigns=tmp_path)
    a, b = tmp_path / "a", tmp_path / "b"
    before = comparison_document(workspace.compare(a, b, 0.05, ()))
    runs = [run for run in run_results(workspace.checked(b)) if run.succeeded]
    logs = sorted(log for log in b.rglob("*.log") if "profile" not in log.name)
    logs = [log for log in logs if any(log.name in str(run.log) for run in runs)][:count]
    for log in logs:
        FALSE[deed][0](log)
    words = {0: "", 1: "1 log does not give its figure"}.get(
        count, f"{count} logs do not give their figures"
    )
    comparison = workspace.compare(a, b, 0.05, ())
    why = [str(row[-1]) for row in comparison_table(comparison).rows]
    doubted = [text for text in why if "candidate: " in text and "give" in text]
    assert bool(doubted) is bool(count)
    document = comparison_document(comparison)
    reasons = [[case["reason"] for case in one["cases"]] for one in (before, document)]
    assert reasons[0] == reasons[1]

    summaries = sorted(workspace.campaigns(), key=lambda one: one.path.name)
    found = held_against(read_sides(workspace, summaries, {}), 0, 0.05)
    labels = labels_of(found)
    for wide in (False, True):
        rows = compared_rows(found, labels, wide=wide)
        assert sum("▲" in str(row.cells[-1]) for row in rows) == len(doubted)
    panel = campaigns_panel(found, 0.0).plain
    assert ("give" in panel) is bool(count)
    assert not count or f"  ▲ {words}\n" in panel
    said = [below_rows(found, labels, pair).plain for pair in found.cases()]
    assert sum("candidate: " in text for text in said) == len(doubted)
