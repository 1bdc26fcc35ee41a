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
        differs = w.held_between.join(_difference(d, held, lang) for d in held.differs)
        return w.held_not.format(figure=figure_text(there, lang), differs=differs)
    said = w.held_time if there.metric is Measured.TIME_TO_TRAIN else w.held_at
    figure = figure_text(there, lang)
    return said.format(percent=percent(held.ratio, 0), figure=figure, how=_how(there, w))


def figure_text(there: Reference, lang: Lang = "en") -> str:
    """``MLPerf v4.0 DGX H100, 57,281.5 images/s``"""
    value = trimmed(there.value, 3, thousands=True)
    return f"{there.system}{pick(lang, ', ', '，')}{value} {there.unit}"


def _how(there: Reference, w: Words) -> str:
    """What else to know of it: framework, batch, caveat."""
    batch = [w.held_batch.format(batch=there.batch_size)] if there.batch_size else []
    return w.held_between.join([there.framework, *batch, *([there.caveat] if there.caveat else [])])


def _difference(which: Difference, held: Held, lang: Lang) -> str:
    """``4 GPUs, there 8``"""
    here, there = held.subject, held.reference
    w = words(lang)
    if which is Difference.GPUS:
        return w.held_gpus.format(here=here.gpus, there=there.gpus)
    if which is Difference.GPU:
        return w.held_gpu.format(here=here.gpu or w.held_unknown, there=there.gpu.name)
    if which is Difference.UNIT:
        unit = held.subject.figures[there.metric][1]
        return w.held_unit.format(here=unit or NOTHING, there=there.unit)
    if here.precision is there.precision:  # both unstated
        return w.held_precisions_unknown
    return w.held_precision.format(
        here=_arithmetic(here.precision, w), there=_arithmetic(there.precision, w)
    )


def _arithmetic(kind: Arithmetic, w: Words) -> str:
    return w.held_unknown if kind is Arithmetic.UNSTATED else str(kind)
