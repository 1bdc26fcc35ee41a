"""torch_allreduce.py with something planted, by the variable PLANT. Staged, or run, beside it.

``slow_rank``: rank PLANT_RANK enters every collective PLANT_S seconds late. ``little_memory``: each
device has PLANT_BYTES free. ``deaf``: an all-reduce changes nothing. ``watch``: it ends at the
first sum that is no finite number.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "profiles" / "workloads"))
import torch_allreduce as workload  # type: ignore[import-not-found,unused-ignore]

PLANT = os.environ["PLANT"]
prepare = workload.prepare


def late(*arguments: Any) -> None:
    prepare(*arguments)
    time.sleep(float(os.environ["PLANT_S"]))


def watched(tensor: Any, ranks: int) -> None:
    if not tensor.isfinite().all():
        sys.exit("a sum is no finite number")
    prepare(tensor, ranks)


def little(*_arguments: Any) -> int:
    return int(os.environ["PLANT_BYTES"])


def deaf(*_arguments: Any, **_more: Any) -> None:
    """What a broken backend would do."""


if PLANT == "slow_rank" and os.environ["RANK"] == os.environ["PLANT_RANK"]:
    workload.prepare = late
if PLANT == "watch":
    workload.prepare = watched
if PLANT == "little_memory":
    workload.free_bytes = little
if PLANT == "deaf":
    workload.dist.all_reduce = deaf

if __name__ == "__main__":
    workload.main()
