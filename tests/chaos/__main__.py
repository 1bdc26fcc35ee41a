"""``python -m tests.chaos MINUTES [SEED]``: rounds of chaos until the time is over."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.rounds import Round
from tests.support.netns import NamespaceHosts, why_not

HOSTS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("minutes", type=float)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    arguments = parser.parse_args()
    if reason := why_not():
        print(f"no chaos here: {reason}")
        return 2
    until = time.monotonic() + 60 * arguments.minutes
    seed, failed = arguments.seed, []
    with tempfile.TemporaryDirectory(prefix="dlperf-chaos-") as directory:
        machines = NamespaceHosts(Path(directory) / "hosts", HOSTS)
        try:
            while time.monotonic() < until:
                played = Round(seed, machines, Path(directory) / f"round-{seed}")
                played.play()
                verdict = "; ".join(played.problems) or "nothing lost, nothing doubled"
                print(f"seed {seed}: {len(played.trace)} events: {verdict}", flush=True)
                if played.problems:
                    failed.append(seed)
                    print("\n".join(played.trace), flush=True)
                    kept = Path(tempfile.mkdtemp(prefix="dlperf-chaos-kept-"))
                    shutil.copytree(played.directory, kept, dirs_exist_ok=True)
                    print(f"kept: {kept}")
                seed += 1
        finally:
            machines.close()
    print(f"{seed - arguments.seed} rounds, {len(failed)} with a problem")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
