"""The table of the Perf reports: devices down, precision and batch size across, logs below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.results.case_result import CaseResult
from backends.results.dataframe import throughput_grid
from backends.results.device_words import words_of
from backends.results.findings import Concern
from backends.results.layouts.cells import cv_cell, flags_cell
from backends.results.layouts.columns import (
    fixed_caption,
    fixed_cells,
    pivot_labels,
    precision_order,
)
from backends.results.layouts.common import (
    DASH,
    DEFAULT,
    LayoutOptions,
    card_name,
    identity,
    simulated,
    throughput_caption,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.mixed_environments import unlike_devices
from backends.results.render import Column, Link, Table
from backends.results.summary import Group
from backends.results.translations import Words


def pivot_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table per profile; ``-`` where a case has no figure.

    Cases with as many GPUs on another number of nodes get a row of their own, with the tag.
    """
    by_profile: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        by_profile.setdefault((group.campaign, group.profile), []).append(group)
    return tuple(_table(own, groups, options) for own in by_profile.values())


def _table(own: Sequence[Group], groups: Sequence[Group], options: LayoutOptions) -> Table:
    w = words_of(own, options.lang)
    own = sorted(own, key=precision_order)
    labels = pivot_labels(own)
    grid = throughput_grid(own)
    gpus_of = [gpus for gpus, _, _ in grid.index]
    cases = {(case.case, column): case for column, group in enumerate(own) for case in group.cases}
    marks = {} if options.exact else {place: _marks(case) for place, case in cases.items()}
    given = {mark for own_marks in marks.values() for mark in own_marks}
    rows = [
        (
            _with_tag(str(gpus), gpus, tag, gpus_of),
            *(
                " ".join([options.throughput(value, nothing=DASH), *marks.get((tag, column), ())])
                for column, value in enumerate(values)
            ),
            *(_doubts(own, tag) if options.exact else ()),
        )
        for (gpus, _, tag), values in zip(grid.index, grid.rows, strict=True)
    ]
    first = own[0]
    headings = [label for label, _ in labels]
    said = fixed_caption(own, headings, options.lang)
    title = f"{first.framework} {first.model} ({first.unit})"
    if any(group.campaign != first.campaign for group in groups):
        title += f" · {first.campaign}"
    return Table(
        title=title,
        columns=(
            Column(w.cards),
            *(Column(name, rank=1) for name in headings),
            *([Column(w.grade), Column(w.flags, "left")] if options.exact else ()),
        ),
        rows=tuple(rows),
        caption=w.gap.join(filter(None, [throughput_caption(first, w), said])),
        notes=(
            *([w.simulated] if simulated(own) else []),
            *(legend for mark, legend in _legends(w).items() if mark in given),
        ),
        shared=(*identity(own), ("unit", first.unit), *fixed_cells(own, headings)),
        links=tuple(_links(own, [words for _, words in labels], gpus_of, w)),
    )


def _with_tag(words: str, gpus: int, tag: str, gpus_of: Sequence[int]) -> str:
    """``2 (1n2g)`` where another row is of as many."""
    return f"{words} ({tag})" if gpus_of.count(gpus) > 1 else words


def _marks(case: CaseResult) -> tuple[str, ...]:
    several = Concern.MIXED_ENVIRONMENT in case.concerns or unlike_devices(case)
    mixed = ("†",) * several
    return (*mixed, *cv_cell(case).split(" ")[1:])


def _legends(w: Words) -> Mapping[str, str]:
    return {"†": w.mark_mixed, "!": w.mark_amber, "!!": w.mark_red}


def _doubts(own: Sequence[Group], tag: str) -> tuple[str, str]:
    """The worst grade of a row's figures, and the flags of all its cases."""
    cases = [case for group in own for case in group.cases if case.case == tag]
    worst = max((case.grade for case in cases if case.grade), default=DASH)
    return worst, flags_cell(cases)


def _links(
    own: Sequence[Group], labels: Sequence[str], gpus_of: Sequence[int], w: Words
) -> list[Link]:
    """Logs of the successful runs by GPUs, as the rows have them (``gpus_of``), then by column;
    numbered where a cell has several."""
    links: list[tuple[int, int, int, Link]] = []
    for column, (group, label) in enumerate(zip(own, labels, strict=True)):
        for case in group.cases:
            row = _with_tag(card_name(case.gpus, w), case.gpus, case.case, gpus_of)
            name = w.log_link.format(gpus=row, column=label)
            logs = sorted((run.repeat, run.log) for run in case.measured_runs if run.log)
            for repeat, log in logs:
                text = f"{name} #{repeat}" if len(logs) > 1 else name
                links.append((case.gpus, case.nodes, column, Link(text, log)))
    return [link for *_, link in sorted(links, key=lambda entry: entry[:3])]


LAYOUT = layout_of_tables("pivot", "devices down, settings across", pivot_tables)
