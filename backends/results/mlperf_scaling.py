"""Numbers that stand in JSON files beside a log: MLPerf's ``scaling.json``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from profiles.errors import LogError
from profiles.format.profile import Profile

_MOST_BYTES = 1 << 20
_MOST = 1e300


def metrics_beside(profile: Profile, log: Path) -> dict[str, float]:
    """What the profile's ``[import.beside]`` finds in the log's directory; nothing of what is not
    there.

    Raises
    ------
    LogError: the file is there and the number is not, or cannot be read: without it what follows
        from the runs would be wrong.
    """
    found: dict[str, float] = {}
    for name, beside in profile.import_.beside.items():
        file = log.parent / beside.file
        if file.exists():
            found[name] = _number(file, beside.path)
    return found


def _number(file: Path, path: str) -> float:
    try:
        regular = file.is_file() and file.stat().st_size <= _MOST_BYTES
        value: Any = json.loads(file.read_bytes()) if regular else None
    except (OSError, ValueError, RecursionError):
        value = None
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if is_number and abs(value) < _MOST else math.nan
    if not number > 0:
        raise LogError(
            f"has no number above 0 under {path!r}",
            where=str(file),
            remedy=f'such as {{"{path}": 1.0042}}; or take the file away',
        )
    return number
