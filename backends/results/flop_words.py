"""How TFLOP/s per GPU and MFU came about: the formula, its constants, the convention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backends.results.numbers import significant, trimmed
from backends.results.translations import Lang, pick
from profiles.gpu_models import nearest_peak
from profiles.throughput.derived import MODEL


def flop_notes(
    runs: Iterable[Mapping[str, float]], lang: Lang = "en", *, on_cpus: bool = False
) -> list[str]:
    """Of the metrics of some runs, each said once; nothing where none of them counts FLOP."""
    notes: list[str] = []
    for metrics in runs:
        notes += [_flop(metrics, lang), _peak(metrics, lang, on_cpus=on_cpus)]
    notes = list(dict.fromkeys(filter(None, notes)))
    if not notes:
        return []
    return [
        pick(
            lang,
            "FLOP of a token: 6·N + 12·L·d·T, forward and backward, attention over the whole "
            "sequence; N without position embeddings, a tied output matrix counted once; nothing "
            "for what is computed again. Figures that the log prints itself are the log's.",
            "每token的FLOP：6·N + 12·L·d·T，含前向与反向，注意力按整个序列计；N 不含位置嵌入，"
            "共享的输出矩阵只计一次；重计算不计。日志自己给出的数字以日志为准。",
        ),
        *notes,
    ]


def _flop(metrics: Mapping[str, float], lang: Lang) -> str:
    """The constants; where the model is not known, a figure can only be the log's own."""
    if not all(name in metrics for name in MODEL):
        own = "tflop_per_s_per_gpu" in metrics
        said = pick(
            lang,
            "TFLOP/s: as the log prints it; the constants of the model are not stated",
            "TFLOP/s：取自日志，未说明模型的常数",
        )
        return said if own else ""
    parameters, layers, width, length = (metrics[name] for name in MODEL)
    flop = 6 * parameters + 12 * layers * width * length
    constants = (
        f"N = {trimmed(parameters, 0, thousands=True)}, L = {trimmed(layers)}, "
        f"d = {trimmed(width)}, T = {trimmed(length)}"
    )
    billions = significant(flop / 1e9, 4)
    return pick(
        lang,
        f"{billions} GFLOP per token: {constants}",
        f"每token {billions} GFLOP：{constants}",
    )


def _peak(metrics: Mapping[str, float], lang: Lang, *, on_cpus: bool) -> str:
    """What MFU is a share of: a peak that we know, or one that whoever printed it took."""
    speed, mfu = metrics.get("tflop_per_s_per_gpu"), metrics.get("mfu")
    if not mfu:
        return ""
    peak = nearest_peak(speed / mfu) if speed else None
    if peak is None:
        return pick(
            lang,
            "MFU: not reckoned here; the peak that it is a share of is not stated",
            "MFU：并非由本程序计算，未说明所依据的峰值",
        )
    shown = trimmed(peak, 1)
    device = pick(lang, "device", "设备") if on_cpus else "GPU"
    return pick(
        lang,
        f"MFU: of a dense peak of {shown} TFLOP/s per {device}",
        f"MFU：相对于每{device}稠密峰值 {shown} TFLOP/s",
    )
