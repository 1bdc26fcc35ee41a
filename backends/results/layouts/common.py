"""What the layouts share: their options, titles, captions and marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from backends.results.busbw_curve import bandwidth_words, is_collective
from backends.results.findings import Concern
from backends.results.layouts.arrange import AS_IT_IS, Arrangement
from backends.results.layouts.cells import speedup_marks
from backends.results.numbers import NOTHING, fixed
from backends.results.scaling_loss import Scaling, scaling
from backends.results.summary import Group, parameters_text
from backends.results.translations import Lang, Words
from profiles.format.case import GLOBAL_BATCH
from profiles.scalars import scalar_text

Style = Literal["full", "oneflow"]

DASH = "-"
"""What the Perf and AI-Rank reports print where there is nothing."""


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """``columns`` and ``style`` are the speedup layout's; ``decimals`` the throughput's;
    ``arrangement`` that of every table. ``exact``: for programs, which take every digit, and no
    heading twice."""

    lang: Lang = "en"
    style: Style = "full"
    columns: tuple[str, ...] | None = None
    decimals: int | None = None
    arrangement: Arrangement = AS_IT_IS
    exact: bool = False

    def throughput_decimals(self, usual: int = 2) -> int:
        return usual if self.decimals is None else self.decimals

    def throughput(self, value: float | None, usual: int = 2, *, nothing: str = NOTHING) -> str:
        if value is not None and self.exact and self.decimals is None:
            return repr(value)
        return fixed(value, self.throughput_decimals(usual), nothing=nothing)


DEFAULT = LayoutOptions()


def group_title(group: Group, groups: Sequence[Group]) -> str:
    """``OneFlow ResNet50 V1.5 · batch_size=128, precision=fp32``, and what else tells it apart."""
    parts = [f"{group.framework} {group.model}"]
    same = [g for g in groups if (g.framework, g.model) == (group.framework, group.model)]
    if any(other.profile != group.profile for other in same):
        parts.append(group.profile)
    if group.parameters:
        parts.append(parameters_text(group.parameters))
    if any(other.campaign != group.campaign for other in groups):
        parts.append(group.campaign)
    return " · ".join(parts)


def identity(groups: Sequence[Group]) -> tuple[tuple[str, str], ...]:
    """What the groups of one table are of, by name, where all are of one."""
    each = {
        "campaign": {group.campaign for group in groups},
        "profile": {group.profile for group in groups},
        "framework": {group.framework for group in groups},
        "model": {group.model for group in groups},
    }
    alike = [(name, min(values)) for name, values in each.items() if len(values) == 1]
    return tuple((name, value) for name, value in alike if value)


def of_group(group: Group) -> tuple[tuple[str, str], ...]:
    """What the table of one group is of, by name: also in what it is measured, and with what."""
    told = ((name, scalar_text(value)) for name, value in group.parameters.items())
    return (*identity([group]), ("unit", group.unit), *told)


def throughput_caption(group: Group, w: Words) -> str:
    """Names the unit and the statistic over the repeats."""
    if is_collective(group):
        words_of_it = bandwidth_words(group, w.lang)
        return w.caption_bandwidth.format(
            what=words_of_it[:1].upper() + words_of_it[1:],
            unit=group.unit,
            center=w.centers[group.center],
        )
    return w.caption.format(unit=group.unit, center=w.centers[group.center])


def base_caption(group: Group, w: Words) -> str:
    """What speedups refer to; empty where there are none."""
    if not group.scales:
        return ""
    if group.alone:
        return w.caption_alone
    said = w.caption_base.format(base=group.base)
    if scaling(group) is Scaling.STRONG:
        total = group.parameters[GLOBAL_BATCH]
        said = w.caption_strong.format(base=group.base, total=total)
    if group.base_case.gpus > 1:
        said += w.gap + w.caption_no_single.format(base=group.base)
    return said


def card_name(gpus: int, w: Words) -> str:
    """``1 GPU``, ``8 GPUs``; ``8卡``"""
    return w.card_rows[gpus != 1].format(gpus=gpus)


def speedup_notes(groups: Sequence[Group], w: Words, *, marked: bool = True) -> list[str]:
    """What explains a speedup that is missing or ``marked``, and figures that nobody measured."""
    notes = [w.simulated] if simulated(groups) else []
    for group in groups:
        concerns = {concern for case in group.cases for concern in case.concerns}
        if Concern.NO_BASE in concerns:
            notes.append(w.no_base.format(base=group.base))
        marks = {mark for case in group.cases if marked for mark in speedup_marks(case, group)}
        legends = {"†": w.mark_environment, "‡": w.mark_rule, "§": w.mark_shared}
        notes += [text.format(base=group.base) for mark, text in legends.items() if mark in marks]
    return list(dict.fromkeys(notes))


def simulated(groups: Iterable[Group]) -> bool:
    return any(case.simulated for group in groups for case in group.cases)
