"""Campaigns of one profile are told apart by what they measure, before any run has ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.index import CampaignSummary, summarise_campaign
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from tests.unit.campaign.strategies import planned
from tui.screens.campaign_text import campaign_rows, summary_words

PARAMETERS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([128, 256]),
        "graphs": st.sampled_from(["off", "on"]),
        "precision": st.sampled_from(["fp32", "amp"]),
    }
)


def begun_with(parameters: dict[str, int | str]) -> CampaignSummary:
    run = replace(planned("r-0001-a1"), parameters=parameters)
    events = (ev.CampaignCreated(t=0.0, campaign="c", version="1"), run)
    with TemporaryDirectory() as directory:
        (Path(directory) / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
        return replace(summarise_campaign(Path(directory), lambda: 20.0), path=Path("c"))


@given(PARAMETERS, PARAMETERS)
def test_campaigns_of_other_parameters_read_otherwise_in_their_list_and_below_it(
    one: dict[str, int | str], other: dict[str, int | str]
) -> None:
    summaries = [begun_with(one), begun_with(other)]
    told = [summary_words(summary, 20.0).plain for summary in summaries]
    rows = [[str(c) for c in row.cells] for row in campaign_rows(summaries, 20.0)]
    assert (told[0] != told[1]) is (one != other)
    assert (rows[0] != rows[1]) is (one != other)
    assert f"p 2n1g b{one['batch_size']} {one['precision']} graphs={one['graphs']}" in told[0]
