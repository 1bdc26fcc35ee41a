"""Nodeset syntax: ``node[01-04]``, ``rack[1-2]n[1-8]``, ``node[1,3-4],login``.

ClusterShell does the ranges (padding, steps, errors). The expansion keeps the written order, which
its own NodeSet does not: names, addresses and training addresses are paired by position.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

# More than any cluster this is for, and few enough that a typing error cannot exhaust memory.
MAX_NAMES = 10_000

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[\w.-]{1,253}", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})(?:/\d{1,18})?|\d{1,18}", re.ASCII)


def split_top_level(text: str, separators: str = ",") -> list[tuple[str, str]]:
    """Split at separators outside brackets: ``[(separator before the piece, piece), …]``.

    The first piece's separator is empty. Pieces are stripped and may be empty.
    """
    pieces = [("", "")]
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth <= 0 and character in separators:
            pieces.append((character, ""))
        else:
            separator, piece = pieces[-1]
            pieces[-1] = (separator, piece + character)
    return [(separator, piece.strip()) for separator, piece in pieces]


def expand_nodeset(text: str) -> tuple[str, ...]:
    """Names of a nodeset in the written order, repetitions included.

    Raises ValueError, whose message says what is wrong with the text.
    """
    names: list[str] = []
    for _, piece in split_top_level(text):
        if not piece:
            raise ValueError(f"empty name in {text!r}")
        names += _expand_piece(piece)
        if len(names) > MAX_NAMES:
            raise ValueError(f"{text!r} stands for more than {MAX_NAMES} names")
    return tuple(names)


def fold_nodeset(names: Iterable[str]) -> str:
    """The shortest nodeset for display: ``node1 node2 node3`` → ``node[1-3]``; sorted.

    Names that no inventory would take (of a journal from elsewhere) are listed as they are.
    """
    return _folded(tuple(names))


def ranked_nodeset(names: Sequence[str]) -> str:
    """As :func:`fold_nodeset`, in the order of the names, the first of them rank 0's host: those
    of one kind are folded as far as they rise, ``v100[1-8],h200[1-2]``, ``node[3-4],node[1-2]``."""
    return ",".join(map(_risen, _rising(names)))


def _risen(names: Sequence[str]) -> str:
    folded = fold_nodeset(names)
    try:
        return folded if expand_nodeset(folded) == tuple(names) else ",".join(names)
    except ValueError:
        return folded


def _rising(names: Iterable[str]) -> list[list[str]]:
    """Neighbours of one kind, each behind the one before it by its numbers."""
    found: list[list[str]] = []
    for name in names:
        last = found[-1][-1] if found else ""
        if _stem(last) == _stem(name) and natural_order(last) < natural_order(name):
            found[-1].append(name)
        else:
            found.append([name])
    return found


def _stem(name: str) -> str:
    return _DIGITS.sub("0", name)


@lru_cache(maxsize=1024)  # screens ask for the same ones a few times a second
def _folded(names: tuple[str, ...]) -> str:
    if len(names) < 2:
        return "".join(names)
    if not all(map(_NAME.fullmatch, names)):  # "node[0-99999999]" would be expanded
        return ", ".join(names)
    from ClusterShell.NodeSet import (  # noqa: PLC0415 (25 ms)
        RESOLVER_NOGROUP,
        NodeSet,
        NodeSetException,
    )

    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ", ".join(names)


def _expand_piece(piece: str) -> Sequence[str]:
    parts = _BRACKETS.split(piece)  # text, ranges, text, ranges, … text
    if any("[" in text or "]" in text for text in parts[::2]):
        raise ValueError(f"unbalanced brackets in {piece!r}")
    choices: list[Sequence[str]] = []
    total = 1
    for position, part in enumerate(parts):
        values = _expand_ranges(part, piece) if position % 2 else (part,)
        total *= len(values)
        if total > MAX_NAMES:
            raise ValueError(f"{piece!r} stands for more than {MAX_NAMES} names")
        choices.append(values)
    return ["".join(combination) for combination in itertools.product(*choices)]


def _expand_ranges(ranges: str, piece: str) -> Sequence[str]:
    from ClusterShell.RangeSet import RangeSet, RangeSetException  # noqa: PLC0415 (25 ms)

    values: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} in {piece!r} is not a range like 1-4 or 01,03")
        # RangeSet holds every member, so the size is checked before it is built.
        if match[1] and int(match[2]) - int(match[1]) >= MAX_NAMES:
            raise ValueError(f"{piece!r} stands for more than {MAX_NAMES} names")
        try:
            values += RangeSet(part.strip()).striter()
        except RangeSetException as error:
            raise ValueError(f"{error} in {piece!r}") from error
    return values


def natural_order(text: str) -> tuple[tuple[int, str], ...]:
    """A key to sort by: ``node2`` before ``node10``."""
    pieces = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((int(p[:18]), "") if p.isascii() and p.isdigit() else (-1, p) for p in pieces)
