"""Who may read a campaign, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.campaign.folder.paths import create_directory
from backends.campaign.record.lock import CampaignLock
from backends.file_modes import Share, make_directory, make_file, narrow, open_file, share_of
from backends.results.result_files import write_atomically, write_in_campaign


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize(
    ("share", "directories", "files"), [(Share.PRIVATE, 0o700, 0o600), (Share.GROUP, 0o750, 0o640)]
)
def test_modes_do_not_depend_on_the_umask(
    tmp_path: Path, umask: int, share: Share, directories: int, files: int
) -> None:
    campaigns = tmp_path / "new" / "campaigns"
    campaign = create_directory(campaigns, "c", share)
    make_directory(campaign / "logs" / "deep")
    make_file(campaign / "logs" / "deep" / "log")
    write_in_campaign(campaign / "figures" / "a.svg", "x")
    write_in_campaign(campaign / "figures" / "a.svg", "again")
    CampaignLock(campaign).acquire()
    found = {path: mode(path) for path in (campaigns.parent, *campaigns.parent.rglob("*"))}
    assert {m for path, m in found.items() if path.is_dir()} == {directories}
    assert {m for path, m in found.items() if path.is_file()} == {files}
    assert len(found) == 9


def test_the_group_of_the_directory_above_goes_on(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    campaign = create_directory(shared, "c", Share.GROUP)
    make_directory(campaign / "logs")
    assert mode(shared) == 0o2770, "what is there keeps its mode"
    assert [mode(campaign), mode(campaign / "logs")] == [0o2750, 0o2750]
    private = create_directory(shared, "c", Share.PRIVATE)
    assert mode(private) == 0o2700


@pytest.mark.parametrize("old", [0o755, 0o775, 0o777, 0o770, 0o711])
def test_a_campaign_of_before_is_not_widened_and_gets_private_files(
    tmp_path: Path, old: int
) -> None:
    campaign = tmp_path / "old"
    campaign.mkdir()
    (campaign / "events.jsonl").touch(mode=0o644)
    campaign.chmod(old)
    os.close(open_file(campaign / "events.jsonl", os.O_WRONLY))
    make_directory(campaign / "logs")
    make_file(campaign / "logs" / "a.log")
    write_in_campaign(campaign / "results.json", "{}")
    assert mode(campaign) == old
    assert share_of(campaign) is Share.PRIVATE
    assert mode(campaign / "logs") == 0o700
    assert mode(campaign / "logs" / "a.log") == mode(campaign / "results.json") == 0o600


def test_narrowing_never_gives_anything(tmp_path: Path) -> None:
    for before, share, after in (
        (0o755, Share.PRIVATE, 0o700),
        (0o755, Share.GROUP, 0o750),
        (0o700, Share.GROUP, 0o700),
        (0o2775, Share.GROUP, 0o2750),
    ):
        tmp_path.chmod(before)
        narrow(tmp_path, share)
        assert mode(tmp_path) == after


def test_what_is_exported_follows_the_umask(tmp_path: Path, umask: int) -> None:
    if umask == 0o777:
        pytest.skip("nobody can write then")
    write_atomically(tmp_path / "report.md", "x")
    assert mode(tmp_path / "report.md") == 0o666 & ~umask


def test_no_symlink_is_followed_when_a_file_is_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        make_file(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
