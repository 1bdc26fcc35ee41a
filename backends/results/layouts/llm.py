"""What operators of language models report: tokens/s, per device, TFLOP/s, MFU, J per token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backends.results.case_result import CaseResult
from backends.results.device_words import devices_heading
from backends.results.flop_words import flop_notes
from backends.results.layouts.common import (
    DEFAULT,
    LayoutOptions,
    group_title,
    of_group,
    simulated,
    throughput_caption,
)
from backends.results.layouts.layout import layout_of_tables
from backends.results.numbers import NOTHING, fixed, percent, significant, trimmed
from backends.results.render import Column, Table
from backends.results.results_json import Cell
from backends.results.run_result import TOKENS
from backends.results.summary import Group
from backends.results.telemetry_figures import cost_per_1e9_tokens, joules_per_sample, typical
from backends.results.translations import pick, words

_PARALLEL = (
    ("TP", "tensor_parallel"),
    ("PP", "pipeline_parallel"),
    ("CP", "context_parallel"),
    ("DP", "data_parallel"),
)
_Cell = Callable[[CaseResult], str]


def llm_tables(groups: Sequence[Group], options: LayoutOptions = DEFAULT) -> tuple[Table, ...]:
    """One table per group that is measured in tokens/s."""
    own = [group for group in groups if group.unit == TOKENS]
    return tuple(_table(group, own, options) for group in own)


def _table(group: Group, groups: Sequence[Group], options: LayoutOptions) -> Table:
    lang = options.lang
    w = words(lang)
    columns = _columns(group, options)
    return Table(
        title=group_title(group, groups),
        columns=tuple(column for column, _cell in columns),
        rows=tuple(tuple(cell(case) for _column, cell in columns) for case in group.cases),
        caption=throughput_caption(group, w),
        shared=of_group(group),
        notes=(
            *((w.simulated,) if simulated([group]) else ()),
            *flop_notes((case.metrics for case in group.cases), lang, on_cpus=group.on_cpus),
        ),
    )


def _columns(group: Group, options: LayoutOptions) -> list[tuple[Column, _Cell]]:
    lang = options.lang
    device = "device" if group.on_cpus else "GPU"
    memory = "内存(MiB)" if group.on_cpus else "显存(MiB)"
    called = "stated memory (MiB)" if group.memory_is_stated else "memory (MiB)"
    memory = f"{'日志所述' * group.memory_is_stated}{memory}"
    columns: list[tuple[Column, _Cell]] = [
        (Column(devices_heading([group], lang)), lambda case: str(case.gpus)),
        (Column(pick(lang, "layout", "并行方式"), "left"), _layout),
        (Column("batch"), lambda c: _whole(_batch(c))),
        (
            Column(pick(lang, "sequence", "序列长度"), rank=4),
            lambda c: _whole(_told(c, "sequence_length")),
        ),
        (Column("tokens/s"), _figures(group, lambda case: case.throughput, options)),
        (
            Column(f"tokens/s/{device}"),
            _figures(group, lambda case: case.throughput_per_device, options),
        ),
        (
            Column(f"TFLOP/s/{device}", rank=1),
            lambda c: fixed(c.metrics.get("tflop_per_s_per_gpu"), 1),
        ),
        (Column("MFU"), lambda case: percent(case.metrics.get("mfu"))),
        (Column(pick(lang, called, memory), rank=3), lambda c: _whole(c.gpu_memory_mib)),
        (
            Column("J/token", rank=2),
            lambda c: significant(_joules(c), zeros=True),
        ),
    ]
    if any(_cost(case) is not None for case in group.cases):
        heading = pick(lang, "cost of 10⁹ tokens", "每10⁹ token成本")
        columns.append(
            (Column(heading, rank=2), lambda case: fixed(_cost(case), 2, thousands=True))
        )
    return columns


def _cost(case: CaseResult) -> float | None:
    return typical(case.measured_runs, cost_per_1e9_tokens)


def _integer(value: float | None) -> float | None:
    """Logs have counts as they have figures."""
    return int(value) if value is not None and value == round(value) else value


def _joules(case: CaseResult) -> float | None:
    return typical(case.measured_runs, joules_per_sample)


def _rows(case: CaseResult) -> list[dict[str, Cell]]:
    layout = _layout(case)
    return [
        {
            "layout": None if layout == NOTHING else layout,
            "global_batch": _integer(_batch(case)),
            "sequence_length": _integer(_told(case, "sequence_length")),
            "tokens_per_s": case.throughput,
            "tokens_per_s_per_gpu": case.throughput_per_device,
            "tflop_per_s_per_gpu": case.metrics.get("tflop_per_s_per_gpu"),
            "mfu": case.metrics.get("mfu"),
            "gpu_memory_mib": case.gpu_memory_mib,
            "joules_per_token": _joules(case),
            "cost_per_1e9_tokens": _cost(case),
        }
    ]


def _layout(case: CaseResult) -> str:
    """``TP4 PP2 DP8`` as the log states it, and ``fsdp2`` where a parameter says how."""
    told = [(short, case.metrics.get(name)) for short, name in _PARALLEL]
    parts = [f"{short}{trimmed(value)}" for short, value in told if value is not None]
    how = case.parameters.get("parallel")
    return " ".join([*([str(how)] if isinstance(how, str) else []), *parts]) or NOTHING


def _batch(case: CaseResult) -> float | None:
    """Of all GPUs per step."""
    told = _told(case, "global_batch")
    if told is None and case.batch_size is not None:
        told = case.batch_size * case.gpus
    return told


def _told(case: CaseResult, name: str) -> float | None:
    """By the log, else by the case."""
    value = case.metrics.get(name, case.parameters.get(name))
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: float | None) -> str:
    return trimmed(value)


def _figures(
    group: Group, of: Callable[[CaseResult], float | None], options: LayoutOptions
) -> _Cell:
    """With as many decimals in all rows: none where the smallest is 1,000 or more."""
    told = [value for case in group.cases if (value := of(case)) is not None]
    decimals = options.throughput_decimals(0 if min(told, default=0) >= 1000 else 2)
    return lambda case: fixed(of(case), decimals, thousands=True)


LAYOUT = layout_of_tables(
    "llm",
    "tokens/s, per device, TFLOP/s, MFU and J per token",
    llm_tables,
    rows=_rows,
    fits=lambda groups: any(group.unit == TOKENS for group in groups),
    lacks=("no result is in tokens/s", "leave --layout out for what is measured in others"),
)
