"""What is marked on the matrix, as values: wanted cases, shown parameter values, settings.

A mark is a wish: a wanted case counts while the hosts can run it, and comes back by itself when
they can again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from backends.campaign.plan.selection import Selection
from backends.hosts.facts import HostSnapshot, HostState
from backends.results.auto_repeats import AutoRepeats
from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import HostCapacity, exclusion, infeasible
from profiles.scalars import Scalar, scalar_text
from profiles.tags import parse_tag

if TYPE_CHECKING:
    from profiles.format.profile import Profile

MAX_COLUMNS = 8
"""A new profile shows values of further parameters only while the columns stay within this."""


MOST_CELLS = 1000
"""Of one profile's grid, which is drawn and asked about again with every change of the cluster."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the grid. ``reason``: why it cannot be marked; "" when it can."""

    case: Case
    state: Literal["marked", "free", "impossible"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """A profile's part of the matrix. ``wanted``: case keys. ``shown``: values per parameter."""

    profile: Profile
    tags: tuple[str, ...]
    shown: Mapping[str, tuple[Scalar, ...]]
    wanted: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[Mapping[str, Scalar], ...]:
        """Every combination of the shown values, in the profile's order of parameters."""
        names = tuple(self.profile.parameters)
        points = itertools.product(*(self.shown[name] for name in names))
        return tuple(dict(zip(names, point, strict=True)) for point in points)

    def case(self, tag: str, values: Mapping[str, Scalar]) -> Case:
        nodes, gpus = parse_tag(tag)
        return Case(self.profile.name, nodes, gpus, values)

    def cells(self, hosts: Sequence[HostSnapshot]) -> tuple[tuple[Cell, ...], ...]:
        """Rows (cases) of columns (parameter combinations), as these hosts allow."""
        capacities, unknown = capacity(hosts)
        columns = self.columns
        return tuple(
            tuple(self._cell(self.case(tag, values), capacities, unknown) for values in columns)
            for tag in self.tags
        )

    def _cell(self, case: Case, hosts: Sequence[HostCapacity], unknown: int) -> Cell:
        if condition := exclusion(self.profile, case):
            return Cell(case, "impossible", f"excluded by the profile: {condition}")
        if reason := infeasible(self.profile, case, hosts):
            if unknown:
                reason += f", {unknown} not probed yet"
            return Cell(case, "impossible", reason)
        return Cell(case, "marked" if case.key in self.wanted else "free")

    def marked(self, hosts: Sequence[HostSnapshot]) -> tuple[Case, ...]:
        """The cases that would run now."""
        return tuple(
            cell.case for row in self.cells(hosts) for cell in row if cell.state == "marked"
        )

    def toggled(self, cells: Sequence[Cell]) -> Marks:
        """All of ``cells`` marked, or none when all of them were."""
        keys = {cell.case.key for cell in cells if cell.state != "impossible"}
        if all(cell.state != "free" for cell in cells):
            return replace(self, wanted=self.wanted - keys)
        return replace(self, wanted=self.wanted | keys)

    def with_all(self, hosts: Sequence[HostSnapshot]) -> Marks:
        """Everything that these hosts can run wanted too."""
        cells = [cell for row in self.cells(hosts) for cell in row]
        keys = {cell.case.key for cell in cells if cell.state != "impossible"}
        return replace(self, wanted=self.wanted | keys)

    def with_defaults(self, most_gpus: int | None = None) -> Marks:
        """With the profile's own cases wanted, at the default of every parameter.

        ``most_gpus``: only cases of one host with at most so many devices.
        """
        values = {name: p.default for name, p in self.profile.parameters.items()}
        cases = [self.case(tag, values) for tag in self.profile.matrix.cases]
        keys = {
            case.key
            for case in cases
            if most_gpus is None or (case.nodes == 1 and case.gpus <= most_gpus)
        }
        shown = {
            name: chosen if values[name] in chosen else (values[name], *chosen)
            for name, chosen in self.shown.items()
        }
        return replace(self, wanted=self.wanted | keys, shown=shown)

    def with_case(self, tag: str) -> Marks:
        """With one more row, wanted at the defaults.

        Raises
        ------
        SelectionError: ``tag`` is no case tag, or the grid is full.
        """
        nodes, gpus = parse_tag(tag)
        name = f"{nodes}n{gpus}g"
        tags = sorted({*self.tags, name}, key=parse_tag)
        _refuse_too_large(len(tags), self.shown)
        values = {n: p.default for n, p in self.profile.parameters.items()}
        key = self.case(name, values).key
        return replace(self, tags=tuple(tags), wanted=self.wanted | {key})

    def with_values(self, name: str, texts: Sequence[str]) -> Marks:
        """With other values of a parameter as columns; marks of columns that go, go too.

        Raises
        ------
        SelectionError: no value, one that the parameter does not take, or too many for the grid.
        """
        parameter = self.profile.parameters[name]
        known = parameter.by_text
        values: list[Scalar] = []
        for text in texts:
            if text in known:
                values.append(known[text])
                continue
            kind = type(parameter.default)
            if not parameter.free or kind is bool:
                raise SelectionError(
                    f"{name}={text} is not a choice", remedy=f"choose from {', '.join(known)}"
                )
            try:
                values.append(kind(text))
            except ValueError:
                raise SelectionError(
                    f"{name}={text} is not a number", remedy="write a number"
                ) from None
        if not values:
            raise SelectionError(f"{name} needs at least one value", remedy="mark one")
        changed = replace(self, shown={**self.shown, name: tuple(dict.fromkeys(values))})
        _refuse_too_large(len(changed.tags), changed.shown)
        kept = {changed.case(tag, column).key for tag in changed.tags for column in changed.columns}
        return replace(changed, wanted=self.wanted & kept)


def _refuse_too_large(rows: int, shown: Mapping[str, tuple[Scalar, ...]]) -> None:
    columns = math.prod(map(len, shown.values()))
    if rows * columns > MOST_CELLS:
        raise SelectionError(
            f"a grid of {rows} × {columns:,} cells is more than the {MOST_CELLS:,} shown here",
            remedy="mark fewer values; 'dlperf-tui run --set …' takes more",
        )


def new_marks(profile: Profile) -> Marks:
    """Nothing wanted; all values of the first parameters as columns, defaults of the others."""
    shown: dict[str, tuple[Scalar, ...]] = {}
    columns = 1
    for name, parameter in profile.parameters.items():
        if columns * len(parameter.choices) <= MAX_COLUMNS:
            columns *= len(parameter.choices)
            shown[name] = parameter.choices
        else:
            shown[name] = (parameter.default,)
    return Marks(profile, tuple(profile.matrix.cases), shown)


def capacity(hosts: Sequence[HostSnapshot]) -> tuple[tuple[HostCapacity, ...], int]:
    """What the reachable hosts hold, and how many hosts have not answered yet."""
    known = tuple(
        h.capacity
        for h in hosts
        if h.state is not HostState.UNREACHABLE and (h.facts is not None or h.slots)
    )
    unknown = sum(
        h.facts is None and not h.slots and h.state in (HostState.UNKNOWN, HostState.PROBING)
        for h in hosts
    )
    return known, unknown


def value_label(name: str, value: Scalar) -> str:
    """A parameter value in a column heading: b128, fp32, xla=true."""
    if name == "batch_size":
        return f"b{value}"
    if name == "precision":
        return str(value)
    return f"{name}={scalar_text(value)}"


def column_labels(marks: Marks) -> tuple[str, ...]:
    """Headings; a parameter with only one value shown is left out unless nothing else is left."""
    varying = [name for name, values in marks.shown.items() if len(values) > 1]
    short = [n for n in ("batch_size", "precision") if n in marks.shown and n not in varying]
    named = [n for n in marks.shown if n in varying or n in short]
    if not named:
        return ("default",) * len(marks.columns)
    return tuple(
        " ".join(value_label(name, column[name]) for name in named) for column in marks.columns
    )


def selection(
    marks: Mapping[str, Marks],
    snapshots: Sequence[HostSnapshot],
    *,
    repeats: int | None,
    hosts: str,
    auto: AutoRepeats | None = None,
) -> Selection:
    """What "start" asks for: exactly the marked cases."""
    picked: list[Case] = []
    values: dict[str, dict[str, None]] = {}
    tags: dict[str, None] = {}
    chosen: list[str] = []
    for name, part in marks.items():
        cases = part.marked(snapshots)
        if not cases:
            continue
        chosen.append(name)
        picked.extend(cases)
        for case in cases:
            tags[case.tag] = None
            for parameter in case.parameters:
                values.setdefault(parameter, {})[case.text(parameter)] = None
        for setting, value in part.settings.items():
            values.setdefault(setting, {})[value] = None
    return Selection(
        profiles=tuple(chosen),
        cases=tuple(tags),
        values={name: tuple(texts) for name, texts in values.items()},
        repeats=repeats,
        auto=auto,
        hosts=hosts,
        picked=tuple(case.key for case in picked),
    )
