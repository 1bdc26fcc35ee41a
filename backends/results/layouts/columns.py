"""How a group is called when it becomes a column beside others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from backends.results.summary import Group, parameters_text
from backends.results.translations import Lang, pick
from profiles.scalars import scalar_text

if TYPE_CHECKING:
    from profiles.scalars import Scalar

IN_HEADINGS = frozenset({"batch_size", "precision"})
"""Parameters that a column's heading has, or the table's title."""
_PRECISIONS = ("fp32", "tf32", "amp", "fp16", "bf16")


def precision_order(group: Group) -> tuple[int, str, int, str]:
    """FP32 before mixed before half precision, then by batch size."""
    precision = (group.precision or "").lower()
    rank = next(
        (i for i, known in enumerate(_PRECISIONS) if re.search(rf"\b{known}\b", precision)),
        len(_PRECISIONS),
    )
    return rank, precision, group.batch_size or 0, str(sorted(group.parameters.items()))


def pivot_labels(groups: Sequence[Group]) -> tuple[tuple[str, str], ...]:
    """Per group its heading and the same as words: ``FP32(BS=256)`` and ``FP32 BS=256``.

    Other parameters are named only where the groups differ in them.
    """
    differing = differing_parameters(groups)
    labels: list[tuple[str, str]] = []
    for group in groups:
        details = [] if group.batch_size is None else [f"BS={group.batch_size}"]
        details += [
            f"{name}={scalar_text(group.parameters[name])}"
            for name in differing
            if name in group.parameters and name not in ("batch_size", "precision")
        ]
        name = (group.precision or "").upper() or group.framework
        inside = ", ".join(details)
        labels.append((f"{name}({inside})" if inside else name, " ".join([name, *details])))
    return tuple(labels)


def fixed_caption(groups: Sequence[Group], labels: Sequence[str], lang: Lang) -> str:
    """``With compile=on, graphs=on.``: what no heading has, and what a figure alone is not true
    without; of columns that differ in it each by its label. Empty of no further parameters."""
    fixed, untold = _in_no_heading(groups, labels)
    said = parameters_text(fixed)
    lines = [pick(lang, f"With {said}.", f"其他参数：{said}。")] if said else []
    lines += [f"{label}: {parameters_text(own)}." for label, own in untold.items()]
    return " ".join(lines)


def fixed_cells(groups: Sequence[Group], labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The same by name, ``(compile, on)``; of columns that differ in it ``compile (label)``."""
    fixed, untold = _in_no_heading(groups, labels)
    each = [(f"{n} ({label})", v) for label, own in untold.items() for n, v in own.items()]
    return tuple((name, scalar_text(value)) for name, value in (*fixed.items(), *each))


def _in_no_heading(
    groups: Sequence[Group], labels: Sequence[str]
) -> tuple[Mapping[str, Scalar], Mapping[str, Mapping[str, Scalar]]]:
    """Parameters with their values: those of all groups, and by label those of one."""
    differing = differing_parameters(groups)
    in_words = [
        {n: v for n, v in group.parameters.items() if n not in IN_HEADINGS} for group in groups
    ]
    untold = {
        label: {n: v for n, v in own.items() if n in differing and f"{n}=" not in label}
        for label, own in zip(labels, in_words, strict=True)
    }
    fixed = {n: v for n, v in in_words[0].items() if n not in differing}
    return fixed, {label: own for label, own in untold.items() if own}


def differing_parameters(groups: Sequence[Group]) -> tuple[str, ...]:
    """Names of the parameters that do not have the same value in every group, in their order."""
    names = dict.fromkeys(name for group in groups for name in group.parameters)
    return tuple(
        name for name in names if len({str(group.parameters.get(name, "")) for group in groups}) > 1
    )


def framework_labels(groups: Sequence[Group]) -> tuple[str, ...]:
    """Frameworks; where one has several groups also what tells these apart."""
    labels: list[str] = []
    for group in groups:
        alike = [other for other in groups if other.framework == group.framework]
        details: list[str] = []
        if any(other.profile != group.profile for other in alike):
            details.append(group.profile)
        details += [
            f"{name}={scalar_text(group.parameters[name])}"
            for name in differing_parameters(alike)
            if name in group.parameters
        ]
        if any(other.campaign != group.campaign for other in alike):
            details.append(group.campaign)
        labels.append(" ".join([group.framework, *details]))
    return tuple(labels)
