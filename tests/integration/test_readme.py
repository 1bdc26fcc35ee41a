"""The README's figures are those of the campaign that it points to."""

from __future__ import annotations

import re
from pathlib import Path

from backends.campaign.record.journal import read_events
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import fold
from backends.results.publish import publish

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("h200-x4", "h200-x2-auto")


def test_the_readmes_tables_are_reported_from_their_campaigns() -> None:
    text = ""
    for name in EXAMPLES:
        state = fold(read_events(ROOT / "docs" / "examples" / name / "events.jsonl"))
        assert not state.simulated
        text += publish(state.campaign, run_results(state))
    rows = [
        line
        for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(("| node num", "| 1 |"))
    ]
    assert len(rows) == 7
    for row in rows:
        assert row in text


def test_links_of_the_documentation_lead_to_files() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
