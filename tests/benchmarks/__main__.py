"""``python -m tests.benchmarks [NAME…]``: all benchmarks, or the named ones.

Of several each has a process of its own: what one took of memory would be counted as the peak of
whatever the next one starts.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

NAMES = (
    "startup",
    "parsing",
    "llm_parsing",
    "gap",
    "tailing",
    "console",
    "resume",
    "readings",
    "thousand",
    "probing",
    "schedule",
    "slurm",
)


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # programs are compiled once, as for users
    names = sys.argv[1:] or NAMES
    if len(names) == 1:
        importlib.import_module(f"tests.benchmarks.{names[0]}").main()
        return
    for name in names:
        subprocess.run([sys.executable, "-m", "tests.benchmarks", name], check=True)


if __name__ == "__main__":
    main()
