"""What is marked on the matrix, as values: wanted cases, shown parameter values, settings.

A mark is a wish: a wanted case counts while the hosts can run it, and comes back by itself when
they can again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from backends.hosts.host_facts import AWAY, HostSnapshot, HostState
from backends.inventory.nodesets import ranked_nodeset
from backends.results.past_result import PLACES
from profiles.case_tag import parse_tag
from profiles.errors import SelectionError
from profiles.format.case import CLUSTER, GLOBAL_BATCH, Case
from profiles.format.case_matrix import exclusion, infeasible, shared_out
from profiles.format.host_capacity import HostCapacity
from profiles.format.site_settings import needs_value
from profiles.scalars import Scalar

if TYPE_CHECKING:
    from profiles.format.presets import Preset
    from profiles.format.profile import Profile

T = TypeVar("T")
Rows = tuple[tuple["Cell", ...], ...]
"""Rows (cases) of columns (parameter combinations)."""

MAX_COLUMNS = 8
"""A new profile shows values of further parameters only while the columns stay within this."""


QUEUE = HostSnapshot("the queue", "", HostState.PROBING)
"""Stands for its hosts until it has told which there are: as many as any case may need."""

MOST_CELLS = 1000
"""Of one profile's grid, which is drawn and asked about again with every change of the cluster."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the grid. ``reason``: why it cannot be marked; "" when it can. ``awaits``: the
    hosts whose answer decides whether it can run; empty when that is known."""

    case: Case
    state: Literal["marked", "free", "impossible"]
    reason: str = ""
    awaits: tuple[str, ...] = ()

    @property
    def strong(self) -> bool:
        """Its devices share a global batch; else each has the batch of its column."""
        return GLOBAL_BATCH in self.case.parameters


@dataclass(frozen=True, slots=True)
class Marks:
    """A profile's part of the matrix. ``wanted``: case keys. ``shown``: values per parameter.

    ``weak``: there are columns with a batch per device. ``totals``: global batches, each of them a
    column of strong scaling for every combination of the other parameters.
    """

    profile: Profile
    tags: tuple[str, ...]
    shown: Mapping[str, tuple[Scalar, ...]]
    wanted: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    weak: bool = True
    totals: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[Mapping[str, Scalar], ...]:
        """Every combination of the shown values, in the profile's order of parameters.

        Columns of strong scaling have :data:`GLOBAL_BATCH` in place of the batch size.
        """
        weak = _combinations(self.shown) if self.weak else ()
        others = _combinations(without_batch(self.shown))
        return (*weak, *({**o, GLOBAL_BATCH: total} for total in self.totals for o in others))

    @property
    def touched(self) -> bool:
        """Something is wanted, set, or shown in other columns than by itself."""
        by_itself = replace(new_marks(self.profile), tags=self.tags)
        return self != by_itself

    def case(self, tag: str, values: Mapping[str, Scalar]) -> Case:
        """The case of a row and a column.

        Raises
        ------
        SelectionError: the row's devices cannot share the column's global batch.
        """
        nodes, gpus = parse_tag(tag)
        total = values.get(GLOBAL_BATCH)
        if not isinstance(total, int):
            return Case(self.profile.name, nodes, gpus, values)
        given = {**values, "batch_size": shared_out(self.profile, total, nodes * gpus)}
        ordered = {name: given[name] for name in (*self.profile.parameters, GLOBAL_BATCH)}
        return Case(self.profile.name, nodes, gpus, ordered)

    def cells(self, hosts: Sequence[HostSnapshot]) -> Rows:
        """As these hosts allow."""
        known, awaited = capacity(hosts)
        away = _away_words(hosts)
        columns = self.columns
        return tuple(
            tuple(self._cell(tag, values, known, awaited, away) for values in columns)
            for tag in self.tags
        )

    def _cell(
        self,
        tag: str,
        values: Mapping[str, Scalar],
        known: Sequence[HostCapacity],
        awaited: tuple[HostCapacity, ...],
        away: str,
    ) -> Cell:
        try:
            case = self.case(tag, values)
        except SelectionError as error:
            return Cell(Case(self.profile.name, *parse_tag(tag), values), "impossible", error.what)
        if condition := exclusion(self.profile, case):
            return Cell(case, "impossible", f"excluded by the profile: {condition}")
        awaits: tuple[str, ...] = ()
        if reason := infeasible(self.profile, case, known):
            if awaited:
                times = case.nodes if awaited[0].name == QUEUE.name else 1
                reason = infeasible(self.profile, case, [*known, *(awaited * times)])
            if reason:
                return Cell(case, "impossible", reason + away)
            awaits = tuple(host.name for host in awaited)
        return Cell(case, "marked" if case.key in self.wanted else "free", awaits=awaits)

    def marked(self, hosts: Sequence[HostSnapshot]) -> tuple[Case, ...]:
        """The cases that would run now."""
        return marked_cases(self.cells(hosts)) if self.wanted else ()  # as of most profiles

    def toggled(self, cells: Sequence[Cell]) -> Marks:
        """All of ``cells`` marked, or none when all of them were."""
        keys = {cell.case.key for cell in cells if cell.state != "impossible"}
        if all(cell.state != "free" for cell in cells):
            return replace(self, wanted=self.wanted - keys)
        return replace(self, wanted=self.wanted | keys)

    def with_all(self, hosts: Sequence[HostSnapshot]) -> Marks:
        """Everything that these hosts can run, or that they may yet, wanted too."""
        cells = [cell for row in self.cells(hosts) for cell in row]
        keys = {cell.case.key for cell in cells if cell.state != "impossible"}
        return replace(self, wanted=self.wanted | keys)

    def with_defaults(self, most_gpus: int | None = None) -> Marks:
        """With the profile's own cases wanted, at the default of every parameter.

        ``most_gpus``: only cases of one host with at most so many devices.
        """
        sizes = {tag: parse_tag(tag) for tag in self.profile.matrix.cases}
        tags = [
            tag
            for tag, (nodes, gpus) in sizes.items()
            if most_gpus is None or (nodes == 1 and gpus <= most_gpus)
        ]
        defaults = self.profile.defaults
        shown = {
            name: chosen if defaults[name] in chosen else (defaults[name], *chosen)
            for name, chosen in self.shown.items()
        }
        wanted = self.wanted | self._keys(tags, self._default_columns())
        return replace(self, wanted=wanted, shown=shown)

    def with_case(self, tag: str) -> Marks:
        """With one more row, wanted at the defaults.

        Raises
        ------
        SelectionError: ``tag`` is no case tag, or the grid is full.
        """
        nodes, gpus = parse_tag(tag)
        name = f"{nodes}n{gpus}g"
        changed = replace(self, tags=tuple(sorted({*self.tags, name}, key=parse_tag)))
        changed._refuse_too_large()
        return replace(changed, wanted=self.wanted | self._keys([name], self._default_columns()))

    def with_wanted(self, keys: Iterable[str]) -> Marks:
        """Exactly those wanted that the grid has."""
        return replace(self, wanted=frozenset(keys) & self._keys(self.tags, self.columns))

    def with_rows(self, tags: Iterable[str]) -> Marks:
        """With more of them, nothing wanted there: as many as the grid has room for."""
        room = MOST_CELLS // max(1, len(self.columns)) - len(self.tags)
        more = [tag for tag in tags if tag not in self.tags][: max(0, room)]
        return replace(self, tags=tuple(sorted((*self.tags, *more), key=parse_tag)))

    def with_preset(self, preset: Preset) -> Marks:
        """Exactly its cases wanted, their values shown, and every setting but the places where
        something lies at the profile's default.

        Raises
        ------
        SelectionError: the grid would be too large.
        """
        shown = {
            name: tuple(dict.fromkeys(case.parameters[name] for case in preset.cases))
            for name in self.profile.parameters
        }
        kept = {
            name: value
            for name, value in self.settings.items()
            if self.profile.settings[name].check in PLACES or needs_value(self.profile, name)
        }
        tags = tuple(sorted({*self.tags, *(case.tag for case in preset.cases)}, key=parse_tag))
        wanted = frozenset(case.key for case in preset.cases)
        changed = replace(
            self, tags=tags, shown=shown, wanted=wanted, settings=kept, weak=True, totals=()
        )
        changed._refuse_too_large()
        return changed

    def _default_columns(self) -> Sequence[Mapping[str, Scalar]]:
        """The default of every parameter; of the batch size, or with each of the global batches."""
        defaults = self.profile.defaults
        strong = [{**without_batch(defaults), GLOBAL_BATCH: total} for total in self.totals]
        return [defaults, *strong] if self.weak else strong

    def _keys(self, tags: Iterable[str], columns: Iterable[Mapping[str, Scalar]]) -> frozenset[str]:
        """Of every case that there is; hosts are not asked."""
        keys = set()
        for tag, column in itertools.product(tags, columns):
            try:
                keys.add(self.case(tag, column).key)
            except SelectionError:  # a global batch that these devices cannot share
                continue
        return frozenset(keys)

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
        changed._refuse_too_large()
        return replace(changed, wanted=self.wanted & changed._keys(changed.tags, changed.columns))

    def with_scaling(self, *, weak: bool, totals: Iterable[int]) -> Marks:
        """With other kinds of scaling as columns; rows that are wanted are so under new ones, too.

        Raises
        ------
        SelectionError: neither kind, a global batch that no row can share, or too many columns.
        """
        changed = replace(self, weak=weak, totals=tuple(sorted(set(totals))))
        if not weak and not changed.totals:
            raise SelectionError("neither weak nor strong scaling is marked", remedy="mark one")
        changed._refuse_too_large()
        for total in changed.totals:
            changed.shares(total)
        new: list[dict[str, Scalar]] = [
            {GLOBAL_BATCH: total} for total in changed.totals if total not in self.totals
        ]
        if weak and not self.weak:
            own, sizes = self.profile.parameters["batch_size"].default, self.shown["batch_size"]
            new.append({"batch_size": own if own in sizes else sizes[0]})
        others = _combinations(without_batch(self.shown))
        wanted = self.wanted & changed._keys(changed.tags, changed.columns)
        for tag, values in self._wanted_at(others) or itertools.product(self.tags, others[:1]):
            wanted |= changed._keys([tag], [{**values, **batch} for batch in new])
        return replace(changed, wanted=wanted)

    def _wanted_at(
        self, others: Sequence[Mapping[str, Scalar]]
    ) -> Sequence[tuple[str, Mapping[str, Scalar]]]:
        """The rows, with values of what is no batch size, that have a mark under any batch."""
        sizes = self.shown["batch_size"] if self.weak else ()
        batches: list[dict[str, Scalar]] = [{"batch_size": size} for size in sizes]
        batches += [{GLOBAL_BATCH: total} for total in self.totals]
        return [
            (tag, values)
            for tag, values in itertools.product(self.tags, others)
            if self.wanted & self._keys([tag], [{**values, **batch} for batch in batches])
        ]

    def shares(self, total: int) -> Mapping[str, int | str]:
        """By row what each device gets of a global batch, or why that cannot be.

        Raises
        ------
        SelectionError: it can in no row; the reason is that of the first.
        """
        found: dict[str, int | str] = {}
        errors: list[SelectionError] = []
        for tag in self.tags:
            nodes, gpus = parse_tag(tag)
            try:
                found[tag] = int(shared_out(self.profile, total, nodes * gpus))
            except SelectionError as error:
                errors.append(error)
                found[tag] = error.what
        if len(errors) == len(self.tags):
            raise errors[0]
        return found

    def _refuse_too_large(self) -> None:
        others = math.prod(map(len, without_batch(self.shown).values()))
        weak = len(self.shown.get("batch_size", ("",))) if self.weak else 0
        rows, columns = len(self.tags), others * (weak + len(self.totals))
        if rows * columns > MOST_CELLS:
            raise SelectionError(
                f"a grid of {rows} × {columns:,} cells is more than the {MOST_CELLS:,} shown here",
                remedy="mark fewer values; 'dlperf-tui run --set …' takes more",
            )


def _combinations(shown: Mapping[str, Sequence[Scalar]]) -> list[dict[str, Scalar]]:
    return [dict(zip(shown, point, strict=True)) for point in itertools.product(*shown.values())]


def without_batch(values: Mapping[str, T]) -> dict[str, T]:
    return {name: value for name, value in values.items() if name != "batch_size"}


def marked_cases(cells: Rows) -> tuple[Case, ...]:
    """Of a grid, those that would run now."""
    return tuple(c.case for row in cells for c in row if c.state == "marked" and not c.awaits)


def on_any_cluster(case: Case) -> Case:
    """As it is on the grid."""
    parameters = {name: value for name, value in case.parameters.items() if name != CLUSTER}
    return replace(case, parameters=parameters)


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


def capacity(
    hosts: Sequence[HostSnapshot],
) -> tuple[tuple[HostCapacity, ...], tuple[HostCapacity, ...]]:
    """What the reachable hosts hold; and those that have not answered yet, which may hold all."""
    known = tuple(
        h.capacity for h in hosts if h.state not in AWAY and (h.facts is not None or h.slots)
    )
    awaited = tuple(
        h.capacity
        for h in hosts
        if h.facts is None and not h.slots and h.state in (HostState.UNKNOWN, HostState.PROBING)
    )
    return known, awaited


def _away_words(hosts: Sequence[HostSnapshot]) -> str:
    """Behind how many there are: which of the page's hosts are not among them."""
    if not (names := [host.name for host in hosts if host.state in AWAY]):
        return ""
    return f" ({ranked_nodeset(names)} {'does' if len(names) == 1 else 'do'} not answer)"
