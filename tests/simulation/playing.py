"""Seeds played in processes of their own, many at a time."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.simulation.scenario import Told, play

CHUNK = 20
"""Seeds per process: what was abandoned is let go with it. Of long ones 1 is better."""


def _root() -> Path:
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else Path("/tmp")
    # Always as long: the path is journaled, and bytes are counted.
    return base / f"dlperf-simulation-{os.getpid():010d}"


Player = Callable[[int, Path], Told]


def _play_some(player: Player, numbers: Sequence[int]) -> list[Told]:
    gc.disable()
    directory = _root()
    try:
        return [player(number, directory) for number in numbers]
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def play_all(
    numbers: Sequence[int], jobs: int, player: Player = play, chunk: int = CHUNK
) -> Iterator[Told]:
    """Each in a world of its own, in processes that end with them; in their order."""
    chunks = [numbers[start : start + chunk] for start in range(0, len(numbers), chunk)]
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        for told in pool.imap(partial(_play_some, player), chunks, chunksize=1):
            yield from told
