"""That the program was killed and the campaign resumed is told with its results."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context, rewrite_results
from backends.campaign.record.lock import Holder
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.campaign.record.unwatched import unwatched
from profiles.durations import format_duration
from tests.unit.campaign.test_outages import T0, A, begun, contact

KEPT = Holder("alice", "login", 7, 1, "n")


@pytest.mark.parametrize(
    ("holder", "age_s", "said"),
    [
        (
            KEPT,
            91.0,
            "Nobody watched it for 1m31s at most: alice on login (pid 7) was killed or lost; "
            "from 2026-11-28 06:00:29 to 06:02:00 UTC, when it was resumed",
        ),
        (
            None,
            86400.0,
            "Nobody watched it for 1d00h at most: who was at work was killed or lost; "
            "from 2026-11-27 06:02:00 to 2026-11-28 06:02:00 UTC, when it was resumed",
        ),
    ],
)
def test_when_nobody_was_at_work_is_in_the_notes_the_report_and_the_document(
    tmp_path: Path, holder: Holder | None, age_s: float, said: str
) -> None:
    outage = [contact(A, 10, lost=True), contact(A, 20, lost=False)]
    state = fold([*begun(A), *outage, unwatched(holder, [T0 + 120 - age_s], T0 + 120)])
    assert (T0 + 120, "warn", said) in take(state, tmp_path, now=T0 + 130).notes
    assert report_context(state, tmp_path).notes[-1] == f"{said}."
    rewrite_results(state, tmp_path)
    told = json.loads((tmp_path / "results.json").read_text())["notes"]
    assert [note["t"] for note in told] == [T0 + 20, T0 + 120]
    assert told[-1] == {"t": T0 + 120, "level": "warn", "text": said}


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=3))
def test_it_begins_at_the_last_sign_and_never_after_its_end(ago: list[int]) -> None:
    """Of a clock that was set back a sign is of the future."""
    now = T0 + 120
    text = unwatched(KEPT, [now - s for s in ago], now).text
    lasted = max(0, min(ago))
    since = datetime.fromtimestamp(now - lasted, UTC)
    assert f"from {since:%Y-%m-%d %H:%M:%S} to " in text
    assert f" for {format_duration(lasted)} at most: " in text
