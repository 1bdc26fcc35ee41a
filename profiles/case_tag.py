"""Case tags: ``2n8g`` is two nodes with eight devices each."""

from __future__ import annotations

import re

from profiles.errors import SelectionError

_TAG = re.compile(r"(\d{1,5})n(\d{1,3})g", re.ASCII)
_TOO_LARGE = re.compile(r"0*[1-9]\d{5,}n\d+g|\d+n0*[1-9]\d{3,}g", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def parse_tag(text: str) -> tuple[int, int]:
    """``(nodes, gpus_per_node)`` of a tag.

    Raises
    ------
    SelectionError: the tag is not of the form 2n8g, has a zero or is too large.
    """
    match = _TAG.fullmatch(text.strip().lower())
    if _TOO_LARGE.fullmatch(text.strip().lower()):
        raise SelectionError(
            f"{text!r} is too large a case",
            remedy="99999 nodes with 999 GPUs each, 99999n999g, is the largest",
        )
    if match is None or 0 in (nodes_gpus := (int(match.group(1)), int(match.group(2)))):
        raise SelectionError(
            f"{text!r} is not a case{_likely(text)}",
            remedy="write nodes and GPUs per node, such as 1n1g or 2n8g",
        )
    return nodes_gpus


def _likely(text: str) -> str:
    """What ``2x8``, ``2n8`` or ``8`` was to be."""
    match [int(number) for number in _NUMBER.findall(text)]:
        case [nodes, gpus] if nodes and gpus:
            meant = format_tag(nodes, gpus)
        case [gpus] if gpus:
            meant = format_tag(1, gpus)
        case _:
            return ""
    return f", did you mean {meant!r}?" if _TAG.fullmatch(meant) else ""


def format_tag(nodes: int, gpus_per_node: int) -> str:
    return f"{nodes}n{gpus_per_node}g"
