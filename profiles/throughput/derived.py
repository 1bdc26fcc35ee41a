"""Figures that follow from a throughput: time per step, tokens and FLOP/s per GPU, MFU.

The FLOP of a token are ``6 N + 12 L d T``: N parameters without position embeddings, a tied output
matrix counted once, L layers of width d, a sequence of T tokens; forward and backward, attention
over the whole sequence, nothing for what activation checkpointing computes again (Chowdhery et al.,
"PaLM", 2022, appendix B). MFU is that over the dense peak of the GPU at the precision that was used
(:mod:`profiles.gpu_models`); where that is not known there is none.
"""

from __future__ import annotations

from collections.abc import Mapping

from profiles.format.case import Case
from profiles.format.measure_section import Rule
from profiles.format.profile import Profile
from profiles.gpu_models import peak_tflop_per_s
from profiles.throughput.run_facts import Facts

TOKENS = "tokens/s"
SAMPLES = "samples/s"
MODEL = ("model_parameters", "layers", "width", "sequence_length")


def derived_metrics(
    profile: Profile,
    rule: Rule,
    case: Case,
    facts: Facts,
    throughput: float | None,
    known: Mapping[str, float],
) -> dict[str, float]:
    """What can be derived and is not among the ``known`` metrics, which the log says itself.

    ``step_time_s`` in s, ``tokens_per_s_per_gpu``, ``tflop_per_s_per_gpu`` in 10^12 FLOP/s, ``mfu``
    as a fraction, 1 and more where that cannot be.
    """
    if throughput is None:
        return {}
    found: dict[str, float] = {}
    work = facts.work(rule.work)
    if rule.kind == "step_time" and work is not None:
        found["step_time_s"] = work / throughput
    tokens = _tokens_per_s(profile.unit, facts, throughput)
    if tokens is not None:
        found["tokens_per_s_per_gpu"] = tokens / case.gpus
        flop = flop_per_token(facts)
        if flop is not None:
            found["tflop_per_s_per_gpu"] = tokens / case.gpus * flop / 1e12
    speed = known.get("tflop_per_s_per_gpu", found.get("tflop_per_s_per_gpu"))
    peak = peak_tflop_per_s(facts.texts.get("gpu", ""), facts.texts.get("precision", ""))
    if speed is not None and peak is not None and speed > 0:
        found["mfu"] = speed / peak
    return {name: value for name, value in found.items() if name not in known}


def _tokens_per_s(unit: str, facts: Facts, throughput: float) -> float | None:
    """None where the unit is no token, and the log does not say how many make up a sample."""
    length = facts.value("sequence_length")
    if unit == SAMPLES and length is not None:
        return throughput * length
    return throughput if unit == TOKENS else None


def flop_per_token(facts: Facts) -> float | None:
    """FLOP of forward and backward pass; None where the model is not known."""
    parameters, layers, width, length = (facts.value(name) for name in MODEL)
    if parameters is None or layers is None or width is None or length is None:
        return None
    return 6 * parameters + 12 * layers * width * length
