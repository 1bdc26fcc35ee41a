"""What a list of campaigns takes for newest: the clock of whoever reads it, not that of a demo."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.index import latest_written, list_campaigns
from backends.campaign.folder.past_index import PastIndex
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.events import CampaignCreated, CampaignHandedOn, CampaignPlaced, Event
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from tests.support.past_campaigns import past_campaign

NOW = 1_795_226_400.0
DAY_S = 86_400


@given(
    kept=st.lists(
        st.tuples(
            st.booleans(),
            st.integers(0, 86_400),  # ago
            st.integers(0, 30 * 86_400),  # how far a demo's clock runs ahead
            st.integers(0, 3_600),  # from its begin to the last line
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda one: one[1],
    )
)
@settings(max_examples=60, deadline=None)
def test_no_demo_lies_in_the_future_or_stands_before_what_was_measured(
    kept: list[tuple[bool, int, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for number, (simulated, ago, ahead, took) in enumerate(kept):
            path = Path(directory) / f"c{number}"
            path.mkdir()
            begun = NOW - ago + (ahead if simulated else 0)
            event = CampaignCreated(t=begun, campaign=path.name, simulated=simulated)
            (path / journal.FILE_NAME).write_bytes(encode(event))
            (path / REQUEST_NAME).touch()
            os.utime(path / REQUEST_NAME, (NOW - ago, NOW - ago))
            written = NOW - ago + took
            os.utime(path / journal.FILE_NAME, (written, written))
        listed = list_campaigns(Path(directory), time.time)
        assert [one.created_at for one in listed] == sorted(
            (NOW - ago for _, ago, *_ in kept), reverse=True
        )
        latest = latest_written(Path(directory))
        assert latest is not None
        measured = [one.path for one in listed if not one.simulated]
        candidates = measured or [one.path for one in listed]
        assert latest in candidates
        assert _done(latest) == max(map(_done, candidates))


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 3)),
        min_size=1,
        max_size=5,
        unique_by=lambda one: one[0],
    )
)
@settings(max_examples=60, deadline=None)
def test_moving_a_campaign_does_not_make_it_the_last_one(kept: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for ago, moves in kept:
            path = Path(directory) / f"ago{ago}"
            path.mkdir()
            events: list[Event] = [CampaignCreated(t=NOW - ago, campaign=path.name)]
            for number in range(moves):
                t = NOW + number
                events.append(
                    CampaignPlaced(t=t, place="p", host="h", path="/p")
                    if number % 2
                    else CampaignHandedOn(t=t, host="h", path="/p")
                )
            (path / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
            written = NOW + moves if moves else NOW - ago
            os.utime(path / journal.FILE_NAME, (written, written))
        latest = latest_written(Path(directory))
        assert latest is not None
        assert latest.name == f"ago{min(ago for ago, _ in kept)}"


def _done(campaign: Path) -> float:
    """A copy's file is younger than what it tells, a demo's clock is ahead."""
    file = campaign / journal.FILE_NAME
    return min(file.stat().st_mtime, *(event.t for event in journal.last_events(file)))


def test_no_past_result_of_a_demo_is_later_than_it_was_written_down(tmp_path: Path) -> None:
    source = Catalog.load((), None).source("torch-resnet50")
    (case,) = expand(source.profile, ["1n1g"], {})
    for name, ahead in (("measured", 0), ("simulated", DAY_S)):
        simulated = name == "simulated"
        path = tmp_path / name
        past_campaign(path, source, {case: [390.0]}, at=NOW + ahead, simulated=simulated)
        os.utime(path / journal.FILE_NAME, (NOW + 60, NOW + 60))
    index = PastIndex(tmp_path)
    index.read()
    assert [found.at for found in index.by_campaign[tmp_path / "measured"]] == [NOW]
    assert [found.at for found in index.by_campaign[tmp_path / "simulated"]] == [NOW + 60]
