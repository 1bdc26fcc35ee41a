"""What is to be known of cases, once, and of which of them, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from backends.results.findings import Rank
from backends.results.translations import Lang, pick

Name = tuple[str, str]
"""What a case shares with others (its campaign, its profile; or nothing), and what it is called
among those."""

MANY = 7
"""Cases that are not named one by one where something is so of all."""
MOST = 3
"""Of one profile, the same."""


def told_once(
    told: Iterable[tuple[Rank, str, Name]], lang: Lang = "en"
) -> Iterator[tuple[str, str]]:
    """Of which cases something is told, and what, once: by rank, and of the same rank in the order
    in which it came."""
    names: dict[tuple[Rank, str], list[Name]] = {}
    for rank, what, name in told:
        names.setdefault((rank, what), []).append(name)
    every = {name for own in names.values() for name in own}
    for rank, what in sorted(names, key=lambda one: one[0]):
        yield told_of(names[rank, what], every, lang), what


def told_of(names: Iterable[Name], every: Set[Name], lang: Lang = "en") -> str:
    """``all 12 cases``; ``oneflow-resnet50 (all 4 cases), mxnet-resnet50 1n1g, 1n8g``.

    ``every``: the cases of which anything is told.
    """
    of = list(dict.fromkeys(names))
    if len(of) == len(every) >= MANY:
        return pick(lang, f"all {len(of)} cases", f"全部{len(of)}个用例")
    shared = dict.fromkeys(before for before, _ in of)
    return ", ".join(
        _together(before, [own for first, own in of if first == before], every, lang)
        for before in shared
    )


def _together(before: str, own: Sequence[str], every: Set[Name], lang: Lang) -> str:
    if before and len(own) == sum(one[0] == before for one in every) >= MOST:
        return pick(lang, f"{before} (all {len(own)} cases)", f"{before}（全部{len(own)}个用例）")
    return " ".join(filter(None, (before, ", ".join(own))))
