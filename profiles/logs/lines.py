"""Lines of a block of bytes, found by what they contain."""

from __future__ import annotations

from collections.abc import Iterator


def lines_with(block: bytes, literal: bytes | None) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes (without the newline) of each line that contains ``literal``.

    None: every line.
    """
    if literal is None:
        start = 0
        for line in block.split(b"\n"):
            yield start, line
            start += len(line) + 1
        return
    position = 0
    while (hit := block.find(literal, position)) >= 0:
        start = block.rfind(b"\n", position, hit) + 1 or position
        end = block.find(b"\n", hit)
        end = len(block) if end < 0 else end
        yield start, block[start:end]
        position = end + 1


def lines_backwards(block: bytes, literal: bytes | None) -> Iterator[bytes]:
    """Like :func:`lines_with`, last line first, without offsets."""
    if literal is None:
        yield from reversed(block.split(b"\n"))
        return
    limit = len(block)
    while (hit := block.rfind(literal, 0, limit)) >= 0:
        start = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit)
        yield block[start : len(block) if end < 0 else end]
        limit = start


def has_longer(block: bytes, limit: int) -> bool:
    """Whether a line of the block has more than ``limit`` bytes."""
    start = 0
    while len(block) - start > limit:
        end = block.rfind(b"\n", start, start + limit + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def cut_long_lines(block: bytes, limit: int) -> bytes:
    """The block with every line cut after ``limit`` bytes."""
    if not has_longer(block, limit):
        return block
    return b"\n".join(line[:limit] for line in block.split(b"\n"))
