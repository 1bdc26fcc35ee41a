"""GPU models by the names that tools and reports have for them.

The one table by which two names count as the same GPU. A name is looked up without the vendor's
and the brand's word and without regard to case, dashes, underscores and spaces: older drivers say
"A100-SXM4-40GB", later ones "NVIDIA A100-SXM4-40GB", all of them "Tesla V100-SXM2-16GB". What is
not listed, as "V100", which leaves the memory open, is no model that anything could be equal to.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class GpuModel(NamedTuple):
    """``name``: as nvidia-smi has it. ``has_tf32``: the Ampere generation or newer (NVIDIA A100
    Tensor Core GPU Architecture, 2020). ``aliases``: what others call it."""

    name: str
    has_tf32: bool
    aliases: tuple[str, ...] = ()


GPU_MODELS = (
    GpuModel("Tesla P100-SXM2-16GB", False),
    GpuModel("Tesla V100-SXM2-16GB", False),
    GpuModel("Tesla V100-SXM2-32GB", False),
    GpuModel("Tesla V100-SXM3-32GB", False),
    GpuModel("Tesla V100-PCIE-16GB", False),
    GpuModel("Tesla V100-PCIE-32GB", False),
    GpuModel("Tesla T4", False),
    GpuModel("NVIDIA A100-SXM4-40GB", True),
    GpuModel("NVIDIA A100-SXM4-80GB", True),
    GpuModel("NVIDIA A100-PCIE-40GB", True),
    GpuModel("NVIDIA A100 80GB PCIe", True, ("A100-PCIE-80GB",)),
    GpuModel("NVIDIA L40S", True),
    # MLPerf's descriptions of systems say H100-SXM5-80GB; of SXM with 80 GB there is one.
    GpuModel("NVIDIA H100 80GB HBM3", True, ("H100-SXM5-80GB", "H100 SXM5 80GB HBM3")),
    GpuModel("NVIDIA H100 PCIe", True, ("H100-PCIE-80GB",)),
    GpuModel("NVIDIA H100 NVL", True),
    # The PCIe card is an "H200 NVL"; the bare name is the SXM module.
    GpuModel("NVIDIA H200", True, ("H200-SXM5-141GB", "H200-SXM-141GB")),
    GpuModel("NVIDIA H200 NVL", True),
    GpuModel("NVIDIA B200", True, ("B200-SXM-180GB",)),
    GpuModel("NVIDIA GeForce RTX 3090", True),
    GpuModel("NVIDIA GeForce RTX 4090", True),
)

_BRAND = re.compile(r"^((NVIDIA|Tesla) +)+", re.IGNORECASE)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", _BRAND.sub("", name.strip())).casefold()


_BY_NAME = {_plain(name): model for model in GPU_MODELS for name in (model.name, *model.aliases)}


@lru_cache(maxsize=256)
def gpu_model(name: str) -> GpuModel | None:
    """The model that ``name`` stands for; None where it is not listed, or leaves open which."""
    return _BY_NAME.get(_plain(name))
