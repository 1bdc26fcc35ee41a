"""Blocks of lines cut down to the lines that can match, ten times faster than by trying each.

Every match of a pattern contains certain literals. The C library finds a single byte several times
as fast as Python finds a text, so the rarest byte of those literals leads to the lines, which are
then checked for a literal. How rare bytes are gets sampled now and then; a wrong guess costs speed
only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiles.logs.lines import lines_with

_SMALL = 4096  # blocks up to this size are not worth a plan
_SAMPLE = 4096
_RESAMPLE = 64  # blocks between samples
_RARE = 1 / 900  # a hit costs as much as finding the literal in about that many bytes
_DENSE = 0.125  # share of lines with the literal above which the block is left whole


class Narrower:
    """Finds lines with all of ``literals``; without any, every line."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = tuple(literals)
        self._literal = literals[0] if literals else b""
        self._bytes = tuple({bytes((byte,)) for literal in literals for byte in literal})
        self._age = 0
        self._dense = not literals
        self._anchor: bytes | None = None

    def dense(self, block: bytes) -> bool:
        """Whether so many lines have the literals, by a sample now and then, that each is tried."""
        self._plan(block)
        return self._dense

    def narrow(self, block: bytes) -> bytes:
        """Some lines of the block, in order, among them all that contain the literals."""
        literal = self._literal
        if len(block) <= _SMALL:
            return block if literal in block else b""
        if self.dense(block):
            return block
        if self._anchor is None:
            return b"\n".join([line for _start, line in lines_with(block, literal)])
        found: list[bytes] = []
        position, left = 0, int(2 * _RARE * len(block)) + 1
        while (hit := block.find(self._anchor, position)) >= 0:
            start = block.rfind(b"\n", position, hit) + 1 or position
            position = block.find(b"\n", hit) + 1 or len(block)
            if block.find(literal, start, position) >= 0:
                found.append(block[start:position])
            left -= 1
            if not left:  # not as rare as it was
                self._age = 0
                found += [line + b"\n" for _start, line in lines_with(block[position:], literal)]
                break
        return b"".join(found)

    def _plan(self, block: bytes) -> None:
        if self._age == 0 and self._literals:
            middle = len(block) // 2
            sample = block[:_SAMPLE] + block[middle : middle + _SAMPLE]
            hits = {literal: sample.count(literal) for literal in self._literals}
            fewest = min(hits.values())
            self._dense = fewest > _DENSE * sample.count(b"\n")
            counts = {byte: sample.count(byte) for byte in self._bytes}
            # Of the rarest the one that is found fastest.
            rarest = [literal for literal in self._literals if hits[literal] == fewest]
            self._literal = max(rarest, key=lambda it: _stride(it, counts, len(sample)))
            anchor = min(counts, key=counts.__getitem__)
            self._anchor = anchor if counts[anchor] <= _RARE * len(sample) else None
        self._age = (self._age + 1) % _RESAMPLE


def _stride(literal: bytes, counts: Mapping[bytes, int], total: int) -> float:
    """How far a search for the literal gets per look, about: it skips bytes that are not in it."""
    own = sum(counts[bytes((byte,))] for byte in set(literal))
    return len(literal) * (1 - own / max(total, 1))
