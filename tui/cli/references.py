"""``references``: the published figures that results are held against, listed and searched."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence, Set
from itertools import groupby

from backends.results.numbers import trimmed
from backends.results.reference_comparison import reference_document
from profiles.errors import SelectionError
from profiles.nearest import nearest
from profiles.references.reference_tables import Reference, bundled_references
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import add_json
from tui.cli.shared.output import print_json

WIDTH = 80
_BRANDS = ("NVIDIA ", "Tesla ")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", metavar="WORDS", nargs="*", help="only those in which every word occurs"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """``references [WORDS] [--json]``."""
    found = [one for one in bundled_references() if matches(one, arguments.words)]
    if not found and not arguments.json:
        raise SelectionError(
            f"no published figure has {' '.join(arguments.words)}",
            remedy=_remedy(_parts(arguments.words)),
        )
    if arguments.json:
        print_json([reference_document(one) for one in found])
    else:
        print("\n".join(_table(found, arguments.words)))
    return OK


def _remedy(words: Sequence[str]) -> str:
    """What a word may have meant; else of which GPUs there are figures without one of them."""
    every = bundled_references()
    names = {part for one in every for part in _parts([one.workload])}
    meant = _meant(words, names)
    if meant and any(matches(one, [meant.get(word, word) for word in words]) for one in every):
        return " ".join(f"did you mean {near!r}?" for near in meant.values())
    for word in reversed(words):
        rest = [one for one in words if one != word]
        if rest and (others := [one for one in every if matches(one, rest)]):
            gpus = sorted({_gpu(one) for one in others})
            return f"{' '.join(rest)} has some of {', '.join(gpus)}"
    names |= {part for one in every for part in _parts([_gpu(one)])}
    meant = _meant(words, names)
    said = [f"did you mean {near!r}?" for near in meant.values()]
    return " ".join(said) or "'dlperf-tui references' lists all that there are"


def _meant(words: Sequence[str], names: Set[str]) -> dict[str, str]:
    near = {word: nearest(word, names) for word in words}
    return {word: name for word, name in near.items() if name is not None and name != word}


def matches(reference: Reference, words: Sequence[str]) -> bool:
    """Whether every word occurs in one of the row's texts; without regard to case."""
    row = reference_document(reference).values()
    said = "\n".join(value for value in row if isinstance(value, str)).casefold()
    return all(part in said for part in _parts(words))


def _parts(words: Sequence[str]) -> list[str]:
    return [part for word in words for part in word.casefold().split()]


def _table(found: Sequence[Reference], words: Sequence[str]) -> list[str]:
    """A heading for every workload with its rows, then the sources by their numbers. First comes
    the workload whose name has most of the words: one that has ResNet50 inside is another."""
    cited = dict.fromkeys((one.system, one.source) for one in found)
    sources = {source: number for number, source in enumerate(cited, 1)}
    lines: list[str] = []
    parts = _parts(words)

    def place(one: Reference) -> tuple[object, ...]:
        name = one.workload.casefold()
        return -sum(part in name for part in parts), name, one.metric, one.unit

    ordered = sorted(found, key=place)
    for (workload, metric, unit), rows in groupby(
        ordered, key=lambda one: (one.workload, one.metric, one.unit)
    ):
        lines += textwrap.wrap(f"{workload}, {str(metric).replace('_', ' ')} in {unit}", WIDTH)
        by_size = sorted(rows, key=lambda one: (one.gpus, one.precision, one.gpu.name, -one.value))
        lines += [_row(one, sources[one.system, one.source]) for one in by_size]
        lines.append("")
    lines.append("sources")
    for (system, source), number in sources.items():
        lines += [f"[{number}] {system}", *_wrapped(source)]
    return lines


def _row(one: Reference, source: int) -> str:
    """Precision, GPUs, batch, value, whose it is; never wider than the terminals of old."""
    gpu = _gpu(one)
    batch = f"b{one.batch_size}" if one.batch_size else ""
    value = trimmed(one.value, 3, thousands=True)
    left = f"  {one.gpus:>3} × {gpu:<16} {one.precision:<10} {batch:>5} {value:>11} "
    mark = f" [{source}]"
    room = WIDTH - len(left) - len(mark)
    whose = one.framework if len(one.framework) <= room else f"{one.framework[: room - 1]}…"
    return f"{left}{whose:<{room}}{mark}"


def _gpu(one: Reference) -> str:
    """Its model, without the maker's name."""
    name = one.gpu.name
    for brand in _BRANDS:
        name = name.removeprefix(brand)
    return name


def _wrapped(source: str) -> list[str]:
    """On as many lines as it takes; an address stays whole, to be copied."""
    if " " not in source:
        return [f"    {source}"]
    return textwrap.wrap(source, WIDTH, initial_indent="    ", subsequent_indent="    ")
