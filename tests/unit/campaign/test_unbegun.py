"""When a campaign's directory holds nothing that was begun."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from backends.campaign.folder.unbegun import is_unbegun


@pytest.mark.parametrize("length", [0, 1, 65_535, 65_536, 65_537, 200_000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nmore"])
def test_a_journal_has_begun_with_its_first_whole_line(
    tmp_path: Path, length: int, end: bytes
) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"x" * length + end)
    assert is_unbegun(tmp_path) is (not end)


def test_a_line_without_an_end_is_not_held_in_memory(tmp_path: Path) -> None:
    with (tmp_path / "events.jsonl").open("wb") as file:
        file.truncate(64 << 20)
    tracemalloc.start()
    try:
        assert is_unbegun(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
