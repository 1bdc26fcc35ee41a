"""What is known of a run beside its readings: the case's own values and what the log states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from profiles.errors import ProfileError
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.expression import Expression, parse_expression
from profiles.format.run_fact_names import CALLED_OTHERWISE, NUMBERS, TEXTS
from profiles.logs.readings import to_number
from profiles.scalars import Scalar


class Facts:
    """The facts of one run. What its log states goes before what the case says.

    Parameters
    ----------
    stated: by name of a parameter or fact, as :attr:`profiles.logs.log_parser.LogParser.stated`.
    computed: the arithmetic for numbers that are not stated, by name; of several the first that
        everything is known for.
    called: the facts that parameters of the case are, by the parameters' names.
    """

    def __init__(
        self,
        case: Case,
        stated: Mapping[str, str] = MappingProxyType({}),
        computed: Mapping[str, str | Sequence[str]] = MappingProxyType({}),
        called: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._called = called
        self._computed = computed
        self._case = case
        self._stated = stated

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The facts that are numbers: those that the log states and those that follow from them."""
        found = {name: to_number(self._stated[name]) for name in self._stated if name in NUMBERS}
        found = {name: number for name, number in found.items() if math.isfinite(number)}
        for name, given in self._computed.items():
            if name not in found:
                values = {**self._case.values(), **found}
                ways = (given,) if isinstance(given, str) else given
                numbers = (_number(parse_expression(way), values) for way in ways)
                number = next((number for number in numbers if number is not None), None)
                if number is not None:
                    found[name] = number
        return found

    @property
    def texts(self) -> dict[str, str]:
        """The facts that are words: the log's, and the case's precision."""
        found = {"precision": self._case.precision} if self._case.precision else {}
        return found | {name: text for name, text in self._stated.items() if name in TEXTS}

    @cached_property
    def _values(self) -> dict[str, Scalar]:
        return {**self._case.values(), **self.numbers}

    def value(self, name: str) -> float | None:
        """A number that the log states or the case has; None where neither does."""
        found = self._values.get(name)
        return None if found is None or isinstance(found, str | bool) else found

    def work(self, text: str) -> float | None:
        """What the arithmetic comes to; None where something is unknown, or it is nothing."""
        number = _number(parse_expression(text), self._values)
        return number if number is not None and number > 0 else None

    def unknown(self, text: str) -> Sequence[str]:
        """The names that the arithmetic reads and nobody says."""
        return sorted(parse_expression(text).names - set(self._values))

    @property
    def contradictions(self) -> list[str]:
        """Where the log says something else than the case."""
        case = {name: self._case.text(name) for name in self._case.parameters}
        if self._case.batch_size is not None:
            case[GLOBAL_BATCH] = str(self._case.global_batch)
        case["world_size"] = str(self._case.gpus)
        said = dict(self._stated)
        for name, fact in self._called.items():
            if fact in self.numbers and name in case:
                said.setdefault(name, f"{self.numbers[fact]:.12g}")
        return [
            f"the log says {name} {text}, the case has {case[name]}: one of the two is wrong"
            for name, text in said.items()
            if name in case and name not in CALLED_OTHERWISE and not _same(text, case[name])
        ]


def _number(expression: Expression, values: Mapping[str, Scalar]) -> float | None:
    if not expression.names <= set(values):
        return None
    try:
        return float(expression.number(values))
    except ProfileError:  # such as a division by what the log says is 0
        return None


def _same(text: str, other: str) -> bool:
    one, two = to_number(text), to_number(other)
    return one == two if math.isfinite(one) and math.isfinite(two) else text == other
