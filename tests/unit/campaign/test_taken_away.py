"""Another campaign in the directory of one that was taken away."""

from __future__ import annotations

import shutil
from itertools import permutations
from pathlib import Path

import pytest

from backends.campaign.folder.campaign_views import CampaignViews
from backends.campaign.folder.reader import CampaignReader, read_campaign
from tests.unit.campaign.test_moment import NO_CHECKS

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
NAMES = ("h100-resnet50-graphs", "h200-x2-resnet50-compile", "h200-x2-auto", "h200-x4")


@pytest.mark.parametrize("seen_gone", [True, False])
@pytest.mark.parametrize(("before", "after"), permutations(NAMES, 2))
def test_it_is_read_from_its_beginning(
    tmp_path: Path, before: str, after: str, seen_gone: bool
) -> None:
    """Whichever of the two is longer, and whether anybody looked in between or not."""
    place, checks = tmp_path / "campaign", NO_CHECKS
    views = CampaignViews(lambda: 0.0, lambda state, *_: state, lambda _: None, checks)
    reader = CampaignReader(place)
    shutil.copytree(EXAMPLES / before, place)
    first = views.load(place)
    reader.state()
    shutil.rmtree(place)
    if seen_gone:
        with pytest.raises(Exception, match=r"events\.jsonl"):
            views.load(place)
    shutil.copytree(EXAMPLES / after, place)
    alone = read_campaign(place)
    assert reader.state() == alone
    second = views.load(place)
    assert second.state == alone
    assert [run.run_id for run in second.runs] == list(alone.runs)
    assert second.identity != first.identity
