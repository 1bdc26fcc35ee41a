"""The AI-Rank table: time to train, throughput, accuracy and speedup by number of GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from backends.results.case_result import CaseResult
from backends.results.device_words import words_of
from backends.results.layouts.cells import speedup_cell
from backends.results.layouts.common import (
    DASH,
    DEFAULT,
    LayoutOptions,
    card_name,
    group_title,
    speedup_notes,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.numbers import trimmed
from backends.results.render import Column, Table
from backends.results.summary import Group

TIME_TO_TRAIN = ("time_to_train", "time_to_train_s", "time2train", "train_time_s")
ACCURACY = ("accuracy", "top1", "val_top1", "top_1", "acc", "miou", "mIoU", "map", "mAP")
"""Names under which a profile may keep these metrics (seconds; percent), best first."""


def airank_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table per group; ``-`` where there is nothing.

    A base to which nothing can be compared yet has no speedup: one measured case scales nowhere.
    """
    return tuple(_table(group, groups, options) for group in groups)


def _table(group: Group, groups: Sequence[Group], options: LayoutOptions) -> Table:
    w = words_of([group], options.lang)
    headings = (
        "",
        w.time_to_train,
        w.airank_throughput.format(unit=group.unit),
        w.accuracy,
        w.speedup,
    )
    several, decimals = len(group.measured_cases) > 1, options.throughput_decimals()
    gpus_of = [case.gpus for case in group.cases]
    rows = []
    for case in group.cases:
        name = card_name(case.gpus, w)
        rows.append(
            (
                f"{name} ({case.case})" if gpus_of.count(case.gpus) > 1 else name,
                _metric(case, TIME_TO_TRAIN, decimals=0),
                trimmed(case.throughput, decimals, thousands=True, nothing=DASH),
                _metric(case, ACCURACY, decimals=2),
                speedup_cell(case, group, nothing=DASH) if several else DASH,
            )
        )
    return Table(
        title=group_title(group, groups),
        columns=(Column("", "left"), *(Column(heading) for heading in headings[1:])),
        rows=tuple(rows),
        notes=tuple(speedup_notes([group], w)),
    )


def _metric(case: CaseResult, names: Sequence[str], *, decimals: int) -> str:
    metrics = case.metrics
    value = next((metrics[name] for name in names if name in metrics), None)
    return trimmed(value, decimals, thousands=True, nothing=DASH)


LAYOUT = layout_of_tables(
    "airank", "time to train, throughput, accuracy and speedup by number of GPUs", airank_tables
)
