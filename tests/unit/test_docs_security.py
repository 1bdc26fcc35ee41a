"""docs/security.md says nothing that no test shows."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", TEXT)


def test_every_test_that_is_named_exists() -> None:
    assert len(NAMED) > 40
    for file, name in NAMED:
        [path] = (ROOT / "tests").rglob(file)
        assert re.search(rf"^(async )?def {name}\(", path.read_text(encoding="utf-8"), re.M), name


def test_every_defence_names_a_test() -> None:
    rows = [
        line for line in TEXT.splitlines() if line.startswith("| ") and "| shown by |" not in line
    ]
    assert len(rows) > 25
    assert [row for row in rows if not re.search(r"\| `test_\w+\.py::test_\w+`[^|]*\|$", row)] == []
