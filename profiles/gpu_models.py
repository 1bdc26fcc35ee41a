"""GPU models: what tools and reports call them, and their dense peaks.

The one table by which two names count as the same GPU. A name is looked up without the vendor's
and the brand's word and without regard to case, dashes, underscores and spaces: older drivers say
"A100-SXM4-40GB", later ones "NVIDIA A100-SXM4-40GB", all of them "Tesla V100-SXM2-16GB". What is
not listed, as "V100", which leaves the memory open, is no model that anything could be equal to.

Peaks are in TFLOP/s (10^12) without sparsity, from the vendor's data sheets. FP8 has no agreed MFU
and is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Peaks(NamedTuple):
    """None where a data sheet has none, or gives it with sparsity only."""

    fp32: float | None = None
    tf32: float | None = None
    fp16: float | None = None
    bf16: float | None = None


_UNKNOWN = Peaks()
V100_SXM = Peaks(fp32=15.7, fp16=125)
"""NVIDIA V100 data sheet, 2020."""
A100 = Peaks(fp32=19.5, tf32=156, fp16=312, bf16=312)
"""NVIDIA A100 data sheet, 2021."""
HOPPER_SXM = Peaks(fp32=67, tf32=494, fp16=989, bf16=989)
"""NVIDIA H100 data sheet, 2023, and H200 data sheet, 2024."""
B200 = Peaks(fp16=2250, bf16=2250)
"""NVIDIA HGX B200 data sheet, 2024."""


class GpuModel(NamedTuple):
    """``name``: as nvidia-smi has it. ``has_tf32``: the Ampere generation or newer (NVIDIA A100
    Tensor Core GPU Architecture, 2020). ``aliases``: what others call it."""

    name: str
    has_tf32: bool
    aliases: tuple[str, ...] = ()
    peaks: Peaks = _UNKNOWN


GPU_MODELS = (
    GpuModel("Tesla P100-SXM2-16GB", False),
    GpuModel("Tesla V100-SXM2-16GB", False, peaks=V100_SXM),
    GpuModel("Tesla V100-SXM2-32GB", False, peaks=V100_SXM),
    GpuModel("Tesla V100-SXM3-32GB", False, peaks=V100_SXM),
    GpuModel("Tesla V100-PCIE-16GB", False),
    GpuModel("Tesla V100-PCIE-32GB", False),
    GpuModel("Tesla T4", False),
    GpuModel("NVIDIA A100-SXM4-40GB", True, peaks=A100),
    GpuModel("NVIDIA A100-SXM4-80GB", True, peaks=A100),
    GpuModel("NVIDIA A100-PCIE-40GB", True, peaks=A100),
    GpuModel("NVIDIA A100 80GB PCIe", True, ("A100-PCIE-80GB",), A100),
    GpuModel("NVIDIA L40S", True),
    # MLPerf's descriptions of systems say H100-SXM5-80GB; of SXM with 80 GB there is one.
    GpuModel("NVIDIA H100 80GB HBM3", True, ("H100-SXM5-80GB", "H100 SXM5 80GB HBM3"), HOPPER_SXM),
    GpuModel("NVIDIA H100 PCIe", True, ("H100-PCIE-80GB",)),
    GpuModel("NVIDIA H100 NVL", True),
    # The PCIe card is an "H200 NVL"; the bare name is the SXM module.
    GpuModel("NVIDIA H200", True, ("H200-SXM5-141GB", "H200-SXM-141GB"), HOPPER_SXM),
    GpuModel("NVIDIA H200 NVL", True),
    GpuModel("NVIDIA B200", True, ("B200-SXM-180GB",), B200),
    GpuModel("NVIDIA GeForce RTX 3090", True),
    GpuModel("NVIDIA GeForce RTX 4090", True),
)

ROUNDED = 0.0025
"""How far a peak is off that follows from two printed figures: an MFU of 40.3% is good to 0.12%."""

_BRAND = re.compile(r"^((NVIDIA|Tesla) +)+", re.IGNORECASE)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", _BRAND.sub("", name.strip())).casefold()


_BY_NAME = {_plain(name): model for model in GPU_MODELS for name in (model.name, *model.aliases)}


@lru_cache(maxsize=256)
def gpu_model(name: str) -> GpuModel | None:
    """The model that ``name`` stands for; None where it is not listed, or leaves open which."""
    return _BY_NAME.get(_plain(name))


def short_model(name: str) -> str:
    """As lists have it: one spelling of a model that is listed, without the vendor's and the
    brand's word."""
    model = gpu_model(name)
    return _BRAND.sub("", model.name if model else name)


def peak_tflop_per_s(gpu: str, precision: str) -> float | None:
    """None for a GPU or precision that the table lacks; ``precision`` by a name of Peaks."""
    model = gpu_model(gpu)
    return model.peaks._asdict().get(precision) if model else None


def nearest_peak(tflop_per_s: float) -> float | None:
    """The peak of the table that a figure is, but for what rounding took; None: it is none."""
    known = {peak for model in GPU_MODELS for peak in model.peaks if peak is not None}
    peak = min(known, key=lambda one: abs(one - tflop_per_s))
    return peak if abs(peak - tflop_per_s) <= ROUNDED * peak else None
