"""cpu_smoke.py whose computing takes a known time, and loses efficiency to a planted cause.

Staged beside it. From two devices on PLANT costs every step PLANT_S seconds: ``slow_rank`` in
rank 1 computing, ``slow_input`` in making up a batch, ``slow_link`` in averaging gradients.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import cpu_smoke as workload  # type: ignore[import-not-found]

COMPUTING_S = 0.08
PLANT, PLANT_S = os.environ["PLANT"], float(os.environ["PLANT_S"])

train, gradient_of, all_reduce = (
    workload.train,
    workload.loss_and_gradient,
    workload.Place.all_reduce,
)
late: dict[str, float] = {}


def planted_train(options: Any, device: int, place: Any) -> Any:
    several = options.nodes * options.devices > 1
    rank = options.node_rank * options.devices + device
    if several and (PLANT != "slow_rank" or rank == 1):
        late[PLANT] = PLANT_S
    return train(options, device, place)


def planted_gradient(parameters: list[float], batch: list[Any]) -> Any:
    time.sleep(COMPUTING_S + late.get("slow_rank", 0.0))
    return gradient_of(parameters, batch[:1])


class Dataset(list):  # type: ignore[type-arg]
    """Slow to read: the first sample of a batch takes what is planted."""

    def __getitem__(self, at: Any) -> Any:
        if at % BATCH == 0:
            time.sleep(late.get("slow_input", 0.0))
        return super().__getitem__(at)


def planted_all_reduce(place: Any, values: list[float]) -> Any:
    time.sleep(late.get("slow_link", 0.0))
    return all_reduce(place, values)


BATCH = workload.parse_arguments(sys.argv[1:]).batch_size
DATASET = Dataset(workload.synthetic_dataset())
workload.train = planted_train
workload.loss_and_gradient = planted_gradient
workload.synthetic_dataset = lambda: DATASET
workload.Place.all_reduce = planted_all_reduce

if __name__ == "__main__":
    os._exit(workload.main())
