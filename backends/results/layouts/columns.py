"""How a group is called when it becomes a column beside others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.results.summary import Group, parameters_text, scalar_text
from backends.results.translations import Lang, pick

_IN_HEADINGS = frozenset({"batch_size", "precision"})
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
    differing = differing_parameters(groups)
    fixed = [
        {n: v for n, v in group.parameters.items() if n not in _IN_HEADINGS and n not in differing}
        for group in groups
    ]
    said = parameters_text(fixed[0])
    lines = [pick(lang, f"With {said}.", f"其他参数：{said}。")] if said else []
    for group, label in zip(groups, labels, strict=True):
        own = {n: v for n, v in group.parameters.items() if n in differing}
        untold = {n: v for n, v in own.items() if n not in _IN_HEADINGS and f"{n}=" not in label}
        if untold:
            lines.append(f"{label}: {parameters_text(untold)}.")
    return " ".join(lines)


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
