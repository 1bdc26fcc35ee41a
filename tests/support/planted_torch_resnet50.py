"""torch_resnet50.py with a small model whose step takes a known time, and a planted cause.

Staged beside it. From two devices on PLANT costs every step PLANT_S seconds: ``slow_rank`` in the
forward pass of rank 1, ``slow_input`` in the next batch. A slow link is planted in the network.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]
import torch_resnet50 as workload  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found,unused-ignore]

COMPUTING_S = 0.1
PLANT, PLANT_S = os.environ["PLANT"], float(os.environ["PLANT_S"])
SEVERAL, RANK = int(os.environ["WORLD_SIZE"]) > 1, int(os.environ["RANK"])


class Slow(nn.Module):  # type: ignore[misc,unused-ignore]
    def forward(self, x: Any) -> Any:
        late = PLANT == "slow_rank" and SEVERAL and RANK == 1
        time.sleep(COMPUTING_S + (PLANT_S if late else 0.0))
        return x


def model() -> Any:
    """A gradient of 3,076,000 bytes."""
    return nn.Sequential(
        Slow(), nn.AdaptiveAvgPool2d(16), nn.Flatten(), nn.Linear(3 * 256, workload.CLASSES)
    )


synthetic = workload.synthetic


def planted(*arguments: Any) -> Iterator[Any]:
    for batch in synthetic(*arguments):
        time.sleep(PLANT_S if PLANT == "slow_input" and SEVERAL else 0.0)
        yield batch


workload.resnet50 = model
workload.synthetic = planted

if __name__ == "__main__":
    torch.set_num_threads(1)
    workload.main()
