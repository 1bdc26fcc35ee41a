"""Short names of the cases of a set: what tells them apart, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from profiles.format.case import SHORT, Case, in_order


@dataclass(frozen=True, slots=True)
class CaseLabels:
    """``named``: the parameters that a case of the set is called by; ``shared``: the others, which
    are the same for all. Both have the order of :attr:`Case.label`."""

    named: tuple[str, ...] = ()
    shared: str = ""

    def label(self, case: Case) -> str:
        """``2n8g b128 compile=on``"""
        return " ".join([case.tag, *self._values(case)])

    def without_size(self, case: Case) -> str:
        """``b128 compile=on``; empty where only sizes tell the cases of the set apart."""
        return " ".join(self._values(case))

    def _values(self, case: Case) -> list[str]:
        return [case.value_label(name) for name in self.named if name in case.parameters]


def parameter_values(cases: Iterable[Case]) -> tuple[str, ...]:
    """Every value that a parameter has in any of them, ``b256 amp compile=on``: in the order of
    :attr:`Case.label`."""
    seen = tuple({tuple(case.parameters.items()): case for case in cases}.values())
    names = in_order({name for case in seen for name in case.parameters})
    values = (c.value_label(name) for name in names for c in seen if name in c.parameters)
    return tuple(dict.fromkeys(values))


def apart(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Names by what tells them apart, and what all of them begin or end with (``…-resnet50``;
    nothing of one name): of ``ngc-pytorch-resnet50`` and ``mxnet-resnet50`` are left
    ``ngc-pytorch`` and ``mxnet``."""
    words = {name: name.split("-") for name in names}
    if len(words) < 2:
        return {name: name for name in words}, ""
    most = min(map(len, words.values())) - 1
    begin = _alike(words.values(), most)
    end = _alike((own[::-1] for own in words.values()), most - begin)
    short = {name: "-".join(own[begin : len(own) - end]) for name, own in words.items()}
    one = next(iter(words.values()))
    if not begin + end:
        return short, ""
    return short, "-".join([*one[:begin], "…", *one[len(one) - end :]])


def _alike(names: Iterable[Sequence[str]], most: int) -> int:
    """How many of the first words all have, at most ``most``."""
    together = enumerate(zip(*names, strict=False))
    return next((n for n, own in together if n == most or len(set(own)) > 1), most)


def case_labels(cases: Iterable[Case]) -> CaseLabels:
    """How the cases of a set are called beside one another.

    What differs is named. Batch size and precision are also where nothing else differs, since they
    are short and what is asked for first.
    """
    seen = {tuple(case.parameters.items()): case for case in cases}.values()
    names = in_order({name for case in seen for name in case.parameters})
    differing = {name for name in names if len({case.text(name) for case in seen}) > 1}
    if differing <= set(SHORT):
        differing |= set(SHORT)
    shared = [name for name in names if name not in differing]
    one = next(iter(seen), None)
    return CaseLabels(
        tuple(name for name in names if name in differing),
        "" if one is None else " ".join(one.value_label(name) for name in shared),
    )
