"""Whether two cases are of one model: of another one, fewer tokens/s are no regression."""

from __future__ import annotations

import re

from backends.results.case_result import CaseResult
from backends.results.numbers import significant

PARAMETERS = "model_parameters"
_ALIKE = 0.01
"""Relative difference of two counts of parameters that position embeddings may make."""


def models_apart(ours: CaseResult, theirs: CaseResult) -> tuple[str, str] | None:
    """What each side's model is called, where they are known to be two: by the workload that the
    profile names, by the model's own name, or by the parameters that the logs count."""
    for named in (_workload, _model):
        names = named(ours), named(theirs)
        if all(names) and _plain(names[0]) != _plain(names[1]):
            return names
    counts = [side.metrics.get(PARAMETERS) for side in (ours, theirs)]
    one, other = (count or 0.0 for count in counts)
    if min(one, other) > 0 and max(one, other) > (1 + _ALIKE) * min(one, other):
        return _counted(ours, one), _counted(theirs, other)
    return None


def _workload(side: CaseResult) -> str:
    """Without what is otherwise than in the workload of that name, as ``sequence_length=512``."""
    names = {run.workload.split(", ")[0] for run in side.runs}
    return names.pop() if len(names) == 1 else ""


def _model(side: CaseResult) -> str:
    return side.model


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _counted(side: CaseResult, parameters: float) -> str:
    return f"{side.model} of {significant(parameters / 1e6)}M parameters"
