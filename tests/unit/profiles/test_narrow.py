"""Narrowing keeps every line that has the literal, whole and in order, however rare its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.logs.prefilter import Narrower

LITERALS = (b"samples/s: ", b"iter ")
HIT = b"iter 20 at 1.5 samples/s: 3"
QUIET = b"a quiet line about nothing of interest, of a usual length"
DECOY = b"home/user/data/a/b"

KINDS = {"hit": HIT, "quiet": QUIET, "decoy": DECOY}
STRETCHES = st.lists(
    st.tuples(st.sampled_from(list(KINDS)), st.integers(1, 400)), min_size=1, max_size=12
)


def hits(block: bytes) -> list[bytes]:
    return [line for line in block.split(b"\n") if LITERALS[0] in line]


@given(blocks=st.lists(STRETCHES, min_size=1, max_size=4))
@settings(max_examples=120, deadline=None)
def test_no_line_is_lost_whatever_the_mix(blocks: list[list[tuple[str, int]]]) -> None:
    narrower = Narrower(LITERALS)
    for stretches in blocks:
        lines = [KINDS[kind] for kind, count in stretches for _ in range(count)]
        block = b"".join(b"%s %d\n" % (line, number) for number, line in enumerate(lines))
        narrowed = narrower.narrow(block)
        assert hits(narrowed) == hits(block)
        assert set(narrowed.split(b"\n")) <= set(block.split(b"\n"))


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_byte_that_turns_out_frequent_loses_nothing(ending: bytes) -> None:
    quiet = (QUIET + b"\n") * 300  # what is sampled shows no slash
    middle = (DECOY + b"\n") * 3000 + (HIT + b"\n") * 3 + (DECOY + b"\n") * 10
    block = quiet + middle + quiet * 20 + HIT + ending
    narrowed = Narrower(LITERALS).narrow(block)
    assert hits(narrowed) == [HIT] * 4
    assert len(narrowed) < len(block) / 10


def test_sparse_lines_alone_are_left() -> None:
    block = (QUIET + b"\n") * 500 + HIT + b"\n" + (QUIET + b"\n") * 500
    assert Narrower(LITERALS).narrow(block).strip(b"\n") == HIT


def test_a_pattern_without_literals_takes_every_line() -> None:
    block = (QUIET + b"\n") * 500
    assert Narrower(()).narrow(block) == block


def test_a_frequent_literal_does_not_hide_that_another_is_rare() -> None:
    lines = [b"samples/s: none in line %d" % number for number in range(1000)]
    lines[500] = HIT
    narrower = Narrower(LITERALS)
    assert narrower.narrow(b"\n".join(lines)).strip(b"\n") == HIT
    assert not narrower.dense(b"\n".join(lines))
