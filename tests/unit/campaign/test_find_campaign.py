"""A campaign is found by every name that it is shown under."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backends.campaign.folder.find_campaign import find_campaign
from profiles.errors import SelectionError

EXAMPLES = Path(__file__).parents[3] / "docs/examples"
IDS = {
    "h200-x2-auto": "2026-11-22-h200-x2-auto",
    "h200-x4": "2026-11-21-h200-x4",
}


@pytest.fixture
def campaigns(tmp_path: Path) -> Path:
    for name in IDS:
        (tmp_path / name).mkdir()
        shutil.copy(EXAMPLES / name / "events.jsonl", tmp_path / name)
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", IDS)
def test_by_its_directory_its_path_and_the_id_it_began_with(campaigns: Path, name: str) -> None:
    for said in (name, str(campaigns / name), IDS[name]):
        assert find_campaign(campaigns, said) == campaigns / name
    (campaigns / name).rename(campaigns / "renamed")
    for said in ("renamed", IDS[name]):
        assert find_campaign(campaigns, said) == campaigns / "renamed"


def test_an_id_that_two_have_is_refused_with_their_directories(campaigns: Path) -> None:
    shutil.copytree(campaigns / "h200-x4", campaigns / "copy")
    with pytest.raises(SelectionError, match="name a directory: copy, h200-x4"):
        find_campaign(campaigns, IDS["h200-x4"])
    assert find_campaign(campaigns, "copy") == campaigns / "copy"


def test_a_directory_wins_over_an_id(campaigns: Path) -> None:
    (campaigns / "h200-x2-auto").rename(campaigns / IDS["h200-x4"])
    assert find_campaign(campaigns, IDS["h200-x4"]) == campaigns / IDS["h200-x4"]


def test_no_other_name_finds_any(campaigns: Path) -> None:
    with pytest.raises(SelectionError, match="no campaign 'h200'"):
        find_campaign(campaigns, "h200")
