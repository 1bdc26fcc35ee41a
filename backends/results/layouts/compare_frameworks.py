"""DLPerf's comparison: frameworks side by side, each with its speedup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.results.case_result import CaseResult
from backends.results.device_words import words_of
from backends.results.layouts.cells import (
    count_cell,
    cv_cell,
    cv_notes,
    flags_cell,
    speedup_cell,
    unended_notes,
)
from backends.results.layouts.columns import (
    IN_HEADINGS,
    fixed_caption,
    fixed_cells,
    framework_labels,
)
from backends.results.layouts.common import (
    DASH,
    DEFAULT,
    LayoutOptions,
    base_caption,
    identity,
    speedup_notes,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.render import Column, Table
from backends.results.summary import Group
from backends.results.translations import Words
from profiles.scalars import scalar_text


def compare_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table per model, batch size and precision; two columns per framework.

    Models count as the same whose names differ in spaces, dashes and case only.
    """
    alike: dict[tuple[str, int | None, str], list[Group]] = {}
    for group in groups:
        model = re.sub(r"[\W_]", "", group.model).lower()
        key = (model, group.batch_size, (group.precision or "").lower())
        alike.setdefault(key, []).append(group)
    return tuple(_table(own, options) for own in alike.values())


def _table(own: Sequence[Group], options: LayoutOptions) -> Table:
    w = words_of(own, options.lang)
    columns = [Column(w.nodes), Column(w.compare_gpus)]
    labels = framework_labels(own)
    for rank, (group, label) in enumerate(zip(own, labels, strict=True)):  # the last go first
        of = f"({label})" * options.exact
        columns.append(Column(f"{group.unit}({label})", rank=rank))
        more = (w.speedup, w.count, w.grade, w.flags) if options.exact else (w.speedup,)
        columns += [Column(f"{name}{of}", rank=rank) for name in more]
    sizes = sorted({(case.gpus, case.nodes, case.case) for group in own for case in group.cases})
    rows: list[tuple[str, ...]] = []
    for gpus, nodes, tag in sizes:
        cells = [str(nodes), str(gpus)]
        for group in own:
            case = next((case for case in group.cases if case.case == tag), None)
            if case is None:
                cells += [DASH] * (5 if options.exact else 2)
            else:
                cells.append(options.throughput(case.throughput, nothing=DASH))
                told = [speedup_cell(case, group, nothing=DASH)]
                cells += _exactly(case) if options.exact else told
        rows.append(tuple(cells))
    first = own[0]
    title = first.model
    if first.batch_size is not None:
        title += f" bsz = {first.batch_size}"
    if first.precision:
        title += f" · {first.precision.upper()}"
    said = fixed_caption(own, labels, options.lang)
    bases = dict.fromkeys(base_caption(group, w) for group in own)
    center = w.caption.format(
        unit=" / ".join(dict.fromkeys(group.unit for group in own)),
        center=w.centers[first.center],
    )
    return Table(
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        caption=w.gap.join(filter(None, [center, *bases, said])),
        notes=(*speedup_notes(own, w), *_how_sure(own, labels, options, w)),
        shared=(
            *identity(own),
            *((n, scalar_text(v)) for n, v in first.parameters.items() if n in IN_HEADINGS),
            *fixed_cells(own, labels),
        ),
    )


def _exactly(case: CaseResult) -> list[str]:
    speedup = DASH if case.speedup is None else repr(case.speedup)
    return [speedup, count_cell(case), case.grade or DASH, flags_cell([case])]


def _how_sure(
    own: Sequence[Group], labels: Sequence[str], options: LayoutOptions, w: Words
) -> list[str]:
    """``OneFlow: 1n1g n 7, CV 0.31%, A; 1n8g n 6/7, CV 2.40% !, B``, and what the marks mean; as
    CSV all of it has columns."""
    if options.exact:
        return []
    lines = [
        f"{label}: {'; '.join(f'{case.case} {_sure(case, w)}' for case in group.cases)}"
        for group, label in zip(own, labels, strict=True)
    ]
    every = [case for group in own for case in group.cases]
    cvs = (case.spread.cv for case in every if case.spread)
    return [*lines, *cv_notes(cvs, w), *unended_notes(every, w)]


def _sure(case: CaseResult, w: Words) -> str:
    return f"{w.count} {count_cell(case)}, {w.cv} {cv_cell(case)}, {case.grade or DASH}"


LAYOUT = layout_of_tables(
    "compare", "frameworks side by side, each with its speedup", compare_tables
)
