"""Each byte of a log that somebody else writes once and in order, whatever becomes of the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder import growing_log
from backends.campaign.folder.growing_log import GrowingLog
from backends.campaign.folder.refuse_foreign_files import ForeignFileError


def rest(log: GrowingLog) -> bytes:
    return b"".join(log.read())


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def replace(path: Path, data: bytes) -> None:
    draft = path.with_name("draft")
    draft.write_bytes(data)
    draft.replace(path)


def test_what_is_appended_is_read_once(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "a.log")
    assert rest(log) == b""
    append(tmp_path / "a.log", b"one\ntw")
    assert rest(log) == b"one\ntw"
    assert rest(log) == b""
    append(tmp_path / "a.log", b"o\n\xff\x00")
    assert rest(log) == b"o\n\xff\x00"
    log.close()


def test_a_file_in_its_place_that_begins_the_same_goes_on_where_it_was(tmp_path: Path) -> None:
    """As a log is put back that somebody had removed."""
    path, log = tmp_path / "a.log", GrowingLog(tmp_path, "a.log")
    append(path, b"one\ntwo\n")
    assert rest(log) == b"one\ntwo\n"
    replace(path, b"one\ntwo\nthree\n")
    assert rest(log) == b"three\n"
    path.unlink()
    assert rest(log) == b""
    append(path, b"one\ntwo\nthree\nfour\n")
    assert rest(log) == b"four\n"
    assert log.begun_anew == 0
    log.close()


@pytest.mark.parametrize("other", [b"", b"1\n", b"one\nTWO\nthree\n", b"something longer than it"])
def test_another_file_in_its_place_is_read_from_its_first_byte(
    tmp_path: Path, other: bytes
) -> None:
    path, log = tmp_path / "a.log", GrowingLog(tmp_path, "a.log")
    append(path, b"one\ntwo\n")
    assert rest(log) == b"one\ntwo\n"
    replace(path, other)
    assert rest(log) == other
    assert log.begun_anew == 1
    append(path, b"more\n")
    assert rest(log) == b"more\n"
    assert log.begun_anew == 1
    log.close()


def test_a_log_that_was_cut_is_begun_anew(tmp_path: Path) -> None:
    path, log = tmp_path / "a.log", GrowingLog(tmp_path, "a.log")
    append(path, b"one\ntwo\n")
    assert rest(log) == b"one\ntwo\n"
    os.truncate(path, 0)
    append(path, b"1\n")
    assert (rest(log), log.begun_anew) == (b"1\n", 1)
    log.close()


@given(
    text=st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")),
    lines=st.integers(1, 8),
    block=st.integers(1, 9),
)
def test_the_last_lines_are_those_that_tail_shows(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, lines: int, block: int
) -> None:
    directory = tmp_path_factory.mktemp("log")
    (directory / "a.log").write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_log, "BLOCK", block)
        log = GrowingLog(directory, "a.log")
        log.skip_to_last(lines)
        assert rest(log) == b"".join(_lines(text)[-lines:])
        log.close()


def _lines(text: bytes) -> list[bytes]:
    whole = [line + b"\n" for line in text.split(b"\n")]
    whole[-1] = whole[-1][:-1]
    return [line for line in whole if line]


def test_what_is_no_file_of_the_campaign_is_not_read(tmp_path: Path) -> None:
    campaign, outside = tmp_path / "campaign", tmp_path / "outside"
    campaign.mkdir()
    outside.mkdir()
    (outside / "secret.log").write_bytes(b"secret")
    (campaign / "logs").symlink_to(outside)
    with pytest.raises(ForeignFileError, match="out of the campaign"):
        rest(GrowingLog(campaign, "logs/secret.log"))
    (campaign / "link.log").symlink_to(outside / "secret.log")
    with pytest.raises(ForeignFileError):
        rest(GrowingLog(campaign, "link.log"))
    os.mkfifo(campaign / "pipe.log")
    assert rest(GrowingLog(campaign, "pipe.log")) == b""
