"""Where the time of each rank goes, as the logs of a profiled run tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.throughput.rank_lines import read_rank_times
from profiles.throughput.rank_times import RankTime
from tests.unit.profiles.builders import READING, profile

LINE = "profile: rank %d, steps 10, step 1.5, compute 1.0, communication 0.25, input 0.125\n"


@pytest.fixture
def smoke() -> Profile:
    return Catalog.load().get("cpu-smoke")


def test_the_ranks_of_all_hosts_are_read(smoke: Profile, tmp_path: Path) -> None:
    one, other = tmp_path / "one.log", tmp_path / "other.log"
    one.write_text("train: …\n[1,0]<stdout>:" + LINE % 0 + LINE % 1)
    other.write_bytes(b"\xff\x00\n" + (LINE % 2).encode() + b"\n" * 9)
    found = read_rank_times(smoke, [one, other, tmp_path / "gone.log"])
    assert found == tuple(RankTime(rank, 1.5, 1.0, 0.25, 0.125) for rank in range(3))


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("1.5", "0.0") % 0,
        LINE.replace("1.5", "1.5.5") % 0,
        LINE.replace("0.25", "nan") % 0,
        LINE.replace("10,", "x,") % 0,
        LINE[:-8] % 0,
        "profile: rank " + "9" * 5000,
    ],
)
def test_a_line_that_no_rank_can_have_meant_is_none(
    smoke: Profile, tmp_path: Path, line: str
) -> None:
    log = tmp_path / "one.log"
    log.write_text(line + "\n" + LINE % 4)
    assert [told.rank for told in read_rank_times(smoke, [log])] == [4]


def test_colours_hide_no_rank(smoke: Profile, tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("\x1b[32mprofile: \x1b[0m" + (LINE % 0).removeprefix("profile: "))
    assert [told.rank for told in read_rank_times(smoke, [log])] == [0]


def test_the_last_word_of_a_rank_counts(smoke: Profile, tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text(LINE.replace("1.5", "9.0") % 0 + LINE % 0)
    assert [told.step_s for told in read_rank_times(smoke, [log])] == [1.5]


def test_what_a_rank_tells_survives_the_journal() -> None:
    told = RankTime(3, 1.5, 1.0, 0.25, 0.125)
    assert RankTime.from_json(told.to_json()) == told
    for broken in ({"rank": 1.5}, {"step_s": "x"}, {"compute_s": -1.0}, {"step_s": 0.0}):
        with pytest.raises((TypeError, ValueError)):
            RankTime.from_json({**told.to_json(), **broken})


def test_a_line_that_lacks_a_part_is_a_mistake_of_the_profile() -> None:
    text = "[explain]\nreading = '(?P<rank>.) (?P<step>.) (?P<compute>.) (?P<communication>.)'"
    with pytest.raises(ValueError, match="has no group 'input'"):
        profile(f"{READING}\n{text}")
