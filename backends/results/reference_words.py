"""What is said of a result beside published figures, in English and Chinese."""

from __future__ import annotations

from backends.results.numbers import NOTHING, percent, trimmed
from backends.results.translations import Lang, Words, pick, words
from profiles.references.arithmetic import Arithmetic
from profiles.references.matching import Difference, Held
from profiles.references.reference_tables import Measured, Reference


def held_line(held: Held, lang: Lang = "en") -> str:
    """``91% of MLPerf v4.0 DGX H100, 57,281.5 images/s (NGC MXNet 24.04, batch 400)``; of one that
    is not comparable what differs."""
    w = words(lang)
    there = held.reference
    if held.ratio is None:
        differing = (_difference(one, held, w) for one in _foremost(held))
        differs = w.held_between.join(filter(None, differing))
        return w.held_not.format(figure=figure_text(there, lang), differs=differs)
    said = w.held_time if there.metric is Measured.TIME_TO_TRAIN else w.held_at
    figure = figure_text(there, lang)
    return said.format(percent=percent(held.ratio, 0), figure=figure, how=_how(there, w))


def _foremost(held: Held) -> list[Difference]:
    """Another GPU model explains more than all else."""
    return sorted(held.differs, key=lambda one: one is not Difference.GPU)


def figure_text(there: Reference, lang: Lang = "en") -> str:
    """``DLPerf, 8 × Tesla V100-SXM2-16GB, 2,942.321 images/s``: never without what it was on."""
    value = trimmed(there.value, 3, thousands=True)
    model = there.gpu.name.partition(" ")[2] or there.gpu.name
    named = f"{there.gpus} × {model.split()[0]}" in there.system
    device = [] if named else [f"{there.gpus} × {there.gpu.name}"]
    return pick(lang, ", ", "，").join([there.system, *device, f"{value} {there.unit}"])


def _how(there: Reference, w: Words) -> str:
    """What else to know of it: framework, batch, caveat."""
    batch = [w.held_batch.format(batch=there.batch_size)] if there.batch_size else []
    return w.held_between.join([there.framework, *batch, *([there.caveat] if there.caveat else [])])


def _difference(which: Difference, held: Held, w: Words) -> str:
    """``4 GPUs, there 8``; empty where there is nothing to tell."""
    here, there = held.subject, held.reference
    if which is Difference.GPUS:
        return w.held_gpus.format(here=here.gpus, there=there.gpus)
    if which is Difference.GPU:
        return w.held_gpu.format(here=here.gpu or w.held_unknown, there=there.gpu.name)
    if which is Difference.UNIT:
        unit = held.subject.figures[there.metric][1]
        return w.held_unit.format(here=unit or NOTHING, there=there.unit)
    return _precision(held, w)


def _precision(held: Held, w: Words) -> str:
    """A profile that has none lacks nothing: it is told only where nothing else differs."""
    here, there = held.subject, held.reference
    if here.stated is Arithmetic.UNSTATED and not here.called:
        return "" if len(held.differs) > 1 else w.held_no_precision
    if here.precision is there.precision:  # both unstated
        return w.held_precisions_unknown
    ours = _arithmetic(here.precision, w)
    if here.precision is Arithmetic.UNSTATED and here.called:
        ours = w.held_which.format(called=here.called)
    return w.held_precision.format(here=ours, there=_arithmetic(there.precision, w))


def _arithmetic(kind: Arithmetic, w: Words) -> str:
    return w.held_unknown if kind is Arithmetic.UNSTATED else str(kind)
