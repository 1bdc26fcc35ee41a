"""``python -m tests.simulation SEEDS [FIRST]``: play seeds on all cores; ``--replay SEED``: one."""

from __future__ import annotations

import argparse
import gc
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.simulation.scenario import Told, play

CHUNK = 20
"""Seeds per process: what was abandoned is let go with it."""


def root() -> Path:
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else Path("/tmp")
    return base / f"dlperf-simulation-{os.getpid()}"


Player = Callable[[int, Path], Told]


def _play_some(player: Player, numbers: Sequence[int]) -> list[Told]:
    gc.disable()
    directory = root()
    try:
        return [player(number, directory) for number in numbers]
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def play_all(numbers: Sequence[int], jobs: int, player: Player = play) -> Iterator[Told]:
    """Each in a world of its own, in processes that end with them; in any order."""
    chunks = [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        for told in pool.imap_unordered(partial(_play_some, player), chunks, chunksize=1):
            yield from told


def digest(told: Told) -> str:
    return hashlib.sha256("\n".join(told.trace).encode()).hexdigest()[:16]


def _kind(violation: str) -> str:
    """A violation without what differs from seed to seed."""
    return re.sub(r"[0-9a-f]{8}-\d{4}-a\d|\d+", "N", violation)[:100]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("first", type=int, nargs="?", default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=int, metavar="SEED")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        (told,) = play_all([arguments.replay], 1)
        print("\n".join(told.trace))
        print(f"seed {told.seed}: {len(told.violations)} violations, trace {digest(told)}")
        return bool(told.violations)
    seeds = range(arguments.first, arguments.first + arguments.count)
    began = time.perf_counter()
    failed, steps = [], 0
    kinds: Counter[str] = Counter()
    for told in play_all(seeds, arguments.jobs):
        steps += told.steps
        if told.violations:
            failed.append(told.seed)
            kinds[_kind(told.violations[0])] += 1
            print(f"seed {told.seed}: {'; '.join(told.violations[:3])}", flush=True)
    took = time.perf_counter() - began
    print(
        f"{arguments.count} seeds in {took:.1f} s, {arguments.count / took:.1f} a second,"
        f" {steps / arguments.count:.0f} steps each: {len(failed)} with a violation"
    )
    if failed:
        for kind, count in kinds.most_common():
            print(f"{count:6} × {kind}")
        print(f"play one again: python -m tests.simulation --replay {failed[0]}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
