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
    base_caption,
    card_name,
    group_title,
    of_group,
    speedup_notes,
    throughput_caption,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.numbers import fixed
from backends.results.render import Column, Table
from backends.results.results_json import Cell
from backends.results.summary import Group
from backends.results.translations import pick

TIME_TO_TRAIN = ("time_to_train", "time_to_train_s", "time2train", "train_time_s")
ACCURACY = ("accuracy", "top1", "val_top1", "top_1", "acc", "miou", "mIoU", "map", "mAP")
"""Names under which a profile may keep these metrics (seconds; percent), best first."""
OF_TRAINING = frozenset({"oneflow-resnet50", "paddleclas-resnet50"})
"""Profiles whose logs have the top-1 of a training batch alone, which is no accuracy of a model."""


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
                fixed(case.throughput, decimals, thousands=True, nothing=DASH),
                DASH if _of_training(case) else _metric(case, ACCURACY, decimals=2),
                speedup_cell(case, group, nothing=DASH) if several else DASH,
            )
        )
    return Table(
        title=group_title(group, groups),
        columns=(Column("", "left"), *(Column(heading) for heading in headings[1:])),
        rows=tuple(rows),
        caption=w.gap.join(
            filter(None, [throughput_caption(group, w), base_caption(group, w) * several])
        ),
        shared=of_group(group),
        notes=(
            *speedup_notes([group], w, marked=several),
            *(
                [
                    pick(
                        options.lang,
                        "Accuracy: the logs have that of training batches alone.",
                        "准确率：日志中只有训练批次的准确率。",
                    )
                ]
                * any(map(_of_training, group.cases))
            ),
        ),
    )


def _of_training(case: CaseResult) -> bool:
    """Its accuracy was read from a training log, not entered as what was published."""
    told = any(name in case.metrics for name in ACCURACY)
    return told and case.profile in OF_TRAINING and any(run.readings for run in case.runs)


def _metric(case: CaseResult, names: Sequence[str], *, decimals: int) -> str:
    return fixed(_known(case, names), decimals, thousands=True, nothing=DASH)


def _known(case: CaseResult, names: Sequence[str]) -> float | None:
    return next((case.metrics[name] for name in names if name in case.metrics), None)


def _rows(case: CaseResult) -> list[dict[str, Cell]]:
    return [
        {
            "time_to_train_s": _known(case, TIME_TO_TRAIN),
            "throughput": case.throughput,
            "accuracy_percent": None if _of_training(case) else _known(case, ACCURACY),
            "speedup": case.speedup,
        }
    ]


LAYOUT = layout_of_tables(
    "airank",
    "the AI-Rank benchmark's table: time to train, throughput, accuracy, speedup",
    airank_tables,
    rows=_rows,
)
