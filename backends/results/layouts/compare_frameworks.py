"""DLPerf's comparison: frameworks side by side, each with its speedup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.results.device_words import words_of
from backends.results.layouts.cells import speedup_cell
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
    speedup_notes,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.numbers import fixed
from backends.results.render import Column, Table
from backends.results.summary import Group
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
    w, decimals = words_of(own, options.lang), options.throughput_decimals()
    columns = [Column(w.nodes), Column(w.compare_gpus)]
    labels = framework_labels(own)
    for rank, (group, label) in enumerate(zip(own, labels, strict=True)):  # the last go first
        columns += [Column(f"{group.unit}({label})", rank=rank), Column(w.speedup, rank=rank)]
    sizes = sorted({(case.gpus, case.nodes, case.case) for group in own for case in group.cases})
    rows: list[tuple[str, ...]] = []
    for gpus, nodes, tag in sizes:
        cells = [str(nodes), str(gpus)]
        for group in own:
            case = next((case for case in group.cases if case.case == tag), None)
            if case is None:
                cells += [DASH, DASH]
            else:
                cells.append(fixed(case.throughput, decimals, nothing=DASH))
                cells.append(speedup_cell(case, group, nothing=DASH))
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
        notes=tuple(speedup_notes(own, w)),
        shared=(
            ("model", first.model),
            *((n, scalar_text(v)) for n, v in first.parameters.items() if n in IN_HEADINGS),
            *fixed_cells(own, labels),
        ),
    )


LAYOUT = layout_of_tables(
    "compare", "frameworks side by side, each with its speedup", compare_tables
)
