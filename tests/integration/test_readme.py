"""The README's figures are those of the campaign that it points to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import fold
from backends.results.publish import publish
from tui.key_bindings import PANELS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.mark.parametrize(("page", "count"), [("README.md", 4), ("docs/h200.md", 33)])
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


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"](docs/{page.name})" in text, page.name


@pytest.mark.parametrize(
    "panel", ["app", "hosts", "matrix", "grid", "runs", "results", "campaigns", "compare", "replay"]
)
def test_the_page_of_keys_has_every_key_of_a_panel(panel: str) -> None:
    sections = re.split(r"\n\| (.*?) \| \|\n", (ROOT / "docs" / "keys.md").read_text("utf-8"))
    title = {"app": "on every page", "grid": "Matrix"}.get(panel, panel.capitalize())
    wanted = {"on every page", title}
    rows = "".join(
        text
        for head, text in zip(sections[1::2], sections[2::2], strict=True)
        if head.partition(" (")[0] in wanted
    )
    own = PANELS[panel].own or PANELS[panel].keys
    keys = {key.said or key.keys for key in own if key.palette} - {"Esc q"}
    assert {
        key for key in keys if not re.search(rf"(?m)^\| [^|]*{re.escape(written(key))}", rows)
    } == set()


def written(key: str) -> str:
    """Named keys stand there as they do on a keyboard, all others as code."""
    named = {"^l": "`ctrl+l`", "Bksp": "Backspace", "space": "Space", "enter": "Enter"}
    return named.get(key, f"`{key}`")
