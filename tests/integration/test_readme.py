"""The README's figures are those of the campaign that it points to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import fold
from backends.results.publish import publish

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.mark.parametrize(("page", "count"), [("README.md", 7), ("docs/h200.md", 33)])
def test_tables_are_reported_from_their_campaigns(page: str, count: int) -> None:
    text = ""
    for journal in EXAMPLES.glob("h?00-*/events.jsonl"):
        state = fold(read_events(journal))
        assert not state.simulated
        runs = run_results(state)
        layouts = ["speedup", "llm"] if runs[0].unit == "tokens/s" else ["speedup"]
        text += "".join(publish(state.campaign, runs, layout=layout) for layout in layouts)
    rows = [
        line
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
        if line.startswith(("| node num", "| GPUs", "| 1 |", "| 2 |", "| 4 |"))
    ]
    assert len(rows) == count
    for row in rows:
        assert row in text


def test_links_of_the_documentation_lead_to_files() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
