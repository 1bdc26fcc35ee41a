"""``python -m tests.simulation SEEDS [FIRST]``: play seeds on all cores; ``--replay SEED``: one;
``--mutations``: with faults of the past put back."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
from collections import Counter

from tests.simulation.keeping import play_kept
from tests.simulation.mutations import MUTATIONS, find
from tests.simulation.playing import CHUNK, play_all
from tests.simulation.scenario import Told, play


def digest(told: Told) -> str:
    return hashlib.sha256("\n".join(told.trace).encode()).hexdigest()[:16]


def _kind(violation: str) -> str:
    """A violation without what differs from seed to seed."""
    return re.sub(r"[0-9a-f]{8}-\d{4}-a\d|\d+", "N", violation)[:100]


def _mutations(most: int, jobs: int) -> int:
    missed = 0
    for name in MUTATIONS:
        found = find(name, most, jobs)
        if found is None:
            missed += 1
            print(f"{name}: not found in {most} seeds", flush=True)
        else:
            print(f"{name}: found after {found.seeds} seeds ({found.seed}: {found.violation})")
    return bool(missed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("first", type=int, nargs="?", default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--mutations", action="store_true")
    parser.add_argument("--kept", action="store_true", help="campaigns of hours, with keepers")
    arguments = parser.parse_args()
    if arguments.mutations:
        return _mutations(arguments.count, arguments.jobs)
    player, chunk = (play_kept, 1) if arguments.kept else (play, CHUNK)
    if arguments.replay is not None:
        (told,) = play_all([arguments.replay], 1, player)
        print("\n".join(told.trace))
        print(f"seed {told.seed}: {len(told.violations)} violations, trace {digest(told)}")
        return bool(told.violations)
    seeds = range(arguments.first, arguments.first + arguments.count)
    began = time.perf_counter()
    failed, steps = [], 0
    kinds: Counter[str] = Counter()
    for told in play_all(seeds, arguments.jobs, player, chunk):
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
        kept = " --kept" * arguments.kept
        print(f"play one again: python -m tests.simulation{kept} --replay {failed[0]}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
