"""What a campaign's results.json says of its runs, which is written after the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # JSON


def told_results(directory: Path) -> Mapping[str, Mapping[str, Any]]:
    """The runs of results.json by their id; empty where it is missing or of another shape."""
    try:
        document = json.loads((directory / "results.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(runs, list):
        return {}
    return {str(run.get("run_id")): run for run in runs if isinstance(run, dict)}
