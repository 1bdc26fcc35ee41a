"""A log that is held while its original is deleted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.campaign.folder import kept_log
from backends.campaign.folder.kept_log import EditedInPlaceError, KeptLog

LOG = b"\x1b[31mone\r\ntwo" * 1000


@pytest.fixture(params=["in memory", "open"])
def held(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KeptLog]:
    if request.param == "open":
        monkeypatch.setattr(kept_log, "IN_MEMORY", 10)
    (tmp_path / "a.log").write_bytes(LOG)
    found = KeptLog.of(tmp_path / "a.log")
    assert found is not None
    assert (found.data is None) == (request.param == "open")
    yield found
    found.close()


def test_what_nobody_touched_stays_as_it_is(held: KeptLog) -> None:
    before = held.path.stat()
    assert held.put_back() is None
    assert held.path.stat() == before


def test_a_file_that_was_removed_comes_back(held: KeptLog) -> None:
    held.path.unlink()
    assert held.put_back() == ""
    assert held.path.read_bytes() == LOG
    assert [path.name for path in held.path.parent.iterdir()] == ["a.log"]
    assert held.put_back() is None


def test_what_took_its_place_is_kept(held: KeptLog) -> None:
    held.path.rename(held.path.with_name("elsewhere"))
    held.path.mkdir()
    assert held.put_back() == "a.log.kept-1"
    assert held.path.read_bytes() == LOG
    assert held.path.with_name("a.log.kept-1").is_dir()


def test_of_a_file_that_was_edited_in_place_a_small_one_comes_back(held: KeptLog) -> None:
    with held.path.open("rb+") as file:
        file.truncate(3)
    if held.data is None:
        with pytest.raises(EditedInPlaceError):
            held.put_back()
        assert held.path.read_bytes() == LOG[:3], "what is left of it is left"
    else:
        assert held.put_back() == "a.log.kept-1"
        assert held.path.read_bytes() == LOG


def test_what_does_not_fit_is_held_until_there_is_room(
    held: KeptLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    held.path.write_bytes(b"mine") if held.data else held.path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            held.put_back()
    assert held.put_back() == ("a.log.kept-1" if held.data else "")
    assert held.path.read_bytes() == LOG


def test_what_is_no_file_is_not_held(tmp_path: Path) -> None:
    (tmp_path / "a.log").symlink_to(tmp_path / "b.log")
    (tmp_path / "b.log").write_bytes(LOG)
    assert KeptLog.of(tmp_path / "a.log") is None
    assert KeptLog.of(tmp_path) is None
    assert KeptLog.of(tmp_path / "none") is None
