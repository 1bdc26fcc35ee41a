"""What a list of campaigns takes for newest: the clock of whoever reads it, not that of a demo."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.index import latest_written, list_campaigns
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.events import CampaignCreated

NOW = 1_795_226_400.0


@given(
    kept=st.lists(
        st.tuples(
            st.booleans(),
            st.integers(0, 86_400),  # ago
            st.integers(0, 30 * 86_400),  # how far a demo's clock runs ahead
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda one: one[1],
    )
)
@settings(max_examples=60, deadline=None)
def test_no_demo_lies_in_the_future_or_stands_before_what_was_measured(
    kept: list[tuple[bool, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for number, (simulated, ago, ahead) in enumerate(kept):
            path = Path(directory) / f"c{number}"
            path.mkdir()
            begun = NOW - ago + (ahead if simulated else 0)
            event = CampaignCreated(t=begun, campaign=path.name, simulated=simulated)
            (path / journal.FILE_NAME).write_bytes(encode(event))
            os.utime(path / journal.FILE_NAME, (NOW - ago, NOW - ago))
        listed = list_campaigns(Path(directory), time.time)
        assert [one.created_at for one in listed] == sorted(
            (NOW - ago for _, ago, _ in kept), reverse=True
        )
        latest = latest_written(Path(directory))
        assert latest is not None
        measured = [one for one in listed if not one.simulated]
        assert latest.name == (measured or listed)[0].name
