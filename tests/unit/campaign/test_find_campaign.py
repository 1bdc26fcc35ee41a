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


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("smok", "2026-11-22-cpu-smoke"),
        ("cpu-smok", "2026-11-22-cpu-smoke"),
        ("SMOEK", "2026-11-22-cpu-smoke"),
        ("resnet05", "2026-11-21-torch-resnet50"),
        ("2026-11-20-cpu-smok", "2026-11-20-cpu-smoke"),
        ("2026-11-20-cup-smoke", "2026-11-20-cpu-smoke"),
        ("bsaeline", "baseline"),
    ],
)
def test_a_name_that_is_near_one_by_a_part_of_it_is_met_with_that(
    tmp_path: Path, said: str, meant: str
) -> None:
    for name in ("20-cpu-smoke", "22-cpu-smoke", "21-torch-resnet50", "21-cpu-smoke"):
        (tmp_path / f"2026-11-{name}").mkdir()
    (tmp_path / "baseline").mkdir()
    with pytest.raises(SelectionError) as told:
        find_campaign(tmp_path, said)
    assert f"no campaign {said!r}, did you mean {meant!r}?" in str(told.value)


@pytest.mark.parametrize("said", ["zzz", "2026", "x", "11"])
def test_what_is_near_none_is_met_with_none(tmp_path: Path, said: str) -> None:
    (tmp_path / "cpu-smoke-2").mkdir()
    with pytest.raises(SelectionError) as told:
        find_campaign(tmp_path, said)
    assert "did you mean" not in str(told.value)


def test_no_other_name_finds_any(campaigns: Path) -> None:
    with pytest.raises(SelectionError, match="no campaign 'h200'"):
        find_campaign(campaigns, "h200")
