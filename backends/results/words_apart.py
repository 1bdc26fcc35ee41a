"""In what a run's command on one host differs from that on another."""

from __future__ import annotations


def words_apart(first: str, command: str) -> str | None:
    """``--rank 1``: the words of ``command`` that differ, with the option that they are of; empty
    where none do, None where these are not few."""
    ours, words = first.split(" "), command.split(" ")
    if len(ours) != len(words):
        return None
    other = {at for at, (one, word) in enumerate(zip(ours, words, strict=True)) if one != word}
    if 2 * len(other) >= len(words):
        return None
    named = {at - 1 for at in other if at and words[at - 1].startswith("-")}
    return " ".join(words[at] for at in sorted(other | named))
